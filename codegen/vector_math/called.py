"""Functions that are called rather than inlined, since most of their code is seldom needed.

Moderate arguments need only a short formula. A vector of moderate arguments takes that alone; large
arguments are computed again by the long formula, so each result depends on nothing but its own
argument.

    declare double @aj.sin.f64(double)                   called by programs
    <8 x double> @aj.sin.f64.v8(<8 x double>)            called by LLVM instead, from vector code

The vectorizer finds the latter through an attribute of the former (LLVM's ABI for vector
functions). The variant for the width of the processor's registers is written from the formulas; the
variants of other widths call it.
"""

from __future__ import annotations

from llvmlite import ir

from .scalar import FORMATS, Format, Value
from .table import TABLE

_ATTRIBUTES = "nounwind willreturn nofree nosync speculatable memory(none)"
_I32 = ir.IntType(32)


def symbol(name: str, bits: int, lanes: int = 1) -> str:
    """Return the name of a function on `lanes` numbers at a time."""
    return f"aj.{name}.f{bits}" + (f".v{lanes}" if lanes > 1 else "")


def declare(module: ir.Module, name: str, bits: int, lanes: int = 1) -> ir.Function:
    """Return the function, declared in a module on first use."""
    number = FORMATS[bits].in_vectors(lanes).float_type
    existing = module.globals.get(symbol(name, bits, lanes))
    return existing or ir.Function(
        module, ir.FunctionType(number, [number]), symbol(name, bits, lanes)
    )


def declarations(name: str, bits: int, register: int) -> tuple[str, list[str]]:
    """Return declarations of the function and its vector variants, and the names of the variants.

    The names must be marked as used, or LLVM removes variants that nothing calls.
    """
    plain, number = symbol(name, bits), FORMATS[bits].float_type
    forms = {lanes: symbol(name, bits, lanes) for lanes in _widths(bits, register)}
    variants = ",".join(f"_ZGV_LLVM_N{lanes}v_{plain}({form})" for lanes, form in forms.items())
    lines = [
        f'declare {number} @"{plain}"({number}) {_ATTRIBUTES} '
        f'"vector-function-abi-variant"="{variants}"'
    ]
    for lanes, form in forms.items():
        vector = FORMATS[bits].in_vectors(lanes).float_type
        lines.append(f'declare {vector} @"{form}"({vector}) {_ATTRIBUTES}')
    return "\n".join(lines), list(forms.values())


def define(module: ir.Module, name: str, bits: int, register: int, *, fused: bool = False) -> None:
    """Write the function and its vector variants, for registers of ``register`` bytes.

    ``fused`` is as in ``function``.
    """
    native = _native(bits, register)
    _write_native(module, name, FORMATS[bits]._replace(lanes=native, fused=fused))
    for lanes in (1, *_widths(bits, register)):
        if lanes < native:
            _write_narrower(module, name, bits, lanes, native)
        elif lanes > native:
            _write_wider(module, name, bits, lanes)


def _native(bits: int, register: int) -> int:
    return max(register * 8 // bits, 2)


def _widths(bits: int, register: int) -> list[int]:
    """Return widths from two lanes to twice a register's: loops have numbers of several sizes."""
    native = _native(bits, register)
    return [1 << k for k in range(1, native.bit_length() + 1)]


def _start(function: ir.Function, format: Format) -> tuple[ir.IRBuilder, Value]:
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    return builder, Value(builder, format, function.args[0])


def _write_native(module: ir.Module, name: str, format: Format) -> None:
    """Write the short formula; then, if any argument is large, the long one for each that is."""
    entry, bits, lanes = TABLE[name], format.bits, format.lanes
    moderate = entry.moderate
    assert moderate is not None
    function = declare(module, name, bits, lanes)
    long = declare(module, f"{name}.any", bits)
    long.linkage = "internal"
    builder, one = _start(long, format.in_vectors(1))
    builder.ret(entry.formula(one).value)

    builder, x = _start(function, format)
    short = moderate.formula(x)
    large = (x.abs() > moderate.limit).value
    mask, i32 = ir.IntType(lanes), ir.IntType(32)
    is_any = builder.icmp_unsigned("!=", builder.bitcast(large, mask), mask(0))
    first = builder.block
    again, long_way, next_lane, done = map(
        builder.append_basic_block, ("again", "long_way", "next_lane", "done")
    )
    builder.cbranch(is_any, again, done)

    builder.position_at_end(again)
    lane, so_far = builder.phi(i32), builder.phi(format.float_type)
    builder.cbranch(builder.extract_element(large, lane), long_way, next_lane)
    builder.position_at_end(long_way)
    number = builder.call(long, [builder.extract_element(x.value, lane)])
    changed = builder.insert_element(so_far, number, lane)
    builder.branch(next_lane)
    builder.position_at_end(next_lane)
    then = builder.phi(format.float_type)
    following = builder.add(lane, i32(1))
    builder.cbranch(builder.icmp_unsigned("<", following, i32(lanes)), again, done)

    builder.position_at_end(done)
    result = builder.phi(format.float_type)
    builder.ret(result)
    for phi, ways in (
        (lane, ((i32(0), first), (following, next_lane))),
        (so_far, ((short.value, first), (then, next_lane))),
        (then, ((so_far, again), (changed, long_way))),
        (result, ((short.value, first), (then, next_lane))),
    ):
        for value, block in ways:
            phi.add_incoming(value, block)


def _write_narrower(module: ir.Module, name: str, bits: int, lanes: int, native: int) -> None:
    """Call the native width with the arguments among zeros."""
    builder, x = _start(declare(module, name, bits, lanes), FORMATS[bits].in_vectors(lanes))
    zeros = FORMATS[bits].in_vectors(native).float_type(0.0)
    wide = declare(module, name, bits, native)
    if lanes == 1:
        argument = builder.insert_element(zeros, x.value, _I32(0))
        builder.ret(builder.extract_element(builder.call(wide, [argument]), _I32(0)))
        return
    widened = _shuffle(builder, x.value, x.constant(0.0).value, range(native), 2 * lanes - 1)
    result = builder.call(wide, [widened])
    builder.ret(_shuffle(builder, result, zeros, range(lanes)))


def _write_wider(module: ir.Module, name: str, bits: int, lanes: int) -> None:
    """Call the function of half the width twice."""
    builder, x = _start(declare(module, name, bits, lanes), FORMATS[bits].in_vectors(lanes))
    half = declare(module, name, bits, lanes // 2)
    low, high = (
        builder.call(half, [_shuffle(builder, x.value, x.value, part)])
        for part in (range(lanes // 2), range(lanes // 2, lanes))
    )
    builder.ret(_shuffle(builder, low, high, range(lanes)))


def _shuffle(
    builder: ir.IRBuilder, a: ir.Value, b: ir.Value, lanes: range, most: int | None = None
) -> ir.Value:
    """Shuffle two vectors, with lanes counted through both; ``most`` limits the lane numbers."""
    numbers = [lane if most is None else min(lane, most) for lane in lanes]
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(numbers)), numbers))
