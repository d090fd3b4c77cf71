"""Distances to the background, connected regions, and places of extremes of images.

SciPy finds the nearest background elements and the regions, called back from the compiled code.
They have no derivative by the image, in which only zero and nonzero elements differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import answers, original
from autojit.transformations.derivatives import stop_gradient

from .measurements import table_of


def _by_scipy(name: str, x: Any, *settings: Any, **named: Any) -> Any:
    """What SciPy's function finds in an array; a call for two elements along each axis shows the
    types of the results, which have the array's shape in place of the first example's."""
    function = original(f"scipy.ndimage.{name}")
    small = np.ones((2,) * x.ndim)
    example = function(small, *settings, **named)
    several = isinstance(example, tuple)
    parts = [np.asarray(part) for part in (example if several else (example,))]
    like = [np.zeros(p.shape[: p.ndim - x.ndim] + x.shape if p.ndim else (), p.dtype)
            for p in parts]  # fmt: skip

    def search(x: Any) -> list[Any]:
        found = function(x, *settings, **named)
        return [np.asarray(part) for part in (found if several else (found,))]

    found = pure_callback(search, like, stop_gradient(x), vmap_method="sequential")
    return tuple(found) if several else found[0]


def _check_outputs(name: str, *given: Any) -> None:
    if any(x is not None for x in given):
        raise refused(f"scipy.ndimage.{name}", "arrays for the results are not covered; leave them "
                      "out.")  # fmt: skip


@answers("scipy.ndimage.distance_transform_edt")
def distance_transform_edt(
    input: Any, sampling: Any = None, return_distances: bool = True, return_indices: bool = False,
    distances: Any = None, indices: Any = None,
) -> Any:  # fmt: skip
    """The distance of each element to the nearest zero, with derivatives by ``sampling``.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import distance_transform_edt
    >>> grad(lambda s: np.sum(distance_transform_edt([1.0, 1.0, 0.0, 1.0], s)))(0.5)
    np.float64(4.0)
    """
    name = "distance_transform_edt"
    _check_outputs(name, distances, indices)
    if not (return_distances or return_indices):
        raise RuntimeError("at least one of return_distances/return_indices must be True")
    x = as_tracer(input)
    steps = np.broadcast_to(floating(1.0 if sampling is None else sampling), (x.ndim,))
    still = stop_gradient(steps)

    def search(x: Any, steps: Any) -> Any:
        return original(f"scipy.ndimage.{name}")(
            x, steps, return_distances=False, return_indices=True
        )

    places = pure_callback(
        search, np.zeros((x.ndim, *x.shape), np.int32), stop_gradient(x), still,
        vmap_method="sequential",
    )  # fmt: skip
    gaps = (places - np.indices(x.shape)) * np.reshape(steps, (-1, *[1] * x.ndim))
    squares = np.sum(gaps**2, axis=0)
    some = squares > 0
    far = np.where(some, np.sqrt(np.where(some, squares, 1.0)), 0.0)
    if not return_indices:
        return far
    return (far, places) if return_distances else places


@answers("scipy.ndimage.distance_transform_cdt")
def distance_transform_cdt(
    input: Any, metric: Any = "chessboard", return_distances: bool = True,
    return_indices: bool = False, distances: Any = None, indices: Any = None,
) -> Any:  # fmt: skip
    """The number of steps to the nearest zero.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import distance_transform_cdt
    >>> jit(distance_transform_cdt)(np.array([1.0, 1.0, 0.0, 1.0]))
    array([2, 1, 0, 1], dtype=int32)
    """
    name = "distance_transform_cdt"
    _check_outputs(name, distances, indices)
    metric = metric if isinstance(metric, str) else known(metric, "metric", name)
    return _by_scipy(name, as_tracer(input), metric, return_distances, return_indices)


@answers("scipy.ndimage.distance_transform_bf")
def distance_transform_bf(
    input: Any, metric: str = "euclidean", sampling: Any = None, return_distances: bool = True,
    return_indices: bool = False, distances: Any = None, indices: Any = None,
) -> Any:  # fmt: skip
    """The distance to the nearest zero by one of three metrics, for a known ``sampling``.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import distance_transform_bf
    >>> jit(distance_transform_bf)(np.array([1.0, 1.0, 0.0, 1.0]))
    array([2., 1., 0., 1.])
    """
    name = "distance_transform_bf"
    _check_outputs(name, distances, indices)
    steps = None if sampling is None else known(sampling, "sampling", name)
    return _by_scipy(name, as_tracer(input), metric, steps, return_distances, return_indices)


@answers("scipy.ndimage.label")
def label(input: Any, structure: Any = None, output: Any = None) -> tuple[Any, Any]:
    """``(labels, number of regions)`` of the connected nonzero elements.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import label
    >>> jit(lambda x: label(x > 0)[0])(np.array([1.0, 0.0, 2.0, 3.0]))
    array([1, 0, 2, 2], dtype=int32)
    """
    if output is not None and not isinstance(output, (type, np.dtype, str)):
        _check_outputs("label", output)
    near = None if structure is None else known(structure, "structure", "label")
    found: tuple[Any, Any] = _by_scipy("label", as_tracer(input), near, output)
    return found


def _places(
    input: Any, labels: Any, index: Any, name: str, first: Callable[[Any], Any],
    of_several: Callable[[Any], Any],
) -> Any:  # fmt: skip
    """The place of an element of each label.

    SciPy finds the first one of equal elements for one label, and for several labels the first
    minimum or the last maximum.
    """
    x = stop_gradient(as_tracer(input))
    flat = np.reshape(x, (-1,))

    def place(numbers: np.ndarray, find: Callable[[Any], Any]) -> tuple[Any, ...]:
        return tuple(np.unravel_index(as_tracer(numbers)[find(flat[numbers])], x.shape))

    if labels is None:
        return place(np.arange(flat.shape[0]), first)
    table = table_of(name, labels, x)
    if index is None:
        return place(np.flatnonzero(table > 0), first)
    wanted = np.asarray(known(index, "index", name))
    if wanted.ndim == 0:
        return place(np.flatnonzero(table == wanted), first)
    return [place(np.flatnonzero(table == i), of_several) for i in wanted.ravel()]


@answers("scipy.ndimage.minimum_position")
def minimum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The place of the least element of each label.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import minimum_position
    >>> int(jit(minimum_position)(np.array([3.0, 1.0, 2.0]))[0])
    1
    """
    return _places(input, labels, index, "minimum_position", np.argmin, np.argmin)


@answers("scipy.ndimage.maximum_position")
def maximum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The place of the greatest element of each label.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import maximum_position
    >>> int(jit(maximum_position)(np.array([3.0, 1.0, 2.0]))[0])
    0
    """

    def last(x: Any) -> Any:
        return x.shape[0] - 1 - np.argmax(x[::-1])

    return _places(input, labels, index, "maximum_position", np.argmax, last)


@answers("scipy.ndimage.histogram")
def histogram(
    input: Any, min: Any, max: Any, bins: Any, labels: Any = None, index: Any = None
) -> Any:
    """The number of elements in each bin; for several labels, a list of these.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import histogram
    >>> jit(lambda x: histogram(x, 0.0, 4.0, 2))(np.array([0.5, 1.0, 3.0]))
    array([2, 1])
    """
    name = "histogram"
    low, high, count = (known(v, w, name) for v, w in ((min, "min"), (max, "max"), (bins, "bins")))
    edges = np.linspace(low, high, int(count) + 1)
    x = stop_gradient(as_tracer(input))
    flat = np.reshape(x, (-1,))

    def counts(places: Any) -> Any:
        return np.histogram(flat[places], edges)[0]

    if labels is None:
        return counts(slice(None))
    table = table_of(name, labels, x)
    if index is None:
        return counts(np.flatnonzero(table > 0))
    wanted = np.asarray(known(index, "index", name))
    found = [counts(np.flatnonzero(table == i)) for i in wanted.ravel()]
    return found if wanted.ndim else found[0]
