"""Functions that compute each element separately."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as special

from tests.samples.kinds import (
    FLAT,
    H,
    Sample,
    binary,
    complexes,
    distinct,
    flags,
    positive,
    real,
    step,
    unary,
    unit,
    whole,
)

UNARY = [
    unary(np.exp, **H), unary(np.exp2), unary(np.expm1, **H),
    unary(np.log, positive(3), **H), unary(np.log2, positive(3)), unary(np.log10, positive(3)),
    unary(np.log1p, positive(3), **H), unary(np.sqrt, positive(3), **H),
    unary(np.cbrt, torch=False), unary(np.square, **H), unary(np.reciprocal, positive(3), **H),
    unary(np.sin, **H), unary(np.cos, **H), unary(np.tan, real(3, low=-1.3, high=1.3), **H),
    unary(np.arcsin, unit(3), **H), unary(np.arccos, unit(3), **H), unary(np.arctan, **H),
    unary(np.sinh, **H), unary(np.cosh, **H), unary(np.tanh, **H),
    unary(np.arcsinh, **H), unary(np.arccosh, real(3, low=1.2, high=3), **H),
    unary(np.arctanh, unit(3), **H),
    unary(np.deg2rad), unary(np.rad2deg), unary(np.radians, torch=False),
    unary(np.degrees, torch=False), unary(np.negative, **H), unary(np.positive, **H),
    unary(np.absolute), unary(np.fabs, torch=False), unary(np.conjugate, torch=False),
    unary(np.sinc, real(4, low=-1.2, high=1.2)),
    Sample("sinc near 0", np.sinc, (lambda rng: rng.uniform(-2e-5, 2e-5, 3),)),
    unary(np.sign, **FLAT), unary(np.floor, **FLAT), unary(np.ceil, **FLAT),
    unary(np.trunc, **FLAT), unary(np.rint, torch=False, **FLAT),
    unary(special.erf, torch=lambda t, x: t.special.erf(x)),
    unary(special.erfc, torch=lambda t, x: t.special.erfc(x)),
    unary(special.expit, torch=lambda t, x: t.special.expit(x)),
    unary(special.ndtr, torch=lambda t, x: t.special.ndtr(x)),
    unary(special.logit, unit(3), torch=lambda t, x: t.special.logit(x)),
    unary(special.log_expit, torch=lambda t, x: t.nn.functional.logsigmoid(x)),
    Sample("divmod", lambda a, b: np.divmod(a, b)[1], (real(3), positive(3))),
    Sample("modf", lambda x: np.modf(x)[0], (real(3),)),
    Sample("nan_to_num", lambda x: np.nan_to_num(x * 2), (real(3),)),
]  # fmt: skip

BINARY = [
    binary(np.add, **H), binary(np.subtract, **H), binary(np.multiply, **H),
    binary(np.true_divide, b=positive(2), **H), binary(np.arctan2),
    binary(np.hypot), binary(np.logaddexp), binary(np.logaddexp2), binary(np.maximum),
    binary(np.minimum), binary(np.fmax), binary(np.fmin), binary(np.copysign),
    binary(np.remainder, b=real(2, low=2.1, high=3)), binary(np.fmod, b=real(2, low=2.1, high=3)),
    binary(np.power, positive(3, 1), torch=lambda t, x, y: x**y),
    binary(np.floor_divide, b=positive(2), torch=False, **FLAT),
    binary(np.heaviside, torch=False, **FLAT),
    binary(special.xlogy, b=positive(2), torch=lambda t, x, y: t.special.xlogy(x, y)),
    binary(special.xlog1py, b=positive(2), torch=lambda t, x, y: t.special.xlog1py(x, y)),
]  # fmt: skip

COMPLEX = [
    Sample(f"complex {f.__name__}", f, (complexes(3),), **H)
    for f in (
        np.exp,
        np.log,
        np.sqrt,
        np.sin,
        np.cos,
        np.tan,
        np.sinh,
        np.cosh,
        np.tanh,
        np.exp2,
        np.expm1,
        np.log1p,
        np.log2,
        np.log10,
        np.arcsin,
        np.arccos,
        np.arctan,
        np.arcsinh,
        np.arccosh,
        np.arctanh,
    )
] + [
    Sample("complex abs", np.abs, (complexes(3),)),
    Sample("complex conj", np.conj, (complexes(3),)),
    Sample("complex real", np.real, (complexes(3),)),
    Sample("complex imag", np.imag, (complexes(3),)),
    Sample("imag of real", lambda x: np.imag(x) + x, (real(3),)),
    Sample("complex parts", lambda z: z.real * z.imag, (complexes(3),)),
    Sample("complex mul", lambda a, b: a * b, (complexes(3), complexes(3)), **H),
    Sample("complex div", lambda a, b: a / b, (complexes(3), complexes(3)), **H),
    Sample("complex power", lambda a, b: a**b, (complexes(3), complexes(3)), **H),
    Sample("complex reciprocal", np.reciprocal, (complexes(3),), **H),
    Sample("complex integer power", lambda a: a**3 + a**-2, (complexes(3),), **H),
    Sample("complex scalars", lambda z: (2 + 1j) * z - 1j / z, (complexes(3),), **H),
    Sample("real to complex", lambda x: np.exp(1j * x), (real(3),)),
    Sample("complex and real", lambda z, x: z * x + x, (complexes(3), real(3))),
    Sample("complex matmul", lambda a, b: a @ b, (complexes(2, 3), complexes(3, 2)), **H),
    Sample("complex sum", lambda z: np.sum(z * z, axis=0), (complexes(3, 2),), **H),
    Sample("complex mean", lambda z: np.mean(z, axis=0), (complexes(3, 2),), **H),
    Sample("complex var", lambda z: np.var(z, axis=0), (complexes(3, 2),)),
    Sample("complex norm", np.linalg.norm, (complexes(3),)),
    Sample("complex where", lambda z: np.where(z.real > 0.8, z, 2 * z), (complexes(4),)),
    Sample("vdot", np.vdot, (complexes(3), complexes(3))),
    step("complex isnan", np.isnan, complexes(3)),
    step("complex isinf", np.isinf, complexes(3)),
    step("complex isfinite", np.isfinite, complexes(3)),
    step("complex equal", lambda a, b: (a == b) | (a != a), complexes(3), complexes(3)),
]

ARITHMETIC = [
    Sample("scalar on the left", lambda x: 2 - x / 3 + 1.5 * x, (real(3),), **H),
    Sample("scalar on the right", lambda x: (x * 2 - 1) / 4, (real(3),), **H),
    Sample("2 / x", lambda x: 2 / x, (positive(3),), lambda t, x: 2 / x, **H),
    Sample("2 ** x", lambda x: 2**x, (real(3),), lambda t, x: 2**x),
    Sample("x ** 2", lambda x: x**2, (real(3),), lambda t, x: x**2, **H),
    Sample("x ** 3", lambda x: x**3, (real(3),), lambda t, x: x**3, **H),
    Sample("x ** 7", lambda x: x**7, (real(3),), lambda t, x: x**7, **H),
    Sample("x ** -2", lambda x: x**-2, (positive(3),), lambda t, x: x**-2, **H),
    Sample("x ** 0", lambda x: x**0 + x, (real(3),)),
    Sample("x ** 0.5", lambda x: x**0.5, (positive(3),), lambda t, x: x**0.5, **H),
    Sample("x ** y", lambda x, y: x**y, (positive(3), real(3)), lambda t, x, y: x**y, **H),
    Sample("x % 0.7", lambda x: x % 0.7, (positive(3),)),
    Sample("5 % x", lambda x: 5 % x, (positive(3),)),
    Sample("x // 0.7", lambda x: x // 0.7 + x, (positive(3),)),
    Sample("-x, +x, abs(x)", lambda x: -x + (+x) * abs(x), (real(3),)),
    Sample("NumPy scalars", lambda x: np.float64(2) * x + np.float64(1) / x, (positive(3),), **H),
    Sample("array on the left", lambda x: np.arange(3.0) * x - np.ones((2, 3)), (real(3),), **H),
    Sample("scalar argument", lambda x: x * x + np.sin(x), (real(),), **H),
    Sample("outer sum", np.add.outer, (real(2), real(3)), **H),
    Sample("add.reduce", np.add.reduce, (real(3, 2),), **H),
    Sample("multiply.reduce", lambda x: np.multiply.reduce(x, axis=1), (real(2, 3),), **H),
    Sample("maximum.reduce", np.maximum.reduce, (distinct(3, 2),)),
    Sample("minimum.reduce", np.minimum.reduce, (distinct(3, 2),)),
    Sample("in place", lambda x: _in_place(x * 1), (real(3),), **H),
    Sample("int32 to float", lambda i, x: i * x, (whole(3, dtype=np.int32), real(3)), **H),
    Sample("astype", lambda x: (x * 2).astype(x.dtype) + 1, (real(3),), **H),
]


def _in_place(y: Any) -> Any:
    y += 1
    y *= y
    y -= 0.5
    y /= 3
    return y


CHOICES = [
    Sample("where", lambda c, x, y: np.where(c, x, y), (flags(4), real(4), real(4))),
    Sample("where of a comparison", lambda x: np.where(x > 0, x * x, -x), (real(4),)),
    Sample("where of numbers", lambda x: np.where(x > 0, 1.0, x), (real(4),)),
    Sample("select", lambda x: np.select([x > 1, x > 0], [x * x, 3 * x], -x), (real(6),)),
    Sample("clip", lambda x: np.clip(x, -1, 1), (real(5),), lambda t, x: t.clamp(x, -1, 1)),
    Sample("clip above", lambda x: np.clip(x, None, 1), (real(5),)),
    Sample("clip by arrays", np.clip, (real(5), real(5, low=-2, high=-1), real(5, low=1, high=2))),
    Sample("maximum with 0", lambda x: np.maximum(x, 0), (real(5),), lambda t, x: t.relu(x)),
    Sample("nested choice", lambda x: np.minimum(np.maximum(x, -1), x * x), (real(5),)),
    Sample("isfinite guard", lambda x: np.where(np.isfinite(x), x, 0), (real(3),)),
    Sample("copysign of constant", lambda x: np.copysign(2.0, x) * x, (real(3),)),
]
