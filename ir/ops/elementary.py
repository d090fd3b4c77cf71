"""Elementary and special functions, element by element.

Each row states the NumPy function, the derivative rule (given the answer ``y``
too, so that nothing is computed twice), and for complex operands the formula
in real parts.  Sources: DLMF chapters 4 (elementary) and 7 (error function).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from math import sqrt as _sqrt
from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value

from . import complex_kernels as kernels
from .arithmetic import eq, select
from .elementwise import FLOAT, INEXACT, Elementwise, Rule

_LN2 = float(np.log(2.0))
_LN10 = float(np.log(10.0))


def _function(
    name: str,
    numpy: Callable[..., Any],
    *rules: Rule,
    cost: int = 12,
    kernel: str | Callable[..., Any] | None = None,
    complex_kernel: Callable[..., Any] | None = None,
    answers: Sequence[Any] | None = None,
) -> Elementwise:
    scalar = kernel if isinstance(kernel, str) else name
    return Elementwise(
        name, numpy, rules,
        answers=[numpy] if answers is None else answers,
        kinds=INEXACT if complex_kernel else FLOAT,
        kernel=kernel if callable(kernel) else (lambda k, *x: k(scalar, *x)),
        complex_kernel=complex_kernel, cost=cost,
    )  # fmt: skip


def _special(name: str) -> Callable[..., Any]:
    """A function of scipy.special, imported when the interpreter first needs it."""

    def evaluate(*arrays: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*arrays)

    evaluate.__module__, evaluate.__name__ = "scipy.special", name
    return evaluate


# -- exponentials and logarithms ----------------------------------------------

exp = _function("exp", np.exp, lambda t, y, x: t * y, complex_kernel=kernels.exp)
exp2 = _function("exp2", np.exp2, lambda t, y, x: t * (y * _LN2), complex_kernel=kernels.exp2)
expm1 = _function("expm1", np.expm1, lambda t, y, x: t * (y + 1), complex_kernel=kernels.expm1)
log = _function("log", np.log, lambda t, y, x: t / x, complex_kernel=kernels.log)
log2 = _function("log2", np.log2, lambda t, y, x: t / (x * _LN2), complex_kernel=kernels.log2)
log10 = _function("log10", np.log10, lambda t, y, x: t / (x * _LN10), complex_kernel=kernels.log10)
log1p = _function("log1p", np.log1p, lambda t, y, x: t / (x + 1), complex_kernel=kernels.log1p)
logaddexp = _function(
    "logaddexp", np.logaddexp,
    lambda t, y, a, b: t * exp(a - y), lambda t, y, a, b: t * exp(b - y), cost=24,
)  # fmt: skip


def _logaddexp2_kernel(k: Any, a: Any, b: Any) -> Any:
    # max + log2(1 + 2**-|a - b|); equal ones apart, since inf - inf is NaN.
    gap = k("exp2", -k("abs", a - b))
    apart = k("maximum", a, b) + k("log1p", gap) * k.like(1 / _LN2, a)
    return k("select", k("eq", a, b), a + k.like(1.0, a), apart)


logaddexp2 = _function(
    "logaddexp2", np.logaddexp2,
    lambda t, y, a, b: t * exp2(a - y), lambda t, y, a, b: t * exp2(b - y),
    cost=24,
    kernel=_logaddexp2_kernel,
)  # fmt: skip

# -- roots --------------------------------------------------------------------

sqrt = _function("sqrt", np.sqrt, lambda t, y, x: t / (y + y), cost=4, complex_kernel=kernels.sqrt)
cbrt = _function("cbrt", np.cbrt, lambda t, y, x: t / (y * y * 3.0))


def _hypot_rule(t: Value, y: Value, part: Value) -> Value:
    # At the origin the subgradient of smallest norm, 0.
    return t * (part / select(eq(y, 0), full(1, y.type), y))


hypot = _function(
    "hypot", np.hypot,
    lambda t, y, a, b: _hypot_rule(t, y, a), lambda t, y, a, b: _hypot_rule(t, y, b), cost=8,
)  # fmt: skip

# -- trigonometric ------------------------------------------------------------

sin = _function("sin", np.sin, lambda t, y, x: t * cos(x), complex_kernel=kernels.sin)
cos: Elementwise = _function(
    "cos", np.cos, lambda t, y, x: -(t * sin(x)), complex_kernel=kernels.cos
)
tan = _function("tan", np.tan, lambda t, y, x: t * (y * y + 1), complex_kernel=kernels.tan)
arcsin = _function(
    "arcsin", np.arcsin, lambda t, y, x: t / sqrt(1 - x * x),
    kernel="asin", complex_kernel=kernels.arcsin,
)  # fmt: skip
arccos = _function(
    "arccos", np.arccos, lambda t, y, x: -(t / sqrt(1 - x * x)),
    kernel="acos", complex_kernel=kernels.arccos,
)  # fmt: skip
arctan = _function(
    "arctan", np.arctan, lambda t, y, x: t / (x * x + 1),
    kernel="atan", complex_kernel=kernels.arctan,
)  # fmt: skip
arctan2 = _function(
    "arctan2", np.arctan2,
    lambda t, y, a, b: t * (b / (a * a + b * b)),
    lambda t, y, a, b: -(t * (a / (a * a + b * b))),
    kernel="atan2", cost=20,
)  # fmt: skip

# -- hyperbolic ---------------------------------------------------------------

sinh = _function("sinh", np.sinh, lambda t, y, x: t * cosh(x), complex_kernel=kernels.sinh)
cosh: Elementwise = _function(
    "cosh", np.cosh, lambda t, y, x: t * sinh(x), complex_kernel=kernels.cosh
)
tanh = _function("tanh", np.tanh, lambda t, y, x: t * (1 - y * y), complex_kernel=kernels.tanh)
arcsinh = _function(
    "arcsinh", np.arcsinh, lambda t, y, x: t / sqrt(x * x + 1),
    kernel="asinh", complex_kernel=kernels.arcsinh,
)  # fmt: skip


def _arccosh_rule(t: Value, y: Value, x: Value) -> Value:
    if x.dtype.kind == "c":  # the root of the product has another sign at the left
        return t / (sqrt(x - 1) * sqrt(x + 1))
    return t / sqrt((x - 1) * (x + 1))


arccosh = _function(
    "arccosh", np.arccosh, _arccosh_rule, kernel="acosh", complex_kernel=kernels.arccosh
)
arctanh = _function(
    "arctanh", np.arctanh, lambda t, y, x: t / ((1 - x) * (x + 1)),
    kernel="atanh", complex_kernel=kernels.arctanh,
)  # fmt: skip

# -- scipy.special ------------------------------------------------------------

_TWO_OVER_SQRT_PI = 2 / _sqrt(pi)
_ONE_OVER_SQRT_2PI = 1 / _sqrt(2 * pi)

erf = _function(
    "erf", _special("erf"), lambda t, y, x: t * (exp(-(x * x)) * _TWO_OVER_SQRT_PI),
    answers=["scipy.special.erf"],
)  # fmt: skip
erfc = _function(
    "erfc", _special("erfc"), lambda t, y, x: -(t * (exp(-(x * x)) * _TWO_OVER_SQRT_PI)),
    answers=["scipy.special.erfc"],
)  # fmt: skip
ndtr = _function(
    "ndtr", _special("ndtr"), lambda t, y, x: t * (exp(x * x * -0.5) * _ONE_OVER_SQRT_2PI),
    answers=["scipy.special.ndtr"],
)  # fmt: skip
sigmoid = _function(
    "sigmoid", _special("expit"), lambda t, y, x: t * (y * (1 - y)),
    answers=["scipy.special.expit"],
)  # fmt: skip
