"""Garbage collection while programs are built: very many objects are made, and next to no garbage.

Python looks for cycles after every 700 new objects, and through all objects whenever their number
has grown by a quarter.  For a gradient of 10,000 operations that takes longer than all the rest.
What is left in the end counts as old, without a look at it: that alone took a twentieth of the time
to build a gradient of ten.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from .locks import Lock

#: How many new objects the collector waits for, and how many of its own turns (``gc``).
SELDOM = (100_000, 20, 20)

_lock = Lock()
_depth = 0
_before = gc.get_threshold()


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Inside of the block, in any thread, garbage is looked for more seldom."""
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
    """Count all objects as old ones, unless the user has frozen some (``gc.freeze``)."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
