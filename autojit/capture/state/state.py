"""The changes of a block: names, places in containers, and how their values are combined.

The value of a name is a tree. Its arrays and numbers become results of the block's op; everything
else (strings, functions, None, the structure) has to be the same on each way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from autojit.capture.rewriting.context import Site
from autojit.capture.rewriting.plain import LEFT, UNBOUND
from autojit.ir.core.program import Source
from autojit.ir.pass_manager import remarks
from autojit.staging import pytrees
from autojit.staging.trace_function import leaf_type
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks

from .heap import Heap, Place, reached
from .holders import contents, is_container, is_object, is_same_content
from .kept import (
    Kept,
    Node,
    Tree,
    as_node,
    as_nodes,
    innermost,
    like,
    like_dict,
    with_attributes,
    with_innermost,
    zero,
)  # fmt: skip
from .maybe import Maybe
from .one_of import OneOf, alternatives, with_codes
from .optional import Optional, inner, with_inner
from .resized import Resized, rebound, rebound_dict, resized, tabulated
from .sharing import one_object


class Access(NamedTuple):
    """How the runtime reads and sets the names of a construct (see ``rewriting``)."""

    site: Site
    get: Callable[[], tuple[Any, ...]]
    put: Callable[[tuple[Any, ...]], None]
    seen: Callable[[], tuple[Any, ...]]
    source: Source | None
    #: The functions that are parts of the construct.
    functions: tuple[Any, ...] = ()


def note(access: Access, kind: str, reason: str, way_out: str = "") -> None:
    """Note what became of a construct: captured as a "branch" or a "loop", or "unrolled"."""
    trace, notes = current_trace(), remarks.current()
    if trace is not None and access.site.text:  # without text it is one of ours
        trace.constructs.add((kind, access.source))
    if notes is not None and reason:
        notes.add("capture", str(access.source), reason, way_out)


class Key(NamedTuple):
    """A name, or a place in a container."""

    name: str | None
    place: Place | None

    @property
    def identity(self) -> Any:
        """A hashable object that is the same for the same name or place."""
        return self.name if self.place is None else (id(self.place.container), self.place.key)

    @property
    def words(self) -> str:
        """Its name in messages."""
        if self.place is not None:
            return self.place.name
        return _NAMES.get(self.name or "", f"`{self.name}`")


#: The value of a conditional expression, as a name.
EXPRESSION = "__aj_expression"
#: Words in messages for names that are not the user's.
_NAMES = {EXPRESSION: "the value of the expression", "__aj_result": "the result of the function"}


def _number_in_list(result: tuple[Key, Any]) -> int:
    place = result[0].place
    return place.key if place is not None and isinstance(place.container, list) else -1


class Before:
    """The names and the reachable containers before a block, which can be restored."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.values = access.get()
        put = access.put
        free = put.__code__.co_freevars
        spaces = [(put.__globals__, n) for n in access.site.names if n not in free]
        roots = (*self.values, *access.seen(), *access.functions, *reached())
        self.heap = Heap(roots, put.__closure__ or (), spaces)
        self._being_frozen: list[Any] = []

    def restore(self) -> None:
        self.heap.restore()
        self.access.put(self.values)

    def is_outside(self, x: Any) -> bool:
        """Whether a list or dict was there before the block."""
        return id(x) in self.heap.held

    def of(self, key: Key) -> Any:
        """The value that a name or place held."""
        if key.place is None:
            return self.values[self.access.site.names.index(key.name or "")]
        held = self.heap.held[id(key.place.container)][1]
        return held[key.place.key]

    def changes(self, *, grow: bool = False) -> dict[Any, tuple[Key, Any]]:
        """The names and places that now hold another object, with their values.

        Raises CaptureError if containers have got or lost elements; with ``grow``, lists may have
        grown.
        """
        found: dict[Any, tuple[Key, Any]] = {}
        names = self.access.site.names
        for name, old, new in zip(names, self.values, self.access.get(), strict=True):
            if new is not old:
                found[name] = Key(name, None), new
        for place in self.heap.changes(self.access.source, grow=grow).values():
            found[id(place.container), place.key] = Key(None, place), place.get()
        return found

    def check_lengths(self, *, grow: bool) -> None:
        """Raise Resized if lists have another length than before."""
        changed, dicts, tables = (
            self.heap.resized(grow=grow), self.heap.rekeyed(), self.heap.tabulated(),
        )  # fmt: skip
        if changed or dicts or tables:
            lists = [resized(x, self.heap.held[id(x)][1]) for x in changed]
            raise Resized(lists, dicts, map(tabulated, tables))

    def appended(self) -> dict[Any, tuple[Key, Any]]:
        """The places after the former last elements of lists, with their values."""
        return {
            (id(items), number): (Key(None, Place(items, number)), value)
            for items, new in self.heap.grown().values()
            for number, value in enumerate(new, len(items) - len(new))
        }

    def assign(self, results: Sequence[tuple[Key, Any]]) -> None:
        """Set names and places; those of a list in their order, as it may be shorter."""
        values = list(self.access.get())
        for key, value in sorted(results, key=_number_in_list):
            if key.place is not None:
                key.place.set(value)
            else:
                values[self.access.site.names.index(key.name or "")] = value
        self.access.put(tuple(values))

    def frozen(self, value: Any, now: Mapping[int, Any]) -> Any:
        """A value in which lists, dicts and objects from before the block are kept with their
        contents at its end: the ones in ``now``, by identity, or else the ones from before."""
        if type(value) is OneOf and not all(map(self.is_outside, alternatives(value))):
            value = one_object(value, now)
        if is_object(value):
            return self._frozen_object(value, now)
        if isinstance(value, (list, dict)):
            held: Any = now.get(id(value), value)
            items = dict(held.items() if isinstance(value, dict) else enumerate(held))
            copied = {k: self.frozen(x, now) for k, x in items.items()}
            is_new = id(value) not in self.heap.held
            if is_new and all(copied[k] is items[k] for k in items):
                return value
            made = (
                like_dict(value, copied)
                if isinstance(value, dict)
                else like(value, copied.values())
            )
            return Kept(value, lambda: made, is_new=is_new)
        if type(value) is tuple:
            return tuple([self.frozen(x, now) for x in value])
        if type(value) in (Maybe, Optional):
            return with_inner(value, self.frozen(inner(value), now))
        return hooks.as_state(value)

    def _frozen_object(self, value: Any, now: Mapping[int, Any]) -> Any:
        def copied() -> Any:
            parts = {name: self.frozen(x, now) for name, x in held.items()}
            return with_attributes(type(value), parts)

        if id(value) in self.heap.held:  # copied on demand: it may be part of a large graph
            held = now.get(id(value), self.heap.held[id(value)][1])
            return Kept(value, copied)
        if any(x is value for x in self._being_frozen):
            return value
        held = contents(value)
        self._being_frozen.append(value)
        try:
            made = copied()
        finally:
            self._being_frozen.pop()
        is_same = all(getattr(made, name) is x for name, x in held.items())
        return value if is_same else Kept(value, lambda: made, is_new=True)

    def rebound(self, key: Key, value: Any, limit: Callable[[Any], int | None]) -> Any:
        """A list that the block binds to a name, as `resized.rebound` returns it. ``limit`` bounds
        the length of such a list, given the one that the name held before."""
        is_new = isinstance(value, (list, dict)) and id(value) not in self.heap.held
        if key.place is not None or not is_new:
            return value
        first = self.of(key)
        if isinstance(value, dict):
            return rebound_dict(value, first, self.heap.held, limit)
        known = self.heap.held.get(id(first))
        return value if known is None else rebound(value, first, known[1], limit(first))

    def contents(self) -> dict[int, Any]:
        """The present contents of the lists, dicts and objects that have changed, by their
        identities."""
        lists = [(x, held) for x, held in self.heap.held.values() if is_container(x)]
        return {id(x): contents(x) for x, held in lists if not is_same_content(x, held)}


# -- trees ------------------------------------------------------------------------------


def tree_of(value: Any) -> Tree:
    return Tree(*pytrees.flatten(as_nodes(value)))


def is_state(value: Any) -> bool:
    """Whether a value consists of arrays and numbers only."""
    if value is UNBOUND:
        return False
    leaves = tree_of(value).leaves
    return bool(leaves) and all(map(pytrees.is_array, leaves))


def with_leaders(
    pairs: Sequence[tuple[Key, Any]], leaders: Mapping[Any, Any]
) -> list[tuple[Key, Any]]:
    """Names and places with their values, of which the bounded arrays with one mask share it."""
    values = {key.identity: x for key, x in pairs}
    found = []
    for key, x in pairs:
        leader = leaders.get(key.identity, key.identity)
        is_led = leader != key.identity and leader in values
        found.append((key, hooks.sharing(x, values[leader]) if is_led else x))
    return found


def zeros_like(value: Any) -> Any:
    """A value with zeros in place of its arrays, for a way on which the name is not bound."""
    leaves, structure = tree_of(value)  # a list from before the block stays itself
    zeros = [zero(leaf_type(leaf)) if pytrees.is_array(leaf) else leaf for leaf in leaves]
    return hooks.as_state(pytrees.unflatten(structure, zeros))


def with_flags(values: Sequence[Any], *, silent: bool) -> list[Any]:
    """The values of one name on several ways, with a flag if it is not bound on all of them.

    ``silent`` says that the name is one of the rewriter's, which is read only where it is bound.
    """
    values = _with_flagged_parts([UNBOUND if v is LEFT else v for v in values])
    values = with_nones(hooks.alike_states(values))
    if not any(v is UNBOUND or type(v) is Maybe for v in values):
        return with_codes(list(map(as_nodes, values)))
    whole = [v for v in values if v is not UNBOUND]
    if not whole:
        return list(values)
    known = whole[0].value if isinstance(whole[0], Maybe) else whole[0]
    result = []
    for v in values:
        if v is UNBOUND:
            v = Maybe(zeros_like(known), False)
        elif type(v) is not Maybe:
            v = Maybe(v, True)
        result.append(v.value if silent else v)
    return with_codes(list(map(as_nodes, result)))


def _with_flagged_parts(values: Sequence[Any]) -> list[Any]:
    """The values of one name on several ways. Objects of a class of ours get flags for attributes
    that are not bound, or None, on all of them."""
    objects = [as_node(innermost(v)) for v in values if v is not UNBOUND and v is not None]
    first = objects[0] if objects else None
    if type(first) is not Node or any(
        type(x) is not Node or (x.kind, x.names) != (first.kind, first.names) for x in objects
    ):
        return list(values)
    columns = [with_flags(column, silent=False)
               for column in zip(*(x.parts for x in objects), strict=True)]  # fmt: skip
    made = (Node(first.kind, first.names, list(row)) for row in zip(*columns, strict=True))
    return [v if v is UNBOUND or v is None else with_innermost(v, next(made)) for v in values]


def with_nones(values: Sequence[Any]) -> list[Any]:
    """The values of one name on several ways, with a flag if it, or a part of it, is None on some
    of them."""
    bound = [v.value if type(v) is Maybe else v for v in values if v is not UNBOUND]
    some = [v for v in bound if v is not None]
    if len(some) < len(bound) or any(type(v) is Optional for v in some):
        made = _optional(bound, some) if some else bound
    elif some and issubclass(type(some[0]), tuple) and all(
        type(v) is type(some[0]) and len(v) == len(some[0]) for v in some):  # fmt: skip
        columns = list(zip(*map(with_nones, zip(*some, strict=True)), strict=True))
        make = getattr(type(some[0]), "_make", tuple)
        made = [make(each) for each in columns] if columns else bound
    else:
        return list(values)
    rest = iter(made)
    return [
        v if v is UNBOUND else Maybe(next(rest), v.held) if type(v) is Maybe else next(rest)
        for v in values
    ]


def _optional(values: Sequence[Any], some: Sequence[Any]) -> list[Any]:
    present = with_nones([inner(v) if type(v) is Optional else v for v in some])
    rest, absent = iter(present), zeros_like(present[0])
    return [
        Optional(absent, False) if v is None
        else with_inner(v, next(rest)) if type(v) is Optional else Optional(next(rest), True)
        for v in values
    ]  # fmt: skip
