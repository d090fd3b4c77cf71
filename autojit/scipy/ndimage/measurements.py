"""Sums, means and extremes over known labels, as in ``scipy.ndimage``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import answers


def table_of(name: str, labels: Any, x: Any) -> np.ndarray:
    """The known label of each element."""
    return np.broadcast_to(np.asarray(known(labels, "labels", name)), x.shape).ravel()


def _by_label(name: str, f: Callable[[Any], Any], input: Any, labels: Any, index: Any) -> Any:
    """A function of the elements of each label."""
    x = floating(input)
    if labels is None:
        return f(np.reshape(x, (-1,)))
    table = table_of(name, labels, x)
    flat = np.reshape(x, (-1,))
    if index is None:
        return f(flat[np.flatnonzero(table > 0)])
    wanted = np.asarray(known(index, "index", name))
    parts = [f(flat[np.flatnonzero(table == i)]) for i in wanted.ravel()]
    made = np.stack([as_tracer(p) for p in parts]) if parts else np.zeros(0)
    return np.reshape(made, wanted.shape)


@answers("scipy.ndimage.sum_labels")
def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The sum of the elements of each label.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import sum_labels
    >>> grad(lambda x: sum_labels(x, [1, 2, 1], [1])[0])(np.zeros(3))
    array([1., 0., 1.])
    """
    return _by_label("sum_labels", np.sum, input, labels, index)


@answers("scipy.ndimage.sum")
def sum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The same as :func:`sum_labels`.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import sum
    >>> grad(lambda x: sum(x, [0, 1, 1], 1))(np.ones(3))
    array([0., 1., 1.])
    """
    return sum_labels(input, labels, index)


@answers("scipy.ndimage.extrema")
def extrema(input: Any, labels: Any = None, index: Any = None) -> tuple[Any, Any, Any, Any]:
    """``(minimum, maximum, place of the minimum, place of the maximum)`` of all elements.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import extrema
    >>> grad(lambda x: extrema(x)[1] - extrema(x)[0])(np.array([2.0, 5.0, 3.0]))
    array([-1.,  1.,  0.])
    """
    if labels is not None or index is not None:
        raise refused("scipy.ndimage.extrema", "labels are not covered; call minimum and maximum.")
    x = floating(input)
    places = (np.unravel_index(f(x), x.shape) for f in (np.argmin, np.argmax))
    low, high = places
    return np.min(x), np.max(x), tuple(low), tuple(high)


@answers("scipy.ndimage.mean")
def mean(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean of the elements of each label.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import mean
    >>> grad(lambda x: mean(x, [0, 1, 1], 1))(np.ones(3))
    array([0. , 0.5, 0.5])
    """
    return _by_label("mean", np.mean, input, labels, index)


@answers("scipy.ndimage.variance")
def variance(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The variance of the elements of each label.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import variance
    >>> grad(variance)(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    return _by_label("variance", np.var, input, labels, index)


@answers("scipy.ndimage.standard_deviation")
def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The standard deviation of the elements of each label.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import standard_deviation
    >>> float(jit(standard_deviation)(np.array([1.0, 3.0])))
    1.0
    """
    return _by_label("standard_deviation", np.std, input, labels, index)


@answers("scipy.ndimage.minimum")
def minimum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The least element of each label.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import minimum
    >>> grad(minimum)(np.array([1.0, 3.0, 2.0]))
    array([1., 0., 0.])
    """
    return _by_label("minimum", np.min, input, labels, index)


@answers("scipy.ndimage.maximum")
def maximum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The greatest element of each label.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import maximum
    >>> grad(maximum)(np.array([1.0, 3.0, 2.0]))
    array([0., 1., 0.])
    """
    return _by_label("maximum", np.max, input, labels, index)


@answers("scipy.ndimage.median")
def median(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The median of the elements of each label.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import median
    >>> grad(median)(np.array([1.0, 3.0, 2.0]))
    array([0., 0., 1.])
    """
    return _by_label("median", np.median, input, labels, index)


@answers("scipy.ndimage.center_of_mass")
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean place of the elements of each label, weighted by their values.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import center_of_mass
    >>> grad(lambda x: center_of_mass(x)[0])(np.array([1.0, 2.0, 1.0]))
    array([-0.25,  0.  ,  0.25])
    """
    x = floating(input)
    total = sum_labels(x, labels, index)
    places = [sum_labels(x * g, labels, index) / total for g in np.indices(x.shape)]
    if np.ndim(total) == 0:
        return tuple(places)
    return [tuple(p[k] for p in places) for k in range(total.shape[0])]
