"""Programs with the idioms of Python scripts: lists of lists, comprehensions, generators, classes,
closures, dicts, `for … else`, `any`, `sorted`."""

from __future__ import annotations

import cmath
import itertools
import math
from collections import deque, namedtuple
from dataclasses import dataclass
from functools import reduce

import numpy as np

from .program import program

_rng = np.random.default_rng(23)


@program((np.array([[4.0, 1.0], [2.0, 3.0]]),), (np.array([[0.0, 1.0], [2.0, 3.0]]),))
def gauss_on_lists(matrix):
    a = [list(row) for row in matrix]
    n = len(a)
    b = [1.0] * n
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[pivot] = a[pivot], a[i]
        b[i], b[pivot] = b[pivot], b[i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            a[r] = [x - f * y for x, y in zip(a[r], a[i])]
            b[r] -= f * b[i]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (b[i] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
    return sum(v * v for v in x)


@program((np.array([3.0, -1.0, 2.0]),), (np.array([-3.0, 1.0]),))
def sum_of_positive(xs):
    return sum(x * x for x in xs if x > 0)


@program((np.array([3.0, 1.0, 2.0]),), (np.array([-3.0, -1.0]),))
def all_or_any(xs):
    if all(x > 0 for x in xs):
        return sum(math.log(x) for x in xs)
    if any(x > 0 for x in xs):
        return max(xs)
    return -(min(xs) ** 2)


@program((1.0, -3.0, 2.0), (1.0, 2.0, 5.0), (0.0, 2.0, -1.0), by=(1, 2))
def roots_of_a_quadratic(a, b, c):
    if a == 0:
        return -c / b
    d = b * b - 4 * a * c
    if d >= 0:
        return (-b + math.sqrt(d)) / (2 * a)
    return abs((-b + cmath.sqrt(d)) / (2 * a))


@program((0.5, 10.0), (2.0, 0.1), by=(0, 1))
def search_for_a_bracket(x0, scale):
    def f(x):
        return x * x - scale

    for k in range(12):
        hi = x0 * 2**k
        if f(hi) > 0:
            break
    else:
        return -1.0 * x0
    lo = 0.0
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        lo, hi = (mid, hi) if f(mid) < 0 else (lo, mid)
    root = 0.5 * (lo + hi)
    return root - f(root) / (2 * root)


State = namedtuple("State", "position velocity alive")


@program((1.0, 2.1), (0.2, -3.0), by=(0, 1))
def particle_in_a_box(x, v):
    def step(state, dt=0.05):
        position = state.position + dt * state.velocity
        velocity = state.velocity
        if position > 1.5:
            position, velocity = 3.0 - position, -velocity
        elif position < 0:
            return state._replace(alive=False)
        return State(position, velocity, state.alive)

    state = State(x, v, True)
    for _ in range(30):
        if not state.alive:
            break
        state = step(state)
    return state.position * 2 + state.velocity


@dataclass
class Account:
    balance: float
    fees: float = 0.0

    def withdraw(self, amount):
        if amount > self.balance:
            self.fees += 35.0
            return False
        self.balance -= amount
        return True


@program((100.0, 0.1), (400.0, 0.02), by=(0, 1))
def year_of_an_account(start, rate):
    account = Account(start)
    refused = 0
    for month in range(12):
        account.balance *= 1 + rate / 12
        if not account.withdraw(20.0 + month):
            refused += 1
    return account.balance - account.fees * rate - refused


@program((0.3, 3.2), (0.9, 2.5), by=(0, 1))
def closure_with_a_counter(x, r):
    calls = 0
    largest = 0.0

    def f(x):
        nonlocal calls, largest
        calls += 1
        y = r * x * (1 - x)
        if y > largest:
            largest = y
        return y

    for _ in range(20):
        x = f(x)
    return x + calls + largest


@program((0.1,), (0.7,))
def methods_by_name(h):
    y = 1.0
    for method in ("implicit", "explicit", "midpoint", "implicit"):
        if y < 0.5:
            method = "explicit"
        match method:
            case "implicit":
                y = y / (1 + h)
            case "explicit":
                y = y * (1 - h)
            case _:
                y = y * (1 - h + h * h / 2)
    return y


@program((np.array([5.0, 1.0, 4.0, 2.0, 3.0]),), (np.array([1.0, 2.0]),))
def trimmed_mean(xs):
    ordered = sorted(xs)
    inner = ordered[1:-1] if len(ordered) > 2 else ordered
    return sum(inner) / len(inner) + ordered[0] ** 2


@program((np.array([1.0, -2.0, 3.0, 0.5]),), (np.array([-1.0, -2.0]),))
def running_totals(xs):
    totals = list(itertools.accumulate(xs))
    worst = reduce(min, totals)
    return totals[-1] * worst


@program((_rng.normal(size=12), 0.5), (_rng.normal(size=8), -0.2), by=(0, 1))
def window_with_a_deque(xs, threshold):
    window = deque(maxlen=3)
    total = 0.0
    for x in xs:
        window.append(x)
        if len(window) == 3:
            mean = sum(window) / 3
            if mean > threshold:
                total += mean - threshold
    return total


def _halves(a, b, n):
    for _ in range(n):
        yield 0.5 * (a + b)
        a = 0.5 * (a + b)


@program((1.0, 4.0), (-1.0, 0.5), by=(0, 1))
def values_of_a_generator(a, b):
    total = 0.0
    for m in _halves(a, b, 6):
        total = total + m * m if m > 0 else total - m
    return total


@program((np.array([0.2, 0.5, 0.3]), 0.6), (np.array([0.7, 0.2, 0.1]), 0.05), by=(0, 1))
def inverse_of_a_distribution(p, u):
    cumulated = 0.0
    for k, q in enumerate(p):
        if cumulated + q >= u:
            return k + (u - cumulated) / q
        cumulated += q
    return float(len(p))


@program((2.0, 1.0), (-2.0, 1.0), (-0.5, -3.0), by=(0, 1))
def angle_by_cases(x, y):
    if x > 0:
        angle = math.atan(y / x)
    elif x < 0:
        angle = math.atan(y / x) + (math.pi if y >= 0 else -math.pi)
    else:
        angle = math.copysign(math.pi / 2, y) + 0 * x
    return math.degrees(angle) + math.fabs(x) * 0.1


@program((55000.0,), (9000.0,), (150000.0,))
def income_tax(income):
    brackets = [(10000, 0.1), (40000, 0.12), (85000, 0.22), (float("inf"), 0.24)]
    tax, lower = 0.0, 0.0
    for upper, rate in brackets:
        if income <= lower:
            break
        tax += (min(income, upper) - lower) * rate
        lower = upper
    return tax


@program((np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.5, 1.0])),
         (np.array([-1.0, 2.0, 1.0]), np.array([2.0, 0.5, 3.0])), by=(0, 1))  # fmt: skip
def huber_with_zip(predicted, observed):
    loss = 0.0
    for p, o in zip(predicted, observed, strict=True):
        error = abs(p - o)
        loss += 0.5 * error**2 if error <= 1.2 else 1.2 * (error - 0.6)
    return loss / len(predicted)


@program((1.3,), (-0.2,))
def error_handled_by_try(x):
    try:
        y = math.log(x) if x > 0 else -1.0 * x
    except ValueError:
        y = 0.0
    finally:
        z = 2.0
    return y * z


@program((2.5,), (-1.5,), (7.2,))
def dispatch_by_a_dict(x):
    rules = {"low": lambda v: v * v, "middle": lambda v: 3 * v, "high": math.sqrt}
    if x < 0:
        y = rules["low"](x)
    elif x < 5:
        y = rules["middle"](x)
    else:
        y = rules["high"](x)
    return y


@program((np.array([[0.0, 2.0, 9.0], [2.0, 0.0, 3.0], [9.0, 3.0, 0.0]]),),
         (np.array([[0.0, 5.0, 1.0, 8.0], [5.0, 0.0, 2.0, 1.0], [1.0, 2.0, 0.0, 7.0],
                    [8.0, 1.0, 7.0, 0.0]]),))  # fmt: skip
def dijkstra(distance):
    n = distance.shape[0]
    best = np.full(n, np.inf)
    best[0] = 0.0
    done = np.zeros(n, dtype=bool)
    for _ in range(n):
        u, smallest = -1, np.inf
        for v in range(n):
            if not done[v] and best[v] < smallest:
                u, smallest = v, best[v]
        if u < 0:
            break
        done[u] = True
        for v in range(n):
            if distance[u, v] > 0 and best[u] + distance[u, v] < best[v]:
                best[v] = best[u] + distance[u, v]
    return best[n - 1]


@program((np.array([[0.0, 0.0], [3.0, 0.0], [3.2, 4.0], [0.1, 3.9]]),),
         (_rng.uniform(size=(6, 2)),))  # fmt: skip
def tour_of_nearest_neighbours(cities):
    n = len(cities)
    visited = [False] * n
    visited[0] = True
    current, length = 0, 0.0
    for _ in range(n - 1):
        nearest, shortest = 0, math.inf
        for j in range(n):
            if visited[j]:
                continue
            d = math.dist(cities[current], cities[j])
            if d < shortest:
                nearest, shortest = j, d
        visited[nearest] = True
        length += shortest
        current = nearest
    return length


@program((np.concatenate([_rng.normal(size=6), 5 + _rng.normal(size=6)]),),
         (np.arange(9.0) ** 1.5,))  # fmt: skip
def two_means(x):
    a, b = x[0], x[-1]
    while True:
        sums, counts = [0.0, 0.0], [0, 0]
        for v in x:
            k = 0 if abs(v - a) < abs(v - b) else 1
            sums[k] += v
            counts[k] += 1
        new_a, new_b = sums[0] / counts[0], sums[1] / counts[1]
        if abs(new_a - a) + abs(new_b - b) < 1e-12:
            break
        a, b = new_a, new_b
    return a * b
