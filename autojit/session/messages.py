"""Messages of exceptions that name traced values.

While a function is traced, a text shows the type of a traced value: ``Tracer<f64[]>``. In the
message of an exception, characters without width in front of the type number the value. The
exception that compiled code raises gets its arguments anew, with the values.

The form of an argument is a tuple of parts: a text is ``("text", part, …)``, in which a part is a
string or ``(k, kind, how)``; another argument is ``("value", k, kind)`` or ``("known", object)``.
``("outside", extents, axes)`` is NumPy's text about indices that are out of bounds.
``("raised", own, (name, argument)…)`` in front says that the exception is of the class ``own.kind``
of the user's, and has these attributes.
``k`` is the position of the value, ``kind`` is ``"float"``, ``"int"``, ``"bool"`` or ``"complex"``
for Python's numbers, ``"array"`` or ``"scalar"`` for NumPy's, and ``how`` is ``"!r"``, ``"!s"``, a
format such as ``":.3f"``, or a format such as ``"%.3f"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.errors import FAILURES, OUT_OF_BOUNDS
from autojit.ir.core.declaration import full
from autojit.ir.core.host import HostFunction
from autojit.ir.core.locks import Lock
from autojit.ir.core.program import (
    Builder,
    Op,
    Program,
    Source,
    Value,
    building,
    current_builder,
)
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import bitwise_and, convert, ge, lt, select
from autojit.ir.ops.callback import callback
from autojit.ir.ops.checks import Reported
from autojit.ir.ops.index import out_of_bounds
from autojit.ir.ops.move import broadcast
from autojit.ir.ops.reduce import all_
from autojit.ir.regions.switch import switch

#: The digits 0 and 1, and the end of a number: characters without width.
_ZERO, _ONE, _END = "\u2061", "\u2062", "\u2063"
_MARK = re.compile(f"([{_ZERO}{_ONE}]+){_END}(Tracer<[^>]*>)")
_PYTHONS = {"bool": bool, "complex": complex, "float": float, "int": int}

Form = tuple[Any, ...]


def marked(number: int, text: str) -> str:
    """The text of a traced value's type, with the number of the value.

    >>> from autojit.session.messages import marked, split
    >>> list(split("x is " + marked(6, "Tracer<f64[]>") + "!"))
    ['x is ', (6, 'Tracer<f64[]>'), '!']
    """
    return f"{number:b}".replace("0", _ZERO).replace("1", _ONE) + _END + text


def split(text: str) -> Iterator[str | tuple[int, str]]:
    """The parts of a text: strings, and the numbers of values with the texts of their types."""
    end = 0
    for found in _MARK.finditer(text):
        if found.start() > end:
            yield text[end : found.start()]
        digits = found[1].replace(_ZERO, "0").replace(_ONE, "1")
        yield int(digits, 2), found[2]
        end = found.end()
    if end < len(text):
        yield text[end:]


def unmarked(text: str) -> str:
    """The text without numbers of values."""
    return _MARK.sub(r"\2", text)


def written(value: Any, how: str) -> str:
    """The text of a value.

    >>> from autojit.session.messages import written
    >>> written(0.125, ":.2f"), written(0.125, "%5.1f"), written("a", "!r")
    ('0.12', '  0.1', "'a'")
    """
    if how == "!r":
        return repr(value)
    if how == "!s":
        return str(value)
    return format(value, how[1:]) if how[0] == ":" else how % (value,)


def made_of(form: Form, values: Sequence[Any]) -> Exception | None:
    """The exception of a user's class; None if it is one of Python's."""
    kind = _kind(form)
    if kind is None:
        return None
    given, attributes = arguments(form, values), form[0][2:]
    base: Any = next(each for each in kind.__mro__ if each.__module__ == "builtins")
    made: Exception = base.__new__(kind, *given)
    made.args = given
    for name, argument in attributes:
        vars(made)[name] = _argument(argument, values)
    return made


def arguments(form: Form, values: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of an exception.

    >>> from autojit.session.messages import arguments
    >>> form = ("text", "x = ", (0, "float", ":.1f")), ("value", 1, "int"), ("known", None)
    >>> arguments(form, [np.float64(2.0), np.int64(3)])
    ('x = 2.0', 3, None)
    """
    found = tuple([_argument(each, values) for each in form if each[0] != "raised"])
    if form and form[0][0] == "raised" and _kind(form) is None:
        texts = " ".join(map(str, found))
        return (f"{form[0][1]}: {texts}" if found else str(form[0][1]),)
    return found


def _kind(form: Form) -> type[Exception] | None:
    is_own = bool(form) and form[0][0] == "raised"
    return getattr(form[0][1], "kind", None) if is_own else None


def _argument(form: Form, values: Sequence[Any]) -> Any:
    if form[0] in ("tuple", "list"):
        items = [_argument(each, values) for each in form[1:]]
        return items if form[0] == "list" else tuple(items)
    if form[0] == "outside":
        return out_of_bounds(values, *form[1:])
    if form[0] == "known":
        return form[1]
    if form[0] == "value":
        return _value(values[form[1]], form[2])
    parts = [
        part if isinstance(part, str) else written(_value(values[part[0]], part[1]), part[2])
        for part in form[1:]
    ]
    return "".join(parts)


def _value(array: Any, kind: str) -> Any:
    if kind in _PYTHONS:
        return _PYTHONS[kind](array[()])
    return np.array(array) if kind == "array" else np.asarray(array)[()]


# -- after an error -----------------------------------------------------------------------


class Report(NamedTuple):
    """The arguments of an exception, with the values at the first step at which its check fails."""

    #: The exception as compiled code raises it.
    failure: tuple[str, str]
    source: Source | None
    arguments: tuple[Any, ...]
    #: The exception, if it is of a user's class.
    own: Exception | None


def report_of(params: dict[str, Any], source: Source | None, operands: Sequence[Any]) -> Report:
    """The report of a ``reported`` op that has these operands, of which the first is false."""
    holds, *values = operands
    first = np.unravel_index(np.argmin(holds), np.shape(holds))
    values = [np.asarray(x)[first] for x in values]
    form = params["form"]
    return Report(params["failure"], source, arguments(form, values), made_of(form, values))


class _Found(Exception):
    """Ends the run of a program once the report of its error is known."""


class _Reporter(HostFunction):
    """Keeps the report of an op in compiled code."""

    def __init__(self, params: dict[str, Any], source: Source | None) -> None:
        super().__init__("report")
        self.params, self.source = params, source

    def call(self, arrays: Sequence[Any], types: Sequence[Type]) -> list[np.ndarray]:
        if self.params["failure"] == _run.failure:
            if _run.report is None:
                _run.report = report_of(self.params, self.source, arrays)
            raise _Found
        return [np.array(True)]


class _Run:
    """The run of a program that reports why it fails."""

    failure: tuple[str, str] | None = None
    report: Report | None = None


_run, _lock = _Run(), Lock()
_BOOL, _INDEX = Type(np.dtype(np.bool_), ()), np.dtype(np.int64)
#: The failure of an index that is out of bounds.
OUTSIDE = FAILURES[OUT_OF_BOUNDS]


def report_by(run: Callable[[], object], failure: tuple[str, str]) -> Report | None:
    """The first report of a failure in a run of a program that :func:`reporting` has made."""
    with _lock:
        _run.failure, _run.report = failure, None
        try:
            run()
        except Exception:  # it fails, as it did before
            return _run.report
        return None


def reporting(program: Program) -> Program:
    """The program with a call of Python where a check fails whose values a message names, and where
    an index is out of bounds. The calls change no results."""
    builder = Builder()
    new = {v: v for v in program.inputs}
    with building(builder):
        for op in program.ops:
            with builder.at(op.source):
                results = _reported(op, [new[v] for v in op.operands])
            new.update(zip(op.results, results, strict=True))
    return program.with_body(builder.ops, [new[v] for v in program.outputs])


def _reported(op: Op, operands: list[Value]) -> Sequence[Value]:
    """Emit an op, and the calls that report why it fails."""
    if isinstance(op.kind, Reported):
        holds = operands[0]
        told = _told(op.params, op.source, operands)
        return [bitwise_and(holds, broadcast(told, shape=holds.shape, dims=()))]
    places = op.kind.in_range(op)
    if places:
        count = len(places)
        bounds = [extent for _, extent in places]
        operands = [*operands[:-count], *_indices(op, operands[-count:], bounds)]
    params = {name: _inside(value) for name, value in op.params.items()}
    return current_builder().emit(op.kind, operands, params)


def _indices(op: Op, indices: Sequence[Value], bounds: Sequence[int]) -> list[Value]:
    """The indices of an op, reported if they are out of bounds."""
    inside = full(True, _BOOL)
    for index, bound in zip(indices, bounds, strict=True):
        inside = bitwise_and(inside, _all(bitwise_and(ge(index, 0), lt(index, bound))))
    form = (("outside", tuple(bounds), op.params["axes"]),)
    told = _told({"failure": OUTSIDE, "form": form}, op.source, [inside, *indices])
    return [select(broadcast(told, shape=i.shape, dims=()), i, full(0, i.type)) for i in indices]


def _told(params: dict[str, Any], source: Source | None, operands: Sequence[Value]) -> Value:
    """True, after a call of Python if the first operand is not."""
    types = [v.type for v in operands]
    calls, goes_on = Builder(), Builder()
    with building(calls):
        inputs = [Value(t) for t in types]
        reporter = {"function": _Reporter(params, source), "types": (_BOOL,), "batch": ()}
        made = calls.emit(callback, inputs, {**reporter, "vmap": "sequential"})
    others = [Value(t) for t in types]
    with building(goes_on):
        nothing = [full(True, _BOOL)]
    branches = calls.finish(inputs, made), goes_on.finish(others, nothing)
    fine = convert(_all(operands[0]), dtype=_INDEX)
    (told,) = current_builder().emit(switch, [fine, *operands], {"branches": branches})
    return told


def _all(x: Value) -> Value:
    return all_(x, axes=tuple(range(len(x.shape)))) if x.shape else x


def _inside(value: Any) -> Any:
    """A parameter, with reports in its programs."""
    if isinstance(value, Program):
        return reporting(value)
    return tuple(map(_inside, value)) if type(value) is tuple else value
