"""autojit: write NumPy, get compiled gradients.

>>> import numpy as np
>>> from autojit import grad, jit
>>> def loss(w, x, y):
...     return np.mean((x @ w - y) ** 2)
>>> g = jit(grad(loss))
>>> g(np.array([1.0]), np.array([[1.0], [2.0]]), np.array([2.0, 4.0]))
array([-5.])
"""

from __future__ import annotations

from typing import Any

from . import errors, ode, testing
from .batching import vmap
from .checkpointing import checkpoint, peak_memory, saved_residuals
from .compiled import jit
from .control import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from .custom import custom_jvp, custom_vjp
from .derivatives import hvp, jvp, linearize, stop_gradient, vjp
from .execute import disable_jit
from .gradients import grad, value_and_grad
from .implicit import custom_linear_solve, custom_root, fixed_point
from .inspection import trace
from .jacobians import hessian, jacfwd, jacrev

__version__ = "0.1.0"

__all__ = [
    "associative_scan",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "disable_jit",
    "errors",
    "fixed_point",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "map",
    "ode",
    "parse",
    "peak_memory",
    "saved_residuals",
    "scan",
    "stop_gradient",
    "switch",
    "testing",
    "trace",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


def parse(text: str) -> Any:
    """The program that a text stands for; the inverse of ``str(program)``.

    >>> import autojit
    >>> p = autojit.parse('''
    ... program double(%0: f64[]) {
    ...   %1: f64[] = add %0, %0
    ...   return %1
    ... }''')
    >>> float(p(21.0))
    42.0
    """
    from autojit.ir.text import parse as parse_text

    return parse_text(text)
