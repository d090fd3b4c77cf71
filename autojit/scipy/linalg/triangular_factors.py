"""Orthogonal and triangular factors, as in ``scipy.linalg``.

For traced arrays, ``overwrite_…``, ``check_finite``, ``driver`` and ``lwork`` are ignored: nothing
is overwritten, and NaN and infinities are passed on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.functions.linalg import spectral
from autojit.functions.linalg.factorizations import swapped
from autojit.ir.linalg import factorizations as ops
from autojit.protocols.lifting import tracer
from autojit.protocols.registry import uncovered
from autojit.scipy.registry import answers, original
from autojit.transformations.derivatives import stop_gradient


@answers("scipy.linalg.qr")
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """``(q, r)`` with ``a = q @ r``; q is square, or for ``mode="economic"`` no larger than a.

    With ``pivoting``, ``a[:, p] = q @ r``. The compiled code calls SciPy on the CPU, which chooses
    p; the derivative is that of the factors for this p.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> q, r = jit(lambda a: linalg.qr(a, mode="economic"))(np.array([[3.0], [4.0]]))
    >>> r.round(12)
    array([[-5.]])
    """
    if mode not in ("full", "r", "economic"):
        raise uncovered("scipy.linalg.qr", f" with mode={mode!r}")
    more: tuple[Any, ...] = ()
    if pivoting:
        x: Any = tracer(spectral.matrix("scipy.linalg.qr", a))
        order = pure_callback(
            _columns_by_norm,
            np.zeros((*x.shape[:-2], x.shape[-1]), np.int32),
            stop_gradient(x),
            vmap_method="broadcast_all",
        )
        a, more = np.take_along_axis(x, order[..., None, :], axis=-1), (order,)
    q, r = spectral.qr(a, "reduced" if mode == "economic" else "complete")
    return (r, *more) if mode == "r" else (q, r, *more)


def _columns_by_norm(a: Any) -> Any:
    """The order in which SciPy pivots the columns."""
    rows = np.reshape(a, (-1, *a.shape[-2:]))
    pivots = [original("scipy.linalg.qr")(row, mode="r", pivoting=True)[1] for row in rows]
    return np.reshape(np.array(pivots, np.int32), (*a.shape[:-2], a.shape[-1]))


@answers("scipy.linalg.rq")
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """``(r, q)`` with ``a = r @ q``; q is square, or for ``mode="economic"`` no larger than a.

    The derivative exists if the last rows are linearly independent. If q is larger than a, only the
    space of its additional top rows is determined; these rows turn as little as possible.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> r, q = jit(lambda a: linalg.rq(a, mode="economic"))(np.array([[3.0, 4.0]]))
    >>> r.round(12)
    array([[-5.]])
    """
    if mode not in ("full", "r", "economic"):
        raise uncovered("scipy.linalg.rq", f" with mode={mode!r}")
    turned = swapped(np.conjugate(_both_flipped(tracer(spectral.matrix("scipy.linalg.rq", a)))))
    q, r = spectral.qr(turned, "reduced" if mode == "economic" else "complete")
    r, q = (_both_flipped(swapped(np.conjugate(x))) for x in (r, q))
    return r if mode == "r" else (r, q)


def _both_flipped(x: Any) -> Any:
    return x[..., ::-1, ::-1]


@answers("scipy.linalg.lu")
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """``(p, l, u)`` with ``a = p @ l @ u``, by exchanges of rows.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> p, l, u = jit(linalg.lu)(np.array([[1.0, 2.0], [2.0, 8.0]]))
    >>> u
    array([[ 2.,  8.],
           [ 0., -2.]])
    """
    x: Any = tracer(spectral.matrix("scipy.linalg.lu", a))
    m, n = x.shape[-2:]
    if m > n:
        rows, lower, upper = _tall(x)
    else:  # the first m columns determine all pivots
        rows, lower, upper = _square(x[..., :m])
        rest = tracer(ops.taken_rows(x[..., m:].value, rows.value))
        more = ops.triangular_solve(lower.value, rest.value, lower=True, transpose=False, unit=True)
        upper = np.concatenate([upper, tracer(more)], axis=-1)
    places: Any = np.argsort(rows, axis=-1)
    if permute_l:
        return tracer(ops.taken_rows(lower.value, places.value)), upper
    if p_indices:
        return places.astype(np.int32), lower, upper
    return (places[..., None] == np.arange(m)).astype(_real(x)), lower, upper


def _real(x: Any) -> np.dtype:
    return ops.real_dtype(x.dtype)


def _square(x: Any) -> tuple[Any, Any, Any]:
    """The order of the rows, and both factors."""
    packed, pivots = ops.lu(x.value)
    lower = tracer(ops.triangle(packed, lower=True, diagonal=False)) + np.eye(
        x.shape[-1], dtype=x.dtype
    )
    upper = tracer(ops.triangle(packed, lower=False, diagonal=True))
    return tracer(ops.permutation(pivots)), lower, upper


def _tall(x: Any) -> tuple[Any, Any, Any]:
    """The order of the rows and the factors of a matrix with more rows than columns.

    Columns of zeros make it square without changing the pivots; then the ordered rows are
    factorised without these columns.
    """
    m, n = x.shape[-2:]
    zeros = np.zeros((*x.shape[:-1], m - n), x.dtype)
    rows, _, _ = _square(np.concatenate([x, zeros], axis=-1))
    ordered: Any = tracer(ops.taken_rows(x.value, rows.value))
    inner, lower, upper = _square(ordered[..., :n, :])
    below = ops.triangular_solve(
        upper.value, swapped(ordered[..., n:, :]).value, lower=False, transpose=True, unit=False
    )
    lower = np.concatenate([lower, swapped(tracer(below))], axis=-2)
    rest = np.broadcast_to(np.arange(n, m), (*x.shape[:-2], m - n))
    order = np.concatenate([inner, rest], axis=-1)
    return np.take_along_axis(rows, order, axis=-1), lower, upper
