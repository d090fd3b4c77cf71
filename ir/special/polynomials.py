"""Orthogonal polynomials, and other solutions of their equations, at a point.

Sources of the derivatives by x: DLMF 18.9. Derivatives by orders and parameters are not known.
"""

from __future__ import annotations

from collections.abc import Callable

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import eq, select

from .external import External, unknown
from .series import one, zero

#: The derivative by x, as a function of the order (not 0), the parameters and x.
Slope = Callable[..., Value]


def _polynomial(
    name: str, parameters: int, slope: Slope, *, whole: tuple[int, ...] = ()
) -> External:
    def rule(t: Value, y: Value, n: Value, *rest: Value) -> Value:
        constant = eq(n, 0)
        order = select(constant, one(n), n)
        return t * select(constant, zero(n), slope(order, *rest))

    return External(f"eval_{name}", *[unknown] * (1 + parameters), rule, whole=whole, cost=100)


def _like(value: float, x: Value) -> Value:
    return full(value, x.type)


jacobi: External = _polynomial(
    "jacobi", 2,
    lambda n, a, b, x: jacobi(n - 1, a + 1, b + 1, x) * (n + a + b + 1) * 0.5,
)  # fmt: skip
#: Shifted, and scaled so that the leading coefficient is 1.
sh_jacobi: External = _polynomial(
    "sh_jacobi", 2, lambda n, p, q, x: sh_jacobi(n - 1, p + 2, q + 1, x) * n
)
gegenbauer: External = _polynomial(
    "gegenbauer", 1, lambda n, a, x: gegenbauer(n - 1, a + 1, x) * a * 2.0
)
genlaguerre: External = _polynomial("genlaguerre", 1, lambda n, a, x: -genlaguerre(n - 1, a + 1, x))
laguerre = _polynomial("laguerre", 0, lambda n, x: -genlaguerre(n - 1, _like(1, x), x))


def _legendre_slope(n: Value, x: Value) -> Value:
    return jacobi(n - 1, _like(1, x), _like(1, x), x) * (n + 1) * 0.5


def _second_kind_slope(n: Value, x: Value) -> Value:
    return gegenbauer(n - 1, _like(2, x), x) * 2.0


legendre = _polynomial("legendre", 0, _legendre_slope)
sh_legendre = _polynomial("sh_legendre", 0, lambda n, x: _legendre_slope(n, x * 2.0 - 1) * 2.0)
chebyu = _polynomial("chebyu", 0, _second_kind_slope)
chebyt = _polynomial("chebyt", 0, lambda n, x: chebyu(n - 1, x) * n)
sh_chebyu = _polynomial("sh_chebyu", 0, lambda n, x: _second_kind_slope(n, x * 2.0 - 1) * 2.0)
sh_chebyt = _polynomial("sh_chebyt", 0, lambda n, x: chebyu(n - 1, x * 2.0 - 1) * n * 2.0)
#: On [-2, 2].
chebys = _polynomial("chebys", 0, lambda n, x: _second_kind_slope(n, x * 0.5) * 0.5)
chebyc = _polynomial("chebyc", 0, lambda n, x: chebyu(n - 1, x * 0.5) * n)
hermite: External = _polynomial("hermite", 0, lambda n, x: hermite(n - 1, x) * n * 2.0, whole=(0,))
hermitenorm: External = _polynomial(
    "hermitenorm", 0, lambda n, x: hermitenorm(n - 1, x) * n, whole=(0,)
)
