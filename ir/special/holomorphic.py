"""Functions of scipy.special of a complex number.

Each is declared as two functions of the real and the imaginary part, which SciPy computes together.
With f' = u + iv, the derivatives of its real part are u and -v, those of its imaginary part v and
u. Sources of the derivatives: as for real arguments; DLMF 7.10 (Faddeeva's function), 10.6
(Hankel's) and 4.13 (Lambert's W).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import imag, make_complex, real
from autojit.ir.ops.elementary import exp, log

from .external import External, unknown

#: The formulas by name: functions of real parameters and a complex number.
COMPLEX: dict[str, Callable[..., Value]] = {}

#: A function of real parameters and the complex argument.
Formula = Callable[..., Value]
#: The derivative by the complex argument, as a function of the value, parameters and argument.
Slope = Callable[..., Value]


def holomorphic(
    name: str, slope: Slope | None, kinds: str = "D->D", cost: int = 400
) -> Callable[..., Value]:
    """Declare the parts of a function of a complex number, and return the function. An unknown
    slope (None) is rejected on use."""
    taken = kinds.partition("-")[0]
    place = taken.index("D")
    parameters = [i for i, k in enumerate(taken) if k != "D"]

    def split(operands: Sequence[Value]) -> list[Value]:
        z = operands[place]
        return [*operands[:place], real(z), imag(z), *operands[place + 1 :]]

    def slope_at(operands: Sequence[Value]) -> Value:
        """Return the slope, given real and imaginary parts."""
        z = make_complex(operands[place], operands[place + 1])
        whole = [*operands[:place], z, *operands[place + 2 :]]
        assert slope is not None
        return slope(formula(*whole), *whole)

    def rules(turn: Callable[[Value], Value], other: Callable[[Value], Value]) -> list[Slope]:
        own = [lambda t, y, *v: t * turn(slope_at(v)), lambda t, y, *v: t * other(slope_at(v))]
        mine: list[Slope] = own if slope is not None else [unknown, unknown]
        return [*[unknown] * place, *mine, *[unknown] * (len(parameters) - place)]

    parts = [
        External(f"{name}_re", *rules(real, lambda d: -imag(d)), function=name, loop=kinds,
                 cost=cost),
        External(f"{name}_im", *rules(imag, real), function=name, loop=kinds, result=1, cost=cost),
    ]  # fmt: skip

    def formula(*operands: Value) -> Value:
        pieces = split(operands)
        return make_complex(parts[0](*pieces), parts[1](*pieces))

    COMPLEX[name] = formula
    return formula


def _of_order(name: str, slope: Callable[..., Value]) -> Callable[..., Value]:
    """Declare a function of real order v; its slope depends on v - 1, v + 1 and the value w."""

    def whole(w: Value, v: Value, z: Value) -> Value:
        return slope(made(v - 1, z), made(v + 1, z), w)

    made = holomorphic(name, whole, "dD->D", cost=1200)
    return made


_TWO_OVER_SQRT_PI = 2 / sqrt(pi)


def _i(like: Value) -> Value:
    return full(1j, like.type)


wofz = holomorphic("wofz", lambda w, z: _i(z) * _TWO_OVER_SQRT_PI - z * w * 2.0)
holomorphic("erf", lambda w, z: exp(-(z * z)) * _TWO_OVER_SQRT_PI)
holomorphic("erfc", lambda w, z: -(exp(-(z * z)) * _TWO_OVER_SQRT_PI))
holomorphic("erfcx", lambda w, z: z * w * 2.0 - _TWO_OVER_SQRT_PI)
holomorphic("erfi", lambda w, z: exp(z * z) * _TWO_OVER_SQRT_PI)
holomorphic("dawsn", lambda w, z: 1 - z * w * 2.0)
holomorphic("ndtr", lambda w, z: exp(z * z * -0.5) * (1 / sqrt(2 * pi)))
holomorphic("log_ndtr", lambda w, z: exp(z * z * -0.5 - w) * (1 / sqrt(2 * pi)))

digamma = holomorphic("psi", None)
COMPLEX["digamma"] = digamma
holomorphic("gamma", lambda w, z: w * digamma(z))
holomorphic("loggamma", lambda w, z: digamma(z))
holomorphic("rgamma", lambda w, z: -(w * digamma(z)))

holomorphic("exp1", lambda w, z: -(exp(-z) / z))
holomorphic("expi", lambda w, z: exp(z) / z)
holomorphic("spence", lambda w, z: log(z) / (1 - z))
holomorphic("wrightomega", lambda w, z: w / (w + 1))
#: The arguments are the number, the branch k and a tolerance.
lambertw = holomorphic("lambertw", lambda w, z, k, tol: exp(-w) / (w + 1), "Dld->D", cost=1000)

COMPLEX["jn"] = _of_order("jv", lambda below, above, w: (below - above) * 0.5)
_of_order("yv", lambda below, above, w: (below - above) * 0.5)
_of_order("iv", lambda below, above, w: (below + above) * 0.5)
_of_order("kv", lambda below, above, w: (below + above) * -0.5)
_of_order("kve", lambda below, above, w: w - (below + above) * 0.5)
_of_order("hankel1", lambda below, above, w: (below - above) * 0.5)
_of_order("hankel2", lambda below, above, w: (below - above) * 0.5)
_of_order("hankel1e", lambda below, above, w: (below - above) * 0.5 - _i(w) * w)
_of_order("hankel2e", lambda below, above, w: (below - above) * 0.5 + _i(w) * w)


def _complex(x: Value) -> Value:
    return make_complex(x, full(0, x.type))


hyp0f1: Formula = holomorphic("hyp0f1", lambda w, b, z: hyp0f1(b + 1, z) * _complex(1 / b), "dD->D")
hyp1f1: Formula = holomorphic(
    "hyp1f1", lambda w, a, b, z: hyp1f1(a + 1, b + 1, z) * _complex(a / b), "ddD->D"
)
hyp2f1: Formula = holomorphic(
    "hyp2f1",
    lambda w, a, b, c, z: hyp2f1(a + 1, b + 1, c + 1, z) * _complex(a * b / c),
    "dddD->D", cost=1000,
)  # fmt: skip
