"""Garbage collection while programs are built, which creates many objects and little garbage.

Python looks for cycles after every 700 new objects, and through all objects whenever their number
has grown by a quarter.  For a gradient of 10,000 operations that takes longer than everything else.
Objects left at the end are marked as old without being examined; examining them took a twentieth of
the time to build a gradient of ten operations.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from .locks import Lock

#: The collector's thresholds: new objects, and its own turns (``gc``).
SELDOM = (100_000, 20, 20)

_lock = Lock()
_depth = 0
_before = gc.get_threshold()


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collect garbage less often inside of the block, in all threads."""
    global _depth, _before
    with _lock:
        _depth += 1
        if _depth == 1:
            _before = gc.get_threshold()
            gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _age()
                gc.set_threshold(*_before)


def _age() -> None:
    """Mark all objects as old, unless the user has frozen some (``gc.freeze``)."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
