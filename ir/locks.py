"""Locks that survive ``fork``.

A child has the memory of its parent and only the thread that forked: a lock that another thread
held is held for ever.  So a child gets all of these anew, and what one of them protects is written
so that a thread that is gone leaves nothing half done (one item of a dict at a time).
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet


class Lock:
    """A lock that one thread may take several times, and that is free in a child of ``fork``.

    ``with lock.current`` is the same without a call of Python's.
    """

    __slots__ = ("__weakref__", "current")

    def __init__(self) -> None:
        self.current = threading.RLock()
        _all.add(self)

    def __enter__(self) -> None:
        self.current.acquire()

    def __exit__(self, *error: Any) -> None:
        self.current.release()

    def renew(self) -> None:
        self.current = threading.RLock()


_all: WeakSet[Lock] = WeakSet()


def _renew() -> None:
    for lock in list(_all):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
