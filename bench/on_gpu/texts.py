"""The texts of the programs, and their arguments, whose shapes depend on a number n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.on_gpu.namespace import Function, Namespace


def normal(*shapes: Callable[[int], tuple[int, ...]], dtype: str = "f4") -> Any:
    """Arguments: normal numbers in arrays whose shapes depend on n."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
        return tuple(_numbers(rng, shape(n)).astype(dtype) for shape in shapes)

    return draw


def _numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal numbers, which repeat in large arrays, as drawing them would take longer than the
    program."""
    return np.resize(rng.standard_normal(min(int(np.prod(shape)), 100_003), np.float32), shape)


def long(n: int) -> tuple[int, ...]:
    return (n,)


def wide(n: int) -> tuple[int, ...]:
    return (n, 1024)


def square(n: int) -> tuple[int, ...]:
    return (n, n)


# -- elements and rows ----------------------------------------------------------------------


def elements(library: Namespace) -> Function:
    np = library.np
    return lambda x: np.sin(x) * np.exp(x * -0.5) + np.tanh(x)


def black_scholes(library: Namespace) -> Function:
    np, ndtr = library.np, library.special.ndtr

    def price(spot: Any, strike: Any, years: Any) -> Any:
        spread = 0.2 * np.sqrt(years)
        d = (np.log(spot / strike) + 0.07 * years) / spread
        return spot * ndtr(d) - strike * np.exp(-0.05 * years) * ndtr(d - spread)

    return price


def options(dtype: str) -> Any:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
        ranges = (80, 120), (90, 110), (0.5, 2)
        few = min(n, 100_003)
        return tuple(np.resize(rng.uniform(*r, few).astype(dtype), (n,)) for r in ranges)

    return draw


def adam(library: Namespace) -> Function:
    np = library.np

    def step(w: Any, slope: Any, mean: Any, square: Any) -> Any:
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope * slope
        return w - 0.001 * mean / (np.sqrt(square) + 1e-8), mean, square

    return step


def weights(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    made = [_numbers(rng, (n,)) for _ in range(4)]
    return (*made[:3], abs(made[3]))


def softmax(library: Namespace) -> Function:
    np = library.np

    def rows(x: Any) -> Any:
        e = np.exp(x - np.amax(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    return rows


def softmax_loss(library: Namespace) -> Function:
    np, rows = library.np, softmax(library)
    return lambda x, g: np.sum(rows(x) * g)


def layer_norm(library: Namespace) -> Function:
    np = library.np

    def rows(x: Any, scale: Any, shift: Any) -> Any:
        apart = x - np.mean(x, axis=1, keepdims=True)
        variance = np.mean(apart * apart, axis=1, keepdims=True)
        return apart / np.sqrt(variance + 1e-5) * scale + shift

    return rows


def layer_norm_loss(library: Namespace) -> Function:
    np, rows = library.np, layer_norm(library)
    return lambda x, scale, shift, g: np.sum(rows(x, scale, shift) * g)


def cross_entropy(library: Namespace) -> Function:
    np = library.np

    def loss(x: Any, labels: Any, classes: Any) -> Any:
        top = np.amax(x, axis=1, keepdims=True)
        total = np.log(np.sum(np.exp(x - top), axis=1)) + top[:, 0]
        return np.mean(total - np.sum(np.where(labels[:, None] == classes, x, 0.0), axis=1))

    return loss


def labelled(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    x = _numbers(rng, (n, 1024))
    return x, rng.integers(0, 1024, n), np.arange(1024)


def columns(library: Namespace) -> Function:
    np = library.np
    return lambda x: np.sum(x * x, axis=0)


def turned(library: Namespace) -> Function:
    return lambda x, y: x.T + y


# -- matrices ---------------------------------------------------------------------------------


def product(library: Namespace) -> Function:
    maximum = library.maximum
    return lambda x, w, b: maximum(x @ w + b, 0.0)


def network(library: Namespace) -> Function:
    np = library.np

    def loss(x: Any, y: Any, u: Any, v: Any, w: Any) -> Any:
        return np.mean((np.tanh(np.tanh(x @ u) @ v) @ w - y) ** 2)

    return loss


def layers(examples: int | None) -> Any:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
        count = n if examples is None else examples
        shapes = (count, 784), (count, 10), (784, n // 8), (n // 8, n // 8), (n // 8, 10)
        made = [_numbers(rng, shape) for shape in shapes]
        return (*made[:2], *(w / np.float32(np.sqrt(len(w))) for w in made[2:]))

    return draw


def attention(library: Namespace) -> Function:
    np = library.np

    def heads(q: Any, k: Any, v: Any) -> Any:
        scores = q @ np.swapaxes(k, 1, 2) / 8.0
        e = np.exp(scores - np.amax(scores, axis=2, keepdims=True))
        return (e / np.sum(e, axis=2, keepdims=True)) @ v

    return heads


def attention_loss(library: Namespace) -> Function:
    np, heads = library.np, attention(library)
    return lambda q, k, v: np.sum(heads(q, k, v) ** 2)


def logistic(library: Namespace) -> Function:
    np = library.np
    return lambda w, x, y: np.mean(np.log1p(np.exp(-y * (x @ w))))


def examples(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    x = _numbers(rng, (n, 64))
    w = rng.standard_normal(64, np.float32) / 8
    return w, x, np.where(x[:, 0] > 0, np.float32(1), np.float32(-1))


def gaussian_process(library: Namespace) -> Function:
    np = library.np

    def loss(scale: Any, apart: Any, noise: Any, y: Any) -> Any:
        k = np.exp(-apart * scale) + noise
        return y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1]

    return loss


def observed(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    x = rng.uniform(0, 10, n)
    return np.array(0.5), (x[:, None] - x) ** 2, np.eye(n) / 10, np.sin(x)


# -- many small kernels, and loops --------------------------------------------------------------


def powers(library: Namespace) -> Function:
    np = library.np

    def chain(a: Any, x: Any) -> Any:
        total = 0.0
        for _ in range(30):
            x = a @ x
            total = total + np.sum(x)
        return total

    return chain


def stable(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return rng.standard_normal((n, n)) / np.sqrt(n), rng.standard_normal(n)


def rosenbrock(library: Namespace) -> Function:
    np = library.np
    return lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def recurrent(library: Namespace) -> Function:
    np, scan = library.np, library.scan

    def loss(w: Any, u: Any, xs: Any) -> Any:
        last, _ = scan(lambda h, x: (np.tanh(w @ h + u @ x), None), xs[0, :1] * u[:, 0], xs)
        return np.sum(last * last)

    return loss


def sequence(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    w, u = rng.standard_normal((64, 64)) / 8, rng.standard_normal((64, 16)) / 4
    return w, u, rng.standard_normal((n, 16))


def roots(library: Namespace) -> Function:
    np, vmap, while_loop = library.np, library.vmap, library.while_loop

    def newton(a: Any) -> Any:
        return while_loop(
            lambda x: np.abs(x * x - a) > 1e-9 * a, lambda x: 0.5 * (x + a / x), 1.0 + 0.0 * a
        )

    return vmap(newton)


def positive(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return (rng.uniform(0.1, 1000, n),)


def predators(library: Namespace) -> Function:
    fori_loop = library.fori_loop

    def flow(x: Any, y: Any) -> tuple[Any, Any]:
        return 1.1 * x - 0.4 * x * y, 0.1 * x * y - 0.4 * y

    def step(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        x, y = state
        a, b = flow(x, y)
        c, d = flow(x + 0.005 * a, y + 0.005 * b)
        return x + 0.01 * c, y + 0.01 * d

    def after(x: Any, y: Any) -> Any:
        return fori_loop(0, 1000, step, (x, y))[0]

    return after


def animals(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return rng.uniform(5, 15, n), rng.uniform(2, 8, n)


def heat(library: Namespace) -> Function:
    np, fori_loop = library.np, library.fori_loop

    def step(i: Any, u: Any) -> Any:
        return u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))

    return lambda u: fori_loop(0, 100, step, u)


# -- order --------------------------------------------------------------------------------------


def ordered(library: Namespace) -> Function:
    sort = library.sort
    return lambda x: sort(x)


def so_far(library: Namespace) -> Function:
    np = library.np
    return lambda x: np.cumsum(x, axis=0)


def added(library: Namespace) -> Function:
    add = library.added
    return lambda x, places, values: add(x, places, values)


def updates(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return np.zeros(1000), rng.integers(0, 1000, n), rng.standard_normal(n)
