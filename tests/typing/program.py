"""A user's program with annotations: `test_programs.py` checks what mypy says of it.

A comment `# reveals: TYPE` says what `reveal_type` prints, and `# error: CODE` that the line is
wrong. The program is checked and not run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import reveal_type

import numpy as np
import numpy.typing as npt

import autojit
from autojit import (
    checkpoint,
    custom_vjp,
    grad,
    jacfwd,
    jit,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)

Array = npt.NDArray[np.float64]


def loss(w: Array, x: Array, *, scale: float = 1.0) -> float:
    return float(np.sum(w * x) * scale)


@jit
def bare(x: Array, power: int = 2) -> Array:
    return x**power


@jit(static_argnums=1)
def with_settings(x: Array, power: int) -> Array:
    return x**power


@grad(argnums=(0, 1))
def derived(w: Array, x: Array) -> float:
    return float(np.sum(w * x))


@custom_vjp
def bounded(x: Array) -> Array:
    return np.clip(x, -1.0, 1.0)


@custom_vjp(nondiff_argnums=1)
def powered(x: Array, power: int) -> Array:
    return x**power


class Model:
    @jit
    def predict(self, x: Array) -> Array:
        return x


w, x = np.ones(3), np.ones(3)

reveal_type(jit(loss)(w, x, scale=2.0))  # reveals: float
reveal_type(bare(x))  # reveals: NDArray
reveal_type(with_settings(x, 3))  # reveals: NDArray
reveal_type(Model().predict(x))  # reveals: NDArray
reveal_type(grad(loss)(w, x))  # reveals: Any
reveal_type(value_and_grad(loss)(w, x))  # reveals: tuple[float, Any]
reveal_type(jit(value_and_grad(loss))(w, x))  # reveals: tuple[float, Any]
reveal_type(checkpoint(bare)(x))  # reveals: NDArray
reveal_type(bounded(x))  # reveals: NDArray
reveal_type(powered(x, 2))  # reveals: Any
reveal_type(stop_gradient(x))  # reveals: NDArray
reveal_type(vjp(bare, x)[0])  # reveals: NDArray
reveal_type(jit(loss).cache_info().traces)  # reveals: int
reveal_type(autojit.trace(loss)(w, x).text())  # reveals: str

jit(loss)(w)  # error: call-arg
jit(loss)(w, "x")  # error: arg-type
jit(loss)(w, x, size=2.0)  # error: call-arg
jit(grad(loss))(w)  # error: call-arg
grad(loss)(w, x, scale="2")  # error: arg-type
value_and_grad(loss)(w)  # error: call-arg
derived(w)  # error: call-arg
bare(x, 2.0)  # error: arg-type
bounded(x, x)  # error: call-arg
Model().predict()  # error: call-arg
jit(3)  # error: call-overload
jit(loss, static_argnum=1)  # error: call-overload
grad(loss, "w")  # error: arg-type

# Wherever a plain function is taken, a transformed one is.
functions: list[Callable[[Array], Array]] = [bare, jit(bare), checkpoint(bare), vmap(bare)]
# NumPy's own functions, lambdas, and functions without annotations.
jit(np.sum)(x)
jit(np.sin)(x)
jacfwd(np.sin)(x)
grad(np.sum)(x)
grad(lambda v: np.sum(v**2))(x)
vmap(grad(lambda v: v**2))(x)
