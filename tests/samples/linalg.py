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


FACTORS = [
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
    Sample("scipy inv", linalg.inv, (regular(3, 3),)),
    # SciPy's is in double precision.
    Sample("scipy det", lambda a: linalg.det(a).astype(a.dtype), (regular(3, 3),)),
]  # fmt: skip
