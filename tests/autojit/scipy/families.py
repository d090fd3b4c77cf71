"""One row for each family of distributions: shape parameters, and points where it is tested."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """``shapes`` are valid shape parameters, ``points`` lie inside of the support (at location 0
    and scale 1), and each of ``edges`` at an end of it, outside of it, or at infinity; ``invalid``
    are shape parameters that SciPy refuses; ``fixed`` counts the first shape parameters that are
    real numbers by which there is no derivative."""

    shapes: tuple[float, ...]
    points: tuple[float, ...]
    edges: tuple[float, ...]
    invalid: tuple[float, ...] | None = None
    fixed: int = 0
    #: The positions of shape parameters that must be known when a function is traced.
    plain: tuple[int, ...] = ()


INF = float("inf")
LINE, HALF, UNIT = (-INF, INF), (-1.0, 0.0, INF), (-0.5, 0.0, 1.0, 1.5)
SPREAD, RIGHT, WITHIN = (-1.3, 0.4, 2.1), (0.3, 1.1, 2.7), (0.2, 0.55, 0.9)

CONTINUOUS = {
    "norm": Row((), SPREAD, LINE),
    "cauchy": Row((), SPREAD, LINE),
    "laplace": Row((), SPREAD, LINE),
    "logistic": Row((), SPREAD, LINE),
    "gumbel_r": Row((), SPREAD, (INF,)),
    "gumbel_l": Row((), SPREAD, (-INF,)),
    "t": Row((3.5,), SPREAD, LINE, (-1.0,)),
    "skewnorm": Row((1.5,), SPREAD, LINE),
    "exponnorm": Row((0.7,), SPREAD, (), (-1.0,)),
    "gennorm": Row((1.3,), SPREAD, LINE, (0.0,)),
    "hypsecant": Row((), SPREAD, LINE),
    "vonmises": Row((1.7,), SPREAD, (), (-1.0,)),
    "expon": Row((), RIGHT, HALF),
    "gamma": Row((2.3,), RIGHT, HALF[:2], (-1.0,)),
    "invgamma": Row((4.3,), RIGHT, (-1.0,), (0.0,)),
    "chi2": Row((3.3,), RIGHT, HALF[:2], (-1.0,)),
    "chi": Row((3.3,), RIGHT, HALF[:2], (-1.0,)),
    "lognorm": Row((0.8,), RIGHT, (-1.0, 0.0), (-1.0,)),
    "halfnorm": Row((), RIGHT, HALF),
    "halfcauchy": Row((), RIGHT, HALF),
    "halflogistic": Row((), RIGHT, HALF),
    "weibull_min": Row((1.7,), RIGHT, HALF[:2], (-1.0,)),
    "invweibull": Row((2.7,), RIGHT, (-1.0,), (-1.0,)),
    "pareto": Row((2.6,), (1.2, 1.9, 4.0), (0.5, 1.0), (-1.0,)),
    "lomax": Row((2.6,), RIGHT, HALF[:2], (-1.0,)),
    "f": Row((3.5, 7.2), RIGHT, HALF[:2], (1.0, -1.0)),
    "invgauss": Row((0.8,), RIGHT, (-1.0,), (-1.0,)),
    "wald": Row((), RIGHT, (-1.0,)),
    "rayleigh": Row((), RIGHT, HALF[:2]),
    "maxwell": Row((), RIGHT, HALF[:2]),
    "levy": Row((), RIGHT, (-1.0,)),
    "fisk": Row((2.4,), RIGHT, (-1.0,), (-1.0,)),
    "nakagami": Row((1.6,), RIGHT, HALF[:2], (-1.0,)),
    "betaprime": Row((2.2, 3.1), RIGHT, HALF[:2], (-1.0, 1.0)),
    "burr12": Row((1.8, 2.1), RIGHT, HALF[:2], (-1.0, 1.0)),
    "uniform": Row((), WITHIN, UNIT),
    "beta": Row((2.2, 1.4), WITHIN, UNIT, (1.0, -1.0)),
    "triang": Row((0.35,), WITHIN, (-0.5, 1.5), (1.5,)),
    "powerlaw": Row((1.6,), WITHIN, UNIT, (-1.0,)),
    "loguniform": Row((0.1, 1.3), WITHIN, (0.05, 1.5), (2.0, 1.0)),
    "reciprocal": Row((0.1, 1.3), WITHIN, (0.05, 1.5), (2.0, 1.0)),
    "truncnorm": Row((-0.6, 1.9), (-0.4, 0.3, 1.7), (-0.7, 2.0), (1.0, -1.0)),
    "weibull_max": Row((1.7,), (-2.7, -1.1, -0.3), (0.5,), (-1.0,)),
    "genextreme": Row((0.3,), (-1.3, 0.4, 2.1), (3.5,)),
    "genpareto": Row((-0.2,), (0.3, 1.1, 2.7), (-0.5, 5.5)),
    "genlogistic": Row((1.7,), SPREAD, LINE, (-1.0,)),
    "moyal": Row((), SPREAD, (INF,)),
    "powernorm": Row((2.4,), SPREAD, LINE, (-1.0,)),
    "johnsonsu": Row((0.3, 1.8), SPREAD, LINE, (0.3, -1.0)),
    "norminvgauss": Row((1.9, 0.6), SPREAD, LINE, (1.0, 1.5)),
    "genhyperbolic": Row((0.7, 1.9, 0.6), SPREAD, (), (0.7, 1.0, 1.5)),
    "loggamma": Row((1.4,), (*SPREAD, -12.0), (-INF,), (-1.0,)),
    "pearson3": Row((0.7,), SPREAD, (-3.0,)),
    "laplace_asymmetric": Row((1.4,), SPREAD, LINE, (-1.0,)),
    "skewcauchy": Row((0.4,), SPREAD, LINE, (1.5,)),
    "crystalball": Row((1.1, 3.7), SPREAD, LINE, (1.1, 0.5)),
    "jf_skew_t": Row((1.9, 2.6), SPREAD, (), (-1.0, 1.0)),
    "dgamma": Row((1.6,), SPREAD, (), (-1.0,)),
    "dweibull": Row((1.6,), SPREAD, (), (-1.0,)),
    "nct": Row((3.5, 0.7), SPREAD, (), (-1.0, 0.7), fixed=2),
    "erlang": Row((2.0,), RIGHT, HALF[:2], (-1.0,)),
    "alpha": Row((1.3,), RIGHT, (-1.0, 0.0), (-1.0,)),
    "exponpow": Row((1.4,), RIGHT[:2], HALF[:2], (-1.0,)),
    "exponweib": Row((1.6, 1.3), RIGHT, HALF[:2], (1.0, -1.0)),
    "gengamma": Row((2.2, 1.3), RIGHT, HALF[:2], (1.0, 0.0)),
    "halfgennorm": Row((1.3,), RIGHT, HALF, (-1.0,)),
    "gompertz": Row((0.8,), RIGHT, HALF[:2], (-1.0,)),
    "genexpon": Row((0.8, 1.2, 0.7), RIGHT, HALF, (1.0, 1.0, -1.0)),
    "gibrat": Row((), RIGHT, HALF[:2]),
    "loglaplace": Row((3.4,), RIGHT, HALF, (-1.0,)),
    "powerlognorm": Row((1.7, 0.6), RIGHT, HALF[:2], (1.0, -1.0)),
    "dpareto_lognorm": Row((0.2, 0.7, 2.6, 1.4), RIGHT, HALF, (0.2, -1.0, 1.0, 1.0)),
    "burr": Row((2.8, 0.7), RIGHT, HALF[:2], (1.0, -1.0)),
    "mielke": Row((1.4, 2.7), RIGHT, HALF[:2], (1.0, -1.0)),
    "kappa3": Row((1.4,), RIGHT, HALF[:2], (-1.0,)),
    "foldcauchy": Row((0.8,), RIGHT, HALF, (-1.0,)),
    "foldnorm": Row((0.8,), RIGHT, HALF, (-1.0,)),
    "fatiguelife": Row((0.8,), RIGHT, HALF[:2], (-1.0,)),
    "recipinvgauss": Row((0.8,), RIGHT, HALF[:2], (-1.0,)),
    "geninvgauss": Row((0.7, 1.3), RIGHT, HALF[:2], (0.7, -1.0)),
    "ncx2": Row((3.4, 1.3), RIGHT, HALF[:2], (-1.0, 1.3), fixed=1),
    "rice": Row((0.8,), RIGHT, HALF[:2], (-1.0,)),
    "ncf": Row((3.4, 5.2, 1.3), RIGHT, HALF[:2], (-1.0, 1.0, 1.0), fixed=3),
    "anglit": Row((), (-0.5, 0.1, 0.6), (-1.0, 1.0)),
    "arcsine": Row((), WITHIN, (-0.5, 0.0, 1.5)),
    "argus": Row((1.3,), WITHIN, UNIT, (-1.0,)),
    "bradford": Row((0.8,), WITHIN, UNIT, (-1.0,)),
    "gausshyper": Row((2.2, 1.4, 0.6, 0.7), WITHIN, (-0.5, 1.5), (-1.0, 1.0, 1.0, 1.0), fixed=3),
    "johnsonsb": Row((0.3, 1.4), WITHIN, UNIT, (0.3, -1.0)),
    "rdist": Row((3.3,), WITHIN, (-1.5, -1.0, 1.0), (-1.0,)),
    "semicircular": Row((), WITHIN, (-1.5, -1.0, 1.0)),
    "trapezoid": Row((0.3, 0.7), WITHIN, UNIT, (0.7, 0.3)),
    "cosine": Row((), SPREAD, (-3.5, 3.5)),
    "vonmises_line": Row((1.7,), SPREAD, (-3.5, 3.5), (-1.0,)),
    "wrapcauchy": Row((0.4,), (0.3, 2.9, 5.8), (-1.0, 0.0, 6.5), (1.5,)),
    "levy_l": Row((), (-2.7, -1.1, -0.3), (0.0, 1.0)),
    "truncexpon": Row((2.4,), (0.3, 1.1, 2.2), (-1.0, 0.0, 2.5), (-1.0,)),
    "truncpareto": Row((1.6, 4.2), (1.2, 2.3, 4.0), (0.5, 1.0, 4.5), (1.6, 0.5)),
    "truncweibull_min": Row((1.4, 0.2, 2.5), (0.3, 1.1, 2.2), (0.1, 2.6), (1.4, 1.0, 0.5)),
    "genhalflogistic": Row((0.4,), (0.3, 1.1, 2.2), (-1.0, 0.0, 2.6), (-1.0,)),
    "kappa4": Row((0.4, 0.2), (-1.3, 0.4, 2.1), (-6.0, 5.5)),
    "tukeylambda": Row((0.3,), SPREAD, (-3.5, 3.5)),
    "rel_breitwigner": Row((1.7,), RIGHT, HALF[:2], (-1.0,)),
    "ksone": Row((12.0,), (0.11, 0.25, 0.48), UNIT, (0.0,)),
    "kstwobign": Row((), (0.6, 0.93, 1.7), HALF),
}
#: The same families with shape parameters in another range of theirs.
AGAIN = {
    "genextreme": Row((-0.4,), (-1.3, 0.4, 2.1), (-2.6,)),
    "genpareto": Row((0.4,), (0.3, 1.1, 2.7), (-0.5,)),
    "truncnorm": Row((2.6, 3.9), (2.7, 3.1, 3.8), (2.0, 4.0)),
    "gennorm": Row((3.0,), SPREAD, ()),
    "skewnorm": Row((2.0,), (-10.0, -3.0, -2.0), (10.0,)),
    "pearson3": Row((-0.7,), SPREAD, (3.0,)),
    "gengamma": Row((2.2, -1.3), RIGHT, (-1.0,)),
    "genhyperbolic": Row((-1.3, 1.9, 0.6), SPREAD, ()),
    "truncpareto": Row((-1.6, 4.2), (1.2, 2.3, 4.0), ()),
    "truncweibull_min": Row((1.4, 0.1, 30.0), (0.3, 1.1, 2.2), (-1.0,)),
    "kappa4": Row((-0.4, -0.2), (-1.3, 0.4, 2.1), (-5.5,)),
    "tukeylambda": Row((-0.3,), SPREAD, ()),
    "loggamma": Row((60.0,), (3.3, 4.1, 4.4), ()),
    "argus": Row((0.05,), WITHIN, ()),
}

COUNTS = (0.0, 1.0, 4.0)
DISCRETE = {
    "bernoulli": Row((0.3,), (0.0, 1.0), (-1.0, 0.5, 2.0), (1.5,)),
    "binom": Row((6.0, 0.3), COUNTS, (-1.0, 0.5, 6.0, 7.0), (6.0, 1.5)),
    "nbinom": Row((3.4, 0.4), COUNTS, (-1.0, 1.5), (-1.0, 0.4)),
    "poisson": Row((2.3,), COUNTS, (-1.0, 1.5), (-1.0,)),
    "geom": Row((0.4,), (1.0, 2.0, 5.0), (0.0, 1.5), (1.5,)),
    "betabinom": Row((6.0, 1.4, 2.2), COUNTS, (-1.0, 7.0), (6.0, -1.0, 1.0)),
    "betanbinom": Row((4.0, 2.4, 2.2), COUNTS, (-1.0,), (4.0, -1.0, 1.0)),
    "hypergeom": Row((12.0, 7.0, 5.0), COUNTS, (-1.0, 6.0), (12.0, 13.0, 5.0)),
    "randint": Row((-1.0, 6.0), COUNTS, (-2.0, 6.0), (6.0, 2.0)),
    "zipf": Row((2.6,), (1.0, 2.0, 5.0), (0.0,), (0.5,)),
    "logser": Row((0.4,), (1.0, 2.0, 5.0), (0.0,), (1.5,)),
    "dlaplace": Row((0.8,), (-2.0, 0.0, 3.0), (0.5,), (-1.0,)),
    "planck": Row((0.8,), COUNTS, (-1.0, 1.5), (-1.0,)),
    "boltzmann": Row((0.8, 6.0), COUNTS, (-1.0, 6.0), (-1.0, 6.0)),
    "yulesimon": Row((3.4,), (1.0, 2.0, 5.0), (0.0,), (-1.0,)),
    "nhypergeom": Row((12.0, 7.0, 3.0), COUNTS, (-1.0, 8.0), (12.0, 13.0, 5.0)),
    "zipfian": Row((1.6, 7.0), (1.0, 2.0, 5.0), (0.0, 8.0), (-1.0, 7.0), plain=(1,)),
    "nchypergeom_fisher": Row(
        (12.0, 7.0, 5.0, 1.7), COUNTS, (-1.0, 6.0), (12.0, 13.0, 5.0, 1.0), plain=(0, 1, 2)
    ),
    "skellam": Row((2.3, 1.6), (-2.0, 0.0, 3.0), (0.5,), (-1.0, 1.0)),
}
