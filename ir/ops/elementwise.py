"""The elementwise family: one result element from the same element of each operand.

Operands all have the result's shape (the tracer inserts broadcasts) and, unless
the declaration says otherwise, one dtype.

The derivative of an elementwise op is stated once, with one rule per operand: how a perturbation
``t`` of that operand changes the result ``y``.  A rule is linear in ``t``.  Element by element a
linear map is its own transpose, so the same rule carries cotangents back; ops that change between
real and complex, or between dtypes, state the way back as ``adjoint``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import Literal, MaybeValue, Scalar, SingleResult, require
from autojit.ir.core.halves import converted, is_bfloat16, kind_of, number_of
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type, TypeMismatch

#: ``rule(t, y, *operands)``; None if the derivative is zero everywhere.
Rule = Callable[..., Value] | None

ANY = "?iufc"
REAL = "?iuf"
NUMBER = "iufc"
ORDERED_NUMBER = "iuf"
INEXACT = "fc"
FLOAT = "f"
BITS = "?iu"

_BOOL = np.dtype(bool)

_KIND_NAMES = {"?": "bool", "i": "integer", "u": "unsigned", "f": "float", "c": "complex"}


class Elementwise(SingleResult):
    """An op that computes each element by itself.

    ``numpy``    the NumPy function that evaluates it
    ``rules``    one derivative rule an operand (see the module)
    ``kinds``    dtype kinds it takes
    ``kernel``   ``kernel(k, *scalars)``: one element, in the scalar vocabulary of
                 the backends; the default is the op's own name in it
    ``complex_kernel``  the same on ``(re, im)`` pairs, given where complex operands compile
    ``cost``     rough cost of one element in additions; decides what is recomputed
    ``commutative``  whether the two operands may change places, down to the sign of a zero
    ``fails``    dtype kinds of operands for some values of which it raises
    ``poles``    whether it may divide by an operand
    """

    rules_by_type = True

    def __init__(
        self,
        name: str,
        numpy: Callable[..., Any],
        rules: Sequence[Rule] = (),
        *,
        answers: Sequence[Any] = (),
        adjoints: Sequence[Rule] | None = None,
        kinds: str = ANY,
        kernel: Callable[..., Any] | None = None,
        complex_kernel: Callable[..., Any] | None = None,
        cost: int = 1,
        commutative: bool = False,
        fails: str = "",
        poles: bool = False,
    ) -> None:
        super().__init__(name, answers)
        self.poles = poles
        self.numpy = numpy
        self.rules = tuple(rules)
        self.arity = len(self.rules)
        self.adjoints = tuple(adjoints) if adjoints is not None else self.rules
        self.kinds = kinds
        self.kernel = kernel or (lambda k, *scalars: k(name, *scalars))
        self.complex_kernel = complex_kernel
        self.cost = cost
        self.commutative = commutative
        self.fails = fails

    def work(self, op: Op) -> float:
        return self.cost * op.result.type.size

    def has_poles(self, op: Op) -> bool:
        return self.poles

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        """The result dtype for a dtype of the operands; here, the same."""
        return dtype

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        """The operands have one shape and one dtype of a kind it takes."""
        first = types[0]
        for t in types:
            if t is not first and t != first:
                raise TypeMismatch(
                    f"{self.name} takes operands of one shape and dtype; "
                    f"got {', '.join(map(str, types))}"
                )
        kind = kind_of(first.dtype)
        if kind not in self.kinds and (kind != "b" or "?" not in self.kinds):
            words = _KIND_NAMES[kind.replace("b", "?")]
            raise TypeMismatch(f"{self.name} does not take {words} operands (got {first})")
        dtype = self.result_dtype(first.dtype)
        return (first if dtype is first.dtype else Type(dtype, first.shape),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return self.numpy(*arrays)

    def uniform(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        if any(is_bfloat16(v.dtype) for v in (*op.operands, op.result)):
            return self._uniform_half(op, scalars)
        arrays = [np.asarray(s, v.dtype) for s, v in zip(scalars, op.operands, strict=True)]
        try:
            with np.errstate(all="ignore"):
                result = self.evaluate(*arrays, **op.params)
        except Exception:
            if not self.may_fail(op):
                raise
            return None  # an integer to a negative power, say: the error belongs to the run
        element: Scalar = np.asarray(result, op.result.dtype).item()
        return element

    def _uniform_half(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        """A value computed in float32 becomes an element only by rounding; a conversion is
        rounded."""
        if "dtype" not in op.params or op.operands[0].dtype.kind == "c":
            return None
        found: Scalar = number_of(scalars[0], op.result.dtype)
        return found

    def may_fail(self, op: Op) -> bool:
        return bool(self.fails) and any(v.dtype.kind in self.fails for v in op.operands)

    def may_raise(self, op: Op, error: Exception) -> bool:
        if super().may_raise(op, error):
            return True
        return self.may_fail(op) and "negative integer powers" in str(error)

    def reaches(self, op: Op, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
        if inexact:
            marked = [m and rule is not None for m, rule in zip(marked, self.rules, strict=True)]
        return super().reaches(op, marked, inexact=inexact)

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        total: MaybeValue = None
        if op.result.type.is_inexact:
            for tangent, rule in zip(tangents, self.rules, strict=True):
                if tangent is not None and rule is not None:
                    term = rule(tangent, op.result, *op.operands, **op.params)
                    total = term if total is None else total + term
        return (total,)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        (cotangent,) = cotangents
        if cotangent is None:
            return (None,) * len(op.operands)
        return [
            rule(cotangent, op.result, *op.operands, **op.params) if is_linear and rule else None
            for is_linear, rule in zip(linear, self.adjoints, strict=True)
        ]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        return self(*[along(o, size) for o in operands], **op.params)


class Compare(Elementwise):
    """Elementwise with a bool result."""

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return _BOOL


class RealPart(Elementwise):
    """Elementwise with the result in the real dtype of a complex operand."""

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return np.empty(0, dtype).real.dtype


class MakeComplex(Elementwise):
    """Two real operands to a complex result."""

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return np.result_type(dtype, np.complex64)


class Select(Elementwise):
    """``select(condition, x, y)``: x where the condition holds, else y."""

    moves = True

    def mask(self, op: Op, operand: int) -> Literal | None:
        return (op.operands[0], operand == 1) if operand else None

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        condition, x, y = types
        require(
            condition == x.with_dtype(bool) and x == y,
            f"select takes a bool condition and two operands of one type, all of one shape; "
            f"got {condition}, {x}, {y}",
        )
        return (x,)


class Convert(Elementwise):
    """``convert(x, dtype=d)``: x in another dtype, as ``astype`` does it."""

    moves = True
    parameters = ("dtype",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,) = types
        return (x.with_dtype(params["dtype"]),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            return converted(np.asarray(arrays[0]), params["dtype"])


class IntegerPower(Elementwise):
    """``integer_power(x, exponent=n)``: x to a constant integer power."""

    parameters = ("exponent",)

    def has_poles(self, op: Op) -> bool:
        return bool(op.params["exponent"] < 0)

    def may_fail(self, op: Op) -> bool:
        return op.params["exponent"] < 0 and super().may_fail(op)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        (x,) = arrays
        if params["exponent"] == 2:  # as NumPy's operator; np.power multiplies with 1 first
            return np.square(x)
        return np.power(x, np.asarray(params["exponent"]).astype(x.dtype))
