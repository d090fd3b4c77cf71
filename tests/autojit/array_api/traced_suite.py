"""A plugin of pytest for `array-api-tests`: each test runs in a trace of its own.

In a trace `autojit.array_api` makes traced arrays, so whatever a test makes, draws, compares and
assigns is one.  The trace is that of ``grad(f)(x)`` without ``jit``: its values are at hand.

The suite reads its special cases from the text of the standard, but not the notes that allow a
second value.  The plugin reads them too: such a case passes with either value, and with no other.
CONTRIBUTING.md has the command.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from autojit.tracing.context import new_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.known import Inputs, Known

#: The value that a note of the standard allows beside the one of the case.
NOTE = re.compile(r"libraries may return ``([^`]+)`` to match Python behavior")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    hooks.load()
    with new_trace() as trace:
        trace.builder.known = Known(trace, [], [], Inputs([], False))
        return (yield)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    params = [item.callspec.params for item in items if hasattr(item, "callspec")]
    cases = {id(found["case"]): found["case"] for found in params if "case" in found}
    for case in cases.values():  # several tests share a case
        allowed = allowed_by_note(case.raw_case or "")
        if allowed is not None:
            case.check_result = either(case.check_result, allowed)


def allowed_by_note(case: str) -> float | None:
    """The second value that the text of a special case allows; None if there is none."""
    found = NOTE.search(case)
    return None if found is None else float(found[1])


def either(check: Callable[..., bool], allowed: float) -> Callable[..., bool]:
    """A check that also accepts the allowed value as the last argument, the result."""

    def checked(*values: float) -> bool:
        result = values[-1]
        same = math.isnan(result) if math.isnan(allowed) else result == allowed
        return same or check(*values)

    return checked
