"""Functions of scipy.special, at the points of `special_points`, one family per row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special

from autojit.ir.special.external import EXTERNALS, unknown
from tests.samples.kinds import Draw, Sample, complexes, constant, positive, real
from tests.samples.special_points import POINTS

#: Functions that have only a first derivative, and functions that are constant between steps.
ONCE = {"nctdtr", "nctdtrit", "ncfdtr", "ncfdtri", "smirnov", "smirnovi"}
#: SciPy's values of these are accurate to only seven digits, so differences are useless.
ROUGH = {"itairy", "fdtridfd", "chndtrinc", "stdtridf", "nctdtrinc", "ncfdtrinc"}
#: Functions of real numbers whose derivative is 0 or refused.
FLAT = {"gammasgn", "round"}

_REFUSED = {
    f.function: {i for i, rule in enumerate(f.rules) if rule is unknown}
    for f in EXTERNALS.values()
    if not f.loop
}


def several(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def differentiable(name: str) -> list[int]:
    """The positions of the arguments with respect to which a function is differentiated."""
    refused = _REFUSED.get(name, set())
    return [i for i, a in enumerate(POINTS[name]) if type(a[0]) is float and i not in refused]


def family(name: str, members: list[str], order: int = 2) -> Sample:
    """A function of all differentiable arguments of the members, with all their results."""
    draws: list[Draw] = []
    for member in members:
        draws += [constant(*POINTS[member][i]) for i in differentiable(member)]

    def function(*arguments: Any) -> Any:
        given, results = iter(arguments), []
        for member in members:
            taken = differentiable(member)
            operands = [next(given) if i in taken else np.array(a)
                        for i, a in enumerate(POINTS[member])]  # fmt: skip
            results += several(getattr(special, member)(*operands))
        return tuple(results)

    return Sample(f"special: {name}", function, tuple(draws), order=order)


def _families() -> list[Sample]:
    plain = [n for n in POINTS if n not in ONCE | ROUGH | FLAT and differentiable(n)]
    size = 14
    groups = [plain[i : i + size] for i in range(0, len(plain), size)]
    return [
        *(family(f"{g[0]} to {g[-1]}", g) for g in groups),
        family("once", sorted(ONCE), order=1),
    ]


def _values_only(x: Any) -> Any:
    """The functions without a derivative, and the inaccurate ones, as step functions."""
    from autojit.scipy import special as ours

    results = []
    for name in POINTS:
        if not differentiable(name) or name in ROUGH:
            operands = [np.array(a) for a in POINTS[name]]
            results += several(getattr(special, name)(operands[0] * x, *operands[1:]))
    results += [ours.zeta(2.0 * x), ours.spherical_jn(2, x)]
    return sum(np.where(np.isnan(r), 0, 1) for r in results)


_COMPLEX: dict[str, Callable[..., Any]] = {
    name: getattr(special, name) for name in (
        "wofz", "erf", "erfc", "erfcx", "erfi", "dawsn", "ndtr", "log_ndtr", "exp1", "expi",
        "spence", "wrightomega", "lambertw",
    )
}  # fmt: skip


def _of_complex(z: Any) -> Any:
    from autojit.scipy.special import lambertw

    plain = tuple([f(z) for name, f in _COMPLEX.items() if name != "lambertw"])
    ordered = tuple([
        getattr(special, name)(0.7, z)
        for name in ("jv", "yv", "iv", "kv", "kve", "hankel1", "hankel2", "hankel1e", "hankel2e",
                     "hyp0f1")
    ])  # fmt: skip
    hyper = (special.hyp1f1(0.4, 1.3, z), special.hyp2f1(0.4, 1.3, 1.7, z * 0.5))
    return (*plain, *ordered, *hyper, lambertw(z))


def _of_gamma(z: Any) -> Any:
    return special.gamma(z), special.loggamma(z), special.rgamma(z)


def _of_several(x: Any) -> Any:
    from autojit.scipy import special as ours

    x = x * np.ones(2)  # float64: with integer orders, SciPy's result dtypes vary
    return (
        ours.zeta(x + 1), ours.zeta(x + 1, x), ours.polygamma(np.array([1, 3]), x),
        ours.spherical_jn(2, x), ours.spherical_yn(0, x), ours.spherical_in(1, x),
        ours.spherical_kn(2, x),
    )  # fmt: skip


SPECIAL = [
    *_families(),
    Sample("special: values", _values_only, (constant(1.0, 1.0),), order=0),
    Sample("special: of several", _of_several, (positive(2),)),
    Sample("special: complex", _of_complex, (complexes(2),)),
    Sample("special: complex gamma", _of_gamma, (complexes(2),), order=1),
    Sample("special: signs", lambda x: special.gammasgn(x) + special.round(x), (real(3),), order=1),
]
