"""Choices between values that exist already: numbers, arrays, and tuples of these.

The types are joined: a choice between ``1`` and ``0.5`` is a float. A choice between arrays is a
copy that cannot be written to, because a write would have to change the array that was chosen.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from autojit.capture.state.holders import is_object
from autojit.capture.state.one_of import OneOf
from autojit.capture.state.optional import Optional
from autojit.capture.state.sharing import relate
from autojit.capture.state.state import with_nones
from autojit.errors import RefusedInPlaceError, ShapeError, with_place
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import select
from autojit.ir.ops.index import gather
from autojit.ir.ops.move import broadcast_to
from autojit.protocols.kinds import is_boxed, note_kinds
from autojit.protocols.lifting import as_value, dtype_of, shape_of, tracer, view, weak_type
from autojit.staging import pytrees
from autojit.tracing.context import PYTHON_TYPES, current_trace
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.protocol import Bounds, bounds_of, with_bounds
from autojit.tracing.rows import Row
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import numbers_in

from .refusals import mismatch
from .scalars import WEAK_KINDS, is_traced

#: The type of a leaf: its dtype, and Python's type of a number.
Kind = tuple[np.dtype, type | None]


def kind_of(leaf: Any) -> Kind:
    """The dtype of a number or array, and Python's type if it is a Python number."""
    return dtype_of(leaf), weak_type(leaf)


def joined(kinds: Sequence[Kind]) -> Kind:
    """The type that can hold numbers of all these types.

    Python numbers take the dtype of the arrays that they meet; a bool becomes a number.

    >>> joined([(np.dtype(int), int), (np.dtype(float), float)])
    (dtype('float64'), <class 'float'>)
    """
    if all(weak or dtype.kind == "b" for dtype, weak in kinds):
        dtype = np.result_type(*(dtype for dtype, _ in kinds))
        is_numpys = dtype.kind == "b" and any(weak is None for _, weak in kinds)
        return dtype, None if is_numpys else WEAK_KINDS.get(dtype)
    strong = [dtype for dtype, weak in kinds if not weak]
    found = np.result_type(*(weak(0) if weak else dtype for dtype, weak in kinds))
    if found.kind in "iu" and len(strong) < len(kinds):  # Python's may not fit into fewer bits
        found = np.result_type(*strong, np.int64)
    if found.kind == "f" and all(dtype.kind in "biu" for dtype, _ in kinds):
        mismatch(
            "A choice between signed integers and np.uint64: no integer type holds both. Convert "
            "one of them:\n"
            "    np.uint64(n)                       # or int(n)"
        )
    return found, None


@dataclass(frozen=True)
class _Chosen:
    """One of several arrays, which cannot be written to."""

    def read(self, base: Value) -> Value:
        return base

    def write(self, base: Value, part: Value) -> Value:
        raise RefusedInPlaceError(
            with_place(
                "An array that was chosen by a traced index or condition is changed in place. In "
                "Python the change would be seen in the array that was chosen. Keep the arrays "
                "as rows of one array, and write to it:\n"
                "    rows = np.stack(rows)\n"
                "    rows[i, j] = value                 # not: rows[i][j] = value",
                user_source(),
            )
        )


class _Choices(Tracer):
    """An array picked from several ones, which may not change as long as it is used."""

    __slots__ = ("choices", "states")

    def __init__(self, value: Value, choices: Sequence[Any]) -> None:
        trace = current_trace()
        assert trace is not None
        super().__init__(value, trace)
        self.choices = choices
        self.states = [_state(x) for x in choices]

    @property
    def value(self) -> Value:
        if not all(map(_is_in_state, self.choices, self.states)):
            raise RefusedInPlaceError(
                with_place(
                    "This array was chosen from others by a traced index or condition, and one "
                    "of the others has since been changed in place. In Python, this array may "
                    "have changed as well. Choose a copy:\n"
                    "    row = rows[i].copy()               # not: row = rows[i]",
                    user_source(),
                )
            )
        return self.own


def _state(x: Any) -> Any:
    return x.value if isinstance(x, Tracer) else np.array(x)


def _is_in_state(x: Any, state: Any) -> bool:
    x = bare(x)
    if isinstance(x, Tracer) or isinstance(state, Value):
        return isinstance(x, Tracer) and x.value is state
    return np.array_equal(x, state, equal_nan=state.dtype.kind in "fc")


def _wrapped(value: Value, weak: type | None, choices: Sequence[Any]) -> Tracer:
    if not value.shape and not any(map(is_boxed, choices)):
        return tracer(value, weak)
    choice = _Choices(value, choices)
    choice.boxed = True
    return view(choice, _Chosen())


class ChosenList(list[Any]):
    """A list that was chosen by a traced index, which cannot be changed, and is read only as long
    as the lists that it may be do not change."""

    #: The lists that it may be, with their elements at that time.
    sources: Sequence[tuple[Any, tuple[Any, ...]]] = ()

    def check(self) -> None:
        """Raise RefusedInPlaceError if one of the lists that it may be has changed."""
        for source, held in self.sources:
            if len(source) != len(held) or not all(map(operator.is_, source, held)):
                raise RefusedInPlaceError(
                    with_place(
                        "This list was chosen from others by a traced index or condition, and one "
                        "of the others has since been changed. In Python, this list may have "
                        "changed as well. Choose a copy:\n"
                        "    row = list(rows[i])                # not: row = rows[i]",
                        user_source(),
                    )
                )

    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise RefusedInPlaceError(
            with_place(
                "A list that was chosen by a traced index is changed. Keep the numbers in an "
                "array, and write to it:\n"
                "    grid = np.array(grid)\n"
                "    grid[i, j] = value                 # not: grid[i][j] = value",
                user_source(),
            )
        )

    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse


def _reading(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    @functools.wraps(method)
    def read(self: ChosenList, *args: Any) -> Any:
        self.check()
        return method(self, *args)

    return read


for _name in (
    "__add__", "__contains__", "__eq__", "__ge__", "__getitem__", "__gt__", "__iter__", "__le__",
    "__len__", "__lt__", "__mul__", "__ne__", "__reversed__", "__rmul__", "copy", "count", "index",
):  # fmt: skip
    setattr(ChosenList, _name, _reading(_name))


def _rebuilt(_: Any, items: Any) -> list[Any]:
    return list(items) if current_trace() is None else ChosenList(items)


optree.register_pytree_node(
    ChosenList, lambda items: (list(items), None, None), _rebuilt, namespace=pytrees.NAMESPACE
)


def choose(test: Any, a: Any, b: Any) -> Any:
    """``a if test else b``, with both evaluated."""
    if not is_traced(test):
        return a if test else b
    if a is b:
        return a
    if _has_objects((a, b)):
        return hooks.choose(test, lambda: a, lambda: b)
    held = as_value(bare(test))

    def pick(leaves: Sequence[Any], kind: Kind, shape: tuple[int, ...]) -> Value:
        chosen = broadcast_to(held, shape) if shape else held
        return select(chosen, *(as_value(leaf, kind[0]) for leaf in leaves))

    return combined([a, b], pick, "a choice by a traced condition")


def _has_objects(choices: Sequence[Any]) -> bool:
    """Whether there are objects of the user's classes, also in tuples."""
    return any(is_object(x) or type(x) is OneOf or (type(x) is tuple and _has_objects(x))
               for x in choices)  # fmt: skip


def choose_nth(index: Value, choices: Sequence[Any], what: str) -> Any:
    """``choices[index]``, where the index is from 0 on and less than their number."""
    if _has_objects(choices):
        chosen = choices[0]
        for number, each in enumerate(choices[1:], 1):
            chosen = choose(np.equal(tracer(index), number), each, chosen)
        return chosen
    kind, table = _table_of(choices)
    if table is not None:
        found = tracer(gather(as_value(table), index, axes=(0,)), kind)
        return with_bounds(found, (int(table.min()), int(table.max()))) if kind is int else found

    def pick(leaves: Sequence[Any], kind: Kind, shape: tuple[int, ...]) -> Value:
        if any(isinstance(leaf, Row) for leaf in leaves):
            stacked = hooks.stack_nested(leaves, kind[0])
        elif any(map(is_traced, leaves)):
            stacked = np.stack([tracer(as_value(leaf, kind[0])) for leaf in leaves])
        else:
            try:
                stacked = np.asarray(leaves, kind[0])
            except OverflowError:  # which names the integer and the user's line
                stacked = np.stack([numbers_in(leaf, kind[0]) for leaf in leaves])
        return gather(as_value(stacked), index, axes=(0,))

    return combined(choices, pick, what)


def _table_of(choices: Sequence[Any]) -> tuple[type, np.ndarray | None]:
    """Different Python numbers of one type as an array; None in place of it for anything else. The
    general way takes 15 us for each choice."""
    first = choices[0]
    kind = type(first)
    is_table = kind in PYTHON_TYPES and all(type(x) is kind for x in choices)
    if not is_table or all(x is first for x in choices):
        return kind, None
    table = np.array(choices)
    return kind, table if table.dtype == PYTHON_TYPES[kind] else None


def combined(
    trees: Sequence[Any],
    pick: Callable[[Sequence[Any], Kind, tuple[int, ...]], Value],
    what: str,
) -> Any:
    """One tree from several of the same structure; each of its leaves is picked from theirs. If
    some are None, flags are picked too."""
    if any(tree is None or type(tree) in (Optional, tuple) for tree in trees):
        trees = with_nones(trees)
    flat = [pytrees.flatten(tree) for tree in trees]
    structure = flat[0][1]
    if any(other != structure for _, other in flat):
        mismatch(
            f"{what} is between values of different structure: "
            f"{', '.join(dict.fromkeys(_described(t) for t in trees))}."
        )
    columns = zip(*(map(bare, leaves) for leaves, _ in flat), strict=True)
    made = pytrees.unflatten(structure, [_picked(column, pick, what) for column in columns])
    return _protected(made, trees)


def _picked(column: Sequence[Any], pick: Callable[..., Value], what: str) -> Any:
    first = column[0]
    if all(leaf is first for leaf in column):
        return first
    if not all(map(pytrees.is_array, column)):
        if all(type(leaf) is type(first) and leaf == first for leaf in column):
            return first
        strange = next(leaf for leaf in column if not pytrees.is_array(leaf))
        mismatch(
            f"{what} is between values that are not numbers or arrays, such as {strange!r:.60}. "
            "Choose between numbers:\n"
            "    w = np.array([0.1, 0.2]); w[i]     # not: [first, second][i]"
        )
    found = {shape_of(leaf) for leaf in column}
    if len(found) > 1:
        raise ShapeError(
            with_place(
                f"{what} is between arrays of different shapes: "
                f"{', '.join(map(str, sorted(found)))}.",
                user_source(),
            )
        )
    kind = joined([kind_of(leaf) for leaf in column])
    made = _wrapped(pick(column, kind, shape_of(first)), kind[1], column)
    note_kinds(made, column)
    return with_bounds(made, _hull(column)) if kind[1] is int else made


def _hull(column: Sequence[Any]) -> Bounds:
    """Bounds that hold for each of some Python integers and bools."""
    found = [bounds_of(x) if weak_type(x) or isinstance(x, int) else (0, 1) for x in column]
    return min(low for low, _ in found), max(high for _, high in found)


def _protected(tree: Any, others: Sequence[Any]) -> Any:
    """The same value with lists that cannot be changed, and that are not read after one of the
    lists has changed from which they were chosen. So for dicts."""
    if isinstance(tree, dict):
        if type(tree) is dict:
            tree = {k: _protected(x, [other[k] for other in others]) for k, x in tree.items()}
        for other in others:
            relate(tree, other)
        return tree
    if type(tree) not in (list, tuple):
        return tree
    parts = [_protected(x, same) for x, *same in zip(tree, *others, strict=True)]
    if type(tree) is tuple:
        return tuple(parts)
    made = ChosenList(parts)
    made.sources = [(other, tuple(other)) for other in others]
    return made


def _described(tree: Any) -> str:
    return f"{tree!r:.60}"
