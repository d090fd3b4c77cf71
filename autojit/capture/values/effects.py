"""The changes that a function makes to what it does not return, as values.

A function that calls itself is run several times for a frame (see ``capture.frames``). So each run
begins with the arrays, attributes and variables as the call found them, and a recursive call gives
back the ones that it leaves. Numbers in attributes, lists, dicts and variables of outer functions
are places of the heap. Arrays from outside, and arguments, are assigned in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.state.heap import Place
from autojit.capture.state.kept import Same
from autojit.capture.state.kinds import Elements, joined_elements
from autojit.capture.state.maybe import BUCKETS, ENTRIES, KNOWN, has_table
from autojit.capture.state.resized import tabulate
from autojit.capture.state.sharing import containers
from autojit.capture.state.state import Before
from autojit.capture.state.stretch import stretch_in
from autojit.protocols.lifting import as_value, tracer
from autojit.staging import pytrees
from autojit.tracing.aliasing import FOREIGN, peers
from autojit.tracing.blocks import here, original
from autojit.tracing.context import Trace, current_trace
from autojit.tracing.created_arrays import FreshArray, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

#: The most entries that the calls of a recursion make in a table.
TABLE = 1 << 16

# Why a recursion cannot be a loop.
CALLED_WITHIN = (
    "The depth of the recursion of `{name}` depends on a traced value, and a recursive call is "
    "in the condition of a loop, in a comprehension, or in another function. Make the call a "
    "statement of its own:\n"
    "    rest = {name}(n - 1)"
)
CALLED_IN_A_LOOP = (
    "The depth of the recursion of `{name}` depends on a traced value, and a recursive call is "
    "in a loop that is compiled as a loop. Loop over a known range, so that the loop is unrolled."
)
CHANGES_LISTS = (
    "The depth of the recursion of `{name}` depends on a traced value, and `{name}` changes a list "
    "that it is given, the length of a list, an object that is no number, or a result of a call of "
    "itself. Arrays, and numbers in lists, attributes and outer variables may change. Keep numbers "
    "in an array:\n"
    "    found = np.zeros(100)              # not: found = []\n"
    "    found[count] = n; count += 1       # not: found.append(n)"
)
MAY_BE_ANOTHER = (
    "The depth of the recursion of `{name}` depends on a traced value, and `{name}` changes an "
    "array in place that may be another array as well: it is passed twice, is a view or a variable "
    "of an outer function, or is returned. Return nothing, and pass the whole array and the place "
    "of the part:\n"
    "    {name}(a, low, high)               # not: return {name}(a[low:high])"
)
NO_TABLE = (
    "The depth of the recursion of `{name}` depends on a traced value, and `{name}` is under "
    "functools.lru_cache, but has arguments that are not integers. Compiled code keeps results "
    "only by integers, and without them it may take exponentially many calls. Let the other "
    "arguments be variables of an outer function:\n"
    "    def f(n, x):\n"
    "        @lru_cache\n"
    "        def {name}(n): ...             # which uses x\n"
    "        return {name}(n)\n"
    "or leave out the cache."
)
LARGE_STACK = (
    "The depth of the recursion of `{name}` depends on a traced value, and a stack of its "
    "arguments and results takes more than 256 MB. Arguments that do not change can be variables "
    "of an outer function instead."
)


class Effects(NamedTuple):
    """What a function changes: places with numbers, arrays from outside, and arguments, by their
    number among the arrays and numbers of all arguments."""

    places: tuple[Place, ...] = ()
    arrays: tuple[Tracer, ...] = ()
    arguments: tuple[int, ...] = ()
    #: Dicts at traced keys, which all calls share: each call knows some of their entries.
    tables: tuple[dict[Any, Any], ...] = ()

    def now(self) -> list[Any]:
        """The values of the places and of the arrays from outside."""
        return [*(place.get() for place in self.places), *map(copied, self.arrays)]

    def put(self, values: Sequence[Any]) -> None:
        """Set the places and the arrays from outside."""
        count = len(self.places)
        for place, value in zip(self.places, values[:count], strict=True):
            place.set(value)
        for x, value in zip(self.arrays, values[count:], strict=True):
            x[...] = value

    def of_arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """The values of the arguments that it changes."""
        return [copied(leaves[number]) for number in self.arguments]

    def put_arguments(self, leaves: Sequence[Any], values: Sequence[Any]) -> None:
        """Set the arrays that were passed as these arguments."""
        for number, value in zip(self.arguments, values, strict=True):
            leaves[number][...] = value

    def traced(self, leaves: Sequence[Any]) -> list[Any]:
        """Arguments; arrays that are changed, and that the traced function has created, as traced
        ones."""
        found = list(leaves)
        for number in self.arguments:
            if type(found[number]) is FreshArray:
                found[number] = hooks.traced(found[number])
        return found

    def has(self, place: Place) -> bool:
        """Whether it has a place."""
        return any(p.container is place.container and p.key == place.key for p in self.places)

    def saved(self) -> list[Any]:
        """The present objects, for `restore`."""
        return [*(p.get() for p in self.places), *(here(x).own for x in self.arrays)]

    def restore(self, saved: Sequence[Any]) -> None:
        """Undo all changes since `saved`."""
        count = len(self.places)
        for place, value in zip(self.places, saved[:count], strict=True):
            place.set(value)
        for x, own in zip(self.arrays, saved[count:], strict=True):
            here(x).own = own

    def are_apart(self, bound: Any, leaves: Sequence[Any], inside: Trace | None) -> bool:
        """Whether no argument that it changes may be another one, and none is something else that
        it changes. With ``inside``, each array that it changes is an argument of the run in that
        trace, or was made in it."""
        roots = [_root(leaf) for leaf in leaves if np.ndim(leaf)]
        for number in self.arguments:
            x, root = bare(leaves[number]), _root(leaves[number])
            if not isinstance(x, Tracer) or any(y.lost or list(peers(here(y))) for y in (x, root)):
                return False
            if sum(other is root for other in roots) > 1:
                return False
            if inside is not None and not _lies_inside(root.owner, inside):
                return False
        lists = {id(x) for _, x in containers(bound)}
        if any(id(place.container) in lists for place in self.places):
            return False
        return not any(root is original(x) for root in roots for x in self.arrays)

    def are_read(self, leaves: Sequence[Any], block: Trace) -> bool:
        """Whether a block reads an argument that the function changes, from outside."""
        seen = [_root(x) for x, _ in block.stand_ins.values()]
        return any(_root(leaves[number]) is x for number in self.arguments for x in seen)

    def may_be(self, leaf: Any, leaves: Sequence[Any]) -> bool:
        """Whether an array may be one that it changes."""
        if not np.ndim(leaf):
            return False
        changed = [_root(x) for x in (*self.arrays, *(leaves[k] for k in self.arguments))]
        x = bare(leaf)
        others = peers(here(x)) if isinstance(x, Tracer) else ()
        found = [_root(leaf), *(_root(y) for y in others if y is not FOREIGN)]
        return any(a is b for a in found for b in changed)

    def with_shared(self, bound: tuple[Any, ...]) -> Any:
        """The arguments of a call, with its tables as leaves."""
        if not self.tables:
            return bound
        args, kwargs = bound
        return tuple(map(self._shared, args)), {k: self._shared(x) for k, x in kwargs.items()}

    def _shared(self, x: Any) -> Any:
        return Same(x) if any(x is d for d in self.tables) else x

    def check_tables(self, bound: Any, copies: Sequence[tuple[Any, Any]]) -> None:
        """Raise Tabulated if the function has made tables of dicts among its arguments."""
        made = [(d, first) for d, first in copies if has_table(d)]
        if made:
            raise Tabulated([(first, stretch_in(d[ENTRIES]).elements) for d, first in made])

    def check_entries(self, before: Before) -> None:
        """Raise Tabulated if the function changes other tables, or puts other types into them."""
        tables = [(d, held) for d, held in before.heap.held.values() if has_table(d)]
        found = [d for d, held in tables if self._is_new(d, held, before)]
        if found:
            raise Tabulated([(d, stretch_in(d[ENTRIES]).elements) for d in found])

    def _is_new(self, d: dict[Any, Any], held: dict[Any, Any], before: Before) -> bool:
        if not has_table(held):
            return True
        (first,), now = before.heap.held[id(d[ENTRIES])][1], stretch_in(d[ENTRIES])
        if any(d is x for x in self.tables):
            return bool(first.elements != now.elements)
        return first is not now or d[BUCKETS] is not held[BUCKETS]

    def is_entry(self, place: Place) -> bool:
        """Whether a place belongs to a table."""
        return any(place.container is x for d in self.tables for x in (d, d[ENTRIES]))


class Tabulated(BaseException):
    """A function that calls itself uses dicts as tables, or puts other types into them."""

    def __init__(self, tables: Sequence[tuple[dict[Any, Any], Elements]]) -> None:
        super().__init__()
        self._tables = tables

    def begun(self, effects: Effects, tables: list[Any]) -> Effects:
        """What the function changes, with these tables, which now keep all entries. ``tables`` gets
        them."""
        for d, elements in self._tables:
            tabulate(d, elements)
            s = stretch_in(d[ENTRIES])
            d[ENTRIES][:] = [s.converted(joined_elements([s.elements, elements]))]
            if KNOWN not in d:
                tables.append(d)
                _begin_calls(d)
                effects = effects._replace(
                    tables=(*effects.tables, d), places=(*effects.places, Place(d, KNOWN))
                )
        return effects


def _begin_calls(d: dict[Any, Any]) -> None:
    """Keep all entries that the calls make: a call that is run again must find the table as it was
    when it began."""
    s = stretch_in(d[ENTRIES]).limited(TABLE)
    d[ENTRIES][:] = [s]
    d[KNOWN] = s.count, s.count


def copies_of(filled: Any, bound: Any) -> list[tuple[Any, Any]]:
    """The dicts among the arguments of a run, each with the one that was passed."""
    mine, others = dict(containers(filled)), dict(containers(bound))
    return [(x, others[path]) for path, x in mine.items() if isinstance(x, dict) and path in others
            and x is not others[path]]  # fmt: skip


def copied(x: Any) -> Any:
    """A value that later changes of an array do not reach."""
    if not np.ndim(x):
        return x
    return tracer(as_value(here(x) if isinstance(x, Tracer) else x))


def is_number(x: Any) -> bool:
    """Whether a place can be an argument of each call."""
    return pytrees.is_array(x) and not np.ndim(x)


def _root(leaf: Any) -> Any:
    x = bare(leaf)
    while isinstance(x, Tracer) and x.base is not None:
        x = x.base
    return original(x) if isinstance(x, Tracer) else x


def _lies_inside(owner: Trace, inside: Trace) -> bool:
    """Whether a trace is that of a run, or of a block in it."""
    trace = current_trace()
    while trace is not None and trace is not inside.around:
        if trace is owner:
            return True
        trace = trace.around
    return False
