"""Sheets in LLVM IR: a loop over the rows of a table, which calls a function for each.

The functions, one per operation, are in the library, so a sheet itself is only data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.machine import has_fused
from autojit.codegen.loop_ir.sheets import FUSED, OWN, ROW, TRUTHS, Sheet
from autojit.codegen.loop_ir.vocabulary import WORDS

from . import library
from .counted import CountedLoop
from .scalars import Scalars, llvm_type

I1, I32, I64, POINTER = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.PointerType()
VOID = ir.VoidType()

#: result, three operands, number of elements, the step of each operand
_WORD = ir.FunctionType(VOID, [POINTER] * 4 + [I64] * 4)
#: rows, number of rows, cells, functions
_RUN = ir.FunctionType(VOID, [POINTER, I64, POINTER, POINTER])
_ZERO, _ONE = ir.Constant(I64, 0), ir.Constant(I64, 1)


def emit(
    module: ir.Module, b: ir.IRBuilder, sheet: Sheet, at: Mapping[str, Sequence[ir.Value]]
) -> None:
    """Run a sheet; ``at`` contains the addresses of ``cells``, ``inputs`` and ``outputs``."""
    (cells,) = at["cells"]
    size, kind = itemsize(sheet.dtype), llvm_type(sheet.dtype)

    def cell(number: int) -> ir.Value:
        return b.gep(cells, [ir.Constant(I64, number)], inbounds=True, source_etype=kind)

    if sheet.constants:
        _copy(b, cells, _constants(module, sheet), len(sheet.constants) * size)
    for buffer, start, address in zip(sheet.inputs, sheet.starts, at["inputs"], strict=True):
        _copy(b, cell(start), address, buffer.size * size)
    if sheet.rows:
        function = library.function(
            module, f"sheet.{sheet.dtype}", _RUN, lambda f: _write_run(f, sheet.dtype)
        )
        rows = _data(module, sheet.rows)
        count = ir.Constant(I64, len(sheet.rows) // (4 * ROW))
        b.call(function, [rows, count, cells, _words(module, sheet)])
    for buffer, place, address in zip(sheet.outputs, sheet.places, at["outputs"], strict=True):
        _copy(b, address, cell(place), buffer.size * size)


def _copy(b: ir.IRBuilder, to: ir.Value, of: ir.Value, size: int) -> None:
    copy = b.module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, I64])
    b.call(copy, [to, of, ir.Constant(I64, size), ir.Constant(I1, 0)])


class _Bytes(ir.Constant):
    """Constant bytes, printed at once: llvmlite would format each of millions separately."""

    def __init__(self, data: bytes) -> None:
        super().__init__(ir.ArrayType(ir.IntType(8), len(data)), None)
        self.data = data

    def get_reference(self) -> str:
        return 'c"\\' + self.data.hex("\\") + '"'

    def __str__(self) -> str:
        return f"{self.type} {self.get_reference()}"


def _data(module: ir.Module, data: bytes) -> ir.Value:
    constant = _Bytes(data)
    made = ir.GlobalVariable(module, constant.type, f"rows{len(module.globals)}")
    made.initializer = constant
    return _constant(made, 8)


def _constants(module: ir.Module, sheet: Sheet) -> ir.Value:
    kind = ir.ArrayType(llvm_type(sheet.dtype), len(sheet.constants))
    made = ir.GlobalVariable(module, kind, f"constants{len(module.globals)}")
    made.initializer = ir.Constant(kind, list(sheet.constants))
    return _constant(made, 8)


def _words(module: ir.Module, sheet: Sheet) -> ir.Value:
    """Return the addresses of the functions of a sheet's operations."""
    functions = [_function(module, word, sheet.dtype) for word in sheet.words]
    kind = ir.ArrayType(POINTER, len(functions))
    made = ir.GlobalVariable(module, kind, f"words{len(module.globals)}")
    made.initializer = ir.Constant(kind, functions)
    return _constant(made, 8)


def _constant(made: ir.GlobalVariable, align: int) -> ir.Value:
    made.global_constant = True
    made.linkage = "internal"
    made.align = align
    return made


# -- the library ------------------------------------------------------------------------


def _write_run(function: ir.Function, dtype: str) -> None:
    b = ir.IRBuilder(function.append_basic_block("entry"))
    rows, count, cells, words = function.args
    width, kind = ir.Constant(I64, ROW), llvm_type(dtype)
    with CountedLoop(b, _ZERO, count, keep_rolled=True) as row:
        first = b.mul(row, width)

        def number(k: int, first: ir.Value = first) -> ir.Value:
            place = b.gep(rows, [b.add(first, ir.Constant(I64, k))], source_etype=I32)
            return b.sext(b.load(place, typ=I32), I64)

        def address(cell: ir.Value) -> ir.Value:
            return b.gep(cells, [cell], inbounds=True, source_etype=kind)

        word = b.load(b.gep(words, [number(0)], source_etype=POINTER), typ=POINTER)
        operands, steps = [], []
        for k in range(3):
            cell = number(3 + k)
            same = b.icmp_signed("<", cell, _ZERO)
            operands.append(address(b.select(same, b.not_(cell), cell)))
            steps.append(b.select(same, _ZERO, _ONE))
        called = [address(number(2)), *operands, number(1), *steps]
        b.call(_typed(word), called)
    b.ret_void()


class _Typed:
    """An address that llvmlite can call: it carries the type of the function."""

    def __init__(self, address: ir.Value) -> None:
        self.address = address
        self.function_type = self.ftype = _WORD
        self.type = address.type

    def get_reference(self) -> str:
        reference: str = self.address.get_reference()
        return reference


def _typed(address: ir.Value) -> _Typed:
    return _Typed(address)


def _function(module: ir.Module, word: str, dtype: str) -> ir.Function:
    """Return the function of an operation from the library."""
    name = f"sheet.{word}.{dtype}"
    return library.function(
        module, name, _WORD, lambda f: _write_word(f, word, dtype), as_written=False
    )


def _write_word(function: ir.Function, word: str, dtype: str) -> None:
    """Write the cases of one element, of contiguous elements, and all others."""
    function.args[0].add_attribute("noalias")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    to, *operands, count = function.args[:5]
    steps = function.args[5:]
    kind, arity = llvm_type(dtype), OWN.get(word) or WORDS["f"].get(word) or 2
    scalars = Scalars(b, function.module)

    def element(base: ir.Value, i: ir.Value) -> ir.Value:
        return b.gep(base, [i], inbounds=True, source_etype=kind)

    def compute(places: Sequence[ir.Value]) -> ir.Value:
        found = [b.load(element(o, i), typ=kind) for o, i in zip(operands, places, strict=False)]
        return _value(scalars, word, found[:arity], dtype)

    if word == "sum":
        with CountedLoop(b, _ZERO, count, keep_rolled=True) as i:
            total = b.phi(kind)
            total.add_incoming(ir.Constant(kind, -0.0), function.entry_basic_block)
            then = b.fadd(total, b.load(element(operands[0], b.mul(i, steps[0])), typ=kind))
            total.add_incoming(then, b.block)
        b.store(then, to)
        b.ret_void()
        return
    one, several, even, uneven = map(
        function.append_basic_block, ("one", "several", "even", "uneven")
    )
    b.cbranch(b.icmp_unsigned("==", count, _ONE), one, several)
    b.position_at_end(one)
    b.store(compute([_ZERO] * arity), to)
    b.ret_void()
    b.position_at_end(several)
    all_steps = steps[0]
    for step in steps[1:arity]:
        all_steps = b.and_(all_steps, step)
    b.cbranch(b.icmp_unsigned("==", all_steps, _ONE), even, uneven)
    for block, is_even in ((even, True), (uneven, False)):
        b.position_at_end(block)
        with CountedLoop(b, _ZERO, count, keep_rolled=True) as i:
            places = [i if is_even else b.mul(i, step) for step in steps[:arity]]
            b.store(compute(places), element(to, i))
        b.ret_void()


def _value(s: Scalars, word: str, args: list[ir.Value], dtype: str) -> ir.Value:
    """Apply an operation to floats; truth values are 0 and 1."""
    b, zero, one = s.builder, ir.Constant(args[0].type, 0.0), ir.Constant(args[0].type, 1.0)
    if word == "copy":
        return args[0]
    if word in FUSED:
        return _fused(b, word, *args)
    if word == "select":
        return b.select(b.fcmp_unordered("!=", args[0], zero), *args[1:])
    if word in ("and", "or", "xor", "not"):
        truths = [b.fcmp_unordered("!=", x, zero) for x in args]
        return b.select(s.emit(word, truths, "bool", "bool"), one, zero)
    if word in TRUTHS:
        return b.select(s.emit(word, args, dtype, "bool"), one, zero)
    return s.emit(word, args, dtype, dtype)


def _fused(b: ir.IRBuilder, word: str, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    if not has_fused():
        product = b.fmul(x, y)
        if word == "mul_add":
            return b.fadd(product, z)
        return b.fsub(product, z) if word == "mul_sub" else b.fsub(z, product)
    if word == "sub_mul":
        x = b.fneg(x)
    return b.fma(x, y, b.fneg(z) if word == "mul_sub" else z)
