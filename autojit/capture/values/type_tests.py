"""Tests of the types of variables that a loop carries: the answer must hold in each step.

    x = 0
    while x < 9:
        if isinstance(x, int): …           # true in the first step only
        x = x + 0.5

In compiled code the variable is a float in all steps. A test whose answer would differ from step to
step is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autojit.capture.state.state import tree_of
from autojit.errors import CaptureError, with_place
from autojit.protocols.kinds import kinds_of
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer


def note_test(x: Any, test: Callable[[type], Any]) -> None:
    """Note that the user's code tests the type of a traced number. Raise CaptureError if the answer
    depends on the way through a branch."""
    if not isinstance(x, Tracer) or x.shape:
        return
    at = user_source()
    x.owner.type_tests.append((x.value, test, hooks.type_of(x), at))
    kinds = sorted(kinds_of(x), key=lambda kind: kind.__name__)
    for kind in kinds[1:]:
        if test(kind) != test(kinds[0]):
            words = _DIFFERS.format(kinds[0].__name__, kind.__name__)
            raise CaptureError(with_place(words, at))


_DIFFERS = (
    "The type of a variable is tested that a traced condition or a loop decides: it is {} on one "
    "way, and {} on another. Give it one type:\n"
    "    y = 0.0 if x > 1 else x            # not: y = 0 if x > 1 else x\n"
    "    x = 0.0                            # not: x = 0, then x = x + 0.5 in a loop"
)


def check_tests(block: Any, carries: Mapping[Any, Any], ends: Mapping[Any, Any]) -> None:
    """Raise CaptureError if a body tests the type of a carry, and the answer is not the same for
    the value before the loop and the one at the end of a step."""
    tested = block.trace.type_tests
    start = 1
    for carry in (c for c in carries.values() if c.read):
        inputs = block.inputs[start : start + len(carry.types)]
        start += len(inputs)
        for j, value in enumerate(inputs):
            tests = [found for of, *found in tested if of is value]
            if tests:
                _check_carry(carry, j, tests, ends.get(carry.key.identity))


def _check_carry(carry: Any, j: int, tests: list[Any], end: Any) -> None:
    first = tree_of(carry.first).arrays[j]
    leaves = [first]
    if end is not None:
        arrays = tree_of(end[1]).arrays
        leaves += arrays[j : j + 1] if len(arrays) == len(carry.types) else []
    kinds = sorted(set().union(*map(kinds_of, leaves)), key=lambda kind: kind.__name__)
    for test, settled, at in tests:
        for kind in kinds:
            if test(kind) != test(settled):
                words = _DIFFERS.format(kind.__name__, settled.__name__)
                raise CaptureError(with_place(words, at))
        if isinstance(first, Tracer):  # which an outer loop may carry
            first.owner.type_tests.append((first.value, test, settled, at))
