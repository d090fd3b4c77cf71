"""Fitted splines and fractions, and functions of SciPy's older interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions.polynomials.traced import Poly1d
from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import either, floating, known, known_integer, refused
from autojit.scipy.registry import answers, original, returns_array

from .bsplines import BSpline, collocation, make_interp_spline, splev
from .grids import RectBivariateSpline
from .piecewise import PchipInterpolator


@answers("scipy.interpolate.make_lsq_spline")
def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True, *,
    method: str = "qr",
) -> BSpline:  # fmt: skip
    """The least-squares spline with knots t for values y at places x, with weights w.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import make_lsq_spline
    >>> x = np.arange(3.0)
    >>> line = lambda y: make_lsq_spline(x, y, [0.0, 0.0, 2.0, 2.0], 1)(1.0)
    >>> grad(line)(np.zeros(3)).round(9)
    array([0.33333333, 0.33333333, 0.33333333])
    """
    places, values, knots = either(x), either(y), either(t)
    k = known_integer(k, "k", "make_lsq_spline")
    axis = normalize_axis(axis, values.ndim)
    rows = np.moveaxis(values, axis, 0)
    matrix = collocation(knots, k, places)
    flat = np.reshape(rows, (rows.shape[0], -1))
    if w is not None:
        weights = floating(w)[:, None]
        matrix, flat = matrix * weights, flat * weights
    found = np.linalg.lstsq(matrix, flat, rcond=None)[0]
    c = np.reshape(found, (found.shape[0], *rows.shape[1:]))
    return BSpline(knots, np.moveaxis(c, 0, axis), k, axis=axis)


@answers("scipy.interpolate.make_smoothing_spline")
def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Any:
    """The smoothing spline of values y at known places; the penalty's weight ``lam`` is known.

    Its coefficients are linear in the values, so SciPy's splines of the unit vectors give the map.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import make_smoothing_spline
    >>> x = np.arange(5.0)
    >>> line = lambda y: make_smoothing_spline(x, y, lam=1.0)(x).sum()
    >>> grad(line)(np.zeros(5)).round(9)
    array([1., 1., 1., 1., 1.])
    """
    name = "make_smoothing_spline"
    if lam is None:
        raise refused(f"scipy.interpolate.{name}", "without lam=, SciPy searches for it. Pass a "
                      "number:\n    make_smoothing_spline(x, y, lam=1.0)")  # fmt: skip
    places, weights = known(x, "x", name), known(w, "w", name)
    rows = np.moveaxis(floating(y), axis, 0)
    units = original(f"scipy.interpolate.{name}")(
        places, np.eye(rows.shape[0]), weights, float(known(lam, "lam", name))
    )
    return BSpline(units.t, np.tensordot(units.c, rows, 1), units.k, True, 0 if axis == 0 else axis)


@answers("scipy.interpolate.insert", tuples=("tck",))
def insert(x: Any, tck: Any, m: int = 1, per: Any = 0) -> Any:
    """The same spline ``(t, c, k)`` with one more known knot; its coefficients are linear in c.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import insert
    >>> t = np.array([0.0, 0.0, 1.0, 1.0])
    >>> grad(lambda c: insert(0.25, (t, c, 1))[1][1])(np.zeros(2))
    array([0.75, 0.25])
    """
    is_object = not isinstance(tck, (tuple, list))
    t, c, k = (tck.t, tck.c, tck.k) if is_object else tck
    t, k = np.asarray(known(t, "t", "insert")), known_integer(k, "k", "insert")
    at, count = float(known(x, "x", "insert")), known_integer(m, "m", "insert")
    c, theirs = floating(c), original("scipy.interpolate.insert")
    if c.ndim != 1 or per:
        raise refused("scipy.interpolate.insert", "periodic splines and curves are not covered.")
    units = np.eye(c.shape[0])
    made = [theirs(at, (t, np.pad(u, (0, max(0, len(t) - len(u)))), k), count) for u in units]
    knots, matrix = made[0][0], np.stack([part[1] for part in made], axis=1)
    matrix[len(knots) - k - 1 :] = 0.0  # FITPACK leaves old values there
    if is_object:
        return BSpline(knots, matrix @ c, k)
    return knots, matrix @ c, k


@answers("scipy.interpolate.pchip_interpolate")
@returns_array
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Monotone cubics through values, or their derivatives; a list of orders ``der`` gives a list.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import pchip_interpolate
    >>> grad(lambda x: pchip_interpolate([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], x))(0.5)
    np.float64(1.0)
    """
    made = PchipInterpolator(xi, yi, axis=axis)
    if np.ndim(der) == 0:
        return made(x, int(der))
    return [made(x, int(nu)) for nu in der]


@answers("scipy.interpolate.pade")
def pade(an: Any, m: int, n: Any = None) -> tuple[Any, Any]:
    """``(p, q)``: the fraction p / q whose power series begins with ``an``; q has degree m.

    >>> from autojit import jit
    >>> from autojit.scipy.interpolate import pade
    >>> jit(lambda a: pade(a, 1)[1](1.0))(np.array([1.0, 1.0, 0.5])).round(9)
    np.float64(0.5)
    """
    a, m = floating(an), known_integer(m, "m", "pade")
    n = a.shape[0] - 1 - m if n is None else known_integer(n, "n", "pade")
    if n < 0 or n + m > a.shape[0] - 1:
        raise ValueError("Order of q+p <m+n> must be smaller than len(an).")
    a = a[: n + m + 1]
    shifted = [
        np.concatenate([np.zeros(k), -a[: a.shape[0] - k]])[:, None] for k in range(1, m + 1)
    ]
    matrix = np.concatenate([np.eye(n + m + 1, n + 1), *shifted], axis=1)
    found = np.linalg.solve(matrix, a)
    below = np.concatenate([np.ones(1), found[n + 1 :]])
    return Poly1d(found[: n + 1][::-1]), Poly1d(below[::-1])


@answers("scipy.interpolate.make_splrep")
def make_splrep(
    x: Any, y: Any, *, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, s: float = 0,
    t: Any = None, nest: Any = None, bc_type: Any = None,
) -> Any:  # fmt: skip
    """The spline through values y in places x. Smoothing (``s`` above 0) is refused.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import make_splrep
    >>> grad(lambda y: make_splrep([0.0, 1.0], y, k=1)(0.25))(np.zeros(2))
    array([0.75, 0.25])
    """
    _through_values("make_splrep", s, w, t, nest)
    return make_interp_spline(x, y, k=k, bc_type=bc_type)


def _through_values(name: str, s: Any, *others: Any) -> None:
    if known(s, "s", name) != 0:
        raise refused(f"scipy.interpolate.{name}", "smoothing searches for knots; pass s=0, or "
                      "knots to\n    make_lsq_spline(x, y, t)")  # fmt: skip
    if any(value is not None for value in others):
        raise ValueError("s==0 is for interpolation only")


def _lengths(points: Any) -> Any:
    """The lengths of a polygon up to each of its points (on the last axis), as shares of all."""
    steps = np.sqrt(np.sum(np.diff(points, axis=-1) ** 2, axis=0))
    along = np.cumsum(steps)
    return np.concatenate([np.zeros(1), along / along[-1]])


@answers("scipy.interpolate.make_splprep")
def make_splprep(
    x: Any, *, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3,
    s: float = 0, t: Any = None, nest: Any = None, bc_type: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``(spline, u)``: a curve through points, with their coordinates in rows, and the parameters
    of the points. Smoothing (``s`` above 0) is refused.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import make_splprep
    >>> y = np.array([0.0, 4.0])
    >>> grad(lambda y: make_splprep([[0.0, 3.0], y], k=1)[0](0.25)[1])(y)
    array([0.75, 0.25])
    """
    _through_values("make_splprep", s, w, t, nest)
    points = either(x)
    places = _lengths(points) if u is None else either(u)
    return make_interp_spline(places, points, k=k, axis=1), places


@answers("scipy.interpolate.splprep")
def splprep(
    x: Any, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3,
    task: int = 0, s: Any = None, t: Any = None, full_output: int = 0, nest: Any = None,
    per: int = 0, quiet: int = 1,
) -> tuple[list[Any], Any]:  # fmt: skip
    """``([knots, rows of coefficients, k], u)`` of a curve through points.

    Smoothing (``s`` not 0), periodic curves and given knots are refused.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import splev, splprep
    >>> y = np.array([0.0, 4.0])
    >>> grad(lambda y: splev(0.25, splprep([[0.0, 3.0], y], k=1, s=0)[0])[1])(y)
    array([0.75, 0.25])
    """
    name = "scipy.interpolate.splprep"
    if s is None or known(s, "s", name) != 0 or task or per or full_output or t is not None:
        raise refused(name, "curves through all points are covered, without full_output=:\n"
                      "    splprep(points, s=0)")  # fmt: skip
    if ub is not None or ue is not None:
        raise refused(name, "ub= and ue= are not covered.")
    points = either(x)
    places = _lengths(points) if u is None else either(u)
    made = make_interp_spline(places, points, k=k, axis=1)
    return [made.t, [made.c[i] for i in range(points.shape[0])], k], places


@answers("scipy.interpolate.spalde", tuples=("tck",))
def spalde(x: Any, tck: Any) -> Any:
    """All derivatives of a spline at a point, from the zeroth on; at several points, a list.

    >>> from autojit import jit
    >>> from autojit.scipy.interpolate import spalde
    >>> jit(lambda x: spalde(x, ([0.0, 0.0, 2.0, 2.0], [1.0, 5.0], 1)))(1.0)
    array([3., 2.])
    """
    t, c, k = tck
    points, spline = either(x), (either(t), either(c), int(k))
    made = np.stack([splev(points, spline, nu) for nu in range(spline[2] + 1)], axis=-1)
    return made if points.ndim == 0 else [made[i] for i in range(points.shape[0])]


@answers("scipy.interpolate.bisplev", tuples=("tck",))
def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """A spline of two variables, or its derivative, on the grid of the points x and y.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import bisplev
    >>> line = [0.0, 0.0, 1.0, 1.0]
    >>> tck = (line, line, [0.0, 0.0, 0.0, 1.0], 1, 1)                    # x y
    >>> grad(lambda x: bisplev(x, 0.25, tck))(0.5)
    np.float64(0.25)
    """
    tx, ty, c, kx, ky = tck
    if (dx and not 0 < dx < kx) or (dy and not 0 < dy < ky):
        raise refused("scipy.interpolate.bisplev", "dx and dy must be below the degrees.")
    tx, ty = either(tx), either(ty)
    used = (tx.shape[0] - kx - 1) * (ty.shape[0] - ky - 1)
    made = RectBivariateSpline.of(tx, ty, either(c)[:used], kx, ky)(
        np.atleast_1d(either(x)), np.atleast_1d(either(y)), dx, dy
    )
    if made.shape[0] > 1:
        return made
    return made[0] if made.shape[1] > 1 else made[0, 0]
