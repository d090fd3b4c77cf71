"""Lists, dicts and objects at the end of a block, with their contents at that time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import optree

from autojit.capture.rewriting.plain import UNBOUND
from autojit.errors import CaptureError, with_place
from autojit.staging import pytrees
from autojit.staging.pytrees import NAMESPACE, is_dataclass
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.blocks import is_around
from autojit.tracing.created_arrays import TracedArray
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .holders import contents, is_object, is_ours
from .maybe import ENTRIES, Maybe
from .one_of import OneOf, coded
from .optional import Optional, inner, with_inner


class Kept:
    """A list, dict or object from before a block, or one that holds such a container, with its
    contents at the block's end, which ``copy`` gives."""

    __slots__ = ("_copied", "_copy", "container", "is_new")

    def __init__(self, container: Any, copy: Callable[[], Any], *, is_new: bool = False) -> None:
        self.container = container
        self.is_new = is_new
        self._copy = copy
        self._copied: Any = None

    @property
    def copied(self) -> Any:
        if self._copied is None:
            self._copied = self._copy()
        return self._copied


def thawed(values: Sequence[Any], *, codes: bool = False) -> list[Any]:
    """The values of one name on several ways, unfrozen. A list that is part of all of them stays
    that list, whose elements are places of their own; any other list becomes its contents.

    Objects from before the block become codes (see `one_of`); with ``codes``, so do objects of
    different classes, or that hold nothing traced.
    """
    whole = _bound(values)
    found = set.intersection(*(set(_kept(v)) for v in whole)) if whole else set()
    return _all_thawed(values, {number for number, _ in found}, codes)


def _bound(values: Sequence[Any]) -> list[Any]:
    return [v for v in values if v is not UNBOUND and v is not None]


def _all_thawed(values: Sequence[Any], shared: set[int], codes: bool) -> list[Any]:
    whole = _bound(values)
    if whole and all(type(v) is tuple and len(v) == len(whole[0]) for v in whole):
        columns = [_all_thawed(column, shared, codes) for column in zip(*whole, strict=True)]
        made: list[Any] = list(zip(*columns, strict=True)) if columns else whole
    elif _are_codes(whole, codes):
        made = list(coded([v.container if type(v) is Kept else v for v in whole]))
    else:
        made = [_thawed(v, shared, ()) for v in whole]
    rest = iter(made)
    return [v if v is UNBOUND or v is None else next(rest) for v in values]


def _are_codes(values: Sequence[Any], codes: bool) -> bool:
    """Whether values are different objects that codes stand for."""
    found = [v.container if type(v) is Kept else v for v in values]
    if len({id(x) for x in found}) < 2 or not all(type(x) is OneOf or is_object(x) for x in found):
        return False
    if all(type(v) is OneOf or (type(v) is Kept and not v.is_new) for v in values):
        return True
    if not codes or any(map(_holds_ended, values)):
        return False
    alike = len({(type(x), *contents(x)) for x in found if type(x) is not OneOf}) == 1
    has_codes = any(type(x) is OneOf for x in found)
    return has_codes or not alike or not any(map(_holds_traced, values))


def _holds_traced(value: Any) -> bool:
    """Whether an object, or something in it, is traced, or is an object of a dataclass."""
    return any(isinstance(x, (Tracer, TracedArray)) or is_dataclass(x) for x in _parts(value))


def _holds_ended(value: Any) -> bool:
    """Whether an object holds values of a block that has ended, which no code can stand for."""
    return any(isinstance(x, Tracer) and not is_around(x.owner.builder) for x in _parts(value))


def _parts(value: Any, depth: int = 0) -> Iterator[Any]:
    """The objects and leaves of a value, except objects from before the block and their parts."""
    if depth > DEEPEST or (type(value) is Kept and not value.is_new):
        return
    value = value.container if type(value) is Kept else value
    if is_object(value):
        yield value
        for part in contents(value).values():
            yield from _parts(part, depth + 1)
        return
    for leaf in pytrees.flatten(value)[0]:
        if is_object(leaf):
            yield from _parts(leaf, depth + 1)
        else:
            yield leaf


#: The most objects inside one another that are copied.
DEEPEST = 50
_CYCLE = (
    "A traced condition decides which object this is, and the objects refer to each other in a "
    "circle, or in a long chain. Keep an index in place of the object:\n"
    "    number = number + 1                # not: node = Node(x, node)"
)


def with_attributes(kind: type, attributes: dict[str, Any]) -> Any:
    """An object of a class, whose ``__init__`` is not called."""
    made: Any = (SimpleNamespace if issubclass(kind, SimpleNamespace) else object).__new__(kind)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def copied(value: Any) -> Any:
    """A value of one way with copies of all lists and dicts, as they are at its end."""
    return _thawed(value, set(), ())


def like(items: list[Any], elements: Iterable[Any]) -> list[Any]:
    """A list, or a deque, of the same kind as another one."""
    if not hasattr(items, "__aj_internal__"):
        return list(elements)
    made: list[Any] = items.with_elements(elements)  # type: ignore[attr-defined]
    return made


def like_dict(x: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """A dict of the same kind as another one, such as a defaultdict."""
    if type(x) is dict:
        return items
    made = x.copy()
    made.clear()
    made.update(items)
    return made


def _kept(value: Any, *, is_inside: bool = False) -> list[tuple[int, bool]]:
    """The containers from before the block that are parts of a value, by their identities, and
    whether each is inside one that the block has made."""
    if type(value) is Kept and value.is_new:
        held = value.copied if isinstance(value.copied, (list, dict)) else contents(value.copied)
        parts = held.values() if isinstance(held, dict) else held
        return [pair for x in parts for pair in _kept(x, is_inside=True)]
    if type(value) in (Kept, Same):
        return [(id(value.container), is_inside)]
    if type(value) in (Maybe, Optional):
        return _kept(inner(value), is_inside=is_inside)
    parts = value if type(value) is tuple else ()
    return [pair for x in parts for pair in _kept(x, is_inside=is_inside)]


def _thawed(value: Any, shared: set[int], around: tuple[Any, ...]) -> Any:
    if type(value) is Kept:
        if id(value.container) in shared:
            return Same(value.container)
        copied = value.copied
        if isinstance(copied, dict):
            items = {k: _thawed(x, shared, around) for k, x in copied.items()}
            return like_dict(copied, items)
        if not isinstance(copied, list):
            if len(around) > DEEPEST or any(x is value.container for x in around):
                raise CaptureError(with_place(_CYCLE, user_source()))
            inside = (*around, value.container)
            parts = {k: _thawed(x, shared, inside) for k, x in contents(copied).items()}
            return with_attributes(type(copied), parts)
        return like(copied, [_thawed(x, shared, around) for x in copied])
    if type(value) in (Maybe, Optional):
        return with_inner(value, _thawed(inner(value), shared, around))
    return tuple(_thawed(x, shared, around) for x in value) if type(value) is tuple else value


class Same:
    """A list, dict or object that is the same on all ways; it is a leaf."""

    __aj_internal__ = True

    def __init__(self, container: Any) -> None:
        self.container = container

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Same) and other.container is self.container

    __hash__ = None  # type: ignore[assignment]


# -- trees --------------------------------------------------------------------------------


class Tree(NamedTuple):
    """A value as leaves and a structure."""

    leaves: list[Any]
    structure: Any

    @property
    def arrays(self) -> list[Any]:
        """The leaves that are arrays or numbers."""
        return [leaf for leaf in self.leaves if pytrees.is_array(leaf)]

    def filled(self, arrays: Sequence[Any]) -> Any:
        """The value with other arrays and numbers in place of its own."""
        rest = iter(arrays)
        leaves = [next(rest) if pytrees.is_array(leaf) else leaf for leaf in self.leaves]
        leaves = [leaf.container if type(leaf) is Same else leaf for leaf in leaves]
        return pytrees.unflatten(self.structure, leaves)


def is_alike(first: Tree, second: Tree) -> bool:
    """Whether two trees have one structure, equal objects, and arrays of the same shapes."""
    if second.structure != first.structure:
        return False
    pairs = zip(first.leaves, second.leaves, strict=True)
    return all(can_be_joined(a, b) and np.shape(a) == np.shape(b) for a, b in pairs)


def can_be_joined(a: Any, b: Any) -> bool:
    """Whether two leaves are arrays or numbers, one object, or equal ones that never change."""
    arrays = pytrees.is_array(a), pytrees.is_array(b)
    return all(arrays) or not (any(arrays) or not _is_same(a, b))


def _is_same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is Same:
        return bool(a == b)
    plain = (str, bytes, tuple, frozenset, type(None), range, np.dtype)
    return isinstance(a, plain) and type(a) is type(b) and a == b


def zero(kind: LeafType) -> Any:
    """A zero of a type."""
    if kind.weak is not None:
        return kind.weak(0)
    zeros = np.zeros(kind.type.shape, kind.type.dtype)
    return zeros if zeros.shape else zeros[()]  # a scalar, since an array could be changed


class Node:
    """An object, as a tree of its attributes."""

    __slots__ = ("kind", "names", "parts")

    def __init__(self, kind: type, names: tuple[str, ...], parts: list[Any]) -> None:
        self.kind, self.names, self.parts = kind, names, parts


def as_nodes(value: Any, depth: int = 0) -> Any:
    """A value with nodes of trees in place of its objects; a tree with these nodes becomes
    objects again."""
    if not any(map(is_object, pytrees.flatten(value)[0])):
        return value
    if depth > DEEPEST:
        raise CaptureError(with_place(_CYCLE, user_source()))
    leaves, structure = optree.tree_flatten(value, is_leaf=_is_node, namespace=NAMESPACE)
    made = [_node(x, depth + 1) if _is_node(x) or is_object(x) else x for x in leaves]
    found: Any = optree.tree_unflatten(structure, made)
    return found


def _is_node(x: Any) -> bool:
    return type(x) is Node


def _node(x: Any, depth: int) -> Node:
    if type(x) is Node:
        return Node(x.kind, x.names, [as_nodes(part, depth) for part in x.parts])
    held = contents(x)
    return Node(type(x), tuple(held), [as_nodes(part, depth) for part in held.values()])


def as_node(x: Any) -> Any:
    """An object of a class of ours as a node, whose parts are as they are."""
    held = contents(x) if is_ours(x) else {}
    return Node(type(x), tuple(held), list(held.values())) if held else x


def innermost(value: Any) -> Any:
    """A value without the flags that say whether it is bound, and whether it is None."""
    return innermost(inner(value)) if type(value) in (Maybe, Optional) else value


def with_innermost(value: Any, made: Any) -> Any:
    """A value with these flags for another one."""
    if type(value) not in (Maybe, Optional):
        return made
    return with_inner(value, with_innermost(inner(value), made))


def shown(tree: Tree) -> str:
    """A value in words, by its structure."""
    structure = tree.structure
    if structure.is_leaf():
        leaf = tree.leaves[0]
        return str(leaf_type(leaf).type) if pytrees.is_array(leaf) else f"{leaf!r:.40}"
    if structure.type is type(None):
        return "None"
    if structure.type is Optional:
        known = structure.children()[0]
        return f"{shown(Tree(tree.leaves[: known.num_leaves], known))} or None"
    if structure.type is Node:
        kind = type(pytrees.unflatten(structure, tree.leaves)).__name__
        return f"an object of {kind} with the attributes {', '.join(structure.entries())}"
    if structure.type is dict:
        keys = structure.entries()
        return "a dict with traced keys" if ENTRIES in keys else f"a dict with the keys {keys}"
    return f"a {structure.type.__name__} of {structure.num_children}"


def _taken_apart(x: Any) -> tuple[list[Any], Any, tuple[str, ...]]:
    return x.parts, (x.kind, x.names), x.names


def _put_together(data: Any, parts: Any) -> Any:
    kind, names = data
    return with_attributes(kind, dict(zip(names, parts, strict=True)))


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Node
optree.register_pytree_node(_CLASS, _taken_apart, _put_together, namespace=NAMESPACE)
