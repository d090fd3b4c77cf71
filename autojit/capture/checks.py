"""Errors that compiled code raises, for exceptions in branches that are traced.

Each condition that must hold is a bool that leaves its block as one more result. At the end of the
traced function, the function's results pass through the checks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.errors import CaptureError, HandledFailureError, with_place
from autojit.functions.checks import ensured
from autojit.ir.autodiff.kept_errors import of_unread
from autojit.ir.core.program import Op, Value, current_builder
from autojit.ir.ops.arithmetic import bitwise_and, bitwise_not, bitwise_or
from autojit.protocols.lifting import tracer
from autojit.session.messages import OUTSIDE
from autojit.tracing.context import CapturedView, Trace, current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import Bounds
from autojit.tracing.source import user_source
from autojit.tracing.values import lift

from .blocks.block import Block
from .blocks.messages import raisable, reporting_indices
from .blocks.regions import (
    ELSEWHERE,
    Failure,
    can_hold_back,
    distinct,
    escaped,
    failing,
    is_handled,
)


def check_unread(outputs: Sequence[Value]) -> None:
    """Check the operations of the active trace that may fail and that its outputs do not need:
    Python raises their exceptions too."""
    trace = current_trace()
    assert trace is not None
    for held, op in of_unread(outputs, trace.builder.applied, _known_ranges(trace)):
        checked = reporting_indices(tracer(held), op)
        trace.checks.append((checked, Failure(IndexError(OUTSIDE[1]), op.source)))


def _known_ranges(trace: Trace) -> dict[Value, Bounds]:
    """The bounds of Python integers, also of those from around a block."""
    known = dict(trace.bounds)
    for value, thing in zip(trace.captured_inputs, trace.captured, strict=True):
        if isinstance(thing, CapturedView) and thing.value in thing.tracer.owner.bounds:
            known[value] = thing.tracer.owner.bounds[thing.value]
    return known


def add_checks(
    blocks: Sequence[Block], outputs: Sequence[list[Value]]
) -> Callable[[Sequence[Value]], None]:
    """Add the checks of some blocks, of which one runs, to the outputs of all of them. Returns a
    function that takes the results for these outputs."""
    failures: list[Any] = []
    for block in blocks:
        with block.resumed():
            block.trace.checks[:] = distinct(block.trace.checks)
        for held, failure in block.trace.checks:
            for other, mine in zip(blocks, outputs, strict=True):
                value = held if other is block else np.True_
                mine.extend(other.recorded(_lifted, value))
            failures.append(failure)

    def take(results: Sequence[Value]) -> None:
        for value, failure in zip(results, failures, strict=True):
            escaped(tracer(value), failure)

    return take


def _lifted(value: Any) -> list[Value]:
    return [lift(value)]


def first_failing(held: Sequence[Value], before: Sequence[Value]) -> list[Value]:
    """Checks of which only the first that fails, in the order of the source, is false. If a check
    in ``before`` has failed, it stays the only false one."""
    if len(held) < 2:
        return [bitwise_and(a, b) for a, b in zip(before, held, strict=True)]
    fine = functools.reduce(bitwise_and, before)
    found = []
    for mine, earlier in zip(held, before, strict=True):
        found.append(bitwise_and(earlier, bitwise_or(mine, bitwise_not(fine))))
        fine = bitwise_and(fine, mine)
    return found


def with_checks(results: Sequence[Any], checks: Sequence[tuple[Any, Failure]]) -> list[Any]:
    """The results of a function, which fail if one of its checks fails."""
    checked = list(results)
    for _, failure in checks:
        if failure.is_handled:
            raise HandledFailureError(with_place(ELSEWHERE, failure.source))
    if not checked:
        raise CaptureError(with_place(_NO_RESULT, checks[0][1].source))
    lifted = [lift(held) for held, _ in checks]
    exclusive = map(tracer, first_failing(lifted, [lift(np.True_)] * len(lifted)))
    for held, (_, failure) in zip(exclusive, checks, strict=True):
        error = raisable(failure.error)
        builder = current_builder()
        with builder.at(failure.source):
            checked = [ensured(x, held, error) for x in checked]
    return checked


_NO_RESULT = (
    "The function raises an exception if a traced condition holds, but it returns no number. "
    "Compiled code raises exceptions while it computes a result, so return the number that the "
    "function checks:\n"
    "    def checked(x):\n        if x < 0:\n            raise ValueError(...)\n        return x"
)


def _fail_where(where: Any, error: Exception) -> None:
    failing(where, error, user_source())


def _is_checked(held: Any, error: BaseException) -> bool:
    if not isinstance(error, Exception) or not is_handled(type(error)):
        return False
    failing(np.logical_not(np.all(held)), error, user_source())
    return True


def _is_checked_op(op: Op, error: type[BaseException]) -> bool:
    made = op.kind.succeeds(op) if is_handled(error) and can_hold_back() else None
    if made is None or type(made[1]) is not error:
        return False
    held, raised = made
    failing(np.logical_not(tracer(held)), raised, op.source)
    return True


hooks.is_checked_op = _is_checked_op
hooks.with_checks = with_checks
hooks.check_unread = check_unread
hooks.fail_where = _fail_where
hooks.is_checked = _is_checked
