"""Whether iterations of a loop touch the same elements, as far as affine forms can tell.

Loops of the roles ``map`` and ``reduce`` promise that iterations hand on nothing but sums.  The
promise is made where loops are written, and passes rely on it.  What contradicts it for certain is
found here; indices with quotients, computed places and guarded reads are not decided.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from autojit.codegen.loop_ir.nodes import AccumulateInto, Buffer, Load, Loop, Store
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.ir.core.affine import Affine, Quotient, Var

_READ, _ADDED, _STORED = 1, 2, 4
_KINDS = {Load: _READ, AccumulateInto: _ADDED, Store: _STORED}


def meet(loop: Loop, *, adding: bool = True) -> Buffer | None:
    """A buffer of which one iteration surely writes an element that another one reads or writes,
    at indices that move with the loop.

    Iterations that add to the same element meet only where ``adding`` is to be told, too.

    >>> from autojit.codegen import affine
    >>> from autojit.codegen.loop_ir.nodes import Scalar
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
    for s in walk(loop.body):
        if isinstance(s, (AccumulateInto, Load, Store)) and getattr(s, "guard", None) is None:
            step = _step(s.index, loop.var)
            if step:
                key = memory(s.buffer), s.index.terms, s.index.constant % step
                constant = s.index.constant
                places[key][constant] = places[key].get(constant, 0) | _KINDS[type(s)]
    for (buffer, terms, _), found in places.items():
        if len(found) > 1:
            step = _step(Affine(0, terms), loop.var)
            if _is_near(found, extent * step, adding):
                return buffer
    return None


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
    if any(isinstance(atom, Quotient) for atom, _ in index.terms):
        return 0
    return abs(dict(index.terms).get(var, 0))
