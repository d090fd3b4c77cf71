"""Linear algebra: factorisations, equations, determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy import linalg
from tests.samples.kinds import Draw, H, Sample, contraction, real


def regular(*shape: int) -> Draw:
    """Matrices far from singular, whose factorisation exchanges rows."""

    def draw(rng: np.random.Generator) -> Any:
        a = rng.uniform(-1, 1, shape) + 2 * np.eye(shape[-1])
        return np.ascontiguousarray(np.roll(a, 1, axis=-2))

    return draw


def symmetric(a: Any) -> Any:
    """A positive definite matrix."""
    return a @ np.swapaxes(a, -1, -2) + np.eye(np.shape(a)[-1])


def solve(*shapes: tuple[int, ...]) -> Sample:
    first, second = shapes
    name = f"solve {first}, {second}"
    arguments = (regular(*first), real(*second))
    return Sample(name, np.linalg.solve, arguments, lambda t, a, b: t.linalg.solve(a, b), **H)


def cholesky(*shape: int) -> Sample:
    return Sample(
        f"cholesky {shape}",
        lambda a: np.linalg.cholesky(symmetric(a)),
        (regular(*shape),),
        lambda t, a: t.linalg.cholesky(a @ a.mT + t.eye(shape[-1])),
    )


def _log_density(a: Any, x: Any) -> Any:
    """The logarithm of a normal density, as users write it."""
    covariance = symmetric(a)
    return x @ np.linalg.solve(covariance, x) + np.linalg.slogdet(covariance)[1]


def graded(*shape: int) -> Draw:
    """Matrices whose eigenvalues and singular values are distinct."""
    diagonal = np.eye(*shape[-2:]) * np.arange(2.0, 3.0 * shape[-1], 3.0)
    return lambda rng: rng.uniform(-1, 1, shape) + diagonal


def _even(values: Any, vectors: Any) -> Any:
    """A combination that does not change with the signs of the vectors."""
    return values, vectors * vectors, vectors[..., :1, :] * vectors


def _even_svd(u: Any, s: Any, vt: Any) -> Any:
    return u * u, s, vt * vt, u[..., :, None, :] * np.swapaxes(vt, -1, -2)[..., None, :, :]


def _logarithm(a: Any) -> Any:
    values, vectors = np.linalg.eigh(a)
    return (vectors * np.log(values)) @ vectors.T


def both(*shape: int) -> tuple[Draw, Draw]:
    """The real and imaginary parts of complex matrices far from singular."""
    return graded(*shape), real(*shape, low=-0.5, high=0.5)


def _parts(*arrays: Any) -> tuple[Any, ...]:
    """Complex results as real ones, for differences."""
    return tuple(part for a in arrays for part in (np.real(a), np.imag(a)))


def _projectors(v: Any) -> Any:
    """A combination that does not change with the phases of columns."""
    return v[..., :, None, :] * np.conj(v)[..., None, :, :]


def _complex(name: str, function: Any, *shape: int, **kwargs: Any) -> Sample:
    """A function of complex matrices, given by their parts."""
    return Sample(f"{name}, complex", lambda a, b: _parts(*function(a + 1j * b)),
                  both(*(shape or (3, 3))), **kwargs)  # fmt: skip


def _h(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def _positive(a: Any) -> Any:
    return a @ _h(a) + np.eye(a.shape[-1])


def _complement(q: Any, n: int) -> Any:
    """The projector on the columns that were added."""
    return q[:, n:] @ _h(q[:, n:])


def _full_svd(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    k = s.shape[-1]
    return (u[:, :k] * s) @ vh[:k], s, _complement(u, k), _complement(_h(vh), k)


def _reconstructed(u: Any, s: Any, vh: Any) -> Any:
    return (u * s**2) @ vh, s, _projectors(u), _projectors(_h(vh))


def _full_qr(a: Any) -> Any:
    q, r = np.linalg.qr(a, "complete")
    return q[:, : a.shape[1]], r, _complement(q, a.shape[1])


def _hermitian_functions(a: Any) -> Any:
    h = a + _h(a)
    w, v = np.linalg.eigh(h, "U")
    return w, _projectors(v), np.linalg.svd(h, hermitian=True)[1]


def _general(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return w, _projectors(v)


COMPLEX_FACTORS = [
    _complex("solve and inv", lambda a: (np.linalg.solve(a, a.T), np.linalg.inv(a))),
    _complex("det and slogdet", lambda a: (np.linalg.det(a), *np.linalg.slogdet(a))),
    _complex("cholesky", lambda a: (np.linalg.cholesky(_positive(a), upper=True),), 2, 2),
    _complex("eigh", _hermitian_functions),
    _complex("eig", _general),
    _complex("qr", lambda a: tuple(np.linalg.qr(a)), 4, 3),
    _complex("qr complete", _full_qr, 4, 2),
    _complex("svd full", _full_svd, 2, 3),
    _complex("svd", lambda a: _reconstructed(*np.linalg.svd(a, full_matrices=False)), 4, 2),
    _complex("pinv", lambda a: (np.linalg.pinv(a),), 4, 2),
    _complex("lstsq", lambda a: np.linalg.lstsq(a, a[:, 0] * 1j + np.arange(4))[:2], 4, 2),
    _complex("norms", lambda a: (np.linalg.norm(a), np.linalg.norm(a, "nuc"),
                                 np.linalg.norm(a, 3, axis=0), np.linalg.cond(a, 1))),
    _complex("vecdot", lambda a: (np.linalg.vecdot(a, a.T, axis=0), np.linalg.trace(a),
                                  np.linalg.outer(a[0], a[1]))),
    _complex("scipy cho_solve",
             lambda a: (linalg.cho_solve(linalg.cho_factor(_positive(a)), a),)),
    _complex("scipy solve her", lambda a: (linalg.solve(_positive(a), a, assume_a="her"),)),
    _complex("scipy polar", lambda a: linalg.polar(a, side="left"), 2, 3),
    _complex("scipy lu", lambda a: linalg.lu(a, permute_l=True), 4, 3),
]  # fmt: skip

FACTORS = [
    *COMPLEX_FACTORS,
    Sample("eigvals", lambda a: np.linalg.eigvals(a).real, (graded(3, 3),),
           lambda t, a: t.linalg.eigvals(a).real),
    Sample("svd full", _full_svd, (graded(2, 4),)),
    Sample("qr complete", _full_qr, (graded(4, 2),)),
    Sample("pinv hermitian", lambda a: np.linalg.pinv(a + a.T, hermitian=True), (graded(3, 3),)),
    Sample("tensorsolve axes", lambda a, b: np.linalg.tensorsolve(a, b, axes=(0, 2)),
           (lambda rng: np.moveaxis(regular(4, 4)(rng).reshape(4, 2, 2), 0, 1), real(4)), **H),
    Sample("matrix_rank", lambda a: np.linalg.matrix_rank(a), (graded(3, 2),), order=0),
    Sample("linalg shapes",
           lambda a: (np.linalg.diagonal(a, offset=1), np.linalg.matrix_transpose(a),
                      np.linalg.tensordot(a, a, axes=1), np.linalg.matmul(a, a)),
           (graded(3, 3),), **H),
    Sample("scipy eigh of a pair",
           lambda a, b: _even(*linalg.eigh(a + a.T, symmetric(b), subset_by_index=[0, 1])),
           (graded(3, 3), graded(3, 3))),
    Sample("scipy eigvalsh of type 3", lambda a, b: linalg.eigvalsh(a + a.T, symmetric(b), type=3),
           (graded(3, 3), graded(3, 3))),
    *(Sample(f"scipy lu {shape}", lambda a: linalg.lu(a)[1:], (graded(*shape),))
      for shape in ((3, 3), (4, 2), (2, 4))),
    Sample("scipy polar", linalg.polar, (graded(4, 2),)),
    Sample("scipy least squares",
           lambda a, b: (*linalg.lstsq(a, b)[:2], linalg.svdvals(a), linalg.pinv(a), *linalg.qr(
               a, mode="economic"), linalg.norm(a), np.linalg.cond(a[:2], 1)),
           (graded(4, 2), real(4))),
    cholesky(1, 1), cholesky(3, 3), cholesky(5, 5), cholesky(9, 9), cholesky(2, 3, 3),
    Sample("cholesky upper", lambda a: np.linalg.cholesky(symmetric(a), upper=True),
           (regular(3, 3),)),
    solve((1, 1), (1,)), solve((3, 3), (3,)), solve((3, 3), (3, 2)), solve((4, 4), (4, 4)),
    solve((9, 9), (9, 2)), solve((2, 3, 3), (2, 3, 2)),
    Sample("solve: one matrix", np.linalg.solve, (regular(3, 3), real(2, 2, 3, 2)), **H),
    Sample("solve: stacks", np.linalg.solve, (regular(2, 1, 3, 3), real(2, 3, 1)), **H),
    Sample("solve: one right side", np.linalg.solve, (regular(2, 3, 3), real(3)), **H),
    contraction("solve of nothing", np.linalg.solve, (0, 0), (0, 2)),
    contraction("solve for nothing", np.linalg.solve, (2, 2), (2, 0)),
    Sample("inv", np.linalg.inv, (regular(3, 3),), lambda t, a: t.linalg.inv(a), **H),
    Sample("inv of a stack", np.linalg.inv, (regular(2, 4, 4),), **H),
    Sample("det", np.linalg.det, (regular(3, 3),), lambda t, a: t.linalg.det(a), **H),
    Sample("det of a stack", np.linalg.det, (regular(3, 2, 2),), **H),
    Sample("det of nothing", lambda a: np.linalg.det(a) + np.sum(a), (real(0, 0),), **H),
    Sample("slogdet", lambda a: tuple(np.linalg.slogdet(a)), (regular(4, 4),)),
    Sample("log density", _log_density, (regular(3, 3), real(3))),
    Sample("matrix_power -3", lambda a: np.linalg.matrix_power(a, -3), (regular(3, 3),), **H),
    Sample("tensorinv", np.linalg.tensorinv, (lambda rng: regular(4, 4)(rng).reshape(2, 2, 4),),
           **H),
    Sample("tensorsolve", np.linalg.tensorsolve,
           (lambda rng: regular(4, 4)(rng).reshape(4, 2, 2), real(4)), **H),
    *(Sample(f"scipy solve_triangular {trans}{lower}{unit}",
             lambda a, b, trans=trans, lower=lower, unit=unit:
             linalg.solve_triangular(a, b, trans, lower, unit),
             (lambda rng: np.roll(regular(3, 3)(rng), -1, -2), real(3, 2)))
      for trans in (0, "T") for lower in (False, True) for unit in (False, True)),
    Sample("scipy solve_triangular of a vector", linalg.solve_triangular,
           (lambda rng: np.roll(regular(3, 3)(rng), -1, -2), real(3))),
    Sample("scipy cholesky", lambda a: linalg.cholesky(symmetric(a)), (regular(3, 3),)),
    Sample("scipy cholesky lower", lambda a: linalg.cholesky(symmetric(a), lower=True),
           (regular(3, 3),)),
    *(Sample(f"scipy cho_solve {lower}",
             lambda a, b, lower=lower: linalg.cho_solve(linalg.cho_factor(symmetric(a), lower), b),
             (regular(3, 3), real(3))) for lower in (False, True)),
    *(Sample(f"scipy lu_solve {trans}",
             lambda a, b, trans=trans: linalg.lu_solve(linalg.lu_factor(a), b, trans),
             (regular(3, 3), real(3, 2))) for trans in (0, 1)),
    Sample("scipy lu_factor", lambda a: linalg.lu_factor(a)[0], (regular(4, 4),)),
    Sample("scipy solve", linalg.solve, (regular(3, 3), real(3))),
    Sample("scipy solve transposed", lambda a, b: linalg.solve(a, b, transposed=True),
           (regular(3, 3), real(3))),
    *(Sample(f"scipy solve {kind}",
             lambda a, b, kind=kind: linalg.solve(symmetric(a), b, assume_a=kind),
             (regular(3, 3), real(3))) for kind in ("pos", "sym")),
    Sample("eigh", lambda a: _even(*np.linalg.eigh(a + a.T)), (graded(4, 4),)),
    Sample("eigh of a stack", lambda a: _even(*np.linalg.eigh(a + np.swapaxes(a, -1, -2), "U")),
           (graded(2, 3, 3),)),
    Sample("eigvalsh", lambda a: np.linalg.eigvalsh(a + a.T), (graded(3, 3),),
           lambda t, a: t.linalg.eigvalsh(a + a.T)),
    Sample("function of a matrix", lambda a: _logarithm(symmetric(a)), (graded(3, 3),)),
    Sample("qr", lambda a: tuple(np.linalg.qr(a)), (graded(3, 3),)),
    Sample("qr tall", lambda a: tuple(np.linalg.qr(a)), (graded(2, 4, 2),)),
    Sample("qr wide", lambda a: tuple(np.linalg.qr(a, "complete")), (graded(2, 4),)),
    Sample("qr r", lambda a: np.linalg.qr(a, mode="r"), (graded(9, 3),)),
    *(Sample(f"svd {shape}", lambda a: _even_svd(*np.linalg.svd(a, full_matrices=False)),
             (graded(*shape),)) for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))),
    Sample("svd values", lambda a: np.linalg.svd(a, compute_uv=False), (graded(3, 4),)),
    *(Sample(f"pinv {shape}", np.linalg.pinv, (graded(*shape),), lambda t, a: t.linalg.pinv(a))
      for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))),
    Sample("pinv of low rank", lambda a, b: np.linalg.pinv(a @ b, rtol=None),
           (graded(4, 2), graded(2, 3))),
    Sample("lstsq", lambda a, b: np.linalg.lstsq(a, b)[:2], (graded(5, 2), real(5, 3))),
    Sample("lstsq of a vector", lambda a, b: np.linalg.lstsq(a, b, 1e-9)[0],
           (graded(4, 4), real(4))),
    Sample("lstsq rank", lambda a, b: np.linalg.lstsq(a, b)[2:], (graded(5, 2), real(5)), order=1),
    Sample("cond", np.linalg.cond, (graded(3, 4),)),
    Sample("cond -2", lambda a: np.linalg.cond(a, -2), (graded(2, 3, 3),)),
    *(Sample(f"matrix norm {ord}",
             lambda a, ord=ord: np.linalg.norm(a, ord, axis=(2, 0), keepdims=True),
             (graded(3, 2, 4),)) for ord in (1, -1, 2, -2, np.inf, -np.inf, "nuc", "fro")),
    *(Sample(name, function, (graded(3, 4),)) for name, function in (
        ("svdvals", np.linalg.svdvals),
        ("matrix_norm", lambda a: np.linalg.matrix_norm(a, ord="nuc")),
        ("vector_norm", lambda a: np.linalg.vector_norm(a, keepdims=True)),
        ("vector_norm of rows", lambda a: np.linalg.vector_norm(a, axis=1, ord=3)),
    )),
    Sample("scipy inv", linalg.inv, (regular(3, 3),)),
    # SciPy's result is in double precision.
    Sample("scipy det", lambda a: linalg.det(a).astype(a.dtype), (regular(3, 3),)),
]  # fmt: skip
