"""SciPy's own interpolators of known values, evaluated at traced points."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import refused
from autojit.scipy.registry import answers, returns_array

from .bsplines import BSpline, splev, splint
from .grids import RectBivariateSpline, RegularGridInterpolator, interp1d
from .piecewise import PPoly
from .scattered import BarycentricInterpolator, RBFInterpolator
from .triangulated import LinearNDInterpolator, NearestNDInterpolator


def _polynomials(self: Any) -> PPoly:
    made = PPoly(self.c, self.x, self.extrapolate)
    made.axis = self.axis
    return made


@answers("scipy.interpolate.PPoly.__call__")
@returns_array
def _piecewise(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    return _polynomials(self)(x, nu, extrapolate)


@answers("scipy.interpolate.PPoly.integrate")
@returns_array
def _piecewise_integral(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    return _polynomials(self).integrate(a, b, extrapolate)


def _splines(self: Any) -> BSpline:
    c = np.moveaxis(self.c, 0, self.axis)
    return BSpline(self.t, c, self.k, self.extrapolate, self.axis)


@answers("scipy.interpolate.BSpline.__call__")
@returns_array
def _b_spline(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    return _splines(self)(x, nu, extrapolate)


@answers("scipy.interpolate.BSpline.integrate")
def _b_spline_integral(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    return _splines(self).integrate(a, b, extrapolate)


@answers("scipy.interpolate.interp1d.__call__")
@returns_array
def _one_dimensional(self: Any, x: Any) -> Any:
    """Evaluate an interp1d or a polynomial; SciPy's classes share this method."""
    kind = type(self).__name__
    if kind == "interp1d":
        return _line(self)(x)
    if kind in ("BarycentricInterpolator", "KroghInterpolator"):
        rows = np.reshape(self.yi, (self.yi.shape[0], *self._y_extra_shape))
        axis = self._y_axis
        return BarycentricInterpolator(self.xi, np.moveaxis(rows, 0, axis), axis)(x)
    raise refused(f"scipy.interpolate.{kind}", "this class is not covered.")


def _line(self: Any) -> interp1d:
    kind = self._kind if self._kind != "spline" else self._spline.k
    fill = "extrapolate" if self._extrapolate else (self._fill_value_below, self._fill_value_above)
    return interp1d(self.x, self.y, kind, self.axis, fill_value=fill, assume_sorted=True)


@answers("scipy.interpolate.RegularGridInterpolator.__call__", tuples=("xi",))
def _grid(self: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    made = RegularGridInterpolator(
        self.grid, self.values, self.method, self.bounds_error, self.fill_value
    )
    return made(xi, method, nu=nu)


@answers("scipy.interpolate.UnivariateSpline.__call__")
@returns_array
def _univariate(self: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    names = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}
    ext = self.ext if ext is None else ext
    return splev(x, self._eval_args, nu, names.get(ext, ext))


@answers("scipy.interpolate.UnivariateSpline.integral")
def _univariate_integral(self: Any, a: Any, b: Any) -> Any:
    return splint(a, b, self._eval_args)


def _product(self: Any) -> RectBivariateSpline:
    tx, ty, c = self.tck
    return RectBivariateSpline.of(tx, ty, c, *self.degrees)


@answers("scipy.interpolate.RectBivariateSpline.__call__")
def _bivariate(self: Any, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
    return _product(self)(x, y, dx, dy, grid)


@answers("scipy.interpolate.RectBivariateSpline.ev")
def _bivariate_at(self: Any, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
    return _product(self).ev(xi, yi, dx, dy)


@answers("scipy.interpolate.RBFInterpolator.__call__")
def _radial(self: Any, x: Any) -> Any:
    d = np.reshape(self.d, (-1, *self.d_shape))
    d = d.view(self.d_dtype) if np.issubdtype(self.d_dtype, np.complexfloating) else d
    degree = int(self.powers.sum(axis=1).max()) if len(self.powers) else -1
    made = RBFInterpolator(
        self.y, d, self.neighbors, self.smoothing, self.kernel, self.epsilon, degree
    )
    return made(x)


def _points(self: Any) -> np.ndarray:
    """The points given to SciPy's object, which it may have scaled."""
    points: np.ndarray = self.points
    return points if self.scale is None else points * self.scale + self.offset


def _values(self: Any) -> np.ndarray:
    return np.reshape(self.values, (-1, *self.values_shape))


@answers("scipy.interpolate.LinearNDInterpolator.__call__")
def _on_triangles(self: Any, *args: Any) -> Any:
    fill, scaled = self.fill_value, self.scale is not None
    return LinearNDInterpolator(_points(self), _values(self), fill, scaled)(*args)


@answers("scipy.interpolate.NearestNDInterpolator.__call__")
def _nearest(self: Any, *args: Any) -> Any:
    scaled = self.scale is not None
    return NearestNDInterpolator(_points(self), self.values, scaled)(*args)
