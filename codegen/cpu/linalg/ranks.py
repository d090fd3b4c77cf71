"""Argsort of few numbers: the rank of each is the number of smaller ones, counted with vectors.

    for i: rank = (x[:i] <= x[i]).sum() + (x[i + 1:] < x[i]).sum(); places[rank] = i

A sort by comparisons mispredicts every second branch if rows differ; this method has no branches.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from autojit.codegen.cpu.llvm import library
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.loop_ir.machine import current

from . import radix

I64, POINTER = ir.IntType(64), ir.PointerType()
#: The most numbers. The work grows with their square: 4 ns a number for rows of 20, 8 for rows of
#: 80, and for rows of 150 as much as the radix sort's 13.
MOST = 128

#: keys, indices, number of keys
_ARGSORT = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64])


def argsort(module: ir.Module, dtype: str) -> ir.Function:
    """Return ``void argsort(keys, places, n)``, as in :func:`radix.argsort`; ``0 < n <= MOST``."""
    name = f"ranks_{dtype}"
    return library.function(module, name, _ARGSORT, lambda f: _write(f, dtype))


def _write(function: ir.Function, dtype: str) -> None:
    keys, places, n = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    lanes = max(2, current().lanes())
    vector = ir.VectorType(I64, lanes)
    # The padding after the last number is larger than all numbers.
    words, ranks = (b.alloca(I64, size=MOST + lanes) for _ in range(2))
    end = b.add(n, _number(lanes))
    with CountedLoop(b, n, end) as i:
        b.store(_number((1 << 63) - 1), _place(b, words, i), align=8)
    with CountedLoop(b, _number(0), n) as i:
        signed = b.xor(radix.ordered(b, keys, i, dtype), _number(1 << 63))
        b.store(signed, _place(b, words, i), align=8)
    numbers = ir.Constant(vector, [_number(k) for k in range(lanes)])
    blocks = b.udiv(b.add(n, _number(lanes - 1)), _number(lanes))
    with CountedLoop(b, _number(0), blocks, keep_rolled=True) as block:
        base = b.mul(block, _number(lanes))
        behind = b.add(base, _number(lanes))
        own = b.load(_place(b, words, base), align=8, typ=vector)
        here = b.add(_everywhere(b, base, lanes), numbers)

        def beside(j: ir.Value, word: ir.Value) -> ir.Value:
            is_equal = b.icmp_signed("==", word, own)
            comes_first = b.icmp_signed("<", _everywhere(b, j, lanes), here)
            return b.or_(b.icmp_signed("<", word, own), b.and_(is_equal, comes_first))

        def count(
            start: ir.Value, stop: ir.Value, first: ir.Value,
            comes_before: Callable[[ir.Value, ir.Value], ir.Value],
        ) -> ir.Value:  # fmt: skip
            return _count(b, words, start, stop, first, comes_before)

        rank = count(
            _number(0), base, ir.Constant(vector, None), lambda _, w: b.icmp_signed("<=", w, own)
        )
        rank = count(base, behind, rank, beside)
        rank = count(behind, n, rank, lambda _, w: b.icmp_signed("<", w, own))
        b.store(rank, b.bitcast(_place(b, ranks, base), vector.as_pointer()), align=8)
    with CountedLoop(b, _number(0), n, keep_rolled=True) as i:
        b.store(i, _place(b, places, b.load(_place(b, ranks, i), align=8, typ=I64)), align=8)
    b.ret_void()


def _count(
    b: ir.IRBuilder,
    words: ir.Value,
    start: ir.Value,
    stop: ir.Value,
    first: ir.Value,
    comes_before: Callable[[ir.Value, ir.Value], ir.Value],
) -> ir.Value:
    """Return counts plus the number of words in a range before each element of a vector."""
    vector = first.type
    before = b.block
    asks, counts, done = (b.append_basic_block(name) for name in ("asks", "counts", "done"))
    b.branch(asks)
    b.position_at_end(asks)
    j, total = b.phi(I64), b.phi(vector)
    j.add_incoming(start, before)
    total.add_incoming(first, before)
    b.cbranch(b.icmp_signed("<", j, stop), counts, done)
    b.position_at_end(counts)
    word = _everywhere(b, b.load(_place(b, words, j), align=8, typ=I64), vector.count)
    total.add_incoming(b.sub(total, b.sext(comes_before(j, word), vector)), counts)
    j.add_incoming(b.add(j, _number(1), flags=("nuw", "nsw")), counts)
    b.branch(asks)
    b.position_at_end(done)
    return total


def _everywhere(b: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    vector = ir.VectorType(value.type, lanes)
    first = b.insert_element(
        ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    none = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
    return b.shuffle_vector(first, ir.Constant(vector, ir.Undefined), none)


def _place(b: ir.IRBuilder, base: ir.Value, i: ir.Value) -> ir.Value:
    return b.gep(base, [i], inbounds=True, source_etype=I64)


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)
