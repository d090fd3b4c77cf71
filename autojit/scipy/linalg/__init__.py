"""``scipy.linalg`` for traced arrays: with plain ones only, each function is SciPy's own."""

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
    "cho_factor", "cho_solve", "cholesky", "det", "inv", "lu_factor", "lu_solve", "solve",
    "solve_triangular",
]  # fmt: skip
