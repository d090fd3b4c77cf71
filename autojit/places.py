"""Names of modules above tracing that tracing imports on demand."""

from __future__ import annotations

_PACKAGE = __name__.rpartition(".")[0]

_FUNCTIONS = (
    "reductions", "manipulation", "joining", "creation", "indexing", "assignment",
    "writing", "mathematics", "selecting", "sorting", "logic", "linalg.products",
    "linalg.vectors", "linalg.matrices", "linalg.factorizations", "linalg.spectral",
    "fourier", "methods", "bounded.slices", "bounded.table", "bounded.masks", "bounded.carried",
    "bounded.piecewise", "statistics.quantiles", "statistics.histograms",
    "statistics.extremes", "statistics.averages", "polynomials.algebra", "shapes.padding",
    "shapes.elements", "shapes.positions", "shapes.bits", "signals.rows",
)  # fmt: skip

#: Modules that implement NumPy for traced arrays: imported before the first trace.
ANSWERS = (
    f"{_PACKAGE}.protocols.operators",
    *(f"{_PACKAGE}.functions.{name}" for name in _FUNCTIONS),
    f"{_PACKAGE}.control_flow.cumulative",
    f"{_PACKAGE}.control_flow.ufunc_methods",
    f"{_PACKAGE}.control_flow.applied",
    f"{_PACKAGE}.control_flow.integers",
    f"{_PACKAGE}.interception.promotion",
    f"{_PACKAGE}.interception.visibility",
    f"{_PACKAGE}.capture.runtime",
)

#: The modules that replace SciPy's packages and are not `autojit.scipy.NAME`, by SciPy's names.
SCIPY = {"integrate": f"{_PACKAGE}.ode"}

#: The modules of PyTorch's classes, by the modules of autojit's functions with the same names.
CLASSES = {f"{_PACKAGE}.{name}": f"{_PACKAGE}.torch.{name}" for name in ("nn", "nn.init", "optim")}

#: The modules that check compiled functions on request, by the subject of the check.
CHECKS = {
    "gradients": f"{_PACKAGE}.validation.gradients",
    "compilation": f"{_PACKAGE}.validation.compilation",
}

#: The module that shows programs and functions in notebooks.
NOTEBOOK = f"{_PACKAGE}.notebook.shown"

#: The module that implements NumPy's functions for arrays on a GPU.
ON_GPU = f"{_PACKAGE}.devices.operations"

#: The functions of the array API standard.
ARRAY_API = f"{_PACKAGE}.array_api"
