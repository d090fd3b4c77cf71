"""What a block may change: names, places in containers, and how their values are put together.

The value of a name is a tree.  Its arrays and numbers become results of the block's op; all else
(strings, functions, None, the structure) has to be the same on each way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import CaptureError, with_place
from autojit.ir.core.program import Source
from autojit.ir.core.types import Type
from autojit.staging import pytrees
from autojit.staging.trace_function import LeafType, leaf_type

from .heap import Heap, Place
from .maybe import Maybe
from .rewriting.plain import UNBOUND
from .rewriting.site import Site


class Access(NamedTuple):
    """How the runtime reads and sets the names of a construct (see ``rewriting``)."""

    site: Site
    get: Callable[[], tuple[Any, ...]]
    put: Callable[[tuple[Any, ...]], None]
    seen: Callable[[], tuple[Any, ...]]
    source: Source | None
    #: The parts of the construct.
    functions: tuple[Any, ...] = ()


class Key(NamedTuple):
    """A name, or a place in a container."""

    name: str | None
    place: Place | None

    @property
    def words(self) -> str:
        """How messages call it."""
        return f"`{self.name}`" if self.place is None else self.place.name


class Before:
    """The names and the reachable containers before a block, which can be put back."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.values = access.get()
        put = access.put
        free = put.__code__.co_freevars
        spaces = [(put.__globals__, n) for n in access.site.names if n not in free]
        roots = (*self.values, *access.seen(), *access.functions)
        self.heap = Heap(roots, put.__closure__ or (), spaces)

    def restore(self) -> None:
        self.heap.restore()
        self.access.put(self.values)

    def of(self, key: Key) -> Any:
        """What a name or place held."""
        if key.place is None:
            return self.values[self.access.site.names.index(key.name or "")]
        container, held = self.heap.held[id(key.place.container)]
        return held[key.place.key]

    def changes(self, *, grow: bool = False) -> dict[Any, tuple[Key, Any]]:
        """The names and places that hold another object now, and what they hold.

        Raises CaptureError where containers have got or lost elements, but for lists that grow if
        they may.
        """
        found: dict[Any, tuple[Key, Any]] = {}
        names = self.access.site.names
        for name, old, new in zip(names, self.values, self.access.get(), strict=True):
            if new is not old:
                found[name] = Key(name, None), new
        for place in self.heap.changes(self.access.source, grow=grow).values():
            found[id(place.container), place.key] = Key(None, place), place.get()
        return found

    def assign(self, results: Sequence[tuple[Key, Any]]) -> None:
        """Set names and places."""
        values = list(self.access.get())
        for key, value in results:
            if key.place is not None:
                key.place.set(value)
            else:
                values[self.access.site.names.index(key.name or "")] = value
        self.access.put(tuple(values))


# -- trees ------------------------------------------------------------------------------


class Tree(NamedTuple):
    """A value as leaves and a structure."""

    leaves: list[Any]
    structure: Any

    @property
    def arrays(self) -> list[Any]:
        """The leaves that are arrays or numbers."""
        return [leaf for leaf in self.leaves if pytrees.is_array(leaf)]

    def filled(self, arrays: Sequence[Any]) -> Any:
        """The value with other arrays and numbers in their places."""
        rest = iter(arrays)
        leaves = [next(rest) if pytrees.is_array(leaf) else leaf for leaf in self.leaves]
        return pytrees.unflatten(self.structure, leaves)


def tree_of(value: Any) -> Tree:
    return Tree(*pytrees.flatten(value))


def is_state(value: Any) -> bool:
    """Whether a value consists of arrays and numbers only."""
    if value is UNBOUND:
        return False
    leaves = pytrees.flatten(value)[0]
    return bool(leaves) and all(map(pytrees.is_array, leaves))


def zeros_like(value: Any) -> Any:
    """Zeros in the place of the arrays of a value, for a way on which it is not bound."""
    tree = tree_of(value)
    return tree.filled([_zero(leaf_type(leaf)) for leaf in tree.arrays])


def _zero(kind: LeafType) -> Any:
    if kind.weak is not None:
        return kind.weak(0)
    return np.zeros(kind.type.shape, kind.type.dtype)


def with_flags(values: Sequence[Any], *, silent: bool) -> list[Any]:
    """The values of one name on several ways: where it is not bound on all of them, with a flag.

    ``silent``: the name is one of the rewriter's, which is read only where it is bound.
    """
    if not any(v is UNBOUND or isinstance(v, Maybe) for v in values):
        return list(values)
    whole = [v for v in values if v is not UNBOUND]
    known = whole[0].value if isinstance(whole[0], Maybe) else whole[0]
    result = []
    for v in values:
        if v is UNBOUND:
            v = Maybe(zeros_like(known), False)
        elif not isinstance(v, Maybe):
            v = Maybe(v, True)
        result.append(v.value if silent else v)
    return result


def joined(trees: Sequence[Tree], words: str, source: Source | None, ways: str) -> list[LeafType]:
    """The types of the arrays and numbers of a value that has these trees on several ways."""
    first = trees[0]
    for tree in trees[1:]:
        if tree.structure != first.structure:
            raise _differ(words, ways, source, _shown(first), _shown(tree))
        for a, b in zip(first.leaves, tree.leaves, strict=True):
            if pytrees.is_array(a) != pytrees.is_array(b) or not (
                pytrees.is_array(a) or _same(a, b)
            ):
                raise _differ(words, ways, source, f"{a!r:.40}", f"{b!r:.40}")
    columns = zip(*([leaf_type(leaf) for leaf in t.arrays] for t in trees), strict=True)
    return [_common(column, words, source, ways) for column in columns]


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    plain = (str, bytes, tuple, frozenset, type(None), range, np.dtype)
    return isinstance(a, plain) and type(a) is type(b) and a == b


def _common(column: Sequence[LeafType], words: str, source: Source | None, ways: str) -> LeafType:
    types = [t for t, _ in column]
    for t in types[1:]:
        if t.shape != types[0].shape:
            raise ShapesDiffer(_text(words, ways, str(types[0]), str(t)), source)
    kinds = {w for _, w in column}
    if len(set(types)) == 1:
        return LeafType(types[0], kinds.pop() if len(kinds) == 1 else None)
    if None not in kinds:
        weak = max(kinds, key=(int, float, complex).index)
        return LeafType(Type(np.dtype(_DTYPES[weak]), types[0].shape), weak)
    strong = [t.dtype for t, w in column if w is None]
    dtype = np.result_type(*strong, *(w(0) for _, w in column if w is not None))
    return LeafType(Type(dtype, types[0].shape), None)


_DTYPES: dict[Any, type] = {int: np.int64, float: np.float64, complex: np.complex128}


class ShapesDiffer(CaptureError):
    """A value that has one shape on one way and another on the other."""

    def __init__(self, text: str, source: Source | None) -> None:
        super().__init__(with_place(text, source))


def _differ(words: str, ways: str, source: Source | None, a: str, b: str) -> CaptureError:
    return CaptureError(with_place(_text(words, ways, a, b), source))


def _text(words: str, ways: str, a: str, b: str) -> str:
    return (
        f"{words} is {a} {ways} {b}. Which one holds is known only when the compiled code runs, so "
        "both must be of one kind. Give it the same shape and structure on each way:\n"
        "    y = np.zeros(3)                    # before the `if` or the loop, not: y = 0 or None\n"
        "or make what decides static:\n"
        "    jit(f, static_argnums=...)"
    )


def _shown(tree: Tree) -> str:
    if tree.structure.is_leaf():
        leaf = tree.leaves[0]
        return str(leaf_type(leaf).type) if pytrees.is_array(leaf) else f"{leaf!r:.40}"
    if not tree.leaves:
        return "None" if "None" in str(tree.structure) else "empty"
    return f"{tree.structure}"
