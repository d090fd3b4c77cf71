"""What a function closes over, read anew at each call: tensors and modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CodeType, MethodType
from typing import Any

import optree

from autojit.staging.pytrees import NAMESPACE

from .engine.tensor import Tensor
from .nn.module import Module


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def flat(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree, tensors among them, and its structure."""
    leaves, structure = optree.tree_flatten(tree, is_leaf=is_tensor, namespace=NAMESPACE)
    return leaves, structure


class Surroundings:
    """The tensors and modules that a function reads by its names, or that are in itself.

    Names are read at each call, so that a tensor or a parameter that has been replaced counts.
    Tensors that the function reaches in other ways are added as they are met (``lifted``).
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.readers = list(_readers(function))
        self.lifted: list[Tensor] = []

    def read(self) -> tuple[list[Tensor], tuple[Any, ...]]:
        """The tensors, each once, and what else the program depends on: whether modules train."""
        found: dict[int, Tensor] = {}
        state: list[Any] = []
        for read in self.readers:
            for leaf in flat(read())[0]:
                if isinstance(leaf, Tensor):
                    found[id(leaf)] = leaf
                elif isinstance(leaf, Module):
                    state += [module.training for module in leaf.modules()]
                    found.update((id(p), p) for p in leaf.parameters())
                    found.update((id(b), b) for b in leaf.buffers())
        found.update((id(t), t) for t in self.lifted)
        return list(found.values()), tuple(state)


def _readers(function: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
    """What gives each tree of tensors and modules that the function has a name for."""
    if isinstance(function, Module):
        yield lambda: function
        return
    if isinstance(function, MethodType):
        owner = function.__self__
        if isinstance(owner, Module):
            yield lambda: owner
        function = function.__func__
    code = getattr(function, "__code__", None)
    if code is None:
        return
    for cell in getattr(function, "__closure__", None) or ():
        yield partial(_contents, cell)
    names = getattr(function, "__globals__", {})
    for name in sorted(set(_names(code))):
        if _counts(names.get(name)):
            yield partial(names.get, name)


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function and those within read."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _contents(cell: Any) -> Any:
    try:
        value = cell.cell_contents
    except ValueError:  # it is not bound yet
        return None
    return value if _counts(value) else None


def _counts(value: Any) -> bool:
    """Whether a value is, or holds, tensors or modules."""
    if isinstance(value, (Tensor, Module)):
        return True
    if not isinstance(value, (list, tuple, dict)):
        return False
    items: Sequence[Any] = list(value.values()) if isinstance(value, dict) else value
    return any(map(_counts, items))
