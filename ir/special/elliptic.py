"""Elliptic integrals and functions, and the arithmetic-geometric mean.

Sources of the derivatives: DLMF chapter 19 (19.18 for Carlson's integrals, 19.25 for Legendre's in
terms of Carlson's, so that nothing cancels at m = 0) and 22.13. The derivatives of R_D and R_J are
those of the integrals that define them (19.16), by a quadrature of fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import absolute, rint
from autojit.ir.ops.elementary import cos, exp, log, sin, sqrt
from autojit.ir.ops.elementwise import Rule

from .external import External
from .series import line_integral, one, zero

# -- Carlson's -----------------------------------------------------------------------------


def _power_integral(factor: float, terms: Sequence[tuple[Value, float]]) -> Value:
    """Return ``factor`` times the integral of the product of (t + x)**power over t > 0, to 1e-12.

    It applies the trapezoidal rule in ln(t / x) with the last x, which must be positive. The x's
    must have magnitudes within 1e10 of each other.
    """
    powers = [power for _, power in terms]

    def integrand(u: Value, *xs: Value) -> Value:
        t = exp(u) * xs[-1]
        total = log(t)
        for x, power in zip(xs, powers, strict=True):
            total = total + log(t + x) * power
        return exp(total)

    return line_integral(integrand, [x for x, _ in terms]) * factor


def _rd_by(a: Value, b: Value, c: Value, which: int) -> Value:
    powers = [-0.5, -0.5, -1.5]
    factor, powers[which] = 1.5 * powers[which], powers[which] - 1
    return _power_integral(factor, list(zip((a, b, c), powers, strict=True)))


elliprd: External = External(
    "elliprd",
    lambda t, y, a, b, c: t * _rd_by(a, b, c, 0),
    lambda t, y, a, b, c: t * _rd_by(a, b, c, 1),
    lambda t, y, a, b, c: t * _rd_by(a, b, c, 2),
    cost=400,
)


def _rf_by(t: Value, x: Value, others: tuple[Value, Value]) -> Value:
    return t * (elliprd(*others, x) * (-1 / 6))


elliprf: External = External(
    "elliprf",
    lambda t, y, a, b, c: _rf_by(t, a, (b, c)),
    lambda t, y, a, b, c: _rf_by(t, b, (a, c)),
    lambda t, y, a, b, c: _rf_by(t, c, (a, b)),
    cost=300,
)
#: R_F(x, y, y).
elliprc = External(
    "elliprc",
    lambda t, r, x, y: t * (elliprd(y, y, x) * (-1 / 6)),
    lambda t, r, x, y: t * (elliprd(x, y, y) * (-1 / 3)),
    cost=200,
)


def _rg_by(t: Value, x: Value, y: Value, z: Value) -> Value:
    return t * ((elliprf(x, y, z) - x * elliprd(y, z, x) * (1 / 3)) * 0.25)


elliprg = External(
    "elliprg",
    lambda t, y, a, b, c: _rg_by(t, a, b, c),
    lambda t, y, a, b, c: _rg_by(t, b, a, c),
    lambda t, y, a, b, c: _rg_by(t, c, a, b),
    cost=600,
)


def _rj_by(which: int, a: Value, b: Value, c: Value, p: Value) -> Value:
    """Return a derivative of R_J; NaN for p < 0, where the integral is a principal value."""
    powers = [-0.5, -0.5, -0.5, -1.0]
    factor, powers[which] = 1.5 * powers[which], powers[which] - 1
    return _power_integral(factor, list(zip((a, b, c, p), powers, strict=True)))


elliprj: External = External(
    "elliprj",
    lambda t, y, *v: t * _rj_by(0, *v),
    lambda t, y, *v: t * _rj_by(1, *v),
    lambda t, y, *v: t * _rj_by(2, *v),
    lambda t, y, *v: t * _rj_by(3, *v),
    cost=800,
)

# -- Legendre's ----------------------------------------------------------------------------


def _first_kind_by_m(m: Value) -> Value:
    """Return dK/dm."""
    return elliprd(zero(m), one(m), 1 - m) * (1 / 6)


def _second_kind_by_m(m: Value) -> Value:
    """Return dE/dm."""
    return elliprd(zero(m), 1 - m, one(m)) * (-1 / 6)


ellipk: External = External("ellipk", lambda t, y, m: t * _first_kind_by_m(m), cost=44)
ellipe: External = External("ellipe", lambda t, y, m: t * _second_kind_by_m(m), cost=44)
#: K(1 - p).
ellipkm1 = External("ellipkm1", lambda t, y, p: -(t * _first_kind_by_m(1 - p)), cost=44)


def _parts(phi: Value, m: Value) -> tuple[Value, Value, Value, Value]:
    """Return the number of half turns in phi, and cos**2, Delta**2 and sin of the remainder."""
    turns = rint(phi * (1 / pi))
    rest = phi - turns * pi
    s, c = sin(rest), cos(rest)
    return turns, c * c, 1 - m * (s * s), s


def first_by_m(phi: Value, m: Value) -> Value:
    """Return dF/dm."""
    turns, c2, d2, s = _parts(phi, m)
    own = s * s * s * elliprd(c2, one(m), d2) * (1 / 6)
    return own + turns * 2.0 * _first_kind_by_m(m)


def _second_by_m(phi: Value, m: Value) -> Value:
    turns, c2, d2, s = _parts(phi, m)
    own = s * s * s * elliprd(c2, d2, one(m)) * (-1 / 6)
    return own + turns * 2.0 * _second_kind_by_m(m)


def _delta(phi: Value, m: Value) -> Value:
    s = sin(phi)
    return sqrt(1 - m * (s * s))


ellipkinc = External(
    "ellipkinc",
    lambda t, y, phi, m: t / _delta(phi, m),
    lambda t, y, phi, m: t * first_by_m(phi, m),
    cost=300,
)
ellipeinc = External(
    "ellipeinc",
    lambda t, y, phi, m: t * _delta(phi, m),
    lambda t, y, phi, m: t * _second_by_m(phi, m),
    cost=300,
)

# -- Jacobi's: sn, cn, dn and the amplitude ------------------------------------------------


def _jacobi(u: Value, m: Value) -> tuple[Value, ...]:
    return tuple([f(u, m) for f in ellipj])


def _amplitude_by_m(u: Value, m: Value) -> Value:
    """Return phi_m = -F_m / F_phi, from u = F(phi, m)."""
    _, _, dn, phi = _jacobi(u, m)
    return -(dn * first_by_m(phi, m))


def _sn_by(u: Value, m: Value, by: Value) -> Value:
    return ellipj[1](u, m) * by


def _cn_by(u: Value, m: Value, by: Value) -> Value:
    return -(ellipj[0](u, m) * by)


def _dn_by_m(u: Value, m: Value) -> Value:
    sn, cn, dn, _ = _jacobi(u, m)
    return -(sn * (sn * 0.5 + m * cn * _amplitude_by_m(u, m)) / dn)


def _one_of_jacobi(k: int, by_u: Rule, by_m: Rule) -> External:
    return External(f"ellipj_{k}", by_u, by_m, function="ellipj", result=k, results=4, cost=400)


ellipj: list[External] = [
    _one_of_jacobi(
        0, lambda t, y, u, m: t * _sn_by(u, m, ellipj[2](u, m)),
        lambda t, y, u, m: t * _sn_by(u, m, _amplitude_by_m(u, m)),
    ),
    _one_of_jacobi(
        1, lambda t, y, u, m: t * _cn_by(u, m, ellipj[2](u, m)),
        lambda t, y, u, m: t * _cn_by(u, m, _amplitude_by_m(u, m)),
    ),
    _one_of_jacobi(
        2, lambda t, y, u, m: -(t * (m * ellipj[0](u, m) * ellipj[1](u, m))),
        lambda t, y, u, m: t * _dn_by_m(u, m),
    ),
    _one_of_jacobi(
        3, lambda t, y, u, m: t * ellipj[2](u, m), lambda t, y, u, m: t * _amplitude_by_m(u, m)
    ),
]  # fmt: skip

# -- the arithmetic-geometric mean: pi / (2 R_F(0, a**2, b**2)) ----------------------------


def _agm_by(y: Value, a: Value, b: Value) -> Value:
    return y * absolute(y) * a * elliprd(zero(a), b * b, a * a) * (2 / (3 * pi))


agm = External(
    "agm", lambda t, y, a, b: t * _agm_by(y, a, b), lambda t, y, a, b: t * _agm_by(y, b, a),
    cost=100,
)  # fmt: skip
