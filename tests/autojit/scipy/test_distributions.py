"""Distributions of SciPy on traced values: beside SciPy's own values, and differences of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
import scipy.stats as st

from autojit import grad, hessian, jacfwd, jacrev, jit, trace, vmap
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


INVERSES, DISTRIBUTIONS = {"ppf", "isf", "median"}, {"cdf", "logcdf", "sf", "logsf"}
#: Methods without a formula: all others are covered.
MISSING = {
    "vonmises": {*DISTRIBUTIONS, *INVERSES},
    "betabinom": DISTRIBUTIONS, "hypergeom": DISTRIBUTIONS, "logser": DISTRIBUTIONS,
    "betanbinom": {*DISTRIBUTIONS, "entropy"}, "zipf": {*DISTRIBUTIONS, "entropy"},
    "yulesimon": {"entropy"},
    "vonmises_line": {*DISTRIBUTIONS, "ppf", "isf"},
    "nhypergeom": DISTRIBUTIONS, "nchypergeom_fisher": DISTRIBUTIONS,
    "ksone": {"entropy", "mean", "var", "std", "pdf", "logpdf"},
}  # fmt: skip
#: More families, grouped by the methods that they lack.
LACKING = [
    ({*DISTRIBUTIONS, *INVERSES},
     "norminvgauss genhyperbolic dpareto_lognorm geninvgauss gausshyper"),
    ({"pdf", "logpdf", "entropy"}, "nct ncf"),
]  # fmt: skip
MISSING |= {name: methods for methods, names in LACKING for name in names.split()}


def integrated(name: str) -> set[str]:
    """Return a family's methods that integrate as SciPy's do, with a larger error."""
    family = FAMILIES[name.split()[0]]
    found = {n for n in ("mean", "var", "entropy") if getattr(family, n) is None}
    return found | ({"std"} if "var" in found else set())


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


@pytest.mark.sampled(24)
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
        near = (1e-8, 1e-9) if method in integrated(name) else (1e-9, 1e-12)
        assert_same(got, wanted[method], method, rtol=near[0], atol=near[1])


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


@pytest.mark.sampled(40)
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
    f.names = covered(name) - integrated(name)
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


# -- integrals, beside those of mpmath -----------------------------------------------------

#: A family, its shape parameters, the logarithm of its density, and where the integral is split.
INTEGRALS: dict[str, tuple[tuple[float, ...], Any, list[Any]]] = {
    "skewnorm": (
        (40.0,),
        lambda x, a: mp.log(2) - x * x / 2 - mp.log(2 * mp.pi) / 2 + mp.log(mp.ncdf(a * x)),
        [-1, -0.1, 0, 0.1, 1, 4, 9],
    ),
    "exponpow": (
        (1.4,),
        lambda x, b: 1 + mp.log(b) + (b - 1) * mp.log(x) + x**b - mp.exp(x**b),
        [0, 0.01, 0.3, 1, 2, 3],
    ),
    "johnsonsb": (
        (0.3, 1.4),
        lambda x, a, b: (
            mp.log(b / x / (1 - x)) - mp.log(2 * mp.pi) / 2 - (a + b * mp.log(x / (1 - x))) ** 2 / 2
        ),
        [0, 0.05, 0.5, 0.95, 1],
    ),
    "genhalflogistic": (
        (0.4,),
        lambda x, c: (
            mp.log(2)
            + (1 / c - 1) * mp.log(abs(1 - c * x))
            - 2 * mp.log(1 + abs(1 - c * x) ** (1 / c))
        ),
        [0, 1, lambda c: 1 / c],
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals_and_their_derivatives(name: str) -> None:
    """Moments and the entropy have correct values and derivatives by each shape parameter."""
    with mp.workdps(24):
        _check_integrals(name)


def _check_integrals(name: str) -> None:
    shapes, log_density, ends = INTEGRALS[name]
    distribution = getattr(st, name)

    def moments(*a: Any) -> Any:
        third = distribution.moment(3, *a)
        return np.stack(
            [distribution.mean(*a), distribution.var(*a), distribution.entropy(*a), third]
        )

    def wanted(*a: Any) -> list[Any]:
        at = [end(*a) if callable(end) else end for end in ends]

        def mean(g: Any) -> Any:
            return mp.quad(lambda x: g(x) * mp.exp(log_density(x, *a)), at)

        m = mean(lambda x: x)
        return [m, mean(lambda x: (x - m) ** 2), -mean(lambda x: log_density(x, *a)),
                mean(lambda x: x**3)]  # fmt: skip

    found = interpreted(moments, *shapes)
    np.testing.assert_allclose(found, list(map(float, wanted(*shapes))), rtol=1e-11)
    slopes = interpreted(jacfwd(moments, tuple(range(len(shapes)))), *shapes)
    h = mp.mpf("1e-6")
    for i, slope in enumerate(slopes):
        sides = [wanted(*(mp.mpf(x) + (s if j == i else 0) for j, x in enumerate(shapes)))
                 for s in (h, -h)]  # fmt: skip
        want = [float((a - b) / (2 * h)) for a, b in zip(*sides, strict=True)]
        np.testing.assert_allclose(slope, want, rtol=1e-9, atol=1e-13)


def test_what_an_integral_does_not_reach_is_nan() -> None:
    def f(a: Any, b: Any) -> Any:
        return st.kappa3.var(a), st.kappa3.mean(a), st.exponpow.entropy(b), st.kappa3.entropy(-a)

    found = interpreted(f, 1.4, 40.0)
    assert np.isnan(found[0])  # which does not exist
    assert np.isfinite(found[1])
    assert np.isnan(found[2])  # the density is not met by the nodes
    assert np.isnan(found[3])


def test_entropies_of_integers_and_their_derivatives() -> None:
    def f(mu: Any, p: Any) -> Any:
        return st.poisson.entropy(mu), st.nbinom.entropy(3.5, p), st.skellam.entropy(mu[0], 1.5)

    mu, p, h = np.array([0.7, 40.0, 2e4]), 0.4, 1e-6
    k = np.arange(40_000)

    def by_sum(masses: Any) -> Any:
        return st.entropy(masses, axis=-1)

    def wanted(mu: Any, p: Any) -> Any:
        return [
            by_sum(st.poisson.pmf(k, mu[:, None])), by_sum(st.nbinom.pmf(k[:400], 3.5, p)),
            by_sum(st.skellam.pmf(np.arange(-90, 90), mu[0], 1.5)),
        ]  # fmt: skip

    for got, want in zip(jit(f)(mu, p), wanted(mu, p), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    slopes = jit(grad(lambda mu, p: sum(map(np.sum, f(mu, p))), (0, 1)))(mu, p)
    step = np.eye(3)[:2] * h
    want = [sum(map(np.sum, wanted(mu + s, p))) - sum(map(np.sum, wanted(mu - s, p))) for s in step]
    np.testing.assert_allclose(slopes[0][:2], np.array(want) / (2 * h), rtol=1e-5)
    np.testing.assert_allclose(slopes[0][2], 0.5 / mu[2], rtol=1e-3)  # of log(2 pi e mu) / 2
    want = (wanted(mu, p + h)[1] - wanted(mu, p - h)[1]) / (2 * h)
    np.testing.assert_allclose(slopes[1], want, rtol=1e-5)


# -- draws ---------------------------------------------------------------------------------

GENERATOR = np.random.default_rng(0)


def test_draws_are_scipys_and_have_derivatives() -> None:
    def f(loc: Any, scale: Any, a: Any) -> Any:
        rng = np.random.default_rng(4)
        return (
            st.norm.rvs(loc, scale, size=3, random_state=1), st.norm(loc).rvs((2, 1), 2),
            st.t.rvs(3.5, loc, scale, 2, random_state=rng), st.gamma(a).rvs(4, random_state=3),
            st.beta.rvs(a, 2.0, scale=scale, random_state=np.int64(3)),
            loc * st.poisson.rvs(3.0, size=2, random_state=0),
        )  # fmt: skip

    at = 0.5, 2.0, 1.7
    for got, want in zip(jit(f)(*at), f(*at), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
    by_scale, by_shape = jit(jacfwd(f, (1, 2)))(*at)[2][0], jit(jacrev(f, 2))(*at)
    standard = st.t.rvs(3.5, size=2, random_state=np.random.default_rng(4))
    np.testing.assert_allclose(by_scale, standard, rtol=1e-14)
    z, h = st.gamma.rvs(1.7, size=4, random_state=3), 1e-5
    level = st.gamma.cdf(z, 1.7)
    want = (st.gamma.ppf(level, 1.7 + h) - st.gamma.ppf(level, 1.7 - h)) / (2 * h)
    np.testing.assert_allclose(by_shape[3], want, rtol=1e-8)
    level = st.beta.cdf(st.beta.rvs(1.7, 2.0, random_state=3), 1.7, 2.0)
    want = (st.beta.ppf(level, 1.7 + h, 2.0) - st.beta.ppf(level, 1.7 - h, 2.0)) / (2 * h)
    np.testing.assert_allclose(by_shape[4], 2.0 * want, rtol=1e-8)
    many = vmap(lambda a: st.gamma.rvs(a, size=4, random_state=3))(np.array([1.7, 0.4]))
    np.testing.assert_allclose(many[0], z)
    np.random.seed(5)
    one = st.norm.rvs(size=2)
    np.random.seed(5)
    slope = grad(lambda s: np.sum(st.norm.rvs(0.0, s, size=2)))(2.0)  # drawn for one call alone
    np.testing.assert_allclose(slope, np.sum(one))
    with pytest.raises(ValueError, match=r"size \(2,\) does not match the broadcast shape"):
        trace(lambda x: st.norm.rvs(x, size=2, random_state=0))(np.ones(3))


# -- what is refused ---------------------------------------------------------------------

REFUSED = {
    "scipy.stats.nct.pdf of traced values is not covered": lambda x: st.nct.pdf(0.5, 2.0, x),
    "scipy.stats.landau.pdf of traced values is not covered": lambda x: st.landau.pdf(x),
    "scipy.stats.geninvgauss.ppf of traced values": lambda x: st.geninvgauss.ppf(0.5, 1.0, x),
    "scipy.stats.poisson.ppf of traced values": lambda x: st.poisson.ppf(0.5, x),
    "scipy.stats.norm.expect of traced values": lambda x: st.norm(x).expect(),
    "scipy.stats.norm.fit of traced values": lambda x: st.norm.fit([x, x]),
    "scipy.stats.weibull_min.fit of traced": lambda x: st.weibull_min.fit([x, x]),
    "scipy.stats.poisson.rvs of traced": lambda x: st.poisson.rvs(x, random_state=0),
    "scipy.stats.zipf.entropy of": lambda x: st.zipf.entropy(x),
    "scipy.stats.vonmises_line.cdf of": lambda x: st.vonmises_line.cdf(x, 1.0),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words: str) -> None:
    with pytest.raises(UncoveredFunctionError) as caught:
        trace(REFUSED[words])(0.5)
    assert words in str(caught.value)
    assert "test_distributions.py" in str(caught.value)


@pytest.mark.parametrize(
    "f",
    [lambda x: st.norm.rvs(x, size=3), lambda x: st.poisson(x).rvs(size=3),
     lambda x: x * st.norm.rvs(size=3), lambda x: x * st.poisson(2.0).rvs(size=3),
     lambda x: st.norm.rvs(x, random_state=GENERATOR)],
)  # fmt: skip
def test_samples_are_refused(f: Any) -> None:
    with pytest.raises(FrozenRandomError, match=r"rvs draws would become const"):
        trace(f)(0.5)


@pytest.mark.parametrize(
    "f", [lambda k: st.poisson.logpmf(k, 2.0), lambda n: st.binom.pmf(2, n, 0.5)]
)
def test_there_is_no_derivative_by_an_integer(f: Any) -> None:
    with pytest.raises(DerivativeError, match="must be an integer") as caught:
        grad(f)(4.0)
    assert "k = autojit.stop_gradient(k)" in str(caught.value)
    jit(f)(4.0)


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(TypeError, match="gamma is missing a shape parameter: a"):
        trace(lambda x: st.gamma.logpdf(x))(1.0)
    with pytest.raises(TypeError, match="norm takes loc, scale, but 3 arguments were given"):
        trace(lambda x: st.norm.logpdf(x, 0.0, 1.0, 2.0))(1.0)
    with pytest.raises(TypeError, match="norm got 'mu' twice, or has no parameter of this name"):
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
    """At infinity, where the formulas have no value, cdf is 1, and sf and pdf are 0."""
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
    """The density has a corner at the peak; the distribution function is smooth there."""
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


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("beta", (2.31, 0.627)), ("beta", (0.5, 0.5)), ("arcsine", ()), ("rdist", (1.2,)),
        ("genpareto", (-1.5,)), ("genpareto", (0.1,)), ("genpareto", (0.3,)), ("triang", (0.4,)),
        ("powerlaw", (0.4,)), ("gamma", (0.3,)),
    ],
)  # fmt: skip
def test_skewness_and_kurtosis(name: str, shapes: tuple[float, ...]) -> None:
    """Also where the density is infinite at an end of the support, or has a kink."""
    family = getattr(st, name)

    def moments(loc: Any, *shapes: Any) -> Any:
        return family(*shapes, loc=loc).stats("sk")

    got = interpreted(moments, 1.0, *shapes)
    np.testing.assert_allclose(got, family.stats(*shapes, moments="sk"), rtol=1e-7, atol=1e-9)
