"""Cached results of transformations, so that ``grad(f)(x)`` without ``jit`` only traces.

A transformation is a pure function of the program's structure, its name and the user's lines.
Programs with the same key differ only in captured arrays and device requests; these are put back
into the result.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Program
from autojit.ir.passes.reroll.tables import Stacked

from .progress import stage

T = TypeVar("T")

#: The most operations that cached programs have together, 0.5 to 1 KB each; the least recently used
#: go first. The gradient of a chain of 100,000 operations, and the programs that it is made from,
#: have 700,000.
MOST_OPS = 1_000_000


class _Unused(threading.local):
    depth = 0


_unused = _Unused()


@contextmanager
def unused() -> Iterator[None]:
    """A context in which this thread transforms all programs anew, and keeps none: for watching the
    passes, or measuring how long they take."""
    _unused.depth += 1
    try:
        yield
    finally:
        _unused.depth -= 1


_made: OrderedDict[Any, Any] = OrderedDict()
_ops = 0
_lock = Lock()
_source = attrgetter("source")


def cached_transform(
    transform: Callable[..., T], program: Program, *args: Any, **settings: Any
) -> T:
    """``transform(program, *args, **settings)``, from the cache if it has been computed before.

    The result is a program, or a named tuple that holds programs.
    """
    numbered = program.bound_to(range(len(program.captured)))
    lines = tuple(map(_source, program.ops))
    # Equality of programs ignores captures: one may capture an array that another takes as operand.
    bound = len(program.captured)
    key = (transform, args, *settings.items(), program.name, lines, bound, numbered)
    with _lock:
        made = None if _unused.depth else _made.get(key)
        if made is not None:
            _made.move_to_end(key)
    if made is None:
        words = "transforming", program.name, lambda: len(program.ops)
        with seldom_collected(), stage(*words):
            made = transform(numbered, *args, **settings)
        _pass_on(program.irregular, made)
        if not _unused.depth:
            _keep(key, made)
    return _bound(made, program.captured, program.devices)


def clear() -> None:
    """Empty the cache, for tests that change rules."""
    global _ops
    with _lock:
        _made.clear()
        _ops = 0


def _keep(key: Any, made: Any) -> None:
    global _ops
    with _lock:
        if _made.setdefault(key, made) is not made:
            return  # another thread was first
        _ops += _size(key, made)
        while _ops > MOST_OPS:
            _ops -= _size(*_made.popitem(last=False))


def _size(key: Any, made: Any) -> int:
    programs = [key[-1], made] if isinstance(made, Program) else [key[-1], *made]
    bodies = {id(p.ops): len(p.ops) for p in programs if isinstance(p, Program)}
    return sum(bodies.values())  # a program that did not change counts once


def _bound(made: Any, captured: Sequence[Any], devices: tuple[Any, ...]) -> Any:
    """The result with the program's captured arrays in place of their numbers, and on its
    device."""
    if isinstance(made, Program):
        bound = made.bound_to([_thing(c, captured) for c in made.captured])
        bound.devices = devices
        return bound
    if isinstance(made, tuple):
        items = [
            _bound(item, captured, devices) if isinstance(item, Program) else item for item in made
        ]
        return type(made)(*items)
    return made


def _pass_on(irregular: int, made: Any) -> None:
    """Note that programs made from one without repetitions have none."""
    for part in (made,) if isinstance(made, Program) else made if isinstance(made, tuple) else ():
        if irregular and isinstance(part, Program):
            part.irregular = len(part.ops)


def _thing(c: Any, captured: Sequence[Any]) -> Any:
    """The captured array of a number, the table of several, or one of the result's own arrays."""
    if type(c) is int:
        return captured[c]
    return np.stack([captured[i] for i in c.places]) if isinstance(c, Stacked) else c
