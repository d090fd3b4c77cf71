"""StopIteration that leaves a generator function, which Python makes a RuntimeError (PEP 479)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from autojit.tracing.handlers import handler_line

_WORDS = "generator raised StopIteration"


class _Local(threading.local):
    def __init__(self) -> None:
        #: For what runs now and what runs around it, whether it is a generator function.
        self.inside: list[bool] = []
        #: The exceptions that have come from the consumer of a generator.
        self.of_consumers: list[StopIteration] = []


_local = _Local()


def of_generator(go: Callable[[], Any]) -> Any:
    """Run a part of a generator function."""
    _local.inside.append(True)
    try:
        return go()
    except StopIteration as error:
        if any(error is each for each in _local.of_consumers):
            raise
        raise RuntimeError(_WORDS) from error
    finally:
        _local.inside.pop()
        if not _local.inside:
            _local.of_consumers.clear()


def of_consumer(go: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The consumer of a generator, which a form of its function calls with each element."""

    def consume(value: Any) -> Any:
        _local.inside.append(False)
        try:
            return go(value)
        except StopIteration as error:
            _local.of_consumers.append(error)
            raise
        finally:
            _local.inside.pop()

    return consume


def as_it_leaves(error: StopIteration) -> Exception:
    """The exception that the user sees if compiled code raises a StopIteration here."""
    if not _local.inside or not _local.inside[-1]:
        return error
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not of_generator.__code__:
        if handler_line(frame, frame.f_lasti, StopIteration) is not None:
            return error
        frame = frame.f_back
    return RuntimeError(_WORDS)
