"""``scipy.linalg`` for traced arrays: with plain ones only, each function is SciPy's own."""

from .decompositions import (
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lstsq,
    lu,
    norm,
    null_space,
    orth,
    pinv,
    pinvh,
    polar,
    qr,
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

__all__ = [
    "cho_factor", "cho_solve", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "lstsq", "lu", "lu_factor", "lu_solve", "norm", "null_space", "orth", "pinv", "pinvh",
    "polar", "qr", "solve", "solve_triangular", "svd", "svdvals",
]  # fmt: skip
