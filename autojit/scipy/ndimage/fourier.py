"""Filters of Fourier-transformed images, and filters made of a user's derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import floating, refused
from autojit.scipy.registry import answers


def _filtered(
    name: str, factor: Any, input: Any, sizes: Any, n: int, axis: int, output: Any
) -> Any:
    """Multiply a transform by a factor for each axis, a function of frequency and of a size.

    The frequency is in cycles per sample.
    """
    if output is not None and not isinstance(output, (type, np.dtype)):
        raise refused(f"scipy.ndimage.{name}", "output= takes a dtype.")
    x = floating(input)
    sizes = np.broadcast_to(floating(sizes), (x.ndim,))
    along = normalize_axis(axis, x.ndim)
    for k, size in enumerate(x.shape):
        turns = np.arange(size) / n if k == along and n > 0 else np.fft.fftfreq(size)
        shape = (size,) + (1,) * (x.ndim - 1 - k)
        x = x * np.reshape(factor(turns, sizes[k]), shape)
    return x if output is None else x.astype(output)


@answers("scipy.ndimage.fourier_gaussian")
def fourier_gaussian(
    input: Any, sigma: Any, n: int = -1, axis: int = -1, output: Any = None
) -> Any:
    """From the transform of an image, the transform of the image blurred by a normal density.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import fourier_gaussian
    >>> round(float(grad(lambda s: fourier_gaussian(np.ones(2), s)[1])(0.3)), 6)
    -1.899052
    """
    factor = lambda f, s: np.exp(-2 * (np.pi * f * s) ** 2)  # noqa: E731
    return _filtered("fourier_gaussian", factor, input, sigma, n, axis, output)


@answers("scipy.ndimage.fourier_uniform")
def fourier_uniform(input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """From the transform of an image, the transform of the image averaged over a box."""
    factor = lambda f, s: np.sinc(f * s)  # noqa: E731
    return _filtered("fourier_uniform", factor, input, size, n, axis, output)


@answers("scipy.ndimage.fourier_shift")
def fourier_shift(input: Any, shift: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """From the transform of an image, the transform of the shifted image.

    The shift may be a fraction of a sample.
    """
    factor = lambda f, s: np.exp(-2j * np.pi * f * s)  # noqa: E731
    return _filtered("fourier_shift", factor, input, shift, n, axis, output)


def _each(name: str, f: Any, input: Any, output: Any, mode: Any, cval: Any, more: Any) -> list[Any]:
    """The results of a user's derivative along each axis."""
    extra, keywords, axes = more
    x = floating(input)
    if output is not None and not isinstance(output, (type, np.dtype)):
        raise refused(f"scipy.ndimage.{name}", "output= takes a dtype.")
    given = range(x.ndim) if axes is None else np.atleast_1d(axes).tolist()
    chosen = [normalize_axis(int(axis), x.ndim) for axis in given]
    modes = [mode] * len(chosen) if isinstance(mode, str) else list(mode)
    return [
        floating(f(x, axis, output or x.dtype, m, cval, *extra, **(keywords or {})))
        for axis, m in zip(chosen, modes, strict=True)
    ]


@answers("scipy.ndimage.generic_laplace", callables=True)
def generic_laplace(
    input: Any, derivative2: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    extra_arguments: Any = (), extra_keywords: Any = None, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The sum of second derivatives, by a function like SciPy's that returns its result."""
    more = (extra_arguments, extra_keywords, axes)
    parts = _each("generic_laplace", derivative2, input, output, mode, cval, more)
    total: Any = 0.0
    for part in parts:
        total = total + part
    return total


@answers("scipy.ndimage.generic_gradient_magnitude", callables=True)
def generic_gradient_magnitude(
    input: Any, derivative: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    extra_arguments: Any = (), extra_keywords: Any = None, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The length of the gradient, by a function like SciPy's that returns its result."""
    more = (extra_arguments, extra_keywords, axes)
    parts = _each("generic_gradient_magnitude", derivative, input, output, mode, cval, more)
    total: Any = 0.0
    for part in parts:
        total = total + part * part
    return np.sqrt(total)
