"""Prefix sums and extremes: all blocks share a sequential loop.

    for i in 0..100000:  # in turn
      s = carry[0] + x[i]                block b reduces its part of x
      y[i] = s                     ->    one thread turns these into the carry before each part
      carry[0] = s                       block b runs through its part again, 256 elements at a time

Legal where a carry is combined by one associative word with an operand that does not depend on
carries, where nothing else uses carries, and where no step touches memory that another step writes.
Sums of floats are added in a different order, which is always the same.  Products of floats stay
sequential: partial products may be infinite although the whole is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.nodes import Barrier, Let, Share, When
from autojit.codegen.cuda.device_program.numbers import (
    accumulator,
    computed,
    constant_scalar,
    loaded,
)
from autojit.codegen.cuda.mapping.nests.structure import is_pure, live
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Compute, Load, Loop, Store
from autojit.codegen.loop_ir.traversal import memory, used
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.types import dtype_from_name

from .launches import Launches, left_by_block
from .teams import LEAST_OF_THREAD

_WORDS = ("add", "mul", "maximum", "minimum")


def identity_of(word: str, dtype: str) -> Any:
    """The identity of a word.

    >>> identity_of("add", "f64"), identity_of("minimum", "i8")
    (0.0, 127)
    """
    kind = dtype_from_name(dtype)
    if word in ("add", "mul"):
        return kind.type(word == "mul").item()
    if kind.kind == "f":
        return float("-inf") if word == "maximum" else float("inf")
    info = np.iinfo(kind)
    return int(info.min if word == "maximum" else info.max)


@dataclass
class Carry:
    """``result = word(carried, operand)``, kept in ``buffer[place]`` from step to step."""

    buffer: Buffer
    place: int
    word: str
    carried: Scalar
    operand: Scalar
    result: Scalar


@dataclass
class Prefix:
    """A loop of such steps, with the statements before and after it."""

    before: list[Any]
    loop: Loop
    after: list[Any]
    carries: list[Carry]
    #: The statements that compute operands, and those that use results.
    values: list[Any]
    uses: list[Any]


def prefix_of(body: list[Any]) -> Prefix | None:
    """The parts of a kernel with such a loop; None for other kernels."""
    at = [k for k, s in enumerate(body) if isinstance(s, Loop) and s.role == "sequence"]
    if len(at) != 1 or body[at[0]].start:
        return None
    loop = body[at[0]]
    carries = _carries(loop.body)
    if not carries or not _is_apart(loop, carries):
        return None
    own = {c.carried.number for c in carries} | {c.result.number for c in carries}
    rest = [s for s in loop.body if not _is_of_carry(s, carries)]
    pure = [s for s in rest if is_pure(s)]
    values = live(pure, [Store(c.buffer, Affine(0), c.operand) for c in carries])
    if any(x.number in own for s in values for x in used(s)):
        return None
    carried = {c.carried.number for c in carries}
    if any(x.number in carried for s in rest for x in used(s)):
        return None
    return Prefix(body[: at[0]], loop, body[at[0] + 1 :], carries, values, rest)


def _carries(body: list[Any]) -> list[Carry]:
    """The carries of a loop's body; an empty list if one of them has another form."""
    defined = {s.result.number: s for s in body if is_pure(s)}
    stores = [s for s in body if isinstance(s, Store) and memory(s.buffer).kind == "local"]
    loads = [s for s in body if isinstance(s, Load) and memory(s.buffer).kind == "local"]
    found = []
    for store in stores:
        made = defined.get(store.value.number)
        mine = [x for x in loads if (x.buffer, x.index) == (store.buffer, store.index)]
        if len(mine) != 1 or not isinstance(made, Compute) or made.name not in _WORDS:
            return []
        others = [a for a in made.args if a.number != mine[0].result.number]
        if len(others) != 1 or store.index.terms or not _is_associative(made):
            return []
        found.append(
            Carry(store.buffer, store.index.constant, made.name, mine[0].result, others[0],
                  made.result)
        )  # fmt: skip
    return found if len(loads) == len(stores) else []


def _is_associative(s: Compute) -> bool:
    """Whether the grouping of operands does not matter, except for the rounding of sums."""
    return s.result.dtype[0] in ("iu" if s.name == "mul" else "iuf")


def _is_of_carry(s: Any, carries: list[Carry]) -> bool:
    results = {c.result.number for c in carries}
    local = isinstance(s, Load | Store) and memory(s.buffer).kind == "local"
    return local or (isinstance(s, Compute) and s.result.number in results)


def _is_apart(loop: Loop, carries: list[Carry]) -> bool:
    """Whether no step touches memory that another step writes, except the carries."""
    written: dict[Buffer, list[Affine]] = {}
    read = set()
    for s in loop.body:
        if isinstance(s, Store):
            written.setdefault(memory(s.buffer), []).append(s.index)
        elif isinstance(s, Load):
            read.add(memory(s.buffer))
        elif not is_pure(s) or hasattr(s, "places"):
            return False
    local = {b for b in written if b.kind == "local"}
    if (read & written.keys()) - local or len(local) != len({memory(c.buffer) for c in carries}):
        return False
    return all(_own_elements(written[b], loop.var) for b in written.keys() - local)


def _own_elements(indices: Iterable[Affine], var: Var) -> bool:
    """Whether no two steps write the same element."""
    indices = list(indices)
    strides = {index.stride(var) for index in indices}
    if len(strides) != 1 or any(index.terms != indices[0].terms for index in indices):
        return False
    (stride,) = strides
    constants = [index.constant for index in indices]
    return bool(stride) and max(constants) - min(constants) < abs(stride or 0)


class PrefixSums(Launches):
    """Writes the three launches of a prefix."""

    def prefix(self, name: str, found: Prefix) -> None:
        """Add launches that reduce parts, compute the carry before each part, and run each part
        again."""
        machine, count = self.machine, found.loop.stop
        blocks = max(1, min(machine.most_blocks, count // (machine.threads * LEAST_OF_THREAD)))
        tiles = -(-count // (blocks * machine.threads))
        chunk = tiles * machine.threads
        blocks = -(-count // chunk)
        totals = [Buffer("totals", c.result.dtype, blocks, "temp") for c in found.carries]
        starts = [Buffer("starts", c.result.dtype, blocks, "temp") for c in found.carries]
        self._totals(f"{name}_parts", found, totals, blocks, chunk)
        self._starts(f"{name}_starts", found, totals, starts, blocks)
        self._elements(name, found, starts, blocks, tiles)

    def _here(self, found: Prefix, block: Var, chunk: int, at: Affine) -> tuple[Let, Affine]:
        i = affine.of(found.loop.var)
        return Let(found.loop.var, affine.of(block) * chunk + at), i

    def _outside(self, found: Prefix, needed: list[Any]) -> list[Any]:
        return live([s for s in found.before if is_pure(s)], needed)

    def _totals(
        self, name: str, found: Prefix, totals: list[Buffer], blocks: int, chunk: int
    ) -> None:
        threads = self.machine.threads

        def write(block: Var, thread: Var) -> list[Any]:
            n = Var(chunk)
            let, i = self._here(found, block, chunk, affine.of(n))
            sums = [_accumulator(c) for c in found.carries]
            pairs = list(zip(found.carries, sums, strict=True))
            adding = [*found.values, *(Accumulate(a, c.operand) for c, a in pairs)]
            inside = When(i, 0, found.loop.stop, adding)
            body: list[Any] = [*self._outside(found, adding), *map(Begin, sums)]
            body.append(Share(n, affine.of(thread), chunk, threads, [let, inside]))
            for a, total in zip(sums, totals, strict=True):
                body += left_by_block(a, total, block, thread)
            return body

        doc = f"Each block combines {chunk} of {found.loop.stop} elements."
        self.add(name, doc, blocks, threads, write)

    def _starts(
        self, name: str, found: Prefix, totals: list[Buffer], starts: list[Buffer], blocks: int
    ) -> None:
        b = Var(blocks)
        step: list[Any] = []
        for c, total, start in zip(found.carries, totals, starts, strict=True):
            so_far, part = loaded(c.buffer, Affine(c.place)), loaded(total, affine.of(b))
            after = computed(c.word, so_far.result, part.result)
            step += [so_far, part, after, Store(start, affine.of(b), so_far.result)]
            step.append(Store(c.buffer, Affine(c.place), after.result))
        body = [*found.before, Loop(b, 0, blocks, step, "sequence"), *found.after]
        doc = f"What precedes each of {blocks} parts."
        self.add(name, doc, 1, 1, lambda block, thread: body)

    def _elements(
        self, name: str, found: Prefix, starts: list[Buffer], blocks: int, tiles: int
    ) -> None:
        threads, of_block = self.machine.threads, list[Buffer]()

        def write(block: Var, thread: Var) -> list[Any]:
            lane, tile = affine.of(thread), Var(tiles)
            let, i = self._here(found, block, tiles * threads, affine.of(tile) * threads + lane)
            rows = [Buffer("tile", c.result.dtype, threads, "shared") for c in found.carries]
            running = [Buffer("running", c.result.dtype, 1, "local") for c in found.carries]
            of_block.extend(rows)
            body: list[Any] = self._outside(found, [*found.values, *found.uses])
            for start, own in zip(starts, running, strict=True):
                first = loaded(start, affine.of(block))
                body += [first, Store(own, Affine(0), first.result)]
            step: list[Any] = [let]
            for c, row in zip(found.carries, rows, strict=True):
                nothing = constant_scalar(identity_of(c.word, row.dtype), row.dtype)
                step += [nothing, Store(row, lane, nothing.result)]
            pairs = zip(found.carries, rows, strict=True)
            stores = [Store(row, lane, c.operand) for c, row in pairs]
            step += [When(i, 0, found.loop.stop, [*found.values, *stores]), Barrier(threads)]
            step += self._scanned(found, rows, lane)
            results: list[Any] = []
            for c, row, own in zip(found.carries, rows, running, strict=True):
                before, mine = loaded(own, Affine(0)), loaded(row, lane)
                last = loaded(row, Affine(threads - 1))
                following = computed(c.word, before.result, last.result)
                now = Compute(c.result, c.word, (before.result, mine.result))
                step += [before, mine, now, last]
                results += [following, Store(own, Affine(0), following.result)]
            step += [When(i, 0, found.loop.stop, found.uses), *results, Barrier(threads)]
            return [*body, Loop(tile, 0, tiles, step, "sequence")]

        doc = f"A thread for each of {threads} elements at a time, {tiles} times."
        self.add(name, doc, blocks, threads, write, of_block)

    def _scanned(self, found: Prefix, rows: list[Buffer], lane: Affine) -> list[Any]:
        """Statements that replace each element of shared rows by the combination of all up to it.

        Each round doubles the number of combined elements.
        """
        made: list[Any] = []
        distance = 1
        while distance < self.machine.threads:
            combining: list[Any] = []
            for c, row in zip(found.carries, rows, strict=True):
                nothing = constant_scalar(identity_of(c.word, row.dtype), row.dtype)
                held = Buffer("held", row.dtype, 1, "local")
                made += [nothing, Store(held, Affine(0), nothing.result)]
                other, own = loaded(row, lane - distance), loaded(held, Affine(0))
                holding = [other, Store(held, Affine(0), other.result)]
                made.append(When(lane, distance, self.machine.threads, holding))
                mine = loaded(row, lane)
                both = computed(c.word, own.result, mine.result)
                combining += [own, mine, both, Store(row, lane, both.result)]
            made += [Barrier(self.machine.threads), *combining, Barrier(self.machine.threads)]
            distance *= 2
        return made


def _accumulator(c: Carry) -> Accumulator:
    return accumulator(c.result.dtype, c.word, identity_of(c.word, c.result.dtype))
