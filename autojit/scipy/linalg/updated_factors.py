"""Factors of matrices that are updated, multiplied or balanced.

An update of ``q @ r`` factorises the changed matrix anew, then turns the factors to SciPy's signs.
For these, the compiled code calls SciPy on the CPU; the transformation between the two results is a
constant. Elements below the diagonal of r are not read. If a square q has more columns than r has
nonzero rows, only the space of the additional columns is determined; these turn as little as
possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.functions.linalg import spectral
from autojit.functions.linalg.factorizations import adjoint, swapped
from autojit.scipy.arguments import floating, known, known_integer
from autojit.scipy.registry import answers, original
from autojit.transformations.derivatives import stop_gradient

from .triangular_factors import qr
from .unitary_forms import square


def _updated(
    q: Any, r: Any, changed: Any, call: Callable[..., Any], *arrays: Any
) -> tuple[Any, Any]:
    """Factors of ``changed`` with the signs of SciPy's result, which is ``call(q, r, *arrays)``."""
    q, r = floating(q), floating(r)
    if q.ndim != 2 or r.ndim != 2 or q.shape[1] != r.shape[0]:
        raise ValueError(f"Q of shape {q.shape} and R of shape {r.shape} do not fit together")
    dtype = changed.dtype
    given = [stop_gradient(x) for x in (q, r, *arrays)]
    shapes = [x.shape for x in _sample(given, dtype, call)]
    theirs = pure_callback(
        lambda *x: [np.asarray(made, dtype) for made in call(*x)],
        [np.zeros(shape, dtype) for shape in shapes], *given, vmap_method="sequential",
    )  # fmt: skip
    rows, columns = changed.shape
    whole = shapes[0] == (rows, rows)
    ours, upper = spectral.qr(changed, "complete" if whole else "reduced")
    k = min(rows, columns)
    places = np.arange(ours.shape[-1])
    free = (places[:, None] >= k) & (places >= k)
    turn = stop_gradient(adjoint(ours)) @ theirs[0]
    turn = stop_gradient(np.where(free | np.eye(places.size, dtype=bool), turn, 0))
    return ours @ turn, adjoint(turn) @ upper


def _sample(given: list[Any], dtype: Any, call: Callable[..., Any]) -> tuple[Any, ...]:
    """SciPy's result for random arrays of the same shapes."""
    rng = np.random.default_rng(0)
    q, r, *rest = (rng.standard_normal(x.shape).astype(dtype) for x in given)
    return tuple(map(np.asarray, call(np.linalg.qr(q)[0], np.triu(r), *rest)))


@answers("scipy.linalg.qr_update")
def qr_update(
    Q: Any, R: Any, u: Any, v: Any, overwrite_qruv: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """Factors of ``Q @ R + u @ vᴴ``. The columns must be linearly independent.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> q, r = jit(linalg.qr_update)(np.eye(2), np.eye(2), np.array([0.0, 1.0]), np.array([1.0, 0]))
    >>> (q @ r).round(12) + 0.0
    array([[1., 0.],
           [1., 1.]])
    """
    q, r, u, v = (floating(x) for x in (Q, R, u, v))
    left, right = (x[:, None] if x.ndim == 1 else x for x in (u, v))
    changed = q @ np.triu(r) + left @ adjoint(right)
    return _updated(q, r, changed, original("scipy.linalg.qr_update"),
                    u, v)  # fmt: skip


@answers("scipy.linalg.qr_insert")
def qr_insert(
    Q: Any, R: Any, u: Any, k: Any, which: str = "row", rcond: Any = None,
    overwrite_qru: bool = False, check_finite: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """Factors of ``np.insert(Q @ R, k, u, axis)``, for rows or columns.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> q, r = jit(lambda u: linalg.qr_insert(np.eye(2), np.eye(2), u, 0))(np.array([3.0, 4.0]))
    >>> (q @ r).round(12) + 0.0
    array([[3., 4.],
           [1., 0.],
           [0., 1.]])
    """
    name = "scipy.linalg.qr_insert"
    place, axis = known_integer(k, "k", name), _axis(which)
    q, r, u = (floating(x) for x in (Q, R, u))
    whole = q @ np.triu(r)
    more = u if u.ndim == 2 else np.expand_dims(u, axis)
    place += whole.shape[axis] if place < 0 else 0
    before, after = np.split(whole, [place], axis)
    changed = np.concatenate([before, more, after], axis)

    def call(q: Any, r: Any, u: Any) -> Any:
        return original(name)(q, r, u, place, which)

    return _updated(q, r, changed, call, u)


@answers("scipy.linalg.qr_delete")
def qr_delete(
    Q: Any, R: Any, k: Any, p: int = 1, which: str = "row", overwrite_qr: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """Factors of ``Q @ R`` without p rows or columns, from the k-th on.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> q, r = linalg.qr(np.array([[2.0], [3.0], [4.0]]))
    >>> q, r = jit(lambda q, r: linalg.qr_delete(q, r, 0))(q, r)
    >>> (q @ r).round(12)
    array([[3.],
           [4.]])
    """
    name = "scipy.linalg.qr_delete"
    place, count = known_integer(k, "k", name), known_integer(p, "p", name)
    q, r, axis = floating(Q), floating(R), _axis(which)
    whole = q @ np.triu(r)
    place += whole.shape[axis] if place < 0 else 0
    changed = np.delete(whole, np.arange(place, place + count), axis)

    def call(q: Any, r: Any) -> Any:
        return original(name)(q, r, place, count, which)

    return _updated(q, r, changed, call)


def _axis(which: Any) -> int:
    if which not in ("row", "col"):
        raise ValueError(f"which must be either 'row' or 'col', not {which!r}")
    return 0 if which == "row" else 1


@answers("scipy.linalg.qr_multiply")
def qr_multiply(
    a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
    overwrite_a: bool = False, overwrite_c: bool = False,
) -> Any:  # fmt: skip
    """``(c @ q, r)`` with ``a = q @ r``, or ``(q @ c, r)`` for ``mode="left"``.

    With ``pivoting``, the order of the columns is returned as well.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> a, c = np.array([[3.0], [4.0]]), np.array([[5.0, 0.0]])
    >>> product, r = jit(linalg.qr_multiply)(a, c)
    >>> product.round(12)
    array([[-3.]])
    """
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument should be one of ['left', 'right'], not {mode!r}")
    q, *more = qr(a, mode="economic", pivoting=pivoting)
    if conjugate:
        q = np.conjugate(q)
    factor = floating(c)
    if (mode == "left" and factor.shape[0] != q.shape[1]) or (
        mode == "right" and factor.shape[-1] != q.shape[0]
    ):
        raise ValueError(f"Array shapes are not compatible for Q & c operation: {q.shape} vs "
                         f"{factor.shape}")  # fmt: skip
    return (q @ factor if mode == "left" else factor @ q, *more)


@answers("scipy.linalg.matrix_balance")
def matrix_balance(
    A: Any, permute: bool = True, scale: bool = True, separate: bool = False,
    overwrite_a: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """``(B, T)`` with ``B = inv(T) @ A @ T``, where T has powers of two and permutes.

    With ``separate``, the result is ``(B, (scale, permutation))``. The compiled code calls LAPACK,
    which chooses T; the derivative of T is 0.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> a = np.array([[1.0, 256.0], [1 / 256, 1.0]])
    >>> jit(linalg.matrix_balance)(a)[0]
    array([[1. , 2. ],
           [0.5, 1. ]])
    """
    name = "scipy.linalg.matrix_balance"
    a = square(name, A)
    permute, scale = (bool(known(x, n, name)) for x, n in ((permute, "permute"), (scale, "scale")))
    n, real = a.shape[-1], np.zeros(0, a.dtype).real.dtype

    def choose(a: Any) -> Any:
        of = original(name)
        factors, order = of(a, permute=permute, scale=scale, separate=True)[1]
        transform = of(a, permute=permute, scale=scale)[1]
        return transform.astype(real), factors.astype(real), order.astype(np.int64)

    transform, factors, order = pure_callback(
        choose, (np.zeros((n, n), real), np.zeros(n, real), np.zeros(n, np.int64)),
        stop_gradient(a), vmap_method="sequential",
    )  # fmt: skip
    zero = transform == 0
    inverse = swapped(np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, transform)))
    balanced = inverse @ a @ transform
    return balanced, ((factors, order) if separate else transform)
