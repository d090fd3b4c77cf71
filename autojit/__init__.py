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

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .version import VERSION

if TYPE_CHECKING:
    from . import array_api, drawing, errors, nn, ode, optim, testing, torch
    from .callbacks.numba_functions import numba_callback
    from .callbacks.pure import pure_callback
    from .control_flow.control import (
        associative_scan,
        cond,
        fori_loop,
        map,
        scan,
        switch,
        while_loop,
    )
    from .devices.transfer import device_get, device_put
    from .dispatch.jit_function import jit
    from .dispatch.outside import debug_stale
    from .drawing.graphs.recorded import make_dot
    from .profiling.profile import profile
    from .scalar.value import Value
    from .solvers.implicit import custom_linear_solve, custom_root, fixed_point
    from .staging.execute import disable_jit
    from .staging.exported import source
    from .staging.inspection import trace
    from .transformations.batching import vmap
    from .transformations.checkpointing import checkpoint, peak_memory, saved_residuals
    from .transformations.custom import custom_jvp, custom_vjp
    from .transformations.derivatives import hvp, jvp, linearize, stop_gradient, vjp
    from .transformations.gradients import grad, value_and_grad
    from .transformations.jacobians import hessian, jacfwd, jacrev
    from .validation.nans import debug_nans, explain_nan

__version__ = VERSION

__all__ = [
    "Value",
    "array_api",
    "associative_scan",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "debug_nans",
    "debug_stale",
    "device_get",
    "device_put",
    "disable_jit",
    "drawing",
    "errors",
    "explain_nan",
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
    "make_dot",
    "map",
    "nn",
    "numba_callback",
    "ode",
    "optim",
    "parse",
    "peak_memory",
    "profile",
    "pure_callback",
    "saved_residuals",
    "scan",
    "source",
    "stop_gradient",
    "switch",
    "testing",
    "torch",
    "trace",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


def parse(text: str) -> Any:
    """Parse the text of a program; the inverse of ``str(program)``.

    Args:
        text: the text, in the grammar of ``ir/GRAMMAR.md``.

    Returns:
        A program: called with arrays, it runs.

    Raises:
        StructureError: if ``text`` is not a string.
        ValueError: if it is not a program; the message names the line.

    >>> import autojit
    >>> p = autojit.parse('''
    ... program double(%0: f64[]) {
    ...   %1: f64[] = add %0, %0
    ...   return %1
    ... }''')
    >>> float(p(21.0))
    42.0
    """
    from .ir.tools.text import parse as parse_text

    if not isinstance(text, str):
        from .errors import StructureError

        raise StructureError(f"parse: text must be a str, not of type {type(text).__name__}.")
    return parse_text(text)


#: The module of each public name. Modules are loaded on first use, so that the command ``autojit``
#: can answer before NumPy is loaded.
_LATER = {
    "debug_stale": "dispatch.outside",
    "jit": "dispatch.jit_function",
    **dict.fromkeys(("device_get", "device_put"), "devices.transfer"),
    "disable_jit": "staging.execute",
    "trace": "staging.inspection",
    "vmap": "transformations.batching",
    **dict.fromkeys(
        ("hvp", "jvp", "linearize", "stop_gradient", "vjp"), "transformations.derivatives"
    ),
    **dict.fromkeys(("grad", "value_and_grad"), "transformations.gradients"),
    **dict.fromkeys(("hessian", "jacfwd", "jacrev"), "transformations.jacobians"),
    **dict.fromkeys(
        ("checkpoint", "peak_memory", "saved_residuals"), "transformations.checkpointing"
    ),
    **dict.fromkeys(("custom_jvp", "custom_vjp"), "transformations.custom"),
    **dict.fromkeys(
        ("associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"),
        "control_flow.control",
    ),
    "Value": "scalar.value",
    "make_dot": "drawing.graphs.recorded",
    **dict.fromkeys(("custom_linear_solve", "custom_root", "fixed_point"), "solvers.implicit"),
    **dict.fromkeys(
        (
            "drawing",
            "array_api",
            "errors",
            "micrograd",
            "nn",
            "numpy",
            "ode",
            "optim",
            "scalar",
            "scipy",
            "testing",
            "torch",
        ),
        "",
    ),
    **dict.fromkeys(("debug_nans", "explain_nan"), "validation.nans"),
    "numba_callback": "callbacks.numba_functions",
    "profile": "profiling.profile",
    "pure_callback": "callbacks.pure",
    "source": "staging.exported",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .session.other_names import missing

        raise missing(name, __all__, sys._getframe(1))
    module = _LATER[name]
    if not module:
        return importlib.import_module(f"{__name__}.{name}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
