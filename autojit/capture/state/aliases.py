"""Arrays that may be the same array, or not: names that a block has bound to one or another.

In Python a result of a block may be an array from outside it, and two results may be one array.
Whether they are is known only when the code runs. So each of them is used freely until one is
changed in place; from then on, the arrays that may be the same as that one are refused.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autojit.capture.rewriting.plain import LEFT, UNBOUND
from autojit.errors import InPlaceError, raised
from autojit.ir.core.program import Value
from autojit.protocols.kinds import is_boxed, note_kinds
from autojit.staging.trace_function import LeafType
from autojit.tracing.aliasing import FOREIGN, Uncertain, is_kept, peers, relate
from autojit.tracing.blocks import here, is_around, original
from autojit.tracing.context import Trace, current_trace
from autojit.tracing.created_arrays import FreshArray, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

from .kept import Kept
from .origins import Origin, Origins, Slot, in_order
from .state import zeros_like


def origins(leaf: Any, trace: Trace, inputs: Mapping[int, Slot]) -> Origins:
    """The arrays that a leaf may be at the end of a block; none for numbers, which do not change.

    ``inputs`` are the arrays that a step gets, by their identities.
    """
    found = _origin(leaf, trace, inputs)
    if found is None:
        return ()
    if found.kind != "made" or found.array is None:
        return (found,)
    others = (_origin(y, trace, inputs) for y in peers(found.array) if y is not FOREIGN)
    foreign = [_FOREIGN for y in peers(found.array) if y is FOREIGN]
    return found, *(o for o in others if o is not None), *foreign


def _origin(leaf: Any, trace: Trace, inputs: Mapping[int, Slot]) -> Origin | None:
    if type(leaf) is FreshArray:
        maker = leaf.memory and leaf.memory.maker
        if maker is trace.builder:
            return Origin("made", id(leaf.memory))
        leaf = _traced(leaf) if is_around(maker) else leaf
    leaf = bare(leaf)
    if isinstance(leaf, Tracer):
        return None if leaf.is_scalar else _of_tracer(leaf, trace, inputs)
    if not isinstance(leaf, np.ndarray):
        return None
    while isinstance(leaf.base, np.ndarray):
        leaf = leaf.base
    return Origin("outside", id(leaf), FOREIGN)


def _traced(leaf: FreshArray) -> Any:
    """A created array as a traced one, so that its changes are seen; the array itself if it cannot
    be traced."""
    mark = len(raised.errors or ())
    try:
        return hooks.traced(leaf)
    except InPlaceError:
        del (raised.errors or [])[mark:]
        return leaf


def _of_tracer(leaf: Tracer, trace: Trace, inputs: Mapping[int, Slot]) -> Origin:
    while leaf.base is not None and not isinstance(leaf.how, Uncertain):
        leaf = leaf.base
    if id(leaf) in inputs:
        return Origin("input", inputs[id(leaf)])
    first = original(leaf)
    if first is leaf and leaf.owner is trace:
        return Origin("made", id(leaf), leaf)
    return Origin("outside", id(first), first)


_FOREIGN = Origin("outside", id(FOREIGN), FOREIGN)


def relate_all(
    pairs: Iterable[Any], arrays: Mapping[Slot, Tracer], outside: Mapping[int, Any]
) -> None:
    """Note in the current trace that arrays of slots may be those of other slots, or arrays from
    outside, and whatever these may be in turn."""
    found: list[tuple[Tracer, list[Any]]] = []
    for a, b in in_order(pairs, arrays, outside):
        if b in arrays:
            found.append((arrays[a], [arrays[b]]))
        else:
            other = outside[b]
            same = [] if other is FOREIGN else list(peers(here(other)))
            found.append((arrays[a], [other if other is FOREIGN else here(other), *same]))
    for x, others in found:
        relate(x, others)


# -- results ----------------------------------------------------------------------------


def results_of(
    results: Sequence[Value], types: Sequence[LeafType], leaves: Sequence[Sequence[Any]]
) -> list[Tracer]:
    """The results of a block's op as the user sees them; ``leaves`` are their values at the end of
    each way through the block."""
    trace = current_trace()
    assert trace is not None
    made = [Tracer(v, trace, t.weak) for v, t in zip(results, types, strict=True)]
    for number, found in enumerate(made):
        if not found.shape:
            found.boxed = any(is_boxed(way[number]) for way in leaves)
        found.kept = any(is_copied(way[number]) for way in leaves)
    for number, found in enumerate(made):
        note_kinds(found, [way[number] for way in leaves])
    return made


def is_copied(leaf: Any, outside: Container[int] = ()) -> bool:
    """Whether a list holds a copy of an array, which therefore may not change. ``outside`` has the
    identities of arrays of which a block has put copies into lists."""
    leaf = bare(leaf)
    if not isinstance(leaf, Tracer):
        return False
    while leaf.base is not None:
        leaf = leaf.base
    return is_kept(leaf) or id(original(leaf)) in outside


# -- values that nobody reads -------------------------------------------------------------


def read_where_left(values: list[Any], traces: Sequence[Trace], *, is_internal: bool) -> list[Any]:
    """The values of one name on two ways. If the function has been left on one of them, the other
    value is that of both, as far as no way has made it."""
    left = [v is LEFT for v in values]
    if not any(left) or all(left):
        return values
    value = values[left.index(False)]
    if value is UNBOUND and is_internal:
        return [LEFT for _ in values]
    return [_of_other(value, traces) if is_left else v
            for v, is_left in zip(values, left, strict=True)]  # fmt: skip


def _of_other(value: Any, traces: Sequence[Trace]) -> Any:
    if type(value) is tuple:
        return tuple([_of_other(each, traces) for each in value])
    x = bare(value)
    is_made = isinstance(x, Tracer) and any(x.owner is trace for trace in traces)
    if type(value) is Kept or (np.ndim(x) if isinstance(x, (Tracer, np.ndarray)) else False):
        return value if not is_made else zeros_like(value)
    return without_value(value)


def without_value(value: Any) -> Any:
    """A value with zeros in place of its numbers, for a way on which nobody reads it."""
    if type(value) is tuple:
        return tuple(map(without_value, value))
    return value if value is UNBOUND or type(value) is Kept else zeros_like(value)
