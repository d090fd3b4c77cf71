"""Lists and dicts that may be the same object or not, since a condition decides what a name holds.

    a = xs
    if x > 0:
        xs = [1.0, 2.0]
    xs[0] = 5.0                # may be a change of `a`

A construct gives such a name a new list in place of the lists of its ways. That list, and the lists
that it may be in Python, are used freely until one of them is changed. Then the contents of the
others are lost: their elements are refused when they are used (:class:`Lost`).

Changes are found by comparing contents with earlier contents, after each call and assignment of a
twin.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from autojit.errors import CaptureError, with_place
from autojit.tracing.aliasing import is_kept, peers
from autojit.tracing.blocks import here, original
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .heap import Lost, is_lost
from .holders import contents, is_container, is_object, is_same_content, set_content
from .kept import DEEPEST, Kept, with_attributes
from .maybe import Maybe
from .one_of import OneOf, alternatives, each
from .optional import Optional, inner
from .origins import Origin, Origins, Sharing, Slot, branch_pairs, in_order

#: The position of a container in a value.
Path = tuple[Any, ...]


class Shared(NamedTuple):
    """A container that may be the same as others, and its contents when last seen."""

    container: Any
    held: Any
    others: tuple[Any, ...]


#: The shared containers of a trace, by their identities.
Registry = Mapping[int, Shared]


def relate(a: Any, b: Any) -> None:
    """Note that two containers of the current trace may be the same."""
    if a is not b:
        known = _known()
        for x, y in ((a, b), (b, a)):
            before = known.get(id(x))
            others = before.others if before is not None else ()
            if not any(other is y for other in others):
                known[id(x)] = Shared(x, contents(x), (*others, y))


def notice() -> None:
    """Find containers that have just been changed; the ones that may be the same are lost."""
    trace = current_trace()
    if trace is not None and trace.containers:
        _notice(trace.containers)


def check_apart(a: Any, b: Any) -> None:
    """Raise CaptureError if two objects may be the same, but need not be."""
    trace = current_trace()
    known = trace.containers.get(id(a)) if trace is not None else None
    same = any(x is b for x in known.others) if known is not None else False
    if isinstance(a, Tracer) and isinstance(b, Tracer):
        same = any(original(x) is original(b) for x in peers(a) if isinstance(x, Tracer))
        same = same or (is_kept(here(a)) and is_kept(here(b)))
    if same:
        raise CaptureError(with_place(_ONE_OR_TWO, user_source()))


_ONE_OR_TWO = (
    "A traced condition decides whether these are the same object, because a branch or a loop "
    "bound a name to one or the other. Keep a flag instead:\n"
    "    is_first = True                    # where the name is bound\n"
    "    if is_first: ...                   # not: if x is first"
)


def _notice(known: dict[int, Shared]) -> None:
    changed = [s for s in known.values() if not is_same_content(s.container, s.held)]
    for mine in changed:
        if is_lost(mine.held):  # a change of unknown contents makes none of them known
            _lose(mine.container)
        known[id(mine.container)] = mine._replace(held=contents(mine.container))
    for mine in changed:
        _lose_others(mine, known)


def _lose_others(changed: Shared, known: dict[int, Shared]) -> None:
    """Mark as lost the containers that may be a changed one, and those that these may be."""
    seen, left = {id(changed.container)}, [changed]
    while left:
        for other in left.pop().others:
            if id(other) not in seen:
                seen.add(id(other))
                if not is_lost(other):
                    _lose(other, contents(changed.container))
                mine = known[id(other)]._replace(held=contents(other))
                known[id(other)] = mine
                left.append(mine)


def lost_in(is_outside: Callable[[Any], bool]) -> dict[int, Any]:
    """The containers from outside a block that are lost at its end, by their identities."""
    trace = current_trace()
    assert trace is not None
    assert trace.around is not None
    around = trace.around.containers
    lost = [mine.container for mine in trace.containers.values() if is_lost(mine.container)]
    return {id(x): x for x in lost if is_outside(x) or id(x) in around}


def lose(those: Iterable[Any]) -> None:
    """Mark containers as lost in the current trace too, since a block has changed containers that
    they may be."""
    known = _known()
    for x in those:
        if not is_lost(x):
            _lose(x)
        others = known[id(x)].others if id(x) in known else ()
        known[id(x)] = Shared(x, contents(x), others)


def _lose(x: Any, changed: Iterable[Any] = ()) -> None:
    """Mark a container as lost; the one that has been changed may have other attributes."""
    if is_object(x):
        for name in {**contents(x), **dict.fromkeys(changed)}:
            set_content(x, name, Lost())
    elif isinstance(x, dict):
        keys = [*x, Lost()]
        x.clear()
        x.update({key: Lost() for key in keys})
    else:
        x[:] = [Lost() for _ in x] or [Lost()]


def _known() -> dict[int, Shared]:
    trace = current_trace()
    assert trace is not None
    return trace.containers


# -- which may be the same ----------------------------------------------------------------


def one_object(value: OneOf, now: Mapping[int, Any]) -> Any:
    """One of several objects as a new object, with the attributes of the one that it is; value
    itself if that has no form. ``now`` has the contents of objects, by identity, that differ from
    their present ones."""
    found = alternatives(value)
    held = [now.get(id(x), contents(x)) if is_object(x) else {} for x in found]
    kind, names = type(found[0]), held[0].keys()
    if not names or not all(type(x) is kind for x in found) or any(x.keys() != names for x in held):
        return value
    numbers = {id(x): k for k, x in enumerate(found)}

    def attribute(name: str, x: Any) -> Any:
        return held[numbers[id(x)]][name]

    parts = {name: each(value, functools.partial(attribute, name)) for name in names}
    made = with_attributes(kind, parts)
    for x in found:
        relate(made, x)
    return made


def containers(
    value: Any, path: Path = (), around: tuple[Any, ...] = ()
) -> Iterator[tuple[Path, Any]]:
    """The lists, dicts and objects of a value, each with its position."""
    if type(value) in (Maybe, Optional):
        yield from containers(inner(value), path, around)
        return
    if type(value) is Kept:
        yield path, value.container
        if any(x is value.container for x in around):
            return
        inside = containers(value.copied, path, (*around, value.container))
        yield from (each for each in inside if each[0] != path)
        return
    if len(around) > DEEPEST or any(x is value for x in around):
        return
    items: Iterable[tuple[Any, Any]] = ()
    if issubclass(type(value), dict):
        items = value.items()
    elif issubclass(type(value), (list, tuple)):
        items = enumerate(value)
    elif is_object(value):
        items = contents(value).items()
    if is_container(value):
        yield path, value
        around = (*around, value)
    for key, part in items:
        yield from containers(part, (*path, key), around)


def origins_of(
    container: Any, shared: Registry, is_outside: Callable[[Any], bool],
    inputs: Mapping[int, Any] = {},
) -> Origins:  # fmt: skip
    """The containers that a container may be at the end of a block, given the shared ones."""

    def origin(x: Any) -> Origin:
        if id(x) in inputs:
            return Origin("input", inputs[id(x)])
        return Origin("outside" if is_outside(x) else "made", id(x), x)

    known = shared.get(id(container))
    return origin(container), *(origin(x) for x in (known.others if known is not None else ()))


def relate_containers(
    pairs: Iterable[Any], made: Mapping[Any, Any], outside: Mapping[int, Any]
) -> None:
    """Note in the current trace that containers of slots may be those of other slots, or containers
    from outside, and whatever these may be in turn."""
    known = _known()
    for a, b in in_order(pairs, made, outside):
        if b in made:
            relate(made[a], made[b])
        else:
            mine = known.get(id(outside[b]))
            for other in (outside[b], *(mine.others if mine is not None else ())):
                relate(made[a], other)


# -- branches and loops -------------------------------------------------------------------


def relate_results(
    results: Iterable[tuple[Any, Sequence[Any]]], shared: Sequence[Registry],
    is_outside: Callable[[Any], bool],
) -> None:  # fmt: skip
    """Relate the lists of a branch's results. Each result comes with its values on the ways, and
    ``shared`` has the shared containers at the end of each way."""
    made: dict[Any, Any] = {}
    ways: list[list[Origins]] = [[] for _ in shared]
    for result, values in results:
        found = list(containers(result))
        sources = [dict(containers(value)) for value in values if found]
        for path, container in found:
            mine = [source.get(path) for source in sources]
            if any(x is container for x in mine):
                continue  # it is the same on all ways
            made["result", len(made)] = container
            for way, x, known in zip(ways, mine, shared, strict=True):
                way.append(() if x is None else origins_of(x, known, is_outside))
    relate_containers(*_pairs(ways, made))


def _pairs(ways: Sequence[Sequence[Origins]], made: dict[Any, Any]) -> tuple[Any, Any, Any]:
    pairs, outside = branch_pairs(ways)
    return pairs, made, outside


class Carried(NamedTuple):
    """The lists in a loop's carries, with their origins before the first step."""

    firsts: dict[Slot, Origins]
    is_outside: Callable[[Any], bool]

    def taken(self, values: Mapping[Any, Any]) -> dict[Slot, Any]:
        """The lists of a step, given the values of names and places when it begins."""
        found = {(k, path): c for k, value in values.items() for path, c in containers(value)}
        return {slot: c for slot, c in found.items() if slot in self.firsts}

    def sharing(
        self, ends: Mapping[Any, Any], shared: Registry, inputs: Mapping[Slot, Any], has_steps: bool
    ) -> Sharing:
        """The lists that may be the same, given what a step ends with."""
        numbers = {id(c): slot for slot, c in inputs.items()}
        last: dict[Slot, Origins] = {}
        mine = {k for k, _ in self.firsts}
        found = {k: dict(containers(value)) for k, value in ends.items() if k in mine}
        for k, path in self.firsts:
            if k not in ends:
                last[k, path] = (Origin("input", (k, path)),)
            elif path in found[k]:
                container = found[k][path]
                last[k, path] = origins_of(container, shared, self.is_outside, numbers)
        return Sharing(self.firsts, last, has_steps)


def carried(values: Iterable[tuple[Any, Any, Any]], is_outside: Callable[[Any], bool]) -> Carried:
    """The lists of carries. Each carry is given by its key, its value before the loop, and its
    value in a step."""
    shared = _known()
    firsts: dict[Slot, Origins] = {}
    for k, first, value in values:
        mine = list(containers(value))
        sources = dict(containers(first)) if mine else {}
        for path, container in mine:
            source = sources.get(path)
            if source is not container:
                found = () if source is None else origins_of(source, shared, _always)
                firsts[k, path] = found
    return Carried(firsts, is_outside)


def _always(x: Any) -> bool:
    return True
