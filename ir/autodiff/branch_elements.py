"""Array elements that branches read are read before the branches.

Before::

    %4: f64[] = switch %3, %0, %1 {branches=(program a(%0: f64[9], %1: i64[]) {
      %2: f64[] = gather %0, %1 {axes=(0,)}
      return %2
    }, program b(%0: f64[9], %1: i64[]) {
      %2: f64[] = constant {dtype=f64, shape=(), value=0.0}
      return %2
    })}

After: the switch gets the element. Its cotangent is then one number, where the cotangent of the
array would be as large as the array, and mostly zeros, each time. If an index may be out of bounds,
element 0 replaces that of a branch that is not taken.

Results that all branches share, and that can be computed before them, are removed from the switch.

Legal where branches read only a few elements of the array, at indices computed from the switch's
scalar operands, and where the values computed before a branch do not fail if another branch is
taken. Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autojit.ir.core.program import Builder, Op, Program, Value, building, param_key
from autojit.ir.core.registry import declared
from autojit.ir.ops.arithmetic import bitwise_not, convert, eq, ge, le
from autojit.ir.ops.bodies import BOOL, others
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import gather, places_if
from autojit.ir.ops.linear import constant
from autojit.ir.ops.move import slice_
from autojit.ir.rewriting.dce import with_outputs
from autojit.ir.rewriting.rewrite import Rewriter
from autojit.ir.tools.program_passes import STRUCTURE, program_pass

from .scalar_ranges import Range, rewrite_with_ranges

#: The most elements read at a time, and reads per branch: each is loaded even if the branch is not
#: taken.
FEW = 16
#: How many ops before a switch are searched for an equal one.
NEAR = 64


@program_pass("Reads the array elements that branches read before the branches.", keeps=STRUCTURE)
def run(program: Program) -> Program:
    """The program with such elements as operands of branches; the same object if there are none."""
    return rewrite_with_ranges(program, _rule)


def _rule(op: Op, at: Rewriter, of: Callable[[Value], Range]) -> Sequence[Value] | None:
    if op.kind is not declared.switch:
        return None
    branches = [_Branch(b, op) for b in op.params["branches"]]
    for k, operand in enumerate(op.operands[1:]):
        picks = [b.picks(k) for b in branches] if operand.shape else []
        if any(picks) and None not in picks and sum(map(len, picks)) <= FEW:  # type: ignore[arg-type]
            return _with_elements(op, k, branches, at, of)
    return _without_equal(op, branches, at)


class _Branch:
    """A branch, and which of its numbers can be computed before it."""

    def __init__(self, program: Program, switch: Op) -> None:
        self.program = program
        self.makers: dict[Value, Op] = {}
        self.given = dict(zip(program.inputs, switch.operands[1:], strict=True))
        for op in program.ops:
            plain = isinstance(op.kind, Elementwise) or op.kind is constant
            number = plain and not op.result.shape and op.result.dtype.kind in "biu"
            if number and not op.kind.may_fail(op) and all(map(self.is_plain, op.operands)):
                self.makers[op.result] = op

    def is_plain(self, value: Value) -> bool:
        """Whether a value is given, or computed from given ones by ops that never fail."""
        return value in self.makers or value in self.given

    def picks(self, k: int) -> list[Op] | None:
        """The ops that read few elements of an input; None if it is read in another way."""
        array = self.program.inputs[k]
        found = [op for op in self.program.ops if array in op.operands]
        fits = array not in self.program.outputs and all(self._is_pick(op, array) for op in found)
        return found if fits else None

    def _is_pick(self, op: Op, array: Value) -> bool:
        if op.kind not in (gather, slice_) or not 0 < op.result.type.size <= FEW:
            return False
        plain = all(map(self.is_plain, op.operands[1:])) and array not in op.operands[1:]
        return plain and bool(array.type.size)

    def key(self, value: Value) -> Any:
        """A key that is equal for values computed in the same way from the inputs."""
        if value in self.given:
            return self.given[value]
        op = self.makers[value]
        return (op.kind, param_key(tuple(op.params.items())), *map(self.key, op.operands))


class _Before:
    """The values that are computed before a switch."""

    def __init__(self, op: Op, at: Rewriter) -> None:
        self.index, self.at = op.operands[0], at
        self.count = len(op.params["branches"])
        self.made = {
            self._key(o, o.operands): o.result for o in at.ops[-NEAR:] if len(o.results) == 1
        }

    def _key(self, op: Op, operands: Sequence[Value]) -> Any:
        return (op.kind, param_key(tuple(op.params.items())), *operands)

    def value(self, branch: _Branch, value: Value) -> Value:
        """A number of a branch."""
        if value in branch.given:
            return branch.given[value]
        op = branch.makers[value]
        return self.once(op, [self.value(branch, v) for v in op.operands])

    def once(self, op: Op, operands: Sequence[Value]) -> Value:
        """An op on other operands, computed once."""
        key = self._key(op, operands)
        if key not in self.made:
            (self.made[key],) = self.at.repeat(op, operands)
        return self.made[key]

    def pick(self, number: int, branch: _Branch, op: Op, of: Callable[[Value], Range]) -> Value:
        """The element that a branch reads; an arbitrary one if another branch is taken."""
        array, *indices = (self.value(branch, v) for v in op.operands)
        extents = [array.shape[a] for a in op.params["axes"]] if indices else []
        if self._key(op, [array, *indices]) not in self.made:
            ranges = [of(i) if not i.shape else None for i in indices]
            if not all(r and r[0] >= 0 and r[1] < n for r, n in zip(ranges, extents, strict=True)):
                safe = places_if(self.is_taken(number), indices, extents)
                assert safe is not None, "an array without elements is not picked from"
                indices = safe
        return self.once(op, [array, *indices])

    def is_taken(self, number: int) -> Value:
        """Whether a branch is taken."""
        made = self.at.definition(self.index, convert)
        if self.count == 2 and made is not None and made.operands[0].type == BOOL:
            return made.operands[0] if number else bitwise_not(made.operands[0])
        if number == 0:
            return le(self.index, 0)
        return ge(self.index, number) if number == self.count - 1 else eq(self.index, number)


def _with_elements(
    op: Op, k: int, branches: list[_Branch], at: Rewriter, of: Callable[[Value], Range]
) -> Sequence[Value]:
    """The switch with the elements of operand k that its branches read as operands."""
    before = _Before(op, at)
    elements: list[Value] = []
    positions: list[dict[Op, int]] = []
    for number, branch in enumerate(branches):
        positions.append({})
        for pick in branch.picks(k) or ():
            with at.at(pick.source):
                value = before.pick(number, branch, pick, of)
            if value not in elements:
                elements.append(value)
            positions[-1][pick] = elements.index(value)
    made = tuple(
        _taking(branch.program, k, elements, where)
        for branch, where in zip(branches, positions, strict=True)
    )
    operands = [v for j, v in enumerate(op.operands) if j != k + 1]
    return at.emit(op.kind, [*operands, *elements], {"branches": made})


def _taking(branch: Program, k: int, elements: list[Value], where: dict[Op, int]) -> Program:
    builder = Builder()
    inputs = [Value(v.type) for v in branch.inputs]
    given = [Value(v.type) for v in elements]
    env = dict(zip(branch.inputs, inputs, strict=True))
    with building(builder):
        for op in branch.ops:
            if op in where:
                env[op.result] = given[where[op]]
                continue
            made = builder.repeat(op, [env[v] for v in op.operands])
            env.update(zip(op.results, made, strict=True))
    del inputs[k]
    outputs = [env[v] for v in branch.outputs]
    return builder.finish([*inputs, *given], outputs, name=branch.name)


def _without_equal(op: Op, branches: list[_Branch], at: Rewriter) -> Sequence[Value] | None:
    """The switch without results that are the same in all branches."""
    equal = [
        all(b.is_plain(b.program.outputs[j]) for b in branches)
        and len({b.key(b.program.outputs[j]) for b in branches}) == 1
        for j in range(len(op.results))
    ]
    if not any(equal):
        return None
    before = _Before(op, at)
    rest: list[Value] = []
    if not all(equal):
        left = [with_outputs(b.program, others(b.program.outputs, equal)) for b in branches]
        rest = list(at.emit(op.kind, op.operands, {"branches": tuple(left)}))
    first = branches[0]
    return [
        before.value(first, v) if same else rest.pop(0)
        for v, same in zip(first.program.outputs, equal, strict=True)
    ]
