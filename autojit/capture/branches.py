"""``if`` on a traced condition: both ways are traced, and one of them runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.capture.state.aliases import (
    origins,
    read_where_left,
    relate_all,
    results_of,
    without_value,
)
from autojit.capture.state.holders import is_object
from autojit.capture.state.joining import joined
from autojit.capture.state.kept import Kept, Same, thawed, zero
from autojit.capture.state.kinds import Elements, elements_of
from autojit.capture.state.one_of import OneOf
from autojit.capture.state.optional import assume, implied
from autojit.capture.state.origins import branch_pairs
from autojit.capture.state.resized import Resized, alike, of_stretches
from autojit.capture.state.sharing import lose as lose_containers
from autojit.capture.state.sharing import notice, one_object, relate_results
from autojit.capture.state.state import (
    EXPRESSION,
    Access,
    Before,
    Key,
    note,
    tree_of,
    with_flags,
    with_leaders,
)  # fmt: skip
from autojit.ir.core.program import Source, Value, current_builder
from autojit.ir.ops.arithmetic import convert, select
from autojit.ir.ops.move import broadcast_to
from autojit.ir.regions.switch import switch
from autojit.session.frames import is_internal
from autojit.staging.bodies import Body, merged
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.aliasing import assign, keep, lose
from autojit.tracing.blocks import here
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .blocks.block import common_leaders, is_free
from .blocks.messages import take_out
from .blocks.regions import Failure, can_hold_back, failing, hold_back, settled
from .blocks.ways import Way, traced_way
from .checks import add_checks
from .results.variants import with_variants
from .rewriting.context import Site
from .rewriting.plain import LEFT, UNBOUND
from .truth import truth_of

_WAYS = "where the condition does not hold", "where it does"

_EXPRESSION = frozenset({EXPRESSION})


def capture_branch(test: Tracer, ways: Sequence[Callable[[], Any]], access: Access) -> None:
    """Capture an ``if``. The first of ``ways`` runs if the condition is false, the second if it is
    true."""
    held = truth_of(test)
    facts = [implied(test, bool(holds)) for holds in range(len(ways))]
    first = access.site.first
    while True:
        before = Before(access)
        try:
            found = traced_way(ways[first], before, facts[first])
            error = found.error if _raises_at_once(found) else None
            if error is not None and can_hold_back():
                _go_on_without(held, ways, first, error, before)
                assume(facts[1 - first])
                ways[1 - first]()
                return
            other = traced_way(ways[1 - first], before, facts[1 - first])
            traced = [found, other] if first == 0 else [other, found]
            check_lengths(traced, before)
            break
        except Resized as resized:
            resized.convert()
    error = joined_ways(held, traced, before)
    if error is not None:
        raise error


def _raises_at_once(way: Way) -> bool:
    """Whether a way raises an exception that is handled, and has no constructs in it: it is traced
    once more."""
    has_more = any(op.programs for op in way.block.trace.builder.ops) or way.block.trace.checks
    return way.error is not None and not way.is_dead and not has_more


def _go_on_without(
    held: Tracer, ways: Sequence[Callable[[], Any]], way: int, error: Exception, before: Before
) -> None:
    """Hold back the code behind a way that raises an exception: the other way, and what follows."""
    source = raised_at(error, before.access)
    goes_on = np.logical_not(held) if way else held
    raises = _as_now(ways[way], before)
    hold_back(goes_on, Failure(error.with_traceback(None), source, is_handled=True), raises)


def _as_now(way: Callable[[], Any], before: Before) -> Callable[[], Any]:
    """A way that runs later as it would run now."""
    cells = [(cell, cell.cell_contents) for cell in way.__closure__ or () if _has_contents(cell)]

    def run() -> None:
        before.restore()
        for cell, content in cells:
            cell.cell_contents = content
        way()

    return run


def _has_contents(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def joined_ways(held: Tracer, traced: Sequence[Way], before: Before) -> Exception | None:
    """Emit the ways of a branch; make the function fail where they raise exceptions. Returns the
    exception if both ways raise one."""
    for number, way in enumerate(traced):
        if way.error is not None and way.is_dead:
            take_out(held, number, way.block, way.error)
    if any(not way.is_dead or way.block.trace.checks for way in traced):
        _emit(held, traced, before)
    errors: list[Any] = [way.error for way in traced]
    otherwise, then = errors
    if then is None or otherwise is None:
        for number, error in ((1, then), (0, otherwise)):
            if error is not None:
                _failing(held, number, error, before.access)
                settled(before.access)
        return None
    if (type(then), str(then)) != (type(otherwise), str(otherwise)):
        _failing(held, 0, otherwise, before.access)
    found: Exception = then
    return found


def _failing(held: Tracer, way: int, error: Exception, access: Access) -> None:
    """Make the function fail where a way of a branch is taken that raises an exception."""
    where = held if way else np.logical_not(held)
    failing(where, error, raised_at(error, access))


def raised_at(error: BaseException, access: Access) -> Source | None:
    """The user's line that raises an exception."""
    step, found = error.__traceback__, access.source
    while step is not None:
        code = step.tb_frame.f_code
        if not is_internal(code.co_filename):
            found = Source(code.co_filename, step.tb_lineno, code.co_name)
        step = step.tb_next
    return found


def _emit(held: Tracer, ways: Sequence[Way], before: Before) -> None:
    """Emit one op for both ways, and assign its results to the names and places they change."""
    access, site = before.access, before.access.site
    keys: dict[Any, Key] = {k: key for way in ways for k, (key, _) in way.changes.items()}
    leaves: list[list[Any]] = [[] for _ in ways]
    types: list[LeafType] = []
    made: list[tuple[Key, Any, int]] = []
    sources: list[Sequence[Any]] = []
    same: list[tuple[Key, Any]] = []
    known: list[tuple[Any, int] | None] = []
    states: dict[Any, list[Any]] = {}
    for k, key in keys.items():
        dead = key.place is None and key.name not in site.live_out
        if dead:
            made.append((key, None, 0))
            sources.append(())
            known.append(None)
            continue
        values = [_end(way, k, key, before, ways) for way in ways]
        unread = [way.is_dead or v is LEFT for way, v in zip(ways, values, strict=True)]
        values = read_where_left(
            values, [way.block.trace for way in ways], is_internal=key.name in site.internal
        )
        frozen = _as_objects(values, ways, before)
        blocks = [way.block.resumed for way in ways]
        values = alike(thawed(frozen, codes=True), blocks)
        if type(values[0]) is Same and all(v == values[0] for v in values):
            same.append((key, values[0].container))
            continue
        if all(v is values[0] for v in values):  # no block has made it
            same.append((key, values[0]))
            continue
        values = with_flags(values, silent=key.name in site.internal)
        values = with_variants(values, frozen, key, access.source, _WAYS, blocks)
        states[k] = values
        trees = [tree_of(v) for v in values]
        found = joined(trees, key.words, access.source, _WAYS)
        for mine, tree, is_unread in zip(leaves, trees, unread, strict=True):
            mine.extend(_without_made(tree.arrays, ways) if is_unread else tree.arrays)
        types.extend(found)
        made.append((key, trees[0], len(found)))
        known.append(of_stretches(values))
        sources.append(frozen)
    made_of = [
        [origins(leaf, way.block.trace, {}) for leaf in mine]
        for way, mine in zip(ways, leaves, strict=True)
    ]
    seen = [way.block for way in ways if not way.is_dead]
    lost = {id(x): x for block in seen for x in block.lost}
    kept = [x for block in seen for x in block.kept]
    changed = {k: x for block in seen for k, (x, _) in block.changed.items()}
    roots = {k: x for k, x in changed.items() if k not in lost}
    outputs = [
        [*way.block.values(mine, types), *_of_roots(way, roots)]
        for way, mine in zip(ways, leaves, strict=True)
    ]
    for way, mine in zip(ways, outputs, strict=True):
        way.block.check_unread(mine)
    checks = add_checks([way.block for way in ways], outputs)
    bodies = [
        way.block.finish(outs, name)
        for way, outs, name in zip(ways, outputs, ("otherwise", "then"), strict=True)
    ]
    note(access, "branch", "")
    results = _recorded(lift(held), bodies)
    count = len(types) + len(roots)
    _note_left(ways)
    for x, value in zip(roots.values(), results[len(types) : count], strict=True):
        assign(x, value)
    lose(lost.values())
    keep(kept)
    tracers = results_of(results[: len(types)], types, leaves)
    leaders = common_leaders([way.block for way in ways], states)
    filled = with_leaders(_filled(made, tracers), leaders)
    for (_, value), fact in zip(filled, known, strict=True):
        if fact is not None:
            value.note(*fact)
    before.assign([*same, *filled])
    before.heap.order_keys([way.orders for way in ways if not way.is_dead])
    pairs, outside = branch_pairs(made_of)
    relate_all(pairs, {("result", k): x for k, x in enumerate(tracers)}, outside)
    results_by_ways = zip([value for _, value in filled], sources, strict=True)
    relate_results(results_by_ways, [way.shared for way in ways], before.is_outside)
    notice()
    lose_containers(x for way in ways for x in way.lost.values())
    checks(results[count:])
    settled(access)


def _as_objects(values: list[Any], ways: Sequence[Way], before: Before) -> list[Any]:
    """The values of a name on the ways. If it is an object that a way has made, it is one on the
    others too, and not a code."""
    if not any(is_object(v) or (type(v) is Kept and v.is_new) for v in values):
        return values
    found = []
    for value, way in zip(values, ways, strict=True):
        if type(value) is OneOf:
            with way.block.resumed():
                value = before.frozen(one_object(value, way.contents), way.contents)
            way.shared.update(way.block.trace.containers)
        found.append(value)
    return found


def _note_left(ways: Sequence[Way]) -> None:
    """Note whether the function has been left on all ways that do not fail."""
    trace, left = current_trace(), [way.block.trace.left for way in ways if not way.is_dead]
    assert trace is not None
    trace.left |= bool(left) and all(left)


def _recorded(held: Value, bodies: Sequence[Body]) -> Sequence[Value]:
    """Compute both ways and select if nobody can tell the difference; else emit a switch."""
    programs, captured = merged(bodies)
    if all(map(is_free, programs)):
        no, yes = (current_builder().inline(p, captured) for p in programs)
        return [select(broadcast_to(held, a.shape), a, b) for a, b in zip(yes, no, strict=True)]
    index = convert(held, dtype=np.dtype(np.int64))
    return current_builder().emit(switch, [index, *captured], {"branches": tuple(programs)})


def check_lengths(ways: Sequence[Way], before: Before) -> None:
    """Raise Resized unless all ways append as many elements to each list."""
    some = [way for way in ways if not way.is_dead]
    uneven: dict[int, list[Any]] = {}
    for way in some:
        for k in way.grown - frozenset.intersection(*(other.grown for other in some)):
            place = way.changes[k][0].place
            assert place is not None
            uneven[id(place.container)] = place.container
    if uneven:
        raise Resized([_longest(items, some, before) for items in uneven.values()])


def _longest(
    items: list[Any], ways: Sequence[Way], before: Before
) -> tuple[list[Any], Elements, int, bool]:
    """A list to which the ways append different numbers of elements, as `Resized` takes it."""
    held = before.heap.held[id(items)][1]
    more = [way.contents.get(id(items), held) for way in ways]
    return items, elements_of([x for each in more for x in each]), max(map(len, more)), False


def _end(way: Way, k: Any, key: Key, before: Before, ways: Sequence[Way]) -> Any:
    """The value of a name or place at the end of a way."""
    site = before.access.site
    if way.block.trace.left and key.place is None and key.name not in site.internal | site.outer:
        return LEFT
    if way.is_dead:  # the value is never read
        (other,) = (w for w in ways if w is not way)
        return without_value(other.changes[k][1])
    return way.changes[k][1] if k in way.changes else before.frozen(before.of(key), way.contents)


def _without_made(arrays: Sequence[Any], ways: Sequence[Way]) -> list[Any]:
    """The arrays and numbers of a value that nobody reads on this way, with zeros in place of those
    that a way has made: they are parts of an object that the other way has made."""
    traces = [way.block.trace for way in ways]
    return [
        zero(leaf_type(x)) if isinstance(x, Tracer) and any(x.owner is t for t in traces) else x
        for x in arrays
    ]


def _of_roots(way: Way, roots: dict[int, Tracer]) -> list[Value]:
    return way.block.recorded(lambda: [here(x).value for x in roots.values()])


def _filled(
    made: Sequence[tuple[Key, Any, int]], tracers: Sequence[Tracer]
) -> list[tuple[Key, Any]]:
    """Names and places with their values, which contain the op's results."""
    start = 0
    pairs: list[tuple[Key, Any]] = []
    for key, tree, count in made:
        value = UNBOUND if tree is None else tree.filled(tracers[start : start + count])
        pairs.append((key, value))
        start += count
    return pairs


def capture_choice(test: Tracer, ways: Sequence[Callable[[], Any]], access: Access) -> Any:
    """A conditional expression: the value of one of two functions."""
    found: list[Any] = [UNBOUND]

    def get() -> tuple[Any, ...]:
        return (found[0],)

    def put(values: tuple[Any, ...]) -> None:
        found[0] = values[0]

    def stored(way: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: put((way(),))

    site = access.site._replace(
        names=(EXPRESSION,), live_in=frozenset(), live_out=_EXPRESSION, internal=_EXPRESSION
    )
    capture_branch(test, [stored(way) for way in ways], access._replace(
        site=site, get=get, put=put))  # fmt: skip
    return found[0]


def _chosen(test: Tracer, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``then() if test else orelse()``, for functions that answer calls."""
    source = user_source()
    file, line = (source.file, source.line) if source is not None else ("", 0)
    nothing: frozenset[str] = frozenset()
    site = Site(line, "ifexp", (), nothing, nothing, nothing, (), "", file)
    functions = (orelse, then)
    access = Access(site, tuple, lambda values: None, tuple, source, functions)
    return capture_choice(test, functions, access)


hooks.choose = _chosen
