"""The reduction family: axes are combined away by an associative operation.

Where several elements attain the maximum or minimum, each gets an equal share
of the derivative.  The derivative of ``prod`` multiplies the other elements, so
that it is exact with zeros too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from autojit.ir.core import shapes
from autojit.ir.core.batching import Batched, later
from autojit.ir.core.declaration import MaybeValue, Scalar, SingleResult, full
from autojit.ir.core.halves import is_bfloat16, kind_of, number_of
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type, TypeMismatch

from .arithmetic import convert, eq
from .move import broadcast, concatenate, reshape, slice_axis


class Reduce(SingleResult):
    """``name(x, axes=a)``: the axes in ``a`` are combined away.

    ``combine``   the scalar operation, in the vocabulary of the backends
    ``identity``  its neutral element for a dtype
    ``idempotent``  whether an element combined with itself is itself
    """

    arity = 1
    parameters = ("axes",)
    idempotent = False

    def work(self, op: Op) -> float:
        return op.operands[0].type.size

    def __init__(
        self,
        name: str,
        numpy: Callable[..., Any],
        combine: str,
        identity: Callable[[np.dtype], Any],
        kinds: str,
    ) -> None:
        super().__init__(name)
        self.numpy = numpy
        self.combine = combine
        self.identity = identity
        self.kinds = kinds

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,), axes = types, params["axes"]
        kind = kind_of(x.dtype).replace("b", "?")
        if kind not in self.kinds:
            raise TypeMismatch(f"{self.name} does not reduce {x}")
        if not (list(axes) == sorted(set(axes)) and all(0 <= a < x.ndim for a in axes)):
            raise TypeMismatch(f"{self.name} of {x} over axes {axes}")
        return (x.with_shape(shapes.without_axes(x.shape, axes)),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        (x,), axes = arrays, params["axes"]
        if not axes:
            return x  # NumPy combines with the neutral element: 1 * (inf+0j) is (inf+nanj)
        return self.numpy(x, axis=axes).astype(np.asarray(x).dtype, copy=False)

    def uniform(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        (x,) = op.operands
        element: Scalar = scalars[0] if x.type.size else self.identity(x.dtype)
        return element if self.idempotent or not x.type.size else None

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        return self(operands[0].value, axes=later(op.params["axes"]))


class Idempotent(Reduce):
    idempotent = True


class Sum(Reduce):
    def uniform(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        (x,) = op.operands
        if not x.type.size:
            return super().uniform(op, scalars)
        return exact_multiple(scalars[0], prod(x.shape[a] for a in op.params["axes"]), x.dtype)

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (tangent,) = tangents
        return (None if tangent is None else self(tangent, **op.params),)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        (cotangent,) = cotangents
        if cotangent is None:
            return (None,)
        return (spread(cotangent, op.operands[0].shape, op.params["axes"]),)


class Extremum(Idempotent):
    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (tangent,), (x,), axes = tangents, op.operands, op.params["axes"]
        if tangent is None or not x.type.is_inexact:
            return (None,)
        hit = convert(eq(x, spread(op.result, x.shape, axes)), dtype=x.dtype)
        share = hit / spread(sum_(hit, axes=axes), x.shape, axes)
        return (sum_(tangent * share, axes=axes),)


class Product(Reduce):
    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (tangent,), (x,) = tangents, op.operands
        if tangent is None or not x.type.is_inexact:
            return (None,)
        # (p, dp) pairs are multiplied in a tree, halving an axis at a time:
        # exact with zeros, to every order, in a logarithmic number of ops.
        for axis in op.params["axes"]:
            x, tangent = _multiply_along(x, tangent, axis)
        shape = op.result.shape
        return (reshape(tangent, shape=shape),)


def _multiply_along(x: Value, tangent: Value, axis: int) -> tuple[Value, Value]:
    if x.shape[axis] == 0:
        one = shapes.keep_axes(x.shape, (axis,))
        return full(1, x.type.with_shape(one)), full(0, x.type.with_shape(one))
    while (extent := x.shape[axis]) > 1:
        half = extent // 2
        a, b = slice_axis(x, axis, 0, half), slice_axis(x, axis, half, 2 * half)
        s, t = slice_axis(tangent, axis, 0, half), slice_axis(tangent, axis, half, 2 * half)
        product, change = a * b, s * b + a * t
        if extent % 2:
            product = concatenate(product, slice_axis(x, axis, extent - 1, extent), axis=axis)
            rest = slice_axis(tangent, axis, extent - 1, extent)
            change = concatenate(change, rest, axis=axis)
        x, tangent = product, change
    return x, tangent


def product(x: Value, axes: Sequence[int]) -> Value:
    """The product over some axes; of complex numbers by a tree of multiplications.

    (A complex product does not combine the parts one by one, as the backends reduce.)
    """
    if x.dtype.kind != "c":
        return prod_(x, axes=tuple(axes))
    for axis in axes:
        x = _halved_to_one(x, axis)
    return reshape(x, shape=shapes.without_axes(x.shape, axes))


def _halved_to_one(x: Value, axis: int) -> Value:
    if x.shape[axis] == 0:
        return full(1, x.type.with_shape(shapes.keep_axes(x.shape, (axis,))))
    while (extent := x.shape[axis]) > 1:
        half = extent // 2
        halves = slice_axis(x, axis, 0, half) * slice_axis(x, axis, half, 2 * half)
        rest = [slice_axis(x, axis, extent - 1, extent)] if extent % 2 else []
        x = concatenate(halves, *rest, axis=axis) if rest else halves
    return x


def exact_multiple(scalar: Any, count: int, dtype: np.dtype) -> Scalar | None:
    """The sum of ``count`` copies of a scalar, or None where the order of summing may matter.

    Every partial sum of a float is exact if its odd part times the count fits the mantissa.

    >>> exact_multiple(0.75, 1000, np.dtype("float32"))
    750.0
    >>> exact_multiple(0.1, 1000, np.dtype("float32")) is None
    True
    """
    if dtype.kind in "iu":
        with np.errstate(over="ignore"):
            wrapped: int = np.multiply(scalar, np.asarray(count).astype(dtype), dtype=dtype).item()
        return wrapped
    if repr(scalar) == "0.0":
        return 0.0
    if dtype.kind == "c" or is_bfloat16(dtype) or scalar == 0 or not np.isfinite(scalar):
        return None
    numerator, _ = scalar.as_integer_ratio()
    odd_part = numerator // (numerator & -numerator)
    exact = abs(odd_part) * count < 2 ** (np.finfo(dtype).nmant + 1)
    product: float = scalar * count
    return product if exact and abs(product) <= np.finfo(dtype).max else None


def spread(reduced: Value, shape: shapes.Shape, axes: Sequence[int]) -> Value:
    """The result of a reduction repeated along the axes that were reduced."""
    dims = tuple(i for i in range(len(shape)) if i not in axes)
    return broadcast(reduced, shape=shape, dims=dims)


def _lowest(dtype: np.dtype) -> Any:
    if kind_of(dtype) == "f":
        return -np.inf
    return False if dtype.kind == "b" else int(np.iinfo(dtype).min)


def _highest(dtype: np.dtype) -> Any:
    if kind_of(dtype) == "f":
        return np.inf
    return True if dtype.kind == "b" else int(np.iinfo(dtype).max)


def _at_least_identity(numpy: Any, identity: Callable[[np.dtype], Any]) -> Callable[..., Any]:
    return lambda x, axis: numpy(x, axis=axis, initial=identity(np.asarray(x).dtype))


def _constant(value: Any) -> Callable[[np.dtype], Any]:
    return lambda dtype: number_of(value, dtype)


sum_ = Sum("sum", np.sum, "add", _constant(0), "iufc")
prod_ = Product("prod", np.prod, "mul", _constant(1), "iuf")
max_ = Extremum("max", _at_least_identity(np.max, _lowest), "maximum", _lowest, "?iuf")
min_ = Extremum("min", _at_least_identity(np.min, _highest), "minimum", _highest, "?iuf")
any_ = Idempotent("any", np.any, "or", _constant(False), "?")
all_ = Idempotent("all", np.all, "and", _constant(True), "?")

_COMBINING = {kind.combine: kind for kind in (sum_, prod_, max_, min_, any_, all_)}


def identity(combine: str, dtype: np.dtype) -> Any:
    """The neutral element of a way to combine scalars.

    >>> identity("maximum", np.dtype("f4")), identity("minimum", np.dtype("i1"))
    (-inf, 127)
    """
    return _COMBINING[combine].identity(dtype)
