"""The programs: one text for all libraries, and arguments.

A text uses only names that NumPy, JAX, PyTorch and CuPy share.  What they spell differently
(loops, sorting, updates at computed places) is a function of `Namespace`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.on_gpu import texts
from bench.on_gpu.namespace import Function, Namespace


@dataclass(frozen=True)
class Demand:
    """The least share of the bandwidth of a copy, and the least quotient of JAX's time by ours."""

    bandwidth: float | None
    over_jax: float | None


#: What is demanded of the programs of each group.
DEMANDS = {
    "rows": Demand(0.85, 1.2),
    "matrices": Demand(None, 0.95),
    "small": Demand(None, 2.0),
    "order": Demand(None, None),
}


@dataclass(frozen=True)
class Program:
    """A function of arrays, or its gradient with respect to the arguments `argnums`.

    `make(library)` returns the function; `draw(rng, n)` its arguments.  `sizes` are the `n` of a
    card, and a small one for a run without a card.
    """

    name: str
    group: str
    make: Callable[[Namespace], Function]
    draw: Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]
    sizes: tuple[int, int]
    argnums: tuple[int, ...] = ()

    def arguments(self, *, is_small: bool) -> tuple[np.ndarray, ...]:
        """The same arrays in every process."""
        return self.draw(np.random.default_rng(0), self.sizes[is_small])


_LONG, _ROWS, _TWO_ROWS, _TWO_SQUARES = (
    texts.normal(*[shape] * count)
    for shape, count in ((texts.long, 1), (texts.wide, 1), (texts.wide, 2), (texts.square, 2))
)
_HEADS = texts.normal(*[lambda n: (n // 8, n, 64)] * 3)
_LINES = texts.normal(texts.wide, lambda n: (1024,), lambda n: (1024,))
_LINES_AND_SLOPE = texts.normal(texts.wide, lambda n: (1024,), lambda n: (1024,), texts.wide)
_LONG_F8 = texts.normal(texts.long, dtype="f8")
_OF_LAYER = texts.square, texts.square, texts.long

PROGRAMS: tuple[Program, ...] = (
    Program("elements", "rows", texts.elements, _LONG, (1 << 26, 300)),
    Program("Black-Scholes f64", "rows", texts.black_scholes, texts.options("f8"), (1 << 24, 300)),
    Program("Adam step", "rows", texts.adam, texts.weights, (1 << 25, 300)),
    Program("softmax", "rows", texts.softmax, _ROWS, (1 << 16, 3)),
    Program("softmax, gradient", "rows", texts.softmax_loss, _TWO_ROWS, (1 << 16, 3), (0,)),
    Program("layer norm", "rows", texts.layer_norm, _LINES, (1 << 16, 3)),
    Program(
        "layer norm, gradient", "rows", texts.layer_norm_loss, _LINES_AND_SLOPE, (1 << 16, 3),
        (0, 1, 2),
    ),
    Program(
        "cross entropy, gradient", "rows", texts.cross_entropy, texts.labelled, (1 << 16, 3), (0,)
    ),
    Program("sums of columns", "rows", texts.columns, _ROWS, (1 << 16, 30)),
    Program("transpose and sum", "rows", texts.turned, _TWO_SQUARES, (1 << 13, 40)),
    Program("logistic, gradient", "rows", texts.logistic, texts.examples, (1 << 20, 50), (0,)),
    Program("product, bias, relu", "matrices", texts.product, texts.normal(*_OF_LAYER), (4096, 40)),
    Program(
        "product f64", "matrices", texts.product, texts.normal(*_OF_LAYER, dtype="f8"), (4096, 40)
    ),
    Program(
        "network, gradient", "matrices", texts.network, texts.layers(None), (8192, 64), (2, 3, 4)
    ),
    Program("attention", "matrices", texts.attention, _HEADS, (512, 16)),
    Program("attention, gradient", "matrices", texts.attention_loss, _HEADS, (512, 16), (0, 1, 2)),
    Program(
        "Gaussian process, gradient", "matrices", texts.gaussian_process, texts.observed,
        (2048, 20), (0,),
    ),
    Program("30 matrix-vector products", "small", texts.powers, texts.stable, (1000, 30)),
    Program("Rosenbrock, gradient", "small", texts.rosenbrock, _LONG, (10_000, 50), (0,)),
    Program(
        "network of 64, gradient", "small", texts.network, texts.layers(64), (2048, 64), (2, 3, 4)
    ),
    Program("recurrent, gradient", "small", texts.recurrent, texts.sequence, (256, 9), (0, 1)),
    Program("roots, a loop each", "small", texts.roots, texts.positive, (1 << 18, 20)),
    Program("ODE, 1,000 steps", "small", texts.predators, texts.animals, (1 << 14, 9)),
    Program("heat, 100 steps", "small", texts.heat, _LONG, (10**6, 300)),
    Program("sort", "order", texts.ordered, _LONG, (10**7, 300)),
    Program("sums so far", "order", texts.so_far, _LONG_F8, (10**7, 300)),
    Program("updates of 1,000 places", "order", texts.added, texts.updates, (10**7, 3000)),
)  # fmt: skip
