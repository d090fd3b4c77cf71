"""The types of numbers that have another type on another way: ``y = x if x > 1 else 1``.

Compiled code gives them one type, and the user's code may ask for the one that Python would have.
So the types are noted, also those of numbers computed from such numbers, and a test whose answer
depends on the way is refused (see ``capture.values.type_tests``).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.program import Value
from autojit.ir.ops.move import reshape
from autojit.tracing.context import current_trace, outside_of_traces
from autojit.tracing.created_arrays import TracedArray, bare
from autojit.tracing.hooks import hooks
from autojit.tracing.tracer import Tracer

#: Python's operators, by the ufunc that stands for each.
_OPERATORS = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.true_divide: operator.truediv, np.floor_divide: operator.floordiv,
    np.remainder: operator.mod, np.power: operator.pow, np.negative: operator.neg,
    np.positive: operator.pos, np.absolute: operator.abs, np.invert: operator.invert,
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift, np.right_shift: operator.rshift,
}  # fmt: skip

#: The most combinations of types that are tried for one result.
_MOST = 64


def kinds_of(x: Any) -> set[type]:
    """The types that a number may have in Python, one per way that differs."""
    x = bare(x)
    if isinstance(x, Tracer) and x.owner.kinds and not (x.is_bounded or x.shape):
        found = x.owner.kinds.get(x.value)
        if found:
            return set(found)
    return {hooks.type_of(x)}


def is_boxed(x: Any) -> bool:
    """Whether a number is an array without axes for NumPy."""
    return hooks.type_of(bare(x)) is np.ndarray


def note_kinds(made: Any, leaves: Iterable[Any]) -> None:
    """Note the types of a number that is one of several, if they differ."""
    if isinstance(made, Tracer) and not made.shape:
        _note(made, set().union(*map(kinds_of, leaves)))


def note_several(made: Tracer, kinds: Iterable[type]) -> None:
    """Note the types that a number may have, if there are several."""
    found = tuple(kinds)
    if len(found) > 1:  # the value of an element of an array is recorded when it is asked for
        made.owner.note_types(made.value, found)


def _note(made: Tracer, kinds: Iterable[type]) -> None:
    found = set(kinds)
    note_several(made, found)
    if len(found) == 1 and made.base is None:
        made.own = definite(made.own)


def note_seen(made: Sequence[Tracer], kinds: Sequence[frozenset[type]]) -> None:
    """Note the types that numbers were seen with where they were made; none if there is only
    one."""
    for x, found in zip(made, kinds, strict=True):
        if found and not x.shape:
            x.boxed = x.boxed or np.ndarray in found
            _note(x, found)


def definite(value: Value) -> Value:
    """The value of a number that has one type from here on, such as ``float(y)``."""
    trace = current_trace()
    while trace is not None:
        if value in trace.kinds:
            return reshape(value, shape=())
        trace = trace.around
    return value


def are_noted(operands: Iterable[Any]) -> bool:
    """Whether the type of an operand depends on the way."""
    for x in operands:
        x = x.tracer if type(x) is TracedArray else x
        if isinstance(x, Tracer):
            if x.owner.kinds and len(kinds_of(x)) > 1:
                return True
        elif isinstance(x, (tuple, list)) and are_noted(x):
            return True
    return False


def note_operator(result: Any, ufunc: Any, operands: Sequence[Any]) -> None:
    """Note the types of the result of Python's operator that a ufunc stands for."""
    if are_noted(operands):
        note_call(result, _OPERATORS.get(ufunc, ufunc), operands, {})


def note_call(
    result: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Note the types of a function's results, which may depend on those of its arguments: the
    function is called with a value of each type."""
    made = result if isinstance(result, tuple) else (result,)
    if not any(isinstance(x, Tracer) and not x.shape for x in made):
        return
    names, given = list(kwargs), [*args, *kwargs.values()]
    combinations = itertools.islice(itertools.product(*map(_samples, given)), _MOST)
    found: list[list[type]] = []
    with outside_of_traces(), np.errstate(all="ignore"):
        for each in combinations:
            by_name = dict(zip(names, each[len(args) :], strict=True))
            found.append(_types(function, each[: len(args)], by_name))
    for k, x in enumerate(made):
        if isinstance(x, Tracer) and not x.shape and not any(x is each for each in given):
            _note(x, {types[k] for types in found if k < len(types)} | {hooks.type_of(x)})


def _types(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[type]:
    """The types of the results; none where Python raises an error."""
    try:
        result = function(*args, **kwargs)
    except Exception:
        return []
    return [type(x) for x in (result if isinstance(result, tuple) else (result,))]


def _samples(x: Any) -> list[Any]:
    """A value of each type that an operand may have."""
    x = bare(x)
    if isinstance(x, Tracer) and not x.shape:
        return [_sample(kind, x.dtype) for kind in kinds_of(x)]
    if isinstance(x, (Tracer, np.ndarray)):
        return [np.broadcast_to(np.ones((), x.dtype), x.shape)]
    if isinstance(x, (tuple, list)):
        return list(map(type(x), itertools.product(*map(_samples, x))))
    return [x]


def _sample(kind: type, dtype: np.dtype) -> Any:
    return np.ones((), dtype) if kind is np.ndarray else kind(1)
