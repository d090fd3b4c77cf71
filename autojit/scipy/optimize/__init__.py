"""``scipy.optimize`` for traced values; if no argument is traced, SciPy's own function runs."""

from .assignment import linear_sum_assignment
from .formulas import approx_fprime, rosen, rosen_der, rosen_hess, rosen_hess_prod
from .global_minima import (
    basinhopping,
    differential_evolution,
    direct,
    dual_annealing,
    shgo,
)
from .isotonic import isotonic_regression
from .minima import curve_fit, least_squares, lsq_linear, minimize, minimize_scalar, nnls
from .named import (
    anderson,
    brent,
    broyden1,
    broyden2,
    diagbroyden,
    excitingmixing,
    fmin,
    fmin_bfgs,
    fmin_cg,
    fmin_l_bfgs_b,
    fmin_ncg,
    fmin_powell,
    fmin_tnc,
    fminbound,
    golden,
    leastsq,
    linearmixing,
    newton_krylov,
)
from .programs import fmin_cobyla, fmin_slsqp, linprog
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
    "anderson", "approx_fprime", "basinhopping", "bisect", "brent", "brenth", "brentq", "broyden1",
    "broyden2", "curve_fit", "diagbroyden", "differential_evolution", "direct", "dual_annealing",
    "excitingmixing", "fixed_point", "fmin", "fmin_bfgs", "fmin_cg", "fmin_cobyla", "fmin_l_bfgs_b",
    "fmin_ncg", "fmin_powell", "fmin_slsqp", "fmin_tnc", "fminbound", "fsolve", "golden",
    "isotonic_regression", "least_squares", "leastsq", "linear_sum_assignment", "linearmixing",
    "linprog", "lsq_linear", "minimize", "minimize_scalar", "newton", "newton_krylov", "nnls",
    "ridder", "root", "root_scalar", "rosen", "rosen_der", "rosen_hess", "rosen_hess_prod", "shgo",
    "toms748",
]  # fmt: skip
