"""The Fourier transforms of ``scipy.fft``: those of ``np.fft``, with SciPy's arguments.

``overwrite_x``, ``workers`` and ``plan`` are ignored. float32 gives complex64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions import fourier
from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.registry import answers


def _distinct(name: str, axes: Any, ndim: int) -> None:
    """Raise ValueError if an axis is given twice, as SciPy does."""
    if axes is not None and len({normalize_axis(int(k), ndim) for k in axes}) != len(axes):
        raise ValueError(f"{name}: each axis may be given once; got axes={axes!r}")


def _tuple(x: Any) -> Any:
    """An axis or a length as a tuple of one."""
    return x if x is None or np.ndim(x) else (int(x),)


@answers("scipy.fft.fft")
def fft(
    x: Any,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The discrete Fourier transform, ``y[k] = sum(x[j] * exp(-2πi j k / n))``.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.fft)(np.array([1.0, 2.0, 4.0])).round(3) + 0
    array([ 7.+0.j   , -2.+1.732j, -2.-1.732j])
    """
    return fourier.fft(x, n, axis, norm)


@answers("scipy.fft.ifft")
def ifft(
    x: Any,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The inverse of :func:`fft`.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.ifft)(np.array([1.0, 2.0, 4.0])).round(3) + 0
    array([ 2.333+0.j   , -0.667-0.577j, -0.667+0.577j])
    """
    return fourier.ifft(x, n, axis, norm)


@answers("scipy.fft.rfft")
def rfft(
    x: Any,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The first ``n // 2 + 1`` numbers of the transform of n real numbers.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.rfft)(np.array([1.0, 2.0, 4.0])).round(3) + 0
    array([ 7.+0.j   , -2.+1.732j])
    """
    return fourier.rfft(x, n, axis, norm)


@answers("scipy.fft.irfft")
def irfft(
    x: Any,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The inverse of :func:`rfft`: n real numbers, by default ``2 * (len(x) - 1)``.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.irfft)(np.array([1.0, 2.0, 4.0])).round(3) + 0
    array([ 2.25, -0.75,  0.25, -0.75])
    """
    return fourier.irfft(x, n, axis, norm)


@answers("scipy.fft.hfft")
def hfft(
    x: Any,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The real transform of a Hermitian signal, from half of the signal.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.hfft)(np.array([1.0, 2.0, 4.0])).round(3) + 0
    array([ 9., -3.,  1., -3.])
    """
    return fourier.hfft(x, n, axis, norm)


@answers("scipy.fft.ihfft")
def ihfft(
    x: Any,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The inverse of :func:`hfft`.

    >>> from autojit import jit
    >>> from autojit.scipy import fft
    >>> jit(fft.ihfft)(np.array([1.0, 2.0, 4.0])).round(3) + 0
    array([ 2.333+0.j   , -0.667-0.577j])
    """
    return fourier.ihfft(x, n, axis, norm)


@answers("scipy.fft.fftn", tuples=("s", "axes"))
def fftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Apply :func:`fft` along all axes, or along the given ones."""
    _distinct("scipy.fft.fftn", _tuple(axes), np.ndim(x))
    return fourier.fftn(x, _tuple(s), _tuple(axes), norm)


@answers("scipy.fft.ifftn", tuples=("s", "axes"))
def ifftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Apply :func:`ifft` along all axes, or along the given ones."""
    _distinct("scipy.fft.ifftn", _tuple(axes), np.ndim(x))
    return fourier.ifftn(x, _tuple(s), _tuple(axes), norm)


@answers("scipy.fft.rfftn", tuples=("s", "axes"))
def rfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Apply :func:`rfft` along the last of these axes, and :func:`fft` along the others."""
    _distinct("scipy.fft.rfftn", _tuple(axes), np.ndim(x))
    return fourier.rfftn(x, _tuple(s), _tuple(axes), norm)


@answers("scipy.fft.irfftn", tuples=("s", "axes"))
def irfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The inverse of :func:`rfftn`."""
    _distinct("scipy.fft.irfftn", _tuple(axes), np.ndim(x))
    return fourier.irfftn(x, _tuple(s), _tuple(axes), norm)


@answers("scipy.fft.hfftn", tuples=("s", "axes"))
def hfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Apply :func:`hfft` along the last of these axes, and :func:`fft` along the others."""
    conjugate: Any = np.conjugate(x)
    _distinct("scipy.fft.hfftn", _tuple(axes), np.ndim(x))
    return fourier.irfftn(conjugate, _tuple(s), _tuple(axes), fourier.opposite(norm))


@answers("scipy.fft.ihfftn", tuples=("s", "axes"))
def ihfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The inverse of :func:`hfftn`."""
    _distinct("scipy.fft.ihfftn", _tuple(axes), np.ndim(x))
    return np.conjugate(fourier.rfftn(x, _tuple(s), _tuple(axes), fourier.opposite(norm)))


@answers("scipy.fft.fft2", tuples=("s", "axes"))
def fft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Apply :func:`fft` along two axes."""
    _distinct("scipy.fft.fft2", _tuple(axes), np.ndim(x))
    return fourier.fftn(x, _tuple(s), _tuple(axes), norm)


@answers("scipy.fft.ifft2", tuples=("s", "axes"))
def ifft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Apply :func:`ifft` along two axes."""
    _distinct("scipy.fft.ifft2", _tuple(axes), np.ndim(x))
    return fourier.ifftn(x, _tuple(s), _tuple(axes), norm)


@answers("scipy.fft.rfft2", tuples=("s", "axes"))
def rfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Apply :func:`rfft` along the last of these axes, and :func:`fft` along the other."""
    _distinct("scipy.fft.rfft2", _tuple(axes), np.ndim(x))
    return fourier.rfftn(x, _tuple(s), _tuple(axes), norm)


@answers("scipy.fft.irfft2", tuples=("s", "axes"))
def irfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The inverse of :func:`rfft2`."""
    _distinct("scipy.fft.irfft2", _tuple(axes), np.ndim(x))
    return fourier.irfftn(x, _tuple(s), _tuple(axes), norm)


@answers("scipy.fft.hfft2", tuples=("s", "axes"))
def hfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Apply :func:`hfft` along the last of these axes, and :func:`fft` along the other."""
    conjugate: Any = np.conjugate(x)
    _distinct("scipy.fft.hfft2", _tuple(axes), np.ndim(x))
    return fourier.irfftn(conjugate, _tuple(s), _tuple(axes), fourier.opposite(norm))


@answers("scipy.fft.ihfft2", tuples=("s", "axes"))
def ihfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """The inverse of :func:`hfft2`."""
    _distinct("scipy.fft.ihfft2", _tuple(axes), np.ndim(x))
    return np.conjugate(fourier.rfftn(x, _tuple(s), _tuple(axes), fourier.opposite(norm)))


@answers("scipy.fft.fftshift", tuples=("axes",))
def fftshift(x: Any, axes: Any = None) -> Any:
    """Shift the frequency 0 to the middle."""
    return fourier.fftshift(x, axes)


@answers("scipy.fft.ifftshift", tuples=("axes",))
def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of :func:`fftshift`."""
    return fourier.ifftshift(x, axes)
