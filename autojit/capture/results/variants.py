"""Results of different structure on the ways of a branch: a dict here, a list there.

    if x > 0:
        return {"root": x}
    return [x, -x]

All forms are kept, with zeros where the other way was taken, and a code that says which one counts.
Only the function that ``jit`` compiles may return such a result: no other code of the user's has a
use for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from autojit.capture.rewriting.normal_forms import RESULT
from autojit.capture.rewriting.plain import LEFT, UNBOUND
from autojit.capture.runs.active import active_run
from autojit.capture.state.joining import differing
from autojit.capture.state.kept import Same, Tree, copied, is_alike, zero
from autojit.capture.state.optional import Optional, inner
from autojit.capture.state.state import Key, tree_of
from autojit.capture.state.unread import Unread
from autojit.errors import CaptureError
from autojit.ir.core.program import Source
from autojit.session.frames import is_internal
from autojit.staging import pytrees, trace_function
from autojit.staging.pytrees import NAMESPACE
from autojit.staging.trace_function import leaf_type
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

#: The most forms of one result.
MOST = 16


class Variants(Unread):
    """The forms of a result, and the number of the one that counts.

    ``refusal`` is the error for every use but as the result of the whole function.
    """

    list_grows = False

    def __init__(self, code: Any, forms: Sequence[Any], refusal: str) -> None:
        self.code, self.forms, self.refusal = code, list(forms), refusal

    @property
    def words(self) -> str:
        return self.refusal


class _Words:
    """A text in the structure of a tree, which is not compared."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Words)

    def __hash__(self) -> int:
        return 0


def _taken_apart(x: Any) -> tuple[list[Any], Any]:
    return [x.code, *x.forms], _Words(x.refusal)


def _put_together(words: Any, children: Any) -> Any:
    code, *forms = children
    return Variants(code, forms, words.text)


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Variants
optree.register_pytree_node(_CLASS, _taken_apart, _put_together, namespace=NAMESPACE)


def with_variants(
    values: list[Any],
    frozen: Sequence[Any],
    key: Key,
    source: Source | None,
    words: tuple[str, str],
    at_ends: Sequence[Callable[[], Any]],
) -> list[Any]:
    """The values of a name on two ways. If it is the result of a function, and its structures
    differ, each gets all forms.

    ``frozen`` has the same values with copies of containers from before the ways, and ``at_ends``
    contexts in which more is recorded at the end of each way.
    """
    if key.name != RESULT:
        return values
    trees = [tree_of(inner(v) if type(v) is Optional else v) for v in values]
    if not any(map(_has_parts, trees)) and is_alike(*trees):
        return values
    whole = [UNBOUND if old is UNBOUND or old is LEFT
             else _copied(v, old) if Same in map(type, tree.leaves) else v
             for v, old, tree in zip(values, frozen, trees, strict=True)]  # fmt: skip
    return _joined(whole, differing(trees, key.words, source, words), at_ends)


def _has_parts(tree: Tree) -> bool:
    """Whether a tree has parts of arrays whose length is traced."""
    return any(isinstance(leaf, Tracer) and leaf.is_bounded for leaf in tree.leaves)


def _copied(value: Any, frozen: Any) -> Any:
    found = copied(frozen)
    if type(value) is Optional and type(found) is not Optional:
        return Optional(found, value.__aj_held__)
    return found


def _joined(values: Sequence[Any], refusal: str, at_ends: Sequence[Callable[[], Any]]) -> list[Any]:
    """The result on several ways, with all its forms."""
    if any(type(v) is Optional for v in values):
        bare = [v.__aj_value__ if type(v) is Optional else v for v in values]
        held = [v.__aj_held__ if type(v) is Optional else v is not UNBOUND for v in values]
        return list(map(Optional, _joined(bare, refusal, at_ends), held))
    forms: list[Tree] = []
    known, found = [], []
    for v, at_end in zip(values, at_ends, strict=True):
        with at_end():
            known.append(_forms(v))
        found.append([_number(x, forms) for x in known[-1]])
    if len(forms) > MOST or not all(map(pytrees.is_array, (x for t in forms for x in t.leaves))):
        return list(values)
    made = []
    for v, own, numbers, at_end in zip(values, known, found, at_ends, strict=True):
        with at_end():
            trees = [t.filled([zero(leaf_type(leaf)) for leaf in t.arrays]) for t in forms]
            for number, x in zip(numbers, own, strict=True):
                trees[number] = x
            first = v.refusal if type(v) is Variants else refusal
            made.append(Variants(_code(v, numbers), trees, first))
    return made


def _forms(v: Any) -> list[Any]:
    if v is UNBOUND:  # the function returns elsewhere
        return []
    return v.forms if type(v) is Variants else [hooks.returned(v, True)]


def _number(x: Any, forms: list[Tree]) -> int:
    """The number of a form, which is added if it is new."""
    tree = tree_of(x)
    for number, other in enumerate(forms):
        if is_alike(tree, other):
            return number
    forms.append(tree)
    return len(forms) - 1


def _code(v: Any, numbers: list[int]) -> Any:
    """The number of the form that counts, of which those of this way have these numbers."""
    code: Any = np.int64(numbers[-1] if numbers else 0)
    for own, number in enumerate(numbers[:-1]):
        code = np.where(np.equal(v.code, own), np.int64(number), code)
    return code


def result(x: Any, may_change: bool) -> Any:
    """What a function returns; Variants only from the one that is compiled, and only if it does not
    change them before it ends, since their forms are copies."""
    found = inner(x) if type(x) is Optional else x
    if type(found) is Variants and (may_change or not _is_outermost()):
        raise CaptureError(found.refusal)
    return x


def _is_outermost() -> bool:
    """Whether the function of the user's that calls the runtime has been called by none of them."""
    if active_run() is not None:
        return False
    frame = sys._getframe(3)  # what calls the user's function
    while frame is not None and frame.f_code.co_filename != trace_function.__file__:
        if not is_internal(frame.f_code.co_filename):
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None
