"""Solutions of second-order differential equations, which SciPy returns with their derivatives.

Sources: DLMF 12.2 (parabolic cylinder functions), 14.10 (Legendre), 28.2 and 28.20 (Mathieu). The
second derivative follows from the equation. Derivatives by orders and parameters are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from autojit.ir.core.program import Value
from autojit.ir.ops.elementary import cos, cosh

from .bessel import jv
from .external import External, unknown


def _solution(
    name: str, parameters: int, factor: Callable[..., Value], unit: float = 1.0
) -> list[External]:
    """Declare a function y with y'' = factor y and its derivative; ``unit`` is the argument's."""

    def first(t: Value, y: Value, *args: Value) -> Value:
        return t * (made[1](*args) * unit)

    def second(t: Value, y: Value, *args: Value) -> Value:
        return t * (factor(*args) * made[0](*args) * unit)

    made = [
        External(
            f"{name}_{k}", *[unknown] * parameters, rule, function=name, result=k, results=2,
            cost=2000,
        )
        for k, rule in enumerate((first, second))
    ]  # fmt: skip
    return made


def _cylinder(v: Value, x: Value) -> Value:
    return x * x * 0.25 - v - 0.5


pbdv = _solution("pbdv", 1, _cylinder)
pbvv = _solution("pbvv", 1, _cylinder)
pbwa = _solution("pbwa", 1, lambda a, x: a - x * x * 0.25)

#: Characteristic values of Mathieu's equation.
mathieu_a = External("mathieu_a", unknown, unknown, cost=2000)
mathieu_b = External("mathieu_b", unknown, unknown, cost=2000)


def _mathieu(a: External, sign: float) -> Callable[..., Value]:
    """Return the factor for angles in degrees (SciPy's derivatives are by radians), or modified."""

    def factor(m: Value, q: Value, x: Value) -> Value:
        wave = cos(x * (pi / 90)) if sign < 0 else cosh(x * 2.0)
        return (a(m, q) - q * wave * 2.0) * sign

    return factor


mathieu_cem = _solution("mathieu_cem", 2, _mathieu(mathieu_a, -1.0), pi / 180)
mathieu_sem = _solution("mathieu_sem", 2, _mathieu(mathieu_b, -1.0), pi / 180)
modified = [
    _solution(f"mathieu_mod{kind}", 2, _mathieu(value, 1.0))
    for kind, value in (
        ("cem1", mathieu_a), ("cem2", mathieu_a), ("sem1", mathieu_b), ("sem2", mathieu_b)
    )
]  # fmt: skip


def _lpmv_rule(t: Value, y: Value, m: Value, v: Value, x: Value) -> Value:
    return t * ((v * x * y - (v + m) * lpmv(m, v - 1, x)) / (x * x - 1))


lpmv: External = External("lpmv", unknown, unknown, _lpmv_rule, cost=1000)


def _besselpoly_rule(t: Value, y: Value, a: Value, power: Value, v: Value) -> Value:
    # The integral of x**power J_v(2 a x) over 0 < x < 1, by parts.
    return t * ((jv(v, a * 2.0) - (power + 1) * y) / a)


besselpoly = External("besselpoly", _besselpoly_rule, unknown, unknown, cost=1000)

# -- spheroidal wave functions: values only ------------------------------------------------


def _values_only(name: str, arguments: int, results: int) -> list[External]:
    return [
        External(
            f"{name}_{k}", *[unknown] * arguments, function=name, result=k, results=results,
            cost=4000,
        )
        for k in range(results)
    ]  # fmt: skip


spheroidal = {
    name: _values_only(name, 5 if name.endswith("_cv") else 4, 2)
    for shape in ("pro", "obl")
    for kind in ("ang1", "rad1", "rad2")
    for name in (f"{shape}_{kind}", f"{shape}_{kind}_cv")
}
pro_cv = External("pro_cv", unknown, unknown, unknown, cost=4000)
obl_cv = External("obl_cv", unknown, unknown, unknown, cost=4000)
