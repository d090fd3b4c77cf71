"""Elements are sorted by ranks within short runs, then by merges of pairs of runs.

The rank of an element in a run is the number of elements before it.  A merge finds the place of an
element by bisection in the other run.  Each element has its own thread, and its key moves along
with its original place, so that a step of the bisection reads once.  Equal elements keep their
order, and NaN comes last.

``merging`` does this in shared memory, for rows of more than a few elements.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2
from typing import NamedTuple

from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine

from .builder import Array, Code, Number

#: The length of the runs that are sorted by counting.
RUN = 32


class Run(NamedTuple):
    """Elements in their present order, and their original places; either is None if not needed."""

    keys: Array | None
    places: Array | None


def argsort(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """The permutation that sorts."""
    (x,), (result,), n = inputs, outputs, s.m
    passes = passes_of(n)
    if not passes:
        ordered(code, x, [Run(None, result)], n, 0)
        return
    # The last pass writes to the first run, without keys.
    first = code.workspace(x.buffer.dtype, 1, n) if passes > 1 else None
    second = Run(code.workspace(x.buffer.dtype, 1, n), code.workspace("i64", 1, n))
    ordered(code, x, [Run(first, result), second], n, passes)


def sort(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """The sorted elements, without places."""
    (x,), (result,), n = inputs, outputs, s.m
    passes = passes_of(n)
    spare = [code.workspace(x.buffer.dtype, 1, n)] if passes else []
    ordered(code, x, [Run(keys, None) for keys in (result, *spare)], n, passes)


def passes_of(n: int) -> int:
    """The number of merge passes for n elements."""
    return max(0, ceil(log2(max(1, n) / RUN)))


def ordered(code: Code, x: Array, runs: list[Run], n: int, passes: int) -> None:
    """Sort into the first of two runs, with passes that alternate between both.

    If it has places, the last pass does not write its keys.
    """
    _ranks(code, x, runs[passes % len(runs)], n)
    for number in range(passes):
        left = passes - number  # the last pass writes the first run
        source, target = runs[left % 2], runs[(left - 1) % 2]
        if left == 1 and target.places is not None:
            target = Run(None, target.places)
        _merge(code, source, target, n, RUN << number)


def ordered_halves(code: Code, x: Array, both: Run, n: int, passes: int) -> None:
    """Sort into the first half of memory for two runs, in which the passes alternate.

    All merges are one loop: compiling each alone would take seconds.
    """
    _ranks(code, x, half(both, Affine(passes % 2), n), n)
    if not passes:
        return
    with code.loop(passes, "sequence") as step:
        left = step + passes % 2  # the number of passes that are left, modulo 2
        source, target = (affine.divide(left + k, 2, {})[1] for k in range(2))
        width = code.constant(RUN, "i64")
        width = code.compute("shift_left", width, code.number(step))
        _merge(code, half(both, source, n), half(both, target, n), n, (width, n))


def half(both: Run, number: Affine, n: int) -> Run:
    """The first or second ``n`` elements of a run, by a number that is 0 or 1."""
    return Run(*(a and replace(a, offset=a.offset + number * n) for a in both))


def before(code: Code, x: Number, y: Number) -> Scalar:
    """Whether x comes before y."""
    if x[0].dtype[0] != "f":
        return code.compare("lt", x[0], y[0])
    number, after = code.compare("eq", x[0], x[0]), code.compare("le", y[0], x[0])
    return code.compute("and", number, code.compute("not", after))


def precedes(code: Code, x: Number, y: Number, is_earlier: Scalar) -> Scalar:
    """Whether x comes before y, or has the same order and ``is_earlier``.

    It is "y does not come before x" if x is earlier, so one comparison decides.
    """
    first, second = code.select(is_earlier, y, x), code.select(is_earlier, x, y)
    return code.compute("xor", before(code, first, second), is_earlier)


def _put(code: Code, target: Run, rank: Scalar, n: int, key: Number, place: Scalar | None) -> None:
    """Store an element at its rank among the others."""
    if target.keys is not None:
        code.store_row(target.keys, rank, n, (), key)
    if target.places is not None and place is not None:
        code.store_row(target.places, rank, n, (), (place,))


def _ranks(code: Code, x: Array, target: Run, n: int) -> None:
    """Sort each run of ``RUN`` elements by counting."""
    with code.loop(n) as i:
        mine = code.load(x, i)
        run, at = affine.divide(i, RUN, {})
        count = code.begin("i64", "add", 0)
        with code.loop(min(n, RUN), "reduce") as k:
            there = run * RUN + k
            inside = code.within(there, 0, n)
            other = code.load_where(inside, x, there)
            first = precedes(code, other, mine, code.within(at - k, 1, RUN))
            found = code.compute("and", first, inside)
            code.accumulate(count, code.compute("convert", found, dtype="i64"))
        start = code.number(run * RUN)
        rank = code.compute("add", code.finish(count), start)
        number = None
        if target.places is not None:
            number = code.number(i, target.places.buffer.dtype)
        _put(code, target, rank, n, mine, number)


def _merge(
    code: Code, source: Run, target: Run, n: int, width: int | tuple[Scalar, int]
) -> None:  # fmt: skip
    """Merge pairs of runs of ``width`` elements, a power of two: a number, or a scalar and its
    bound."""
    keys = source.keys
    assert keys is not None
    length, most = (None, width) if isinstance(width, int) else width
    with code.loop(n) as i:
        run = code.constant(width, "i64") if length is None else length
        begin, is_right = _other_run(code, code.number(i), run)
        mine = code.load(keys, i)
        place = None if source.places is None else code.load(source.places, i)[0]
        zero = code.constant(0, "i64")
        left = code.compute("sub", code.constant(n, "i64"), begin)
        count = code.compute("minimum", code.compute("maximum", left, zero), run)
        low = Buffer("low", "i64", 1, "local")
        high = Buffer("high", "i64", 1, "local")
        bounds = [Array(b, Affine(0), (1,), 1) for b in (low, high)]
        code.store(bounds[0], (0,), (zero,))
        code.store(bounds[1], (0,), (count,))
        with code.loop(most.bit_length(), "sequence"):
            (a,), (b,) = code.load(bounds[0], 0), code.load(bounds[1], 0)
            two, one = code.constant(2, "i64"), code.constant(1, "i64")
            middle = code.compute("floor_divide", code.compute("add", a, b), two)
            with code.when(code.compare("lt", a, b)):
                other = code.load_row(keys, code.compute("add", begin, middle), n)
                # If elements are equal, those of the left run come first.
                first = precedes(code, other, mine, is_right)
                after = code.compute("add", middle, one)
                code.store(bounds[0], (0,), (code.compute("select", first, after, a),))
                code.store(bounds[1], (0,), (code.compute("select", first, b, middle),))
        (found,) = code.load(bounds[0], 0)
        # The place within the own run, from the begin of the pair on.
        own = code.compute("sub", code.number(i), code.compute("select", is_right, run, zero))
        _put(code, target, code.compute("add", own, found), n, mine, place)


def _other_run(code: Code, i: Scalar, width: Scalar) -> tuple[Scalar, Scalar]:
    """The begin of the run that the run of element i is merged with, and whether i's is the right
    one."""
    zero, one = code.constant(0, "i64"), code.constant(1, "i64")
    is_right = code.compare("ne", code.compute("and", i, width), zero)
    both = code.compute("sub", code.compute("add", width, width), one)
    pair = code.compute("sub", i, code.compute("and", i, both))
    other = code.compute("select", is_right, zero, width)
    return code.compute("add", pair, other), is_right
