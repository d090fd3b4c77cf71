"""The carries of a loop: names and places from step to step, and the lists that it appends to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.capture.state.aliases import origins
from autojit.capture.state.kept import thawed
from autojit.capture.state.maybe import Maybe
from autojit.capture.state.optional import Optional
from autojit.capture.state.origins import Slot
from autojit.capture.state.state import (
    Before,
    is_state,
    joined,
    tree_of,
    with_flags,
)  # fmt: skip
from autojit.errors import CaptureError, raised
from autojit.ir.core.types import Type
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.tracer import Tracer

from .loop import Carry, Grown, Loop, Step, key_of, refused
from .rewriting.plain import UNBOUND

_WAYS = "before the loop", "after a step"


def take(before: Before, read: Sequence[Carry], inputs: Sequence[Tracer]) -> dict[Any, Any]:
    """Set names and places to the inputs of the body."""
    pairs, taken, start = [], {}, 0
    for carry in read:
        stop = start + len(carry.types)
        value = carry.tree.filled(inputs[start:stop])
        pairs.append((carry.key, value))
        taken[key_of(carry.key)] = value
        start = stop
    before.assign(pairs)
    return taken


def note(
    loop: Loop, before: Before, carries: dict[Any, Carry], ends: dict[Any, Any],
    taken: dict[Any, Any],
) -> bool:  # fmt: skip
    """Update the carries with the values at a step's end; return whether nothing is new."""
    site, is_settled = loop.access.site, True
    for k, (key, end) in ends.items():
        if k in taken and _is_same(taken[k], end):
            continue
        old = carries.get(k)
        is_read = key.place is not None or key.name in site.live_in
        if not is_read and key.name not in site.live_out:
            continue
        first = before.frozen(before.of(key)) if old is None else old.first
        silent = key.name in site.internal
        if not is_read and loop.has_steps and not _could_be(first, end):
            first = UNBOUND  # the earlier value is never read
        first, value = with_flags(thawed([first, end]), silent=silent)
        trees = [tree_of(first), tree_of(value)]
        types = joined(trees, key.words, loop.access.source, _WAYS)
        if old is not None:
            types = no_narrower(old.types, types) if len(types) == len(old.types) else types
        is_last = old is not None and old.is_last
        made = Carry(key, trees[0], types, first, is_read, _is_there(end), is_last)
        same = old is not None and old.types == types and old.tree.structure == made.tree.structure
        carries[k] = made
        if is_read and not same:
            is_settled = False
    return is_settled


def _is_there(value: Any) -> bool:
    """Whether a name is certainly bound, and not to None."""
    return value is not None and not isinstance(value, (Maybe, Optional))


def _is_same(taken: Any, end: Any) -> bool:
    if taken is end:
        return True
    a, b = tree_of(taken), tree_of(end)
    return a.structure == b.structure and all(
        x is y for x, y in zip(a.leaves, b.leaves, strict=True)
    )


def _could_be(first: Any, end: Any) -> bool:
    """Whether a name can keep its earlier value if the loop runs no step."""
    if not (_is_there(first) and _is_there(end)):
        return True
    a, b = tree_of(first), tree_of(end)
    if a.structure != b.structure:
        return False
    shapes = zip(a.leaves, b.leaves, strict=True)
    return all(np.shape(x) == np.shape(y) for x, y in shapes) if is_state(first) else False


def no_narrower(old: Sequence[LeafType], new: Sequence[LeafType]) -> list[LeafType]:
    kinds = []
    for a, b in zip(old, new, strict=True):
        if a == b or a.type.shape != b.type.shape:
            kinds.append(b)
            continue
        weak = [x for x in (a, b) if x.weak is not None]
        dtype = np.result_type(*(x.weak(0) if x in weak else x.type.dtype for x in (a, b)))
        is_weak = len(weak) == 2
        strongest = (
            max((x.weak for x in weak), key=(int, float, complex).index) if is_weak else None
        )
        kinds.append(LeafType(Type(dtype, b.type.shape), strongest))
    return kinds


def note_lasts(before: Before, carries: dict[Any, Carry], lasts: dict[Any, Any]) -> None:
    """Add carries for the last elements of growing lists, which the next step may read."""
    for k, (key, new) in lasts.items():
        held = before.heap.held[k[0]][1]
        if not held or not is_state(held[-1]) or not is_state(new):
            continue
        trees = [tree_of(held[-1]), tree_of(new)]
        try:
            types = joined(trees, key.words, None, _WAYS)
        except CaptureError:
            del (raised.errors or [])[-1:]
            continue
        carries[k] = Carry(key, trees[0], types, held[-1], True, is_last=True)


def grown_list(items: list[Any], new: list[Any], found: Step, loop: Loop) -> Grown:
    """The elements that each step appends to a list, as arrays that the loop stacks."""
    trees = [tree_of(x) for x in new]
    for tree in trees:
        if len(tree.arrays) != len(tree.leaves):
            raise refused(loop, _APPENDED)
    arrays = [leaf for tree in trees for leaf in tree.arrays]
    types = [leaf_type(leaf) for leaf in arrays]
    same = _same_as_rows(arrays, found, loop)
    return Grown(items, trees, types, found.block.values(arrays, types), same)


def _same_as_rows(
    arrays: Sequence[Any], found: Step, loop: Loop
) -> list[tuple[int, list[Slot | int], list[Slot]]]:
    """The arrays that appended arrays may be identical to; CaptureError if two appended arrays may
    be one array."""
    inputs = {id(x): slot for slot, x in found.inputs_of.items()}
    made_of = [origins(leaf, found.block.trace, inputs) for leaf in arrays]
    numbers = [o[0][:2] for o in made_of if o]
    lists = sum(len(new) for _, new in found.appended.values())
    same: list[tuple[int, list[Slot | int], list[Slot]]] = []
    for number, o in enumerate(made_of):
        if not o:
            continue
        every, last = found.sharing.of_rows(o)
        if every is None or numbers.count(o[0][:2]) > 1 or (o[0].kind == "input" and lists > 1):
            raise refused(loop, SAME_ARRAY)
        same.append((number, every, last))
    return same


SAME_ARRAY = (
    "A loop appends the same array to a list repeatedly, or changes an array that is in the "
    "list. Append copies: xs.append(x.copy())."
)

_APPENDED = (
    "A loop appends an object to a list that is not an array, a number, or a container of these. "
    "Append the numbers, and build the objects from them after the loop."
)
