"""Names of modules above tracing that tracing imports on demand."""

from __future__ import annotations

_PACKAGE = __name__.rpartition(".")[0]

_FUNCTIONS = (
    "reductions", "manipulation", "joining", "creation", "indexing", "assignment",
    "writing", "mathematics", "selecting", "sorting", "logic", "linalg.products",
    "linalg.vectors", "linalg.matrices", "linalg.factorizations", "linalg.spectral",
    "fourier", "methods", "bounded.slices", "bounded.table", "bounded.masks",
    "bounded.piecewise", "statistics.quantiles", "statistics.histograms",
    "statistics.extremes", "polynomials.algebra", "shapes.padding", "shapes.elements",
    "shapes.positions", "shapes.bits", "signals.rows",
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
    f"{_PACKAGE}.capture.twins",
)

#: Ours in the place of SciPy's packages that are not `autojit.scipy.NAME`, by SciPy's names.
SCIPY = {"integrate": f"{_PACKAGE}.ode"}

#: Modules of PyTorch's classes, by those of our functions that have their names.
CLASSES = {f"{_PACKAGE}.{name}": f"{_PACKAGE}.torch.{name}" for name in ("nn", "nn.init", "optim")}

#: What checks compiled functions when that is asked for, by what it checks.
CHECKS = {
    "gradients": f"{_PACKAGE}.validation.gradients",
    "compilation": f"{_PACKAGE}.validation.compilation",
}

#: What shows programs and functions in notebooks.
NOTEBOOK = f"{_PACKAGE}.notebook.shown"

#: What NumPy's functions do with arrays on a GPU.
ON_GPU = f"{_PACKAGE}.devices.operations"

#: The functions of the array API standard.
ARRAY_API = f"{_PACKAGE}.array_api"
