"""SciPy's functions under `jit`, compared with SciPy; and a density, compared with its formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit import grad, jit

from .pairs import Pair


def pairs() -> list[Pair]:
    return [*elementwise(), *transforms(), *solvers()]


def elementwise() -> list[Pair]:
    from scipy import special, stats

    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 8.0, 100_000)
    found = []
    for name in ("gammaln", "j0", "ndtri", "psi", "erfinv"):
        function = getattr(special, name)
        y = x / 9 if name in ("ndtri", "erfinv") else x
        ours = jit(lambda v, function=function: function(v))
        found.append(Pair(f"`special.{name}`, 1e5", lambda f=ours, y=y: f(y), "SciPy",
                          lambda f=function, y=y: f(y), 1e-12))  # fmt: skip

    def by_name(v: Any, mu: Any, sigma: Any) -> Any:
        return np.sum(stats.norm.logpdf(v, mu, sigma))

    def by_formula(v: Any, mu: Any, sigma: Any) -> Any:
        z = (v - mu) / sigma
        return np.sum(-(z**2) / 2 - np.log(np.sqrt(2 * np.pi)) - np.log(sigma))

    arguments = (x, 1.0, 2.0)
    name, formula = jit(by_name), jit(by_formula)
    d_name, d_formula = (jit(grad(f, (0, 1, 2))) for f in (by_name, by_formula))
    return [
        *found,
        Pair("`norm.logpdf` summed, 1e5", lambda: name(*arguments), "SciPy",
             lambda: by_name(*arguments), 1e-12),
        Pair("the same", lambda: name(*arguments), "its formula under `jit`",
             lambda: formula(*arguments), 1e-12, target=1.0),
        Pair("its gradient", lambda: d_name(*arguments)[0], "that of its formula",
             lambda: d_formula(*arguments)[0], 1e-12, target=1.0),
    ]  # fmt: skip


def transforms() -> list[Pair]:
    import scipy.fft
    import scipy.signal

    rng = np.random.default_rng(1)
    rows = rng.normal(size=(64, 1024)) + 1j * rng.normal(size=(64, 1024))
    row, real = rows.ravel(), rng.normal(size=65_536)
    small = rng.normal(size=1024)
    fft, rfft = jit(lambda v: np.fft.fft(v)), jit(lambda v: np.fft.rfft(v))
    dct = jit(lambda v: scipy.fft.dct(v))
    power = jit(grad(lambda v: np.sum(np.abs(np.fft.rfft(v)) ** 2)))
    filtered = jit(lambda v: scipy.signal.lfilter([0.2, 0.3], [1.0, -0.5, 0.1], v))
    return [
        Pair("`fft`, 64 rows of 1,024", lambda: fft(rows), "SciPy", lambda: scipy.fft.fft(rows),
             1e-12, target=1.0),
        Pair("`fft`, one row of 65,536", lambda: fft(row), "SciPy", lambda: scipy.fft.fft(row),
             1e-12, target=1.0),
        Pair("`rfft`, 65,536", lambda: rfft(real), "SciPy", lambda: scipy.fft.rfft(real), 1e-12,
             target=1.0),
        Pair("`dct`, 1,024", lambda: dct(small), "SciPy", lambda: scipy.fft.dct(small), 1e-12),
        Pair("gradient of a power spectrum, 65,536", lambda: power(real), "two transforms of SciPy",
             lambda: scipy.fft.irfft(scipy.fft.rfft(real)), None, target=1.0),
        Pair("`lfilter`, 65,536", lambda: filtered(real), "SciPy",
             lambda: scipy.signal.lfilter([0.2, 0.3], [1.0, -0.5, 0.1], real), 1e-12),
    ]  # fmt: skip


def solvers() -> list[Pair]:
    import scipy.integrate
    import scipy.interpolate
    import scipy.linalg
    import scipy.ndimage
    import scipy.optimize
    from scipy.spatial import distance

    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(20, 20))
    points = rng.normal(size=(300, 3))
    knots, heights, at = np.linspace(0, 1, 50), rng.normal(size=50), rng.uniform(0, 1, 2000)
    picture, places = rng.normal(size=(128, 128)), rng.uniform(0, 127, (2, 128 * 128))

    def spline(y: Any) -> Any:
        return scipy.interpolate.CubicSpline(knots, y)(at)

    def mapped(p: Any) -> Any:
        return scipy.ndimage.map_coordinates(p, places, order=1)

    def integral(k: Any) -> Any:
        return scipy.integrate.quad(lambda t: np.exp(-k * t * t), 0.0, 2.0)[0]

    def root(a: Any) -> Any:
        return scipy.optimize.brentq(lambda t: t**3 - a, 0.0, 3.0)

    def path(k: Any) -> Any:
        def rate(t: Any, y: Any) -> Any:
            return np.array([y[1], -k * y[0]])

        ends = np.linspace(0.0, 10.0, 11)
        return scipy.integrate.solve_ivp(rate, (0.0, 10.0), [1.0, 0.0], t_eval=ends, rtol=1e-6).y

    table = {
        "`expm`, 20 x 20": (lambda m: scipy.linalg.expm(m), matrix, 1e-10),
        "`cdist`, 300 points": (lambda p: distance.cdist(p, p), points, 1e-12),
        "`CubicSpline`, 50 knots, 2,000 points": (spline, heights, 1e-10),
        "`map_coordinates`, 128 x 128": (mapped, picture, 1e-10),
        "`quad` of a function": (integral, 1.3, 1e-8),
        "`brentq`": (root, 1.7, 1e-8),
        "`solve_ivp`, RK45": (path, 2.0, 1e-6),
    }
    found = []
    for what, (function, argument, tolerance) in table.items():
        ours = jit(function)
        found.append(Pair(what, lambda f=ours, a=argument: f(a), "SciPy",
                          lambda f=function, a=argument: f(a), tolerance))  # fmt: skip
    return found
