"""Locks that survive ``fork``.

A child has the memory of its parent but only the thread that forked, so a lock that another thread
held would be held for ever. Therefore a child gets new locks, and the data they protect is changed
in single steps (one item of a dict at a time), so that a lost thread leaves nothing half done.

Python's import locks do not survive a fork in this way, and modules are imported here on demand in
any thread. So a fork waits for imports.
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
#: The seconds that a fork waits for imports. Each import ends, unless it waits for the forking
#: thread.
_PATIENCE = 10.0
#: The seconds to sleep so that another thread gets its turn.
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
    """Whether another thread is importing a module that a child would wait for forever.

    The owners of import locks are internal to Python. If a later Python stores them differently,
    the fork does not wait.
    """
    locks = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})
    held = [lock for name, lock in list(locks.items()) if name.split(".")[0] in _IMPORTED]
    me = threading.get_ident()
    return any(getattr(lock(), "owner", None) not in (None, me) for lock in held)


_stops: list[tuple[Callable[[], None], Callable[[], None]]] = []
#: The functions that forks in progress have to call afterwards.
_after: list[Callable[[], None]] = []


def stop_at_fork(stop: Callable[[], None], go_on: Callable[[], None]) -> None:
    """Have forks call ``stop`` before, and ``go_on`` after, in parent and child."""
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
