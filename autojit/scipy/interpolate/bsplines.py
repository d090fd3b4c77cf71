"""B-splines of ``scipy.interpolate``, by the recursion of de Boor and Cox.

De Boor, "A Practical Guide to Splines", 1978, chapter X. Knots, coefficients and points may be
traced; the degree must be known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import with_place
from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import either, known_integer, refused
from autojit.scipy.registry import answers, answers_class, returns_array
from autojit.tracing.created_arrays import MadeOfTraced, is_traced
from autojit.tracing.source import user_source


def basis(t: Any, k: int, points: Any, nu: int = 0) -> tuple[Any, Any]:
    """``(i, rows)``: the interval of each point, and its k + 1 B-splines (or derivatives) there.

    ``rows[:, j]`` belongs to the coefficient ``i - k + j``. Points beyond the base interval count
    as points of the first or the last interval.
    """
    n = t.shape[0] - k - 1
    i = np.clip(np.searchsorted(t, points, side="right") - 1, k, n - 1)
    columns = [0 * points + 1.0]
    for degree in range(1, k + 1):
        low = [t[i - degree + 1 + j] for j in range(degree)]
        high = [t[i + 1 + j] for j in range(degree)]
        derived = degree > k - nu
        columns = _raised(columns, low, high, points, degree if derived else 0)
    return i, np.stack(columns, axis=-1)


def _raised(columns: list[Any], low: list[Any], high: list[Any], x: Any, derived: int) -> list[Any]:
    """The B-splines of the next degree, or their slopes if ``derived`` is that degree, not 0."""
    new = [0 * x for _ in range(len(columns) + 1)]
    for j, column in enumerate(columns):
        width = high[j] - low[j]
        share = np.where(width == 0, 0.0, column / np.where(width == 0, 1.0, width))
        if derived:
            new[j] = new[j] - derived * share
            new[j + 1] = new[j + 1] + derived * share
        else:
            new[j] = new[j] + (high[j] - x) * share
            new[j + 1] = new[j + 1] + (x - low[j]) * share
    return new


def collocation(t: Any, k: int, points: Any, nu: int = 0) -> Any:
    """The matrix of all B-splines at points."""
    i, rows = basis(t, k, points, nu)
    n = t.shape[0] - k - 1
    place = i[:, None] - k + np.arange(k + 1)
    one_hot = place[..., None] == np.arange(n)
    return np.sum(np.where(one_hot, rows[..., None], 0.0), axis=1)


def not_a_knot(x: Any, k: int) -> Any:
    """The knots for interpolation at places x, as SciPy and FITPACK choose them."""
    if k == 0:
        return np.concatenate([x, x[-1:]])
    if k % 2:
        inner, cut = x, (k + 1) // 2
    else:
        inner, cut = (x[1:] + x[:-1]) / 2, k // 2
    inner = inner[cut : inner.shape[0] - cut]
    return np.concatenate([x[:1]] * (k + 1) + [inner] + [x[-1:]] * (k + 1))


@answers_class("scipy.interpolate.BSpline")
class BSpline(MadeOfTraced):
    """A spline ``sum(c[j] * B[j])`` of degree k with knots t.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import BSpline
    >>> t = np.array([0.0, 0.0, 1.0, 2.0, 2.0])
    >>> grad(lambda x: BSpline(t, [0.0, 1.0, 4.0], 1)(x))(1.5)
    np.float64(3.0)
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t: Any = either(t)
        self.k: int = known_integer(k, "k", "BSpline")
        c = either(c)
        self.axis: int = normalize_axis(axis, c.ndim)
        self.c = c
        self._c = np.moveaxis(c, self.axis, 0)
        if self.t.ndim != 1 or self.t.shape[0] < 2 * self.k + 2:
            raise ValueError(f"Need at least {2 * self.k + 2} knots for degree {self.k}")
        self.extrapolate = extrapolate

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """The knots, the coefficients and the degree."""
        return self.t, self.c, self.k

    @returns_array
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value of the spline or of a derivative at points."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        points = either(x)
        flat = np.reshape(points, (-1,))
        n = self.t.shape[0] - self.k - 1
        first, end = self.t[self.k], self.t[n]
        if isinstance(extrapolate, str) and extrapolate == "periodic":
            flat = first + np.mod(flat - first, end - first)
        rest = self._c.shape[1:]
        if nu > self.k:
            made = np.zeros((*flat.shape, *rest))
        else:
            i, rows = basis(self.t, self.k, flat, nu)
            picked = self._c[i[:, None] - self.k + np.arange(self.k + 1)]
            made = np.einsum("pj,pj...->p...", rows, picked)
        if not extrapolate:
            inside = np.logical_and(flat >= first, flat <= end)
            made = np.where(np.reshape(inside, (-1, *[1] * len(rest))), made, np.nan)
        made = np.reshape(made, (*points.shape, *rest))
        m = points.ndim
        order = [*range(m, m + self.axis), *range(m), *range(m + self.axis, made.ndim)]
        return np.transpose(made, order) if self.axis else made

    def _with(self, t: Any, c: Any, k: int) -> BSpline:
        made = BSpline(t, np.moveaxis(c, 0, self.axis), k, self.extrapolate, self.axis)
        return made

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative, a spline of a lower degree."""
        t, c, k = self.t, self._c, self.k
        c = c[: t.shape[0] - k - 1]
        for _ in range(nu):
            width = np.reshape(t[k + 1 : -1] - t[1 : -k - 1], (-1, *[1] * (c.ndim - 1)))
            safe = np.where(width == 0, 1.0, width)
            c = np.where(width == 0, 0.0, (c[1:] - c[:-1]) * k / safe)
            t, k = t[1:-1], k - 1
        return self._with(t, c, k)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The antiderivative, a spline of a higher degree."""
        t, c, k = self.t, self._c, self.k
        c = c[: t.shape[0] - k - 1]
        for _ in range(nu):
            width = np.reshape(t[k + 1 :] - t[: -k - 1], (-1, *[1] * (c.ndim - 1)))
            sums = np.cumsum(c * width, axis=0) / (k + 1)
            c = np.concatenate([0 * sums[:1], sums])
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        return self._with(t, c, k)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b.

        If ``extrapolate`` is False, the spline counts as 0 outside the base interval.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if isinstance(extrapolate, str):
            raise refused("BSpline.integrate", "extrapolate='periodic' is not covered.")
        n = self.t.shape[0] - self.k - 1
        ends = [either(a), either(b)]
        if not extrapolate:
            ends = [np.clip(e, self.t[self.k], self.t[n]) for e in ends]
        whole = self.antiderivative()
        return whole(ends[1]) - whole(ends[0])


@answers("scipy.interpolate.make_interp_spline")
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> BSpline:  # fmt: skip
    """The spline of degree k through values y at places x.

    A ``bc_type`` other than ``"not-a-knot"`` needs known places.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import make_interp_spline
    >>> x = np.arange(5.0)
    >>> np.round(grad(lambda y: make_interp_spline(x, y)(2.0))(np.zeros(5)), 9) + 0.0
    array([0., 0., 1., 0., 0.])
    """
    places, values = either(x), either(y)
    k = known_integer(k, "k", "make_interp_spline")
    axis = normalize_axis(axis, values.ndim)
    rows = np.moveaxis(values, axis, 0)
    if bc_type is not None and not (isinstance(bc_type, str) and bc_type == "not-a-knot"):
        t, c = _by_scipy(x, rows, k, t, bc_type)
    elif k == 0:
        t, c = not_a_knot(places, 0), rows
    else:
        if t is None:
            t = not_a_knot(places, k) if k > 1 else np.concatenate(
                [places[:1], places, places[-1:]])  # fmt: skip
        t = either(t)
        _check_count(places, rows, t.shape[0] - k - 1)
        matrix = collocation(t, k, places)
        c = np.reshape(np.linalg.solve(matrix, np.reshape(rows, (rows.shape[0], -1))), rows.shape)
    return BSpline(t, np.moveaxis(c, 0, axis), k, axis=axis)


def _check_count(places: Any, rows: Any, coefficients: int) -> None:
    """Check, as SciPy does, that the values determine the coefficients."""
    n = places.shape[0]
    if rows.shape[0] != n:
        words = f"Shapes of x {places.shape} and y {rows.shape} are incompatible"
    elif coefficients != n:
        words = "The number of derivatives at boundaries does not match: expected "
        words += f"{coefficients - n}, got 0+0"
    else:
        return
    raise ValueError(with_place(words, user_source()))


def _by_scipy(x: Any, rows: Any, k: int, t: Any, bc_type: Any) -> tuple[Any, Any]:
    """The knots and the coefficients, which are a linear map of the values plus a shift.

    SciPy's splines of zeros and of unit vectors give both.
    """
    from scipy import interpolate

    if is_traced((x, t, bc_type)):
        raise refused(
            "scipy.interpolate.make_interp_spline", "bc_type= needs known places and conditions."
        )
    if isinstance(bc_type, str) and bc_type == "periodic":
        raise refused("scipy.interpolate.make_interp_spline", "bc_type='periodic' is not covered.")
    n = rows.shape[0]
    none = interpolate.make_interp_spline(x, np.zeros(n), k, t, bc_type)
    columns = [interpolate.make_interp_spline(x, e, k, t, bc_type).c for e in np.eye(n)]
    matrix = np.stack(columns, axis=1) - none.c[:, None]
    shift = np.reshape(none.c, (-1, *[1] * (rows.ndim - 1)))
    return none.t, np.tensordot(matrix, rows, 1) + shift


def _is_smooth(s: Any) -> bool:
    return s is None or is_traced(s) or s != 0


@answers("scipy.interpolate.splrep")
def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0,
    s: Any = None, t: Any = None, full_output: int = 0, per: int = 0, quiet: int = 1,
) -> tuple[Any, Any, int]:  # fmt: skip
    """``(t, c, k)`` of the spline through values y at places x; smoothing is refused.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import splev, splrep
    >>> x = np.arange(5.0)
    >>> np.round(grad(lambda y: splev(2.0, splrep(x, y)))(np.zeros(5)), 9) + 0.0
    array([0., 0., 1., 0., 0.])
    """
    given = (xb, xe, t)
    smooth = (s is not None and _is_smooth(s)) or (s is None and w is not None)
    if smooth or task or per or full_output or any(v is not None for v in given):
        raise refused(
            "scipy.interpolate.splrep",
            "only splrep(x, y, k=k, s=0), without smoothing, is covered.",
        )
    degree = known_integer(k, "k", "splrep")
    if np.shape(x)[0] <= degree:
        raise TypeError(with_place("m > k must hold", user_source()))
    made = make_interp_spline(x, y, degree)
    padding = np.zeros(made.k + 1)
    return made.t, np.concatenate([made.c, padding]), made.k


@answers("scipy.interpolate.splev", tuples=("tck",))
@returns_array
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """A spline, or a derivative of it, at points.

    Beyond the base interval, ``ext=0`` extrapolates, 1 gives 0, and 3 gives the value at the end;
    2 is refused.
    A curve of several coordinates gives a list of them.
    """
    if isinstance(tck, (tuple, list)) and either(tck[1]).ndim == 2:
        t, rows, k = tck
        return [splev(x, (t, c, k), der, ext) for c in rows]
    spline = _spline(tck)
    if ext not in (0, 1, 3):
        raise refused("scipy.interpolate.splev", "ext=2 raises an error if a point lies outside, "
                      "which is not known; use 0, 1 or 3.")  # fmt: skip
    points = either(x)
    n = spline.t.shape[0] - spline.k - 1
    first, end = spline.t[spline.k], spline.t[n]
    if ext == 3:
        points = np.clip(points, first, end)
    made = spline(points, der)
    if ext == 1:
        return np.where(np.logical_and(points >= first, points <= end), made, 0.0)
    return made


def _spline(tck: Any) -> BSpline:
    if isinstance(tck, BSpline):
        return tck
    t, c, k = tck if isinstance(tck, (tuple, list)) else tck.tck
    t, c = either(t), either(c)
    if c.ndim > 1:
        raise refused(
            "scipy.interpolate",
            "of functions of curves, splev is covered. Take the coordinates one by one:\n"
            "    [splint(a, b, (t, c, k)) for c in rows]     # with t, rows, k = tck",
        )
    return BSpline(t, c[: t.shape[0] - k - 1], k)


def _tck(spline: BSpline) -> tuple[Any, Any, int]:
    more = spline.t.shape[0] - spline.c.shape[0]
    return spline.t, np.concatenate([spline.c, np.zeros((more, *spline.c.shape[1:]))]), spline.k


@answers("scipy.interpolate.splint", tuples=("tck",))
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """The integral of a spline from a to b; the spline counts as 0 beyond the base interval."""
    if full_output:
        raise refused("scipy.interpolate.splint", "full_output is not covered.")
    return _spline(tck).integrate(a, b, False)


@answers("scipy.interpolate.splder", tuples=("tck",))
def splder(tck: Any, n: int = 1) -> Any:
    """The derivative of a spline, as ``(t, c, k)``."""
    made = _spline(tck).derivative(n)
    return made if isinstance(tck, BSpline) else _tck(made)


@answers("scipy.interpolate.splantider", tuples=("tck",))
def splantider(tck: Any, n: int = 1) -> Any:
    """The antiderivative of a spline, as ``(t, c, k)``."""
    made = _spline(tck).antiderivative(n)
    return made if isinstance(tck, BSpline) else _tck(made)


@answers_class("scipy.interpolate.InterpolatedUnivariateSpline")
class InterpolatedUnivariateSpline:
    """The spline of degree k through values y at places x; weights have no effect on it.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import InterpolatedUnivariateSpline
    >>> x = np.arange(5.0)
    >>> round(float(grad(lambda t: InterpolatedUnivariateSpline(x, x**2)(t))(1.5)), 9)
    3.0
    """

    _s: Any = 0

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        if any(b is not None for b in bbox):
            raise refused("scipy.interpolate.UnivariateSpline", "bbox= is not covered.")
        names = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}
        self.ext: Any = names.get(ext, ext)
        self._tck = splrep(either(x), either(y), k=k, s=0)

    @returns_array
    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        return splev(x, self._tck, nu, self.ext if ext is None else ext)

    def integral(self, a: Any, b: Any) -> Any:
        """The integral from a to b."""
        return splint(a, b, self._tck)

    def derivative(self, n: int = 1) -> InterpolatedUnivariateSpline:
        """The derivative, a spline of a lower degree."""
        return self._of(splder(self._tck, n))

    def antiderivative(self, n: int = 1) -> InterpolatedUnivariateSpline:
        """The antiderivative, a spline of a higher degree."""
        return self._of(splantider(self._tck, n))

    def derivatives(self, x: Any) -> Any:
        """All derivatives at a point."""
        return np.stack([self(x, nu) for nu in range(self._tck[2] + 1)])

    def _of(self, tck: Any) -> InterpolatedUnivariateSpline:
        made = object.__new__(InterpolatedUnivariateSpline)
        made._tck, made.ext = tck, self.ext
        return made


@answers_class("scipy.interpolate.UnivariateSpline")
class UnivariateSpline(InterpolatedUnivariateSpline):
    """Like :class:`InterpolatedUnivariateSpline`, with ``s=0``; smoothing is refused."""

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None,
        ext: Any = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        if _is_smooth(s):
            raise refused("scipy.interpolate.UnivariateSpline", "smoothing is not covered: pass "
                          "s=0.")  # fmt: skip
        super().__init__(x, y, w, bbox, k, ext)
