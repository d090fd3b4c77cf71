"""Calls of native code with trees: taking arguments apart and putting results together, fast."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autojit.codegen.driver.executable import LARGE, canonical

from .layouts import DTYPES, Orders, order_of, orders_of

#: The result of a call that fits none of the native functions.
MISS: Any = object()

#: The most native functions that are tried for arguments of one structure.
MOST = 8

Path = tuple[Any, ...]


class NativeCalls:
    """The native functions for arguments of one structure, the latest first.

    Each checks the types itself, and returns None if they are not those it was compiled for.
    """

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self._take_apart = structure.flatten_up_to
        self._dicts = _plain_dicts(structure)
        self._natives: tuple[tuple[Callable[..., Any], Callable[[Any], Any] | None], ...] = ()
        #: The orders of axes in memory for which there is no code: such arrays are copied.
        self._copied: set[Orders] = set()

    def add(self, native: Callable[..., Any], rebuild: Callable[[Any], Any] | None) -> None:
        """Add a function, which is tried first from now on, and one that puts its results together
        (None if they are returned unchanged)."""
        others = [pair for pair in self._natives if pair[0] is not native]
        self._natives = ((native, rebuild), *others[: MOST - 1])

    def copy(self, orders: Orders) -> None:
        """Copy arrays in these orders from now on."""
        self._copied.add(orders)

    def leaves(self, tree: Any) -> list[Any] | None:
        """The leaves of a tree, if it has exactly this structure and a fast check shows it."""
        if self._dicts is None:
            return None
        try:
            leaves: list[Any] = self._take_apart(tree)
        except ValueError:
            return None
        # optree does not distinguish ordered dicts and defaultdicts from plain dicts here.
        for path in self._dicts:
            node = tree
            for key in path:
                node = node[key]
            if type(node) is not dict:
                return None
        return leaves

    def call(self, leaves: Sequence[Any]) -> Any:
        """The result, or MISS. Strided arrays are copied, unless code may exist for their order."""
        result = self._try(leaves)
        if result is MISS:
            orders = orders_of(leaves)
            copied = _contiguous(leaves, orders is None or orders in self._copied)
            if copied is not None:
                result = self._try(copied)
        return result

    def _try(self, leaves: Sequence[Any]) -> Any:
        for native, rebuild in self._natives:
            result = native(*leaves)
            if result is not None:
                return result if rebuild is None else rebuild(result)
        return MISS


def telling(native: Callable[..., Any], kinds: Mapping[int, bool]) -> Callable[..., Any]:
    """A native function that also misses unless the arguments at these places are arrays or scalars
    as ``kinds`` says: native code alone takes either."""

    def call(*leaves: Any) -> Any:
        for place, is_array in kinds.items():
            if place < len(leaves) and isinstance(leaves[place], np.ndarray) is not is_array:
                return None
        return native(*leaves)

    return call


def _plain_dicts(structure: Any) -> list[Path] | None:
    """The paths of a tree's dicts; None if a fast comparison would miss a difference."""
    try:
        return list(_dicts_below(structure, ()))
    except LookupError:
        return None


def _dicts_below(structure: Any, path: Path) -> Iterator[Path]:
    kind = structure.type
    if kind is None:  # a leaf, or None
        return
    if kind is dict:
        yield path
    elif kind in (collections.OrderedDict, collections.defaultdict, collections.deque):
        raise LookupError(kind)
    for entry, child in zip(structure.entries(), structure.children(), strict=True):
        inner = list(_dicts_below(child, (*path, entry)))
        if inner and not issubclass(kind, (dict, tuple, list)):
            raise LookupError(kind)  # a dict in a dataclass, which takes no index
        yield from inner


def _contiguous(leaves: Sequence[Any], any_order: bool) -> list[Any] | None:
    """The leaves with arrays in the form native code takes; None if they already have it.

    Without ``any_order``, arrays in an order that code exists for are not copied.
    """
    copied = [x if not any_order and order_of(x) else _as_native(x) for x in leaves]
    return copied if any(a is not b for a, b in zip(copied, leaves, strict=True)) else None


def _as_native(leaf: Any) -> Any:
    """An array with the strides and the dtype object that native code asks for."""
    if type(leaf) is not np.ndarray:
        return leaf
    dtype = DTYPES.get(leaf.dtype)
    if dtype is leaf.dtype and leaf.flags.c_contiguous and leaf.flags.aligned:
        return leaf
    if dtype is None:
        dtype = DTYPES.get(leaf.dtype.newbyteorder("="))
    if dtype is None:
        return leaf
    return np.array(leaf, dtype, order="C") if leaf.nbytes < LARGE else canonical(leaf, dtype)
