"""Sums of the numbers before each, computed by the threads of a block in shared memory."""

from __future__ import annotations

from dataclasses import replace

from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine

from .builder import Array, Code

#: The number of banks of shared memory, each four bytes wide.
BANKS = 32


def room_for(code: Code, dtype: str, size: int) -> Array:
    found = code.room(dtype, 1, size)
    assert found is not None
    return found


def skewed_room(code: Code, dtype: str, size: int) -> Array:
    """Shared memory in which the elements that neighbouring threads touch lie in other banks."""
    return room_for(code, dtype, skewed_size(size))


def skewed_size(size: int) -> int:
    """The number of elements that skewed memory for ``size`` elements takes.

    >>> skewed_size(256)
    264
    """
    return size + size // BANKS


def skewed(index: Affine) -> Affine:
    """The place of an element in skewed memory: one is left out after every ``BANKS``."""
    return index + affine.divide(index, BANKS, {})[0]


def converted(code: Code, value: Scalar, array: Array) -> Scalar:
    """A number in the dtype of an array's elements."""
    kind = array.buffer.dtype
    return value if value.dtype == kind else code.compute("convert", value, dtype=kind)


def sum_up(
    code: Code, sums: Array, lanes: int, per: int, partial: Array, *, is_skewed: bool = True
) -> None:  # fmt: skip
    """Replace each of ``lanes * per`` numbers by the sum of those before it.

    ``partial`` has room for ``2 * lanes`` sums; ``lanes`` is a power of two.  Each thread adds up
    ``per`` neighbours.  Then each round doubles the number of sums that are added up, from one half
    of ``partial`` to the other (Hillis and Steele, "Data parallel algorithms", 1986).
    """

    def place(index: Affine) -> Affine:
        return skewed(index) if is_skewed else index

    rounds = lanes.bit_length() - 1
    kind = partial.buffer.dtype
    local = Array(Buffer("sum", kind, 1, "local"), Affine(0), (1,), 1)
    with code.loop(lanes) as t:
        code.store(local, (0,), (code.constant(0, kind),))
        with code.loop(per, "sequence") as k:
            (before,), (own,) = code.load(local, 0), code.load(sums, place(t * per + k))
            code.store(sums, (place(t * per + k),), (converted(code, before, sums),))
            code.store(local, (0,), (code.compute("add", before, converted(code, own, partial)),))
        code.store(partial, (t,), code.load(local, 0))
    with code.loop(rounds, "sequence") as step:
        source, target = (affine.divide(step + k, 2, {})[1] * lanes for k in range(2))
        width = code.compute("shift_left", code.constant(1, "i64"), code.number(step))
        with code.loop(lanes) as t:
            half = replace(partial, offset=partial.offset + source)
            (mine,), number = code.load(half, t), code.number(t)
            has = code.compare("ge", number, width)
            zero = code.constant(0, "i64")
            there = code.compute("select", has, code.compute("sub", number, width), zero)
            (other,) = code.load_row(half, there, lanes)
            both = code.compute("add", mine, other)
            code.store(partial, (target + t,), code.select(has, (both,), (mine,)))
    last = rounds % 2 * lanes
    with code.loop(lanes * per) as q:
        thread = affine.divide(q, per, {})[0]
        inside = code.within(thread, 1, lanes)
        (before,) = code.load_where(inside, partial, thread + last - 1)
        (own,) = code.load(sums, place(q))
        code.store(sums, (place(q),), (code.compute("add", own, converted(code, before, sums)),))
