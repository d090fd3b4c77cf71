"""The products of a scan's steps that may follow it, for ``masked_products``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from autojit.ir.core.program import Op, Value
from autojit.ir.regions.scan_products import terms_of

from .step_masks import Mask
from .step_products import StepProducts, places_of


class Late(NamedTuple):
    """A product that leaves a loop for its end.

    ``factors`` are values of the body, without their masks. ``mask`` is that of factor ``side``.
    ``carry`` is the number of the carry that ``term`` is added to, and None if steps lead only to
    what is stacked.
    """

    product: Op
    term: Value
    factors: tuple[Value, ...]
    mask: Mask | None
    side: int
    carry: int | None


class LateTerms(StepProducts):
    """The products in the body of a scan, and those among them that may follow it."""

    def late(self) -> list[Late]:
        """The products that may follow the loop."""
        return [found for found in (*self._sums(), *self._stacked()) if self._may_stack(found)]

    def _sums(self) -> Iterator[Late]:
        for k, own in enumerate(self.carries):
            last = self.body.outputs[k]
            terms = terms_of(last, self.definer, self.uses)
            if last is own or self.uses[own] != 1 or own not in terms:
                continue
            for term in terms:
                found = self._sum(term, k)
                if found is not None:
                    yield found

    def _sum(self, term: Value, carry: int) -> Late | None:
        """A product that a mask cuts, which becomes the mask of a factor."""
        cut = self.masks.cut(term)
        p = None if cut is None else self.definer.get(cut[0])
        if cut is None or p is None or not self.is_large(p):
            return None
        both_vary = self.fixed.isdisjoint(p.operands)
        if not both_vary or not self.uses[term] == self.uses[p.result] == 1:
            return None
        for side in (0, 1):
            axes = {place: axis for axis, place in places_of(p, side).items()}
            if set(cut[1].dims) <= axes.keys() and self.pays(cut[1]):
                return Late(p, term, p.operands, cut[1].along(axes), side, carry)
        return None

    def _stacked(self) -> Iterator[Late]:
        for p in self.body.ops:
            found = self._of_vector(p) if self.is_large(p) else None
            if found is not None and self._follows(p):
                yield found

    def _follows(self, p: Op) -> bool:
        """Whether nothing that a product leads to is carried, or hinders that it follows."""
        ops = self.following([p])
        reached = {p.result, *(v for op in ops for v in op.results)}
        return (
            reached.isdisjoint(self.body.outputs[: len(self.carries)])
            and not any(op.programs or op.kind.fallible for op in ops)
            and all(self.has_room(v) for op in ops for v in (*op.operands, *op.results))
        )

    def following(self, products: Iterable[Op]) -> list[Op]:
        """The ops that depend on products."""
        reached, ops = {p.result for p in products}, []
        for op in self.body.ops:
            if not reached.isdisjoint(op.operands):
                ops.append(op)
                reached.update(op.results)
        return ops

    def _of_vector(self, p: Op) -> Late | None:
        """The product of a matrix, of which a mask may cut what is summed, and a vector."""
        for side in (0, 1):
            cut, mine = self.masks.cut(p.operands[side]), p.params["contract"][side]
            value, mask = (p.operands[side], None) if cut is None else cut
            theirs, vector = p.params["contract"][1 - side], p.operands[1 - side]
            if value not in self.fixed or vector in self.fixed:
                continue
            if not theirs or len(theirs) < vector.type.ndim:
                continue
            if mask is not None:
                axes = dict(zip(mine, theirs, strict=True))
                if not set(mask.dims) <= axes.keys() or not self.pays(mask):
                    continue
                mask = mask.along(axes)
            factors = (value, vector) if side == 0 else (vector, value)
            return Late(p, p.result, factors, mask, 1 - side, None)
        return None

    def _may_stack(self, found: Late) -> bool:
        """Whether the loop may stack the factors that it does not have as arrays."""
        known = self.fixed | self.rows
        made = [v for k, v in enumerate(found.factors) if v not in known or k == found.side]
        return all(self.has_room(v) for v in made)
