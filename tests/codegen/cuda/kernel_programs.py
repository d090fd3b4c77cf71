"""Programs of each class of kernels, for tests of their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import autojit
from autojit import cond, fori_loop, grad, scan, vmap, while_loop


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def normalized(x: Any) -> Any:
    mean = np.mean(x, axis=1, keepdims=True)
    return (x - mean) / np.sqrt(np.var(x, axis=1, keepdims=True) + 1e-5)


def newton(a: Any) -> Any:
    found = while_loop(lambda x: np.max(abs(x * x - a)) > 1e-9, lambda x: (x + a / x) / 2, a)
    return np.sum(found)


def black_scholes(s: Any) -> Any:
    from scipy.special import ndtr

    d = (np.log(s / 100) + 0.05) / 0.2
    return s * ndtr(d + 0.2) - 95 * ndtr(d)


def special(x: Any) -> Any:
    from scipy.special import erfcx, gammaln, ndtri

    return np.sum(gammaln(x) + erfcx(x) * ndtri(x / 4))


def steps(y: Any) -> Any:
    return scan(lambda c, _: (np.sin(c) + 0.1 * c, np.sum(c)), y, None, length=9)


def turned(x: Any) -> Any:
    return fori_loop(0, 9, lambda i, c: np.sin(c[::-1]), x)[0]


def heat(u: Any) -> Any:
    return fori_loop(0, 9, lambda i, u: u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)), u)


def power(a: Any, x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        y = a @ x
        return y / np.sqrt(np.sum(y * y))

    return fori_loop(0, 5, step, x)


def roots(parents: Any) -> Any:
    places = parents.astype(int)
    return while_loop(lambda p: np.any(p[p] != p), lambda p: p[p], places)


def roots_of_rows(x: Any, weight: Any) -> Any:
    """A loop of its own in each row, of which all read one number."""

    def root(a: Any) -> Any:
        a = a * weight[0]
        return while_loop(lambda y: abs(y * y - a) > 1e-6, lambda y: (y + a / y) / 2, a)

    return np.sum(autojit.map(root, x))


def chosen(x: Any) -> Any:
    return cond(np.sum(x) > 3, lambda: np.sin(x), lambda: np.cumsum(x))


def places_of(x: Any, v: Any) -> Any:
    return np.arange(v.shape[0]) * 5 % x.shape[0]


def added(x: Any, v: Any) -> Any:
    y = x.copy()
    np.add.at(y, places_of(x, v), v)
    return y


def counted(x: Any, v: Any) -> Any:
    return np.bincount((v * 9).astype(int) % x.shape[0], minlength=x.shape[0])


def placed(x: Any, v: Any) -> Any:
    y = x.copy()
    y[places_of(x, v)] = v
    return y


#: Functions and the shapes of their arguments: small ones for the simulator, and large ones.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "elements": (black_scholes, [(40,)], [(10**8,)]),
    "special functions": (grad(special), [(9,)], [(10**6,)]),
    "a transpose": (lambda x: x.transpose(3, 1, 0, 2) + 0, [(2, 3, 2, 3)], [(30, 20, 10, 40)]),
    "rows": (softmax, [(5, 40)], [(10**5, 1000)]),
    "gradient of rows": (grad(lambda x: np.sum(normalized(x) ** 3)), [(5, 40)], [(16384, 1024)]),
    "short rows": (softmax, [(30, 9)], [(10**6, 20)]),
    "columns": (lambda x: np.sum(x * x, 0), [(40, 5)], [(10**5, 1000)]),
    "few long rows": (lambda x: np.max(x, 1), [(2, 300)], [(4, 10**6)]),
    "one number": (lambda x: (np.sum(np.exp(x)), np.min(x)), [(9, 18)], [(3000, 3000)]),
    "a sum of products": (lambda a, x: np.sum(a @ x), [(9, 18), (18,)], [(1000, 1000), (1000,)]),
    "a product": (lambda a, b: np.tanh(a @ b), [(9, 7), (7, 5)], [(512, 512), (512, 512)]),
    "scattered": (grad(lambda x: np.sum(x[np.arange(40) % 7] ** 2)), [(9,)], [(10**6,)]),
    "added": (added, [(9,), (40,)], [(1000,), (10**6,)]),
    "added to few": (added, [(3,), (40,)], [(16,), (10**6,)]),
    "counted": (counted, [(3,), (40,)], [(16,), (10**6,)]),
    "placed": (placed, [(9,), (40,)], [(1000,), (10**6,)]),
    "a loop until": (grad(newton), [(5,)], [(5000,)]),
    "steps": (grad(turned), [(6,)], [(500,)]),
    "steps of one": (lambda x: fori_loop(0, 9, lambda i, c: np.sin(c), x[0]), [(3,)], [(9,)]),
    "steps of each": (lambda x: vmap(steps)(x), [(12, 3)], [(10**4, 3)]),
    "steps of all": (heat, [(60,)], [(10**6,)]),
    "products in steps": (power, [(9, 9), (9,)], [(1000, 1000), (1000,)]),
    "places in steps": (roots, [(60,)], [(10**6,)]),
    "a loop in each row": (grad(roots_of_rows, argnums=(0, 1)), [(9,), (1,)], [(10**5,), (1,)]),
    "sums so far": (lambda x: np.cumsum(x * (1 + 2j)), [(40,)], [(10**7,)]),
    "branches": (chosen, [(6,)], [(1000,)]),
    "factors": (np.linalg.solve, [(4, 4), (4, 3)], [(100, 100), (100, 30)]),
    "order": (lambda x: np.sort(x), [(40,)], [(10**5,)]),
    "order of places": (lambda x: np.argsort(x), [(2, 40)], [(10, 10**4)]),
    "order by digits": (lambda x: np.sort(x), [(40,)], [(10**7,)]),
    "order of places by digits": (lambda x: np.argsort(x), [(40,)], [(10**7,)]),
    "transforms": (lambda x: np.abs(np.fft.rfft(x)), [(3, 8)], [(100, 64)]),
}  # fmt: skip


def arguments(shapes: list[tuple[int, ...]], dtype: str = "f8") -> list[Any]:
    """Arrays for the small programs."""
    rng = np.random.default_rng(0)
    made = [rng.uniform(1, 2, shape).astype(dtype) for shape in shapes]
    return [a + 4 * np.eye(4) if a.shape == (4, 4) else a for a in made]


def like(shapes: list[tuple[int, ...]], dtype: str = "f8") -> list[Any]:
    """Arrays of a single repeated number for the large programs, which are only compiled."""
    return [np.broadcast_to(np.array(1, dtype), shape) for shape in shapes]
