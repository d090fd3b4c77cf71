"""What transformations made of programs, so that ``grad(f)(x)`` without ``jit`` only traces.

Transformations are pure: for a program of the same structure, name and lines of the user's
the result is the same, but for the arrays that were closed over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Program
from autojit.ir.passes.reroll.tables import Stacked

from .progress import stage

T = TypeVar("T")

#: How many operations are kept in programs; those used longest ago go first.
MOST_OPS = 200_000

_made: OrderedDict[Any, Any] = OrderedDict()
_ops = 0
_lock = Lock()
_source = attrgetter("source")


def cached_transform(
    transform: Callable[..., T], program: Program, *args: Any, **settings: Any
) -> T:
    """``transform(program, *args, **settings)``: a program, or a named tuple with some in it."""
    numbered = program.bound_to(range(len(program.captured)))
    lines = tuple(map(_source, program.ops))
    # Programs are equal whatever they captured, and one may have captured what another is given.
    bound = len(program.captured)
    key = (transform, args, *settings.items(), program.name, lines, bound, numbered)
    with _lock:
        made = _made.get(key)
        if made is not None:
            _made.move_to_end(key)
    if made is None:
        words = "transforming", program.name, lambda: len(program.ops)
        with seldom_collected(), stage(*words):
            made = transform(numbered, *args, **settings)
        _keep(key, made)
    return _bound(made, program.captured)


def clear() -> None:
    """Drop all that is kept, for tests that change rules."""
    global _ops
    with _lock:
        _made.clear()
        _ops = 0


def _keep(key: Any, made: Any) -> None:
    global _ops
    with _lock:
        if _made.setdefault(key, made) is not made:
            return  # another thread was faster
        _ops += _size(key, made)
        while _ops > MOST_OPS:
            _ops -= _size(*_made.popitem(last=False))


def _size(key: Any, made: Any) -> int:
    programs = [key[-1], made] if isinstance(made, Program) else [key[-1], *made]
    return sum(len(p.ops) for p in programs if isinstance(p, Program))


def _bound(made: Any, captured: Sequence[Any]) -> Any:
    """What was made, with arrays for their numbers; others it has captured by itself."""
    if isinstance(made, Program):
        return made.bound_to([_thing(c, captured) for c in made.captured])
    if isinstance(made, tuple):
        items = [_bound(item, captured) if isinstance(item, Program) else item for item in made]
        return type(made)(*items)
    return made


def _thing(c: Any, captured: Sequence[Any]) -> Any:
    """What stands for a number, for a table of things with numbers, or for itself."""
    if type(c) is int:
        return captured[c]
    return np.stack([captured[i] for i in c.places]) if isinstance(c, Stacked) else c
