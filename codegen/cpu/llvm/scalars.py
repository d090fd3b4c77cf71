"""The scalar vocabulary in LLVM IR: one small function per operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.llvm import library
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.machine import has_fused
from autojit.codegen.loop_ir.vocabulary import HALVES

from . import halves

#: Floating-point operations may contract into fused ones; nothing else is assumed.
CONTRACT = ("contract",)
#: In reductions, additions may also be reordered.
REASSOCIATE = ("contract", "reassoc")

_FLOATS = {"f32": ir.FloatType(), "f64": ir.DoubleType()}
_I1, _I8 = ir.IntType(1), ir.IntType(8)

Emit = Callable[..., ir.Value]


def llvm_type(dtype: str) -> ir.Type:
    """Return the type of a scalar in a register."""
    if dtype in _FLOATS:
        return _FLOATS[dtype]
    if dtype in HALVES:
        return halves.I16
    return _I1 if dtype == "bool" else ir.IntType(int(dtype[1:]))


def memory_type(dtype: str) -> ir.Type:
    """Return the type of a scalar in memory: bools are bytes."""
    return _I8 if dtype == "bool" else llvm_type(dtype)


def constant(value: Any, dtype: str) -> ir.Constant:
    """Return a constant of a dtype."""
    kind = llvm_type(dtype)
    if dtype in _FLOATS:
        return ir.Constant(kind, float(value))
    if dtype in HALVES:
        return halves.bits(value, dtype)
    return ir.Constant(kind, int(value))


def is_float(dtype: str) -> bool:
    return dtype in _FLOATS


def is_signed(dtype: str) -> bool:
    return dtype[0] == "i"


class Scalars:
    """Emits operations of the vocabulary at a builder's position."""

    def __init__(self, builder: ir.IRBuilder, module: ir.Module) -> None:
        self.builder = builder
        self.module = module
        #: Whether elementary functions are inlined.
        self.inlines = True

    def emit(
        self, name: str, args: list[ir.Value], dtype: str, result: str, flags: Any = CONTRACT
    ) -> ir.Value:
        """Apply an operation to registers of ``dtype``; the result has dtype ``result``."""
        if name == "select":
            return self.builder.select(*args)
        if name == "convert":
            return self.convert(args[0], dtype, result)
        if name in _COMPARISONS:
            return self.compare(name, args[0], args[1], dtype)
        if dtype == "bool":
            return self._bool(name, args)
        if is_float(dtype):
            return self._float(name, args, dtype, flags)
        return self._integer(name, args, dtype)

    # -- by kind of dtype ---------------------------------------------------

    def _bool(self, name: str, args: list[ir.Value]) -> ir.Value:
        b = self.builder
        if name in ("and", "mul", "minimum", "fmin"):
            return b.and_(*args)
        if name in ("or", "add", "maximum", "fmax"):
            return b.or_(*args)
        if name == "xor":
            return b.xor(*args)
        if name == "not":
            return b.not_(*args)
        if name == "abs":
            return args[0]
        raise TargetError(f"{name} of bool operands cannot be compiled")

    def _float(self, name: str, args: list[ir.Value], dtype: str, flags: Any) -> ir.Value:
        b = self.builder
        simple = {"add": b.fadd, "sub": b.fsub, "mul": b.fmul, "div": b.fdiv}
        if name in simple:
            return simple[name](*args, flags=flags)
        if name == "neg":
            return b.fneg(args[0])
        if name in _INTRINSICS:
            return self._intrinsic(_INTRINSICS[name], args)
        special = _FLOAT_WORDS.get(name)
        if special is not None:
            return special(self, *args, dtype)
        from autojit.codegen import vector_math  # takes 7 ms, so only programs that need it do

        if name in vector_math.NAMES:
            bits = 64 if dtype == "f64" else 32
            if name in vector_math.CALLED:
                return b.call(library.elementary(self.module, name, bits), args)
            function = vector_math.function(self.module, name, bits, fused=has_fused())
            return b.call(function, args, attrs=() if self.inlines else ("noinline",))
        raise TargetError(f"{name} of {dtype} operands cannot be compiled for the CPU")

    def _integer(self, name: str, args: list[ir.Value], dtype: str) -> ir.Value:
        b = self.builder
        simple = {
            "add": b.add, "sub": b.sub, "mul": b.mul, "neg": b.neg,
            "and": b.and_, "or": b.or_, "xor": b.xor, "not": b.not_,
        }  # fmt: skip
        if name in simple:
            return simple[name](*args)
        special = _INTEGER_WORDS.get(name)
        if special is None:
            raise TargetError(f"{name} of {dtype} operands cannot be compiled for the CPU")
        return special(self, *args, dtype)

    # -- shared ---------------------------------------------------------------

    def compare(self, name: str, x: ir.Value, y: ir.Value, dtype: str) -> ir.Value:
        symbol = _COMPARISONS[name]
        if is_float(dtype):
            if name == "ne":
                return self.builder.fcmp_unordered(symbol, x, y)
            return self.builder.fcmp_ordered(symbol, x, y)
        if is_signed(dtype):
            return self.builder.icmp_signed(symbol, x, y)
        return self.builder.icmp_unsigned(symbol, x, y)

    def _intrinsic(self, name: str, args: list[ir.Value]) -> ir.Value:
        function = self.module.declare_intrinsic(f"llvm.{name}", [args[0].type])
        return self.builder.call(function, args)

    def binary_intrinsic(
        self, name: str, x: ir.Value, y: ir.Value, flags: tuple[str, ...] = ()
    ) -> ir.Value:
        kind = x.type
        suffix = {"float": "f32", "double": "f64"}.get(str(kind), str(kind))
        symbol = f"llvm.{name}.{suffix}"
        function = self.module.globals.get(symbol)
        if function is None:
            signature = ir.FunctionType(kind, [kind, kind])
            function = ir.Function(self.module, signature, symbol)
        return self.builder.call(function, [x, y], fastmath=flags)

    def convert(self, x: ir.Value, old: str, new: str) -> ir.Value:
        """Convert a scalar to another dtype as C does; floats out of range saturate."""
        b, kind = self.builder, llvm_type(new)
        if old in HALVES:
            return halves.widened(b, x, old)
        if new in HALVES:
            return halves.narrowed(b, x, new)
        if is_float(old) and is_float(new):
            return b.fpext(x, kind) if new == "f64" else b.fptrunc(x, kind)
        if is_float(new) and old == "bool":  # a masked move instead of a conversion
            return b.select(x, ir.Constant(kind, 1.0), ir.Constant(kind, 0.0))
        if is_float(new):
            return b.sitofp(x, kind) if is_signed(old) else b.uitofp(x, kind)
        if is_float(old):
            word = "fptosi" if is_signed(new) else "fptoui"
            suffix = "f64" if old == "f64" else "f32"
            symbol = f"llvm.{word}.sat.{kind}.{suffix}"
            function = self.module.globals.get(symbol) or ir.Function(
                self.module, ir.FunctionType(kind, [x.type]), symbol
            )
            return b.call(function, [x])
        if old == "bool" or kind.width > x.type.width:
            return b.sext(x, kind) if is_signed(old) and old != "bool" else b.zext(x, kind)
        return b.trunc(x, kind) if kind.width < x.type.width else x


_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INTRINSICS = {
    "abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
    "sqrt": "sqrt",
}  # fmt: skip


# -- operations of more than one instruction ----------------------------------


def _extremum(symbol: str, keep_nan: bool) -> Emit:
    def emit(s: Scalars, x: ir.Value, y: ir.Value, dtype: str) -> ir.Value:
        b = s.builder
        better = b.fcmp_ordered(symbol, x, y)
        doubtful = x if keep_nan else y
        is_nan = b.fcmp_unordered("!=", doubtful, doubtful)
        return b.select(b.or_(better, is_nan), x, y)

    return emit


def _sign(s: Scalars, x: ir.Value, dtype: str) -> ir.Value:
    b, zero = s.builder, constant(0, dtype)
    positive, negative = s.compare("gt", x, zero, dtype), s.compare("lt", x, zero, dtype)
    middle = x
    if is_float(dtype):  # NaN stays; -0.0 becomes 0.0, as in NumPy
        middle = b.select(s.compare("eq", x, zero, dtype), zero, x)
    result = b.select(positive, constant(1, dtype), middle)
    return b.select(negative, constant(-1, dtype), result) if dtype[0] != "u" else result


def _float_remainder(s: Scalars, x: ir.Value, y: ir.Value, dtype: str) -> ir.Value:
    b, zero = s.builder, constant(0, dtype)
    rest = b.frem(x, y)
    is_zero = b.fcmp_ordered("==", rest, zero)
    differ = b.xor(b.fcmp_ordered("<", rest, zero), b.fcmp_ordered("<", y, zero))
    shifted = b.select(differ, b.fadd(rest, y), rest)
    return b.select(is_zero, s.binary_intrinsic("copysign", zero, y), shifted)


def _float_floor_divide(s: Scalars, x: ir.Value, y: ir.Value, dtype: str) -> ir.Value:
    # (x - fmod(x, y)) / y is an integer up to rounding; subtract one if the signs differ.
    # (The remainder cannot replace fmod: it may be infinite if y is.)
    b, zero = s.builder, constant(0, dtype)
    rest = b.frem(x, y)
    quotient = b.fdiv(b.fsub(x, rest), y)
    differ = b.xor(b.fcmp_ordered("<", rest, zero), b.fcmp_ordered("<", y, zero))
    below = b.and_(differ, b.fcmp_ordered("!=", rest, zero))
    quotient = b.select(below, b.fsub(quotient, constant(1, dtype)), quotient)
    whole = s.emit("floor", [quotient], dtype, dtype)
    too_low = b.fcmp_ordered(">", b.fsub(quotient, whole), constant(0.5, dtype))
    whole = b.select(too_low, b.fadd(whole, constant(1, dtype)), whole)
    exact = b.fdiv(x, y)
    is_zero = b.fcmp_ordered("==", quotient, zero)
    whole = b.select(is_zero, s.binary_intrinsic("copysign", zero, exact), whole)
    return b.select(b.fcmp_ordered("==", y, zero), exact, whole)


def _integer_division(s: Scalars, x: ir.Value, y: ir.Value, dtype: str) -> tuple[Any, Any]:
    """Return the quotient rounded down and the remainder; 0 and 0 for a divisor of 0."""
    b, zero, one = s.builder, constant(0, dtype), constant(1, dtype)
    no_divisor = b.icmp_signed("==", y, zero)
    safe = b.select(no_divisor, one, y)
    if not is_signed(dtype):
        quotient, rest = b.udiv(x, safe), b.urem(x, safe)
    else:
        minus_one = b.icmp_signed("==", y, constant(-1, dtype))
        safe = b.select(minus_one, one, safe)  # the smallest integer over -1 would trap
        quotient, rest = b.sdiv(x, safe), b.srem(x, safe)
        quotient = b.select(minus_one, b.neg(x), quotient)
        differ = b.icmp_signed("<", b.xor(rest, safe), zero)
        adjust = b.and_(b.icmp_signed("!=", rest, zero), differ)
        quotient = b.select(adjust, b.sub(quotient, one), quotient)
        rest = b.select(adjust, b.add(rest, safe), rest)
    return b.select(no_divisor, zero, quotient), b.select(no_divisor, zero, rest)


def _integer_fmod(s: Scalars, x: ir.Value, y: ir.Value, dtype: str) -> ir.Value:
    quotient_rest = _integer_division(s, x, y, dtype)
    if not is_signed(dtype):
        return quotient_rest[1]
    b, zero = s.builder, constant(0, dtype)
    unsafe = b.or_(b.icmp_signed("==", y, zero), b.icmp_signed("==", y, constant(-1, dtype)))
    safe = b.select(unsafe, constant(1, dtype), y)
    return b.select(unsafe, zero, b.srem(x, safe))


def _integer_abs(s: Scalars, x: ir.Value, dtype: str) -> ir.Value:
    if not is_signed(dtype):
        return x
    b = s.builder
    return b.select(b.icmp_signed("<", x, constant(0, dtype)), b.neg(x), x)


def _integer_extremum(symbol: str) -> Emit:
    def emit(s: Scalars, x: ir.Value, y: ir.Value, dtype: str) -> ir.Value:
        compare = s.builder.icmp_signed if is_signed(dtype) else s.builder.icmp_unsigned
        return s.builder.select(compare(symbol, x, y), x, y)

    return emit


def _shift(left: bool) -> Emit:
    def emit(s: Scalars, x: ir.Value, y: ir.Value, dtype: str) -> ir.Value:
        # Shifts by the width or more give 0, or the sign for an arithmetic shift right.
        b, width = s.builder, x.type.width
        signed_right = not left and is_signed(dtype)
        inside = b.icmp_unsigned("<", y, constant(width, dtype))
        safe = b.select(inside, y, constant(width - 1, dtype))
        if left:
            return b.select(inside, b.shl(x, safe), constant(0, dtype))
        if signed_right:
            return b.ashr(x, safe)
        return b.select(inside, b.lshr(x, safe), constant(0, dtype))

    return emit


def _integer_power(s: Scalars, x: ir.Value, exponent: ir.Value, dtype: str) -> ir.Value:
    """Compute a power by repeated squaring, in a separate function because it loops."""
    symbol = f"aj.pow.{dtype}"
    function = s.module.globals.get(symbol)
    if function is None:
        kind = llvm_type(dtype)
        function = ir.Function(s.module, ir.FunctionType(kind, [kind, kind]), symbol)
        function.linkage = "internal"
        _write_integer_power(function, dtype)
    return s.builder.call(function, [x, exponent])


def _write_integer_power(function: ir.Function, dtype: str) -> None:
    kind, zero, one = llvm_type(dtype), constant(0, dtype), constant(1, dtype)
    entry, loop, done = (function.append_basic_block(n) for n in ("entry", "loop", "done"))
    b = ir.IRBuilder(entry)
    positive = b.icmp_signed if is_signed(dtype) else b.icmp_unsigned
    b.cbranch(positive(">", function.args[1], zero), loop, done)
    b.position_at_end(loop)
    result, square, rest = b.phi(kind), b.phi(kind), b.phi(kind)
    odd = b.icmp_unsigned("!=", b.and_(rest, one), zero)
    following = b.select(odd, b.mul(result, square), result)
    halved = b.lshr(rest, one)
    for phi, first, then in (
        (result, one, following),
        (square, function.args[0], b.mul(square, square)),
        (rest, function.args[1], halved),
    ):
        phi.add_incoming(first, entry)
        phi.add_incoming(then, loop)
    b.cbranch(b.icmp_unsigned("!=", halved, zero), loop, done)
    b.position_at_end(done)
    final = b.phi(kind)
    final.add_incoming(one, entry)
    final.add_incoming(following, loop)
    b.ret(final)


_FLOAT_WORDS: dict[str, Emit] = {
    "maximum": _extremum(">=", True),
    "minimum": _extremum("<=", True),
    "fmax": _extremum(">=", False),
    "fmin": _extremum("<=", False),
    "sign": _sign,
    "copysign": lambda s, x, y, dtype: s.binary_intrinsic("copysign", x, y),
    "fmod": lambda s, x, y, dtype: s.builder.frem(x, y),
    "remainder": _float_remainder,
    "floor_divide": _float_floor_divide,
}
_INTEGER_WORDS: dict[str, Emit] = {
    "abs": _integer_abs,
    "sign": _sign,
    "maximum": _integer_extremum(">"),
    "minimum": _integer_extremum("<"),
    "fmax": _integer_extremum(">"),
    "fmin": _integer_extremum("<"),
    "floor_divide": lambda s, x, y, dtype: _integer_division(s, x, y, dtype)[0],
    "remainder": lambda s, x, y, dtype: _integer_division(s, x, y, dtype)[1],
    "fmod": _integer_fmod,
    "pow": _integer_power,
    "shift_left": _shift(True),
    "shift_right": _shift(False),
    "floor": lambda s, x, dtype: x,
    "ceil": lambda s, x, dtype: x,
    "trunc": lambda s, x, dtype: x,
}
