"""Write LLVM IR for real functions as if it were arithmetic on Python numbers.

A `Value` is one SSA value together with the builder that extends the function it lives in.
Floating-point operators carry no fast-math flags, so every operation is rounded exactly once as
written: the error-free transformations in `double_word` stay exact. Where one rounding fewer does
no harm, a formula says so with `fmuladd`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from llvmlite import ir

Number = int | float


class _Vector(ir.VectorType):
    """A vector type whose constants, all lanes being equal, are written as one number."""

    def format_constant(self, value: Sequence[ir.Constant]) -> str:
        return f"splat ({value[0].type} {value[0].get_reference()})"


class Format(NamedTuple):
    """The layout of an IEEE 754 binary format, and how many such numbers a value has."""

    bits: int
    mantissa: int
    """Explicitly stored bits of the significand."""
    bias: int
    lanes: int = 1
    fused: bool = False
    """Whether the processor multiplies and adds in one instruction, rounded once."""

    @property
    def float_type(self) -> ir.Type:
        return self._of(ir.DoubleType() if self.bits == 64 else ir.FloatType())

    @property
    def int_type(self) -> ir.Type:
        return self._of(ir.IntType(self.bits))

    def _of(self, number: ir.Type) -> ir.Type:
        return number if self.lanes == 1 else _Vector(number, self.lanes)

    @property
    def name(self) -> str:
        """As LLVM abbreviates it in names of intrinsic functions."""
        return f"f{self.bits}" if self.lanes == 1 else f"v{self.lanes}f{self.bits}"

    def in_vectors(self, lanes: int) -> Format:
        return self._replace(lanes=lanes)

    def of(self, bits: int) -> Format:
        """The same in the other width."""
        return FORMATS[bits]._replace(lanes=self.lanes, fused=self.fused)

    @property
    def sign_mask(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def magic(self) -> float:
        """1.5 * 2**mantissa: a small number added to it ends as an integer in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    def round(self, number: float) -> float:
        """The nearest number of this format, as a Python float."""
        if self.bits == 64:
            return number
        return float(struct.unpack("f", struct.pack("f", number))[0])


FORMATS = {
    32: Format(32, 23, 127),
    64: Format(64, 52, 1023),
}


class Value:
    """One SSA value: a float of `format`, an integer as wide, or a comparison's one bit.

    Or a vector of them, where the format has several lanes.
    """

    INTEGER_OPERATIONS: ClassVar[dict[str, str]] = {"fadd": "add", "fsub": "sub", "fmul": "mul"}

    def __init__(self, builder: ir.IRBuilder, format: Format, value: ir.Value) -> None:
        self.builder = builder
        self.format = format
        self.value = value

    @property
    def is_float(self) -> bool:
        return bool(self.value.type == self.format.float_type)

    def like(self, value: ir.Value) -> Value:
        return Value(self.builder, self.format, value)

    def constant(self, number: Number) -> Value:
        """The number as a constant of this value's own type."""
        return self.like(ir.Constant(self.value.type, number))

    def lift(self, other: Value | Number) -> Value:
        return other if isinstance(other, Value) else self.constant(other)

    # Arithmetic

    def binary(self, operation: str, left: Value | Number, right: Value | Number) -> Value:
        if not self.is_float:
            operation = self.INTEGER_OPERATIONS.get(operation, operation)
        emit = getattr(self.builder, operation)
        return self.like(emit(self.lift(left).value, self.lift(right).value))

    def __add__(self, other: Value | Number) -> Value:
        return self.binary("fadd", self, other)

    def __radd__(self, other: Number) -> Value:
        return self.binary("fadd", other, self)

    def __sub__(self, other: Value | Number) -> Value:
        return self.binary("fsub", self, other)

    def __rsub__(self, other: Number) -> Value:
        return self.binary("fsub", other, self)

    def __mul__(self, other: Value | Number) -> Value:
        return self.binary("fmul", self, other)

    def __rmul__(self, other: Number) -> Value:
        return self.binary("fmul", other, self)

    def __truediv__(self, other: Value | Number) -> Value:
        return self.binary("fdiv", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.binary("fdiv", other, self)

    def __neg__(self) -> Value:
        emit = self.builder.fneg if self.is_float else self.builder.neg
        return self.like(emit(self.value))

    # Bits

    def __and__(self, other: Value | Number) -> Value:
        return self.binary("and_", self, other)

    def __or__(self, other: Value | Number) -> Value:
        return self.binary("or_", self, other)

    def __xor__(self, other: Value | Number) -> Value:
        return self.binary("xor", self, other)

    def __invert__(self) -> Value:
        return self.like(self.builder.not_(self.value))

    def __lshift__(self, count: Value | int) -> Value:
        return self.binary("shl", self, count)

    def __rshift__(self, count: Value | int) -> Value:
        """Logical shift: 64-bit arithmetic shifts do not vectorise before AVX-512."""
        return self.binary("lshr", self, count)

    def as_int(self) -> Value:
        """The same bits as an integer."""
        return self.like(self.builder.bitcast(self.value, self.format.int_type))

    def as_float(self) -> Value:
        """The same bits as a float."""
        return self.like(self.builder.bitcast(self.value, self.format.float_type))

    # Conversions between the two widths

    def widen(self) -> Value:
        double = self.format.of(64)
        return Value(self.builder, double, self.builder.fpext(self.value, double.float_type))

    def narrow(self) -> Value:
        """A double as the nearest float, or a 64-bit integer's low half."""
        single = self.format.of(32)
        if self.is_float:
            return Value(self.builder, single, self.builder.fptrunc(self.value, single.float_type))
        return Value(self.builder, single, self.builder.trunc(self.value, single.int_type))

    # Comparisons: false where an operand is NaN

    def compare(self, operator: str, other: Value | Number) -> Value:
        right = self.lift(other).value
        if self.is_float:
            return self.like(self.builder.fcmp_ordered(operator, self.value, right))
        return self.like(self.builder.icmp_signed(operator, self.value, right))

    def __lt__(self, other: Value | Number) -> Value:
        return self.compare("<", other)

    def __le__(self, other: Value | Number) -> Value:
        return self.compare("<=", other)

    def __gt__(self, other: Value | Number) -> Value:
        return self.compare(">", other)

    def __ge__(self, other: Value | Number) -> Value:
        return self.compare(">=", other)

    def equals(self, other: Value | Number) -> Value:
        return self.compare("==", other)

    def is_nan(self) -> Value:
        return self.like(self.builder.fcmp_unordered("uno", self.value, self.value))

    # Functions that every processor has as an instruction

    def intrinsic(self, name: str, *others: Value) -> Value:
        float_type, module = self.format.float_type, self.builder.module
        operands = [self.value, *(other.value for other in others)]
        symbol = f"{name}.{self.format.name}"
        function = module.globals.get(symbol) or ir.Function(
            module, ir.FunctionType(float_type, [float_type] * len(operands)), symbol
        )
        return self.like(self.builder.call(function, operands))

    def sqrt(self) -> Value:
        return self.intrinsic("llvm.sqrt")

    def abs(self) -> Value:
        return self.intrinsic("llvm.fabs")

    def copysign(self, sign: Value) -> Value:
        return self.intrinsic("llvm.copysign", sign)

    def sign_bit(self) -> Value:
        """Zero, or the bit that negates a float when xor-ed into it."""
        return self.as_int() & self.format.sign_mask

    def negate_if(self, sign_bit: Value) -> Value:
        return (self.as_int() ^ sign_bit).as_float()

    def keep_high(self, low_bits: int) -> Value:
        """This float with its `low_bits` last significand bits cleared."""
        return (self.as_int() & -(1 << low_bits)).as_float()

    def clamp(self, low: Number, high: Number) -> Value:
        """Restricted to [low, high]; NaN stays NaN."""
        return self.at_least(low).at_most(high)

    def at_least(self, low: Number) -> Value:
        return select(self < low, low, self)

    def at_most(self, high: Number) -> Value:
        return select(self > high, high, self)


def select(condition: Value, if_true: Value | Number, if_false: Value | Number) -> Value:
    """Both sides are computed; at least one must be a `Value`, which gives the type."""
    typed = if_true if isinstance(if_true, Value) else if_false
    assert isinstance(typed, Value)
    return typed.like(
        typed.builder.select(condition.value, typed.lift(if_true).value, typed.lift(if_false).value)
    )


def fma(a: Value, b: Value, c: Value) -> Value:
    """a * b + c, rounded once: for processors that have an instruction for it."""
    return a.intrinsic("llvm.fma", b, c)


def fmuladd(a: Value, b: Value | Number, c: Value | Number) -> Value:
    """a * b + c, rounded once where the processor has a fused instruction, else twice."""
    return a.intrinsic("llvm.fmuladd", a.lift(b), a.lift(c))


def estrin(x: Value, coefficients: Sequence[float]) -> Value:
    """The polynomial c[0] + c[1] x + c[2] x**2 + ... in logarithmic depth.

    A few multiplications more than in Horner's scheme, but far less waiting.
    """
    terms: list[Value | float] = list(coefficients)
    power = x
    while len(terms) > 1:
        pairs = zip(terms[0::2], terms[1::2], strict=False)
        odd_one_out = terms[-1:] if len(terms) % 2 else []
        terms = [*(fmuladd(power, slope, constant) for constant, slope in pairs), *odd_one_out]
        if len(terms) > 1:
            power = power * power
    return x.lift(terms[0])
