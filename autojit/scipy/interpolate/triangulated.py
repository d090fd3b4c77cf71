"""Interpolation of values at known scattered points: on triangles, or from the nearest point.

The points determine the triangles, so they must be known when the function is traced. At known
places, the result is the product of the values and a known matrix, which SciPy's own code makes. At
traced places, all triangles are searched for the one with the largest minimum of the barycentric
coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import at_hand, either, refused
from autojit.scipy.registry import answers, answers_class, original
from autojit.tracing.created_arrays import is_traced, plain
from autojit.transformations.derivatives import stop_gradient

from .grids import interp1d

#: How far outside a triangle a place may lie because of rounding, as in SciPy.
_ROUNDING = 100 * float(np.finfo(float).eps)


def coordinates(points: Any) -> Any:
    """Points as rows of coordinates, given as rows or as a tuple of arrays that broadcast."""
    array = either if is_traced(points) else np.asarray
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*map(array, points)), axis=-1)
    return array(points)


class _Interpolator:
    """The common base of the interpolators; ``name`` is the name of SciPy's class."""

    name = ""

    def __init__(self, points: Any, values: Any, fill_value: Any, rescale: bool) -> None:
        name = f"scipy.interpolate.{self.name}"
        known = at_hand(coordinates(points))
        if known is None:
            raise refused(name, "the points must be known. For traced points, use radial basis "
                          "functions:\n"
                          "    RBFInterpolator(points, values)(xi)")  # fmt: skip
        self.points: np.ndarray = known
        self.values: Any = either(values)
        self.fill_value: Any = fill_value
        self.rescale: bool = rescale
        if self.values.shape[0] != len(known):
            raise ValueError("different number of values and points")

    def __call__(self, *args: Any) -> Any:
        xi = coordinates(args[0] if len(args) == 1 else args)
        if xi.shape[-1] != self.points.shape[1]:
            raise ValueError("number of dimensions in xi does not match x")
        rows = np.reshape(xi, (-1, xi.shape[-1]))
        known = at_hand(rows)
        made = self._at(rows) if known is None else self._at_known(known)
        return np.reshape(made, (*xi.shape[:-1], *self.values.shape[1:]))

    def _at_known(self, rows: np.ndarray) -> Any:
        units = np.eye(len(self.points))
        weights = original(f"scipy.interpolate.{self.name}")(
            self.points, units, rescale=self.rescale, **self._options()
        )(rows)
        inside = np.logical_not(np.any(np.isnan(weights), axis=1))
        made = np.tensordot(np.where(inside[:, None], weights, 0.0), self.values, 1)
        return self._filled(inside, made)

    def _options(self) -> dict[str, Any]:
        return {}

    def _filled(self, inside: Any, made: Any) -> Any:
        return np.where(np.reshape(inside, (-1, *[1] * (made.ndim - 1))), made, self.fill_value)

    def _at(self, rows: Any) -> Any:
        raise refused(
            f"scipy.interpolate.{self.name}",
            "the places must be known. Interpolate linearly, or use radial basis functions:\n"
            "    RBFInterpolator(points, values)(xi)",
        )

    def _scaled(self, rows: Any) -> Any:
        """Coordinates as SciPy scales them for ``rescale=True``."""
        if not self.rescale:
            return rows
        width = np.ptp(self.points, axis=0)
        return (rows - np.mean(self.points, axis=0)) / np.where(width > 0, width, 1.0)


@answers_class("scipy.interpolate.LinearNDInterpolator")
class LinearNDInterpolator(_Interpolator):
    """Values at known points, linear on each triangle (simplex).

    ``values`` has the shape (n, ...). A call at places of shape (*m, d) returns (*m, ...).

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import LinearNDInterpolator
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> grad(lambda v: LinearNDInterpolator(corners, v)([[0.25, 0.5]])[0])(np.ones(3))
    array([0.25, 0.25, 0.5 ])
    """

    name = "LinearNDInterpolator"

    def __init__(
        self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False
    ) -> None:
        super().__init__(points, values, fill_value, rescale)

    def _at(self, rows: Any) -> Any:
        from scipy.spatial import Delaunay

        found = Delaunay(plain(self._scaled(self.points)))
        d = rows.shape[1]
        apart = self._scaled(rows)[:, None, :] - found.transform[:, d]
        shares = np.einsum("sij,msj->msi", found.transform[:, :d], apart)
        shares = np.concatenate([shares, 1 - np.sum(shares, axis=2, keepdims=True)], axis=2)
        least = stop_gradient(np.min(shares, axis=2))
        which = np.argmax(np.where(np.isnan(least), -np.inf, least), axis=1)
        shares = np.take_along_axis(shares, which[:, None, None], axis=1)[:, 0]
        corners = self.values[as_tracer(found.simplices)[which]]
        inside = np.take_along_axis(least, which[:, None], axis=1)[:, 0] >= -_ROUNDING
        return self._filled(inside, np.einsum("mk,mk...->m...", shares, corners))


@answers_class("scipy.interpolate.CloughTocher2DInterpolator")
class CloughTocher2DInterpolator(_Interpolator):
    """Values at known points of the plane, cubic on each triangle, with continuous slopes.

    The slopes at the points solve SciPy's equations, not just to ``tol`` but to rounding.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import CloughTocher2DInterpolator
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> f = lambda v: CloughTocher2DInterpolator(square, v)([[0.5, 0.25]])[0]
    >>> round(float(np.sum(grad(f)(np.ones(4)))), 9)
    1.0
    """

    name = "CloughTocher2DInterpolator"

    def __init__(
        self, points: Any, values: Any, fill_value: Any = np.nan, tol: float = 1e-6,
        maxiter: int = 400, rescale: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(points, values, fill_value, rescale)

    def _options(self) -> dict[str, Any]:
        return {"tol": 1e-14, "maxiter": 10_000}


@answers_class("scipy.interpolate.NearestNDInterpolator")
class NearestNDInterpolator(_Interpolator):
    """The value at the nearest of the known points.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import NearestNDInterpolator
    >>> ends = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> grad(lambda v: NearestNDInterpolator(ends, v)([[0.9, 0.8]])[0])(np.ones(2))
    array([0., 1.])
    """

    name = "NearestNDInterpolator"

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        super().__init__(x, y, np.nan, rescale)

    def _at(self, rows: Any) -> Any:
        apart = self._scaled(rows)[:, None, :] - self._scaled(self.points)
        return self.values[np.argmin(np.sum(apart**2, axis=2), axis=1)]


@answers("scipy.interpolate.griddata", tuples=("points", "xi"))
def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: float = np.nan,
    rescale: bool = False,
) -> Any:  # fmt: skip
    """Values at known points, interpolated at ``xi``.

    ``method`` is ``"linear"``, ``"nearest"`` or ``"cubic"``. Cubic interpolation works in one and
    two dimensions; in two, ``xi`` must be known.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import griddata
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> grad(lambda x: griddata(corners, [1.0, 3.0, 7.0], x)[0])(np.array([[0.25, 0.5]]))
    array([[2., 6.]])
    """
    places = coordinates(points)
    d = places.shape[-1] if places.ndim > 1 else 1
    if d == 1 and method in ("nearest", "linear", "cubic"):
        fill: Any = "extrapolate" if method == "nearest" else fill_value
        along = xi[0] if isinstance(xi, tuple) else xi
        return interp1d(np.ravel(places), values, method, 0, fill_value=fill)(along)
    if method == "nearest":
        return NearestNDInterpolator(places, values, rescale)(xi)
    if method == "linear":
        return LinearNDInterpolator(places, values, fill_value, rescale)(xi)
    if method == "cubic" and d == 2:
        return CloughTocher2DInterpolator(places, values, fill_value, rescale=rescale)(xi)
    raise ValueError(f"Unknown interpolation method {method!r} for {d} dimensional data")
