"""Rows of ``scipy.ndimage`` and ``scipy.spatial.distance``."""

from __future__ import annotations

import numpy as np
from scipy import ndimage, spatial
from scipy.spatial import distance

from tests.samples.scipy_rows import row

_rng = np.random.default_rng(3)
X, W, IMAGE, KERNEL = (_rng.standard_normal(s) for s in (9, 4, (6, 7), (3, 2)))
EDGES = ("reflect", "constant", "nearest", "mirror", "wrap")
PLACES = np.stack([_rng.uniform(0.2, 4.8, 8), _rng.uniform(0.3, 5.8, 8)]) * 2.2 - 3.13
LABELS = np.array([0, 1, 1, 2, 2, 2, 0, 3, 3])
MASK = IMAGE > -1
U, V, WEIGHTS = _rng.standard_normal((4, 5)), _rng.standard_normal((3, 5)), np.arange(1.0, 6)


def _coordinates(order, mode):
    return lambda x, c: ndimage.map_coordinates(x, c, order=order, mode=mode, cval=0.3)


def _second(x, axis, output, mode, cval):
    return ndimage.correlate1d(x, [1, -2, 1], axis, output, mode, cval)


def _turned(order, mode):
    def of_image(x, t):
        def place(at, by):
            return (np.cos(t) * at[0] - np.sin(t) * at[1] + by, np.sin(t) * at[0] + at[1])

        return ndimage.geometric_transform(x, place, (5, 6), order=order, mode=mode,
                                           extra_arguments=(0.3,))  # fmt: skip

    return of_image


def _comprehended(x):
    marks = np.array([0, 1, 1, 2, 2, 2, 0, 3, 3])
    made = ndimage.labeled_comprehension(x, marks, [3, 1, 7], np.sum, float, -1.0)
    whole = ndimage.labeled_comprehension(x, marks, None, np.max, float, 0.0)
    at = ndimage.labeled_comprehension(x, marks, 2, lambda v, i: (v * i).sum(), float, 0.0, True)
    return made, whole, at


IMAGES = [
    *(row(f"fourier_ellipsoid {n} {x.ndim}", lambda x, s, n=n: ndimage.fourier_ellipsoid(x, s, n),
          x, 1.3) for x in (X, IMAGE, IMAGE.reshape(2, 3, 7)) for n in (-1, 11)),
    row("generic_filter", lambda x: ndimage.generic_filter(x, lambda w: (w**2).sum() * w[0], 3),
        IMAGE, compiled=True),
    row("generic_filter footprint", lambda x: ndimage.generic_filter(
        x, np.max, footprint=np.array([[1, 1, 0], [0, 1, 1]]), mode="nearest", origin=(0, 1)),
        IMAGE),
    row("geometric_transform", _turned(1, "nearest"), IMAGE, 0.21),
    row("geometric_transform cubic", _turned(3, "mirror"), IMAGE, 0.21),
    row("labeled_comprehension", _comprehended, X),
    row("distance_matrix", lambda a, b: (spatial.distance_matrix(a, b, 3),
        spatial.minkowski_distance(a[0], b, 1.5), spatial.minkowski_distance_p(a[0], b)), U, V),
    row("distance_transform_edt", lambda x, s: ndimage.distance_transform_edt(
        x > -0.4, s, return_indices=True), IMAGE, [0.7, 1.9]),
    row("distance_transform_edt along", lambda x: ndimage.distance_transform_edt(x > -1), X,
        compiled=True),
    row("distance_transform_cdt", lambda x: ndimage.distance_transform_cdt(
        x > -0.4, "taxicab", return_indices=True), IMAGE),
    *(row(f"distance_transform_bf {m}", lambda x, m=m: ndimage.distance_transform_bf(x > -0.4, m),
          IMAGE) for m in ("euclidean", "taxicab")),
    row("label", lambda x: ndimage.label(x > 0, np.ones((3, 3))), IMAGE, compiled=True),
    *(row(f"{f.__name__} {i}", lambda x, f=f, i=i: f(np.round(x), LABELS, i), X)
      for f in (ndimage.minimum_position, ndimage.maximum_position) for i in (None, 2, (1, 0, 3))),
    row("positions", lambda x: (ndimage.minimum_position(x), ndimage.maximum_position(x)), IMAGE,
        compiled=True),
    *(row(f"histogram {i}", lambda x, i=i: ndimage.histogram(x, -2, 2, 5, LABELS, i), X)
      for i in (None, 2)),
    row("histogram of labels", lambda x: [*ndimage.histogram(x, -2, 2, 5, LABELS, (1, 0))], X),
    row("extrema", lambda x: ndimage.extrema(x)[:2], IMAGE),
    *(row(f"spline_filter1d {m} {k}", lambda x, m=m, k=k: ndimage.spline_filter1d(x, k, 0, mode=m),
          IMAGE) for m in ("mirror", "grid-wrap") for k in (1, 3)),
    *(row(f"{f.__name__} {n}", lambda x, s, f=f, n=n: f(x, s, n=n), IMAGE, [0.7, 1.3])
      for f in (ndimage.fourier_gaussian, ndimage.fourier_uniform, ndimage.fourier_shift)
      for n in (-1, 11)),
    row("generic_laplace", lambda x: ndimage.generic_laplace(x, _second, mode="wrap"), IMAGE),
    row("generic_gradient_magnitude", lambda x: ndimage.generic_gradient_magnitude(
        x, ndimage.sobel, axes=(1,)), IMAGE),
    *(made for m in EDGES for made in (
        row(f"correlate1d {m}", lambda x, w, m=m: ndimage.correlate1d(x, w, mode=m, cval=0.3), X,
            W),
        row(f"convolve1d {m}", lambda x, w, m=m: ndimage.convolve1d(x, w, 0, mode=m, origin=1),
            IMAGE, W),
        row(f"correlate {m}", lambda x, w, m=m: ndimage.correlate(x, w, mode=m), IMAGE, KERNEL),
        row(f"convolve {m}", lambda x, w, m=m: ndimage.convolve(x, w, mode=m, origin=(1, 0)),
            IMAGE, KERNEL),
        row(f"gaussian_filter {m}", lambda x, m=m: ndimage.gaussian_filter(x, (1.2, 0.7), mode=m),
            IMAGE, compiled=m == "reflect"),
        row(f"uniform_filter {m}", lambda x, m=m: ndimage.uniform_filter(x, (3, 4), mode=m),
            IMAGE),
    )),
    *(row(f"{f.__name__} {n}", lambda x, f=f, n=n: f(x, n), IMAGE) for n in (3, (2, 3)) for f in (
        ndimage.grey_erosion, ndimage.grey_dilation, ndimage.grey_opening, ndimage.grey_closing,
        ndimage.white_tophat, ndimage.black_tophat, ndimage.morphological_gradient,
        ndimage.morphological_laplace)),
    *(row(f"{f.__name__} {n}", lambda x, f=f, n=n: f(x > -0.3, None, n, border_value=n - 1) * x,
          IMAGE) for n in (1, 2) for f in (
        ndimage.binary_erosion, ndimage.binary_dilation, ndimage.binary_opening,
        ndimage.binary_closing)),
    row("binary_dilation structure", lambda x: ndimage.binary_dilation(
        x > 0.7, np.array([[1, 0], [1, 1]]), 2, MASK, origin=(-1, 0)) * x, IMAGE),
    row("binary_erosion axes", lambda x: ndimage.binary_erosion(x > -0.5, axes=1) * x, IMAGE),
    row("binary_hit_or_miss", lambda x: ndimage.binary_hit_or_miss(
        x > 0.1, [[0, 1], [0, 0]], origin1=-1) * x, IMAGE),
    row("binary_propagation", lambda x: ndimage.binary_propagation(x > 1, mask=x > -0.4) * x, IMAGE,
        compiled=True),
    row("binary_fill_holes", lambda x: ndimage.binary_fill_holes(x > 0) * x, IMAGE),
    row("grey_dilation footprint", lambda x: ndimage.grey_dilation(
        x, footprint=[[1, 0, 1], [0, 1, 1]], mode="wrap"), IMAGE),
    row("grey_erosion structure", lambda x: ndimage.grey_erosion(
        x, structure=np.zeros((2, 2)), origin=(0, -1)), IMAGE),
    *(row(f"percentile_filter {q}", lambda x, q=q: ndimage.percentile_filter(x, q, 3), IMAGE)
      for q in (0, 30, -20, 100)),
    row("maximum_filter1d", lambda x: ndimage.maximum_filter1d(x, 4, 0, origin=-1), IMAGE),
    row("minimum_filter1d", lambda x: ndimage.minimum_filter1d(x, 3, mode="nearest"), IMAGE),
    row("median_filter", lambda x: ndimage.median_filter(x, 3), IMAGE),
    row("maximum_filter", lambda x: ndimage.maximum_filter(x, (2, 3), origin=(0, 1)), IMAGE),
    row("minimum_filter", lambda x: ndimage.minimum_filter(x, footprint=[[1, 0, 1], [0, 1, 1]]),
        IMAGE),
    row("rank_filter", lambda x: ndimage.rank_filter(x, -2, size=3), IMAGE),
    *(row(f"gaussian_filter1d {k}", lambda x, k=k: ndimage.gaussian_filter1d(x, 0.8, order=k), X)
      for k in range(4)),
    row("gaussian_filter1d sigma",
        lambda x, s: ndimage.gaussian_filter1d(x, s, radius=3, order=2), X, 1.1),
    row("sobel", lambda x: ndimage.sobel(x, 0), IMAGE), row("prewitt", ndimage.prewitt, IMAGE),
    row("laplace", ndimage.laplace, IMAGE),
    row("gaussian_laplace", lambda x: ndimage.gaussian_laplace(x, 1.0), IMAGE),
    row("gaussian_gradient_magnitude",
        lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0), IMAGE, dtol=1e-4),
    *(row(f"map_coordinates {k} {m}", _coordinates(k, m), IMAGE, PLACES, rtol=1e-4, dtol=1e-4,
          flat=k in (0, 2, 4) or m == "wrap")
      for k, modes in ((0, EDGES), (1, EDGES), (2, EDGES[1:3]), (3, (*EDGES, "grid-wrap",
                       "grid-constant")), (5, EDGES[1:2])) for m in modes),
    row("shift", ndimage.shift, IMAGE, [0.3, -0.7]),
    row("zoom", lambda x: ndimage.zoom(x, 1.7), IMAGE, rtol=1e-8),
    row("zoom grid", lambda x: ndimage.zoom(x, (0.5, 2), grid_mode=True, mode="grid-constant"),
        IMAGE, rtol=1e-8),
    row("affine_transform", lambda x, m, o: ndimage.affine_transform(x, m, o), IMAGE,
        np.eye(2) + 0.1, [0.31, 0.43], rtol=1e-8, dtol=1e-5),
    row("rotate", lambda x: ndimage.rotate(x, 33.0), IMAGE, rtol=1e-8),
    row("rotate angle", lambda x, a: ndimage.rotate(x, a, reshape=False), IMAGE, 33.0, rtol=1e-8),
    row("spline_filter", ndimage.spline_filter, IMAGE),
    *(row(f.__name__, lambda x, f=f: f(x, LABELS, [1, 2, 3]), X)
      for f in (ndimage.sum_labels, ndimage.mean, ndimage.variance, ndimage.standard_deviation,
                ndimage.minimum, ndimage.maximum, ndimage.median)),
    row("center_of_mass", lambda x: ndimage.center_of_mass(x, LABELS, [1, 2]), abs(X)),
    *(row(f"cdist {m}", lambda a, b, m=m: distance.cdist(a, b, m), *p, compiled=m == "euclidean")
      for m in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation",
                "braycurtis", "canberra", "jensenshannon", "hamming", "minkowski", "seuclidean")
      for p in ((abs(U), abs(V)),)),
    *(row(f"pdist {m}", lambda a, m=m: distance.pdist(a, m), U)
      for m in ("euclidean", "cosine", "seuclidean")),
    *(row(f"cdist weighted {m}", lambda a, b, w, m=m: distance.cdist(a, b, m, w=w), U, V, WEIGHTS)
      for m in ("euclidean", "cityblock", "chebyshev", "cosine", "correlation", "braycurtis",
                "canberra", "minkowski")),
    row("pdist mahalanobis", lambda a: distance.pdist(a, "mahalanobis"),
        _rng.standard_normal((8, 3))),
    row("cdist of a function", lambda a, b: distance.cdist(a, b, lambda u, v: np.sum(u * v)), U, V),
    row("minkowski", lambda u, v: distance.minkowski(u, v, 1.5), U[0], V[0]),
    row("mahalanobis", lambda u, v, a: distance.mahalanobis(u, v, a @ a.T), U[0], V[0],
        np.eye(5) + 0.1),
    row("squareform", distance.squareform, _rng.standard_normal(6)),
    row("jensenshannon", lambda p, q: distance.jensenshannon(p, q, 2.0, axis=1), abs(U[:3]),
        abs(V)),
    row("directed_hausdorff", lambda a, b: distance.directed_hausdorff(a, b)[0], U, V),
]  # fmt: skip
