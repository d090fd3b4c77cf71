"""Cellular automata, bodies, and geometry."""

from __future__ import annotations

import math

import numpy as np

from .program import program

_rng = np.random.default_rng(13)
_GRID = (_rng.uniform(size=(6, 6)) < 0.4).astype(int)
_SQUARE = np.array([[0.0, 0.0], [2.0, 0.1], [2.2, 1.9], [-0.1, 2.0]])


@program((_GRID,), (1 - _GRID,), by=())
def game_of_life(board):
    rows, cols = board.shape
    new = np.zeros((rows, cols), dtype=int)
    for r in range(rows):
        for c in range(cols):
            neighbours = 0
            for dr in (-1, 0, 1):
                for dc in (-1, 0, 1):
                    if dr == 0 and dc == 0:
                        continue
                    neighbours += board[(r + dr) % rows, (c + dc) % cols]
            if board[r, c] == 1 and neighbours in (2, 3):
                new[r, c] = 1
            elif board[r, c] == 0 and neighbours == 3:
                new[r, c] = 1
    return new


@program((_rng.uniform(size=(5, 5)), 0.6), (_rng.uniform(size=(5, 5)), 0.9), by=())
def percolation(resistance, p):
    """Whether a flood from above reaches the lowest row, and how many cells it reaches."""
    n = resistance.shape[0]
    is_open = resistance < p
    wet = np.zeros((n, n), dtype=bool)
    for c in range(n):
        wet[0, c] = is_open[0, c]
    changed = True
    while changed:
        changed = False
        for r in range(1, n):
            for c in range(n):
                if wet[r, c] or not is_open[r, c]:
                    continue
                above = wet[r - 1, c]
                left = c > 0 and wet[r, c - 1]
                right = c < n - 1 and wet[r, c + 1]
                if above or left or right:
                    wet[r, c] = True
                    changed = True
    return np.any(wet[n - 1]), np.sum(wet)


@program((30,), (110,), by=())
def elementary_automaton(rule):
    cells = np.zeros(31, dtype=int)
    cells[15] = 1
    for _ in range(10):
        new = cells.copy()
        for i in range(31):
            left, centre, right = cells[i - 1], cells[i], cells[(i + 1) % 31]
            pattern = 4 * left + 2 * centre + right
            new[i] = (rule >> pattern) & 1
        cells = new
    return cells


@program((_rng.uniform(0, 4, (5, 5)),), (np.full((5, 5), 3.5),))
def sandpile(sand):
    """Piles above four topple; the weight that leaves the table."""
    sand = sand.copy()
    lost = 0.0
    n = sand.shape[0]
    for _ in range(20):
        stable = True
        for r in range(n):
            for c in range(n):
                if sand[r, c] >= 3.0:
                    stable = False
                    share = sand[r, c] / 4
                    sand[r, c] = 0.0
                    for dr, dc in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                        if 0 <= r + dr < n and 0 <= c + dc < n:
                            sand[r + dr, c + dc] += share
                        else:
                            lost += share
        if stable:
            break
    return lost


@program((_rng.normal(size=(3, 3)), _rng.normal(size=(3, 3))),
         (np.eye(3) * 4, np.zeros((3, 3))), by=(0, 1))  # fmt: skip
def bodies(position, velocity, mass=(1.0, 0.5, 2.0), steps=15, dt=0.02):
    x, v = position.copy(), velocity.copy()
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                d = x[j] - x[i]
                r2 = np.sum(d * d) + 0.01
                if r2 > 16.0:
                    continue
                v[i] += dt * mass[j] * d / r2**1.5
        for i in range(n):
            x[i] += dt * v[i]
    energy = 0.0
    for i in range(n):
        energy += 0.5 * mass[i] * np.sum(v[i] ** 2)
    return energy


@program((1.0, 3.0), (5.0, -2.0), by=(0, 1))
def bouncing_ball(height, speed, g=9.81, dt=0.01):
    y, v = height, speed
    bounces = 0
    for _ in range(150):
        v -= g * dt
        y += v * dt
        if y < 0:
            y = -y
            v = -0.8 * v
            bounces += 1
            if bounces == 3:
                break
    return y + 0.1 * v


@program((0.4, 1.7), (1.5, 0.2), by=(0, 1))
def bilinear_interpolation(x, y):
    image = np.arange(16.0).reshape(4, 4) ** 1.5
    i = min(max(int(math.floor(x)), 0), 2)
    j = min(max(int(math.floor(y)), 0), 2)
    fx, fy = x - i, y - j
    top = image[i, j] * (1 - fy) + image[i, j + 1] * fy
    bottom = image[i + 1, j] * (1 - fy) + image[i + 1, j + 1] * fy
    return top * (1 - fx) + bottom * fx


@program((0.35, 0.8), (3.3, 1.6), by=(0, 1))
def simplex_noise(x, y):
    table = [(k * 7 + 3) % 12 for k in range(64)]
    gradients = np.array([(math.cos(a), math.sin(a)) for a in np.arange(12) * math.pi / 6])
    f2, g2 = 0.5 * (math.sqrt(3) - 1), (3 - math.sqrt(3)) / 6
    s = (x + y) * f2
    i, j = math.floor(x + s), math.floor(y + s)
    t = (i + j) * g2
    x0, y0 = x - (i - t), y - (j - t)
    if x0 > y0:
        i1, j1 = 1, 0
    else:
        i1, j1 = 0, 1
    corners = [(x0, y0, 0, 0), (x0 - i1 + g2, y0 - j1 + g2, i1, j1),
               (x0 - 1 + 2 * g2, y0 - 1 + 2 * g2, 1, 1)]  # fmt: skip
    total = 0.0
    for cx, cy, di, dj in corners:
        falloff = 0.5 - cx * cx - cy * cy
        if falloff > 0:
            g = gradients[table[(i + di + 8 * (j + dj)) % 64]]
            total += falloff**4 * (g[0] * cx + g[1] * cy)
    return 70 * total


@program((np.array([0.0, 1.0, 0.5, 2.0, 1.5]), 0.3), (np.array([1.0, 1.0, 3.0]), 1.7),
         by=(0, 1))  # fmt: skip
def natural_cubic_spline(y, at):
    """Knots at 0, 1, 2, …; the second derivatives by a tridiagonal system."""
    n = len(y)
    u, z = np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        p = 0.5 * z[i - 1] + 2
        z[i] = -0.5 / p
        u[i] = (3 * (y[i + 1] - 2 * y[i] + y[i - 1]) - 0.5 * u[i - 1]) / p
    second = np.zeros(n)
    for i in range(n - 2, -1, -1):
        second[i] = z[i] * second[i + 1] + u[i]
    k = 0
    while k < n - 2 and at > k + 1:
        k += 1
    b = at - k
    a = 1 - b
    return a * y[k] + b * y[k + 1] + ((a**3 - a) * second[k] + (b**3 - b) * second[k + 1]) / 6


@program((np.array([0.0, 1.0, 0.5, 2.0, 1.5]), 0.3), (np.array([1.0, 2.0, 1.0, 4.0]), 1.7),
         by=(0, 1))  # fmt: skip
def monotone_cubic_hermite(y, at):
    n = len(y)
    slopes = [y[i + 1] - y[i] for i in range(n - 1)]
    m = [slopes[0]]
    for i in range(1, n - 1):
        if slopes[i - 1] * slopes[i] <= 0:
            m.append(0.0)
        else:
            m.append(2 * slopes[i - 1] * slopes[i] / (slopes[i - 1] + slopes[i]))
    m.append(slopes[-1])
    k = min(int(at), n - 2)
    t = at - k
    h00 = (1 + 2 * t) * (1 - t) ** 2
    h10 = t * (1 - t) ** 2
    return h00 * y[k] + h10 * m[k] + t * t * (3 - 2 * t) * y[k + 1] + t * t * (t - 1) * m[k + 1]


@program((1.0, 1.0), (3.0, 0.5), (-0.05, 2.5), by=(0, 1))
def point_in_polygon(x, y):
    """The distance from the nearest corner, negative inside."""
    inside = False
    j = len(_SQUARE) - 1
    nearest = math.inf
    for i in range(len(_SQUARE)):
        xi, yi = _SQUARE[i]
        xj, yj = _SQUARE[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
        nearest = min(nearest, math.hypot(x - xi, y - yi))
        j = i
    return -nearest if inside else nearest


def _cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


@program((_rng.normal(size=(8, 2)),), (_rng.normal(size=(5, 2)),))
def area_of_convex_hull(points):
    """Gift wrapping, with the area summed as the hull is walked."""
    n = len(points)
    start = 0
    for i in range(1, n):
        if points[i, 0] < points[start, 0]:
            start = i
    area, current = 0.0, start
    for _ in range(n):
        following = (current + 1) % n
        for i in range(n):
            if _cross(points[current], points[i], points[following]) > 0:
                following = i
        area += points[current, 0] * points[following, 1]
        area -= points[following, 0] * points[current, 1]
        current = following
        if current == start:
            break
    return abs(area) / 2


@program((np.array([0.1, 0.2, -4.0]), np.array([0.0, 0.1, 1.0])),
         (np.array([3.0, 0.2, -4.0]), np.array([0.0, 0.1, 1.0])),
         (np.array([0.0, 0.0, 0.2]), np.array([1.0, 0.0, 1.0])), by=(0, 1))  # fmt: skip
def ray_and_spheres(origin, direction):
    spheres = [((0.0, 0.0, 0.0), 1.0), ((0.5, 0.5, 2.0), 0.7), ((3.0, 0.0, 5.0), 2.0)]
    d = direction / np.sqrt(np.dot(direction, direction))
    nearest = None
    for centre, radius in spheres:
        oc = origin - np.array(centre)
        b = np.dot(oc, d)
        c = np.dot(oc, oc) - radius * radius
        disc = b * b - c
        if disc < 0:
            continue
        root = math.sqrt(disc)
        t = -b - root
        if t < 1e-6:
            t = -b + root
        if t > 1e-6 and (nearest is None or t < nearest):
            nearest = t
    if nearest is None:
        return 0.5 * (d[1] + 1)
    return math.exp(-nearest)


@program((np.array([0.5, 0.5]),), (np.array([-1.2, 1.0]),))
def gradient_descent_with_line_search(start):
    """Armijo's rule on a quartic; its value after twelve steps."""

    def f(p):
        return (1 - p[0]) ** 2 + 2 * (p[1] - p[0] ** 2) ** 2

    def slope(p):
        return np.array([
            -2 * (1 - p[0]) - 8 * p[0] * (p[1] - p[0] ** 2), 4 * (p[1] - p[0] ** 2)
        ])  # fmt: skip

    x = start
    for _ in range(12):
        g = slope(x)
        if np.max(np.abs(g)) < 1e-8:
            break
        step = 1.0
        while f(x - step * g) > f(x) - 0.1 * step * np.dot(g, g):
            step *= 0.5
        x = x - step * g
    return f(x)


@program((np.array([1.0, 0.5]),), (np.array([-0.5, 2.0]),))
def nelder_mead(start):
    """Twenty steps of the downhill simplex."""

    def f(p):
        return (p[0] - 0.3) ** 2 + 3 * (p[1] + 0.1) ** 2 + p[0] * p[1]

    simplex = np.array([start, start + np.array([0.5, 0.0]), start + np.array([0.0, 0.5])])
    values = np.array([f(p) for p in simplex])
    for _ in range(20):
        order = np.argsort(values)
        simplex, values = simplex[order], values[order]
        centre = (simplex[0] + simplex[1]) / 2
        reflected = centre + (centre - simplex[2])
        fr = f(reflected)
        if fr < values[0]:
            expanded = centre + 2 * (centre - simplex[2])
            fe = f(expanded)
            if fe < fr:
                simplex[2], values[2] = expanded, fe
            else:
                simplex[2], values[2] = reflected, fr
        elif fr < values[1]:
            simplex[2], values[2] = reflected, fr
        else:
            contracted = centre + 0.5 * (simplex[2] - centre)
            fc = f(contracted)
            if fc < values[2]:
                simplex[2], values[2] = contracted, fc
            else:
                for k in (1, 2):
                    simplex[k] = simplex[0] + 0.5 * (simplex[k] - simplex[0])
                    values[k] = f(simplex[k])
    return values[0] + simplex[0, 0]
