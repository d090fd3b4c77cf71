"""Values in the arguments of exceptions that compiled code raises.

    raise ValueError(f"{x} is negative")     ->     held = reported(x >= 0, x, form=…)

The check of an exception passes through a `reported` op, which has the values as operands. Values
that a way of a branch computes for its message leave the way by a `switch` of their own, which only
the message reads. Generated code has neither.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import TracingError
from autojit.functions.checks import failure_of, is_raised
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Op, Source, Value, current_builder
from autojit.ir.ops.arithmetic import convert
from autojit.ir.ops.checks import reported
from autojit.ir.regions.switch import switch
from autojit.protocols.kinds import note_kinds
from autojit.protocols.lifting import tracer
from autojit.session.messages import OUTSIDE, Form, marked, split, unmarked
from autojit.staging.bodies import merged
from autojit.staging.pickling import global_name
from autojit.tracing.context import Trace, active_traces, current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.running.raised import leaves_of
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .block import Block

_numbers = itertools.count(1)
_KNOWN = (str, int, float, complex, bool, type(None))


class Named(NamedTuple):
    """A traced value in a text, and how the text is made of it."""

    value: Tracer
    how: str


def _named(x: Tracer, how: str) -> str:
    """The text of a traced value in a message."""
    trace = current_trace()
    text = f"Tracer<{x.type}>"
    if trace is None:
        return text
    number = next(_numbers)
    trace.named[number] = Named(_as_now(x, trace), how)
    return marked(number, text)


def _as_now(x: Tracer, trace: Trace) -> Tracer:
    """A traced value that no assignment changes."""
    if x.is_scalar:
        return x
    made = Tracer(lift(x), trace, x.weak)
    made.boxed = True
    return made


hooks.named = _named


def raisable(error: Exception) -> Exception:
    """The exception as compiled code raises it: one of Python's own, with one message.

    A user's exception becomes the nearest of its base classes that is Python's own, and its name
    goes in front of its message. After the error, the call raises it as it is (see `reporting`).
    """
    words = unmarked(" ".join(map(str, error.args)))
    kind = _kind(error)
    if kind is not type(error):
        words = f"{type(error).__name__}: {words}" if words else type(error).__name__
    try:
        made = kind(words) if words else kind()
        failure_of(made)
    except (TypeError, TracingError):
        made = RuntimeError(f"{type(error).__name__}: {words}")
    result: Exception = made
    return result


def _kind(error: Exception) -> Any:
    return next(k for k in type(error).__mro__ if is_raised(k))


# -- forms --------------------------------------------------------------------------------


class Own(str):
    """The name of the class of a user's exception, with the class. In another process, and in a
    program that is read from text, the class may be missing: then the exception is of its base
    class, and begins with the name."""

    __slots__ = ("kind",)
    kind: type[Exception] | None

    @classmethod
    def of(cls, kind: type[Exception] | None, name: str) -> Own:
        made = cls(name)
        made.kind = kind
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is Own and str(self) == str(other) and self.kind is other.kind

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str(self), self.kind))

    def __reduce__(self) -> Any:
        return Own.of, (self.kind if global_name(self.kind) else None, str(self))


class _Values:
    """The values of a message that is being formed."""

    def __init__(self) -> None:
        self.found: list[Tracer] = []

    def add(self, x: Tracer) -> tuple[int, str]:
        """The position of a value, and its kind."""
        self.found.append(x)
        kind = "scalar" if x.is_scalar else "array"
        return len(self.found) - 1, kind if x.weak is None else x.weak.__name__


def reporting(held: Any, error: Exception, source: Source | None) -> Any:
    """The check of an exception, with the values that its arguments name."""
    values = _Values()
    form = _form_of(error, values)
    if form is None:
        return held
    failure = failure_of(raisable(error))
    with current_builder().at(source):
        operands = [lift(held), *map(lift, values.found)]
        return tracer(reported(*operands, failure=failure, form=form))


def reporting_indices(held: Any, op: Op) -> Any:
    """The check of an operation on elements of an array that nobody reads, with its indices."""
    places = op.kind.in_range(op)
    if not places:
        return held
    form = (("outside", tuple(bound for _, bound in places), op.params["axes"]),)
    indices = [index for index, _ in places]
    with current_builder().at(op.source):
        return tracer(reported(lift(held), *indices, failure=OUTSIDE, form=form))


def _form_of(error: Exception, values: _Values) -> Form | None:
    """The form of an exception's arguments; None if the exception is raised as it is."""
    given = error.args
    parts = [_form_of_argument(x, values) for x in given]
    if _kind(error) is not type(error):
        texts = [x if isinstance(x, str) else str(x) for x in given]
        known = [part or ("text", unmarked(text)) for part, text in zip(parts, texts, strict=True)]
        return (_form_of_kind(error, values), *known)
    if any(part is None for part in parts):
        return None
    is_plain = len(given) == 1 and isinstance(given[0], str) and not values.found
    return None if is_plain or not given else tuple(parts)


def _form_of_kind(error: Exception, values: _Values) -> Any:
    """The form of a user's class, with those of the exception's attributes that have one."""
    forms = {name: _form_of_argument(x, values) for name, x in vars(error).items()}
    return (
        "raised",
        Own.of(type(error), type(error).__name__),
        *((k, v) for k, v in forms.items() if v is not None),
    )


def _form_of_argument(x: Any, values: _Values) -> Form | None:
    if isinstance(x, str):
        return ("text", *(_form_of_part(part, values) for part in split(x)))
    if isinstance(x, Tracer):
        return ("value", *values.add(x)) if _is_usable(x) else None
    if type(x) in (tuple, list):
        parts = [_form_of_argument(each, values) for each in x]
        return None if None in parts else (type(x).__name__, *parts)
    return ("known", x) if isinstance(x, _KNOWN) else None


def _form_of_part(part: Any, values: _Values) -> Any:
    if isinstance(part, str):
        return part
    number, text = part
    found = _of_number(number)
    if found is None or not _is_usable(found.value):
        return text
    return (*values.add(found.value), found.how)


def _of_number(number: int) -> Named | None:
    trace = current_trace()
    assert trace is not None
    found: Named | None = trace.named.get(number)
    return found


def _is_usable(x: Tracer) -> bool:
    return x.owner.open and x.owner in active_traces() and not x.is_bounded


# -- ways of branches ---------------------------------------------------------------------


def take_out(held: Tracer, number: int, block: Block, error: Exception) -> None:
    """Take the values that a message names out of the way of a branch that raises it. ``number`` is
    the position of the way: the second is taken where ``held`` holds."""
    leaves, put = leaves_of(error)
    names = [n for n in _numbers_in(leaves) if _is_inside(_of_number(n), block)]
    places = [k for k, x in enumerate(leaves) if isinstance(x, Tracer) and x.owner is block.trace]
    trace = current_trace()
    assert trace is not None
    inner = [trace.named[n].value for n in names] + [leaves[k] for k in places]
    if not inner:
        return
    outer = [_outside(x, value) for x, value in zip(inner, _chosen(held, number, block, inner),
                                                    strict=True)]  # fmt: skip
    for n, x in zip(names, outer, strict=False):
        trace.named[n] = trace.named[n]._replace(value=x)
    for k, x in zip(places, outer[len(names) :], strict=True):
        leaves[k] = x
    put(leaves)


def _numbers_in(leaves: Sequence[Any]) -> list[int]:
    texts = [x for x in leaves if isinstance(x, str)]
    found = [part[0] for text in texts for part in split(text) if not isinstance(part, str)]
    return list(dict.fromkeys(found))


def _is_inside(named: Named | None, block: Block) -> bool:
    return named is not None and named.value.owner is block.trace


def _outside(x: Tracer, value: Value) -> Tracer:
    made = tracer(value, x.weak)
    made.boxed = x.boxed
    note_kinds(made, [x])
    return made


def _chosen(held: Tracer, number: int, block: Block, inner: Sequence[Tracer]) -> Sequence[Value]:
    """The values at the end of a way; zeros where the other way is taken."""
    outputs = block.recorded(lambda: [lift(x) for x in inner])
    mine = block.finish(outputs, "named", is_last=False)
    other = Block()
    with other.running():
        zeros = [full(0, v.type) for v in outputs]
    bodies = [mine, other.finish(zeros, "nothing")]
    programs, captured = merged(bodies if number == 0 else bodies[::-1])
    index = convert(lift(held), dtype=np.dtype(np.int64))
    return current_builder().emit(switch, [index, *captured], {"branches": tuple(programs)})
