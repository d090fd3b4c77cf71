"""Roots, minima, integrals and differential equations, as textbooks write them."""

from __future__ import annotations

import math

import numpy as np

from .program import program


@program((2.0,), (30.0,), (0.5,))
def bisection(c):
    def f(x):
        return x**3 - c

    a, b = 0.0, 10.0
    while b - a > 1e-9:
        m = (a + b) / 2
        if f(m) == 0:
            return m
        if f(a) * f(m) < 0:
            b = m
        else:
            a = m
    m = (a + b) / 2
    return m - f(m) / (3 * m * m)


@program((2.0, 1.0), (50.0, 3.0), by=(0,))
def newton_raphson(a, guess, tol=1e-12, max_iter=50):
    x = guess
    for _ in range(max_iter):
        fx = x * x - a
        if abs(fx) < tol:
            break
        x = x - fx / (2 * x)
    return x


@program((0.5,), (2.0,))
def secant(c):
    def f(x):
        return math.cos(x) - c * x

    x0, x1 = 0.0, 1.0
    n = 0
    while abs(x1 - x0) > 1e-12 and n < 100:
        f0, f1 = f(x0), f(x1)
        if f1 == f0:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        n += 1
    return x1


@program((3.0,), (0.7,))
def brent(c):
    """The zero of x**3 - x - c by Brent's method."""

    def f(x):
        return x**3 + x - c

    a, b = -4.0, 4.0
    fa, fb = f(a), f(b)
    if fa * fb > 0:
        raise ValueError("the root is not bracketed")
    if abs(fa) < abs(fb):
        a, b = b, a
        fa, fb = fb, fa
    c_, fc = a, fa
    mflag = True
    d = 0.0
    while fb != 0 and abs(b - a) > 1e-10:
        if fa != fc and fb != fc:
            s = (
                a * fb * fc / ((fa - fb) * (fa - fc))
                + b * fa * fc / ((fb - fa) * (fb - fc))
                + c_ * fa * fb / ((fc - fa) * (fc - fb))
            )
        else:
            s = b - fb * (b - a) / (fb - fa)
        lo, hi = min((3 * a + b) / 4, b), max((3 * a + b) / 4, b)
        if (
            not lo < s < hi
            or (mflag and abs(s - b) >= abs(b - c_) / 2)
            or (not mflag and abs(s - b) >= abs(c_ - d) / 2)
        ):
            s = (a + b) / 2
            mflag = True
        else:
            mflag = False
        fs = f(s)
        d, c_, fc = c_, b, fb
        if fa * fs < 0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b, fa, fb = b, a, fb, fa
    return b - f(b) / (3 * b * b + 1)


@program((1.5,), (-0.3,))
def golden_section(centre):
    invphi = (math.sqrt(5) - 1) / 2

    def f(x):
        return (x - centre) ** 2 + 0.1 * (x - centre) ** 4 + 1.0

    a, b = -5.0, 5.0
    c = b - (b - a) * invphi
    d = a + (b - a) * invphi
    while abs(b - a) > 1e-5:
        if f(c) < f(d):
            b = d
        else:
            a = c
        c = b - (b - a) * invphi
        d = a + (b - a) * invphi
    return f((a + b) / 2) + centre


@program((0.1,), (3.0,))
def adaptive_simpson(a, b=4.0, eps=1e-7):
    """Adaptive quadrature with a stack of intervals instead of recursion."""

    def f(x):
        return np.exp(-x) * np.sin(3 * x)

    lo = np.zeros(64)
    hi = np.zeros(64)
    lo[0], hi[0] = a, b
    top = 1
    total = 0.0
    while top > 0:
        top -= 1
        left, right = lo[top], hi[top]
        mid = (left + right) / 2
        h = right - left
        whole = h / 6 * (f(left) + 4 * f(mid) + f(right))
        q1, q3 = (left + mid) / 2, (mid + right) / 2
        halves = h / 12 * (f(left) + 4 * f(q1) + 2 * f(mid) + 4 * f(q3) + f(right))
        if abs(halves - whole) < 15 * eps or h < 1e-3:
            total += halves + (halves - whole) / 15
        else:
            lo[top], hi[top] = left, mid
            lo[top + 1], hi[top + 1] = mid, right
            top += 2
    return total


@program((1.0,), (2.5,))
def romberg(k, a=0.0, b=1.0, max_steps=12, acc=1e-9):
    def f(x):
        return 1 / (1 + k * x * x)

    r1, r2 = np.zeros(max_steps), np.zeros(max_steps)
    h = b - a
    r1[0] = (f(a) + f(b)) * h * 0.5
    for i in range(1, max_steps):
        h /= 2
        c = 0.0
        for j in range(1, 2 ** (i - 1) + 1):
            c += f(a + (2 * j - 1) * h)
        r2[0] = h * c + 0.5 * r1[0]
        for j in range(1, i + 1):
            n_k = 4**j
            r2[j] = (n_k * r2[j - 1] - r1[j - 1]) / (n_k - 1)
        if i > 1 and abs(r1[i - 1] - r2[i]) < acc:
            return r2[i]
        r1, r2 = r2, r1
    return r1[max_steps - 1]


@program((1.0, 0.5), (3.0, -0.5), by=(0, 1))
def adaptive_runge_kutta(k, y0):
    """Compare Heun's and Euler's steps: halve the step if they differ, lengthen it if not."""

    def f(t, y):
        return -k * y + math.sin(t)

    t, y, h = 0.0, y0, 0.1
    while t < 2.0:
        if t + h > 2.0:
            h = 2.0 - t
        k1 = f(t, y)
        k2 = f(t + h, y + h * k1)
        err = abs(h * (k2 - k1) / 2)
        if err < 1e-3:
            t += h
            y += h * (k1 + k2) / 2
            if err < 1e-4:
                h *= 1.5
        else:
            h *= 0.5
    return y


@program((10.0, 28.0), (10.0, 14.0), by=(0, 1))
def lorenz(sigma, rho, beta=8 / 3, steps=60, dt=0.01):
    x, y, z = 1.0, 1.0, 1.0
    crossings = 0
    for _ in range(steps):
        dx = sigma * (y - x)
        dy = x * (rho - z) - y
        dz = x * y - beta * z
        last = x
        x, y, z = x + dt * dx, y + dt * dy, z + dt * dz
        if last < 0 <= x or x < 0 <= last:
            crossings += 1
    return z + crossings


@program((0.3,), (-0.8,))
def horner(x):
    coefficients = [-19, 7, -4, 6]
    result = 0
    for c in reversed(coefficients):
        result = result * x + c
    return result


@program((np.array([1.0, -0.5, 0.25, 2.0, 0.3]), 0.4), (np.array([0.5, 2.0]), -0.9), by=(0, 1))
def clenshaw(c, x):
    b1 = b2 = 0.0
    for k in range(len(c) - 1, 0, -1):
        b1, b2 = c[k] + 2 * x * b1 - b2, b1
    return c[0] + x * b1 - b2


@program((0.7,), (3.0,))
def tangent_by_continued_fraction(x):
    """Lentz's algorithm."""
    tiny = 1e-30
    f = tiny
    c, d = f, 0.0
    j = 1
    while True:
        a = x if j == 1 else -(x * x)
        b = 2 * j - 1
        d = b + a * d
        if d == 0:
            d = tiny
        c = b + a / c
        if c == 0:
            c = tiny
        d = 1 / d
        delta = c * d
        f *= delta
        if abs(delta - 1) < 1e-13 or j > 100:
            break
        j += 1
    return f


@program((1.0, 0.5), (24.0, 6.0), by=(0, 1))
def arithmetic_geometric_mean(a, g, tolerance=1e-12):
    while abs(a - g) > tolerance:
        a, g = (a + g) / 2, math.sqrt(a * g)
    return a


@program((0.5,), (20.0,), (5.9,))
def incomplete_gamma(x, a=5.0):
    """Use the series for small x, and a continued fraction for large x."""
    log_gamma = math.lgamma(a)
    if x <= 0:
        return 0.0
    if x < a + 1:
        ap, total, term = a, 1 / a, 1 / a
        for _ in range(200):
            ap += 1
            term *= x / ap
            total += term
            if abs(term) < abs(total) * 1e-14:
                break
        return total * math.exp(-x + a * math.log(x) - log_gamma)
    b = x + 1 - a
    c = 1e300
    d = 1 / b
    h = d
    for i in range(1, 200):
        an = -i * (i - a)
        b += 2
        d = 1 / (an * d + b)
        c = b + an / c
        delta = d * c
        h *= delta
        if abs(delta - 1) < 1e-14:
            break
    return 1 - math.exp(-x + a * math.log(x) - log_gamma) * h


@program((0.3, 1.0), (-1.0, 0.2), by=(0, 1))
def newton_fractal(re, im):
    """Return the distance of the tenth iterate from the root of z**3 - 1 that it approaches."""
    z = complex(re, im)
    for _ in range(10):
        if abs(z * z * z - 1) < 1e-2:
            break
        z = z - (z**3 - 1) / (3 * z**2)
    return abs(z - 1) ** 2


@program((-0.3, 0.4), (0.6, 0.9), by=(0, 1))
def mandelbrot(cx, cy, limit=30):
    """A smooth count of the steps until escape."""
    x = y = 0.0
    for n in range(limit):
        x2, y2 = x * x, y * y
        if x2 + y2 > 100:
            return n + 1 - math.log(math.log(x2 + y2) / 2) / math.log(2)
        x, y = x2 - y2 + cx, 2 * x * y + cy
    return float(limit) + x
