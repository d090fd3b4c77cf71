"""Images at other places: ``map_coordinates``, and functions that shift, rotate and scale images.

They use splines of orders 0 to 5 (Unser, Aldroubi and Eden, IEEE Trans. Signal Process. 41 (1993),
821-833). Coordinates, angles and matrices may be traced, as well as the image.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known, known_integer, pad
from autojit.scipy.registry import answers

from .correlation import EDGES, array_of

#: In these modes, the spline is mirrored at the last sample.
_MIRRORED = ("constant", "wrap", "mirror")
#: How far the image is extended before its spline is found, in modes "nearest" and "grid-constant".
_MARGIN = 12


def _weights(t: Any, order: int) -> list[Any]:
    """The B-splines of an order that are not 0 at a share t of an interval between integers."""
    columns = [0.0 * t + 1.0]
    for degree in range(1, order + 1):
        new = [0.0 * t for _ in range(degree + 1)]
        for j, column in enumerate(columns):
            new[j] = new[j] + (1 + j - t) * column / degree
            new[j + 1] = new[j + 1] + (t + degree - 1 - j) * column / degree
        columns = new
    return columns


def _index(i: Any, n: int, mode: str) -> Any:
    """The index in the array of an integer place, which may lie beyond the edge."""
    if mode in ("wrap", "grid-wrap"):
        return np.mod(i, n)
    if mode in ("reflect", "grid-mirror"):
        j = np.mod(i, 2 * n)
        return np.where(j < n, j, 2 * n - 1 - j)
    if mode == "mirror":
        period = max(2 * n - 2, 1)
        j = np.mod(i, period)
        return np.where(j < n, j, period - j)
    return np.clip(i, 0, n - 1)


@functools.lru_cache(maxsize=64)
def _inverse(n: int, order: int, mode: str) -> np.ndarray:
    """The matrix that turns n samples into the coefficients of a spline."""
    at_zero = [float(w) for w in _weights(np.float64(0.0 if order % 2 else 0.5), order)]
    matrix = np.zeros((n, n))
    for j, weight in enumerate(at_zero):
        np.add.at(matrix, (np.arange(n), _index(np.arange(n) + j - order // 2, n, mode)), weight)
    return np.linalg.inv(matrix)


def _spline_mode(mode: str) -> str:
    if mode in ("nearest", "reflect", "grid-mirror"):
        return "reflect"
    return "grid-wrap" if mode == "grid-wrap" else "mirror"


def coefficients(x: Any, order: int, mode: str) -> Any:
    """The coefficients of the spline through an image."""
    if mode not in EDGES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    for axis in range(x.ndim):
        x = _along(x, order, mode, axis)
    return x


def _along(x: Any, order: int, mode: str, axis: int) -> Any:
    """The coefficients of splines along an axis."""
    n = x.shape[axis]
    if order < 2 or n < 2:
        return x
    matrix = _inverse(n, order, _spline_mode(mode)).astype(x.dtype)
    return np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)


def _moved(c: Any, n: int, mode: str) -> Any:
    """A coordinate, folded back into the array as in SciPy if it lies beyond the edge."""
    if mode == "mirror":
        period = max(2 * (n - 1), 1)
        c = np.mod(c, period)
        return np.where(c > n - 1, period - c, c)
    if mode in ("reflect", "grid-mirror"):
        c = np.mod(c + 0.5, 2 * n)
        return np.where(c > n, 2 * n - c, c) - 0.5
    if mode == "wrap":
        inside = np.logical_and(c >= 0, c <= n - 1)
        return np.where(inside, c, np.mod(c, max(n - 1, 1)))
    if mode == "grid-wrap":
        return np.mod(c, n)
    return np.clip(c, 0, n - 1) if mode == "nearest" else c


def sampled(
    x: Any, coordinates: list[Any], order: int, mode: str, cval: Any, prefilter: bool
) -> Any:
    """The spline through an image at coordinates."""
    if mode not in EDGES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    margin = 0
    if prefilter and order > 1 and mode in ("nearest", "grid-constant"):
        margin = _MARGIN
        x = pad(x, _MARGIN, EDGES[mode], cval)
    if prefilter:
        x = coefficients(x, order, mode)
    outside: Any = False
    axes = []
    for n, c in zip(x.shape, coordinates, strict=True):
        c = _moved(c + float(margin), n, mode) if mode != "nearest" or not margin else np.clip(
            c + float(margin), 0, n - 1)  # fmt: skip
        if mode == "constant":
            outside = np.logical_or(outside, np.logical_or(c < 0, c > n - 1))
        axes.append(_places(c, n, order, mode))
    total = _summed(x, axes, cval if mode == "grid-constant" else None)
    return np.where(outside, cval, total) if mode == "constant" else total


def _places(c: Any, n: int, order: int, mode: str) -> list[tuple[Any, Any, Any]]:
    """``(index, weight, inside)`` for each neighbour along an axis."""
    start = np.floor(c if order % 2 else c + 0.5)
    share = c - start if order % 2 else c + 0.5 - start
    first = np.where(np.isfinite(start), start, 0.0).astype(np.int64) - order // 2
    found = []
    for j, weight in enumerate(_weights(share, order)):
        i = first + j
        how = "mirror" if mode in _MIRRORED else mode
        found.append((_index(i, n, how), weight, np.logical_and(i >= 0, i < n)))
    return found


def _summed(x: Any, axes: list[list[tuple[Any, Any, Any]]], cval: Any) -> Any:
    total: Any = 0.0
    for corner in itertools.product(*axes):
        weight, inside = corner[0][1], corner[0][2]
        for _, w, s in corner[1:]:
            weight, inside = weight * w, np.logical_and(inside, s)
        values = x[tuple(i for i, _, _ in corner)]
        if cval is not None:
            values = np.where(inside, values, cval)
        total = total + weight * values
    return total


def _image(name: str, input: Any, output: Any) -> Any:
    x = array_of(name, input, output)
    if x.ndim < 1:
        raise RuntimeError("input and output rank must be > 0")
    return x


@answers("scipy.ndimage.map_coordinates")
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image at coordinates, by splines of a known order.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import map_coordinates
    >>> x = np.arange(9.0).reshape(3, 3)
    >>> grad(lambda c: map_coordinates(x, c[:, None], order=1)[0])(np.array([0.5, 1.25]))
    array([3., 1.])
    """
    x, c = _image("map_coordinates", input, output), floating(coordinates)
    if c.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    order = known_integer(order, "order", "map_coordinates")
    return sampled(x, [c[i] for i in range(x.ndim)], order, mode, cval, prefilter)


@answers("scipy.ndimage.spline_filter")
def spline_filter(
    input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror"
) -> Any:
    """The coefficients of the spline through an image, in double precision."""
    x = as_tracer(input)
    x = _image("spline_filter", x if x.dtype.kind == "c" else x.astype(np.float64), output)
    order = known_integer(order, "order", "spline_filter")
    if not 2 <= order <= 5:
        raise RuntimeError("spline order not supported")
    return coefficients(x, order, mode)


@answers("scipy.ndimage.spline_filter1d")
def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Any:
    """The coefficients of the splines along an axis, in double precision."""
    x = as_tracer(input)
    x = _image("spline_filter1d", x if x.dtype.kind == "c" else x.astype(np.float64), output)
    order = known_integer(order, "order", "spline_filter1d")
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if mode not in EDGES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    return _along(x, order, mode, axis)


def _grid(shape: Any) -> list[np.ndarray]:
    return [g.astype(float) for g in np.indices(tuple(int(n) for n in shape))]


@answers("scipy.ndimage.shift")
def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image moved by distances along its axes.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import shift
    >>> grad(lambda s: shift(np.array([0.0, 1.0, 3.0, 7.0]), s, order=1)[2])(0.5)
    np.float64(-2.0)
    """
    x, by = _image("shift", input, output), floating(shift)
    steps = [by] * x.ndim if by.ndim == 0 else [by[i] for i in range(x.ndim)]
    coordinates = [g - s for g, s in zip(_grid(x.shape), steps, strict=True)]
    return sampled(x, coordinates, order, mode, cval, prefilter)


@answers("scipy.ndimage.zoom")
def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    """The image at another size, by known factors.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import zoom
    >>> grad(lambda x: zoom(x, 2, order=1)[0])(np.ones(2))
    array([1., 0.])
    """
    x = _image("zoom", input, output)
    factors = np.broadcast_to(np.asarray(known(zoom, "zoom", "zoom"), float), (x.ndim,))
    shape = [round(n * f) for n, f in zip(x.shape, factors.tolist(), strict=True)]
    coordinates = []
    for g, n, m in zip(_grid(shape), x.shape, shape, strict=True):
        if grid_mode:
            coordinates.append((g + 0.5) * (n / m) - 0.5)
        else:
            coordinates.append(g * ((n - 1) / (m - 1) if m > 1 else 1.0))
    return sampled(x, coordinates, order, mode, cval, prefilter)


@answers("scipy.ndimage.affine_transform", tuples=("output_shape",))
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None,
    order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image at ``matrix @ place + offset`` for each place of the result.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import affine_transform
    >>> x = np.array([0.0, 1.0, 3.0, 7.0])
    >>> grad(lambda m: affine_transform(x, m, order=1)[1])(np.array([1.5]))
    array([2.])
    """
    x, m, b = _image("affine_transform", input, output), floating(matrix), floating(offset)
    n = x.ndim
    if m.ndim == 2 and m.shape[1] == n + 1:
        m, b = m[:n, :n], m[:n, n]
    grid = _grid(x.shape if output_shape is None else output_shape)
    offsets = [b] * n if b.ndim == 0 else [b[i] for i in range(n)]
    if m.ndim == 1:
        coordinates = [m[i] * grid[i] + offsets[i] for i in range(n)]
    else:
        coordinates = [sum(m[i, j] * grid[j] for j in range(n)) + offsets[i] for i in range(n)]
    return sampled(x, coordinates, order, mode, cval, prefilter)


@answers("scipy.ndimage.rotate", tuples=("axes",))
def rotate(
    input: Any, angle: Any, axes: Any = (1, 0), reshape: bool = True, output: Any = None,
    order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image rotated by an angle in degrees in the plane of two axes.

    A traced angle needs ``reshape=False``.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import rotate
    >>> grad(lambda x: rotate(x, 90, order=1)[0, 0])(np.ones((2, 2))).round(9) + 0.0
    array([[0., 1.],
           [0., 0.]])
    """
    x = _image("rotate", input, output)
    a, b = sorted(normalize_axis(int(i), x.ndim) for i in axes)
    shape = np.array([x.shape[a], x.shape[b]], float)
    if reshape:
        degrees = float(known(angle, "angle (with reshape=True)", "rotate"))
        from scipy.special import cosdg, sindg

        c, s = cosdg(degrees), sindg(degrees)
        bounds = np.array([[c, s], [-s, c]]) @ [[0, 0, *[shape[0]] * 2], [0, shape[1], 0, shape[1]]]
        size = (np.ptp(bounds, axis=1) + 0.5).astype(int)
    else:
        radians = np.deg2rad(floating(angle))
        c, s, size = np.cos(radians), np.sin(radians), shape.astype(int)
    middle, centre = (size - 1) / 2, (shape - 1) / 2
    out = list(x.shape)
    out[a], out[b] = size.tolist()
    grid = _grid(out)
    p, q = grid[a] - middle[0], grid[b] - middle[1]
    coordinates: list[Any] = list(grid)
    coordinates[a] = c * p + s * q + centre[0]
    coordinates[b] = -s * p + c * q + centre[1]
    return _planes(x, coordinates, (a, b), order, mode, cval, prefilter)


def _planes(
    x: Any, coordinates: list[Any], axes: tuple[int, int], order: int, mode: str, cval: Any,
    prefilter: bool,
) -> Any:  # fmt: skip
    """Sample the planes of two axes, one by one; places along the other axes are integers."""
    others = [i for i in range(x.ndim) if i not in axes]
    if not others:
        return sampled(x, coordinates, order, mode, cval, prefilter)
    i = others[0]
    parts = []
    for k in range(x.shape[i]):
        at = tuple(k if j == i else slice(None) for j in range(x.ndim))
        rest = [c[at] for j, c in enumerate(coordinates) if j != i]
        inner = (axes[0] - (axes[0] > i), axes[1] - (axes[1] > i))
        parts.append(_planes(x[at], rest, inner, order, mode, cval, prefilter))
    return np.stack(parts, axis=i)
