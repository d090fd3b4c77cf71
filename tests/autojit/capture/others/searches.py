"""Searches and iterations with adaptive steps: values that are None until something is found."""

from __future__ import annotations

import math

import numpy as np

from .program import program


@program((1.3,), (4.0,))
def brent(a):
    def f(x):
        return x**3 - a * x - 5

    lo, hi = 0.0, 4.0
    fa, fb = f(lo), f(hi)
    if fa * fb > 0:
        raise ValueError("no sign change")
    if abs(fa) < abs(fb):
        lo, hi, fa, fb = hi, lo, fb, fa
    c, fc, d, bisected = lo, fa, None, True
    for _ in range(100):
        if fa != fc and fb != fc:
            s = (
                lo * fb * fc / ((fa - fb) * (fa - fc))
                + hi * fa * fc / ((fb - fa) * (fb - fc))
                + c * fa * fb / ((fc - fa) * (fc - fb))
            )
        else:
            s = hi - fb * (hi - lo) / (fb - fa)
        if (
            not ((3 * lo + hi) / 4 < s < hi or hi < s < (3 * lo + hi) / 4)
            or (bisected and abs(s - hi) >= abs(hi - c) / 2)
            or (not bisected and abs(s - hi) >= abs(c - d) / 2)
        ):
            s, bisected = (lo + hi) / 2, True
        else:
            bisected = False
        fs = f(s)
        d, c, fc = c, hi, fb
        if fa * fs < 0:
            hi, fb = s, fs
        else:
            lo, fa = s, fs
        if abs(fa) < abs(fb):
            lo, hi, fa, fb = hi, lo, fb, fa
        if fb == 0 or abs(hi - lo) < 1e-12:
            break
    return hi


@program((np.array([3.0, 1.0, 2.0]), 0.5), (np.array([5.0, 7.0, 1.0]), 60.4), by=(0, 1))
def first_above(xs, limit):
    found = None
    for i, x in enumerate(xs):
        if x > limit:
            found = i, x
            break
    if found is None:
        return -limit * xs[0]
    i, x = found
    return x * (i + 1)


@program((0.3, 0.2), (5.0, 0.0), by=(0, 1))
def ray_marching(x, y):
    def distance(p):
        return math.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2) - 1.0

    t, hit = 0.0, None
    for _ in range(64):
        p = (x, y, -3.0 + t)
        d = distance(p)
        if d < 1e-6:
            hit = p
            break
        t += d
        if t > 20:
            break
    if hit is None:
        return 0.1 * x
    return hit[2] + t


@program((np.array([1.0, 5.0, 2.0]), 1.0), (np.array([1.0, 5.0, 2.0]), 10.0), by=(0, 1))
def dijkstra(w, last):
    n = 4
    edges = {0: [(1, w[0]), (2, w[1])], 1: [(2, w[2]), (3, last)], 2: [(3, 1.0)], 3: []}
    distance = [math.inf] * n
    distance[0] = 0.0
    done = [False] * n
    for _ in range(n):
        u = None
        for i in range(n):
            if not done[i] and (u is None or distance[i] < distance[u]):
                u = i
        done[u] = True
        for k in range(n):
            for v, cost in edges[k]:
                if k == u and distance[k] + cost < distance[v]:
                    distance[v] = distance[k] + cost
    return distance[3]


@program((1.0, 2.0), (-1.0, 2.0), by=(1,))
def newton_with_backtracking(x, a):
    def f(x):
        return math.log(1 + x * x * a) + (x - 1) ** 2

    def slope(x):
        return 2 * a * x / (1 + x * x * a) + 2 * (x - 1)

    before, count = None, 0
    while before is None or abs(x - before) > 1e-10:
        before = x
        g, t = slope(x), 0.5
        while f(x - t * g) > f(x) - 0.25 * t * g * g and t > 1e-12:
            t *= 0.5
        x = x - t * g
        count += 1
        if count >= 100:
            break
    return f(x)


@program((np.array([3.0, 1.0, 1.5, -4.0]),), (np.array([-3.0, -1.0, -2.5, -5.0]),))
def best_sum(xs):
    best, current = None, 0.0
    for x in xs:
        if x > 2:
            continue
        current = max(x, current + x)
        best = current if best is None else max(best, current)
    return best if best is not None else 0.0


class Spring:
    def __init__(self, stiffness):
        self.stiffness, self.x, self.v, self.last = stiffness, 1.0, 0.0, None

    def step(self, dt):
        a = -self.stiffness * self.x
        if self.x < 0:
            a *= 2
        if self.last is not None and a > self.last:
            a *= 0.9
        self.last = a
        self.v += a * dt
        self.x += self.v * dt


@program((1.0,), (4.0,))
def spring_with_memory(stiffness):
    spring = Spring(stiffness)
    for _ in range(30):
        spring.step(0.1)
    return spring.x


@program((1.0, 0.5), (2.0, 3.0), by=(0, 1))
def runge_kutta_fehlberg(y, k):
    def f(t, y):
        return -k * y + math.sin(t)

    t, h = 0.0, 0.1
    while t < 2.0:
        h = min(h, 2.0 - t)
        k1 = f(t, y)
        k2 = f(t + h / 4, y + h * k1 / 4)
        k3 = f(t + 3 * h / 8, y + h * (3 * k1 / 32 + 9 * k2 / 32))
        k4 = f(t + 12 * h / 13, y + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = f(t + h, y + h * (439 * k1 / 216 - 8 * k2 + 3680 * k3 / 513 - 845 * k4 / 4104))
        err = abs(h * (k1 / 360 - 128 * k3 / 4275 - 2197 * k4 / 75240 + k5 / 50))
        if err < 1e-6:
            t += h
            y = y + h * (25 * k1 / 216 + 1408 * k3 / 2565 + 2197 * k4 / 4104 - k5 / 5)
        h *= min(2.0, max(0.3, 0.9 * (1e-6 / max(err, 1e-16)) ** 0.2))
    return y
