"""The ways of a branch, each traced by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from autojit.capture.state.optional import Facts, assume
from autojit.capture.state.resized import Resized
from autojit.capture.state.sharing import lost_in
from autojit.capture.state.state import Before, Key
from autojit.errors import AutojitError
from autojit.session.frames import is_defect

from .block import Block
from .regions import guarded, is_handled


class Way(NamedTuple):
    """One way through an ``if``, as it was traced."""

    block: Block
    changes: dict[Any, tuple[Key, Any]]
    #: The exception that it raises.
    error: Exception | None
    #: The changes that append elements to lists.
    grown: frozenset[Any]
    #: The contents at its end of the lists and dicts that it changed, by their identities.
    contents: dict[int, Any]
    #: The lists and dicts that may be the same object at its end, those that are lost, and the
    #: orders of keys (see `Heap.orders`).
    shared: dict[int, Any]
    lost: dict[int, Any]
    orders: dict[int, Any]
    #: Whether it raises an exception that nothing handles, so that nobody sees its changes.
    is_dead: bool = False


def traced_way(way: Callable[[], Any], before: Before, facts: Facts) -> Way:
    """Trace one way; the state is as before it when this returns."""
    block = Block()
    error: Exception | None = None
    try:
        with block.running():
            assume(facts)
            try:
                guarded(before.access, way)
            except (AutojitError, Resized):
                raise
            except Exception as raised:  # Python would raise it if this way were taken
                if is_defect(raised):
                    raise
                error = raised
            return ended_way(block, before, error)
    finally:
        before.restore()


def ended_way(block: Block, before: Before, error: Exception | None) -> Way:
    """A way whose code has ended, with the exception that it raises."""
    is_dead = error is not None and not is_handled(type(error))
    if is_dead:
        shared = dict(block.trace.containers)
        return Way(block, {}, error, frozenset(), {}, shared, {}, {}, is_dead=True)
    before.check_lengths(grow=True)
    changes = before.changes(grow=True)
    grown = before.appended()
    contents = before.contents()
    changes = {k: (key, before.frozen(value, contents)) for k, (key, value) in changes.items()}
    shared = dict(block.trace.containers)
    lost = lost_in(before.is_outside)
    orders = before.heap.orders()
    return Way(block, changes | grown, error, frozenset(grown), contents, shared, lost, orders)
