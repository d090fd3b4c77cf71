"""Distributions of SciPy on traced values: beside SciPy's own values, and differences of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from autojit import grad, hessian, jit, trace, vmap
from autojit.errors import DerivativeError, FrozenRandomError, UncoveredFunctionError
from autojit.scipy.stats.families.family import FAMILIES
from tests.autojit.scipy.checks import assert_same, by_scipy, check_derivatives, interpreted
from tests.autojit.scipy.families import AGAIN, CONTINUOUS, DISCRETE, Row

PROBABILITIES = np.array([0.1, 0.45, 0.8])
LOC, SCALE = 0.25, 1.6
ROWS = [
    *CONTINUOUS.items(), *((f"{name} again", row) for name, row in AGAIN.items()),
    *DISCRETE.items(),
]  # fmt: skip
each_family = pytest.mark.parametrize(("name", "row"), ROWS, ids=[name for name, _ in ROWS])
OF_POINTS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
OF_PROBABILITIES = ("ppf", "isf")
OF_PARAMETERS = ("mean", "var", "std", "median", "entropy")


MOMENTS, INVERSES = {"mean", "var", "std"}, {"ppf", "isf", "median"}
DISTRIBUTIONS = {"cdf", "logcdf", "sf", "logsf"}
#: Methods without a formula: all others are covered.
MISSING = {
    "skewnorm": {"entropy"},
    "exponnorm": {"entropy"},
    "vonmises": {*OF_POINTS[4:], *OF_PROBABILITIES, *OF_PARAMETERS[:4]},
    "genextreme": {"mean", "var", "std"},
    "binom": {"entropy"}, "nbinom": {"entropy"}, "poisson": {"entropy"}, "dlaplace": {"entropy"},
    "betabinom": {*OF_POINTS[4:], "entropy"},
    "betanbinom": {*OF_POINTS[4:], "mean", "var", "std", "entropy"},
    "hypergeom": {*OF_POINTS[4:], "entropy"},
    "zipf": {*OF_POINTS[4:], "entropy"},
    "logser": {*OF_POINTS[4:], "entropy"},
    "genexpon": {"entropy", *MOMENTS},
    "genhalflogistic": MOMENTS, "tukeylambda": {"entropy", "var", "std"},
    "gompertz": {"var", "std"}, "wrapcauchy": {"var", "std"},
    "vonmises_line": {*DISTRIBUTIONS, "ppf", "isf", "var", "std"},
    "nhypergeom": {*DISTRIBUTIONS, "entropy"},
    "nchypergeom_fisher": {*DISTRIBUTIONS, "entropy"},
    "rel_breitwigner": {"entropy"},
}  # fmt: skip
#: The same by what is missing.
LACKING = [
    ({"entropy"}, "johnsonsu pearson3 crystalball jf_skew_t alpha "
     "fatiguelife ncx2 rice argus truncweibull_min boltzmann yulesimon skellam zipfian"),
    ({"entropy", *MOMENTS},
     "powernorm exponpow exponweib powerlognorm kappa3 johnsonsb kappa4"),
    ({"entropy", *DISTRIBUTIONS, *INVERSES},
     "norminvgauss genhyperbolic dpareto_lognorm geninvgauss gausshyper"),
    ({"entropy", *MOMENTS, "pdf", "logpdf"}, "ksone"), ({"entropy", *MOMENTS}, "kstwobign"),
    ({"entropy"}, "foldcauchy foldnorm recipinvgauss"),
    ({"pdf", "logpdf", "entropy", *MOMENTS}, "nct ncf"),
]  # fmt: skip
MISSING |= {name: methods for methods, names in LACKING for name in names.split()}


def covered(name: str) -> set[str]:
    """The methods of a family that have formulas."""
    every = {*OF_POINTS, *OF_PROBABILITIES, *OF_PARAMETERS}
    every -= {"pdf", "logpdf", "ppf", "isf", "median"} if name in DISCRETE else {"pmf", "logpmf"}
    return every - MISSING.get(name.split()[0], set())


class Every:
    """All methods of a distribution that are covered, in one function of everything."""

    def __init__(self, name: str, held: dict[int, float] | None = None) -> None:
        self.distribution = getattr(st, name.split()[0])
        #: Shape parameters that are no arguments, by their positions.
        self.held = held or {}
        self.names = {*OF_POINTS, *OF_PROBABILITIES, *OF_PARAMETERS}

    def __call__(self, points: Any, probabilities: Any, *parameters: Any) -> dict[str, Any]:
        given = list(parameters)
        for position, shape in self.held.items():
            given.insert(position, shape)
        parameters = tuple(given)
        found = {name: (points, *parameters) for name in OF_POINTS}
        found |= {name: (probabilities, *parameters) for name in OF_PROBABILITIES}
        found |= dict.fromkeys(OF_PARAMETERS, parameters)
        return {
            name: result
            for name, arguments in found.items()
            if name in self.names and (result := self.ask(name, *arguments)) is not None
        }

    def ask(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self.distribution, name)(*arguments)
        except UncoveredFunctionError:
            return None
        except AttributeError:  # pdf of a discrete one
            if name not in OF_POINTS:
                raise
            return None


def traced(f: Every, *arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = interpreted(f, *arguments)
    f.names = set(found)  # those that are covered
    return found


@pytest.mark.sampled(4)
@each_family
def test_values(name: str, row: Row) -> None:
    is_discrete = name in DISCRETE
    place = (1.0,) if is_discrete else (LOC, SCALE)
    points = np.array([*row.points, *row.edges, np.nan]) * place[-1]
    points = points + 1 if is_discrete else points + LOC
    q = np.array([*PROBABILITIES, -0.1, 1.1, np.nan])
    f = Every(name, {i: row.shapes[i] for i in row.plain})
    shapes = [x for i, x in enumerate(row.shapes) if i not in row.plain]
    found = traced(f, points, q, *shapes, *place)
    assert found.keys() == covered(name)
    wanted = by_scipy(f, points, q, *shapes, *place)
    for method, got in found.items():
        assert_same(got, wanted[method], method, rtol=1e-9, atol=1e-12)


@pytest.mark.sampled(36)
@each_family
def test_invalid_parameters_give_nan(name: str, row: Row) -> None:
    points = np.array([*row.points, *row.edges])
    wrong = [] if row.invalid is None else [(*row.invalid, 0.0)]
    if name not in DISCRETE:
        wrong += [(*row.shapes, 0.0, -1.0), (*row.shapes, 0.0, 0.0)]
    for parameters in wrong:
        f = Every(name, {i: parameters[i] for i in row.plain})
        shapes = [x for i, x in enumerate(parameters) if i not in row.plain]
        found = traced(f, points, PROBABILITIES, *shapes)
        for method, got in found.items():
            assert np.all(np.isnan(got)), method


@pytest.mark.sampled(8)
@each_family
def test_derivatives(name: str, row: Row) -> None:
    """Both modes, beside differences of SciPy's."""
    held = {*FAMILIES[name.split()[0]].whole, *range(row.fixed)}
    f = Every(name, {i: row.shapes[i] for i in sorted(held)})
    arguments = [PROBABILITIES, *(x for i, x in enumerate(row.shapes) if i not in held)]
    if name in DISCRETE:
        g = partial(f, np.array(row.points))
    else:
        arguments = [np.array(row.points) * SCALE + LOC, *arguments, LOC, SCALE]
        g = partial(f)
    f.names = covered(name)
    f.names = {n for n, y in by_scipy(g, *arguments).items() if np.all(np.isfinite(y))}
    check_derivatives(g, arguments)


# -- how they are called -----------------------------------------------------------------

X = np.array([0.3, 1.1, 2.7])
CALLS = {
    "positions": lambda x, a, s: st.gamma.logpdf(x, a, 0.0, s),
    "keywords": lambda x, a, s: st.gamma.logpdf(x=x, a=a, scale=s),
    "frozen with traced parameters": lambda x, a, s: st.gamma(a, scale=s).logpdf(x),
    "frozen by name": lambda x, a, s: st.gamma.freeze(a=a, scale=s).logpdf(x),
    "partial": lambda x, a, s: partial(st.gamma.logpdf, scale=s)(x, a),
    "vectorized": lambda x, a, s: np.vectorize(st.gamma.logpdf)(x, a, 0.0, s),
    "vmap": lambda x, a, s: vmap(lambda y: st.gamma.logpdf(y, a, 0.0, s))(x),
    "a list": lambda x, a, s: st.gamma.logpdf([x[0], x[1], x[2]], a, 0.0, s),
    "a method as a value": lambda x, a, s: (lambda f: f(x, a, 0.0, s))(st.gamma.logpdf),
    "without source": eval("lambda x, a, s: st.gamma.logpdf(x, a, scale=s)", {"st": st}),
    "frozen without source": eval("lambda x, a, s: st.gamma(a, scale=s).logpdf(x)", {"st": st}),
}


@pytest.mark.parametrize("call", CALLS)
def test_ways_to_call(call: str) -> None:
    def f(x: Any, a: Any, s: Any) -> Any:
        return np.sum(CALLS[call](x, a, s))

    wanted = grad(lambda x, a, s: np.sum(CALLS["positions"](x, a, s)), (0, 1, 2))(X, 2.3, 1.2)
    for got, want in zip(grad(f, (0, 1, 2))(X, 2.3, 1.2), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_frozen_with_plain_parameters() -> None:
    model = st.gamma(2.3, scale=1.2)
    wanted = grad(lambda x: st.gamma.logpdf(x, 2.3, 0.0, 1.2))(0.7)
    np.testing.assert_allclose(grad(lambda x: model.logpdf(x))(0.7), wanted)
    np.testing.assert_allclose(grad(model.logpdf)(0.7), wanted)
    np.testing.assert_allclose(grad(lambda x: x * model.mean())(0.7), 2.3 * 1.2)


def test_broadcasting_dtypes_and_compiled_code() -> None:
    x, mu = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(3, 2), np.array([0, 1])
    for f in (st.norm.logpdf, st.norm.cdf, st.logistic.sf):
        got, want = jit(f)(x, mu, 2.0), f(x, mu, 2.0)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-12)
    found = jit(lambda q, low: st.uniform.interval(q, low, [1.0, 2.0]))(0.5, 0.25)
    np.testing.assert_allclose(found, st.uniform.interval(0.5, 0.25, [1.0, 2.0]))


def test_moments_support_and_second_derivatives() -> None:
    f = jit(lambda a: (st.beta.stats(a, 2.0), st.beta.moment(2, a, 2.0), st.pareto.support(a)))
    (mean, var), second, support = f(3.0)
    np.testing.assert_allclose([mean, var, second], [0.6, 0.04, 0.4])
    assert support == (1.0, np.inf)
    h = hessian(lambda p: np.sum(st.norm.logpdf(X, p[0], p[1])))(np.array([0.5, 2.0]))
    want = [-3 / 4, -2 * np.sum(X - 0.5) / 8, 3 / 4 - 3 * np.sum((X - 0.5) ** 2) / 16]
    np.testing.assert_allclose([h[0, 0], h[0, 1], h[1, 1]], want)


def test_outside_of_the_support_the_derivative_is_zero() -> None:
    for f in (st.gamma.logpdf, st.gamma.pdf, st.lognorm.logpdf, st.invgamma.cdf):
        np.testing.assert_array_equal(grad(f, (0, 1))(-1.0, 2.0), (0, 0))


def test_the_check_of_a_scale_stays_out_of_the_loop() -> None:
    program = trace(lambda s: np.sum(st.norm.logpdf(X, 0.5, s)))(2.0)
    masks = [op for op in program.ops if op.kind.name in ("select", "gt", "lt") and op.result.shape]
    assert masks == []
    program = trace(lambda s: np.sum(st.expon.logpdf(X, scale=s)))(2.0)
    assert "select" not in {op.kind.name for op in program.ops if op.result.shape}


# -- what is refused ---------------------------------------------------------------------

REFUSED = {
    "scipy.stats.nct.pdf of traced values is not covered": lambda x: st.nct.pdf(0.5, 2.0, x),
    "scipy.stats.landau.pdf of traced values is not covered": lambda x: st.landau.pdf(x),
    "scipy.stats.geninvgauss.ppf of traced values": lambda x: st.geninvgauss.ppf(0.5, 1.0, x),
    "scipy.stats.poisson.ppf of traced values": lambda x: st.poisson.ppf(0.5, x),
    "scipy.stats.norm.expect of traced values": lambda x: st.norm(x).expect(),
    "scipy.stats.norm.fit of traced values": lambda x: st.norm.fit([x, x]),
    "scipy.stats.norm.stats(moments='s') of": lambda x: st.norm.stats(x, moments="s"),
    "scipy.stats.norm.moment(3) of": lambda x: st.norm.moment(3, x),
    "scipy.stats.vonmises_line.cdf of": lambda x: st.vonmises_line.cdf(x, 1.0),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words: str) -> None:
    with pytest.raises(UncoveredFunctionError) as caught:
        trace(REFUSED[words])(0.5)
    assert words in str(caught.value)
    assert "test_distributions.py" in str(caught.value)


@pytest.mark.parametrize(
    "f", [lambda x: st.norm.rvs(x, size=3), lambda x: st.poisson(x).rvs(size=3)]
)
def test_samples_are_refused(f: Any) -> None:
    with pytest.raises(FrozenRandomError, match=r"rvs draws numbers, which would become const"):
        trace(f)(0.5)


@pytest.mark.parametrize(
    "f", [lambda k: st.poisson.logpmf(k, 2.0), lambda n: st.binom.pmf(2, n, 0.5)]
)
def test_there_is_no_derivative_by_an_integer(f: Any) -> None:
    with pytest.raises(DerivativeError, match="has to be an integer") as caught:
        grad(f)(4.0)
    assert "k = autojit.stop_gradient(k)" in str(caught.value)
    jit(f)(4.0)


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(TypeError, match="gamma lacks a shape parameter: a"):
        trace(lambda x: st.gamma.logpdf(x))(1.0)
    with pytest.raises(TypeError, match="norm takes loc, scale, and 3 numbers were given"):
        trace(lambda x: st.norm.logpdf(x, 0.0, 1.0, 2.0))(1.0)
    with pytest.raises(TypeError, match="norm got 'mu' twice, or has no such parameter"):
        trace(lambda x: st.norm.logpdf(x, mu=0.0))(1.0)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        trace(lambda x: st.norm.interval(1.5, x))(1.0)


class Own(type(st.norm)):  # type: ignore[misc]
    """A user's distribution."""


def test_a_users_distribution_is_not_scipys() -> None:
    own = Own(name="norm")
    with pytest.raises(UncoveredFunctionError, match=r"Own\.logpdf of traced values is not"):
        trace(lambda x: own.logpdf(x))(1.0)
    shifted = type(st.norm)(a=0.0, name="norm")
    with pytest.raises(UncoveredFunctionError, match=r"norm\.logpdf of traced values is not"):
        trace(lambda x: shifted.logpdf(x))(1.0)


# -- borders -----------------------------------------------------------------------------

FINITE = sorted(n for n, family in FAMILIES.items() if family.is_finite and n in CONTINUOUS)


@pytest.mark.parametrize("name", FINITE)
def test_at_infinity(name: str) -> None:
    """Where the formulas have none: all lies below infinity, and nothing at it."""
    d, shapes = getattr(st, name), CONTINUOUS[name].shapes
    for method, want in (("cdf", 1), ("sf", 0), ("pdf", 0), ("logpdf", -np.inf)):
        if method not in covered(name):
            continue
        f = getattr(d, method)
        assert interpreted(lambda x, *a, f=f: f(x, *a), np.inf, *shapes) == want, method


def test_the_density_of_ncx2_by_its_degrees_of_freedom() -> None:
    f = lambda df: st.ncx2.logpdf(1.7, df, 1.3)  # noqa: E731
    for df in (0.8, 2.0, 7.4):
        difference = (f(df + 1e-4) - f(df - 1e-4)) / 2e-4
        np.testing.assert_allclose(grad(f)(df), difference, rtol=1e-7, atol=1e-9)


def test_student_of_infinite_freedom_is_normal() -> None:
    x, df = np.array([0.3, 0.7, -1.2]), np.array([3.0, np.inf, np.inf])
    for method in ("logpdf", "cdf", "sf"):
        f = getattr(st.t, method)
        np.testing.assert_allclose(interpreted(f, x, df), f(x, df), rtol=1e-12)
    of_numbers = lambda df: (st.t.ppf(0.3, df), st.t.var(df), st.t.entropy(df))  # noqa: E731
    np.testing.assert_allclose(interpreted(of_numbers, np.inf), of_numbers(np.inf))
    np.testing.assert_allclose(grad(st.t.logpdf, (0, 1))(0.7, np.inf), (-0.7, 0.0))


@pytest.mark.parametrize("name", ["cauchy", "t", "hypsecant", "halfcauchy", "laplace", "gennorm"])
def test_all_of_the_mass_reaches_to_infinity(name: str) -> None:
    d, shapes = getattr(st, name), CONTINUOUS[name].shapes
    q = np.array([0.0, 1e-12, 0.3, 0.5, 0.8, 1.0])
    for f in (d.ppf, d.isf):
        got = interpreted(lambda q, *a, f=f: f(q, *a), q, *shapes)
        np.testing.assert_allclose(got, f(q, *shapes), rtol=1e-11, atol=1e-15)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["laplace", "gennorm"])
def test_derivatives_at_the_peak(name: str) -> None:
    """A density has a corner there, a distribution function has none."""
    d, shapes = getattr(st, name), CONTINUOUS[name].shapes
    peak = d.pdf(0.0, *shapes)
    at_zero = {"cdf": peak, "sf": -peak, "logcdf": 2 * peak, "logsf": -2 * peak}
    at_half = {"ppf": 1 / peak, "isf": -1 / peak}
    for point, wanted in ((0.0, at_zero), (0.5, at_half)):
        for method, want in wanted.items():
            f = getattr(d, method)
            got = grad(lambda x, f=f: f(x, *shapes))(point)
            np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=method)
    by_shape = [grad(lambda a, f=f: f(0.0, a))(*shapes) for f in (d.cdf, d.sf) if shapes]
    assert by_shape == [0.0] * len(by_shape)


def test_tails_of_gennorm() -> None:
    x = np.array([8.8, 13.9, 22.1])
    for f, sign in ((st.gennorm.sf, 1), (st.gennorm.cdf, -1)):
        got = interpreted(lambda x, f=f: f(x, 1.3), sign * x)
        np.testing.assert_allclose(got, f(sign * x, 1.3), rtol=1e-12)


def test_densities_at_ends_that_depend_on_a_shape() -> None:
    for d, sign in ((st.genextreme, 1), (st.genpareto, -1)):
        for c in (-2.0, -1.0, -0.3, 0.3, 1.0, 2.0):
            if sign * c > 0 or d is st.genextreme:
                got = interpreted(lambda x, c, d=d: d.logpdf(x, c), sign / c, c)
                assert got == d.logpdf(sign / c, c), c


@pytest.mark.parametrize("d", [st.alpha(3.57), st.alpha(2.0), st.nct(5.0, 0.3)])
def test_quantiles_at_the_ends_are_the_ends_of_the_support(d: Any) -> None:
    q = np.array([0.0, 0.3, 1.0])
    for f in (d.ppf, d.isf):
        np.testing.assert_allclose(jit(lambda q, f=f: f(q))(q), f(q), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "shapes", "method"),
    [
        ("nakagami", (1.5e3,), "entropy"), ("f", (30.0, 2.5), "entropy"),
        ("invgauss", (0.01,), "entropy"), ("mielke", (3.0, 0.8), "entropy"),
        ("fisk", (0.8,), "mean"), ("fisk", (1.5,), "var"), ("burr12", (1.0, 1.5), "var"),
        ("burr12", (1.0, 1.5), "mean"), ("zipf", (2.6,), "var"), ("logser", (0.99,), "var"),
    ],
)  # fmt: skip
def test_closed_forms_far_from_one(name: str, shapes: tuple[float, ...], method: str) -> None:
    of = getattr(getattr(st, name), method)
    want = of(*shapes)
    np.testing.assert_allclose(trace(lambda *s: of(*s))(*shapes)(*shapes), want, rtol=1e-9)
