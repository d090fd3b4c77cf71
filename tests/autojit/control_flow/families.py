"""Functions with control flow, and the same ones written as Python loops.

A reference unrolls; where its trip counts or branches depend on the argument it runs the most
steps there can be, under masks, so that it can be transformed (batched, too).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import autojit
from autojit import associative_scan, cond, fori_loop, grad, scan, switch, while_loop

RNG = np.random.default_rng(0)
X = np.array([0.4, -0.7, 0.9])
V = np.array([0.3, 0.5, -0.2])
W = RNG.normal(size=(3, 3)) * 0.4
ROWS = RNG.normal(size=(3, 3))


class Family(NamedTuple):
    """A real function of an array of three, and the same function as Python loops."""

    function: Callable[[Any], Any]
    reference: Callable[[Any], Any]


FAMILIES: dict[str, Family] = {}


def family(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a family: the decorated function is the reference of ``function``."""

    def add(reference: Callable[[Any], Any]) -> Any:
        FAMILIES[function.__name__] = Family(function, reference)
        return reference

    return add


# -- scan ---------------------------------------------------------------------


def recurrent(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        h, total = carry
        h = np.tanh(W @ h + row)
        return (h, total + np.sum(h * x)), h * np.sum(row)

    (_, total), ys = scan(step, (x, 0.0), ROWS)
    return total + np.sum(ys**2)


@family(recurrent)
def _(x: Any) -> Any:
    h, total = x, 0.0
    for row in ROWS:
        h = np.tanh(W @ h + row)
        total = total + np.sum(h * x) + np.sum((h * np.sum(row)) ** 2)
    return total


def backwards(x: Any) -> Any:
    carry, ys = scan(lambda c, r: (c * 0.5 + np.sin(r * x), c * r), x, ROWS, reverse=True)
    return np.sum(carry) + np.sum(ys * ROWS)


@family(backwards)
def _(x: Any) -> Any:
    carry, total = x, 0.0
    for row in ROWS[::-1]:
        total = total + np.sum(carry * row * row)
        carry = carry * 0.5 + np.sin(row * x)
    return np.sum(carry) + total


def rows_of_the_argument(x: Any) -> Any:
    outer = x[:, None] * x
    carry, ys = scan(lambda c, r: (c * r[0] + r[1], np.exp(r) * c), x[0], (outer, x)[0])
    return carry + np.sum(ys)


@family(rows_of_the_argument)
def _(x: Any) -> Any:
    carry, total = x[0], 0.0
    for k in range(3):
        row = x[k] * x
        total = total + np.sum(np.exp(row) * carry)
        carry = carry * row[0] + row[1]
    return carry + total


def exchanged(x: Any) -> Any:
    """Swap carries, pass one through, and return and stack one twice."""

    def step(carry: Any, row: Any) -> Any:
        _, b, fixed = carry
        new = b * fixed + row
        return (b, new, fixed), (new, b, new)

    (a, b, fixed), (first, old, second) = scan(step, (x, x * x, np.cos(x)), ROWS)
    return np.sum(a * b + fixed) + np.sum(first * old * second)


@family(exchanged)
def _(x: Any) -> Any:
    a, b, fixed, total = x, x * x, np.cos(x), 0.0
    for row in ROWS:
        new = b * fixed + row
        total = total + np.sum(new * b * new)
        a, b = b, new
    return np.sum(a * b + fixed) + total


def swapped(x: Any) -> Any:
    a, b = fori_loop(0, 3, lambda i, c: (c[1], c[0]), (x, np.sin(x)))
    s, t = fori_loop(0, 3, lambda i, c: (c[1], c[0]), (x[0], x[1]))
    return np.sum(a * a * b) + s * s * t


@family(swapped)
def _(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2 * x) + x[1] * x[1] * x[0]


def mapped(x: Any) -> Any:
    return np.sum(autojit.map(lambda r: np.sum(np.exp(r * x)) * r, ROWS)) + np.sum(
        autojit.map(lambda a: a * a * x[0], x)
    )


@family(mapped)
def _(x: Any) -> Any:
    total: Any = np.sum(x * x * x[0])
    for row in ROWS:
        total = total + np.sum(np.sum(np.exp(row * x)) * row)
    return total


def products(x: Any) -> Any:
    ahead = associative_scan(np.multiply, x)
    behind = associative_scan(lambda a, b: a * b, x, reverse=True)
    columns = associative_scan(np.add, x * W, axis=1)
    return np.sum(ahead * x) + np.sum(np.sin(behind)) + np.sum(columns**2)


@family(products)
def _(x: Any) -> Any:
    total: Any = np.sum(np.stack([x[0], x[0] * x[1], x[0] * x[1] * x[2]]) * x)
    behind = np.stack([x[0] * x[1] * x[2], x[1] * x[2], x[2]])
    a = x * W
    columns = np.stack([a[:, 0], a[:, 0] + a[:, 1], a[:, 0] + a[:, 1] + a[:, 2]])
    return total + np.sum(np.sin(behind)) + np.sum(columns**2)


def stencil(x: Any) -> Any:
    u = fori_loop(0, 4, lambda i, u: u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)), x)
    return np.sum(u**3)


@family(stencil)
def _(x: Any) -> Any:
    for _ in range(4):
        x = x + 0.1 * (np.roll(x, 1) - 2 * x + np.roll(x, -1))
    return np.sum(x**3)


# -- indices and assignments --------------------------------------------------


def elements(x: Any) -> Any:
    """Read elements at the loop's index, of carries and of captured arrays."""

    def step(i: Any, state: Any) -> Any:
        c, table, x = state
        inner = fori_loop(0, 2, lambda j, t: t + table[i] * x[j], 0.0)
        return c + table[i] * np.roll(c, 1) + x[2 - i] * c[i] + inner, table, x

    return np.sum(fori_loop(0, 3, step, (x, np.sin(x), x))[0] ** 2)


@family(elements)
def _(x: Any) -> Any:
    u, table = x, np.sin(x)
    for i in range(3):
        u = u + table[i] * np.roll(u, 1) + x[2 - i] * u[i] + table[i] * (x[0] + x[1])
    return np.sum(u**2)


def assigned(x: Any) -> Any:
    """Assign elements and slices of a carry in the body."""

    def step(i: Any, state: Any) -> Any:
        u, last, x = state
        last = u[i] * last + x[i]
        u[(i + 1) % 3] = last * np.cos(u[i])
        u[::2] = np.sin(u)[::2]
        return u, last, x

    u, last, _ = fori_loop(0, 5, lambda i, s: step(i % 3, s), (x, 0.5, x))
    return np.sum(u**2) + last


@family(assigned)
def _(x: Any) -> Any:
    u, last = [x[0], x[1], x[2]], 0.5
    for k in range(5):
        i = k % 3
        last = u[i] * last + x[i]
        u[(i + 1) % 3] = last * np.cos(u[i])
        u = [np.sin(u[0]), u[1], np.sin(u[2])]
    return u[0] ** 2 + u[1] ** 2 + u[2] ** 2 + last


# -- bounds and conditions ----------------------------------------------------


def counted(x: Any) -> Any:
    u = fori_loop(2, 5, lambda i, c: c * x + i * np.cos(c), x)
    return np.sum(fori_loop(-1, 2, lambda i, c: c + i * c * x, u))


@family(counted)
def _(x: Any) -> Any:
    u = x
    for i in range(2, 5):
        u = u * x + i * np.cos(u)
    for i in range(-1, 2):
        u = u + i * u * x
    return np.sum(u)


def traced_bounds(x: Any) -> Any:
    low = (np.sum(x) > -100).astype(int)
    u = fori_loop(low, low + 3, lambda i, c: c * x + i * np.cos(c), x)
    return np.sum(fori_loop(0, 2 * low, lambda i, c: c * c + i, u))


@family(traced_bounds)
def _(x: Any) -> Any:
    u = x
    for i in range(1, 4):
        u = u * x + i * np.cos(u)
    for i in range(2):
        u = u * u + i
    return np.sum(u)


def repeated(x: Any) -> Any:
    count, u = while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, np.sin(c[1]) * x + c[1]), (0, x))
    return np.sum(u) * count


@family(repeated)
def _(x: Any) -> Any:
    u = x
    for _ in range(3):
        u = np.sin(u) * x + u
    return np.sum(u) * 3


def halved(x: Any) -> Any:
    """Take 1 to 6 steps, depending on the argument."""
    s, total = while_loop(
        lambda c: c[0] > 0.1, lambda c: (c[0] * 0.5, c[1] + c[0] ** 2 * x), (np.sum(x * x), x)
    )
    return np.sum(total) * s


@family(halved)
def _(x: Any) -> Any:
    s, total = np.sum(x * x), x
    for _ in range(8):
        going = s > 0.1
        total = np.where(going, total + s**2 * x, total)
        s = np.where(going, s * 0.5, s)
    return np.sum(total) * s


def newton(x: Any) -> Any:
    """Roots by Newton's iteration, one after the other."""

    def root(a: Any) -> Any:
        return while_loop(lambda r: abs(r * r - a) > 1e-14, lambda r: (r + a / r) / 2, a)

    return np.sum(autojit.map(lambda a: root(a * a + 1), x) * x)


@family(newton)
def _(x: Any) -> Any:
    return np.sum(np.sqrt(x * x + 1) * x)


def branched(x: Any) -> Any:
    s = np.sum(x)
    first = cond(s > 0, lambda x: np.sum(np.exp(x) * x), lambda x: np.sum(x**3), x)
    return first + cond(s < 0, lambda: s * 2, lambda: s * s)


@family(branched)
def _(x: Any) -> Any:
    s = np.sum(x)
    first = np.where(s > 0, np.sum(np.exp(x) * x), np.sum(x**3))
    return first + np.where(s < 0, s * 2, s * s)


def switched(x: Any) -> Any:
    cases = [lambda y: np.sum(y**2), lambda y: np.sum(np.sin(y)), lambda y: np.prod(y)]
    total: Any = 0.0
    for k in (-1, 0, 1, 2, 5):
        total = total + switch(k, cases, x * (k + 3))
    chosen = np.floor(np.abs(x[0]) * 3).astype(int)
    return total + switch(chosen, cases, x)


@family(switched)
def _(x: Any) -> Any:
    total = np.sum((2 * x) ** 2) + np.sum((3 * x) ** 2) + np.sum(np.sin(4 * x))
    total = total + np.prod(5 * x) + np.prod(8 * x)
    k = np.floor(np.abs(x[0]) * 3)
    last = np.where(k == 1, np.sum(np.sin(x)), np.prod(x))
    return total + np.where(k == 0, np.sum(x**2), last)


# -- nests --------------------------------------------------------------------


def nested(x: Any) -> Any:
    """While in scan in a branch in scan."""

    def inner(c: Any, w: Any) -> Any:
        count = while_loop(
            lambda s: s[1] < 2, lambda s: (s[0] * w + np.sin(s[0]), s[1] + 1), (c, 0)
        )
        return count[0], np.sum(c * w)

    def outer(c: Any, row: Any) -> Any:
        return cond(
            np.sum(c) > 0,
            lambda c: (lambda made: (made[0] * row, np.sum(made[1])))(scan(inner, c, W)),
            lambda c: (c * -0.25, np.sum(c)),
            c,
        )

    c, ys = scan(outer, x, ROWS)
    return np.sum(c) + np.sum(ys)


@family(nested)
def _(x: Any) -> Any:
    c, total = x, 0.0
    for row in ROWS:
        made, part = c, 0.0
        for w in W:
            part = part + np.sum(made * w)
            for _ in range(2):
                made = made * w + np.sin(made)
        up = np.sum(c) > 0
        total = total + np.where(up, part, np.sum(c))
        c = np.where(up, made * row, c * -0.25)
    return np.sum(c) + total


def steps_of_loops(x: Any) -> Any:
    """Loops and branches of every kind in the body of a while_loop."""

    def step(state: Any) -> Any:
        k, c = state
        c, ys = scan(lambda c, row: (np.sin(c * row) * x, c), c, ROWS[:2])
        c = while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, np.cos(s[1]) * x), (0, c))[1]
        return k + 1, cond(k > 1, lambda c: c * x, lambda c: c + np.sum(ys), c)

    return np.sum(while_loop(lambda s: s[0] < 3, step, (0, x))[1])


@family(steps_of_loops)
def _(x: Any) -> Any:
    c = x
    for k in range(3):
        total: Any = 0.0
        for row in ROWS[:2]:
            total = total + np.sum(c)
            c = np.sin(c * row) * x
        for _ in range(k):
            c = np.cos(c) * x
        c = c * x if k > 1 else c + total
    return np.sum(c)


def descent(x: Any) -> Any:
    """Derivatives inside of a loop: steps of gradient descent and of Newton's method."""

    def loss(z: Any, row: Any) -> Any:
        return np.sum(np.cosh(z) + 0.3 * z * row * x)

    def step(c: Any, row: Any) -> Any:
        slope = grad(loss)(c, row)
        turned = autojit.hvp(lambda z: loss(z, row))(c, x)
        return c - 0.1 * slope, np.sum(turned)

    c, ys = scan(step, x, ROWS)
    return np.sum(c * c) + np.sum(ys)


@family(descent)
def _(x: Any) -> Any:
    c, total = x, 0.0
    for row in ROWS:
        total = total + np.sum(np.cosh(c) * x)
        c = c - 0.1 * (np.sinh(c) + 0.3 * row * x)
    return np.sum(c * c) + total


def matrices(x: Any) -> Any:
    """Linear algebra and products in the body."""

    def step(m: Any, row: Any) -> Any:
        m = np.linalg.solve(np.eye(3) * 3 + m * 0.3, W + row * x)
        return m, np.trace(m @ W)

    m, ys = scan(step, x[:, None] * x, ROWS)
    return np.sum(m) + np.sum(ys)


@family(matrices)
def _(x: Any) -> Any:
    m, total = x[:, None] * x, 0.0
    for row in ROWS:
        m = np.linalg.solve(np.eye(3) * 3 + m * 0.3, W + row * x)
        total = total + np.trace(m @ W)
    return np.sum(m) + total


# -- carries of every kind ----------------------------------------------------


def tree(x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        new = {"h": c["h"] * x + row["r"], "n": c["n"] + 1, "none": None, "odd": ~c["odd"]}
        return new, (None, {"y": np.where(c["odd"], c["h"], -c["h"])})

    first = {"h": x, "n": 0, "none": None, "odd": np.sum(x) > 100}
    last, (nothing, ys) = scan(step, first, {"r": ROWS})
    assert nothing is None
    return np.sum(last["h"] * last["n"]) + np.sum(ys["y"] ** 3)


@family(tree)
def _(x: Any) -> Any:
    h, total = x, 0.0
    for k, row in enumerate(ROWS):
        total = total + np.sum((h if k % 2 else -h) ** 3)
        h = h * x + row
    return np.sum(h * 3) + total


def turning(x: Any) -> Any:
    """A complex carry, which begins with a complex constant."""
    z = fori_loop(0, 3, lambda i, z: z * (x + 0.5j) + i, 1 + 0.25j + 0 * x)
    last = scan(lambda z, a: (z * (a - 0.3j), None), 0.5 - 1j, x)[0]
    return np.sum(np.real(z * np.conj(z))) + np.imag(last)


@family(turning)
def _(x: Any) -> Any:
    z: Any = 1 + 0.25j + 0 * x
    for i in range(3):
        z = z * (x + 0.5j) + i
    last: Any = 0.5 - 1j
    for k in range(3):
        last = last * (x[k] - 0.3j)
    return np.sum(np.real(z * np.conj(z))) + np.imag(last)


def short(x: Any) -> Any:
    """Run loops of length 0 and 1, without carries and without ys."""
    none, empty = scan(lambda c, r: (c * r, c + r), x, ROWS[:0])
    once, row = scan(lambda c, r: (c * r, c + r), x, ROWS[:1], reverse=True)
    _, ys = scan(lambda c, r: ((), r * x), (), ROWS)
    never = fori_loop(3, 1, lambda i, c: c * 100, x)
    return np.sum(none * once * never) + np.sum(empty) + np.sum(row**2) + np.sum(ys**2)


@family(short)
def _(x: Any) -> Any:
    row = ROWS[0]
    return np.sum(x * x * row * x) + np.sum((x + row) ** 2) + np.sum((ROWS * x) ** 2)
