"""Elements that branches store into one array are stored after the branches.

Before::

    %4: f64[9] = switch %3, %0, %1, %2 {branches=(program a(%0: f64[9], %1: f64[], %2: i64[]) {
      %3: f64[9] = scatter %0, %1, %2 {axes=(0,)}
      return %3
    }, program b(%0: f64[9], %1: f64[], %2: i64[]) {
      return %0
    })}

After: the branches return the element and its place, and one op stores it.  A branch that passes
the array on unchanged returns one of its elements: the one at another branch's index, if that is
certainly in bounds, else the first. So an array that a loop carries is not the result of a branch,
and neither are its cotangents.

Legal where each branch either sets a single element of its input array or passes the array on, at
least one sets an element, and no branch returns the array twice.  Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building, readers_of
from autojit.ir.core.registry import declared
from autojit.ir.ops.bodies import INDEX
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import gather
from autojit.ir.ops.linear import constant
from autojit.ir.ops.update import scatter
from autojit.ir.rewriting.rewrite import Rewriter
from autojit.ir.tools.program_passes import STRUCTURE, program_pass

from .partition import needed
from .scalar_ranges import Range, inputs_of, range_of, rewrite_with_ranges


@program_pass(
    "Stores the elements that branches store into one array after the branches.", keeps=STRUCTURE
)
def run(program: Program) -> Program:
    """The program with such stores after branches; the same object if there are none."""
    return rewrite_with_ranges(program, _rule)


def _rule(op: Op, at: Rewriter, of: Callable[[Value], Range]) -> Sequence[Value] | None:
    if op.kind is not declared.switch:
        return None
    for k in range(len(op.results)):
        stores = _stores(op, k)
        if stores is not None:
            return _stored_after(op, k, stores, at, of)
    return None


class _Store(NamedTuple):
    """What a branch does to one of its inputs; ``change`` is None if it passes it on."""

    branch: Program
    number: int
    change: Op | None


def _stores(op: Op, k: int) -> list[_Store] | None:
    """The store of each branch in result k, if all change elements of the same operand."""
    if not op.results[k].type.size or not op.results[k].shape:
        return None
    found = [_store(branch, k) for branch in op.params["branches"]]
    stores = [s for s in found if s is not None]
    changed = any(s.change is not None for s in stores)
    fits = len(stores) == len(found) and changed and len({s.number for s in stores}) == 1
    return stores if fits else None


def _store(branch: Program, k: int) -> _Store | None:
    result = branch.outputs[k]
    if branch.outputs.count(result) > 1:
        return None
    if result in branch.inputs:
        return _Store(branch, branch.inputs.index(result), None)
    change = next(op for op in branch.ops if result in op.results)
    if change.kind is not scatter or change.operands[0] not in branch.inputs:
        return None
    alone = readers_of(branch.ops, branch.outputs)[result] == 1
    if not alone or change.operands[1].shape or change.operands[2].type != INDEX:
        return None
    # All axes in order, so that the indices of all branches refer to the same axes.
    if change.params["axes"] != tuple(range(result.type.ndim)):
        return None
    return _Store(branch, branch.inputs.index(change.operands[0]), change)


def _stored_after(
    op: Op, k: int, stores: list[_Store], at: Rewriter, of: Callable[[Value], Range]
) -> Sequence[Value]:
    ways = [_safe_place(s, inputs_of(op, s.branch, of)) for s in stores]
    place = next((way for way in ways if way is not None), None)
    branches = tuple(_returning(s, k, place) for s in stores)
    results = list(at.emit(op.kind, op.operands, {"branches": branches}))
    array, count = op.operands[1 + stores[0].number], op.results[k].type.ndim
    value, *indices = results[-1 - count :]
    change = next(s.change for s in stores if s.change is not None)
    with at.at(change.source):
        made = scatter(array, value, *indices, axes=tuple(range(count)))
    return [*results[:k], made, *results[k : -1 - count]]


class _Place(NamedTuple):
    """Scalar ops that compute an index from a branch's inputs."""

    branch: Program
    ops: list[Op]
    indices: tuple[Value, ...]


def _safe_place(store: _Store, known: dict[Value, Range]) -> _Place | None:
    """The index that a branch stores at, if other branches may compute it too and it is in
    bounds."""
    if store.change is None:
        return None
    makers = {v: op for op in store.branch.ops for v in op.results}
    array, _, *indices = store.change.operands
    ranges = [range_of(i, makers.get, known) for i in indices]
    if not all(r and r[0] >= 0 and r[1] < n for r, n in zip(ranges, array.shape, strict=True)):
        return None
    ops = needed(store.branch.ops, indices)
    plain = all(isinstance(op.kind, Elementwise) or op.kind is constant for op in ops)
    if not plain or any(op.kind.may_fail(op) for op in ops):
        return None
    return _Place(store.branch, ops, tuple(indices))


def _returning(store: _Store, k: int, place: _Place | None) -> Program:
    """A branch that returns the element and its index last, instead of the array."""
    branch, builder = store.branch, Builder()
    inputs = [Value(v.type) for v in branch.inputs]
    env = dict(zip(branch.inputs, inputs, strict=True))
    with building(builder):
        for op in branch.ops:
            if op is not store.change:
                made = builder.repeat(op, [env[v] for v in op.operands])
                env.update(zip(op.results, made, strict=True))
        if store.change is not None:
            stored = [env[v] for v in store.change.operands[1:]]
        else:
            indices = _handed_on(branch, inputs, builder, store.number, place)
            array = inputs[store.number]
            stored = [gather(array, *indices, axes=tuple(range(array.type.ndim))), *indices]
    outputs = [env[v] for j, v in enumerate(branch.outputs) if j != k]
    return builder.finish(inputs, [*outputs, *stored], name=branch.name)


def _handed_on(
    branch: Program, inputs: list[Value], builder: Builder, number: int, place: _Place | None
) -> list[Value]:
    """The index of an element that stays unchanged."""
    if place is None:
        return [full(0, INDEX) for _ in branch.inputs[number].shape]
    env = dict(zip(place.branch.inputs, inputs, strict=True))
    for op in place.ops:
        env.update(zip(op.results, builder.repeat(op, [env[v] for v in op.operands]), strict=True))
    return [env[v] for v in place.indices]
