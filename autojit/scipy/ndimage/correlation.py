"""Filters of ``scipy.ndimage`` that weight the elements of a neighbourhood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known_integer, pad, refused
from autojit.scipy.registry import answers
from autojit.tracing.created_arrays import is_traced

#: The mode of np.pad for each boundary mode of a filter.
EDGES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
    "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def padded(x: Any, widths: Sequence[tuple[int, int]], modes: Sequence[str], cval: Any) -> Any:
    """The array, extended beyond its edges."""
    for axis, (width, mode) in enumerate(zip(widths, modes, strict=True)):
        if mode not in EDGES:
            raise RuntimeError(f"boundary mode not supported: {mode!r}")
        if width == (0, 0):
            continue
        x = pad(x, [width if i == axis else (0, 0) for i in range(x.ndim)], EDGES[mode], cval)
    return x


def array_of(name: str, input: Any, output: Any) -> Any:
    """The image, which must have floats.

    SciPy computes in double precision and rounds the result to the dtype of the image, or to
    ``output``.
    """
    x = same_type(name, as_tracer(input), output)
    if x.dtype.kind not in "fc":
        raise refused(
            f"scipy.ndimage.{name}",
            f"results for an image of dtype {x.dtype} are cast to that dtype, which has no "
            "derivative. Convert the image to floats first:\n"
            f"    image = image.astype(float)        # before {name}",
        )
    return x


def same_type(name: str, x: Any, output: Any) -> Any:
    """The array, if ``output`` is None or the dtype of the array; others are refused."""
    if output is not None and not isinstance(output, (type, np.dtype, str)):
        raise refused(f"scipy.ndimage.{name}", "output= is not covered; use the result.")
    if output is not None and np.dtype(output) != x.dtype:
        raise refused(
            f"scipy.ndimage.{name}",
            f"output= must be the dtype of the image, {x.dtype}. Convert the result instead:\n"
            f"    result = result.astype(np.{np.dtype(output).name})",
        )
    return x


def axes_of(axes: Any, ndim: int) -> list[int]:
    chosen = range(ndim) if axes is None else np.atleast_1d(axes).tolist()
    return [normalize_axis(int(a), ndim) for a in chosen]


def per_axis(value: Any, count: int) -> list[Any]:
    """A setting for each axis, from one for all axes or from a sequence."""
    if isinstance(value, (str, int, float, np.number)) or value is None or np.ndim(value) == 0:
        return [value] * count
    if len(value) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return list(value)


# -- weights ------------------------------------------------------------------------------


def along_axis(x: Any, weights: Any, axis: int, mode: str, cval: Any = 0.0, origin: int = 0) -> Any:
    """The correlation with weights along an axis."""
    size = weights.shape[0]
    before = size // 2 + origin
    if not 0 <= before < max(size, 1):
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= "
                         "(len(weights)-1) // 2")  # fmt: skip
    axes = [normalize_axis(axis, x.ndim)]
    return windows_of(x, (size,), (mode,), cval, (origin,), axes) @ weights


@answers("scipy.ndimage.correlate1d")
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The correlation with weights along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import correlate1d
    >>> grad(lambda w: correlate1d(np.arange(4.0), w)[1])(np.zeros(3))
    array([0., 1., 2.])
    """
    return along_axis(array_of("correlate1d", input, output), floating(weights), axis, mode, cval,
                      origin)  # fmt: skip


@answers("scipy.ndimage.convolve1d")
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The convolution with weights along an axis.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import convolve1d
    >>> jit(convolve1d)(np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    w = floating(weights)[::-1]
    origin = -origin - (w.shape[0] % 2 == 0)
    return along_axis(array_of("convolve1d", input, output), w, axis, mode, cval, origin)


def _weighted(
    x: Any, weights: Any, mode: Any, cval: Any, origin: Any, axes: Any, flip: bool
) -> Any:
    chosen = axes_of(axes, x.ndim)
    if weights.ndim != len(chosen):
        raise RuntimeError("weights array has incorrect shape.")
    origins = per_axis(origin, len(chosen))
    if flip:
        weights = weights[tuple([slice(None, None, -1)] * weights.ndim)]
        origins = [-o - (k % 2 == 0) for o, k in zip(origins, weights.shape, strict=True)]
    windows = windows_of(x, weights.shape, per_axis(mode, len(chosen)), cval, origins, chosen)
    return np.tensordot(windows, weights, axes=weights.ndim)


def windows_of(
    x: Any, sizes: Sequence[int], modes: Sequence[str], cval: Any, origins: Sequence[int],
    axes: Sequence[int],
) -> Any:  # fmt: skip
    """The neighbourhood of each element: windows of the given sizes, on axes after those of x."""
    widths, all_modes = [(0, 0)] * x.ndim, ["reflect"] * x.ndim
    for size, mode, origin, axis in zip(sizes, modes, origins, axes, strict=True):
        before = size // 2 + origin
        if not 0 <= before < size:
            raise ValueError("invalid origin")
        widths[axis], all_modes[axis] = (before, size - 1 - before), mode
    if 0 in x.shape:  # an empty array has no border to extend
        return np.zeros((*x.shape, *sizes), x.dtype)
    wide = padded(x, widths, all_modes, cval)
    return np.lib.stride_tricks.sliding_window_view(wide, tuple(sizes), axis=tuple(axes))


@answers("scipy.ndimage.correlate")
def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The correlation with an array of weights.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import correlate
    >>> grad(lambda x: correlate(x, np.ones((3, 3)))[0, 0])(np.zeros((2, 2)))
    array([[4., 2.],
           [2., 1.]])
    """
    x = array_of("correlate", input, output)
    return _weighted(x, floating(weights), mode, cval, origin, axes, False)


@answers("scipy.ndimage.convolve")
def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The convolution with an array of weights.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import convolve
    >>> jit(convolve)(np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    x = array_of("convolve", input, output)
    return _weighted(x, floating(weights), mode, cval, origin, axes, True)


@answers("scipy.ndimage.uniform_filter1d")
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The mean of a known number of neighbours along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import uniform_filter1d
    >>> grad(lambda x: uniform_filter1d(x, 2)[1])(np.ones(3))
    array([0.5, 0.5, 0. ])
    """
    size = known_integer(size, "size", "uniform_filter1d")
    x = array_of("uniform_filter1d", input, output)
    return along_axis(x, np.full(size, 1.0 / size, x.dtype), axis, mode, cval, origin)


@answers("scipy.ndimage.uniform_filter")
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The mean of a neighbourhood.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import uniform_filter
    >>> grad(lambda x: uniform_filter(x, 2)[1])(np.ones(3))
    array([0.5, 0.5, 0. ])
    """
    x = array_of("uniform_filter", input, output)
    chosen = axes_of(axes, x.ndim)
    settings = (per_axis(v, len(chosen)) for v in (size, mode, origin))
    for axis, n, how, start in zip(chosen, *settings, strict=True):
        if n > 1:
            x = uniform_filter1d(x, int(n), axis, None, how, cval, start)
    return x


# -- Gaussians ----------------------------------------------------------------------------


def bell(sigma: Any, order: int, radius: int) -> Any:
    """The weights of a Gaussian, or of its derivative of an order, from right to left."""
    x = np.arange(radius, -radius - 1, -1.0)
    variance = sigma * sigma
    curve = np.exp(-0.5 / variance * x**2)
    curve = curve / np.sum(curve)
    before, factor = 0.0 * x, 0.0 * x + 1.0  # d/dx (q f) = (q' - q x / variance) f
    powers: list[Any] = [1.0]
    for _ in range(order):
        raised = [0.0, *(-c / variance for c in powers)]
        lowered = [(k + 1) * c for k, c in enumerate(powers[1:])]
        powers = [r + (lowered[k] if k < len(lowered) else 0.0) for k, r in enumerate(raised)]
    factor = before
    for k, c in enumerate(powers):
        factor = factor + c * x**k
    return factor * curve


@answers("scipy.ndimage.gaussian_filter1d")
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    """The convolution with a Gaussian, or with one of its derivatives, along an axis.

    A traced ``sigma`` needs a known ``radius``.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import gaussian_filter1d
    >>> x = np.eye(1, 9, 4)[0]
    >>> np.round(grad(lambda s: gaussian_filter1d(x, s, radius=4)[4])(1.0), 3)
    np.float64(-0.399)
    """
    x = array_of("gaussian_filter1d", input, output)
    if radius is None:
        if is_traced(sigma):
            raise refused("scipy.ndimage.gaussian_filter1d", "sigma= determines the number of "
                          "neighbours; pass radius=, a known number.")  # fmt: skip
        radius = int(truncate * float(sigma) + 0.5)
    order = known_integer(order, "order", "gaussian_filter1d")
    weights = bell(sigma if is_traced(sigma) else float(sigma), order, int(radius))
    return along_axis(x, floating(weights).astype(x.dtype), axis, mode, cval)


@answers("scipy.ndimage.gaussian_filter")
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """The convolution with Gaussians along axes; a traced ``sigma`` needs a ``radius``.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import gaussian_filter
    >>> np.round(grad(lambda x: gaussian_filter(x, 1.0)[2, 2])(np.zeros((5, 5)))[2, 2], 3)
    np.float64(0.159)
    """
    x = array_of("gaussian_filter", input, output)
    chosen = axes_of(axes, x.ndim)
    sigmas = [sigma[i] for i in range(len(chosen))] if np.ndim(sigma) else [sigma] * len(chosen)
    settings = (per_axis(v, len(chosen)) for v in (order, mode, radius))
    for axis, s, n, how, r in zip(chosen, sigmas, *settings, strict=True):
        if is_traced(s) or s > 1e-15:
            x = gaussian_filter1d(x, s, axis, n, None, how, cval, truncate, radius=r)
    return x


# -- differences --------------------------------------------------------------------------


def _edges(x: Any, axis: int, mode: Any, cval: Any, across: Sequence[float]) -> Any:
    modes = per_axis(mode, x.ndim)
    axis = normalize_axis(axis, x.ndim)
    made = along_axis(x, np.array([-1.0, 0.0, 1.0], x.dtype), axis, modes[axis], cval)
    for other in range(x.ndim):
        if other != axis:
            made = along_axis(made, np.array(across, x.dtype), other, modes[other], cval)
    return made


@answers("scipy.ndimage.sobel")
def sobel(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """Sobel's differences along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import sobel
    >>> grad(lambda x: sobel(x)[1])(np.zeros(3))
    array([-1.,  0.,  1.])
    """
    return _edges(array_of("sobel", input, output), axis, mode, cval, (1, 2, 1))


@answers("scipy.ndimage.prewitt")
def prewitt(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """Prewitt's differences along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import prewitt
    >>> grad(lambda x: prewitt(x)[1])(np.zeros(3))
    array([-1.,  0.,  1.])
    """
    return _edges(array_of("prewitt", input, output), axis, mode, cval, (1, 1, 1))


@answers("scipy.ndimage.laplace")
def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Any:
    """The sum of second differences along axes.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import laplace
    >>> grad(lambda x: laplace(x)[1])(np.zeros(3))
    array([ 1., -2.,  1.])
    """
    x = array_of("laplace", input, output)
    chosen = axes_of(axes, x.ndim)
    modes = per_axis(mode, len(chosen))
    weights = np.array([1.0, -2.0, 1.0], x.dtype)
    parts = [along_axis(x, weights, a, m, cval) for a, m in zip(chosen, modes, strict=True)]
    return sum(parts[1:], parts[0])


def _bells(x: Any, sigma: Any, order: int, mode: Any, cval: Any, axes: Any, kwargs: Any) -> Any:
    """The derivatives of an order along each axis, of the array smoothed by Gaussians."""
    chosen = axes_of(axes, x.ndim)
    for i in range(len(chosen)):
        orders = [order if k == i else 0 for k in range(len(chosen))]
        yield gaussian_filter(x, sigma, orders, None, mode, cval, axes=tuple(chosen), **kwargs)


@answers("scipy.ndimage.gaussian_laplace")
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *,
    axes: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """The sum of second derivatives of the array smoothed by Gaussians.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import gaussian_laplace
    >>> jit(lambda x: gaussian_laplace(x, 1.0))(np.ones(3)).round(6) + 0.0
    array([-7.2e-05, -7.2e-05, -7.2e-05])
    """
    x = array_of("gaussian_laplace", input, output)
    first, *rest = _bells(x, sigma, 2, mode, cval, axes, kwargs)
    return sum(rest, first)


@answers("scipy.ndimage.gaussian_gradient_magnitude")
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *,
    axes: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """The size of the gradient of the array smoothed by Gaussians; at 0 its derivative is 0."""
    x = array_of("gaussian_gradient_magnitude", input, output)
    if axes is not None and sorted(axes_of(axes, x.ndim)) != list(range(x.ndim)):
        raise refused(
            "scipy.ndimage.gaussian_gradient_magnitude",
            "with axes=, SciPy still smooths along all axes. Write the derivative that you want, "
            "for example along the first axis only:\n"
            "    np.abs(scipy.ndimage.gaussian_filter1d(image, sigma, axis=0, order=1))",
        )
    parts = list(_bells(x, sigma, 1, mode, cval, axes, kwargs))
    return np.linalg.norm(np.stack(parts), axis=0)
