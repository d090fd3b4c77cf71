"""First programs of people who are new to the project: they handle errors, keep records in lists,
dicts and objects, and write generators."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from .program import program


class DivergedError(Exception):
    pass


@program((2.0, 1.0), (0.5, 1.0), (-3.0, 2.0), by=(0, 1))
def safe_square_root(x, fallback):
    try:
        y = math.sqrt(x)
    except ValueError:
        y = fallback * x
    else:
        y = y + 1
    return y * fallback


@program((np.array([1.0, 4.0, -1.0, 9.0]),), (np.array([0.5, 2.0]),))
def mean_of_logarithms(xs):
    total, failed = 0.0, 0
    for x in xs:
        try:
            total += math.log(x)
        except ValueError:
            failed += 1
    return total / max(len(xs) - failed, 1) - failed


def _newton_step(f, slope, x):
    d = slope(x)
    if abs(d) < 1e-8:
        raise ZeroDivisionError("flat")
    step = f(x) / d
    if abs(step) > 100:
        raise DivergedError(step)
    return x - step


@program((1.0, 3.0), (0.0, 2.0), (1e-4, 5.0), by=(1,))
def newton_with_restarts(x, a):
    restarts = 0
    for _ in range(20):
        try:
            x = _newton_step(lambda v: v * v - a, lambda v: 2 * v, x)
        except ZeroDivisionError:
            x = x + 0.5
            restarts += 1
        except DivergedError:
            x = 1.0
            restarts += 10
    return x + restarts


@program((3.0, 2), (3.0, 7), by=(0,))
def element_or_default(x, k):
    values = [x, x * x, x**3]
    try:
        return values[k] + 1
    except IndexError:
        return -x


class Tank:
    """A tank of water that refuses to overflow."""

    def __init__(self, size, level=0.0):
        self.size, self.level, self.spills = size, level, 0

    def fill(self, amount):
        if self.level + amount > self.size:
            self.spills += 1
            raise OverflowError("full")
        self.level += amount

    def drain(self, share):
        self.level *= 1 - share


@program((0.97, 0.31), (0.2, 0.25), by=(0, 1))
def filling_a_tank(amount, share):
    tank = Tank(3.0)
    for hour in range(12):
        try:
            tank.fill(amount)
        except OverflowError:
            tank.drain(share)
        if hour % 4 == 3:
            tank.drain(share / 2)
    return tank.level + tank.spills * amount


@program((np.array([3.0, -1.0, 2.0, -2.0]),), (np.array([1.0, 1.0]),))
def totals_by_sign(xs):
    totals = {"positive": 0.0, "negative": 0.0}
    for x in xs:
        totals["positive" if x > 0 else "negative"] += x * x
    return totals["positive"] - 2 * totals["negative"]


@program((np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 2.5), (np.array([1.0, 2.0]), 9.0), by=(0, 1))
def moving_average_crossings(xs, level):
    def averages(values, n):
        for i in range(n - 1, len(values)):
            yield sum(values[i - n + 1 : i + 1]) / n

    crossings, last = 0, None
    total = 0.0
    for average in averages(xs, 2):
        if last is not None and (last - level) * (average - level) < 0:
            crossings += 1
        last = average
        total += average * level
    return total + crossings


@program((27.0,), (0.001,), (-8.0,))
def cube_root_by_bisection(a):
    low, high = min(-1.0, a), max(1.0, a)
    count = 0
    while high - low > 1e-12 and count < 200:
        middle = (low + high) / 2
        if middle**3 < a:
            low = middle
        else:
            high = middle
        count += 1
    x = (low + high) / 2
    return x - (x**3 - a) / (3 * x * x)


@program((1000.0, 0.05, 12), (100.0, 0.9, 3), by=(0, 1))
def loan(amount, rate, months):
    monthly = rate / 12
    try:
        payment = amount * monthly / (1 - (1 + monthly) ** -months)
    except ZeroDivisionError:
        payment = amount / months
    paid = 0.0
    balance = amount
    for _ in range(months):
        interest = balance * monthly
        principal = min(payment - interest, balance)
        balance -= principal
        paid += interest
    return paid


@program((np.array([2.0, 3.0, 1.0, 5.0, 4.0]),), (np.array([1.0, 1.5]),))
def second_largest(xs):
    first = second = -math.inf
    for x in xs:
        if x > first:
            first, second = x, first
        elif x > second:
            second = x
    return first * second


@program((np.array([0.1, 0.9, 0.4, 0.35, 0.8]), 0.5), (np.array([0.1, 0.2]), 0.5), by=(0,))
def grouped_by_threshold(xs, threshold):
    groups = defaultdict(list)
    for i, x in enumerate(xs):
        groups[i % 2].append(x if x > threshold else threshold - x)
    return sum(max(group) * (k + 1) for k, group in groups.items())


@program((0.4, 2.9), (0.1, 2.5), by=(0, 1))
def orbit_until_it_repeats(x, r):
    seen = [x]
    while len(seen) < 40:
        x = r * x * (1 - x)
        if any(abs(x - y) < 1e-3 for y in seen):
            break
        seen.append(x)
    return sum(seen) / len(seen)


@program((np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])),
         (np.array([[0.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])), by=(0, 1))  # fmt: skip
def cramers_rule(a, b):
    d = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    if d == 0:
        raise ValueError("singular")
    x = (b[0] * a[1, 1] - a[0, 1] * b[1]) / d
    y = (a[0, 0] * b[1] - b[0] * a[1, 0]) / d
    return x * x + y


def _checked(x, low, high):
    if not low <= x <= high:
        raise ValueError(f"not in {low} to {high}")
    return x


@program((0.5, 20.0), (1.5, 20.0), (0.5, 200.0), by=(0, 1))
def validated(share, temperature):
    problems = []
    try:
        share = _checked(share, 0, 1)
    except ValueError:
        problems.append(share)
        share = 1.0
    try:
        temperature = _checked(temperature, -50, 150)
    except ValueError:
        problems.append(temperature)
        temperature = 150.0
    return share * temperature - sum(problems)


@program((np.array([1.0, 2.0, 4.0]), 3.0), (np.array([1.0, 2.0, 4.0]), 9.0), by=(0, 1))
def interpolated(xs, x):
    ys = [v * v for v in xs]
    for i in range(len(xs) - 1):
        if xs[i] <= x <= xs[i + 1]:
            t = (x - xs[i]) / (xs[i + 1] - xs[i])
            return ys[i] + t * (ys[i + 1] - ys[i])
    return ys[-1] + 0 * x if x > xs[-1] else ys[0] + 0 * x


@program((10.0, 0.3), (-5.0, 0.7), by=(0, 1))
def thermostat(outside, gain):
    temperature, heating, switched = 18.0, False, 0
    for _ in range(40):
        if temperature < 19 and not heating:
            heating = True
            switched += 1
        elif temperature > 21 and heating:
            heating = False
            switched += 1
        temperature += 0.1 * (outside - temperature) + (4 * gain if heating else 0.0)
    return temperature + switched


def _spiral(x, y):
    while True:
        yield x, y
        x, y = 0.9 * x - 0.3 * y, 0.3 * x + 0.9 * y


@program((3.0, 1.0), (0.2, 0.1), by=(0, 1))
def steps_of_a_spiral(x, y):
    length = 0.0
    last = None
    for k, (u, v) in enumerate(_spiral(x, y)):
        if last is not None:
            length += math.hypot(u - last[0], v - last[1])
        last = u, v
        if u * u + v * v < 0.5 or k > 60:
            break
    return length


@program((np.array([1.0, -2.0, 3.0, -4.0]),), (np.array([2.0, 1.0]),))
def stack_machine(xs):
    stack = []
    for x in xs:
        if x < 0 and len(stack) > 0:
            stack.append(stack.pop() * x)
        else:
            stack.append(x)
    total = 0.0
    while stack:
        total = total / 2 + stack.pop()
    return total
