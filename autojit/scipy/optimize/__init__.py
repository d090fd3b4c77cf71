"""``scipy.optimize`` for traced values: with plain ones only, each function is SciPy's own."""

from .formulas import approx_fprime, rosen, rosen_der, rosen_hess, rosen_hess_prod
from .minima import curve_fit, least_squares, lsq_linear, minimize, minimize_scalar, nnls
from .roots import (
    bisect,
    brenth,
    brentq,
    fixed_point,
    fsolve,
    newton,
    ridder,
    root,
    root_scalar,
    toms748,
)

__all__ = [
    "approx_fprime", "bisect", "brenth", "brentq", "curve_fit", "fixed_point", "fsolve",
    "least_squares", "lsq_linear", "minimize", "minimize_scalar", "newton", "nnls", "ridder",
    "root", "root_scalar", "rosen", "rosen_der", "rosen_hess", "rosen_hess_prod", "toms748",
]  # fmt: skip
