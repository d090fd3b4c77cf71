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
from typing import TYPE_CHECKING, Any

from . import errors
from .dispatch.jit_function import jit
from .staging.execute import disable_jit
from .staging.inspection import trace
from .tracing.hooks import hooks
from .transformations.batching import vmap
from .transformations.derivatives import hvp, jvp, linearize, stop_gradient, vjp
from .transformations.gradients import grad, value_and_grad
from .transformations.jacobians import hessian, jacfwd, jacrev
from .version import VERSION

if TYPE_CHECKING:
    from . import array_api, drawing, nn, ode, optim, testing, torch
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
    from .drawing.graphs.recorded import make_dot
    from .scalar.value import Value
    from .solvers.implicit import custom_linear_solve, custom_root, fixed_point
    from .transformations.checkpointing import checkpoint, peak_memory, saved_residuals
    from .transformations.custom import custom_jvp, custom_vjp

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
    "disable_jit",
    "drawing",
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
    "make_dot",
    "map",
    "nn",
    "numba_callback",
    "ode",
    "optim",
    "parse",
    "peak_memory",
    "pure_callback",
    "saved_residuals",
    "scan",
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


#: What answers NumPy for traced arrays: imported before the first trace.
hooks.register_modules(
    f"{__name__}.protocols.ufuncs",
    *(
        f"{__name__}.functions.{name}"
        for name in (
            "reductions", "manipulation", "joining", "creation", "indexing", "assignment",
            "writing", "mathematics", "selecting", "sorting", "logic", "linalg.products",
            "linalg.vectors", "linalg.matrices", "linalg.factorizations", "linalg.spectral",
            "fourier", "methods", "bounded.slices", "bounded.table", "bounded.masks",
            "bounded.piecewise", "statistics.quantiles", "statistics.histograms",
            "statistics.extremes", "polynomials.algebra", "shapes.padding", "shapes.elements",
            "shapes.positions", "shapes.bits", "signals.rows",
        )
    ),
    f"{__name__}.control_flow.cumulative",
    f"{__name__}.control_flow.ufunc_methods",
    f"{__name__}.control_flow.applied",
    f"{__name__}.control_flow.integers",
    f"{__name__}.interception.promotion",
    f"{__name__}.interception.patches",
    f"{__name__}.capture.twins",
)  # fmt: skip
hooks.scipy["integrate"] = f"{__name__}.ode"
hooks.classes.update(
    {f"{__name__}.{name}": f"{__name__}.torch.{name}" for name in ("nn", "nn.init", "optim")}
)
hooks.notebook = f"{__name__}.notebook.shown"
hooks.array_api = f"{__name__}.array_api"


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
    from .ir.tools.text import parse as parse_text

    return parse_text(text)


#: What is loaded when it is first used, and where it is.
_LATER = {
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
    "numba_callback": "callbacks.numba_functions",
    "pure_callback": "callbacks.pure",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _LATER[name]
    if not module:
        return importlib.import_module(f"{__name__}.{name}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
