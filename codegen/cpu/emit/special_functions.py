"""Calls of functions of scipy.special, whose addresses are in the table."""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.abi import abi, special_functions
from autojit.codegen.loop_ir.nodes import Compute
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.ir.special.external import External, external

from .context import I64, POINTER, KernelContext

_F64, _I32 = ir.DoubleType(), ir.IntType(32)
#: args, dimensions, steps, data
_INNER_LOOP = ir.FunctionType(ir.VoidType(), [POINTER] * 4)


def needed(program: LoopProgram) -> set[str]:
    """Return the names of the table's entries that a program's calls need."""
    words = {s.name for s in statements(program) if isinstance(s, Compute)}
    return {name for word in words for name in special_functions.names(word)}


def call(e: KernelContext, s: Compute, operands: list[ir.Value]) -> ir.Value:
    """Compute one element with a function of SciPy, which computes in float64."""
    declared = external(s.name)
    assert declared is not None
    b, is_narrow = e.builder, s.result.dtype == "f32"
    args = [b.fpext(x, _F64) for x in operands] if is_narrow else list(operands)
    args = [b.fptosi(x, I64) if i in declared.whole else x for i, x in enumerate(args)]
    if declared.loop:
        made = _by_inner_loop(e, s.name, declared, args)
    elif declared.results > 1:
        made = _one_of_several(e, s.name, declared, args)
    else:
        signature = ir.FunctionType(_F64, [*(x.type for x in args), _I32])
        made = b.call(_function(e, s.name, signature), [*args, ir.Constant(_I32, 0)])
    return b.fptrunc(made, ir.FloatType()) if is_narrow else made


def _function(e: KernelContext, name: str, signature: ir.FunctionType) -> ir.Value:
    return _entry(e, name, signature.as_pointer())


def _entry(e: KernelContext, name: str, kind: ir.Type | None = None) -> ir.Value:
    """Return an entry of the table, loaded once per kernel."""
    known = e.entries.get(name)
    if known is None:
        position = abi.OWN_SLOTS + e.functions.index(name)
        known = e.entries[name] = abi.load(e.allocas, e.table, position, kind)
    return known


def _one_of_several(
    e: KernelContext, name: str, declared: External, args: list[ir.Value]
) -> ir.Value:
    """Call a function that writes its results through pointers, which are the last arguments."""
    places = [e.allocas.alloca(_F64) for _ in range(declared.results)]
    signature = ir.FunctionType(ir.VoidType(), [*(x.type for x in args), *[POINTER] * len(places)])
    e.builder.call(_function(e, name, signature), [*args, *places])
    return e.builder.load(places[declared.result], typ=_F64)


def _by_inner_loop(
    e: KernelContext, name: str, declared: External, args: list[ir.Value]
) -> ir.Value:
    """Call an inner loop for one element. It moves the pointers, so they are stored each time."""
    b, kinds = e.builder, declared.loop.replace("->", "")
    taken = len(declared.loop.partition("-")[0])
    # One slot per number; complex numbers have two adjacent ones.
    first = [sum(1 + (k == "D") for k in kinds[:i]) for i in range(len(kinds) + 1)]
    room = e.allocas.alloca(_F64, size=first[-1])
    pointers, steps = (e.allocas.alloca(I64, size=len(kinds)) for _ in range(2))
    one = e.allocas.alloca(I64)
    e.allocas.store(ir.Constant(I64, 1), one)
    for i in range(len(kinds)):
        b.store(b.ptrtoint(_at(b, room, first[i]), I64), _at(b, pointers, i))
        e.allocas.store(ir.Constant(I64, 0), _at(e.allocas, steps, i))
    whole = [k == "l" for k in kinds[:taken] for _ in range(1 + (k == "D"))]
    for i, (x, is_whole) in enumerate(zip(args, whole, strict=True)):
        bits = b.bitcast(b.fptosi(x, I64), _F64) if is_whole else x
        b.store(bits, _at(b, room, i))
    data = _entry(e, special_functions.DATA + name.removeprefix(special_functions.FUNCTION))
    b.call(_function(e, name, _INNER_LOOP), [pointers, one, steps, data])
    return b.load(_at(b, room, first[taken] + declared.result), typ=_F64)


def _at(b: ir.IRBuilder, pointer: ir.Value, place: int) -> ir.Value:
    return b.gep(pointer, [ir.Constant(I64, place)], inbounds=True, source_etype=I64)
