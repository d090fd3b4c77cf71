"""Rows of sparse matrices: known ones with traced operands, and ones built from traced values."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as solvers

from tests.samples.scipy_rows import row

_rng = np.random.default_rng(5)
X, K = _rng.standard_normal(8), np.array([0.7, 1.3])
D = np.abs(X) + 1
FULL = _rng.standard_normal((8, 8)) * (_rng.random((8, 8)) < 0.4) + 3 * np.eye(8)
MATRIX, ARRAY = sparse.csr_matrix(FULL), sparse.csr_array(FULL)
PLACES = np.array([0, 0, 1, 1, 2, 2, 0, 1])
#: More rows than are solved as a dense matrix.
LARGE = sparse.diags_array([1.0, 4.0, -1.5], offsets=[-3, 0, 1], shape=(70, 70)).tocsc()
FACTORS, SOLVE = solvers.splu(LARGE), solvers.factorized(LARGE)
RIGHT = _rng.standard_normal(70)


def _products(x):
    formats = [ARRAY.tocsc(), ARRAY.tocoo(), ARRAY.tobsr(), ARRAY.todia(), ARRAY.todok(),
               ARRAY.tolil(), sparse.coo_matrix(FULL), MATRIX.todia()]  # fmt: skip
    return [a @ x + x @ a for a in formats], MATRIX * x, x * MATRIX, ARRAY.T.dot(x)


def _elementwise(x):
    made = ARRAY * x, ARRAY.multiply(x[:, None]), ARRAY / x[1], MATRIX * x[2], ARRAY + ARRAY * x[0]
    return [a.toarray() for a in made], ARRAY - x, x + ARRAY, (x[0] * ARRAY).sum(axis=0)


def _made(d):
    same = {"shape": (8, 8)}
    a = sparse.coo_array((d, (PLACES, PLACES)), shape=(3, 3))
    b = sparse.csr_array((d, PLACES, [0, 2, 4, 6, 8]), shape=(4, 3))
    c = sparse.csr_matrix((d, (np.arange(8), np.arange(8) * 3 % 8)), **same)
    bands = sparse.diags([d[:7], d[1:]], [-1, 1], **same), sparse.spdiags([d, d], [0, -2], 8, 8)
    last = sparse.dia_array(([d, 2 * d], [0, 2]), **same), sparse.diags_array(d)
    power = (c**2 @ c).toarray(), (ARRAY * d[0]).power(2).toarray(), a.diagonal()
    return (
        [m.toarray() for m in (a, b, b.T, b[1:3], c, *bands, *last)],
        b[1, 1],
        a.diagonal(),
        power,
    )


def _new_data(k):
    a = ARRAY.copy()
    a.data = a.data * k[0]
    twice = ARRAY * k[1]
    return a @ X, (a + twice).toarray() if sparse.issparse(twice) else X


def _stacked(d):
    a = sparse.diags_array(d)
    made = (
        sparse.vstack([ARRAY, a]), sparse.hstack([a, ARRAY]), sparse.block_diag([a, ARRAY]),
        sparse.block_array([[None, a], [ARRAY, None]]), sparse.bmat([[a, ARRAY]]),
        sparse.kron(sparse.eye_array(2), a), sparse.tril(ARRAY * d[0]), sparse.triu(a + ARRAY, 1),
    )  # fmt: skip
    return [m.toarray() for m in made]


def _heat(k):
    step = sparse.eye(70, format="csc") - k[0] * LARGE
    return solvers.spsolve(step, RIGHT + k[1])[::9]


def _spectra(k):
    s = (ARRAY + ARRAY.T) * k[0] + sparse.eye_array(8) * k[1]
    values = [solvers.eigsh(s, k=2, which=w)[0] for w in ("LM", "SA")]
    near = solvers.eigsh(s, k=2, sigma=0.1, return_eigenvectors=False)
    rest = solvers.norm(s), solvers.norm(s, 1), solvers.expm((s * 0.1).tocsc()).toarray()
    power = solvers.matrix_power(s, 3).toarray(), solvers.inv(s.tocsc()).toarray()
    return values, near, solvers.svds(s, k=3)[1], rest, power


def _operators(k):
    a = solvers.LinearOperator((8, 8), matvec=lambda x: k[0] * x + ARRAY.T @ (ARRAY @ x))
    b = solvers.aslinearoperator(MATRIX)
    return a @ X, b @ (k[1] * X), solvers.cg(a, X * k[1], rtol=1e-13)[0]


SPARSE = [
    row("sparse products", _products, X),
    row("sparse products of a matrix", lambda x: (ARRAY @ x, x.T @ MATRIX), FULL[:, :3]),
    row("sparse products compiled", lambda x: ARRAY @ x, X, compiled=True),
    row("sparse elementwise", _elementwise, D),
    row("sparse made of values", _made, D),
    row("sparse stacks", _stacked, D),
    row("sparse data", _new_data, K),
    row("spsolve traced", lambda k: solvers.spsolve((ARRAY * k[0]).tocsc(), X * k[1]), K),
    row("spsolve traced and large", _heat, K, compiled=True),
    row("splu", lambda x: (FACTORS.solve(RIGHT * x[0]), FACTORS.solve(RIGHT * x[0], "T"),
                           SOLVE(RIGHT * x[1])), K),
    row("splu traced", lambda k: solvers.splu((ARRAY * k[0]).tocsc()).solve(X, "T"), K),
    row("factorized", lambda k: solvers.factorized((ARRAY * k[0]).tocsc())(X), K),
    row("sparse spectra", _spectra, K, dtol=1e-5),
    row("linear operators", _operators, K),
    row("lsqr", lambda x: (solvers.lsqr(MATRIX, x, atol=1e-14, btol=1e-14)[0],
                           solvers.lsmr(MATRIX, x, damp=0.3, atol=1e-14, btol=1e-14)[0]), X,
        rtol=1e-6),
    row("qmr", lambda x: solvers.qmr(ARRAY, x, rtol=1e-12)[0], X, rtol=1e-6),
    row("eigs", lambda k: np.abs(solvers.eigs(ARRAY * k[0], k=1)[0]), K),
]  # fmt: skip
