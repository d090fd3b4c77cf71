"""Rows of ``scipy.integrate``, ``scipy.interpolate`` and ``scipy.optimize``."""

from __future__ import annotations

import numpy as np
from scipy import integrate, interpolate, optimize

from tests.samples.scipy_rows import row

_rng = np.random.default_rng(4)
X = np.cumsum(_rng.uniform(0.2, 1, 7))
Y, ROWS, SAMPLES = (_rng.standard_normal(s) for s in (7, (7, 2), (3, 9)))
T = np.array([X[0] - 0.3, X[0] + 0.1, X[3] + 0.01, X[-1] - 0.2, X[-1] + 0.4])
PLACES = np.sort(_rng.standard_normal(9))
GRID, VALUES = np.array([0, 0.5, 2, 3, 3.3, 5]), _rng.standard_normal((6, 6))
POINTS = np.array([[0.3, 0.4], [2.4, 3.2], [4.9, 1.1]])
CLOUD = _rng.standard_normal((9, 2))
TIMES = np.linspace(0, 5, 5)
DECAY = np.exp(-1.3 * np.linspace(0, 2, 12)) * 2 + 0.1 * _rng.standard_normal(12)
MATRIX = _rng.standard_normal((8, 5))
CLOSE = {"ftol": 1e-14, "xtol": 1e-14}


def _hunt(t, y, a):
    return [a * y[0] - 0.7 * y[0] * y[1], -y[1] + 0.7 * y[0] * y[1]]


def _solved(method, rtol):
    def states(a, y0):
        return integrate.solve_ivp(_hunt, (0, 5), y0, method, TIMES, args=(a,), rtol=rtol,
                                   atol=rtol).y  # fmt: skip

    return states


def _stiff(method):
    def states(k, y0):
        def slope(t, y):
            made, used = 3e7 * k * y[1] ** 2, -0.04 * y[0] + 1e4 * y[1] * y[2]
            return np.stack([used, -used - made, made])

        start = np.stack([y0, 0.0 * y0, 1.0 - y0])
        return integrate.solve_ivp(slope, (0.0, 40.0), start, method, [0.4, 40.0], rtol=1e-8,
                                   atol=1e-11).y  # fmt: skip

    return states


def _quad(f, *limits, **more):
    return integrate.quad(f, *limits, **more)[0]


def _waves(x, a):
    return np.sum((x - a) ** 2 - np.cos(9 * (x - a))) + 0.1 * a * x[0] - 0.03 * x[1]


INTEGRALS = [
    *(row(f"{f.__name__} {n}", lambda y, x, f=f: f(y, x=x), SAMPLES[:, :n], PLACES[:n])
      for f in (integrate.trapezoid, integrate.simpson, integrate.cumulative_trapezoid,
                integrate.cumulative_simpson) for n in (2, 8, 9)),
    row("simpson dx", lambda y, d: integrate.simpson(y, dx=d, axis=0), SAMPLES.T, 0.3),
    row("trapezoid dx", lambda y, d: integrate.trapezoid(y, dx=d, axis=0), SAMPLES.T, 0.3),
    row("cumulative_simpson dx",
        lambda y: integrate.cumulative_simpson(y, dx=0.3, axis=0, initial=1.0), SAMPLES.T),
    row("cumulative_trapezoid initial",
        lambda y: integrate.cumulative_trapezoid(y, dx=0.3, axis=0, initial=0), SAMPLES.T),
    row("romb", lambda y, d: integrate.romb(y, d, axis=1), SAMPLES, 0.3),
    row("fixed_quad", lambda a, b: integrate.fixed_quad(np.sin, a, b)[0], 0.3, 0.5),
    row("quad", lambda a, b, c: _quad(lambda x: np.sin(c * x), a, b), 0.3, 0.5, 0.7,
        compiled=True),
    row("quad args", lambda c: _quad(lambda x, c: c * x if x > 0.25 else c, 0, 1, args=(c,),
        points=[0.25]), 0.3),
    row("quad infinite", lambda c: _quad(lambda x: np.exp(-c * x * x), -np.inf, np.inf), 1.3),
    row("quad half infinite", lambda a, c: _quad(lambda x: np.exp(-c * x), a, np.inf), 1.3, 0.4,
        rtol=1e-8),
    row("quad backwards", lambda a, c: _quad(lambda x: np.exp(-c * x), np.inf, a), 1.3, 0.4,
        rtol=1e-8),
    row("quad peaked", lambda c: _quad(lambda x: 1 / (1e-4 + (x - c) ** 2), 0, 1), 0.3, rtol=1e-7),
    row("quad known", lambda c: _quad(lambda x: x * x, 0, 1) * c, 0.3),
    row("quad_vec", lambda c: integrate.quad_vec(lambda x: np.exp(c * x), 0, 1)[0], [0.3, 0.5]),
    row("dblquad", lambda c: integrate.dblquad(
        lambda y, x: np.exp(c * x * y), 0, 1, 0, lambda x: x)[0], 0.3, rtol=1e-8),
    row("nquad", lambda c: integrate.nquad(lambda x, y: np.exp(c * x * y), [(0, 1), (0, c)])[0],
        0.3, rtol=1e-8),
    row("solve_ivp RK23", _solved("RK23", 1e-6), 1.1, [1.0, 2.0], rtol=1e-7, dtol=1e-4),
    row("solve_ivp RK45", _solved("RK45", 1e-10), 1.1, [1.0, 2.0], rtol=1e-7, dtol=1e-5,
        compiled=True),
    row("solve_ivp DOP853", _solved("DOP853", 1e-10), 1.1, [1.0, 2.0], rtol=1e-7, dtol=1e-5),
    row("solve_ivp span", lambda t0, t1: integrate.solve_ivp(
        lambda t, y: -y * t, (t0, t1), [1.0], t_eval=np.stack([0.3 * t0 + 0.7 * t1, t1]),
        rtol=1e-10, atol=1e-10).y, 2.0, 0.3, rtol=1e-7, dtol=1e-5),
    row("solve_ivp Radau", _stiff("Radau"), 1.0, 0.9, rtol=1e-6, atol=1e-9, dtol=1e-4,
        compiled=True),
    row("odeint", lambda a, y0: integrate.odeint(lambda y, t: [y[1], -a * y[0]], y0, TIMES), 1.1,
        [1.0, 2.0], rtol=1e-6, atol=1e-6, dtol=1e-4),
]  # fmt: skip

SPLINES = interpolate
LSQ_KNOTS = np.concatenate([[X[0] - 1] * 4, [X[3]], [X[-1] + 1] * 4])
_LINE = np.array([0.0, 0.0, 0.0, 0.6, 1.0, 1.0, 1.0])


INSERTED = np.array([0, 0, 0, 0.3, 0.7, 1, 1, 1])

INTERPOLATION = [
    row("make_smoothing_spline", lambda y, t: interpolate.make_smoothing_spline(
        np.arange(8.0), y, np.arange(8.0) + 1, 0.3)(t), np.sin(np.arange(8.0)), T),
    row("insert", lambda c: interpolate.insert(0.4, (INSERTED, c, 2), 2)[1], np.arange(5.0) ** 2),
    row("insert into an object", lambda c: interpolate.insert(
        0.4, interpolate.BSpline(INSERTED, c, 2))(0.35), np.arange(5.0) ** 2),
    row("make_lsq_spline", lambda x, y, t: SPLINES.make_lsq_spline(x, y, LSQ_KNOTS)(t), X, Y, T),
    row("make_lsq_spline weights", lambda y, w: SPLINES.make_lsq_spline(X, y, LSQ_KNOTS, w=w * w).c,
        ROWS, Y),
    row("pchip_interpolate", lambda x, y, t: [SPLINES.pchip_interpolate(x, y, t),
        *SPLINES.pchip_interpolate(x, y, t, [0, 1])], X, Y, T),
    *(row(f"pade {m}", lambda a, x, m=m: [p(x) for p in SPLINES.pade(a, m)], Y[:6], 0.3)
      for m in (1, 3)),
    row("spalde", lambda x: SPLINES.spalde(x, (_LINE, [0.3, 0.1, 0.7, 0.2, 0, 0, 0], 2)),
        [0.3, 0.7]),
    row("bisplev", lambda x, y, c: SPLINES.bisplev(x, y, (_LINE, _LINE, c, 2, 2), dx=1),
        [0.3, 0.7, 0.8], [0.2, 0.5], np.cos(np.arange(16))),
    *(row(f"CubicSpline {bc}", lambda x, y, t, bc=bc: SPLINES.CubicSpline(x, y, bc_type=bc)(t), X,
          Y, T) for bc in ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, 0.4)),
                           ("not-a-knot", (1, 0.2)))),
    row("CubicSpline axis", lambda x, y, t: SPLINES.CubicSpline(x, y, axis=1)(t, 1), X, ROWS.T, T),
    *(row(f"CubicSpline of {n}", lambda x, y, t: SPLINES.CubicSpline(x, y)(t), X[:n], Y[:n], T)
      for n in (2, 3, 4)),
    row("CubicSpline periodic", lambda x, y, t: SPLINES.CubicSpline(
        x, np.concatenate([y, y[:1]]), bc_type="periodic")(t), X, Y[:-1], T),
    row("CubicSpline integrate", lambda x, y, b: SPLINES.CubicSpline(x, y).integrate(X[0] + 0.1, b),
        X, Y, X[3]),
    row("CubicSpline derivative", lambda x, y, t: SPLINES.CubicSpline(x, y).derivative()(t), X, Y,
        T),
    row("antiderivative", lambda x, y, t: SPLINES.CubicSpline(x, y).antiderivative()(t), X, Y, T),
    row("PchipInterpolator", lambda x, y, t: SPLINES.PchipInterpolator(x, y)(t), X, ROWS, T),
    row("pchip rising", lambda x, y, t: SPLINES.PchipInterpolator(x, y)(t), X, np.sort(Y), T),
    row("Akima1DInterpolator", lambda x, y, t: SPLINES.Akima1DInterpolator(x, y)(t), X, Y,
        T[1:-1]),
    row("makima", lambda x, y, t: SPLINES.Akima1DInterpolator(
        x, y, method="makima", extrapolate=True)(t), X, ROWS, T),
    row("CubicHermiteSpline", lambda x, y, d, t: SPLINES.CubicHermiteSpline(x, y, d)(t), X, Y,
        Y[::-1], T),
    *(row(f"interp1d {k}", lambda x, y, t, k=k: SPLINES.interp1d(x, y, k)(t), X, Y, T[1:-1],
          rtol=1e-8) for k in ("linear", "slinear", "quadratic", "cubic", 5)),
    *(row(f"interp1d {k}", lambda y, t, k=k: SPLINES.interp1d(X, y, k)(t), Y, T[1:-1])
      for k in ("zero", "nearest", "nearest-up", "previous", "next")),
    row("interp1d beyond", lambda x, y, t: SPLINES.interp1d(x, y, fill_value="extrapolate")(t),
        X[::-1], ROWS.T, T),
    *(row(f"interp1d beyond {k}", lambda y, t, k=k: SPLINES.interp1d(
        X, y, k, fill_value="extrapolate")(t), Y, T, flat=k in ("previous", "next"))
      for k in ("zero", "nearest", "nearest-up", "previous", "next", "slinear", "quadratic",
                "cubic")),
    row("interp1d fill", lambda y, t: SPLINES.interp1d(
        X, y, axis=0, bounds_error=False, fill_value=(1.0, 2.0))(t), ROWS, T),
    *(row(f"make_interp_spline {k}", lambda x, y, t, k=k: SPLINES.make_interp_spline(x, y, k)(t),
          X, Y, T, rtol=1e-7, dtol=1e-5) for k in (1, 2, 3, 4, 5)),
    row("make_interp_spline conditions", lambda y, t: SPLINES.make_interp_spline(
        X, y, 3, bc_type=([(1, 0.3)], [(2, 0.4)]))(t), Y, T),
    row("BSpline", lambda t, c, x: SPLINES.BSpline(t, c, 2)(x), np.arange(9.0) ** 1.1, Y[:6],
        [2.3, 4.4]),
    row("BSpline integrate", lambda c, b: SPLINES.BSpline(np.arange(9.0), c, 2).integrate(2.3, b),
        Y[:6], 5.5),
    row("splev", lambda x, y, t: SPLINES.splev(t, SPLINES.splrep(x, y), der=1), X, Y, T[1:-1],
        rtol=1e-8),
    *(row(f"splprep {k}", lambda x, y, k=k: SPLINES.splev(
        T[1:-1] / 4, SPLINES.splprep([x, y], s=0, k=k)[0]), X, Y, rtol=1e-8, dtol=1e-5)
      for k in (1, 2, 3, 5)),
    row("splprep places", lambda y, u: SPLINES.splprep(y, u=u, s=0)[0][1], ROWS.T, X, rtol=1e-8,
        dtol=1e-5),
    row("make_splrep", lambda x, y: SPLINES.make_splrep(x, y, k=2)(T[1:-1]), X, Y, dtol=1e-5),
    row("make_splprep", lambda x, t: SPLINES.make_splprep(x)[0](t), ROWS.T, T[1:-1] / 4, rtol=1e-8,
        dtol=1e-5),
    row("lagrange", lambda x, y, t: (SPLINES.lagrange(x, y)(t), SPLINES.lagrange(x, y).coef), X[:4],
        Y[:4], T),
    row("splint", lambda y, b: SPLINES.splint(X[0] + 0.1, b, SPLINES.splrep(X, y, k=2)), Y, X[4]),
    row("UnivariateSpline", lambda x, y, t: SPLINES.UnivariateSpline(x, y, s=0, k=4)(t), X, Y,
        T[1:-1], rtol=1e-8, dtol=1e-5),
    *(row(f"RegularGridInterpolator {m}", lambda v, p, m=m: SPLINES.RegularGridInterpolator(
        (GRID, np.arange(6.0)), v, method=m)(p), VALUES, POINTS, rtol=2e-4, atol=1e-4)
      for m in ("linear", "cubic", "slinear", "nearest")),
    row("interpn", lambda v, p: SPLINES.interpn((GRID, np.arange(6.0)), v, p), VALUES, POINTS),
    row("RectBivariateSpline", lambda z, a, b: SPLINES.RectBivariateSpline(
        GRID, np.arange(6.0), z, kx=2).ev(a, b), VALUES, POINTS[:, 0], POINTS[:, 1]),
    row("RegularGridInterpolator pchip", lambda v, p: SPLINES.RegularGridInterpolator(
        (GRID, np.arange(6.0)), v, method="pchip")(p), VALUES, POINTS, dtol=1e-5),
    row("griddata", lambda v, p: SPLINES.griddata(CLOUD, v, p / 9, rescale=True, fill_value=0.5),
        CLOUD[:, 0] ** 2, POINTS, dtol=1e-5),
    row("griddata known", lambda v: SPLINES.griddata(CLOUD, v, POINTS / 9, "cubic", 0.5),
        CLOUD[:, 0] ** 2, rtol=1e-4, atol=1e-5),
    row("griddata nearest", lambda v: SPLINES.griddata(
        (CLOUD[:, 0], CLOUD[:, 1]), v, POINTS / 9, "nearest"), CLOUD[:, 0] ** 2),
    row("BarycentricInterpolator", lambda x, y, t: SPLINES.BarycentricInterpolator(x, y)(t), X, Y,
        T[1:-1], rtol=1e-7, dtol=1e-4),
    *(row(f"RBFInterpolator {k}", lambda y, d, x, k=k: SPLINES.RBFInterpolator(
        y, d, kernel=k, epsilon=1.3, smoothing=0.1)(x), CLOUD, CLOUD[:, 0] ** 2, POINTS / 5,
        rtol=1e-7, dtol=1e-5) for k in ("thin_plate_spline", "linear", "gaussian", "cubic",
                                        "multiquadric", "inverse_quadratic")),
    *(row(f"known {type(f).__name__}", lambda t, f=f: f(t), T[1:-1], rtol=1e-7, dtol=1e-5)
      for f in (SPLINES.CubicSpline(X, Y), SPLINES.make_interp_spline(X, ROWS.T, 2, axis=1),
                SPLINES.interp1d(X, ROWS.T), SPLINES.UnivariateSpline(X, Y, s=0.3),
                SPLINES.KroghInterpolator(X, ROWS))),
    *(row(f"known {type(f).__name__}", lambda p, f=f: f(p), POINTS)
      for f in (SPLINES.RegularGridInterpolator((GRID, np.arange(6.0)), VALUES),
                SPLINES.RBFInterpolator(CLOUD, CLOUD[:, 0]))),
    *(row(f"known {type(f).__name__}", lambda p, f=f: f(p / 9), POINTS, dtol=1e-5)
      for f in (SPLINES.LinearNDInterpolator(CLOUD, CLOUD[:, 0], 0.5, rescale=True),
                SPLINES.NearestNDInterpolator(CLOUD, CLOUD[:, 0]))),
]  # fmt: skip


def _model(x, a, b):
    return a * np.exp(-b * x)


OPTIMIZATION = [
    *(row(f"linear_sum_assignment {m}", lambda c, m=m: c[optimize.linear_sum_assignment(c, m)],
          MATRIX, compiled=m) for m in (False, True)),
    row("rosen", optimize.rosen, Y), row("rosen_der", optimize.rosen_der, Y),
    row("rosen_hess", optimize.rosen_hess, Y),
    row("rosen_hess_prod", optimize.rosen_hess_prod, Y, Y[::-1]),
    row("approx_fprime", lambda x: optimize.approx_fprime(x, lambda x: np.sum(x**3), 1e-2), Y),
    *(row(f.__name__, lambda a, f=f: f(lambda x: np.exp(x) - a - x * 0.1, -3.0, 4.0), 2.0,
          compiled=f is optimize.brentq)
      for f in (optimize.brentq, optimize.brenth, optimize.ridder, optimize.bisect,
                optimize.toms748)),
    row("newton", lambda a: optimize.newton(lambda x: x**3 - a, np.array([1.0, 2.0])), 2.0),
    row("newton fprime", lambda a: optimize.newton(
        lambda x, a: x**3 - a, 1.0, fprime=lambda x, a: 3 * x**2, args=(a,)), 2.0),
    row("root_scalar", lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=(0, 3)).root,
        2.0),
    row("root", lambda a, b: optimize.root(
        lambda x: [x[0] + (x[0] - x[1]) ** 3 / 2 - a, (x[1] - x[0]) ** 3 / 2 + x[1] - b],
        [0.0, 0.0], tol=1e-12).x, 1.0, 0.3),
    row("fsolve", lambda a: optimize.fsolve(
        lambda x: x**2 + np.roll(x, 1) - a, np.ones(3), xtol=1e-12), [2.0, 3.0, 4.0]),
    row("fixed_point", lambda a: optimize.fixed_point(lambda x: np.cos(a * x), 0.5, xtol=1e-12),
        1.0),
    row("minimize", lambda a: optimize.minimize(
        lambda x: optimize.rosen(x) + np.sum(a * x), np.zeros(3), tol=1e-9).x, [0.3, 0.1, 0.2],
        rtol=1e-5, atol=1e-6, dtol=1e-3),
    row("minimize_scalar", lambda a: optimize.minimize_scalar(
        lambda x: (x - a) ** 2 + np.cos(x)).x, 3.0, rtol=1e-6, dtol=1e-3),
    row("minimize_scalar bounds", lambda a: optimize.minimize_scalar(
        lambda x: (x - a) ** 2, bounds=(0.0, 5.0)).x, 3.0, rtol=1e-5, dtol=1e-3),
    row("minimize bounds", lambda a: optimize.minimize(
        lambda x: optimize.rosen(x) + np.sum((x - a[:3]) ** 2), np.zeros(3), method="L-BFGS-B",
        bounds=[(0.0, a[0] / 3), (a[3], 1.0), (None, 0.1 + a[1] / 10)], tol=1e-8).x,
        [1.5, 0.3, 2.0, -1.0], rtol=1e-6, dtol=1e-3, compiled=True),
    row("minimize on a circle", lambda a: optimize.minimize(
        lambda x: optimize.rosen(x) + np.sum((x - a) ** 2), np.zeros(2), method="SLSQP", tol=1e-13,
        constraints=({"type": "eq", "fun": lambda x, r: x @ x - r, "args": (a[0],)},
                     {"type": "ineq", "fun": lambda x: x[1] - 0.5 * a[1]})).x,
        [1.3, 1.0], rtol=1e-6, dtol=1e-3, compiled=True),
    row("minimize on a simplex", lambda a: optimize.minimize(
        lambda x: np.sum((x - a) ** 2), np.ones(3) / 3, method="SLSQP", bounds=[(0, 1)] * 3,
        tol=1e-13, constraints=optimize.LinearConstraint(np.ones((1, 3)), 1.0, 1.0)).x,
        [0.7, 0.6, -0.5], rtol=1e-6, atol=1e-7, dtol=1e-3),
    row("minimize between limits", lambda a, b: (lambda found: (found.x, found.fun))(
        optimize.minimize(lambda x: (x[0] - a) ** 2 + (x[1] + x[0]) ** 2, [0.0, 0.0], tol=1e-13,
                          method="SLSQP", constraints=[optimize.NonlinearConstraint(
                              lambda x: np.stack([x[0] + x[1], x[0]]), [-np.inf, -1.0], [0.5, 3.0]),
                              {"type": "ineq", "fun": lambda x: b - x[0]}])),
        2.0, 0.7, rtol=1e-5, atol=1e-6, dtol=1e-3),
    row("fmin_slsqp", lambda a: optimize.fmin_slsqp(
        optimize.rosen, np.ones(2), f_ieqcons=lambda x: a - x, iprint=0, acc=1e-13), [0.5, 0.7],
        rtol=1e-6, dtol=1e-3),
    row("fmin_cobyla", lambda a: optimize.fmin_cobyla(
        lambda x: np.sum((x - a) ** 2), np.ones(2), [lambda x: 0.3 - x[0]], rhoend=1e-9),
        [0.5, 0.7], rtol=1e-3, flat=True),
    row("linprog", lambda c, a, b: (lambda found: (found.x, found.fun, found.slack))(
        optimize.linprog(c, a, b)), [-1, -2, 0.3], [[1, 1, 1], [1, 3, 0.2]], [4, 6],
        compiled=True),
    row("linprog with equations", lambda b: (lambda found: (found.x, found.con))(optimize.linprog(
        [-1, -2, 0.3], A_eq=np.ones((1, 3)), b_eq=b[:1], bounds=[(0, b[1]), (0, 1), (None, 2)])),
        [2.0, 0.7]),
    row("differential_evolution", lambda a: optimize.differential_evolution(
        _waves, [(-3, a + 2), (-3, 3)], args=(a,), rng=1, tol=1e-9, popsize=8).x, 0.4, rtol=1e-6,
        dtol=1e-2),
    row("dual_annealing", lambda a: optimize.dual_annealing(
        _waves, [(-3, 3)] * 2, args=(a,), rng=1, maxiter=40).fun, 0.4, rtol=1e-6, dtol=1e-3),
    row("direct", lambda a: optimize.direct(
        _waves, [(-3, 3.1)] * 2, args=(a,), vol_tol=1e-30, len_tol=1e-9).fun, 0.4, rtol=1e-6,
        flat=True),
    row("shgo", lambda a: optimize.shgo(
        lambda x: np.sum((x - a) ** 2) + np.sin(x[0] * a), [(-3, 3)] * 2).fun, 0.4, rtol=1e-6,
        dtol=1e-3),
    row("basinhopping", lambda a: optimize.basinhopping(
        lambda x: _waves(x, a), [1.2, 0.0], 12, rng=1).fun, 0.4, rtol=1e-6, dtol=1e-3),
    row("curve_fit bounds", lambda y, high: optimize.curve_fit(
        _model, np.linspace(0, 2, 12), y, bounds=(0.0, np.stack([3.0 + 0.0 * high, high])))[0],
        DECAY, 0.9, rtol=1e-5, dtol=1e-3),
    row("lsq_linear bounds", lambda b: optimize.lsq_linear(
        np.vander(np.linspace(0, 1, 6), 3), b, (-0.1, 1.1)).x, np.linspace(0.4, 2.0, 6) ** 2,
        rtol=1e-5, dtol=1e-4),
    row("least_squares", lambda y: optimize.least_squares(
        lambda p: _model(np.linspace(0, 2, 12), *p) - y, [1.0, 1.0], gtol=1e-14, **CLOSE).x, DECAY,
        rtol=1e-5, dtol=1e-3),
    row("curve_fit", lambda y: optimize.curve_fit(_model, np.linspace(0, 2, 12), y, **CLOSE),
        DECAY, rtol=1e-5, dtol=1e-3),
    row("curve_fit sigma", lambda y: optimize.curve_fit(
        _model, np.linspace(0, 2, 12), y, sigma=np.linspace(1, 2, 12), absolute_sigma=True,
        **CLOSE), DECAY, rtol=1e-5, dtol=1e-2),
    row("lsq_linear", lambda a, b: optimize.lsq_linear(a, b).x, MATRIX, DECAY[:8]),
    row("nnls", optimize.nnls, MATRIX, DECAY[:8]),
    *(row(f.__name__, lambda a, f=f, tight=tight: f(
        lambda x, a: np.sum((x**2 - a) ** 2), np.ones(2), args=(a,), disp=0, **tight), 4.0,
          rtol=1e-5, dtol=1e-3)
      for f, tight in ((optimize.fmin, {"xtol": 1e-9, "ftol": 1e-12}),
                       (optimize.fmin_powell, {"xtol": 1e-9, "ftol": 1e-12}),
                       (optimize.fmin_cg, {"gtol": 1e-9}), (optimize.fmin_bfgs, {"gtol": 1e-9}))),
    row("fmin_ncg", lambda a: optimize.fmin_ncg(
        lambda x, a: np.sum((x**2 - a) ** 2), np.ones(2), lambda x, a: 4 * x * (x**2 - a),
        args=(a,), disp=0, avextol=1e-10), 4.0, rtol=1e-5, dtol=1e-3),
    row("fmin_l_bfgs_b", lambda a: optimize.fmin_l_bfgs_b(
        lambda x: (np.sum((x**2 - a) ** 2), 4 * x * (x**2 - a)), np.ones(2),
        bounds=[(0, 1.5), (0, None)], factr=1.0, pgtol=1e-10)[:2], 4.0, rtol=1e-5, dtol=1e-3),
    row("fmin_tnc", lambda a: optimize.fmin_tnc(
        lambda x, a: (np.sum((x**2 - a) ** 2), 4 * x * (x**2 - a)), np.ones(2), args=(a,),
        messages=0, pgtol=1e-12)[0], 4.0, rtol=1e-5, dtol=1e-3),
    row("leastsq", lambda a: optimize.leastsq(lambda x, a: x**2 - a, np.ones(2), args=a)[0], 4.0,
        rtol=1e-5, dtol=1e-3, compiled=True),
    *(row(f.__name__, lambda a, f=f, ends=ends: f(
        lambda x, a: (x - a) ** 2 + np.cos(x), *ends, args=(a,)), 3.0, rtol=1e-5, dtol=1e-3)
      for f, ends in ((optimize.brent, ()), (optimize.golden, ()),
                      (optimize.fminbound, (0.0, 6.0)))),
    *(row(f.__name__, lambda a, f=f: f(
        lambda x: a - x - 0.1 * x**3, np.ones((2, 1)), f_tol=1e-10), 4.0, rtol=1e-5, dtol=1e-3)
      for f in (optimize.anderson, optimize.broyden1, optimize.broyden2, optimize.diagbroyden,
                optimize.excitingmixing, optimize.linearmixing, optimize.newton_krylov)),
    row("isotonic_regression", lambda y, w: optimize.isotonic_regression(y, weights=w).x, Y,
        Y**2 + 0.5, compiled=True),
    row("isotonic_regression down", lambda y: optimize.isotonic_regression(
        y, increasing=False).x, Y),
]  # fmt: skip
