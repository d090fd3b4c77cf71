"""The table of samples: every NumPy function and op that is covered, with arguments.

A row holds a function in plain NumPy and how its arguments are drawn.  Tests take from it values,
first and second derivatives, both modes, batching, and every target; whoever adds an op or a
function adds a row here, and `test_ops.py` says so if it is forgotten.

Domains keep away from kinks and poles, so that central differences mean something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special as special

Draw = Callable[[np.random.Generator], Any]


@dataclass(frozen=True)
class Sample:
    """One row.

    ``torch``        the same function of torch tensors, given the module: ``lambda t, x: t.exp(x)``
    ``holomorphic``  NumPy evaluates it for complex arguments too, so a complex step differentiates
    ``order``        how often it is differentiable (0: its result is whole or a truth value)
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Draw, ...]
    torch: Callable[..., Any] | None = None
    holomorphic: bool = False
    order: int = 2

    def draw(self, seed: int = 0) -> list[Any]:
        rng = np.random.default_rng([seed, *self.name.encode()])
        return [draw(rng) for draw in self.arguments]


# -- arguments ----------------------------------------------------------------


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    """Floats at least 0.05 away from whole numbers, where much has its kinks."""

    def draw(rng: np.random.Generator) -> Any:
        x = rng.uniform(low, high, shape)
        whole = np.round(x)
        return whole + np.where(x < whole, -1, 1) * np.clip(np.abs(x - whole), 0.05, 0.45)

    return draw


def positive(*shape: int) -> Draw:
    return real(*shape, low=0.3, high=2.5)


def unit(*shape: int) -> Draw:
    return lambda rng: rng.uniform(0.1, 0.9, shape)


def distinct(*shape: int) -> Draw:
    """Floats at least 0.2 apart, so that extremes are settled."""
    size = int(np.prod(shape))
    return lambda rng: (rng.permutation(size) * 0.3 - 1 + rng.uniform(0, 0.1, size)).reshape(shape)


def complexes(*shape: int) -> Draw:
    return lambda rng: rng.uniform(0.3, 1.5, shape) - 1j * rng.uniform(0.3, 1.5, shape)


def whole(*shape: int, low: int = -9, high: int = 9, dtype: Any = np.int64) -> Draw:
    return lambda rng: rng.integers(low, high, shape).astype(dtype)


def flags(*shape: int) -> Draw:
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def constant(*values: Any) -> Draw:
    return lambda rng: np.array(values)


# -- kinds of rows ------------------------------------------------------------


def unary(
    function: Any, domain: Draw | None = None, torch: Any = None, *, name: str = "", **kwargs: Any
) -> Sample:
    word = function.__name__
    torch = torch if torch is not None else (lambda t, x: getattr(t, word)(x))
    return Sample(name or word, function, (domain or real(3, 2),), torch or None, **kwargs)


def binary(
    function: Any, a: Draw | None = None, b: Draw | None = None, torch: Any = None, **kwargs: Any
) -> Sample:
    word = function.__name__
    torch = torch if torch is not None else (lambda t, x, y: getattr(t, word)(x, y))
    arguments = (a or real(3, 1), b or real(2))
    return Sample(word, function, arguments, torch or None, **kwargs)


def step(name: str, function: Any, *arguments: Draw) -> Sample:
    """A function whose results are whole numbers or truth values."""
    return Sample(name, function, arguments, order=0)


def moved(name: str, function: Any, *arguments: Draw) -> Sample:
    """Elements that change place: linear, and the same for complex numbers."""
    return Sample(name, function, arguments or (real(3, 4),), holomorphic=True)


H = {"holomorphic": True}
#: Its value is a step but its type is a float: the derivative is zero.
FLAT = {"order": 1}

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
    for f in (np.exp, np.log, np.sqrt, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh)
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

STEPS = [
    *(step(f"whole {f.__name__}", f, whole(6), whole(6)) for f in (
        np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
        np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.maximum, np.minimum, np.add, np.multiply,
        np.fmax, np.fmin, np.subtract,
    )),
    *(step(f"float {f.__name__}", f, real(6), real(6)) for f in (
        np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
        np.logical_and, np.logical_or, np.logical_xor,
    )),
    *(step(f"bool {f.__name__}", f, flags(6), flags(6)) for f in (
        np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or, np.add,
        np.multiply, np.maximum, np.minimum, np.equal, np.fmax, np.fmin,
    )),
    *(step(f.__name__, f, real(4)) for f in (np.isnan, np.isinf, np.isfinite, np.signbit)),
    *(step(f"int {f.__name__}", f, whole(6)) for f in (
        np.isnan, np.isinf, np.isfinite, np.floor, np.ceil, np.trunc, np.absolute, np.sign,
        np.square, np.negative, np.invert, np.logical_not, np.positive,
    )),
    *(step(f"int {f.__name__}", f, whole(6), whole(6, low=1)) for f in (
        np.floor_divide, np.remainder, np.fmod, np.true_divide,
    )),
    step("negative divisor", lambda a, b: (a // b, a % b), whole(6), whole(6, low=-5, high=0)),
    step("float to int", lambda x: x.astype(int), real(5)),
    step("int to bool", lambda i: i.astype(bool), whole(5, low=0, high=2)),
    step("bool to float", lambda b: b.astype(np.float32), flags(5)),
    step("shift", lambda i: (i << 3) + (i >> 2) + np.left_shift(i, 1), whole(5)),
    step("unsigned", lambda i: i * 200 - i // 3, whole(5, low=0, high=99, dtype=np.uint8)),
    step("int power", lambda i: i**3 + 2 ** np.abs(i), whole(5)),
    step("logical_not", np.logical_not, flags(4)),
    step("isclose", lambda x: np.isclose(x, x + 1e-9), real(4)),
    step("isclose with nan", lambda x: np.isclose(x, x * np.nan, equal_nan=True), real(4)),
    step("allclose", lambda x: np.allclose(x, x + 1e-9), real(4)),
    step("array_equal", np.array_equal, whole(4, low=0, high=1), whole(4, low=0, high=1)),
    step("argmax", np.argmax, real(6)),
    step("argmax axis", lambda x: np.argmax(x, axis=1), real(3, 4)),
    step("argmax keepdims", lambda x: np.argmax(x, axis=0, keepdims=True), real(3, 4)),
    step("argmin", lambda x: np.argmin(x, axis=-1), real(3, 4)),
    step("argmin with ties", np.argmin, whole(9, low=0, high=3)),
    step("any", np.any, flags(3, 2)),
    step("all", lambda x: np.all(x, axis=0), flags(3, 2)),
    step("any of floats", lambda x: np.any(x > 1, axis=1, keepdims=True), real(3, 2)),
    step("count_nonzero", lambda x: np.count_nonzero(x > 0, axis=0), real(5, 2)),
    step("sum of int", lambda i: np.sum(i, axis=0), whole(3, 2, dtype=np.int32)),
    step("sum of bool", np.sum, flags(5)),
    step("prod of int", np.prod, whole(4, low=1, high=4, dtype=np.uint8)),
    step("mean of int", np.mean, whole(5)),
    step("max of int", np.max, whole(5)),
    step("logical_or.reduce", np.logical_or.reduce, flags(3, 2)),
    step("logical_and.reduce", np.logical_and.reduce, flags(3, 2)),
    step("shape, ndim, size", lambda x: x * (np.ndim(x) + np.size(x) + np.shape(x)[0]), whole(4)),
    step("asked dtypes", lambda x: x * np.iscomplexobj(x) + np.isrealobj(x), whole(4)),
    step("result_type", lambda i: i.astype(np.result_type(i, np.float32)), whole(4)),
    step("likes", lambda i: np.zeros_like(i) + np.ones_like(i) + np.full_like(i, 3) + 0 * i,
         whole(4)),
    step("empty_like", lambda i: i + 0 * np.empty_like(i).astype(bool), whole(4)),
    step("integer matmul", lambda a, b: a @ b, whole(2, 3), whole(3, 2)),
    step("bool diff", np.diff, flags(6)),
]  # fmt: skip

REDUCTIONS = [
    Sample("sum", np.sum, (real(3, 2),), lambda t, x: t.sum(x), **H),
    Sample("sum axis", lambda x: np.sum(x * x, axis=1), (real(3, 2),), **H),
    Sample("sum axes", lambda x: x.sum(axis=(0, -1), keepdims=True), (real(2, 3, 2),), **H),
    Sample("sum initial", lambda x: np.sum(x, initial=3.0), (real(3),), **H),
    Sample("sum where", lambda x, m: np.sum(x * x, where=m), (real(4), flags(4))),
    Sample("sum of nothing", lambda x: np.sum(x, axis=0) + x.sum(axis=()).sum(), (real(0, 2),)),
    Sample("complex prod", lambda z: np.prod(z, axis=0), (complexes(3, 2),), **H),
    Sample("prod", np.prod, (real(4),), lambda t, x: t.prod(x), **H),
    Sample("prod axis", lambda x: np.prod(x, axis=0, keepdims=True), (real(3, 2),), **H),
    Sample("prod with zeros", np.prod, (constant(2.0, 0.0, 3.0, 0.0),)),
    Sample("prod with a zero", np.prod, (constant(2.0, 0.0, 3.0, -1.5),), lambda t, x: t.prod(x)),
    Sample("max", np.max, (distinct(6),), lambda t, x: t.max(x)),
    Sample("amax axis", lambda x: np.amax(x, axis=1), (distinct(3, 4),)),
    Sample("max axes", lambda x: np.max(x, axis=(0, 2)), (distinct(2, 3, 2),)),
    Sample("max initial", lambda x: np.max(x, initial=0.55), (distinct(6),)),
    Sample("min", lambda x: np.min(x, axis=0, keepdims=True), (distinct(3, 4),)),
    Sample("amin", np.amin, (distinct(4),)),
    Sample("mean", np.mean, (real(3, 2),), lambda t, x: t.mean(x), **H),
    Sample("mean axis", lambda x: np.mean(x * x, axis=0), (real(3, 2),), **H),
    Sample("mean where", lambda x, m: np.mean(x, where=m | (x > -9)), (real(4), flags(4))),
    Sample("average", lambda x: np.average(x * x), (real(4),)),
    Sample("average weights", lambda x, w: np.average(x, axis=0, weights=w),
           (real(3, 2), positive(3))),
    Sample("var", np.var, (real(5),), lambda t, x: t.var(x, correction=0)),
    Sample("var ddof", lambda x: np.var(x, axis=1, ddof=1), (real(2, 4),)),
    Sample("std", np.std, (real(5),), lambda t, x: t.std(x, correction=0)),
    Sample("std axis", lambda x: x.std(axis=0, keepdims=True), (real(4, 2),)),
    Sample("ptp", lambda x: np.ptp(x, axis=1), (distinct(3, 4),)),
    Sample("logsumexp", np.logaddexp.reduce, (real(5),), lambda t, x: t.logsumexp(x, 0)),
    Sample("logsumexp axis", lambda x: np.logaddexp.reduce(x, axis=1), (real(2, 3),)),
    Sample("norm", np.linalg.norm, (real(4),), lambda t, x: t.linalg.norm(x)),
    Sample("norm axis", lambda x: np.linalg.norm(x, axis=1, keepdims=True), (real(2, 3),)),
    Sample("norm 1", lambda x: np.linalg.norm(x, 1), (real(4),)),
    Sample("norm 3", lambda x: np.linalg.norm(x, 3, axis=0), (positive(4, 2),)),
    step("norm of int", lambda i: np.linalg.norm(i) + np.linalg.norm(i, 1), whole(4)),
    Sample("norm inf", lambda x: np.linalg.norm(x, np.inf), (positive(4),)),
    Sample("norm fro", lambda x: np.linalg.norm(x, "fro"), (real(3, 2),)),
    Sample("softmax", lambda x: _softmax(x), (real(2, 5),), lambda t, x: t.softmax(x, 1)),
]  # fmt: skip


def _softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


MOVEMENT = [
    moved("reshape", lambda x: x.reshape(2, -1)),
    moved("np.reshape", lambda x: np.reshape(x, (2, 3, 2))),
    moved("ravel", np.ravel), moved("flatten", lambda x: x.flatten()),
    moved("transpose", np.transpose), moved("T", lambda x: x.T @ np.ones(3)),
    moved("transpose axes", lambda x: x.transpose(1, 2, 0), real(2, 3, 2)),
    moved("mT", lambda x: x.mT, real(2, 3, 2)), moved("matrix_transpose", np.matrix_transpose),
    moved("swapaxes", lambda x: np.swapaxes(x, 0, -1), real(2, 3, 2)),
    moved("moveaxis", lambda x: np.moveaxis(x, 0, -1), real(2, 3, 2)),
    moved("squeeze", np.squeeze, real(1, 3, 1)),
    moved("squeeze axis", lambda x: np.squeeze(x, axis=0), real(1, 3, 1)),
    moved("expand_dims", lambda x: np.expand_dims(x, (0, 2))),
    moved("broadcast_to", lambda x: np.broadcast_to(x, (2, 3, 4))),
    moved("broadcast_to stretched", lambda x: np.broadcast_to(x, (3, 4)), real(3, 1)),
    moved("broadcast_arrays", lambda a, b: np.broadcast_arrays(a, b)[0] * b, real(3, 1), real(2)),
    moved("broadcast add", lambda a, b, c: a + b * c, real(3, 1), real(1, 4), real(4)),
    moved("flip", np.flip), moved("flip axis", lambda x: np.flip(x, 1)),
    moved("flipud", np.flipud), moved("fliplr", np.fliplr),
    moved("atleast_1d", np.atleast_1d, real()), moved("atleast_2d", np.atleast_2d, real(3)),
    moved("roll", lambda x: np.roll(x, 2)), moved("roll axis", lambda x: np.roll(x, -1, axis=1)),
    moved("roll axes", lambda x: np.roll(x, (1, 2), axis=(0, 1))),
    moved("tile", lambda x: np.tile(x, 2)), moved("tile rows", lambda x: np.tile(x, (2, 1, 2))),
    moved("repeat", lambda x: np.repeat(x, 2)),
    moved("repeat axis", lambda x: np.repeat(x, 3, axis=0)),
    moved("pad", lambda x: np.pad(x, 1)),
    moved("pad unequal", lambda x: np.pad(x, ((1, 0), (2, 3)))),
    moved("pad with 7", lambda x: np.pad(x, 1, constant_values=7.0)),
    moved("diff", np.diff), moved("diff twice", lambda x: np.diff(x, n=2, axis=0)),
    moved("tril", np.tril), moved("triu", lambda x: np.triu(x, 1)),
    moved("tril stacked", lambda x: np.tril(x, -1), real(2, 3, 3)),
    moved("diag", np.diag, real(3)), moved("diag below", lambda x: np.diag(x, -2), real(3)),
    moved("diag of matrix", lambda x: np.diag(x, 1)),
    moved("diagonal", np.diagonal), moved("trace", np.trace),
    moved("trace offset", lambda x: np.trace(x, offset=1)),
    moved("split", lambda x: np.split(x, 2, axis=1)[1] * 2),
    moved("split at", lambda x: np.split(x, [1, 3], axis=1)[1]),
    moved("array_split", lambda x: np.array_split(x, 3)[2]),
    moved("stack", lambda a, b: np.stack([a, b, a], axis=1), real(3), real(3)),
    moved("vstack", lambda a, b: np.vstack([a, b]), real(3), real(2, 3)),
    moved("hstack", lambda a, b: np.hstack([a, b]), real(2, 1), real(2, 3)),
    moved("column_stack", lambda a, b: np.column_stack([a, b]), real(3), real(3, 2)),
    moved("concatenate", lambda a, b: np.concatenate([a, b, a]), real(2, 3), real(1, 3)),
    moved("concatenate axis", lambda a, b: np.concatenate([a, b], axis=-1), real(2, 3), real(2, 1)),
    moved("concatenate flat", lambda a, b: np.concatenate([a, b], axis=None), real(2), real(1, 3)),
    moved("append", lambda a, b: np.append(a, b), real(2), real(3)),
    *(moved(f"pad {mode}", lambda x, mode=mode: np.pad(x, ((1, 2), (3, 0)), mode))
      for mode in ("edge", "reflect", "symmetric", "wrap")),
    moved("pad with several", lambda x: np.pad(x, (1, 2), constant_values=((1, 2), (3, 4)))),
    moved("diff after", lambda x: np.diff(x, prepend=1.0, append=x[:, :2])),
    moved("repeat unequal", lambda x: np.repeat(x, [2, 0, 3], axis=0)),
    moved("reshape F", lambda x: np.reshape(x, (2, -1), order="F")),
    moved("ravel F", lambda x: x.ravel("F") * np.arange(12)),
    moved("flatten F", lambda x: x.flatten("F")),
    moved("take clip", lambda x, i: np.take(x, i, axis=1, mode="clip"), real(2, 3), whole(5)),
    moved("take wrap", lambda x, i: np.take(x, i, mode="wrap"), real(5), whole(5)),
    moved("copy", np.copy), moved("np.take", lambda x: np.take(x, 1, axis=1)),
    moved("identity", lambda x: x),
]  # fmt: skip

INDEXING = [
    moved("x[1]", lambda x: x[1]), moved("x[-1]", lambda x: x[-1]), moved("x[1:]", lambda x: x[1:]),
    moved("x[:, 1]", lambda x: x[:, 1]), moved("x[1, 2]", lambda x: x[1, 2]),
    moved("x[::2]", lambda x: x[::2]), moved("x[::-1]", lambda x: x[::-1]),
    moved("x[:, 3:0:-2]", lambda x: x[:, 3:0:-2]), moved("x[..., None]", lambda x: x[..., None]),
    moved("x[None, :, None, 1]", lambda x: x[None, :, None, 1]),
    moved("x[..., -1, ::2]", lambda x: x[..., -1, ::2], real(2, 3, 4)),
    moved("x[5:9]", lambda x: x[5:9]), moved("x[2:1]", lambda x: x[2:1]),
    moved("x[1:] - x[:-1]", lambda x: x[1:] - x[:-1]), moved("a, b = x", lambda x: _unpacked(x)),
    moved("x[np.int64(1)]", lambda x: x[np.int64(1)]),
    moved("x[...]", lambda x: x[...]),
    moved("x[[2, 0, 2]]", lambda x: x[[2, 0, 2]]),
    moved("x[:, array]", lambda x: x[:, np.array([[3, -1], [0, 3]])]),
    moved("x[rows, columns]", lambda x: x[np.array([0, 2, 2]), np.array([1, 3, 3])]),
    moved("x[rows, :, 1]", lambda x: x[np.array([0, 1, 1]), :, 1], real(2, 3, 2)),
    moved("x[0, :, array]", lambda x: x[0, :, np.array([1, 0, 1])], real(2, 3, 2)),
    moved("x[known mask]", lambda x: x[np.array([True, False, True])]),
    moved("x[traced]", lambda x, i: x[i], real(4, 2), whole(3, low=-4, high=4)),
    moved("x[traced, traced]", lambda x, i: x[i, i], real(3, 3), whole(4, low=0, high=3)),
    moved("take array", lambda x: np.take(x, [2, 0, 0], axis=1)),
    moved("take flat", lambda x, i: np.take(x, i), real(2, 3), whole(3, low=0, high=6)),
    moved("take_along_axis", lambda x, i: np.take_along_axis(x, i, axis=1), real(2, 3),
          whole(2, 2, low=0, high=3)),
]  # fmt: skip


def _unpacked(x: Any) -> Any:
    a, b, c = x
    return a * b + c


def contraction(name: str, function: Any, *shapes: tuple[int, ...]) -> Sample:
    return Sample(name, function, tuple(real(*shape) for shape in shapes), holomorphic=True)


def matmul(*shapes: tuple[int, ...]) -> Sample:
    name = " @ ".join(map(str, shapes))
    arguments = tuple(real(*shape) for shape in shapes)
    return Sample(name, np.matmul, arguments, lambda t, a, b: t.matmul(a, b), holomorphic=True)


def einsum(subscripts: str, *shapes: tuple[int, ...]) -> Sample:
    return contraction(
        f"einsum {subscripts}", lambda *arrays: np.einsum(subscripts, *arrays), *shapes
    )


CONTRACTIONS = [
    matmul((3,), (3,)), matmul((2, 3), (3,)), matmul((3,), (3, 2)), matmul((2, 3), (3, 4)),
    matmul((2, 3, 4), (4,)), matmul((4,), (2, 4, 3)), matmul((2, 3, 4), (4, 2)),
    matmul((3, 4), (2, 4, 2)), matmul((2, 3, 4), (2, 4, 2)), matmul((2, 1, 2, 3), (4, 3, 2)),
    matmul((1, 1), (1, 1)), matmul((2, 0), (0, 3)), matmul((16, 17), (17, 18)),
    contraction("operators", lambda a, b: (a @ b.T) @ b, (2, 3), (4, 3)),
    contraction("dot", np.dot, (2, 3), (3, 4)), contraction("dot 1-D", np.dot, (3,), (3,)),
    contraction("dot of stacks", np.dot, (2, 3, 4), (2, 4, 3)),
    contraction("dot of scalar", np.dot, (), (3,)),
    contraction("x.dot", lambda a, b: a.dot(b), (3,), (3,)),
    contraction("inner", np.inner, (2, 3), (4, 3)), contraction("inner scalar", np.inner, (3,), ()),
    contraction("outer", np.outer, (2,), (3,)), contraction("outer 2-D", np.outer, (2, 2), (3,)),
    contraction("tensordot", np.tensordot, (2, 3, 4), (3, 4, 2)),
    contraction("tensordot 1", lambda a, b: np.tensordot(a, b, axes=1), (2, 3), (3, 4)),
    contraction("tensordot 0", lambda a, b: np.tensordot(a, b, axes=0), (2,), (3,)),
    contraction("tensordot axes", lambda a, b: np.tensordot(a, b, axes=([0, 2], [1, 0])),
                (2, 3, 4), (4, 2, 3)),
    einsum("ij,jk->ik", (2, 3), (3, 4)), einsum("ij,jk", (2, 3), (3, 4)),
    einsum("bij,bjk->bik", (2, 3, 4), (2, 4, 3)), einsum("ij->ji", (2, 3)),
    einsum("ij->i", (2, 3)), einsum("ij->", (2, 3)), einsum("ii->i", (3, 3)), einsum("ii", (3, 3)),
    einsum("iij->ij", (2, 2, 3)), einsum("iii->", (2, 2, 2)), einsum("i,i->", (3,), (3,)),
    einsum("i,j->ij", (2,), (3,)), einsum("i,j->ji", (2,), (3,)),
    einsum("ij,ij->ij", (2, 3), (2, 3)),
    einsum("ij,j->i", (2, 3), (3,)), einsum("ik,jk->ij", (2, 3), (4, 3)),
    einsum("ijk,k->j", (2, 3, 4), (4,)), einsum("ii,ij->j", (2, 2), (2, 3)),
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), einsum("i,ij,j", (2,), (2, 3), (3,)),
    einsum("ij,kj,lj->ikl", (2, 3), (2, 3), (2, 3)), einsum("i,i,i->i", (3,), (3,), (3,)),
    einsum("...ij,...jk->...ik", (2, 2, 3), (2, 3, 2)), einsum("...i->...", (2, 3)),
    einsum("...ij,jk", (2, 2, 3), (3, 2)), einsum("b...,b->...", (2, 3, 2), (2,)),
    einsum("...i,...i->...", (2, 1, 3), (4, 3)),
    einsum("ij,jk->ki", (2, 1), (3, 2)),
    einsum("ab,cd->acbd", (2, 2), (3, 2)), einsum("i->", (3,)),
    einsum(" i j , j -> i ", (2, 3), (3,)),
]  # fmt: skip

NOTHING = np.array([1.0, np.nan, 2.0, np.nan])


def _with_nan(x: Any) -> Any:
    return np.where(np.isnan(NOTHING), np.nan, x)


FORMULAS = [
    Sample("round", lambda x: np.round(x, 1) + np.around(x) + x.round(-1),
           (constant(0.13, 1.27, -0.38, 17.0),), order=1),
    Sample("fix", lambda x: np.fix(x) + x, (real(4),)),
    Sample("angle", lambda z: np.angle(z) + np.angle(z, deg=True), (complexes(3),)),
    Sample("nansum", lambda x: np.nansum(_with_nan(x), axis=1), (real(2, 4),)),
    Sample("nanprod", lambda x: np.nanprod(_with_nan(x)), (real(4),)),
    Sample("nanmax", lambda x: np.nanmax(_with_nan(x), axis=1), (real(2, 4),)),
    Sample("nanmin", lambda x: np.nanmin(_with_nan(x)), (real(4),)),
    Sample("nanmean", lambda x: np.nanmean(_with_nan(x), axis=1, keepdims=True), (real(2, 4),)),
    Sample("nanvar", lambda x: np.nanvar(_with_nan(x), ddof=1), (real(4),)),
    Sample("nanstd", lambda x: np.nanstd(_with_nan(x)), (real(4),)),
    step("nan functions of int", lambda i: np.nanmax(i) + np.nansum(i) + np.nanmean(i), whole(4)),
    Sample("ediff1d", lambda x: np.ediff1d(x * x, to_begin=x[0], to_end=[1.0, 2.0]), (real(4),)),
    Sample("trapezoid", lambda y, x: np.trapezoid(y, x, axis=0), (real(4, 2), distinct(4)), **H),
    Sample("trapezoid dx", lambda y: np.trapezoid(y, dx=0.5), (real(2, 4),), **H),
    Sample("gradient", lambda x: np.gradient(x, 0.5) * x, (real(5),), **H),
    Sample("gradient of axes", lambda x: np.gradient(x, edge_order=2)[1], (real(3, 4),), **H),
    Sample("interp", lambda x, y: np.interp(x, np.arange(-3.0, 4.0), y), (real(2, 3), real(7))),
    Sample("interp outside", lambda x: np.interp(x, [-1.0, 0.5], [3.0, 1.0], right=7), (real(9),)),
    Sample("polyval", np.polyval, (real(4), real(3)), **H),
    Sample("vander", lambda x: np.vander(x, 4) + np.vander(x, 4, increasing=True), (real(3),), **H),
    contraction("convolve", np.convolve, (5,), (3,)),
    contraction("convolve same", lambda a, v: np.convolve(a, v, "same"), (2,), (5,)),
    contraction("convolve valid", lambda a, v: np.convolve(a, v, mode="valid"), (6,), (4,)),
    Sample("cov", np.cov, (real(3, 5),)),
    Sample("cov of two", lambda x, y: np.cov(x, y, bias=True), (real(4), real(4))),
    Sample("cov of columns", lambda x: np.cov(x, rowvar=False), (real(5, 2),)),
    Sample("corrcoef", lambda x: np.corrcoef(x)[0, 1], (real(2, 5),)),
    step("isposinf", np.isposinf, real(3)), step("isneginf", np.isneginf, real(3)),
    step("iscomplex", np.iscomplex, complexes(3)), step("isreal", np.isreal, real(3)),
    contraction("cross", np.cross, (2, 3), (3,)),
    contraction("linalg.cross", lambda a, b: np.linalg.cross(a, b, axis=0), (3, 2), (3, 2)),
    contraction("kron", np.kron, (2, 3), (2, 2)), contraction("kron 1-D", np.kron, (2,), (2, 3)),
    contraction("multi_dot", lambda *m: np.linalg.multi_dot(m), (2, 3), (3, 2), (2, 4)),
    contraction("multi_dot vectors", lambda *m: np.linalg.multi_dot(m), (3,), (3, 2), (2,)),
    contraction("matrix_power", lambda a: np.linalg.matrix_power(a, 5), (2, 2)),
    contraction("matrix_power 0", lambda a: np.linalg.matrix_power(a, 0) @ a, (2, 2)),
    Sample("float_power", np.float_power, (positive(3), real(3))),
    moved("atleast_3d", np.atleast_3d), moved("atleast_3d of 1-D", np.atleast_3d, real(3)),
    moved("rot90", np.rot90), moved("rot90 thrice", lambda x: np.rot90(x, 3, axes=(1, 0))),
    moved("rot90 twice", lambda x: np.rot90(x, 2)),
    moved("rollaxis", lambda x: np.rollaxis(x, 2), real(2, 3, 4)),
    moved("rollaxis to", lambda x: np.rollaxis(x, 0, 2), real(2, 3, 4)),
    moved("array_split uneven", lambda x: np.array_split(x, 3, axis=1)[1], real(2, 7)),
    moved("split negative", lambda x: np.split(x, [-2], axis=1)[0]),
    moved("hsplit", lambda x: np.hsplit(x, 2)[1]), moved("vsplit", lambda x: np.vsplit(x, 3)[1]),
    moved("dsplit", lambda x: np.dsplit(x, 2)[1], real(2, 3, 4)),
    moved("dstack", lambda a, b: np.dstack([a, b]), real(3), real(3)),
    moved("block", lambda a, b: np.block([[a, b], [b, a]]), real(2, 2), real(2, 2)),
    moved("block of vectors", lambda a, b: np.block([a, b, 1.0]), real(2), real(3)),
    moved("delete", lambda x: np.delete(x, [0, 2], axis=1)),
    moved("delete flat", lambda x: np.delete(x, 3)),
    *(Sample(name, getattr(np, name), tuple(real(*s) for s in shapes)) for name, *shapes in (
        ("vecdot", (2, 3), (3,)), ("matvec", (2, 3), (4, 3)), ("vecmat", (4, 2), (2, 3)),
    ) if hasattr(np, name)),
]  # fmt: skip

SAMPLES = [
    *UNARY, *BINARY, *COMPLEX, *ARITHMETIC, *CHOICES, *STEPS, *REDUCTIONS, *MOVEMENT, *INDEXING,
    *CONTRACTIONS, *FORMULAS,
]  # fmt: skip
