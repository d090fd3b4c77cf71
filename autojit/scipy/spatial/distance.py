"""Distances of ``scipy.spatial.distance``.

If two points coincide, a distance that is a norm has the derivative 0, the subgradient of smallest
norm. Distances of booleans (``"dice"``, ``"yule"``, …) have no derivative and are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import answers
from autojit.staging.bodies import check_function
from autojit.transformations.batching import vmap

# -- formulas, along the last axis ----------------------------------------------------------


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    d = u - v
    return np.linalg.norm(d if w is None else np.sqrt(w) * d, axis=-1)


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    d = (u - v) ** 2
    return np.sum(d if w is None else w * d, axis=-1)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    d = np.abs(u - v)
    return np.sum(d if w is None else w * d, axis=-1)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    d = np.abs(u - v)
    return np.max(d if w is None else np.where(w > 0, d, 0.0), axis=-1)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    p = float(known(p, "p", "minkowski"))
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if np.isinf(p):
        return _chebyshev(u, v, w)
    d = u - v
    return np.linalg.norm(d if w is None else w ** (1 / p) * d, p, axis=-1)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    mean = (lambda x: np.mean(x, axis=-1)) if w is None else (lambda x: np.sum(w * x, axis=-1))
    return 1.0 - mean(u * v) / np.sqrt(mean(u * u) * mean(v * v))


def _correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    if centered:
        share = None if w is None else w / np.sum(w)
        mean = lambda x: np.mean(x, -1) if share is None else np.sum(share * x, -1)  # noqa: E731
        u, v = u - mean(u)[..., None], v - mean(v)[..., None]
    return _cosine(u, v, w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    apart, sums = np.abs(u - v), np.abs(u + v)
    if w is not None:
        apart, sums = w * apart, w * sums
    return np.sum(apart, axis=-1) / np.sum(sums, axis=-1)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    size = np.abs(u) + np.abs(v)
    zero = size == 0
    d = np.where(zero, 0.0, np.abs(u - v) / np.where(zero, 1.0, size))
    return np.sum(d if w is None else w * d, axis=-1)


def _hamming(u: Any, v: Any, w: Any = None) -> Any:
    """The share of coordinates that differ; its derivative is 0."""
    differ = np.where(u != v, 1.0, 0.0) + 0.0 * (u + v)
    return np.mean(differ, axis=-1) if w is None else np.sum(differ * w / np.sum(w), axis=-1)


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    return np.linalg.norm((u - v) / np.sqrt(V), axis=-1)


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    d = u - v
    return _root(np.sum((d @ VI) * d, axis=-1))


def _root(x: Any) -> Any:
    """The square root, with derivative 0 at 0."""
    zero = x <= 0
    return np.where(zero, np.where(x < 0, np.nan, 0.0), np.sqrt(np.where(zero, 1.0, x)))


def _jensenshannon(p: Any, q: Any, base: Any = None) -> Any:
    p, q = p / np.sum(p, axis=-1, keepdims=True), q / np.sum(q, axis=-1, keepdims=True)
    m = (p + q) / 2.0
    total = np.sum(_relative(p, m) + _relative(q, m), axis=-1)
    total = total if base is None else total / np.log(base)
    return _root(np.maximum(total, 0.0) / 2.0)


def _relative(p: Any, m: Any) -> Any:
    some = p > 0
    return np.where(some, p * np.log(np.where(some, p, 1.0) / np.where(some, m, 1.0)), 0.0)


_METRICS: dict[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis, "canberra": _canberra, "chebyshev": _chebyshev,
    "cityblock": _cityblock, "correlation": _correlation, "cosine": _cosine,
    "euclidean": _euclidean, "hamming": _hamming, "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis, "minkowski": _minkowski, "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}  # fmt: skip
#: SciPy's short names.
_SHORT = {
    "chebychev": "chebyshev", "chebyshev": "chebyshev", "cheby": "chebyshev", "cheb": "chebyshev",
    "ch": "chebyshev", "cblock": "cityblock", "cb": "cityblock", "c": "cityblock",
    "co": "correlation", "cos": "cosine", "euclid": "euclidean", "eu": "euclidean",
    "e": "euclidean", "matching": "hamming", "hamm": "hamming", "ha": "hamming", "h": "hamming",
    "js": "jensenshannon", "mahal": "mahalanobis", "mah": "mahalanobis", "mi": "minkowski",
    "m": "minkowski", "pnorm": "minkowski", "se": "seuclidean", "s": "seuclidean",
    "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
}  # fmt: skip


# -- between vectors ------------------------------------------------------------------------


def _vectors(u: Any, v: Any) -> tuple[Any, Any]:
    u, v = floating(u), floating(v)
    if u.ndim != 1 or v.ndim != 1:
        raise ValueError("Input vector should be 1-D.")
    return u, v


@answers("scipy.spatial.distance.euclidean")
def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    """The Euclidean distance of two vectors.

    >>> from autojit import grad
    >>> from autojit.scipy.spatial.distance import euclidean
    >>> grad(euclidean)(np.array([3.0, 4.0]), np.zeros(2))
    array([0.6, 0.8])
    """
    return _euclidean(*_vectors(u, v), w)


@answers("scipy.spatial.distance.sqeuclidean")
def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    """The squared Euclidean distance of two vectors."""
    return _sqeuclidean(*_vectors(u, v), w)


@answers("scipy.spatial.distance.cityblock")
def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    """The sum of the distances of the coordinates."""
    return _cityblock(*_vectors(u, v), w)


@answers("scipy.spatial.distance.chebyshev")
def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    """The largest distance of coordinates."""
    return _chebyshev(*_vectors(u, v), w)


@answers("scipy.spatial.distance.minkowski")
def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """The distance in the norm of a known order p."""
    return _minkowski(*_vectors(u, v), p, w)


@answers("scipy.spatial.distance.cosine")
def cosine(u: Any, v: Any, w: Any = None) -> Any:
    """1 minus the cosine of the angle between two vectors."""
    return _cosine(*_vectors(u, v), w)


@answers("scipy.spatial.distance.correlation")
def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """1 minus the correlation of two vectors."""
    return _correlation(*_vectors(u, v), w, centered)


@answers("scipy.spatial.distance.braycurtis")
def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    """``sum(abs(u - v)) / sum(abs(u + v))``."""
    return _braycurtis(*_vectors(u, v), w)


@answers("scipy.spatial.distance.canberra")
def canberra(u: Any, v: Any, w: Any = None) -> Any:
    """``sum(abs(u - v) / (abs(u) + abs(v)))``, where 0 / 0 is 0."""
    return _canberra(*_vectors(u, v), w)


@answers("scipy.spatial.distance.hamming")
def hamming(u: Any, v: Any, w: Any = None) -> Any:
    """The share of coordinates that differ; its derivative is 0."""
    return _hamming(*_vectors(u, v), w)


@answers("scipy.spatial.distance.seuclidean")
def seuclidean(u: Any, v: Any, V: Any) -> Any:
    """The Euclidean distance of vectors divided by the roots of variances V."""
    return _seuclidean(*_vectors(u, v), floating(V))


@answers("scipy.spatial.distance.mahalanobis")
def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    """``sqrt((u - v) @ VI @ (u - v))``."""
    return _mahalanobis(*_vectors(u, v), floating(VI))


@answers("scipy.spatial.distance.jensenshannon")
def jensenshannon(
    p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    """The root of the Jensen-Shannon divergence of two distributions.

    >>> from autojit import grad
    >>> from autojit.scipy.spatial.distance import jensenshannon
    >>> np.round(grad(jensenshannon)(np.array([0.5, 0.5]), np.array([0.5, 0.5])), 9)
    array([0., 0.])
    """
    p, q = (np.moveaxis(x, axis, -1) for x in np.broadcast_arrays(floating(p), floating(q)))
    made = _jensenshannon(p, q, base)
    return np.expand_dims(made, axis) if keepdims else made


# -- between rows of matrices ---------------------------------------------------------------


def _metric(name: str, metric: Any, points: list[Any], kwargs: dict[str, Any]) -> Any:
    """The function of a metric for arrays of vectors, with its settings."""
    if callable(metric):
        found = _METRICS.get(getattr(metric, "__name__", ""))
        if found is None:
            function = check_function(metric, "metric", name)
            return lambda u, v: _each_pair(lambda a, b: function(a, b, **kwargs), u, v)
        metric = metric.__name__
    key = metric.lower()
    key = _SHORT.get(key, key)
    if key not in _METRICS:
        raise refused(
            name, f"metric={metric!r} is not covered. Covered metrics: {', '.join(_METRICS)}."
        )
    kwargs = {n: v for n, v in kwargs.items() if v is not None}
    if key == "seuclidean" and "V" not in kwargs:
        kwargs["V"] = np.var(np.concatenate(points), axis=0, ddof=1)
    if key == "mahalanobis" and "VI" not in kwargs:
        kwargs["VI"] = np.linalg.inv(np.atleast_2d(np.cov(np.concatenate(points).T))).T
    return lambda u, v: _METRICS[key](u, v, **kwargs)


def _each_pair(f: Callable[..., Any], u: Any, v: Any) -> Any:
    """Apply a function of two vectors to arrays of vectors."""
    u, v = np.broadcast_arrays(u, v)
    n = u.shape[-1]
    made = vmap(f)(np.reshape(u, (-1, n)), np.reshape(v, (-1, n)))
    return np.reshape(made, u.shape[:-1])


@answers("scipy.spatial.distance.cdist")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances between the rows of two matrices.

    >>> from autojit import grad
    >>> from autojit.scipy.spatial.distance import cdist
    >>> grad(lambda x: cdist(x, np.zeros((1, 2)))[0, 0])(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    a, b = floating(XA), floating(XB)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("XA and XB must be 2-dimensional arrays.")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns "
                         "(i.e. feature dimension.)")  # fmt: skip
    if out is not None:
        raise refused("scipy.spatial.distance.cdist", "out= is not covered.")
    f = _metric("scipy.spatial.distance.cdist", metric, [a, b], kwargs)
    return f(a[:, None, :], b[None, :, :])


@answers("scipy.spatial.distance.pdist")
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances between all pairs of rows of a matrix.

    >>> from autojit import grad
    >>> from autojit.scipy.spatial.distance import pdist
    >>> grad(lambda x: pdist(x)[0])(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[ 0.6,  0.8],
           [-0.6, -0.8]])
    """
    x = floating(X)
    if x.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    if out is not None:
        raise refused("scipy.spatial.distance.pdist", "out= is not covered.")
    i, j = np.triu_indices(x.shape[0], 1)
    return _metric("scipy.spatial.distance.pdist", metric, [x], kwargs)(x[i], x[j])


@answers("scipy.spatial.distance.squareform")
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """A vector of distances as a symmetric matrix, or back; traced values are not checked.

    >>> from autojit import jit
    >>> from autojit.scipy.spatial.distance import squareform
    >>> jit(squareform)(np.array([3.0]))
    array([[0., 3.],
           [3., 0.]])
    """
    x = floating(X)
    wanted = {"tomatrix": 1, "tovector": 2}.get(force.lower(), x.ndim)
    if x.ndim != wanted:
        raise ValueError(f"Forcing {force!r} but input X has {x.ndim} axes.")
    if x.ndim == 2:
        return x[np.triu_indices(x.shape[0], 1)]
    if x.ndim != 1:
        raise ValueError("The first argument must be one or two dimensional array.")
    n = int(np.ceil(np.sqrt(x.shape[0] * 2)))
    n = max(n, 1)
    if n * (n - 1) // 2 != x.shape[0]:
        raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2 "
                         "for some integer n >= 2.")  # fmt: skip
    places = np.full((n, n), x.shape[0])
    i, j = np.triu_indices(n, 1)
    places[i, j] = places[j, i] = np.arange(x.shape[0])
    return np.concatenate([x, np.zeros(1, x.dtype)])[places]


@answers("scipy.spatial.distance.directed_hausdorff")
def directed_hausdorff(u: Any, v: Any, rng: Any = 0) -> tuple[Any, Any, Any]:
    """The largest distance from a row of u to the nearest row of v, and their indices."""
    distances = cdist(u, v)
    nearest = np.min(distances, axis=1)
    i = np.argmax(nearest)
    return np.max(nearest), i, np.argmin(distances[i])
