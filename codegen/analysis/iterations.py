"""Whether iterations of a loop touch the same elements, as far as affine forms can tell.

Loops of the roles ``map`` and ``reduce`` promise that iterations hand on nothing but sums.  The
promise is made where loops are written, and passes rely on it.  What contradicts it for certain is
found here; indices with quotients, computed places and guarded reads are not decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from autojit.codegen.loop_ir.effects import EFFECTS, Access
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine, Var

_READ, _ADDED, _STORED = 1, 2, 4


def meet(loop: Loop, *, adding: bool = True) -> Buffer | None:
    """A buffer of which one iteration surely writes an element that another one reads or writes,
    at indices that move with the loop.

    Iterations that add to the same element meet only where ``adding`` is to be told, too.

    >>> from autojit.ir.core import affine
    >>> from autojit.codegen.loop_ir.nodes import Load, Store
    >>> from autojit.codegen.loop_ir.values import Scalar
    >>> i, y = Var(8), Buffer("y", "f64", 9, "temp")
    >>> s = Scalar(0, "f64", 1, None)
    >>> here, after = affine.of(i), affine.of(i) + 1
    >>> meet(Loop(i, 0, 8, [Load(s, y, here, None), Store(y, here, s)], "map"))
    >>> meet(Loop(i, 0, 8, [Load(s, y, here, None), Store(y, after, s)], "map"))
    y
    """
    extent = loop.stop - loop.start
    #: By buffer and by what else is in the index: the constants, and which of them are written.
    places: dict[Any, dict[int, int]] = defaultdict(dict)
    for access, kind in _elements(loop.body):
        index = access.index
        step = _step(index, loop.var)
        if step:
            of_place = places[memory(access.buffer), index.terms, index.constant % step]
            of_place[index.constant] = of_place.get(index.constant, 0) | kind
    for (buffer, terms, _), found in places.items():
        if len(found) > 1:
            step = _step(Affine(0, terms), loop.var)
            if _is_near(found, extent * step, adding):
                return buffer
    return None


def _elements(body: list[Any]) -> Iterator[tuple[Access, int]]:
    """Where statements surely touch single elements, and what they do there."""
    for s in walk(body):
        e = EFFECTS[type(s)]
        for kind, found in (_READ, e.reads), (_ADDED, e.updates), (_STORED, e.writes):
            for access in found(s):
                if access.is_exact and access.guard is None and access.low == access.high == 0:
                    yield access, kind


def _is_near(found: dict[int, int], reach: int, adding: bool) -> bool:
    """Whether a place that is written is less than so far from another one."""
    return any(
        b - a < reach and _is_conflict(found[a] | found[b], adding)
        for a, b in pairwise(sorted(found))
    )


def _is_conflict(kinds: int, adding: bool) -> bool:
    return bool(kinds & _STORED) or (kinds == _READ | _ADDED) or (adding and kinds == _ADDED)


def _step(index: Affine, var: Var) -> int:
    """How far an index moves with a loop; 0 if it does not, or is not decided."""
    return abs(index.coefficient(var)) if index.is_linear else 0
