"""Locks that survive ``fork``.

A child has the memory of its parent and only the thread that forked: a lock that another thread
held is held for ever.  So a child gets all of these anew, and what one of them protects is written
so that a thread that is gone leaves nothing half done (one item of a dict at a time).

Python's own locks of modules that are being imported are no such locks, and modules are imported
here as they are asked for, in whatever thread that is: a fork waits for them.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

#: Modules that functions here import, and so perhaps one thread does while another forks.  An
#: import of something else may be a whole application, which ends when it does.
_IMPORTED = sys.stdlib_module_names.union(
    ("autojit", "llvmlite", "networkx", "numba", "numpy", "optree", "platformdirs", "scipy")
)
#: For how many seconds a fork waits for imports: each ends, unless it waits for the thread that
#: forks.
_PATIENCE = 10.0
#: Seconds in which another thread gets its turn.
_TURN = 0.0005


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


def _others_import() -> bool:
    """Whether another thread is importing a module that a child would wait for, for ever.

    Whose lock is whose, Python keeps to itself; where it does so in another way some day, nothing
    is waited for.
    """
    locks = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})
    held = [lock for name, lock in list(locks.items()) if name.split(".")[0] in _IMPORTED]
    me = threading.get_ident()
    return any(getattr(lock(), "owner", None) not in (None, me) for lock in held)


_stops: list[tuple[Callable[[], None], Callable[[], None]]] = []
#: What forks that are going on have to call afterwards.
_after: list[Callable[[], None]] = []


def stop_at_fork(stop: Callable[[], None], go_on: Callable[[], None]) -> None:
    """Have forks call the one function before, and the other one after, in parent and child."""
    _stops.append((stop, go_on))


def _before_fork() -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        # Before anything is taken that an import may need.
        while _others_import() and time.monotonic() < until:
            time.sleep(_TURN)
        for stop, go_on in list(_stops):
            stop()
            _after.append(go_on)
        if threading.active_count() == 1:
            return
        # Other threads went on while those were waited for.  One that has just had its turn does
        # not get the next one within five milliseconds, and so not between here and the fork.
        time.sleep(_TURN)
        if not _others_import() or time.monotonic() > until:
            return
        _after_fork()


def _after_fork() -> None:
    # Release no more than was held: another thread that forks goes on with the first that is free.
    mine = _after[::-1]
    _after.clear()
    for go_on in mine:
        go_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
    os.register_at_fork(after_in_child=_renew)
