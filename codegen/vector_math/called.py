"""Functions that are called, and not inlined, since most of their code is seldom needed.

Where an argument is moderate, a short formula does.  A vector in which all are takes that one
alone; the others are computed again, by the long formula, so what an element gives depends on
nothing but the element.

    declare double @aj.sin.f64(double)                   what programs call
    <8 x double> @aj.sin.f64.v8(<8 x double>)            what LLVM calls in its place, from vectors

The vectoriser learns of the latter by an attribute of the former (LLVM's ABI for vector functions).
One width is written from the formulas, that of the processor's registers; the others call it.
"""

from __future__ import annotations

from llvmlite import ir

from .scalar import FORMATS, Format, Value
from .table import TABLE

_ATTRIBUTES = "nounwind willreturn nofree nosync speculatable memory(none)"
_I32 = ir.IntType(32)


def symbol(name: str, bits: int, lanes: int = 1) -> str:
    """The name of a function on `lanes` numbers at a time."""
    return f"aj.{name}.f{bits}" + (f".v{lanes}" if lanes > 1 else "")


def declare(module: ir.Module, name: str, bits: int, lanes: int = 1) -> ir.Function:
    """The function, declared in a module on first use."""
    number = FORMATS[bits].in_vectors(lanes).float_type
    existing = module.globals.get(symbol(name, bits, lanes))
    return existing or ir.Function(
        module, ir.FunctionType(number, [number]), symbol(name, bits, lanes)
    )


def declarations(name: str, bits: int, register: int) -> tuple[str, list[str]]:
    """In LLVM IR: the function with its attributes and its vector forms; and the latter's names.

    The names have to be said to be used, or LLVM removes what nothing calls.
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
    """Write the function and its vector forms, for registers of so many bytes.

    ``fused``: as of ``function``.
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
    """Two lanes up to twice a register's: loops have numbers of several sizes."""
    native = _native(bits, register)
    return [1 << k for k in range(1, native.bit_length() + 1)]


def _start(function: ir.Function, format: Format) -> tuple[ir.IRBuilder, Value]:
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    return builder, Value(builder, format, function.args[0])


def _write_native(module: ir.Module, name: str, format: Format) -> None:
    """The short formula; then, if any argument is large, the long one for each that is."""
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
    """Among zeros."""
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
    """By halves."""
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
    """Lanes of two vectors, counted through; those above the last are the last."""
    numbers = [lane if most is None else min(lane, most) for lane in lanes]
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(numbers)), numbers))
