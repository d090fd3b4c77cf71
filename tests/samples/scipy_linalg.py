"""Rows of ``scipy.linalg`` and ``scipy.sparse.linalg``."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as iterative

from tests.samples.scipy_rows import row

_rng = np.random.default_rng(1)
C, D = _rng.standard_normal(4), _rng.standard_normal(3)
A, B, Q = (_rng.standard_normal(s) for s in ((4, 4), (3, 3), (4, 3)))
P = A @ A.T + np.eye(4)
BANDED = np.array([[0, 0, 0.3, 0.4, 0.1], [0, 0.1, 0.2, 0.3, 0.4], [2, 2, 2, 3, 2.0]])
LOWER = np.array([[2, 2, 2, 3, 2.0], [0.1, 0.2, 0.3, 0.4, 0], [0.3, 0.4, 0.1, 0, 0]])
W, R = _rng.standard_normal((4, 2)), np.eye(2) + 0.3
N = _rng.standard_normal((12, 12)) / 8 + np.eye(12)
SPARSE = sparse.csr_array(np.where(abs(N) > 0.1, N, 0) + 2 * np.eye(12))
BIG = _rng.standard_normal(12)


#: Two pairs of complex eigenvalues; a symmetric matrix with a 2 x 2 block in its factors.
TURNING = np.array([[1, 2, 0.5, 0.3], [-3, 1.2, 0.7, 0.2], [0.4, 0.1, -2, 1.5], [0.6, 0.8, -1, -2]])
SADDLE = np.array([[0.1, 3, 0.5, 0.2], [3, 0.2, 0.4, 1], [0.5, 0.4, 2, 0.3], [0.2, 1, 0.3, -1]])

#: A first column that outweighs the others.
STRONG = C + 4 * (np.arange(4) == 0)


def _riccati(solve, **more):
    return lambda a, b, q, r: solve(a, b, q + q.T, r + r.T, **{k: v * b for k, v in more.items()})


#: The summed numbers do not depend on the signs of eigenvectors.
def _pairs(result):
    return [result[0], np.abs(result[1])]


def _ordered(aa, bb, alpha, beta, q, z):
    return (*map(np.abs, (aa, bb)), alpha / beta, *map(np.abs, (q, z)))


#: The unique parts of factors: the first columns of q, and the space of the others.
def _fixed(factors):
    q, r = factors
    k = min(r.shape)
    return q[:, :k] @ r[:k], np.abs(r), np.abs(q[:, :k]), q[:, k:] @ np.conj(q[:, k:].T)


LINALG = [
    row("subspace_angles", lambda a, b: linalg.subspace_angles(a, b), A[:, :2], W),
    row("subspace_angles near", lambda a, b: linalg.subspace_angles(a, a[:, :1] + 0.01 * b[:, :1]),
        A[:, :2], W),
    row("expm_cond", linalg.expm_cond, B),
    row("eig_banded", lambda b: _pairs(linalg.eig_banded(b)), BANDED),
    row("eig_banded lower", lambda b: linalg.eig_banded(b, True, True), LOWER),
    row("eigvals_banded", lambda b: linalg.eigvals_banded(b, select="i", select_range=(1, 3)),
        BANDED),
    row("eigh_tridiagonal", lambda d, e: _pairs(linalg.eigh_tridiagonal(d, e)), C, D),
    row("eigvalsh_tridiagonal", linalg.eigvalsh_tridiagonal, C, D),
    row("diagsvd", lambda s: [linalg.diagsvd(s, 4, 6), linalg.diagsvd(s, 6, 4)], C),
    *(row(f"fiedler_companion {n}", linalg.fiedler_companion, BIG[:n]) for n in (2, 3, 4, 7, 8)),
    row("solve_toeplitz columns", lambda c, r, b: linalg.solve_toeplitz((c, r), b), STRONG,
        C[::-1], A, compiled=True),
    row("solve_toeplitz symmetric", linalg.solve_toeplitz, STRONG, D[0] * C),
    row("solve_toeplitz complex", linalg.solve_toeplitz, STRONG + 1j * C * (np.arange(4) > 0), C),
    *(row(f"{f.__name__}", lambda a, b, f=f: f(a, b, rtol=1e-12)[0], N + 2 * np.eye(12), BIG,
          rtol=1e-7, dtol=1e-5)
      for f in (iterative.bicg, iterative.cgs, iterative.tfqmr, iterative.lgmres,
                iterative.gcrotmk)),
    row("minres", lambda a, b: iterative.minres(a + a.T, b, rtol=1e-13, shift=0.3)[0],
        N + 2 * np.eye(12), BIG, rtol=1e-7, dtol=1e-5),
    row("spsolve_triangular", lambda b: iterative.spsolve_triangular(sparse.csr_array(
        sparse.tril(SPARSE)), b), BIG),
    row("expm_multiply", lambda a, b: iterative.expm_multiply(a, b), A, C),
    row("toeplitz", linalg.toeplitz, C, D), row("toeplitz of one", linalg.toeplitz, C),
    row("hankel", linalg.hankel, C, D), row("hankel of one", linalg.hankel, C),
    row("circulant", linalg.circulant, C), row("companion", linalg.companion, C),
    row("block_diag", lambda a, b, d: linalg.block_diag(a, b, d, [[a[0, 0], 2.0]]), A, B, D),
    row("leslie", linalg.leslie, C, D), row("fiedler", linalg.fiedler, C),
    *(row(f"convolution_matrix {m} {n}", lambda a, m=m, n=n: linalg.convolution_matrix(a, n, m), C)
      for m in ("full", "same", "valid") for n in (3, 6)),
    row("khatri_rao", linalg.khatri_rao, Q, B), row("norm", lambda a: linalg.norm(a, 1), A),
    row("matmul_toeplitz", linalg.matmul_toeplitz, C, A),
    row("solve_toeplitz", lambda c, b: linalg.solve_toeplitz((c, 2 * c), b), C, C[::-1]),
    row("solve_circulant", linalg.solve_circulant, C, C[::-1]),
    row("orthogonal_procrustes", linalg.orthogonal_procrustes, A, A.T + 1, dtol=1e-5),
    row("expm", linalg.expm, A, compiled=True), row("expm of small", linalg.expm, A * 1e-3),
    row("expm of large", linalg.expm, A * 30, rtol=1e-8, dtol=1e-4),
    row("expm of a stack", linalg.expm, np.stack([A, 9 * A]), rtol=1e-8, dtol=1e-5),
    row("expm of complex", linalg.expm, A + 1j * A.T),
    *(row(f.__name__, f, A) for f in (linalg.cosm, linalg.sinm, linalg.tanm, linalg.coshm,
                                      linalg.sinhm, linalg.tanhm)),
    row("expm_frechet", linalg.expm_frechet, A, A.T + 1),
    row("sqrtm", linalg.sqrtm, P + A * 0.3, compiled=True),
    row("sqrtm of complex", linalg.sqrtm, np.stack([P - 4 * np.eye(4) + 1j * A, A + 1j * P]),
        compiled=True),
    row("sqrtm with negative eigenvalues", linalg.sqrtm, A + A.T),
    row("logm", linalg.logm, P + A * 0.3),
    row("fractional_matrix_power", linalg.fractional_matrix_power, P, 0.3),
    row("signm", linalg.signm, A + 0.1),
    *(row(f"solve_banded {lu}", lambda ab, b, lu=lu: linalg.solve_banded(lu, ab, b),
          _rng.standard_normal((sum(lu) + 1, 6)), _rng.standard_normal((6, 2)), rtol=1e-8,
          dtol=1e-4, compiled=lu == (1, 1))
      for lu in ((1, 1), (2, 1), (0, 2), (1, 0), (0, 0), (2, 3))),
    row("solveh_banded", linalg.solveh_banded, BANDED, BIG[:5]),
    row("solveh_banded lower", lambda a, b: linalg.solveh_banded(a, b, lower=True), LOWER, BIG[:5]),
    row("cholesky_banded", lambda a: np.where(BANDED != 0, linalg.cholesky_banded(a), 0), BANDED),
    row("cholesky_banded lower",
        lambda a: np.where(LOWER != 0, linalg.cholesky_banded(a, lower=True), 0), LOWER),
    row("cho_solve_banded", lambda a, b: linalg.cho_solve_banded((a, False), b), BANDED, BIG[:5]),
    row("cho_solve_banded lower", lambda a, b: linalg.cho_solve_banded((a, True), b), LOWER,
        BIG[:5]),
    row("solve_sylvester", linalg.solve_sylvester, A, B, Q),
    row("solve_continuous_lyapunov", linalg.solve_continuous_lyapunov, A, P),
    row("solve_lyapunov", linalg.solve_lyapunov, A, P),
    *(row(f"rq {mode} {a.shape}", lambda a, mode=mode: linalg.rq(a, mode=mode), a)
      for mode in ("full", "economic", "r") for a in (A, Q.T)),
    row("rq of complex", lambda a: linalg.rq(a, mode="economic"), Q.T + 1j * A[1:]),
    row("rq tall", lambda a: linalg.rq(a, mode="economic")[0] ** 2, A[:, 1:]),
    *(row(f"qr pivoted {mode} {a.shape}", lambda a, mode=mode: linalg.qr(
        a, mode=mode, pivoting=True), a, compiled=mode == "full")
      for mode in ("full", "economic", "r") for a in (A, Q, Q.T + 1j * W[0, 0])),
    row("schur in blocks", linalg.schur, TURNING, compiled=True),
    row("schur sorted", lambda a: linalg.schur(a, sort="lhp")[:2], A + np.diag([3, -2, 1, -4])),
    row("schur of a stack", linalg.schur, np.stack([TURNING, TURNING.T + 1])),
    row("schur of complex", lambda a: tuple(map(np.abs, linalg.schur(a))), A + 1j * P),
    row("schur in complex", lambda a: tuple(map(np.abs, linalg.schur(a, output="complex"))),
        TURNING, compiled=True),
    row("qz", lambda a, b: tuple(map(np.abs, linalg.qz(a, b, output="complex"))), TURNING, P),
    row("qz in blocks", linalg.qz, TURNING, A, compiled=True),
    row("qz of a stack", linalg.qz, np.stack([TURNING, A]), np.stack([A, TURNING.T])),
    row("ordqz", lambda a, b: _ordered(*linalg.ordqz(a, b, output="complex")), TURNING, A,
        compiled=True),
    row("rsf2csf", lambda a: tuple(map(np.abs, linalg.rsf2csf(*linalg.schur(a)))), TURNING,
        compiled=True),
    row("cdf2rdf", lambda a: linalg.cdf2rdf(*np.linalg.eig(a)), TURNING, compiled=True),
    *(row(f"qr_update {mode}", lambda a, u, v, mode=mode: _fixed(
        linalg.qr_update(*linalg.qr(a, mode=mode), u, v)), Q, C, D, compiled=mode == "full")
      for mode in ("full", "economic")),
    row("qr_update of complex", lambda a, u: _fixed(
        linalg.qr_update(*linalg.qr(a, mode="economic"), u, 1j * D)), Q + 1j * A[:, 1:], C + 0j),
    *(row(f"qr_insert {which} {mode}", lambda a, u, which=which, mode=mode: _fixed(
        linalg.qr_insert(*linalg.qr(a, mode=mode), u, 1, which)), Q[:, :2], u, compiled=True)
      for which, u in (("row", D[:2]), ("row", A[:3, :2]), ("col", C))
      for mode in ("full", "economic")),
    *(row(f"qr_delete {which} {count} {mode}", lambda a, which=which, count=count, mode=mode:
        _fixed(linalg.qr_delete(*linalg.qr(a, mode=mode), -2, count, which)), A[:, 1:])
      for which, count in (("row", 1), ("col", 2)) for mode in ("full", "economic")),
    row("qr_multiply", linalg.qr_multiply, Q, A[:2], compiled=True),
    row("qr_multiply left", lambda a, c: linalg.qr_multiply(
        a, c, mode="left", pivoting=True, conjugate=True)[:2], Q + 1j * A[:, 1:], B),
    row("matrix_balance", linalg.matrix_balance, A * [1, 100, 1e-3, 7], compiled=True),
    row("matrix_balance apart", lambda a: (lambda b, t: (b, t[0]))(
        *linalg.matrix_balance(a, separate=True)), A * [1, 100, 1e-3, 7]),
    row("hessenberg", lambda a: linalg.hessenberg(a, calc_q=True), TURNING, compiled=True),
    row("hessenberg alone", linalg.hessenberg, A[:2, :2]),
    *(row(f"ldl {lower}", lambda a, lower=lower: linalg.ldl(a, lower=lower)[:2], SADDLE,
          compiled=lower)
      for lower in (True, False)),
    row("ldl of Hermitian", lambda a: linalg.ldl(a)[:2], SADDLE + 1j * np.triu(TURNING, 1)),
    row("ldl of complex", lambda a: linalg.ldl(a, hermitian=False)[:2],
        SADDLE + 1j * np.triu(TURNING, 1)),
    row("solve_discrete_lyapunov", linalg.solve_discrete_lyapunov, A * 0.3, P),
    row("solve_continuous_are", _riccati(linalg.solve_continuous_are), A, W, P, R, compiled=True),
    row("solve_continuous_are s", _riccati(linalg.solve_continuous_are, s=0.1), A, W, P, R),
    row("solve_discrete_are", _riccati(linalg.solve_discrete_are), A, W, P, R),
    row("solve_discrete_are s", _riccati(linalg.solve_discrete_are, s=0.1), A, W, P, R),
    row("cg", lambda a, b: iterative.cg((a + a.T) / 2, b, rtol=1e-12), N @ N.T, BIG, rtol=1e-6),
    *(row(f.__name__, lambda a, b, f=f: f(a, b, rtol=1e-12), N, BIG, rtol=1e-6)
      for f in (iterative.bicgstab, iterative.gmres)),
    *(row(f"{f.__name__} sparse", lambda b, f=f: f(SPARSE, b, rtol=1e-12)[0], BIG, rtol=1e-6)
      for f in (iterative.bicgstab, iterative.gmres)),
    row("gmres of an operator", lambda s, b: iterative.gmres(
        iterative.LinearOperator((12, 12), matvec=lambda x: s * x + N @ x, dtype=float), b,
        rtol=1e-12)[0], 0.3, BIG, rtol=1e-6),
    row("spsolve", lambda b: iterative.spsolve(SPARSE.tocsc(), b), BIG),
]  # fmt: skip
