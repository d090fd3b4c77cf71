"""Filters, maps and measurements by the user's functions, and the Fourier ellipsoid filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import floating, known, known_integer, refused
from autojit.scipy.registry import answers, original
from autojit.staging.bodies import check_function
from autojit.transformations.batching import vmap

from .geometry import sampled
from .ranks import selected


def _called(function: Any, name: str, arguments: Any, keywords: Any) -> Callable[[Any], Any]:
    converted = check_function(function, "function", f"scipy.ndimage.{name}")
    return lambda x: converted(x, *arguments, **(keywords or {}))


@answers("scipy.ndimage.generic_filter", callables=True)
def generic_filter(
    input: Any, function: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, extra_arguments: Any = (),
    extra_keywords: Any = None, *, axes: Any = None,
) -> Any:  # fmt: skip
    """A function of the elements of each neighbourhood, which it gets as one row.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import generic_filter
    >>> grad(lambda x: generic_filter(x, np.prod, 3)[1])(np.array([2.0, 3.0, 4.0]))
    array([12.,  8.,  6.])
    """
    of_row = _called(function, "generic_filter", extra_arguments, extra_keywords)

    def select(windows: Any) -> Any:
        rows = np.reshape(windows, (-1, windows.shape[-1]))
        return np.reshape(vmap(of_row)(rows), windows.shape[:-1]).astype(windows.dtype)

    return selected("generic_filter", select, input, size, footprint, output, mode, cval, origin,
                    axes)  # fmt: skip


@answers("scipy.ndimage.geometric_transform", callables=True, tuples=("output_shape",))
def geometric_transform(
    input: Any, mapping: Any, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True, extra_arguments: Any = (),
    extra_keywords: Any = None,
) -> Any:  # fmt: skip
    """The image at the places that a function returns for the indices of the result.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import geometric_transform
    >>> x = np.arange(4.0) ** 2
    >>> moved = lambda s: geometric_transform(x, lambda at: (at[0] + s,), order=1)
    >>> grad(lambda s: moved(s)[1])(0.5)
    np.float64(3.0)
    """
    if output is not None and not isinstance(output, (type, np.dtype)):
        raise refused("scipy.ndimage.geometric_transform", "output= takes a dtype.")
    x = floating(input)
    given = x.shape if output_shape is None else output_shape
    shape = tuple(int(n) for n in known(given, "output_shape", "geometric_transform"))
    places = [np.reshape(i, (-1,)) for i in np.indices(shape)]
    to_place = _called(mapping, "geometric_transform", extra_arguments, extra_keywords)
    found = vmap(lambda *at: tuple(floating(c) for c in to_place(tuple(at))))(*places)
    if len(found) != x.ndim:
        raise RuntimeError("invalid number of coordinates")
    order = known_integer(order, "order", "geometric_transform")
    made = sampled(x, [np.reshape(c, shape) for c in found], order, mode, cval, prefilter)
    return made if output is None else made.astype(output)


@answers("scipy.ndimage.labeled_comprehension", callables=True)
def labeled_comprehension(
    input: Any, labels: Any, index: Any, func: Any, out_dtype: Any, default: Any,
    pass_positions: bool = False,
) -> Any:  # fmt: skip
    """A function of the elements of each label; labels and indices must be known.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import labeled_comprehension
    >>> most = lambda x: labeled_comprehension(x, [1, 1, 2], [1, 2], np.max, float, 0.0).sum()
    >>> grad(most)(np.array([1.0, 2.0, 3.0]))
    array([0., 1., 1.])
    """
    name = "labeled_comprehension"
    flat = np.reshape(floating(input), (-1,))
    function = _called(func, name, (), None)
    if labels is None or index is None:
        there = np.ones(flat.shape, bool) if labels is None else _labels(labels, flat) > 0
        wanted, chosen = np.zeros(()), [np.flatnonzero(there)]
    else:
        marks, wanted = _labels(labels, flat), np.asarray(known(index, "index", name))
        chosen = [np.flatnonzero(marks == i) for i in wanted.ravel()]

    def one(places: np.ndarray) -> Any:
        if not len(places):
            return floating(default)
        if pass_positions:
            both = check_function(func, "func", f"scipy.ndimage.{name}")
            return floating(both(flat[places], places))
        return floating(function(flat[places]))

    made = np.stack([one(places) for places in chosen]).astype(out_dtype)
    return np.reshape(made, wanted.shape)


def _labels(labels: Any, flat: Any) -> np.ndarray:
    found = np.asarray(known(labels, "labels", "labeled_comprehension"))
    return np.broadcast_to(found.ravel(), flat.shape)


@answers("scipy.ndimage.fourier_ellipsoid")
def fourier_ellipsoid(
    input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None
) -> Any:
    """From the transform of an image, that of the image averaged over an ellipsoid.

    The image has at most three axes.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import fourier_ellipsoid
    >>> jit(fourier_ellipsoid)(np.ones(2), 1.0).round(6)
    array([1.     , 0.63662])
    """
    if output is not None and not isinstance(output, (type, np.dtype)):
        raise refused("scipy.ndimage.fourier_ellipsoid", "output= takes a dtype.")
    x = floating(input)
    if x.ndim > 3:
        raise NotImplementedError("Only 1d, 2d and 3d inputs are supported")
    sizes, along = np.broadcast_to(floating(size), (x.ndim,)), normalize_axis(axis, x.ndim)
    square: Any = 0.0
    for k, count in enumerate(x.shape):
        turns = np.arange(count) / n if k == along and n > 0 else np.fft.fftfreq(count)
        part = (np.pi * turns * sizes[k]) ** 2
        square = square + np.reshape(part, (count,) + (1,) * (x.ndim - 1 - k))
    inside = square > 0
    r = np.sqrt(np.where(inside, square, 1.0))
    made = x * np.where(inside, _of_radius(r, x.ndim), 1.0)
    return made if output is None else made.astype(output)


def _of_radius(r: Any, ndim: int) -> Any:
    """The transform of a line, a disk or a ball, which is 1 at r = 0."""
    if ndim == 1:
        return np.sin(r) / r
    if ndim == 2:
        return 2.0 * original("scipy.special.j1")(r) / r
    return 3.0 * (np.sin(r) - r * np.cos(r)) / r**3
