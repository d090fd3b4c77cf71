"""Half precision, compared with NumPy, which computes it number by number, and with JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from autojit import grad, jit

from .pairs import Pair

#: The number of elements of the arrays, and the rows and columns of the matrices.
MANY, SIZE = 1_000_000, 256


def chain(x: Any, y: Any) -> Any:
    """Four elementwise operations, each with rounding, and a sum."""
    return (x * y + x / 2 - y).sum()


def pairs() -> list[Pair]:
    import jax

    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=MANY).astype(np.float16) for _ in range(2))
    a, b = (rng.normal(size=(SIZE, SIZE)).astype(np.float16) for _ in range(2))
    u, v = (z.astype(ml_dtypes.bfloat16) for z in (x, y))
    made, back = jit(chain), jit(grad(chain))
    theirs = [jax.device_put(z) for z in (x, y, u, v)]  # before the clock starts
    sums, gradients = jax.jit(chain), jax.jit(jax.grad(chain))
    return [
        Pair("float16, 4 operations, sum, 1e6", of(made, x, y), "NumPy", of(chain, x, y), 0.01),
        Pair("the same", of(made, x, y), "JAX", of(sums, *theirs[:2]), 0.01),
        Pair("its gradient", of(back, x, y), "JAX", of(gradients, *theirs[:2]), 0.01),
        Pair("bfloat16, the same sum", of(made, u, v), "JAX", of(sums, *theirs[2:]), 0.1),
        Pair(
            f"float16, a product of {SIZE} x {SIZE}", of(jit(np.matmul), a, b),
            "NumPy", of(np.matmul, a, b), 0.01,
        ),
    ]  # fmt: skip


def of(function: Any, *arrays: Any) -> Callable[[], np.ndarray]:
    """A bound call that waits for its result."""
    return lambda: np.asarray(function(*arrays))
