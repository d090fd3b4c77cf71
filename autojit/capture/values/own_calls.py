"""The arguments and results of a function that calls itself (see ``capture.frames``)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from autojit.capture.rewriting.context import Site
from autojit.capture.state.state import Access, Tree, zero
from autojit.ir.core.program import Source
from autojit.staging import pytrees
from autojit.staging.trace_function import LeafType
from autojit.tracing.context import current_trace
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .effects import Effects


class Types(NamedTuple):
    """A tree, and the types of its arrays."""

    tree: Tree
    types: list[LeafType]

    def like(self) -> Tree:
        """The tree filled with zeros."""
        return zeros_of(self.tree, self.types)

    def filled(self, leaves: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        pairs = zip(leaves, self.types, strict=True)
        return self.tree.filled([Tracer(lift(x), trace, t.weak) for x, t in pairs])


def zeros_of(tree: Tree, types: Sequence[LeafType]) -> Tree:
    """A tree with zeros of some types in place of its arrays and numbers."""
    rest = iter(types)
    leaves = [zero(next(rest)) if pytrees.is_array(leaf) else leaf for leaf in tree.leaves]
    return Tree(leaves, tree.structure)


def bound_to(f: Any, args: Any, kwargs: Any, effects: Effects) -> tuple[Any, ...]:
    """The arguments by the function's parameters, with defaults."""
    bound = inspect.signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    return effects.with_shared((bound.args, dict(bound.kwargs)))


class Straight:
    """A function that is called as it is, since its control flow is captured already."""

    __aj_internal__ = True

    def __init__(self, f: Callable[[], Any]) -> None:
        self._f = f

    def __call__(self) -> Any:
        return self._f()


def nothing(values: tuple[Any, ...]) -> None:
    """Set no names, as there are none."""


def access_of(f: Any, reached: Any, get: Any, put: Any, names: tuple[str, ...] = ()) -> Access:
    """The access to what a function reaches, as for a construct with some names."""
    code = getattr(f, "__func__", f).__code__
    source = Source(code.co_filename, code.co_firstlineno, code.co_name)
    every = frozenset(names)
    site = Site(
        code.co_firstlineno, "while", names, every, every, every, (), code.co_name, code.co_filename
    )
    return Access(site, get, put, lambda: reached, source)
