"""Interpolation on lines and grids: ``interp1d``, ``RegularGridInterpolator`` and others.

Points outside the grid get the fill value, even if SciPy would raise an error
(``bounds_error=True``), because points are not known when the function is traced.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import at_hand, either, refused
from autojit.scipy.registry import answers, answers_class, returns_array
from autojit.tracing.created_arrays import is_traced
from autojit.transformations.batching import vmap

from .bsplines import collocation, make_interp_spline, not_a_knot
from .piecewise import PchipInterpolator, interval_of

_ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3, "quintic": 5}
_STEPS = ("nearest", "nearest-up", "previous", "next")


@answers_class("scipy.interpolate.interp1d")
class interp1d:
    """A function through values y at places x, of every kind that SciPy has.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import interp1d
    >>> grad(lambda t: interp1d([0.0, 1.0, 3.0], [0.0, 2.0, 3.0])(t))(2.0)
    np.float64(0.5)
    """

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True,
        bounds_error: Any = None, fill_value: Any = np.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        self.x: Any = either(x)
        values = either(y)
        self.axis: int = normalize_axis(axis, values.ndim)
        rows = np.moveaxis(values, self.axis, 0)
        if not assume_sorted:
            order = np.argsort(self.x, kind="stable")
            self.x, rows = self.x[order], rows[order]
        self.kind: Any = _ORDERS.get(kind, kind)
        self.y: Any = values
        self._rows = rows
        self._beyond = isinstance(fill_value, str)
        pair = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
        self._fill = pair
        if not isinstance(self.kind, int) and self.kind not in ("linear", *_STEPS):
            raise NotImplementedError(
                f"{kind} is unsupported: Use fitpack routines for other types."
            )
        if isinstance(self.kind, int):
            self._spline = make_interp_spline(self.x, rows, self.kind)

    @returns_array
    def __call__(self, x: Any) -> Any:
        points = either(x)
        flat = np.reshape(points, (-1,))
        made = self._at(flat)
        shape = (-1, *[1] * (made.ndim - 1))
        below, above = (
            np.reshape(flat < self.x[0], shape),
            np.reshape(flat > self.x[-1], shape),
        )
        if not self._beyond:
            low, high = (either(v) for v in self._fill)
            made = np.where(below, low, np.where(above, high, made))
        elif self.kind in ("previous", "next"):  # which is not there
            made = np.where(below if self.kind == "previous" else above, np.nan, made)
        made = np.reshape(made, (*points.shape, *made.shape[1:]))
        n = points.ndim
        order = [*range(n, n + self.axis), *range(n), *range(n + self.axis, made.ndim)]
        return np.transpose(made, order)

    def _at(self, t: Any) -> Any:
        if isinstance(self.kind, int):
            return self._spline(t)
        if self.kind in _STEPS:
            return self._rows[self._step(t)] + 0.0 * np.reshape(
                t, (-1, *[1] * (self._rows.ndim - 1))
            )
        # At a given place, SciPy takes the interval to its left.
        i = np.clip(np.searchsorted(self.x, t), 1, self.x.shape[0] - 1) - 1
        share = (t - self.x[i]) / (self.x[i + 1] - self.x[i])
        share = np.reshape(share, (-1, *[1] * (self._rows.ndim - 1)))
        return self._rows[i] + share * (self._rows[i + 1] - self._rows[i])

    def _step(self, t: Any) -> Any:
        n = self.x.shape[0]
        if self.kind == "previous":
            return np.clip(np.searchsorted(self.x, t, side="right") - 1, 0, n - 1)
        if self.kind == "next":
            return np.clip(np.searchsorted(self.x, t, side="left"), 0, n - 1)
        middles = self.x[1:] / 2.0 + self.x[:-1] / 2.0
        side: Any = "left" if self.kind == "nearest" else "right"
        return np.clip(np.searchsorted(middles, t, side=side), 0, n - 1)


@answers_class("scipy.interpolate.RegularGridInterpolator")
class RegularGridInterpolator:
    """Interpolation of values on a grid.

    ``method`` is ``"linear"``, ``"nearest"``, ``"slinear"``, ``"cubic"``, ``"quintic"`` or
    ``"pchip"``.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import RegularGridInterpolator
    >>> f = RegularGridInterpolator(([0.0, 1.0], [0.0, 1.0]), [[0.0, 1.0], [2.0, 3.0]])
    >>> grad(lambda p: f(p)[0])(np.array([0.5, 0.5]))
    array([2., 1.])
    """

    def __init__(
        self, points: Sequence[Any], values: Any, method: str = "linear",
        bounds_error: bool = True, fill_value: Any = np.nan, *, solver: Any = None,
        solver_args: Any = None,
    ) -> None:  # fmt: skip
        self.grid: tuple[Any, ...] = tuple(either(p) for p in points)
        self.values: Any = either(values)
        self.method: str = method
        self.fill_value: Any = fill_value
        self.bounds_error: bool = bounds_error
        for d, p in enumerate(self.grid):
            known = at_hand(points[d])
            if known is not None and np.any(np.diff(known) <= 0):
                if not np.all(np.diff(known) < 0):
                    raise ValueError(f"The points in dimension {d} must be strictly ascending or "
                                     "descending")  # fmt: skip
                self.values = np.flip(self.values, d)
                self.grid = (*self.grid[:d], p[::-1], *self.grid[d + 1 :])
            if self.values.shape[d] != p.shape[0]:
                raise ValueError(
                    f"There are {p.shape[0]} points and {self.values.shape[d]} values in "
                    f"dimension {d}"
                )

    def __call__(self, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
        method = self.method if method is None else method
        if method not in ("linear", "nearest", "slinear", "cubic", "quintic", "pchip"):
            raise refused("scipy.interpolate.RegularGridInterpolator",
                          f"method={method!r} is not covered.")  # fmt: skip
        points = _points(xi, len(self.grid))
        rows = np.reshape(points, (-1, len(self.grid)))
        rest = self.values.shape[len(self.grid) :]
        if method == "linear":
            made = self._linear(rows)
        elif method == "nearest":
            made = self._nearest(rows)
        elif method == "pchip":
            made = self._monotone(rows, nu)
        else:
            made = self._spline(rows, _ORDERS[method], nu)
        if self.fill_value is not None:
            inside: Any = True
            for d, g in enumerate(self.grid):
                x = rows[:, d]
                inside = np.logical_and(inside, np.logical_and(x >= g[0], x <= g[-1]))
            made = np.where(np.reshape(inside, (-1, *[1] * len(rest))), made, self.fill_value)
        return np.reshape(made, (*points.shape[:-1], *rest))

    def _place(self, rows: Any) -> list[tuple[Any, Any]]:
        """The interval of each coordinate, and the share of the interval below the coordinate."""
        found = []
        for d, g in enumerate(self.grid):
            x = rows[:, d]
            i = interval_of(g, x)
            found.append((i, (x - g[i]) / (g[i + 1] - g[i])))
        return found

    def _linear(self, rows: Any) -> Any:
        places = self._place(rows)
        rest = self.values.ndim - len(self.grid)
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(places)):
            weight: Any = 1.0
            for side, (_, share) in zip(corner, places, strict=True):
                weight = weight * (share if side else 1 - share)
            index = tuple(i + side for side, (i, _) in zip(corner, places, strict=True))
            total = total + self.values[index] * np.reshape(weight, (-1, *[1] * rest))
        return total

    def _nearest(self, rows: Any) -> Any:
        index = tuple(np.where(share <= 0.5, i, i + 1) for i, share in self._place(rows))
        still = np.reshape(np.sum(rows, axis=1), (-1, *[1] * (self.values.ndim - len(self.grid))))
        return self.values[index] + 0.0 * still

    def _monotone(self, rows: Any, nu: Any) -> Any:
        """Interpolate along one axis after another, last axis first, separately for each place."""
        last = len(self.grid) - 1
        orders = [0] * (last + 1) if nu is None else list(nu)

        def at(place: Any) -> Any:
            found = self.values
            for d in range(last, -1, -1):
                found = PchipInterpolator(self.grid[d], found, axis=d)(place[d], orders[d])
            return found

        return vmap(at)(rows)

    def _spline(self, rows: Any, k: int, nu: Any) -> Any:
        """Evaluate the product of splines, one per axis."""
        c, n = self.values, len(self.grid)
        orders = [0] * n if nu is None else list(nu)
        for d, g in enumerate(self.grid):
            c = make_interp_spline(g, c, k, axis=d).c
        letters = "abcdefgh"[:n]
        factors = [collocation(_knots(g, k), k, rows[:, d], orders[d])
                   for d, g in enumerate(self.grid)]  # fmt: skip
        terms = ",".join("z" + letter for letter in letters)
        return np.einsum(f"{letters}...,{terms}->z...", c, *factors)


def _knots(g: Any, k: int) -> Any:
    return not_a_knot(g, k) if k > 1 else np.concatenate([g[:1], g, g[-1:]])


def _points(xi: Any, n: int) -> Any:
    if isinstance(xi, tuple):
        return np.stack(np.broadcast_arrays(*(either(x) for x in xi)), axis=-1)
    points = either(xi)
    if points.ndim == 1:
        points = np.reshape(points, (-1, n) if n == 1 else (1, -1))
    if points.shape[-1] != n:
        raise ValueError(f"The requested sample points xi have dimension {points.shape[-1]} but "
                         f"this RegularGridInterpolator has dimension {n}")  # fmt: skip
    return points


@answers("scipy.interpolate.interpn", tuples=("points", "xi"))
def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:  # fmt: skip
    """Values on a grid, interpolated at points ``xi``; see :class:`RegularGridInterpolator`.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import interpn
    >>> grad(lambda p: interpn(([0.0, 1.0],), np.array([1.0, 3.0]), p)[0])(np.array([0.25]))
    array([2.])
    """
    found = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    made = found(xi)
    n = len(found.grid)
    shape = _points(xi, n).shape[:-1] if isinstance(xi, tuple) else either(xi).shape[:-1]
    return np.reshape(made, (*shape, *found.values.shape[n:])) if shape else made


@answers_class("scipy.interpolate.RectBivariateSpline")
class RectBivariateSpline:
    """The product of splines through values on a grid of two axes; smoothing is refused.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import RectBivariateSpline
    >>> x = np.arange(5.0)
    >>> f = RectBivariateSpline(x, x, np.outer(x, x))
    >>> np.round(grad(lambda t: f.ev(t, 3.0))(2.0), 9)
    np.float64(3.0)
    """

    def __init__(
        self, x: Any, y: Any, z: Any, bbox: Any = (None,) * 4, kx: int = 3, ky: int = 3,
        s: Any = 0, maxit: int = 20,
    ) -> None:  # fmt: skip
        if is_traced(s) or s != 0 or any(b is not None for b in bbox):
            raise refused("scipy.interpolate.RectBivariateSpline", "s and bbox are not covered.")
        x, y = either(x), either(y)
        self._ends: Any = ((x[0], x[-1]), (y[0], y[-1]))
        self._knots, self._degrees = (_knots(x, kx), _knots(y, ky)), (kx, ky)
        self._c = make_interp_spline(y, make_interp_spline(x, z, kx).c, ky, axis=1).c

    @classmethod
    def of(cls, tx: Any, ty: Any, c: Any, kx: int, ky: int) -> RectBivariateSpline:
        """The spline of given knots and coefficients."""
        made = cls.__new__(cls)
        made._knots, made._degrees = (either(tx), either(ty)), (kx, ky)
        made._ends = tuple((t[k], t[t.shape[0] - k - 1]) for t, k in ((tx, kx), (ty, ky)))
        made._c = np.reshape(either(c), (tx.shape[0] - kx - 1, ty.shape[0] - ky - 1))
        return made

    def _bases(self, x: Any, y: Any, dx: int, dy: int) -> list[Any]:
        given = zip((x, y), self._ends, self._knots, self._degrees, (dx, dy), strict=True)
        return [collocation(t, k, np.reshape(np.clip(p, *ends), (-1,)), nu)
                for p, ends, t, k, nu in given]  # fmt: skip

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        x, y = either(x), either(y)
        if grid:
            rows, columns = self._bases(x, y, dx, dy)
            return rows @ self._c @ columns.T
        x, y = np.broadcast_arrays(x, y)
        rows, columns = self._bases(x, y, dx, dy)
        return np.reshape(np.sum((rows @ self._c) * columns, axis=1), x.shape)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """The value at points."""
        return self(xi, yi, dx, dy, grid=False)
