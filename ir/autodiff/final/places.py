"""Finds the elements of an array that the ops of a step read and write.

Legal where every op that may change an array is considered: an unknown op reads and writes all
elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autojit.ir.core.affine import Affine
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.registry import REGISTRY, declared
from autojit.ir.ops.arithmetic import ge, gt, le, lt, ne, select
from autojit.ir.ops.index import Gather
from autojit.ir.ops.linear import iota
from autojit.ir.ops.move import broadcast
from autojit.ir.ops.update import AddAt, Scatter, Update

from .branches import branch_test
from .integers import OPPOSITE, Bounds, Integers, Steps, in_body

#: The least and the greatest index on each axis; None if it may be any.
Box = tuple[tuple[Affine, Affine] | None, ...]


class Place(NamedTuple):
    """Elements that are read or written. Where they are, the forms in ``unequal`` are not 0."""

    box: Box
    unequal: tuple[Affine, ...] = ()


#: Comparisons, with their operands in the other order.
MIRRORED: dict[Declaration, Declaration] = {lt: gt, gt: lt, le: ge, ge: le}


class NotKnown(Exception):
    """Any element may be read or written."""


def apart(bounds: Bounds, first: Place, second: Place) -> bool:
    """Whether two places have no common element.

    If one place is at least the other on an axis, so that they are either equal or apart there, the
    other axes are compared for the case of equality.
    """
    gaps = [
        gap
        for a, b in zip(first.box, second.box, strict=True)
        if a is not None and b is not None
        for gap in (a[0] - b[1], b[0] - a[1])
    ]
    least = list(map(bounds.least, gaps))
    if max(least, default=0) >= 1:
        return True
    unequal = (*bounds.unequal, *first.unequal, *second.unequal)
    if any(_is_one_of(gap, unequal) for gap in _distances(first, second)):
        return True
    for gap, known in zip(gaps, least, strict=True):
        if known == 0 and gap.terms:
            same = bounds.copied()
            same.assume(le, gap, Affine(0))
            if any(same.least(other) >= 1 for other in gaps):
                return True
    return False


def _distances(first: Place, second: Place) -> Iterator[Affine]:
    """The differences of indices, on axes where both places have one."""
    for a, b in zip(first.box, second.box, strict=True):
        if a is not None and b is not None and a[0] == a[1] and b[0] == b[1]:
            yield a[0] - b[0]


def _is_one_of(form: Affine, unequal: Sequence[Affine]) -> bool:
    return any(other in (form, form * -1) for other in unequal)


class Version(NamedTuple):
    """An op of a step that changes an array, and the array before and after it."""

    op: Op
    before: Value
    after: Value


def versions_of(ops: Sequence[Op], first: Value, last: Value) -> list[Version] | None:
    """The ops that change an array in a step, in order; None if they are not known."""
    makers = {v: op for op in ops for v in op.results}
    found: list[Version] = []
    while last is not first:
        op = makers.get(last)
        before = None if op is None else _changed(op, last)
        if op is None or before is None or op.operands.count(before) != 1:
            return None
        found.append(Version(op, before, last))
        last = before
    return found[::-1]


def _changed(op: Op, result: Value) -> Value | None:
    """The array that a result equals except for some elements."""
    if isinstance(op.kind, (Scatter, AddAt, Update)):
        return op.operands[0]
    if _is_loop(op) and op.results.index(result) < len(_carries(op)):
        before: Value = op.operands[op.params["constants"] + op.results.index(result)]
        return before
    if op.kind is declared.switch:
        return _changed_in_branches(op, op.results.index(result))
    return None


def _changed_in_branches(op: Op, k: int) -> Value | None:
    """The operand that each branch changes, or passes on, as a result."""
    for j, operand in enumerate(op.operands[1:]):
        if operand.type == op.results[k].type and all(
            versions_of(branch.ops, branch.inputs[j], branch.outputs[k]) is not None
            for branch in op.params["branches"]
        ):
            before: Value = operand
            return before
    return None


def _is_loop(op: Op) -> bool:
    if op.kind is REGISTRY["while"]:
        return len(op.params["sweeps"]) == 1
    return op.kind is declared.scan


def _carries(op: Op) -> Sequence[Value]:
    scan, n = op.kind is declared.scan, op.params["constants"]
    count: int = op.params["carries"] if scan else op.params["carries"][0]
    return op.operands[n : n + count]


def replaced_by(program: Program) -> list[int]:
    """The numbers of the inputs of which an output is a version with other elements."""
    pairs = [
        (k, old, new)
        for k, old in enumerate(program.inputs)
        for new in program.outputs
        if old.type == new.type and old.shape and old is not new
    ]
    return [k for k, old, new in pairs if versions_of(program.ops, old, new)]


def written(version: Version, integers: Integers) -> Iterator[Place]:
    """The places that an op of a step writes."""
    op = version.op
    if isinstance(op.kind, Update):
        window = zip(op.params["start"], op.params["stride"], op.operands[1].shape, strict=True)
        yield Place(tuple((Affine(a), Affine(a + s * (m - 1))) for a, s, m in window))
    elif isinstance(op.kind, (Scatter, AddAt)):
        yield Place(_at(op, op.operands[2:], op.result.shape, integers))
    elif op.kind is declared.switch:
        yield from _written_in_branches(version, integers)
    else:
        steps = Steps(op, integers)
        scan, k = op.kind is declared.scan, op.operands.index(version.before)
        body: Program = op.params["body"] if scan else op.params["sweeps"][0]
        carry = k - op.params["constants"]
        inner = versions_of(body.ops, body.inputs[k + int(scan)], body.outputs[carry])
        if inner is None:
            raise NotKnown
        for each in inner:
            yield from written(each, steps.now)


def _written_in_branches(version: Version, integers: Integers) -> Iterator[Place]:
    op = version.op
    j, k = op.operands.index(version.before) - 1, op.results.index(version.after)
    for number, branch in enumerate(op.params["branches"]):
        inner = versions_of(branch.ops, branch.inputs[j], branch.outputs[k])
        if inner is None:
            raise NotKnown
        known = in_body(op, branch, integers)
        for each in inner:
            yield from _where(op, number, integers, written(each, known))


def _where(op: Op, number: int, integers: Integers, places: Iterator[Place]) -> Iterator[Place]:
    """Places that are only touched where a branch is taken."""
    test = branch_test(op, number, integers)
    apart_ = (test[1] - test[2],) if test is not None and test[0] in (ne, lt, gt) else ()
    for place in places:
        yield Place(place.box, (*place.unequal, *apart_))


def _at(op: Op, indices: Sequence[Value], shape: Sequence[int], integers: Integers) -> Box:
    of = dict(zip(op.params["axes"], indices, strict=True))
    return tuple(
        (form := integers.of(of[axis]), form) if axis in of and not of[axis].type.shape else None
        for axis in range(len(shape))
    )


def read(op: Op, array: Value, integers: Integers, user: Op | None = None) -> Iterator[Place]:
    """The places where an op reads an array that it does not change; of a gathered row, the part
    that ``user`` takes."""
    at = [k for k, v in enumerate(op.operands) if v is array]
    if isinstance(op.kind, Gather) and at == [0]:
        yield Place(_picked(op, integers, user))
    elif op.kind is select and op.operands[0] is not array:
        yield Place(_part(op, array, integers))
    else:
        yield from _read_in_bodies(op, array, at, integers)


def _picked(op: Op, integers: Integers, user: Op | None) -> Box:
    place = _at(op, op.operands[1:], op.operands[0].shape, integers)
    if user is None or any(v.type.shape for v in op.operands[1:]):
        return place
    rest = [axis for axis, part in enumerate(place) if part is None]
    of = dict(zip(rest, _part(user, op.result, integers), strict=True))
    return tuple(of.get(axis, known) for axis, known in enumerate(place))


def _read_in_bodies(op: Op, array: Value, at: Sequence[int], integers: Integers) -> Iterator[Place]:
    if not set(at) <= set(_taken_as_they_are(op)):
        raise NotKnown
    for number, (body, known) in enumerate(_bodies(op, integers)):
        places = _read_in_body(op, array, at, body, known)
        yield from _where(op, number, integers, places) if op.kind is declared.switch else places


def _read_in_body(
    op: Op, array: Value, at: Sequence[int], body: Program, known: Integers
) -> Iterator[Place]:
    shared = list(op.kind.shared(op))  # type: ignore[attr-defined]
    for k in at:
        if k not in shared:  # rows that a scan takes, one a step
            index = body.inputs[op.params["constants"]]
            row = (known.of(index),) * 2
            yield Place((row, *[None] * (array.type.ndim - 1)))
            continue
        inner = body.inputs[shared.index(k)]
        if inner in body.outputs:
            raise NotKnown
        for reader in body.ops:
            if inner in reader.operands:
                for user in _users(reader, body):
                    yield from read(reader, inner, known, user)


def _users(op: Op, body: Program) -> Sequence[Op | None]:
    """The ops that take parts of a gathered row; None for unknown ones."""
    if not isinstance(op.kind, Gather) or not op.result.shape or op.result in body.outputs:
        return [None]
    return [user for user in body.ops if op.result in user.operands]


def _part(op: Op, array: Value, integers: Integers) -> Box:
    """The part of an array that a selection takes: below or above a bound along an axis."""
    whole: Box = (None,) * array.type.ndim
    if op.kind is not select or op.operands.count(array) != 1 or op.operands[0] is array:
        return whole
    test, dims = integers.maker(op.operands[0]), tuple(range(array.type.ndim))
    if test is not None and test.kind is broadcast:
        dims, test = test.params["dims"], integers.maker(test.operands[0])
    if test is None or test.kind not in OPPOSITE:
        return whole
    kind = test.kind if op.operands[1] is array else OPPOSITE[test.kind]
    counted, limit = map(integers.maker, test.operands)
    if counted is not None and counted.kind is broadcast:
        kind, counted, limit = MIRRORED[kind], limit, counted
    if counted is None or limit is None or counted.kind is not iota or limit.kind is not broadcast:
        return whole
    axis, bound = dims[counted.params["axis"]], limit.operands[0]
    if bound.type.shape or kind not in MIRRORED:
        return whole
    form, last = integers.of(bound), Affine(array.shape[axis] - 1)
    upwards = kind in (lt, le)
    strict = int(kind in (lt, gt))
    part = (Affine(0), form - strict) if upwards else (form + strict, last)
    return tuple(part if a == axis else None for a in range(array.type.ndim))


def _taken_as_they_are(op: Op) -> Sequence[int]:
    """The operands that the bodies of an op only read: whole arrays, or their rows."""
    if op.kind is declared.scan:
        first = op.params["constants"] + op.params["carries"]
        return [*op.kind.shared(op), *range(first, len(op.operands))]
    if op.kind in (REGISTRY["while"], declared.switch):
        return list(op.kind.shared(op))  # type: ignore[attr-defined]
    return []


def _bodies(op: Op, integers: Integers) -> Iterator[tuple[Program, Integers]]:
    bodies: Sequence[Program]
    if op.kind is declared.switch:
        bodies = op.params["branches"]
    elif op.kind is declared.scan:
        bodies = [op.params["body"]]
    else:
        bodies = [op.params["condition"], *op.params["sweeps"]]
    for body in bodies:
        yield body, in_body(op, body, integers)
