"""The products of a scan's steps that may precede it, for ``masked_products``."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.partition import needed
from autojit.ir.core.machine import current
from autojit.ir.core.program import Op, Program, Value, current_builder, readers_of
from autojit.ir.ops.arithmetic import select
from autojit.ir.ops.bodies import INDEX
from autojit.ir.ops.contract import dot, free_axes
from autojit.ir.ops.linear import iota
from autojit.ir.regions.scan import scan
from autojit.ir.regions.scan_products import (
    LARGE,
    all_rows,
    multiplications,
    with_rows,
)

from .step_masks import Mask, StepMasks


class Early(NamedTuple):
    """A product that precedes its loop: factor ``side`` is a constant, without its mask, and the
    other is computed in each step, from what all steps know beforehand."""

    product: Op
    factors: tuple[Value, Value]
    side: int


class StepProducts:
    """The products in the body of a scan."""

    def __init__(self, op: Op) -> None:
        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        self.op, self.body = op, body
        self.fixed, self.rows = set(body.inputs[:n]), set(body.inputs[n + 1 + m :])
        #: The arrays that the constants and the rows of a step come from.
        self.operands = dict(zip(body.inputs[:n], op.operands[:n], strict=True))
        self.operands.update(zip(body.inputs[n + 1 + m :], op.operands[n + m :], strict=True))
        self.carries = body.inputs[n + 1 : n + 1 + m]
        self.masks = StepMasks(body, body.inputs[n], op.params["length"])
        self.definer = self.masks.definer
        self.uses = readers_of(body.ops, body.outputs)
        self.readers = defaultdict[Value, list[Op]](list)
        for reader in body.ops:
            for v in reader.operands:
                self.readers[v].append(reader)
        #: What depends on no carry and is no constant.
        self.steady = _steady(body, n, m)
        #: The most bytes of new arrays: as many as the loop has anyway.
        self.room = sum(v.type.nbytes for v in (*op.operands, *op.results))

    # -- before the loop ----------------------------------------------------------

    def early(self) -> list[Early]:
        """The products that may precede the loop."""
        found = [self._early(p) for p in self.body.ops if self.is_large(p)]
        return [
            early for early in found
            if early is not None
            and self.has_room(early.product.result)
            and self.has_room(early.factors[1 - early.side])
        ]  # fmt: skip

    def _early(self, p: Op) -> Early | None:
        for side in (0, 1):
            cut, other = self.masks.cut(p.operands[side]), p.operands[1 - side]
            if cut is None or cut[0] not in self.fixed or other not in self.steady:
                continue
            value, mask = cut
            places = places_of(p, side)
            if not set(mask.dims) <= places.keys() or not self.pays(mask):
                continue
            if self._is_read_through(p.result, mask.along(places)):
                return Early(p, (value, other) if side == 0 else (other, value), side)
        return None

    def _is_read_through(self, v: Value, mask: Mask) -> bool:
        """Whether only elements of a value that a mask keeps are read."""
        readers = self.readers[v]
        return len(readers) == self.uses[v] and all(
            op.kind is select
            and v not in (op.operands[0], op.operands[2])
            and self.masks.of(op.operands[0]) == mask
            for op in readers
        )

    def moved_before(self, found: list[Early]) -> tuple[Value, ...]:
        """The results of the scan, with some of its products computed before it."""
        made = {}
        for each in found:
            arrays = [
                self.operands[v] if k == each.side else self._all_steps(v)
                for k, v in enumerate(each.factors)
            ]
            made[each.product] = all_rows(each.product, arrays[0], arrays[1], each.side == 0)
        return with_rows(scan, self.op, made)

    def _all_steps(self, v: Value) -> Value:
        """The values of all steps, with an axis of steps in front."""
        if v in self.operands:
            found: Value = self.operands[v]
            return found
        ops = needed(self.body.ops, [v])
        read = {operand for op in ops for operand in op.operands}
        inputs = [self.masks.index, *(given for given in self.operands if given in read)]
        length = self.masks.length
        program = batch(Program(inputs, ops, [v]), length, [v not in self.fixed for v in inputs])
        steps = iota(shape=(length,), axis=0, dtype=INDEX.dtype)
        operands = [steps, *(self.operands[given] for given in inputs[1:])]
        (result,) = current_builder().inline(program, operands)
        return result

    # -- profitability ------------------------------------------------------------

    def is_large(self, p: Op) -> bool:
        """Whether a product is one of inexact numbers that is worth a call."""
        return (
            p.kind is dot
            and p.params["batch"] == ((), ())
            and p.result.type.is_inexact
            and multiplications(p) >= LARGE
        )

    def pays(self, mask: Mask) -> bool:
        """Whether a product of whole matrices takes less time than the loop does for the part that
        the mask keeps."""
        return self.masks.part(mask) * current().costs.product >= 1

    def has_room(self, v: Value) -> bool:
        """Whether the values of all steps take no more memory than the loop has."""
        return bool(self.op.params["length"] * v.type.nbytes <= self.room)


def _steady(body: Program, n: int, m: int) -> set[Value]:
    """The values of a body that depend on the step or its rows, and on no carry."""
    found = {body.inputs[n], *body.inputs[n + 1 + m :]}
    known = found | set(body.inputs[:n])
    for op in body.ops:
        if known.issuperset(op.operands) and not (op.programs or op.kind.fallible):
            known.update(op.results)
            if not found.isdisjoint(op.operands):
                found.update(op.results)
    return found


def places_of(p: Op, side: int) -> dict[int, int]:
    """The axes of a product's result that are free axes of a factor."""
    contract, a = p.params["contract"], p.operands[0]
    first = len(free_axes(a.type.ndim, contract[0], ())) if side else 0
    free = free_axes(p.operands[side].type.ndim, contract[side], ())
    return {axis: first + k for k, axis in enumerate(free)}
