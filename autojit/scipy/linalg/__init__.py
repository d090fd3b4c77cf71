"""``scipy.linalg`` for traced arrays: with plain ones only, each function is SciPy's own."""

from .eigenvalues import eig, eigh, eigvals, eigvalsh
from .singular_values import (
    lstsq,
    norm,
    null_space,
    orth,
    pinv,
    pinvh,
    polar,
    svd,
    svdvals,
)
from .solving import (
    cho_factor,
    cho_solve,
    cholesky,
    det,
    inv,
    lu_factor,
    lu_solve,
    solve,
    solve_triangular,
)
from .triangular_factors import lu, qr

__all__ = [
    "cho_factor", "cho_solve", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "lstsq", "lu", "lu_factor", "lu_solve", "norm", "null_space", "orth", "pinv", "pinvh",
    "polar", "qr", "solve", "solve_triangular", "svd", "svdvals",
]  # fmt: skip
