"""Functions that other processes import by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit import checkpoint, custom_vjp, grad, hvp, jacfwd, jit, value_and_grad, vmap

X = np.linspace(0.1, 0.9, 5)


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(-(x**2)))


def power(x: Any, n: int, *, scale: Any = 1.0) -> Any:
    return scale * np.sum(x**n)


@jit
def decorated(x: Any) -> Any:
    return np.sqrt(x) * 2.0


@grad
def gradient(x: Any) -> Any:
    return loss(x) ** 2


@custom_vjp
def halved(x: Any) -> Any:
    return x / 2.0


halved.defvjp(lambda x: (x / 2.0, None), lambda _, ct: (ct * 100.0,))


def with_rule(x: Any) -> Any:
    return np.sum(halved(x) ** 2)


#: Transformations of functions that have a name.
MADE = {
    "jit": jit(loss),
    "jit of grad": jit(grad(loss)),
    "grad": grad(loss),
    "value_and_grad": value_and_grad(loss, argnums=(0,)),
    "vmap of grad": vmap(grad(loss), in_axes=0),
    "jacfwd": jacfwd(loss),
    "checkpoint": checkpoint(loss, policy="dots"),
    "decorated by jit": decorated,
    "decorated by grad": gradient,
    "jit of what is decorated": jit(gradient),
    "a custom rule": jit(grad(with_rule)),
    "the function with the rule": halved,
}


def compiled_here(k: int) -> Any:
    """Compile a function that exists only in this process, and its gradient."""
    return jit(grad(lambda x: np.sum(np.sin(x) * (k + x**2))))(X)


def called(function: Any) -> Any:
    return function(np.stack([X, X]) if "vmap" in repr(function) else X)


def product_with_hessian(x: Any) -> Any:
    return hvp(loss)(x, x)
