"""Updates at computed places give the same bits in every run, whatever the order of threads.

If elements are set, the value of the last iteration must stay:

    reduces i in 0..n:                 fill last with -1
      y[p[i]] = x[i]             ->    for i in 0..n: last[p[i]] = max(last[p[i]], i)    # atomic
                                       for i in 0..n: if last[p[i]] == i: y[p[i]] = x[i]

Sums of floats are split so that all additions are exact; then their order does not matter:

    reduces i in 0..n:                 fill peak and sum with 0
      y[p[i]] += x[i]            ->    for i in 0..n:
                                         peak[p[i]] = max(peak[p[i]], |x[i]|)    # atomic
                                       for i in 0..n:
                                         s = a power of two, at least (n + 2) * peak[p[i]]
                                         sum[p[i]] += (s + x[i]) - s    # atomic
                                       for d in 0..m: y[d] += sum[d]

``(s + x) - s`` is x rounded to a multiple of ``2**-53 s``.  The sum of n such numbers is less than
s, and all multiples below s are float64 numbers (Rump, Ogita and Oishi, "Accurate floating-point
summation, part I", 2008; Demmel and Nguyen, "Fast reproducible floating-point summation", 2013).
The rounded-off remainders are summed in the same way, as often as the dtype needs.  Numbers that
are not finite are added to y directly: their sum is the same in any order.

Legal where an iteration only computes scalars, stores them, and does these updates, perhaps in
loops; where it touches the updated buffers in no other way; and where nothing reads the stored
buffers, since the first of the passes does not store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, log2
from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.nodes import Atomic, Share
from autojit.codegen.cuda.device_program.numbers import (
    computed,
    constant_scalar,
    loaded,
    scalar,
)
from autojit.codegen.cuda.mapping.nests.structure import COMBINING, Nest, Parts, is_pure, live
from autojit.codegen.loop_ir.effects import accesses, changed_buffers
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Finish,
    Gather,
    IndexValue,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.sequences import Branch
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .cooperation import iterations
from .launches import Launches

#: The fewest updates per element for split sums.  These go to memory that is cleared before and
#: added to the result afterwards: three passes over the result, and two over the updates instead of
#: one.  With fewer updates, the passes over the result cost more than those over the updates.
LEAST_OF_ELEMENT = 4
#: The bits kept of each number: those of the dtype, and two more.
_BITS = {"f32": 26, "f64": 55}
_LARGEST = {"f32": float(np.finfo(np.float32).max), "f64": float(np.finfo(np.float64).max)}
#: The peak above which float64 numbers are scaled so that no power of two overflows; the factor.
_HUGE, _SCALE = 2.0**900, 2.0**-200
_UNIT = 2.0**-53


def is_simple(found: Parts, every: list[Nest]) -> bool:
    """Whether iterations have the form that the module describes."""
    inside = [s for n in every for s in walk(n.body)]
    updated = {memory(s.buffer) for s in inside if isinstance(s, COMBINING)}
    others = [s for s in inside if not isinstance(s, COMBINING)]
    if not updated or not all(is_pure(s) or isinstance(s, _OTHERS) for s in others):
        return False
    if any(isinstance(s, Loop) and s.role == "sequence" for s in others):
        return False
    others += [*found.scalars, *(s for n in every for s in n.between)]
    stored = {memory(b) for s in others for b in changed_buffers(s)}
    read = {memory(a.buffer) for s in others if not isinstance(s, Store) for a in accesses(s)}
    once = {b for b in stored if b.kind != "local"}
    return not (updated & (stored | read) or once & read)


class _Update:
    """One update of an iteration."""

    def __init__(self, statement: ScatterInto | AccumulateInto) -> None:
        self.statement = statement
        self.buffer = memory(statement.buffer)
        self.places = getattr(statement, "places", ())

    def read(self, buffer: Buffer) -> Any:
        """A statement that reads another buffer at the place of the update."""
        if not self.places:
            return loaded(buffer, self.statement.index)
        result = scalar(buffer.dtype)
        return Gather(result, buffer, self.statement.index, self.places, None)

    def atomic(
        self, buffer: Buffer, combine: str, value: Scalar, *, is_rare: bool = False
    ) -> Atomic:
        place = self.statement.index, self.places
        return Atomic(buffer, *place, combine, value, is_rare=is_rare)


#: The statements that an iteration may have besides scalars and updates.
_OTHERS = (Store, Loop, Begin, Accumulate, Finish)

#: A function that returns the replacement of an update, given the update's number.
_Instead = Callable[[_Update, Affine], list[Any]]


class Scatters(Launches):
    """Writes updates in several passes."""

    def in_order(self, found: Parts, every: list[Nest]) -> bool:
        """Add launches whose updates do not depend on the order, if it is possible and pays.

        Return whether they were added.
        """
        if not is_simple(found, every):
            return False
        count = sum(n.count * _updates_of(n.body) for n in every)
        inside = [s for n in every for s in walk(n.body)]
        updated = dict.fromkeys(memory(s.buffer) for s in inside if isinstance(s, COMBINING))
        if found.sets:
            self._set(found, every, list(updated), count)
            return True
        sums = [b for b in updated if b.dtype in _BITS]
        if not sums or count < LEAST_OF_ELEMENT * sum(b.size for b in sums):
            return False  # integers are exact in any order
        self._sum(found, every, sums, count)
        return True

    # -- the last one stays -----------------------------------------------------------------

    def _set(self, found: Parts, every: list[Nest], updated: list[Buffer], count: int) -> None:
        dtype = "i32" if count < 1 << 31 else "i64"
        last = {b: Buffer("last", dtype, b.size, "temp") for b in updated}
        self._cleared("last", {b: -1 for b in last.values()})

        def note(u: _Update, number: Affine) -> list[Any]:
            mine = IndexValue(scalar(dtype), number)
            return [mine, u.atomic(last[u.buffer], "maximum", mine.result)]

        def keep(u: _Update, number: Affine) -> list[Any]:
            mine, there = IndexValue(scalar(dtype), number), u.read(last[u.buffer])
            is_last = computed("eq", mine.result, there.result, dtype="bool")
            return [mine, there, is_last, *_choice(is_last.result, [u.statement], [])]

        self._pass(f"{self.kernel.name}_last", found, every, note, stores=False)
        self._pass(self.kernel.name, found, every, keep, stores=True)

    # -- sums in any order ------------------------------------------------------------------

    def _sum(self, found: Parts, every: list[Nest], sums: list[Buffer], count: int) -> None:
        splits = {b: _Split(b, count) for b in sums}
        parts = [part for s in splits.values() for part in (s.peak, *s.sums)]
        self._cleared("sums", dict.fromkeys(parts, 0))

        def measure(u: _Update, number: Affine) -> list[Any]:
            return splits[u.buffer].measured(u) if u.buffer in splits else []

        def add(u: _Update, number: Affine) -> list[Any]:
            if u.buffer in splits:
                return splits[u.buffer].added(u)
            return [u.atomic(u.buffer, "add", u.statement.value)]

        self._pass(f"{self.kernel.name}_peaks", found, every, measure, stores=False)
        self._pass(f"{self.kernel.name}_parts", found, every, add, stores=True)
        for b, split in splits.items():
            n = Var(b.size)
            name = self.kernel.name if b is sums[0] else f"{self.kernel.name}_{b.name}"
            self._each(name, n, split.total(affine.of(n)))

    # -- launches ---------------------------------------------------------------------------

    def _pass(
        self, name: str, found: Parts, every: list[Nest], instead: _Instead, *, stores: bool
    ) -> None:  # fmt: skip
        """Add a launch over all iterations, with replacements for the updates."""
        blocks = max(self.blocks(n.count) for n in every)

        def write(block: Var, thread: Var) -> list[Any]:
            made: list[Any] = []
            before = 0
            for nest in every:
                body = self._body(nest, before, instead, stores=stores)
                body = [*live([*found.scalars, *nest.between], body), *body]
                first, step = self.units(block, thread, 1)
                made.append(iterations(nest, first, step, body))
                before += nest.count * _updates_of(nest.body)
            return made

        doc = f"A thread for each of {sum(n.count for n in every)} updates."
        self.add(name, doc, blocks, self.machine.threads, write)

    def _body(self, nest: Nest, before: int, instead: _Instead, *, stores: bool) -> list[Any]:
        number, below = Affine(before), _updates_of(nest.body)
        for loop in reversed(nest.loops):
            number = number + (affine.of(loop.var) - loop.start) * below
            below *= loop.stop - loop.start
        made = _rewritten(nest.body, number, instead, stores=stores)
        if not all(is_pure(s) or isinstance(s, (*COMBINING, Store)) for s in nest.body):
            return made
        pure = [s for s in nest.body if is_pure(s)]
        known = set(map(id, pure))
        last = [s for s in made if id(s) not in known]
        return [*live(pure, last), *last]

    def _cleared(self, name: str, values: dict[Buffer, Any]) -> None:
        """Add launches that fill buffers, one for all buffers of a size."""
        for size in dict.fromkeys(b.size for b in values):
            n, body = Var(size), []
            for buffer, value in values.items():
                if buffer.size == size:
                    made = constant_scalar(value, buffer.dtype)
                    body += [made, Store(buffer, affine.of(n), made.result)]
            self._each(f"{self.kernel.name}_{name}{size}", n, body)

    def _each(self, name: str, n: Var, body: list[Any]) -> None:
        def write(block: Var, thread: Var) -> list[Any]:
            first, step = self.units(block, thread, 1)
            return [Share(n, first, n.extent, step, body)]

        doc = f"A thread for each of {n.extent} elements."
        self.add(name, doc, self.blocks(n.extent), self.machine.threads, write)


def _rewritten(body: list[Any], number: Affine, instead: _Instead, *, stores: bool) -> list[Any]:
    """The statements with replacements for the updates, which are numbered from ``number`` on."""
    made: list[Any] = []
    for s in body:
        if isinstance(s, COMBINING):
            made += instead(_Update(s), number)
            number = number + 1
        elif isinstance(s, Loop):
            each = _updates_of(s.body)
            inner = number + (affine.of(s.var) - s.start) * each
            made.append(replace(s, body=_rewritten(s.body, inner, instead, stores=stores)))
            number = number + (s.stop - s.start) * each
        elif stores or not isinstance(s, Store) or memory(s.buffer).kind == "local":
            made.append(s)
    return made


def _updates_of(body: list[Any]) -> int:
    """The number of updates in one run of the statements."""
    loops = (s for s in body if isinstance(s, Loop))
    inside = sum((s.stop - s.start) * _updates_of(s.body) for s in loops)
    return inside + sum(isinstance(s, COMBINING) for s in body)


def _choice(condition: Scalar, body: list[Any], otherwise: list[Any]) -> list[Any]:
    """A branch: ``body`` if the condition holds, else ``otherwise``."""
    number = computed("convert", condition, dtype="i32")
    return [number, Branch(number.result, [otherwise, body])]


class _Split:
    """The split sums for one buffer."""

    def __init__(self, buffer: Buffer, count: int) -> None:
        self.buffer = buffer
        #: The exponent of the least power of two that is at least the number of updates plus two.
        self.headroom = ceil(log2(count + 2))
        parts = ceil(_BITS[buffer.dtype] / (52 - self.headroom))
        self.peak = Buffer("peak", buffer.dtype, buffer.size, "temp")
        self.sums = [Buffer("sum", "f64", buffer.size, "temp") for _ in range(parts)]

    def measured(self, u: _Update) -> list[Any]:
        """Statements that update the largest magnitude at a place."""
        size = computed("abs", u.statement.value)
        largest, zero = self._constant(_LARGEST), constant_scalar(0.0, self.buffer.dtype)
        finite = computed("le", size.result, largest.result, dtype="bool")
        known = computed("select", finite.result, size.result, zero.result)
        return [size, largest, zero, finite, known, u.atomic(self.peak, "maximum", known.result)]

    def added(self, u: _Update) -> list[Any]:
        """Statements that add each part of a number to its own sum."""
        code, value = _Code(), u.statement.value
        largest = code.have(self._constant(_LARGEST))
        finite = code.compute("le", code.compute("abs", value), largest, dtype="bool")
        inner = _Code()
        peak = inner.have(u.read(self.peak))
        scale = self._scale(inner, peak)
        unit = self._power(inner, inner.times(inner.wide(peak), scale))
        rest = inner.times(inner.wide(value), scale)
        power = inner.compute("mul", unit, inner.number(2.0**self.headroom))
        for number, sums in enumerate(self.sums):
            if number:
                power = inner.compute("mul", power, inner.number(_UNIT * 2.0**self.headroom))
            part = inner.compute("sub", inner.compute("add", power, rest), power)
            rest = inner.compute("sub", rest, part)
            inner.body.append(u.atomic(sums, "add", part))
        beside = [u.atomic(self.buffer, "add", value, is_rare=True)]
        return [*code.body, *_choice(finite, inner.body, beside)]

    def total(self, at: Affine) -> list[Any]:
        """Statements that add the sums of an element to it."""
        code = _Code()
        peak, old = code.have(loaded(self.peak, at)), code.have(loaded(self.buffer, at))
        total = code.have(loaded(self.sums[-1], at))
        for sums in self.sums[-2::-1]:
            total = code.compute("add", code.have(loaded(sums, at)), total)
        scale = self._scale(code, peak)
        if scale is not None:
            total = code.compute("div", total, scale)
        if self.buffer.dtype != "f64":
            total = code.compute("convert", total, dtype=self.buffer.dtype)
        zero = code.number(0.0, self.buffer.dtype)
        touched = code.compute("gt", peak, zero, dtype="bool")
        new = code.compute("select", touched, code.compute("add", old, total), old)
        return [*code.body, Store(self.buffer, at, new)]

    def _constant(self, values: dict[str, float]) -> Any:
        return constant_scalar(values[self.buffer.dtype], self.buffer.dtype)

    def _scale(self, code: _Code, peak: Scalar) -> Scalar | None:
        """The factor that prevents overflow; None for 1."""
        if self.buffer.dtype != "f64":
            return None
        is_huge = code.compute("gt", peak, code.number(_HUGE), dtype="bool")
        return code.compute("select", is_huge, code.number(_SCALE), code.number(1.0))

    def _power(self, code: _Code, x: Scalar) -> Scalar:
        """The least power of two that is at least x, by algorithm 3.6 of Rump, Ogita and Oishi."""
        q = code.compute("mul", x, code.number(1 / _UNIT))
        power = code.compute("abs", code.compute("sub", code.compute("add", q, x), q))
        is_one = code.compute("eq", power, code.number(0.0), dtype="bool")
        return code.compute("select", is_one, x, power)


class _Code:
    """A list of statements, and methods that append to it."""

    def __init__(self) -> None:
        self.body: list[Any] = []

    def have(self, statement: Any) -> Scalar:
        self.body.append(statement)
        result: Scalar = statement.result
        return result

    def compute(self, name: str, *args: Scalar, dtype: str = "") -> Scalar:
        return self.have(computed(name, *args, dtype=dtype))

    def number(self, value: float, dtype: str = "f64") -> Scalar:
        return self.have(constant_scalar(value, dtype))

    def wide(self, x: Scalar) -> Scalar:
        return x if x.dtype == "f64" else self.compute("convert", x, dtype="f64")

    def times(self, x: Scalar, scale: Scalar | None) -> Scalar:
        return x if scale is None else self.compute("mul", x, scale)
