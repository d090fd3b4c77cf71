"""What authors of such programs write and autojit does not cover yet, each with its message.

`python -m bench.programs.not_covered` prints the list of README.md; what it runs without an error
is covered by now and leaves the list.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import numpy as np

X = np.array([0.7, 1.3, 2.1, 0.4])
M = np.eye(4) + 0.1 * np.arange(16.0).reshape(4, 4)


def largest_at(x: Any) -> Any:
    out = np.zeros(3)
    np.maximum.at(out, np.array([0, 2, 1, 0]), x)
    return np.sum(out)


#: Functions of one array, and who wants them.
OF_ONE_ARRAY = {
    "scipy.special.gammaln": "counts: Dirichlet-multinomial, negative binomial, Student's t",
    "scipy.special.digamma": "variational Bayes",
    "scipy.special.ndtri": "copulas, transforms to normal scores",
    "scipy.special.log_ndtr": "probit, censored regression",
    "scipy.special.erfinv": "quantiles of the normal distribution",
    "scipy.special.i0e": "von Mises distribution",
    "scipy.special.j0": "diffraction, optics",
    "scipy.special.entr": "entropies",
    "scipy.special.logsumexp": "mixtures (autojit.scipy.special has it)",
    "scipy.special.softmax": "classifiers (autojit.scipy.special has it)",
    "scipy.special.log_softmax": "classifiers (autojit.scipy.special has it)",
    "scipy.linalg.toeplitz": "stationary covariances",
    "scipy.integrate.trapezoid": "integrals on a grid (np.trapezoid is covered)",
    "scipy.integrate.simpson": "integrals on a grid",
    "scipy.integrate.cumulative_trapezoid": "integrals on a grid",
    "scipy.stats.norm.logpdf": "likelihoods",
    "scipy.stats.norm.cdf": "option prices, probit",
    "numpy.fft.fft": "phase retrieval, spectral methods",
    "numpy.fft.rfft": "spectral filters",
    "numpy.unwrap": "phases",
    "numpy.i0": "Kaiser windows",
    "numpy.diagflat": "matrices from vectors",
    "numpy.lexsort": "orders with ties",
}

#: Other texts, and who wants them.
TEXTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "scipy.special.betaln(x, 2)": (
        "beta-binomial counts", lambda x: resolve_name("scipy.special.betaln")(x, 2.0)),
    "scipy.special.kv(1.5, x)": (
        "Matern kernels", lambda x: resolve_name("scipy.special.kv")(1.5, x)),
    "scipy.special.gammainc(2, x)": (
        "gamma survival", lambda x: resolve_name("scipy.special.gammainc")(2.0, x)),
    "scipy.special.rel_entr(x, y)": (
        "divergences", lambda x: resolve_name("scipy.special.rel_entr")(x, 2 * x)),
    "scipy.linalg.expm(m)": (
        "continuous-time Markov chains", lambda x: resolve_name("scipy.linalg.expm")(M * x[0])),
    "scipy.linalg.sqrtm(m)": (
        "Wasserstein distances", lambda x: resolve_name("scipy.linalg.sqrtm")(M @ M.T * x[0])),
    "scipy.linalg.solve_banded(…)": (
        "beams, splines, implicit steps", lambda x: resolve_name("scipy.linalg.solve_banded")(
            (1, 1), np.stack([x, 4 + x, x]), x)),
    "scipy.linalg.solve_triangular(l, x)": (
        "Gaussian processes (autojit.scipy.linalg has it)",
        lambda x: resolve_name("scipy.linalg.solve_triangular")(np.tril(M), x, lower=True)),
    "scipy.linalg.cho_factor(m)": (
        "Gaussian processes (autojit.scipy.linalg has it)",
        lambda x: resolve_name("scipy.linalg.cho_factor")(M @ M.T + x[0] * np.eye(4))[0]),
    "scipy.linalg.block_diag(a, b)": (
        "state-space models", lambda x: resolve_name("scipy.linalg.block_diag")(M * x[0], M)),
    "np.linalg.solve(complex, x)": (
        "vibrations with damping, circuits", lambda x: np.abs(np.linalg.solve(x[0] * M + 1j, x))),
    "np.linalg.eig(m)": (
        "stability", lambda x: np.real(np.linalg.eig(M * x)[0])),
    "scipy.stats.multivariate_normal.logpdf(x, …)": (
        "likelihoods", lambda x: resolve_name("scipy.stats.multivariate_normal").logpdf(
            x, np.zeros(4), M @ M.T)),
    "scipy.signal.convolve2d(picture, taps)": (
        "deblurring", lambda x: resolve_name("scipy.signal.convolve2d")(
            np.outer(x, x), np.ones((2, 2)))),
    "scipy.signal.fftconvolve(x, y)": (
        "deconvolution", lambda x: resolve_name("scipy.signal.fftconvolve")(x, x)),
    "scipy.signal.lfilter(b, a, x)": (
        "filters, ARMA", lambda x: resolve_name("scipy.signal.lfilter")([1.0], [1.0, -0.5], x)),
    "scipy.ndimage.gaussian_filter(picture, 1)": (
        "pictures", lambda x: resolve_name("scipy.ndimage.gaussian_filter")(np.outer(x, x), 1.0)),
    "scipy.ndimage.map_coordinates(picture, …)": (
        "registration", lambda x: resolve_name("scipy.ndimage.map_coordinates")(
            M, np.stack([x, x]), order=1)),
    "scipy.interpolate.CubicSpline(t, x)": (
        "yield curves", lambda x: resolve_name("scipy.interpolate.CubicSpline")(
            np.arange(4.0), x)(0.5)),
    "scipy.spatial.distance.cdist(x, y)": (
        "kernels", lambda x: resolve_name("scipy.spatial.distance.cdist")(x[:, None], M[:, :1])),
    "scipy.spatial.transform.Rotation.from_rotvec(x)": (
        "cameras", lambda x: resolve_name("scipy.spatial.transform.Rotation").from_rotvec(
            x[:3]).as_matrix()),
    "scipy.integrate.quad(f, 0, 1)": (
        "expectations", lambda x: resolve_name("scipy.integrate.quad")(
            lambda t: np.exp(-t * x[0]), 0, 1)[0]),
    "scipy.integrate.solve_ivp(f, …)": (
        "kinetics (autojit.ode has it)", lambda x: resolve_name("scipy.integrate.solve_ivp")(
            lambda t, y: -x[0] * y, (0, 1), [1.0]).y),
    "scipy.optimize.brentq(f, a, b)": (
        "implied volatility (custom_root is the way)",
        lambda x: resolve_name("scipy.optimize.brentq")(lambda t: t**2 - x[0], 0, 3)),
    "scipy.sparse.csr_matrix(m) @ x": (
        "finite elements, graphs", lambda x: resolve_name("scipy.sparse.csr_matrix")(M) @ x),
    "np.add.reduceat(x, starts)": (
        "sums of groups in order", lambda x: np.add.reduceat(x, [0, 2])),
    "np.maximum.at(out, index, x)": ("graphs: the largest message", largest_at),
    "np.histogram(data, weights=x)": (
        "binned likelihoods", lambda x: np.histogram([0.1, 0.2, 0.5, 0.7], 3, weights=x)[0]),
    "np.polyfit(t, x, 1)": ("trends", lambda x: np.polyfit(np.arange(4.0), x, 1)),
    "np.polynomial.chebyshev.chebval(t, x)": (
        "spectral methods", lambda x: np.polynomial.chebyshev.chebval(np.arange(3) / 3, x)),
    "np.apply_along_axis(f, 0, m)": (
        "row-wise code", lambda x: np.apply_along_axis(lambda r: r * r.sum(), 0, np.outer(x, x))),
    "np.piecewise(x, …)": (
        "laws with cases", lambda x: np.piecewise(x, [x < 1], [lambda t: t**2, lambda t: 3 * t])),
    "np.choose(index, …)": (
        "laws with cases", lambda x: np.choose((x > 1).astype(int), [x**2, 3 * x])),
    "np.digitize(x, edges)": (
        "tables (np.searchsorted is covered)", lambda x: np.digitize(x, [0.5, 1.5]) * x),
    "np.partition(x, 2)": ("trimmed means", lambda x: np.partition(x, 2)[:2]),
    "np.geomspace(x, y, 5)": ("grids", lambda x: np.geomspace(x[0], x[1], 5)),
    "np.r_[x, 0]": ("ends put on", lambda x: np.r_[x, 0.0]),
    "np.c_[x, y]": ("columns side by side", lambda x: np.c_[x, x]),
    "np.ma.masked_array(x, mask)": (
        "missing data", lambda x: np.ma.masked_array(x, [0, 1, 0, 0]).sum()),
    "np.lib.stride_tricks.as_strided(x, …)": (
        "windows (sliding_window_view is covered)",
        lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))),
    "np.ndenumerate(x)": ("loops over entries", lambda x: sum(v for _, v in np.ndenumerate(x))),
    "x[x > 1]": ("observed data", lambda x: x[x > 1]),
}  # fmt: skip


def message(text: Callable[[Any], Any]) -> str | None:
    """The first line of the error of a gradient; None where there is no error."""
    import autojit

    text(X)  # NumPy and SciPy take it
    try:
        autojit.jit(autojit.grad(lambda x: np.sum(text(x))))(X)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None


def texts() -> dict[str, tuple[str, Callable[[Any], Any]]]:
    simple = {f"{path}(x)": (who, resolve_name(path)) for path, who in OF_ONE_ARRAY.items()}
    return {**simple, **TEXTS}


def main() -> None:
    warnings.simplefilter("ignore")
    for title, (who, text) in texts().items():
        print(f"| `{title}` | {who} | {message(text) or 'covered by now: take it off the list'} |")


if __name__ == "__main__":
    main()
