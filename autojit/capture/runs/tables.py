"""Tables with the results of recursive functions under ``functools.lru_cache``."""

from __future__ import annotations

from typing import Any

from autojit.capture import calls
from autojit.capture.lists import remembered
from autojit.capture.lists.hashed import are_integers
from autojit.capture.state.state import tree_of
from autojit.tracing.hooks import hooks

from .active import active_run
from .run import Run
from .versions import Machine, Straight, same


class Remembering:
    """A function with a table of its results."""

    def __init__(self, function: Any, twin: Any) -> None:
        self.function, self.twin = function, twin
        self.table: dict[Any, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        run = active_run()
        assert isinstance(run, Run)
        answer = remembered.kept
        if run.skips is None:
            answer, run.key = remembered.remembered, tuple(tree_of((args, kwargs)).arrays)
        function = Straight(lambda: self.twin(*args, **kwargs))
        given = self.table, run.key, function, Straight(lambda: run.box[0])
        return calls.call(answer, given, {}, hooks.converted)


def with_table(machine: Machine, f: Any, twin: Any, args: Any, kwargs: Any) -> Any:
    """The twin of a function under ``functools.lru_cache``, with a table of its results if its
    arguments can be keys."""
    known = next((x for x in machine.tables if same(x.function, f)), None)
    if known is None:
        if not are_integers(tuple(tree_of((args, kwargs)).arrays)):
            machine.without_table = f
            return twin
        known = Remembering(f, twin)
        machine.tables.append(known)
    return known
