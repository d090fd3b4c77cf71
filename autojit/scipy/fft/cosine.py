"""The cosine and sine transforms of ``scipy.fft``, each by one Fourier transform.

Definitions and norms are those of SciPy's manual. Types 2 and 3 take one real transform of n points
(J. Makhoul, "A fast cosine transform in one and two dimensions", 1980). Type 1 takes one transform
of the signal's even or odd extension.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from autojit.functions import fourier
from autojit.ir.core import shapes
from autojit.ir.core.types import is_half
from autojit.ir.linalg.factorizations import complex_of
from autojit.protocols.lifting import as_value, tracer
from autojit.protocols.registry import uncovered
from autojit.scipy.registry import answers

T = TypeVar("T")
_OfTypes = dict[str, dict[int, T]]

#: The type of the inverse transform.
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}

# -- transforms without a norm, along the last axis ----------------------------


def _phases(like: Any, angles: Any) -> Any:
    """``exp(1j * angles)`` in the precision of an array."""
    return np.exp(1j * np.asarray(angles)).astype(complex_of(like.dtype))


def _unscaled(x: Any, n: int, kind: str) -> Any:
    dtype = None if kind == "real" else complex_of(x.dtype)
    made = fourier.transform(as_value(x, dtype), axis=x.ndim - 1, kind=kind, length=n, scale=1.0)
    return tracer(made)


def _signs(x: Any) -> Any:
    """The numbers, every second one negated."""
    return x * (1 - 2 * (np.arange(x.shape[-1]) % 2)).astype(x.dtype)


def _reversed(x: Any) -> Any:
    return x[..., ::-1]


def _cosine_1(x: Any) -> Any:
    if x.shape[-1] < 2:
        raise ValueError("DCT-I is not defined for size < 2")
    even: Any = np.concatenate([x, _reversed(x[..., 1:-1])], axis=-1)
    return _unscaled(even, 2 * (x.shape[-1] - 1), "real").real


def _cosine_2(x: Any) -> Any:
    n = x.shape[-1]
    moved: Any = np.concatenate([x[..., ::2], _reversed(x[..., 1::2])], axis=-1)
    half = _unscaled(moved, n, "real")
    half = half * _phases(x, -np.pi * np.arange(n // 2 + 1) / (2 * n))
    rest = half.imag[..., 1 : (n + 1) // 2]
    return np.concatenate([half.real, -_reversed(rest)], axis=-1) * x.dtype.type(2)


def _cosine_3(x: Any) -> Any:
    n = x.shape[-1]
    half = n // 2 + 1
    # x[n - k] is the imaginary part of element k; that of element 0 is not read.
    turned: Any = np.roll(_reversed(x), 1, -1)[..., :half]
    spectrum = x[..., :half] - turned * complex_of(x.dtype).type(1j)
    spectrum = spectrum * _phases(x, np.pi * np.arange(half) / (2 * n))
    made = _unscaled(spectrum, n, "half")
    first, second = made[..., : (n + 1) // 2], _reversed(made)[..., : n // 2]
    if n % 2:
        second = np.concatenate([second, first[..., :1]], axis=-1)
    both: Any = np.stack([first, second], axis=-1)
    return np.reshape(both, (*x.shape[:-1], -1))[..., :n]


def _cosine_4(x: Any) -> Any:
    n = x.shape[-1]
    if n % 2:  # twice as many numbers, half of them zeros
        turned = x * _phases(x, -np.pi * np.arange(n) / (2 * n))
        wide: Any = np.concatenate([turned, np.zeros_like(turned)], axis=-1)
        made = _unscaled(wide, 2 * n, "forward")[..., :n]
        return (made * _phases(x, -np.pi * (2 * np.arange(n) + 1) / (4 * n))).real * x.dtype.type(2)
    phases = _phases(x, -np.pi * (4 * np.arange(n // 2) + 0.5) / (4 * n))
    pairs = x[..., ::2] + _reversed(x[..., 1::2]) * complex_of(x.dtype).type(1j)
    made = _unscaled(pairs * phases, n // 2, "forward") * phases
    both: Any = np.stack([made.real, -_reversed(made.imag)], axis=-1)
    return np.reshape(both, x.shape) * x.dtype.type(2)


def _sine_1(x: Any) -> Any:
    n = x.shape[-1]
    zero = np.zeros_like(x[..., :1])
    odd: Any = np.concatenate([zero, x, zero, -_reversed(x)], axis=-1)
    return -_unscaled(odd, 2 * (n + 1), "real").imag[..., 1 : n + 1]


def _sine_2(x: Any) -> Any:
    return _reversed(_cosine_2(_signs(x)))


def _sine_3(x: Any) -> Any:
    return _signs(_cosine_3(_reversed(x)))


def _sine_4(x: Any) -> Any:
    return _signs(_cosine_4(_reversed(x)))


_COSINE: dict[int, Callable[[Any], Any]] = {1: _cosine_1, 2: _cosine_2, 3: _cosine_3, 4: _cosine_4}
_SINE: dict[int, Callable[[Any], Any]] = {1: _sine_1, 2: _sine_2, 3: _sine_3, 4: _sine_4}

# -- norms ---------------------------------------------------------------------

#: By family and type: half of the signal's period minus its length; and, for an orthogonal
#: transform, the places of numbers to multiply by the root of two before it, and the places of
#: numbers to divide by the root of two after it.
_PERIOD: _OfTypes[int] = {"cosine": {1: -1}, "sine": {1: 1}}
_BEFORE: _OfTypes[tuple[int, ...]] = {"cosine": {1: (0, -1), 3: (0,)}, "sine": {3: (-1,)}}
_AFTER: _OfTypes[tuple[int, ...]] = {"cosine": {1: (0, -1), 2: (0,)}, "sine": {2: (-1,)}}


def _scaled_at(x: Any, places: tuple[int, ...], by: float) -> Any:
    if not places:
        return x
    factors = np.ones(x.shape[-1], x.dtype)
    factors[list(places)] = by
    return x * factors


def _transformed(
    family: str, x: Any, type: int, axis: int, norm: Any, orthogonalize: Any, forward: bool
) -> Any:
    """A transform along one axis, with a norm; the family is "cosine" or "sine"."""
    functions = _COSINE if family == "cosine" else _SINE
    if type not in functions:
        raise ValueError(f"the type of a cosine or sine transform is 1, 2, 3 or 4; got {type!r}")
    if x.dtype.kind == "c":
        if orthogonalize is not None and orthogonalize != (norm == "ortho"):
            # SciPy 1.17 does not pass the argument on, but a later version may.
            words = f" of complex numbers with orthogonalize={orthogonalize} and norm={norm!r}"
            raise uncovered(f"scipy.fft transform by {family}s", words)
        parts = [
            _transformed(family, part, type, axis, norm, orthogonalize, forward)
            for part in (x.real, x.imag)
        ]
        return parts[0] + parts[1] * x.dtype.type(1j)
    if is_half(x.dtype):
        x = x.astype(np.float32)
    if not forward:
        type = _INVERSE[type]
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    x = np.moveaxis(x, axis, -1)
    points = 2 * (x.shape[-1] + _PERIOD[family].get(type, 0))
    scale = fourier.factor(norm, max(points, 1), forward=forward)
    if orthogonal:
        x = _scaled_at(x, _BEFORE[family].get(type, ()), math.sqrt(2))
    y = functions[type](x)
    if orthogonal:
        y = _scaled_at(y, _AFTER[family].get(type, ()), math.sqrt(0.5))
    if scale != 1:
        y = y * y.dtype.type(scale)
    return np.moveaxis(y, -1, axis)


def _one(
    family: str, x: Any, type: int, n: Any, axis: int, norm: Any, ortho: Any, forward: bool
) -> Any:
    value = fourier.numbers(x)
    axis = shapes.normalize_axis(axis, value.type.ndim)
    value = fourier.resized(value, axis, fourier.points(n, value.shape[axis]))
    return _transformed(family, tracer(value), type, axis, norm, ortho, forward)


def _several(
    family: str, x: Any, type: int, s: Any, axes: Any, norm: Any, ortho: Any, forward: bool
) -> Any:
    value = fourier.numbers(x)
    s = s if s is None or np.ndim(s) else (int(s),)
    axes = axes if axes is None or np.ndim(axes) else (int(axes),)
    counts, places = fourier.lengths(value.shape, s, axes)
    for n, k in zip(counts, places, strict=True):
        value = fourier.resized(value, k, n)
    found: Any = tracer(value)
    for k in places:
        found = _transformed(family, found, type, k, norm, ortho, forward)
    return found


@answers("scipy.fft.dct")
def dct(
    x: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """The discrete cosine transform of type 1 to 4.

    The default is DCT-II, ``y[k] = 2 * sum(x[j] * cos(π k (2j + 1) / (2n)))``.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.dct)(np.array([1.0, 2.0, 4.0])).round(6)
    array([14.      , -5.196152,  1.      ])
    """
    return _one("cosine", x, type, n, axis, norm, orthogonalize, True)


@answers("scipy.fft.idct")
def idct(
    x: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """The inverse of :func:`dct` of the same type.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.idct)(np.array([1.0, 2.0, 4.0])).round(6)
    array([ 1.410684, -1.166667,  0.255983])
    """
    return _one("cosine", x, type, n, axis, norm, orthogonalize, False)


@answers("scipy.fft.dst")
def dst(
    x: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """The discrete sine transform of type 1 to 4.

    The default is DST-II, ``y[k] = 2 * sum(x[j] * sin(π (k + 1) (2j + 1) / (2n)))``.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.dst)(np.array([1.0, 2.0, 4.0])).round(6)
    array([ 9.      , -5.196152,  6.      ])
    """
    return _one("sine", x, type, n, axis, norm, orthogonalize, True)


@answers("scipy.fft.idst")
def idst(
    x: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """The inverse of :func:`dst` of the same type.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.idst)(np.array([1.0, 2.0, 4.0])).round(6)
    array([ 1.410684, -0.333333,  0.255983])
    """
    return _one("sine", x, type, n, axis, norm, orthogonalize, False)


@answers("scipy.fft.dctn", tuples=("s", "axes"))
def dctn(
    x: Any,
    type: int = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    orthogonalize: Any = None,
) -> Any:
    """Apply :func:`dct` along all axes, or along the given ones."""
    return _several("cosine", x, type, s, axes, norm, orthogonalize, True)


@answers("scipy.fft.idctn", tuples=("s", "axes"))
def idctn(
    x: Any,
    type: int = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    orthogonalize: Any = None,
) -> Any:
    """Apply :func:`idct` along all axes, or along the given ones."""
    return _several("cosine", x, type, s, axes, norm, orthogonalize, False)


@answers("scipy.fft.dstn", tuples=("s", "axes"))
def dstn(
    x: Any,
    type: int = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    orthogonalize: Any = None,
) -> Any:
    """Apply :func:`dst` along all axes, or along the given ones."""
    return _several("sine", x, type, s, axes, norm, orthogonalize, True)


@answers("scipy.fft.idstn", tuples=("s", "axes"))
def idstn(
    x: Any,
    type: int = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    orthogonalize: Any = None,
) -> Any:
    """Apply :func:`idst` along all axes, or along the given ones."""
    return _several("sine", x, type, s, axes, norm, orthogonalize, False)
