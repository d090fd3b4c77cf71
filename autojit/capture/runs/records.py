"""The values of a frame of a recursion, as numbers and arrays with a structure that is known.

A frame is a row of arrays (see ``capture.frames``). Its record has the arguments of a call, or the
names that are read after a recursive call. Numbers, and arrays that the frame has made, are values
in the row. Everything else is a part of the structure: strings, None, and the objects that are
there before the recursion, among them its lists and the arrays that it changes. These keep their
identity. So a list may be passed on, bound to a name and returned, and everybody sees its changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import BuiltinFunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from autojit.capture.rewriting.plain import UNBOUND
from autojit.capture.state.heap import Heap
from autojit.capture.state.holders import contents, values_of
from autojit.capture.state.kept import Same, Tree, like, zero
from autojit.capture.state.kinds import seen_type
from autojit.capture.state.maybe import Maybe
from autojit.capture.state.optional import Optional, inner, with_inner
from autojit.capture.state.sharing import containers
from autojit.protocols.kinds import is_boxed, note_seen
from autojit.staging import pytrees
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.aliasing import FOREIGN, keep, peers
from autojit.tracing.blocks import here, original
from autojit.tracing.context import Trace, active_traces, current_trace
from autojit.tracing.created_arrays import FreshArray, Memory, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift


class _Known:
    """A leaf that is a part of the structure."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self) and bool(other.number == self.number)

    def __hash__(self) -> int:
        return hash(self.number)


class Again(_Known):
    """The array that is the leaf at an earlier place."""


class Passed(_Known):
    """The array that the caller has passed, by its place among the leaves of the arguments."""


class Static(_Known):
    """A number, or numbers."""


class Inner(_Known):
    """One of the inner functions of a shape, by its place (see `closures`)."""


class Unsaved(Exception):
    """A value cannot be in a frame; ``words`` says what it is."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class Record(NamedTuple):
    """The leaves and the structure of the values of a frame."""

    tree: Tree
    types: list[LeafType]
    #: The arrays, by the places of their leaves.
    objects: dict[int, Any]
    #: The places of arrays that share memory with others, so that they may not change.
    kept: frozenset[int]
    #: The arrays from outside that these others are, or may be.
    seen: list[Any]

    def fits(self, other: Record) -> bool:
        """Whether two records differ only in their numbers, and in the types of these."""
        a, b = self.tree, other.tree
        return (
            a.structure == b.structure
            and all(map(_are_alike, a.leaves, b.leaves))
            and all(x.type.shape == y.type.shape
                    for x, y in zip(self.types, other.types, strict=True))
        )  # fmt: skip

    def filled(
        self, values: Sequence[Any], passed: Mapping[int, Any] = MappingProxyType({})
    ) -> tuple[Any, dict[int, Any]]:
        """The values that a frame holds, given its numbers and arrays; and its arrays by place."""
        trace = current_trace()
        assert trace is not None
        rest, made = iter(zip(values, self.types, strict=True)), list[Any]()
        arrays: dict[int, Any] = {}
        for place, leaf in enumerate(self.tree.leaves):
            if type(leaf) is Again:
                made.append(made[leaf.number])
            elif pytrees.is_array(leaf):
                x, t = next(rest)
                found = Tracer(lift(x), trace, t.weak)
                note_seen([found], [t.kinds])
                if t.type.shape or is_boxed(leaf):
                    found.boxed, arrays[place] = True, found
                    keep([found] if place in self.kept else [])
                made.append(found)
            else:
                made.append(_known(leaf, passed))
        return pytrees.unflatten(self.tree.structure, made), arrays

    def bare(self) -> Record:
        """The record without its values."""
        leaves = [_like(leaf) if pytrees.is_array(leaf) else leaf for leaf in self.tree.leaves]
        return self._replace(tree=Tree(leaves, self.tree.structure), objects={}, seen=[])


def _known(leaf: Any, passed: Mapping[int, Any]) -> Any:
    if type(leaf) is Same:
        return leaf.container
    if type(leaf) is Passed:
        return passed.get(leaf.number, leaf)
    return leaf.number if type(leaf) is Static else leaf


def _like(leaf: Any) -> Any:
    made = zero(leaf_type(leaf))
    return np.asarray(made) if is_boxed(leaf) else made


def _are_alike(a: Any, b: Any) -> bool:
    if pytrees.is_array(a) or pytrees.is_array(b):
        return pytrees.is_array(a) and pytrees.is_array(b) and is_boxed(a) == is_boxed(b)
    if a is b:
        return True
    plain = (str, bytes, frozenset, range, Same, _Known, np.dtype)
    return isinstance(a, plain) and type(a) is type(b) and bool(a == b)


class Outside:
    """The objects that are there before a step of the recursion."""

    def __init__(self, heap: Heap, around: Trace) -> None:
        self._heap, self._around = heap, around

    def record(
        self, value: Any, *, is_vague: bool = False, passed: dict[int, Any] | None = None
    ) -> Record:
        """Values as a frame holds them.

        ``is_vague`` says that the names belong to a loop, in which an array may be another one that
        is not known. ``passed`` are the arrays that the frame's caller has passed, if they count as
        its. Raises Unsaved.
        """
        mine = [id(x) for _, x in containers(value) if not self.has(x)]
        if len(set(mine)) < len(mine):
            raise Unsaved("a list or dict that the function makes and that has two names")
        elsewhere = self.elsewhere()
        if not elsewhere.isdisjoint(mine):
            raise Unsaved("a list or dict that the function makes and that has two names")
        leaves, structure = pytrees.flatten(self._frozen(value))
        made: list[Any] = []
        objects: dict[int, Any] = {}
        for place, leaf in enumerate(leaves):
            if not pytrees.is_array(leaf):
                self._check(leaf)
            elif is_boxed(leaf):
                x = bare(leaf)
                if id(_root(x)) in elsewhere and not self._has_array(_root(x)):
                    raise Unsaved("an array that the function makes and that is in a list as well")
                leaf = _known_array(x, objects, passed or {}) or leaf
                if not isinstance(leaf, _Known):
                    objects[place] = x
            made.append(leaf)
        tree = Tree(made, structure)
        types = [seen_type(leaf) for leaf in tree.arrays]
        others = {k: list(self._others(x, [*objects.values(), *(passed or {}).values()]))
                  for k, x in objects.items()}  # fmt: skip
        kept = {k for k, x in objects.items() if is_vague or others[k] or _is_fixed(x)}
        seen = [y for each in others.values() for y in each if self._has_array(y)]
        return Record(tree, types, objects, frozenset(kept), seen)

    def _others(self, x: Any, every: Sequence[Any]) -> Iterator[Any]:
        """The arrays with which an array shares memory, or may, if the frame or others see them."""
        root, source = _root(x), self.source_of(x)
        if source is not None:
            yield source
        yield from (y for y in every if y is not x and _root(y) is root)
        if isinstance(x, Tracer):
            yield from (y for y in peers(here(x)) if y is not FOREIGN)

    def elsewhere(self) -> set[int]:
        """The arrays, lists and dicts that are now in objects from outside, by identity."""
        found = set[int]()
        for x, _ in self._heap.held.values():
            for each in values_of(contents(x)):
                if isinstance(each, (list, dict)):
                    found.add(id(each))
                elif isinstance(each, (Tracer, np.ndarray)):
                    found.add(id(_root(bare(each))))
        return found

    def has(self, x: Any) -> bool:
        """Whether a list, dict or object is from before the step."""
        return id(x) in self._heap.held

    def has_seen(self, x: Any) -> bool:
        """Whether an object of any kind is from before the step."""
        return id(x) in self._heap.seen

    def source_of(self, x: Any) -> Any:
        """The array from before the step of which an array is a view, or None."""
        root = _root(x)
        return root if root is not x and self._has_array(root) else None

    def _has_array(self, x: Any) -> bool:
        """Whether an array is from before the step."""
        memory = x.memory if isinstance(x, FreshArray) else x
        if isinstance(memory, Memory):
            return self._is_made_outside(memory)
        if isinstance(x, Tracer):
            return all(trace is not original(x).owner for trace in self._traces())
        return isinstance(x, np.ndarray) and id(x) in self._heap.seen

    def _is_made_outside(self, memory: Memory) -> bool:
        mine = list(self._traces())
        is_mine = any(trace.builder is memory.maker for trace in mine)
        return not is_mine and not (mine and _is_over(memory))

    def _traces(self) -> Iterator[Trace]:
        trace = current_trace()
        while trace is not None and trace is not self._around:
            yield trace
            trace = trace.around

    def _frozen(self, x: Any) -> Any:
        """A value in which objects from outside are leaves."""
        if self.has(x):
            return Same(x)
        if isinstance(x, tuple):
            made = [self._frozen(each) for each in x]
            return type(x)._make(made) if hasattr(x, "_make") else tuple(made)
        if isinstance(x, list):
            return like(x, [self._frozen(each) for each in x])
        if type(x) is dict:
            return {key: self._frozen(each) for key, each in x.items()}
        if type(x) in (Maybe, Optional):
            return with_inner(x, self._frozen(inner(x)))
        if pytrees.is_array(x):
            is_fixed = is_boxed(x) and self._has_array(bare(x))
            return Same(x) if is_fixed else x
        return hooks.as_state(x)

    def _check(self, x: Any) -> None:
        """Raise Unsaved for an object that the function makes and that is no value."""
        if isinstance(x, _PLAIN) or x is UNBOUND or id(x) in self._heap.seen:
            return
        if isinstance(x, type) and x.__module__.partition(".")[0] in ("builtins", "numpy"):
            return
        raise Unsaved(f"an object of the type {type(x).__name__} that the function makes")


_PLAIN = (
    str, bytes, type(None), range, frozenset, Same, _Known, ModuleType, np.dtype, np.ufunc,
    BuiltinFunctionType, type(Ellipsis), type(np.sum),
)  # fmt: skip


def _is_fixed(x: Any) -> bool:
    """Whether an array may not change: lists hold copies of it, or its origin is not known."""
    if isinstance(x, Tracer):
        return x.kept
    return not isinstance(x, FreshArray) or (x.memory is not None and _is_over(x.memory))


def _is_over(memory: Memory) -> bool:
    """Whether a block has made an array and is over, so that nobody knows where it was."""
    makers = [trace.builder for trace in active_traces()]
    return memory.maker is not None and all(memory.maker is not maker for maker in makers)


def _known_array(x: Any, objects: dict[int, Any], passed: Mapping[int, Any]) -> _Known | None:
    """The leaf for an array that is one of others."""
    source = next((k for k, y in passed.items() if y is x), None)
    twin = next((k for k, y in objects.items() if y is x), None)
    if source is not None:
        return Passed(source)
    return None if twin is None else Again(twin)


def _root(x: Any) -> Any:
    """The array, or the memory, that an array is a view of."""
    if isinstance(x, FreshArray):
        return x if x.memory is None else x.memory
    while isinstance(x, Tracer) and x.base is not None:
        x = x.base
    return original(x) if isinstance(x, Tracer) else x
