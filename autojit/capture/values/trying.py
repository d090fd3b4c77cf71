"""The ``try`` statements that are being run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Local(threading.local):
    depth = 0


_local = _Local()


@contextmanager
def inside_try() -> Iterator[None]:
    """A context in which a ``try`` is run."""
    _local.depth += 1
    try:
        yield
    finally:
        _local.depth -= 1


def is_inside_try() -> bool:
    """Whether a ``try`` is being run."""
    return _local.depth > 0
