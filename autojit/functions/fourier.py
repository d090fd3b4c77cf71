"""``np.fft``: Fourier transforms; the transform of each axis is an op (``ir/linalg/fourier.py``).

For real numbers only half of the spectrum is computed; the other half is its conjugate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core import shapes
from autojit.ir.core.halves import is_half
from autojit.ir.core.program import Value
from autojit.ir.linalg.factorizations import complex_of
from autojit.ir.linalg.fourier import fourier as transform
from autojit.ir.ops import move
from autojit.ir.ops.arithmetic import conj
from autojit.protocols.lifting import as_tracer, as_value, shape_of, tracer
from autojit.protocols.registry import implements
from autojit.tracing.tracer import Tracer

#: norm -> the norm of the inverse transform, also used for transforms of Hermitian arrays.
OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def factor(norm: str | None, n: int, *, forward: bool) -> float:
    """The normalisation factor of a transform of n points."""
    if norm not in OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if forward == (norm == "forward") else 1.0


def points(n: Any, default: int) -> int:
    """The length of a transform, which must be known and positive."""
    count = default if n is None else int(n)
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")
    return count


def numbers(a: Any) -> Value:
    """An array in the dtype of the transform; integers and booleans become float64."""
    x = as_tracer(a)
    if is_half(x.dtype):
        return as_value(x, np.dtype(np.float32))
    return as_value(x) if x.dtype.kind in "fc" else as_value(x, np.dtype(np.float64))


def resized(x: Value, axis: int, extent: int) -> Value:
    """Cut an axis to an extent, or pad it with zeros at the end."""
    have = x.shape[axis]
    if have > extent:
        return move.slice_axis(x, axis, 0, extent)
    if have == extent:
        return x
    none = (0,) * x.type.ndim
    behind = tuple(extent - have if k == axis else 0 for k in range(x.type.ndim))
    return move.pad(x, low=none, high=behind, interior=none)


def _complex(x: Value) -> Value:
    return as_value(tracer(x), complex_of(x.dtype))


# -- one axis -----------------------------------------------------------------


def full_spectrum(x: Value, n: int, axis: int, scale: float, *, forward: bool) -> Value:
    """All n coefficients of a transform."""
    x = resized(x, axis, n)
    if x.dtype.kind == "c":
        kind = "forward" if forward else "backward"
        return transform(x, axis=axis, kind=kind, length=n, scale=scale)
    half = half_spectrum(x, n, axis, scale)
    mirrored = conj(_backwards(move.slice_axis(half, axis, 1, (n + 1) // 2), axis))
    both = (half, mirrored) if forward else (conj(half), conj(mirrored))
    return move.concatenate(*both, axis=axis) if n > 2 else both[0]


def _backwards(x: Value, axis: int) -> Value:
    return as_value(np.flip(tracer(x), axis))


def half_spectrum(x: Value, n: int, axis: int, scale: float) -> Value:
    """The first half of the spectrum of a real signal."""
    if x.dtype.kind == "c":
        raise TypeError("a real transform (rfft, ihfft and their kin) takes no complex numbers")
    return transform(resized(x, axis, n), axis=axis, kind="real", length=n, scale=scale)


def real_signal(x: Value, n: int, axis: int, scale: float) -> Value:
    """n real numbers from half of their spectrum."""
    x = resized(_complex(x), axis, n // 2 + 1)
    return transform(x, axis=axis, kind="half", length=n, scale=scale)


def _one(a: Any, n: Any, axis: int, norm: str | None, *, forward: bool) -> Tracer:
    x = numbers(a)
    axis = shapes.normalize_axis(axis, x.type.ndim)
    count = points(n, x.shape[axis])
    scale = factor(norm, count, forward=forward)
    return tracer(full_spectrum(x, count, axis, scale, forward=forward))


@implements(np.fft.fft, known=("n",))
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Tracer:
    return _one(a, n, axis, norm, forward=True)


@implements(np.fft.ifft, known=("n",))
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Tracer:
    return _one(a, n, axis, norm, forward=False)


@implements(np.fft.rfft, known=("n",))
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Tracer:
    x = numbers(a)
    axis = shapes.normalize_axis(axis, x.type.ndim)
    count = points(n, x.shape[axis])
    return tracer(half_spectrum(x, count, axis, factor(norm, count, forward=True)))


@implements(np.fft.irfft, known=("n",))
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Tracer:
    x = numbers(a)
    axis = shapes.normalize_axis(axis, x.type.ndim)
    count = points(n, 2 * (x.shape[axis] - 1))
    return tracer(real_signal(x, count, axis, factor(norm, count, forward=False)))


def opposite(norm: Any) -> Any:
    """The norm of the inverse transform."""
    factor(norm, 1, forward=True)  # validates the norm
    return OPPOSITE[norm]


@implements(np.fft.hfft, known=("n",))
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Tracer:
    return irfft(np.conjugate(as_tracer(a)), n, axis, opposite(norm))


@implements(np.fft.ihfft, known=("n",))
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Tracer:
    made: Tracer = np.conjugate(rfft(a, n, axis, opposite(norm)))  # type: ignore[assignment]
    return made


# -- several axes -------------------------------------------------------------


def lengths(
    shape: tuple[int, ...], s: Any, axes: Any, *, half: bool = False
) -> tuple[list[int], list[int]]:
    """The lengths and axes of a transform; ``half`` if half of the last spectrum is given."""
    ndim = len(shape)
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    places = [shapes.normalize_axis(int(k), ndim) for k in axes]
    whole = [shape[k] for k in places]
    defaults = [*whole[:-1], 2 * (whole[-1] - 1)] if half and whole else whole
    given = defaults if s is None else list(s)
    if len(given) != len(places):
        raise ValueError("Shape and axes have different lengths.")
    taken = zip(given, defaults, whole, strict=True)  # -1: the length of the given axis
    return [points(d if n is None else w if n == -1 else n, d) for n, d, w in taken], places


def along(
    x: Value, counts: Sequence[int], axes: Sequence[int], norm: Any, *, forward: bool
) -> Value:
    """Transform along axes, the last one first."""
    for n, k in reversed(list(zip(counts, axes, strict=True))):
        x = full_spectrum(x, n, k, factor(norm, n, forward=forward), forward=forward)
    return x


def _several(a: Any, s: Any, axes: Any, norm: Any, *, forward: bool) -> Tracer:
    counts, places = lengths(shape_of(a), s, axes)
    if not places:  # NumPy leaves it as it is
        return as_tracer(a)
    return tracer(along(numbers(a), counts, places, norm, forward=forward))


@implements(np.fft.fftn, known=("s", "axes"))
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Tracer:
    return _several(a, s, axes, norm, forward=True)


@implements(np.fft.ifftn, known=("s", "axes"))
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Tracer:
    return _several(a, s, axes, norm, forward=False)


@implements(np.fft.rfftn, known=("s", "axes"))
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Tracer:
    (*counts, n), (*places, last) = lengths(shape_of(a), s, axes)
    half = half_spectrum(numbers(a), n, last, factor(norm, n, forward=True))
    return tracer(along(half, counts, places, norm, forward=True))


@implements(np.fft.irfftn, known=("s", "axes"))
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Tracer:
    (*counts, n), (*places, last) = lengths(shape_of(a), s, axes, half=True)
    # Elements of the last axis that are not read need not be transformed along the other axes.
    x = resized(_complex(numbers(a)), last, n // 2 + 1)
    x = along(x, counts, places, norm, forward=False)
    return tracer(real_signal(x, n, last, factor(norm, n, forward=False)))


@implements(np.fft.fft2, known=("s", "axes"))
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Tracer:
    return fftn(a, s, axes, norm, out)


@implements(np.fft.ifft2, known=("s", "axes"))
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Tracer:
    return ifftn(a, s, axes, norm, out)


@implements(np.fft.rfft2, known=("s", "axes"))
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Tracer:
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfft2, known=("s", "axes"))
def irfft2(
    a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None
) -> Tracer:
    return irfftn(a, s, axes, norm, out)


# -- the order of frequencies -------------------------------------------------


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    shape = shape_of(x)
    places = range(len(shape)) if axes is None else np.atleast_1d(axes).tolist()
    shifts = [(sign * shape[k]) // 2 if sign > 0 else -(shape[k] // 2) for k in places]
    return np.roll(x, shifts, list(places))


@implements(np.fft.fftshift, known=("axes",))
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, 1)


@implements(np.fft.ifftshift, known=("axes",))
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, -1)
