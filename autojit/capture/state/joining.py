"""The types of values that a block binds to one thing on one way, and to another on the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autojit.errors import CaptureError, ShapesDifferError, with_place
from autojit.ir.core.program import Source
from autojit.ir.core.types import Type
from autojit.staging.trace_function import LeafType
from autojit.tracing.context import PYTHON_TYPES

from .heap import Lost
from .kept import Tree, can_be_joined, shown
from .kinds import seen_type


def joined(
    trees: Sequence[Tree], words: str, source: Source | None, ways: tuple[str, str]
) -> list[LeafType]:
    """The types of the arrays and numbers of a value that has these trees on two ways."""
    first, second = trees
    if any(type(leaf) is Lost for leaf in (*first.leaves, *second.leaves)):
        raise CaptureError(with_place(Lost.words, source))
    if second.structure != first.structure:
        raise CaptureError(differing(trees, words, source, ways))
    for a, b in zip(first.leaves, second.leaves, strict=True):
        if not can_be_joined(a, b):
            text = _text(words, ways, f"{a!r:.40}", f"{b!r:.40}", _NUMBERS)
            raise CaptureError(with_place(text, source))
    columns = zip(*([seen_type(leaf) for leaf in t.arrays] for t in trees), strict=True)
    return [_common(column, words, source, ways) for column in columns]


def differing(
    trees: Sequence[Tree], words: str, source: Source | None, ways: tuple[str, str]
) -> str:
    """The message for a value whose structures on two ways differ."""
    both = shown(trees[0]), shown(trees[1])
    return with_place(_text(words, ways, *both, _NUMBERS), source)


def _common(
    column: Sequence[LeafType], words: str, source: Source | None, ways: tuple[str, str]
) -> LeafType:
    types = [each.type for each in column]
    for t in types[1:]:
        if t.shape != types[0].shape:
            fix = _LARGEST if types[0].shape and t.shape else _first_array(words, types[0], t)
            text = _text(words, ways, str(types[0]), str(t), fix)
            raise ShapesDifferError(with_place(text, source))
    kinds = {each.weak for each in column}
    if len(set(types)) == 1:
        found = LeafType(types[0], kinds.pop() if len(kinds) == 1 else None)
    elif None not in kinds:
        weak = max(kinds, key=(bool, int, float, complex).index)
        found = LeafType(Type(PYTHON_TYPES[weak], types[0].shape), weak)
    else:
        parts = (each.weak(0) if each.weak else each.type.dtype for each in column)
        found = LeafType(Type(np.result_type(*parts), types[0].shape), None)
    return found.seen_as(frozenset().union(*(each.seen for each in column)))


_LARGEST = (
    "In compiled code it has one shape. Use the largest shape, and mask the rest:\n"
    "    np.where(np.arange(len(x)) < n, x, 0)  # not: x[:n]\n"
)
_NUMBERS = (
    "Compiled code chooses between numbers, or between arrays of one shape. Choose a number, and "
    "look up the object after the call:\n"
    "    kind = 1                           # not: kind = 'b'\n"
)


def _first_array(words: str, a: Type, b: Type) -> str:
    """The fix for a value that is a number on one way, and an array on the other."""
    shape = a.shape or b.shape
    size = shape[0] if len(shape) == 1 else shape
    name = words.strip("`")
    return "In compiled code it has one shape. Begin with an array of that shape:\n" + (
        f"    {name} = np.zeros({size})  # not: {name} = 0\n"
        if name.isidentifier() and name != words
        else f"    np.zeros({size})  # not: 0\n    sum(rows, np.zeros({size}))  # not: sum(rows)\n"
    )


def _text(words: str, ways: tuple[str, str], a: str, b: str, fix: str) -> str:
    return (
        f"{words[0].upper()}{words[1:]} is {a} {ways[0]}, and {b} {ways[1]}.\n"
        f"{fix}or call the function without jit, where Python runs the code as it is:\n"
        "    grad(f)(x)                         # not: jit(grad(f))(x)"
    )
