"""Recursion as a loop with a stack of frames.

Frames are rows of arrays. A frame holds the arguments of a call, and the results of the recursive
calls that it has made so far. A step runs the function from its beginning with the arguments of the
topmost frame. A recursive call whose result is in the frame takes it from there. At the first other
recursive call, the function is left, and the arguments of the call go on top of the stack. When the
function returns, its frame is removed, and the frame below gets the result. So a function is run
once more for each of its recursive calls. What the function changes besides is an argument and a
result of each call (see `capture.values.effects`): a run begins with what the call found, and goes
on after a recursive call with what that call left.

A stack has as many rows as Python has frames (`sys.getrecursionlimit()`). Beyond these, the
compiled code raises RecursionError.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np

from autojit.capture.lists.views import end_calls
from autojit.capture.state.heap import also_reached
from autojit.capture.state.maybe import KNOWN
from autojit.capture.state.state import Before, Tree, joined, tree_of, zero
from autojit.errors import CaptureError, with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.types import Type
from autojit.protocols.lifting import in_type, tracer
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.running.depth import most_frames
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .blocks.block import Block
from .blocks.regions import failing
from .calls.calling import call
from .carries import no_narrower
from .loop import COUNTER, Loop
from .loop_ops import emit
from .loops import loops_around, trace_loop
from .values.effects import (
    CALLED_IN_A_LOOP,
    CALLED_WITHIN,
    CHANGES_LISTS,
    LARGE_STACK,
    MAY_BE_ANOTHER,
    NO_TABLE,
    Effects,
    Tabulated,
    copies_of,
    is_number,
)
from .values.own_calls import Types, access_of, bound_to, nothing, zeros_of

#: The most bytes that a stack of frames may take.
MOST_BYTES = 1 << 28
#: The most times that a function is traced until the types of its arguments and result settle.
_ROUNDS = 20
_WAYS = "where it is called", "where it calls itself"


class _Unknown(Exception):
    """The result of a function is not known yet, because its other ways have not been traced."""


class _Local(threading.local):
    def __init__(self) -> None:
        self.runs: list[_Run] = []


_local = _Local()


def active_run() -> _Run | None:
    """The run of a function for a frame, if one is being traced."""
    return _local.runs[-1] if _local.runs else None


def suspended() -> Any:
    """Whether the function that runs has been left at a recursive call."""
    return _local.runs[-1].box[0] if _local.runs else False


def is_running(f: Any) -> None:
    """Raise CaptureError if a function that runs calls itself where it cannot be left."""
    if any(same(run.function, f) for run in _local.runs):
        raise _refused(f, CALLED_WITHIN)


def same(a: Any, b: Any) -> bool:
    """Whether two functions, or methods, are the same."""
    if type(a) is MethodType and type(b) is MethodType:
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return a is b


def _refused(f: Any, words: str) -> CaptureError:
    return CaptureError(with_place(words.format(name=f.__name__), user_source()))


_ENDLESS = "maximum recursion depth exceeded"


# -- a run of the function -----------------------------------------------------------------


class _Run:
    """A run of the function with the arguments of a frame.

    ``box`` holds whether the function has been left, at which recursive call, and that call's
    arguments. Recursive calls are numbered in the order in which they are traced.
    """

    def __init__(self, function: Any, given: Types, result: Types | None, effects: Effects) -> None:
        self.function, self.effects = function, effects
        self.trace = current_trace()
        self.given, self.result = given, result
        self.box: list[Any] = [False, 0, *(zero(t) for t in given.types)]
        self.asked: list[Tree] = []
        self.loops = loops_around()
        #: The values that the function has been given and may not change, with their first state.
        self.given_out: list[tuple[Any, list[Any], Any, list[Any]]] = []
        #: Dicts among the arguments, each with the one that was passed to the first call.
        self.copies: list[tuple[Any, Any]] = []
        #: The number of recursive calls of the frame so far, less one, and their results.
        self.last: Any = -1
        self.results: Callable[[int], list[Any]] = lambda number: []

    def ask(self, args: Any, kwargs: Any) -> Any:
        """The result of a recursive call; if it is not known, the function is left."""
        if loops_around() != self.loops:
            raise _refused(self.function, CALLED_IN_A_LOOP)
        bound, effects = bound_to(self.function, args, kwargs, self.effects), self.effects
        if self.copies:
            effects.check_tables(bound, self.copies)
        passed = effects.traced(tree_of(bound).arrays)
        if not effects.are_apart(bound, passed, self.trace):
            raise _refused(self.function, MAY_BE_ANOTHER)
        tree = tree_of((bound, effects.now()))
        number = len(self.asked)
        self.asked.append(tree)
        if self.result is None:
            raise _Unknown
        result = self.result
        joined([self.given.like(), tree], "an argument", user_source(), _WAYS)

        def leave() -> Any:
            self.box[0], self.box[1] = True, number
            for place, (leaf, t) in enumerate(zip(tree.arrays, self.given.types, strict=True)):
                self.box[2 + place] = tracer(in_type(leaf, t.type.dtype))
            return result.tree.filled([zero(t) for t in result.types])

        def known() -> Any:
            return result.filled(self.results(number))

        found = hooks.choose(np.greater_equal(self.last, number), known, leave)
        value, state, changed = found
        effects.put(state)
        effects.put_arguments(passed, changed)
        return self.handed(value)

    def handed(self, value: Any) -> Any:
        """Note a value that is handed to the function, and return it."""
        leaves, structure = tree_of(value)
        owns = [leaf.own for leaf in leaves if isinstance(leaf, Tracer)]
        self.given_out.append((value, leaves, structure, owns))
        return value

    def changed_arguments(self) -> tuple[int, ...]:
        """The numbers of the arguments that the function has changed in place. Raises CaptureError
        if it has changed something else that was handed to it."""
        found: tuple[int, ...] = ()
        for place, (value, leaves, structure, owns) in enumerate(self.given_out):
            now = tree_of(value)
            is_same = structure == now.structure and all(map(operator.is_, leaves, now.leaves))
            tracers = [leaf for leaf in leaves if isinstance(leaf, Tracer)]
            changed = [n for n, (x, v) in enumerate(zip(tracers, owns, strict=True))
                       if x.own is not v or x.lost]  # fmt: skip
            if not is_same or (changed and place) or any(tracers[n].lost for n in changed):
                raise _refused(self.function, CHANGES_LISTS)
            found = found or tuple(changed)
        return found


def _once(run: _Run, twin: Any, given: Any) -> Any:
    """Trace the function once, and return its result and what it leaves of what it changes."""
    bound, state = given
    args, kwargs = bound
    bound = run.effects.with_shared(bound)
    passed = tree_of(bound).arrays
    _local.runs.append(run)
    try:
        with also_reached((run.box, run.effects.tables)):
            run.handed(bound)
            run.effects.put(state)
            value = twin(*args, **kwargs)
            if any(run.effects.may_be(leaf, passed) for leaf in tree_of(value).arrays):
                raise _refused(run.function, MAY_BE_ANOTHER)
            return value, run.effects.now(), run.effects.of_arguments(passed)
    finally:
        _local.runs.pop()


# -- the loop ------------------------------------------------------------------------------


def compiled(f: Any, args: Any, kwargs: Any, twin: Any, lacks_table: bool) -> Any:
    """Call a function as a loop; raise CaptureError if it cannot be one. With ``lacks_table``, its
    calls may be so many that Python's function has a cache."""
    tables: list[Any] = []
    try:
        found = _compiled(f, (args, kwargs), twin, tables, lacks_table)
    except BaseException:
        for d in tables:
            del d[KNOWN]
        raise
    for d in tables:
        end_calls(lambda g, *given: call(g, given, {}, hooks.converted), d)
    return found


def _compiled(f: Any, passed: Any, twin: Any, tables: list[Any], lacks_table: bool) -> Any:
    given, result, calls, effects = _settled(f, twin, passed, tables)
    if lacks_table and calls > 1:
        raise _refused(f, NO_TABLE)
    bound = bound_to(f, passed[0], passed[1], effects)
    passed = effects.traced(tree_of(bound).arrays)
    if not effects.are_apart(bound, passed, None):
        raise _refused(f, MAY_BE_ANOTHER)
    rows = most_frames()
    size = sum(t.type.nbytes for t in given.types) + calls * sum(
        t.type.nbytes for t in result.types
    )
    if size * rows > MOST_BYTES:
        raise _refused(f, LARGE_STACK)
    leaves = tree_of((bound, effects.now())).arrays
    sizes = given, result, calls
    (value, state, changed), block = _looped(
        f, twin, sizes, effects, [lift(x) for x in leaves], rows
    )
    if effects.are_read(passed, block):
        raise _refused(f, MAY_BE_ANOTHER)
    effects.put(state)
    effects.put_arguments(passed, changed)
    return value


def _settled(
    f: Any, twin: Any, passed: Any, tables: list[Any]
) -> tuple[Types, Types, int, Effects]:
    """The types of the arguments and the result, the number of recursive calls, and what the
    function changes. The dicts that it uses at traced keys become tables, which ``tables`` gets."""
    effects = Effects()
    result: Types | None = None
    for _ in range(_ROUNDS):
        bound = bound_to(f, passed[0], passed[1], effects)
        if result is None:
            first = tree_of((bound, effects.now()))
            given = Types(first, [leaf_type(leaf) for leaf in first.arrays])
        try:
            run, value, more = _tried(f, twin, given, result, effects, bound)
        except Tabulated as begun:
            effects, result = begun.begun(effects, tables), None
            continue
        if more != effects:
            effects, result = more, None
            continue
        asked = given.types
        for tree in run.asked:
            found = joined([given.like(), tree], "an argument", user_source(), _WAYS)
            asked = no_narrower(asked, found)
        tree = tree_of(value)
        types = [leaf_type(leaf) for leaf in tree.arrays]
        if result is not None:
            ways = "where the function returns first", "where it returns later"
            types = no_narrower(
                result.types, joined([result.like(), tree], "the result", user_source(), ways)
            )
        settled = result is not None and asked == given.types and types == result.types
        given, result = given._replace(types=asked), Types(tree, types)
        if settled:
            return given, result, len(run.asked), effects
    raise AssertionError("the types of a recursion do not settle")


def _tried(
    f: Any, twin: Any, given: Types, result: Types | None, effects: Effects, passed: Any
) -> tuple[_Run, Any, Effects]:
    """Trace the function once, only to find the types and what it changes."""
    results = result.types if result is not None else []
    block = Block([COUNTER, *given.types, *results])
    access = access_of(f, (f, given.tree.leaves, effects.tables, twin), tuple, nothing)
    before = Before(access)
    try:
        with block.running() as inputs:
            stop = 1 + len(given.types)
            run = _Run(f, given, result, effects)
            run.last = inputs[0]
            run.results = lambda number: inputs[stop:]
            filled = given.filled(inputs[1:stop])
            run.copies = copies_of(filled[0], passed)
            try:
                value = _once(run, twin, filled)
            except _Unknown:
                raise RecursionError(_ENDLESS) from None
            effects.check_tables(filled[0], run.copies)
            effects.check_entries(before)
            effects = _with_changes(run, before, block)
            value = tree_of(value).filled(
                [x if not isinstance(x, Tracer) else zero(leaf_type(x))
                 for x in tree_of(value).arrays]
            )  # fmt: skip
    finally:
        before.restore()
    run.asked = [zeros_of(t, [leaf_type(leaf) for leaf in t.arrays]) for t in run.asked]
    return run, value, effects


def _with_changes(run: _Run, before: Before, block: Block) -> Effects:
    """What the function changes, and what it has changed in a run of its own."""
    known, places = run.effects, []
    for key, _ in before.changes().values():
        if key.place is not None and not (known.has(key.place) or known.is_entry(key.place)):
            places.append((key.place, before.of(key)))
    arrays = [x for x, _ in block.changed.values() if all(x is not y for y in known.arrays)]
    changed = run.changed_arguments()
    if not all(is_number(x) for _, x in places):
        raise _refused(run.function, CHANGES_LISTS)
    return Effects(
        (*known.places, *(place for place, _ in places)), (*known.arrays, *arrays),
        tuple(sorted({*known.arguments, *changed})), known.tables,
    )  # fmt: skip


def _looped(
    f: Any, twin: Any, sizes: tuple[Types, Types, int], effects: Effects, first: Any, rows: int
) -> Any:
    """Emit the loop; row 0 of the results is for the result of the first call."""
    given, result, calls = sizes
    stacks = [_stack(t, rows + 2) for t in given.types]
    returned = [_stack(t, rows + 2, max(calls, 1)) for t in result.types]
    lasts = _stack(LeafType(Type(np.dtype(np.int64), ()), None), rows + 2)
    for stack, value in zip(stacks, first, strict=True):
        stack[1] = tracer(value)
    lasts[1] = -1
    top: list[Any] = [1]

    def get() -> tuple[Any, ...]:
        return (top[0],)

    def put(values: tuple[Any, ...]) -> None:
        (top[0],) = values

    def step(_: Any) -> None:
        here, saved = top[0], effects.saved()
        run = _Run(f, given, result, effects)
        run.last = lasts[here]
        run.results = lambda number: [x[here, number] for x in returned]
        value = _once(run, twin, given.filled([stack[here] for stack in stacks]))
        effects.restore(saved)
        left, number, *arguments = run.box
        tree = tree_of(value)
        joined([result.like(), tree], "the result", user_source(), _WAYS)
        full_up = np.logical_and(left, np.greater_equal(here, rows))
        failing(full_up, RecursionError(_ENDLESS), access.source)
        for stack, argument in zip(stacks, arguments, strict=True):
            stack[here + 1] = argument
        below = np.where(left, 0, here - 1)
        place = np.maximum(lasts[below], 0)
        for x, leaf, t in zip(returned, tree.arrays, result.types, strict=True):
            x[below, place] = tracer(in_type(leaf, t.type.dtype))
        lasts[here] = np.where(left, number, run.last)
        lasts[here + 1] = -1
        top[0] = np.where(left, here + 1, here - 1)

    reached = f, twin, stacks, returned, lasts, effects.tables
    access = access_of(f, reached, get, put, ("__aj_top",))
    captured = trace_loop(Loop(step, lambda: np.greater(top[0], 0), None, None, access))
    emit(captured)
    return result.filled([x[0, 0] for x in returned]), captured.block.trace


def _stack(t: LeafType, *rows: int) -> Tracer:
    made = tracer(full(0, Type(t.type.dtype, (*rows, *t.type.shape))))
    made.boxed = True
    return made
