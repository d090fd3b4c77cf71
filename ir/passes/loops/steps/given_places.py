"""Places of elements that follow from the number of a step, so that a loop need not record them.

Legal where they are computed from numbers that are the same in all steps, and from counters, by ops
that may be repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from autojit.ir.autodiff.final.integers import counters_of
from autojit.ir.autodiff.partition import needed
from autojit.ir.autodiff.residuals import repeatable
from autojit.ir.core.program import Op, Program, Value, current_builder
from autojit.ir.ops.bodies import INDEX
from autojit.ir.regions.scan import Scan


class Places(NamedTuple):
    """The values recorded in a step, in order, that need not be recorded; None for the others."""

    values: tuple[Value | None, ...]
    #: The ops that compute them in a step.
    ops: tuple[Op, ...]
    #: The inputs from which they are computed, and by how much these grow from step to step.
    given: Mapping[Value, int]
    #: The index of the step, if the loop has one.
    step: Value | None

    def computed(self, number: Value, given: Sequence[Value]) -> dict[Value, Value]:
        """The values in the step with this number; ``given`` has the inputs' initial values."""
        env: dict[Value, Value] = {}
        if self.step is not None:
            env[self.step] = number
        for (v, by), start in zip(self.given.items(), given, strict=True):
            env[v] = start + number * by if by else start
        for op in self.ops:
            made = current_builder().repeat(op, [env[v] for v in op.operands])
            env.update(zip(op.results, made, strict=True))
        return {v: env[v] for v in self.values if v is not None}


def given_places(op: Op, body: Program, recorded: Sequence[Value | None]) -> Places:
    """The recorded values of a loop's step that follow from its number.

    None in ``recorded`` stands for a value that does not exist in the step.
    """
    n = op.params["constants"]
    index = body.inputs[n] if isinstance(op.kind, Scan) else None
    counters = {} if index is not None else counters_of(body, n, op.params["carries"][0])
    by = {v: 0 for v in body.inputs[:n] if not v.shape}
    by |= {body.inputs[n + k]: step for k, step in counters.items()}
    at_hand = by.keys() | ({index} if index is not None else set())
    made = {v: each for each in body.ops for v in each.results}
    values = tuple(
        v if v is not None and v.type == INDEX and _is_given(v, made, at_hand) else None
        for v in recorded
    )
    ops = needed(body.ops, [v for v in values if v is not None])
    read = {v for each in ops for v in each.operands} | set(values)
    given = {v: step for v, step in by.items() if v in read}
    return Places(values, tuple(ops), given, index)


def _is_given(value: Value, made: Mapping[Value, Op], at_hand: Collection[Value]) -> bool:
    open_, seen = [value], {value}
    while open_:
        v = open_.pop()
        if v in at_hand:
            continue
        op = made.get(v)
        if op is None or v.shape or not repeatable(op):
            return False
        open_ += [x for x in op.operands if x not in seen]
        seen.update(op.operands)
    return True
