"""Digital filters of ``scipy.signal``, in the transposed direct form II (as in SciPy)."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.control_flow.control import scan
from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import floating, known_integer, last, refused, unlast
from autojit.scipy.linalg.structured import companion
from autojit.scipy.registry import answers
from autojit.tracing.created_arrays import is_traced, plain, with_values


def _coefficients(b: Any, a: Any) -> tuple[Any, Any]:
    """b and a divided by a[0] and padded to the same length."""
    b, a = np.atleast_1d(floating(b)), np.atleast_1d(floating(a))
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError("b and a must be 1-D.")
    n = max(b.shape[0], a.shape[0])
    b, a = (np.pad(c / a[0], (0, n - c.shape[0])) for c in (b, a))
    return b, a


def _filtered(b: Any, a: Any, rows: Any, state: Any) -> tuple[Any, Any]:
    """The output of the filter along the last axis, and its final state of shape (..., order)."""
    if b.shape[0] == 1:
        return b[0] * rows, state

    def step(z: Any, x: Any) -> Any:
        y = b[0] * x + z[..., 0]
        shifted = np.concatenate([z[..., 1:], np.zeros_like(z[..., :1])], axis=-1)
        return shifted + b[1:] * x[..., None] - a[1:] * y[..., None], y

    final, made = scan(step, state, np.moveaxis(rows, -1, 0))
    return np.moveaxis(made, 0, -1), final


@answers("scipy.signal.lfilter")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The filter ``a[0] y[n] = sum(b[k] x[n - k]) - sum(a[k] y[n - k])`` along an axis.

    If an initial state ``zi`` is given, the result is ``(y, final state)``.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import lfilter
    >>> grad(lambda x: lfilter([1.0], [1.0, -0.5], x)[-1])(np.zeros(3))
    array([0.25, 0.5 , 1.  ])
    """
    b, a = _coefficients(b, a)
    rows = last(floating(x), axis)
    order = b.shape[0] - 1
    dtype = np.result_type(b.dtype, a.dtype, rows.dtype)
    if zi is None:
        state = np.zeros((*rows.shape[:-1], order), dtype)
    else:
        given = last(floating(zi), axis)
        dtype = np.result_type(dtype, given.dtype)
        state = np.broadcast_to(given, (*rows.shape[:-1], order)).astype(dtype)
    y, final = _filtered(b.astype(dtype), a.astype(dtype), rows.astype(dtype), state)
    y = unlast(y, axis)
    return y if zi is None else (y, unlast(final, axis))


@answers("scipy.signal.lfilter_zi")
def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of :func:`lfilter` from which a constant input 1 gives a constant output.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lfilter_zi
    >>> jit(lfilter_zi)(np.array([1.0, 1.0]), np.array([1.0, 0.5])).round(6)
    array([0.333333])
    """
    b, a = _coefficients(b, a)
    n = b.shape[0]
    return np.linalg.solve(np.eye(n - 1) - companion(a).T, b[1:] - a[1:] * b[0])


@answers("scipy.signal.sosfilt_zi")
def sosfilt_zi(sos: Any) -> Any:
    """The state of :func:`sosfilt` from which a constant input 1 gives a constant output.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import sosfilt_zi
    >>> jit(sosfilt_zi)(np.array([[1.0, 1.0, 0.0, 1.0, 0.5, 0.0]])).round(6)
    array([[0.333333, 0.      ]])
    """
    sections = _sections(sos)
    states, scale = [], 1.0
    for section in sections:
        b, a = section[:3], section[3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(states)


def _sections(sos: Any) -> list[Any]:
    rows = floating(sos)
    if rows.ndim != 2 or rows.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    return [rows[i] for i in range(rows.shape[0])]


@answers("scipy.signal.sosfilt")
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Apply second-order filters one after another, the rows of ``sos``, like :func:`lfilter`.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import sosfilt
    >>> grad(lambda x: sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]], x)[-1])(np.zeros(3))
    array([0.25, 0.5 , 1.  ])
    """
    sections = _sections(sos)
    y, finals = floating(x), []
    axis = normalize_axis(axis, y.ndim)
    for i, section in enumerate(sections):
        if zi is None:
            y = lfilter(section[:3], section[3:], y, axis)
        else:
            y, final = lfilter(section[:3], section[3:], y, axis, floating(zi)[i])
            finals.append(final)
    return y if zi is None else (y, np.stack(finals))


def _extended(x: Any, padtype: Any, padlen: Any, axis: int, taps: int) -> tuple[Any, int]:
    """The rows, extended at both ends of the last axis, and the number of samples per end."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(f"Unknown value '{padtype}' given to padtype. padtype must be 'even', "
                         "'odd', 'constant', or None.")  # fmt: skip
    edge = 3 * taps if padlen is None else known_integer(padlen, "padlen", "filtfilt")
    edge = 0 if padtype is None else edge
    rows = last(floating(x), axis)
    if rows.shape[-1] <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    if edge == 0:
        return rows, 0
    first, final = rows[..., :1], rows[..., -1:]
    left, right = rows[..., edge:0:-1], rows[..., -2 : -edge - 2 : -1]
    if padtype == "odd":
        left, right = 2 * first - left, 2 * final - right
    elif padtype == "constant":
        left, right = np.broadcast_to(first, left.shape), np.broadcast_to(final, right.shape)
    return np.concatenate([left, rows, right], axis=-1), edge


@answers("scipy.signal.filtfilt")
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """Filter forwards and backwards, which shifts no phase; ``method="gust"`` is refused.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import filtfilt
    >>> jit(lambda x: filtfilt([0.5, 0.5], [1.0], x))(np.arange(8.0))
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    if method == "gust":
        raise refused("scipy.signal.filtfilt", 'method="gust" is not covered; use method="pad".')
    if method != "pad":
        raise ValueError("method must be 'pad' or 'gust'.")
    taps = max(np.size(b), np.size(a))
    rows, edge = _extended(x, padtype, padlen, axis, taps)
    b, a = _coefficients(b, a)
    zi = lfilter_zi(b, a) if b.shape[0] > 1 else np.zeros(0)
    for _ in range(2):
        rows = lfilter(b, a, rows, -1, zi * rows[..., :1])[0][..., ::-1]
    return unlast(rows[..., edge : rows.shape[-1] - edge], axis)


@answers("scipy.signal.sosfiltfilt")
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Filter forwards and backwards by second-order sections. A traced ``sos`` needs ``padlen``."""
    if padlen is None and padtype is not None:
        known = plain(with_values(sos, lost=True))
        if is_traced(known):
            raise refused(
                "scipy.signal.sosfiltfilt",
                "the padding length depends on the zeros of sos, which are not known under"
                " jit and vmap. Pass it:\n"
                "    sosfiltfilt(sos, x, padlen=3 * (2 * len(sos) + 1))  "
                "# SciPy's value for even orders",
            )
        table = np.asarray(known)
        zeros = min((table[:, 2] == 0).sum(), (table[:, 5] == 0).sum())
        taps = 2 * len(table) + 1 - int(zeros)
    else:
        taps = 0
    rows, edge = _extended(x, padtype, padlen, axis, taps)
    zi = sosfilt_zi(sos)
    zi = np.reshape(zi, (zi.shape[0], *[1] * (rows.ndim - 1), 2))
    for _ in range(2):
        rows = sosfilt(sos, rows, -1, zi * rows[..., :1])[0][..., ::-1]
    return unlast(rows[..., edge : rows.shape[-1] - edge], axis)


@answers("scipy.signal.deconvolve")
def deconvolve(signal: Any, divisor: Any) -> tuple[Any, Any]:
    """``(quotient, remainder)`` with ``signal = convolve(divisor, quotient) + remainder``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import deconvolve
    >>> jit(lambda s: deconvolve(s, [1.0, 2.0])[0])(np.array([1.0, 4.0, 4.0]))
    array([1., 2.])
    """
    num, den = np.atleast_1d(floating(signal)), np.atleast_1d(floating(divisor))
    if num.ndim > 1 or den.ndim > 1:
        raise ValueError("signal and divisor must be 1-D.")
    n = num.shape[0] - den.shape[0] + 1
    if n < 1:
        return np.zeros(0), num
    quotient = lfilter(num, den, np.eye(1, n)[0])
    return quotient, num - np.convolve(den, quotient)
