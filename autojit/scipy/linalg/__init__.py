"""``scipy.linalg`` for traced arrays; if no argument is traced, SciPy's own function runs."""

from .banded import cho_solve_banded, cholesky_banded, solve_banded, solveh_banded
from .eigenvalues import eig, eigh, eigvals, eigvalsh
from .equations import (
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_sylvester,
)
from .generalised_forms import cdf2rdf, ordqz, qz, rsf2csf
from .matrix_functions import (
    coshm,
    cosm,
    expm,
    expm_cond,
    expm_frechet,
    fractional_matrix_power,
    funm,
    logm,
    signm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from .singular_values import (
    lstsq,
    norm,
    null_space,
    orth,
    pinv,
    pinvh,
    polar,
    subspace_angles,
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
from .structured import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    fiedler,
    hankel,
    khatri_rao,
    leslie,
    matmul_toeplitz,
    orthogonal_procrustes,
    solve_circulant,
    solve_toeplitz,
    toeplitz,
)
from .triangular_factors import lu, qr, rq
from .tridiagonal import (
    diagsvd,
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
    fiedler_companion,
)
from .unitary_forms import hessenberg, ldl, schur
from .updated_factors import matrix_balance, qr_delete, qr_insert, qr_multiply, qr_update

__all__ = [
    "block_diag", "cdf2rdf", "cho_factor", "cho_solve", "cho_solve_banded", "cholesky",
    "cholesky_banded", "circulant", "companion", "convolution_matrix", "coshm", "cosm", "det",
    "diagsvd", "eig", "eig_banded", "eigh", "eigh_tridiagonal", "eigvals", "eigvals_banded",
    "eigvalsh", "eigvalsh_tridiagonal", "expm", "expm_cond", "expm_frechet", "fiedler",
    "fiedler_companion", "fractional_matrix_power", "funm", "hankel", "hessenberg", "inv",
    "khatri_rao", "ldl", "leslie", "logm", "lstsq", "lu", "lu_factor", "lu_solve",
    "matmul_toeplitz", "matrix_balance", "norm", "null_space", "ordqz", "orth",
    "orthogonal_procrustes", "pinv", "pinvh", "polar", "qr", "qr_delete", "qr_insert",
    "qr_multiply", "qr_update", "qz", "rq", "rsf2csf", "schur", "signm", "sinhm", "sinm",
    "solve", "solve_banded", "solve_circulant", "solve_continuous_are",
    "solve_continuous_lyapunov", "solve_discrete_are", "solve_discrete_lyapunov",
    "solve_sylvester", "solve_toeplitz", "solve_triangular", "solveh_banded", "sqrtm",
    "subspace_angles", "svd", "svdvals", "tanhm", "tanm", "toeplitz",
]  # fmt: skip
