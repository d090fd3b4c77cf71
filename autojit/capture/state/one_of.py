"""Objects that depend on a traced condition: strings, functions, members of an enum.

The alternatives are known; a traced code says which of them it is. ``==``, ``is``, ``in`` and the
truth compare codes. A call, an attribute, an operator or an index is a branch on the code, in which
Python does with each alternative what it always does.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np
import optree

from autojit.errors import CaptureError, ConcreteValueError, with_place
from autojit.staging import pytrees
from autojit.staging.pytrees import NAMESPACE
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

#: The most alternatives of one value.
MOST = 64


class OneOf:
    """One of several objects, each with its code in this trace."""

    __slots__ = ("__aj_among__", "__aj_code__")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, code: Any, among: tuple[tuple[int, Any], ...]) -> None:
        self.__aj_code__ = code
        self.__aj_among__ = among

    def __aj_where__(self, test: Callable[[Any], Any]) -> Any:
        """Whether the object passes a test, which is applied to each alternative."""
        answers = [(code, test(x)) for code, x in self.__aj_among__]
        if any(isinstance(found, Tracer) for _, found in answers):
            return each(self, test)
        hits = [code for code, found in answers if found]
        if len(hits) in (0, len(answers)):
            return bool(hits)
        found = np.equal(self.__aj_code__, hits[0])
        for code in hits[1:]:
            found = np.logical_or(found, np.equal(self.__aj_code__, code))
        found.weak = bool
        return found

    def __repr__(self) -> str:
        return " or ".join(repr(x) for _, x in self.__aj_among__)

    def __eq__(self, other: Any) -> Any:
        return self.__aj_where__(lambda x: x == other)

    def __ne__(self, other: Any) -> Any:
        return self.__aj_where__(lambda x: x != other)

    def __bool__(self) -> bool:
        return bool(self.__aj_where__(bool))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return each(self, lambda x: getattr(x, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OneOf.__slots__:
            object.__setattr__(self, name, value)
        else:
            each(self, lambda x: setattr(x, name, value))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return each(self, lambda f: f(*args, **kwargs))

    def __getitem__(self, index: Any) -> Any:
        return each(self, lambda x: x[index])

    def __len__(self) -> int:
        return len_of(self)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(len(self))])

    def __contains__(self, x: Any) -> bool:
        return bool(self.__aj_where__(lambda mine: x in mine))

    def __format__(self, spec: str) -> str:
        raise _unknown("a text that depends on it", self)

    def __str__(self) -> str:
        raise _unknown("a text that depends on it", self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise _unknown("an array made of it", self)


def alternatives(x: OneOf) -> list[Any]:
    """The objects that it may be."""
    return [each for _, each in x.__aj_among__]


def len_of(x: OneOf) -> int:
    """``len(x)``, if it is the same for all alternatives."""
    lengths = {len(each) for _, each in x.__aj_among__}
    if len(lengths) > 1:
        raise _unknown("its length", x)
    return lengths.pop()


def _unknown(what: str, x: OneOf) -> ConcreteValueError:
    return ConcreteValueError(
        with_place(
            f"A traced condition decides which object this is, {x!r:.60}, so {what} would be "
            "known only when the compiled code runs. Compare it instead:\n"
            "    if kind == 'b': ...",
            user_source(),
        )
    )


def each(x: OneOf, use: Callable[[Any], Any]) -> Any:
    """``use`` of the object: a branch for each alternative."""
    among = x.__aj_among__

    def from_(k: int) -> Any:
        code, alternative = among[k]
        if k == len(among) - 1:
            return use(alternative)
        return hooks.choose(
            np.equal(x.__aj_code__, code), lambda: use(alternative), lambda: from_(k + 1)
        )

    return from_(0)


def any_one_of(xs: Any) -> bool:
    """Whether any of some values is a `OneOf`."""
    return OneOf in map(type, xs)


def resolved(xs: Sequence[Any], use: Callable[..., Any]) -> Any:
    """``use(*xs)``, in branches in which the alternative of each `OneOf` among xs is known."""
    for k, x in enumerate(xs):
        if type(x) is OneOf:
            before, after = xs[:k], xs[k + 1 :]
            return each(x, functools.partial(_with_known, before, after, use))
    return use(*xs)


def _with_known(before: Any, after: Any, use: Callable[..., Any], known: Any) -> Any:
    return resolved([*before, known, *after], use)


# -- making them --------------------------------------------------------------------------


def with_codes(values: Sequence[Any]) -> list[Any]:
    """The values of one name on several ways, with codes for objects that differ."""
    parts = [optree.tree_flatten(v, is_leaf=_is_one_of, namespace=NAMESPACE) for v in values]
    leaves, structures = [part[0] for part in parts], [part[1] for part in parts]
    if any(s != structures[0] for s in structures[1:]):
        return list(values)
    columns = [coded(column) for column in zip(*leaves, strict=True)]
    if not any(type(column[0]) is OneOf for column in columns):
        return list(values)
    rows = zip(*columns, strict=True)
    return [optree.tree_unflatten(structures[0], list(row)) for row in rows]


def holds_one_of(value: Any) -> bool:
    """Whether a value is a `OneOf`, or contains one."""
    leaves = optree.tree_leaves(value, is_leaf=_is_one_of, namespace=NAMESPACE)
    return any(map(_is_one_of, leaves))


def _is_one_of(x: Any) -> bool:
    return type(x) is OneOf


def coded(column: Sequence[Any]) -> Sequence[Any]:
    """Objects on several ways, as codes if they differ and are no numbers."""
    first = column[0]
    if not all(type(x) is OneOf or _may_differ(x) for x in column):
        return column
    if type(first) is not OneOf and all(x is first or _is_equal(x, first) for x in column):
        return column
    made = [x if type(x) is OneOf else OneOf(np.int64(code), ((code, x),))
            for x in column for code in ([0] if type(x) is OneOf else [_code(x)])]  # fmt: skip
    among = tuple(sorted({c: x for one in made for c, x in one.__aj_among__}.items(), key=_first))
    if len(among) > MOST:
        raise CaptureError(
            f"One value may be any of more than {MOST} objects, the first of which is "
            f"{among[0][1]!r:.40}. Use a number instead, and look up the object after the call."
        )
    return [OneOf(one.__aj_code__, among) for one in made]


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _may_differ(x: Any) -> bool:
    """Whether a leaf is an object that a code can stand for."""
    if isinstance(x, Enum):
        return True
    is_internal = getattr(type(x), "__aj_internal__", False)
    return not pytrees.is_array(x) and (not is_internal or hasattr(type(x), "__aj_object__"))


def _is_equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (str, bytes, frozenset, range)) and a == b


def _code(x: Any) -> int:
    """The number of an object in the outermost trace."""
    trace = current_trace()
    assert trace is not None
    for code, known in enumerate(trace.coded):
        if known is x or _is_equal(known, x):
            return code
    trace.coded.append(x)
    return len(trace.coded) - 1


def recoded(code: Any, among: Sequence[tuple[int, Any]]) -> OneOf:
    """One of several objects, whose codes are those of another trace."""
    mine = [_code(x) for _, x in among]
    found: Any = np.int64(mine[-1])
    for (other, _), own in zip(among[:-1], mine[:-1], strict=True):
        found = np.where(np.equal(code, other), np.int64(own), found)
    return OneOf(found, tuple(sorted(zip(mine, (x for _, x in among), strict=True), key=_first)))


def refuse_result(leaf: Any) -> None:
    """Raise CaptureError if a result of the traced function is such an object."""
    if type(leaf) is OneOf:
        raise CaptureError(_RESULT.format(f"{leaf!r:.60}"))


_RESULT = (
    "The function returns {}, depending on a traced condition. Under `jit` alone it may return "
    "texts and members of enums, but not other objects, and derivatives and batches need numbers. "
    "Return a number, and look up the object after the call:\n"
    "    return 1 if x > 0 else 0           # then: ('b', 'a')[number]"
)


def _operator(apply: Any) -> tuple[Any, Any]:
    def forward(self: OneOf, other: Any) -> Any:
        return resolved([self, other], apply)

    def backward(self: OneOf, other: Any) -> Any:
        return resolved([other, self], apply)

    return forward, backward


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or"):
    _apply = getattr(operator, f"__{_name}__")
    for _prefix, _method in zip(("", "r"), _operator(_apply), strict=True):
        setattr(OneOf, f"__{_prefix}{_name}__", _method)
for _name in ("lt", "le", "gt", "ge"):
    setattr(OneOf, f"__{_name}__", _operator(getattr(operator, _name))[0])


def _taken_apart(x: Any) -> tuple[list[Any], Any, list[str]]:
    return [x.__aj_code__], _Among(x.__aj_among__), ["__aj_code__"]


def _put_together(among: Any, children: Any) -> Any:
    (code,) = children
    return OneOf(code, among.pairs)


class _Among:
    """The alternatives of a node, which are equal if their codes and objects are the same."""

    def __init__(self, pairs: tuple[tuple[int, Any], ...]) -> None:
        self.pairs = pairs

    def __eq__(self, other: Any) -> bool:
        mine = [(code, id(x)) for code, x in self.pairs]
        return isinstance(other, _Among) and mine == [(code, id(x)) for code, x in other.pairs]

    def __hash__(self) -> int:
        return hash(tuple(code for code, _ in self.pairs))


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = OneOf
optree.register_pytree_node(_CLASS, _taken_apart, _put_together, namespace=NAMESPACE)
