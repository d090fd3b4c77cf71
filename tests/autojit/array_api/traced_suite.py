"""A plugin of pytest for `array-api-tests`: each test runs in a trace of its own.

In a trace `autojit.array_api` makes traced arrays, so whatever a test makes, draws, compares and
assigns is one.  The trace is that of ``grad(f)(x)`` without ``jit``: its values are at hand.
CONTRIBUTING.md has the command.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autojit.tracing.context import new_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.known import Known


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    hooks.load()
    with new_trace() as trace:
        trace.builder.known = Known(trace, [], [], False)
        return (yield)
