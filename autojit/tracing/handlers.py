"""Finds the ``except`` in the user's code that would catch an error, from exception tables.

Since Python 3.11 a ``try`` costs nothing until something is raised: a table beside the code
(``co_exceptiontable``) says where to continue. The code there distinguishes an ``except`` from the
ends of ``with`` and ``finally``, which run and raise the error again, unless the context manager of
the ``with`` suppresses it.
"""

from __future__ import annotations

import builtins
import contextlib
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from inspect import CO_GENERATOR
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, NamedTuple


class _Entry(NamedTuple):
    """Errors raised from ``start`` up to ``end`` go on at ``target``; all in bytes."""

    start: int
    end: int
    target: int


class _Unknown(Exception):
    """The classes that a handler catches are not visible in its code."""


def handler_line(frame: FrameType, at: int, error: type[BaseException]) -> int | None:
    """The line of the ``except``, or of the ``with suppress``, in this frame's function that ends
    an error raised at an instruction; None if the error leaves the function.

    A handler that raises in any case does not end it.
    """
    code = frame.f_code
    if not code.co_exceptiontable:
        return None
    while (entry := _covering(code, at)) is not None:
        line = _Target(frame, entry).ends(error)
        if line is not None:
            return line
        cleanup = _covering(code, entry.target)
        if cleanup is None:
            return None
        at = _next(code, cleanup.target, "RERAISE")
    return None


def manager_line(frame: FrameType) -> int | None:
    """The line of a ``with`` around the present instruction of a frame, if its context manager may
    be the user's, whose ``__exit__`` may change anything."""
    code, at = frame.f_code, frame.f_lasti
    if not code.co_exceptiontable:
        return None
    while (entry := _covering(code, at)) is not None:
        line = _Target(frame, entry).leaves()
        if line is not None:
            return line
        at = entry.target
    return None


class _Target:
    """The code that a table's entry leads to."""

    def __init__(self, frame: FrameType, entry: _Entry) -> None:
        self.frame, self.entry = frame, entry
        self.code = _instructions(frame.f_code)
        self.position = _index(frame.f_code, entry.target)

    def ends(self, error: type[BaseException]) -> int | None:
        """The line of the handler that ends this error here."""
        if self.code[self.position].opname != "PUSH_EXC_INFO":
            return None  # the end of a handler, a generator or a comprehension
        self.position += 1
        first = self.code[self.position]
        if first.opname == "WITH_EXCEPT_START":
            return self._suppressed(error)
        while True:
            start = self.position
            line = _line(self.code, start)
            if self.code[start].opname == "POP_TOP":  # except:
                return None if self._raises(start) else line
            if not self._at_match():
                return None  # finally, or no other handler
            if self._matches(start, error):
                return None if self._raises(self.position) else line
            self.position = _index(self.frame.f_code, self.code[self.position].argval)

    def _at_match(self) -> bool:
        """Skip a comparison with the handler's classes, if there is one."""
        while self.code[self.position].opname in _EXPRESSION:
            self.position += 1
        found = self.code[self.position].opname in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH")
        self.position += 1
        while found and self.code[self.position].opname == "EXTENDED_ARG":
            self.position += 1  # of the jump behind a long handler
        return found

    def _matches(self, start: int, error: type[BaseException]) -> bool:
        try:
            steps = self.code[start : self.position]
            compared = next(k for k, s in enumerate(steps) if s.opname.startswith("CHECK_E"))
            values = _evaluated(self.frame, steps[:compared])
        except _Unknown:
            return True
        return any(isinstance(k, type) and issubclass(error, k) for k in _flat(values[-1:]))

    def _raises(self, position: int) -> bool:
        """Whether a handler raises unconditionally."""
        for step in self.code[position + 1 :]:
            if step.opname == "RAISE_VARARGS":
                return True
            if "JUMP" in step.opname or "RETURN" in step.opname or "RERAISE" in step.opname:
                return False
        return False

    def leaves(self) -> int | None:
        """The line of the ``with`` that is left here, if its manager may be the user's."""
        following = self.code[self.position : self.position + 2]
        if [step.opname for step in following] != ["PUSH_EXC_INFO", "WITH_EXCEPT_START"]:
            return None
        line, values, is_whole = self._managers()
        known = is_whole and values and all(map(_is_librarys, values))
        return None if known else line

    def _suppressed(self, error: type[BaseException]) -> int | None:
        """The line of a ``with`` whose manager may end this error: ``contextlib.suppress`` of it,
        and one whose ``__exit__`` returns something."""
        line, found, is_whole = self._managers()
        if contextlib.suppress in found:
            kinds = [v for v in found if isinstance(v, type)]
            return line if not is_whole or any(issubclass(error, k) for k in kinds) else None
        known = [may_end(v, error) for v in found]
        unknown = all(k is None for k in known) and any(isinstance(v, _WRITTEN) for v in found)
        return line if unknown or any(known) else None

    def _managers(self) -> tuple[int, list[Any], bool]:
        """The line of a ``with``, the values in its expressions, and whether these are all."""
        last = _index(self.frame.f_code, self.entry.start)
        while last and self.code[last].opname not in ("BEFORE_WITH", "BEFORE_ASYNC_WITH"):
            last -= 1
        line = _line(self.code, last)
        steps = [s for s in self.code[:last] if s.positions and s.positions.lineno == line]
        values: list[Any] = []
        is_whole = True
        try:
            _evaluate(self.frame, [s for s in steps if s.opname in _EXPRESSION], values)
        except _Unknown:
            is_whole = False
        return line, list(_flat(values)), is_whole


def _is_librarys(value: Any) -> bool:
    """Whether a value in the expression of a ``with`` is no manager of the user's."""
    if isinstance(value, (str, int, float, type(None))):
        return True
    module = getattr(value, "__module__", None) or type(value).__module__
    return module.partition(".")[0] in ("numpy", "contextlib", "warnings", "builtins", "autojit")


#: Types of callables that may return any context manager, such as a user's method.
_WRITTEN = (FunctionType, MethodType)


def may_end(manager: Any, error: type[BaseException]) -> bool | None:
    """Whether the expression after ``with``, or its callable, gives a context manager that may
    suppress an error: by the result of ``__exit__``, or by an ``except`` around the ``yield`` of a
    generator. None if it is not a context manager."""
    resting = getattr(getattr(manager, "gen", None), "gi_frame", None)
    if resting is not None:  # what contextlib.contextmanager makes, in the body of its `with`
        return handler_line(resting, resting.f_lasti, error) is not None
    generator = getattr(manager, "__wrapped__", None)
    code = getattr(generator, "__code__", None)
    if code is not None and code.co_flags & CO_GENERATOR:
        return _ends_at_yield(generator, error)
    kind = manager if isinstance(manager, type) else type(manager)
    leaving = getattr(kind, "__exit__", None)
    if leaving is None:
        return None
    written = getattr(leaving, "__wrapped__", leaving)
    code = getattr(written, "__code__", None)  # those in C end no error
    return code is not None and _gives_more_than_none(code)


def _gives_more_than_none(code: CodeType) -> bool:
    """Whether a function may return anything but None or False."""
    steps = [s for s in _instructions(code) if s.opname not in _SILENT]
    for before, step in zip([None, *steps], steps, strict=False):
        given = step if step.opname == "RETURN_CONST" else before
        if step.opname.startswith("RETURN_") and step.opname != "RETURN_GENERATOR":
            known = given is not None and given.opname in ("LOAD_CONST", "RETURN_CONST")
            if not known or given.argval:
                return True
    return False


class _Resting(NamedTuple):
    """A generator function as a frame that has no variables yet."""

    f_code: CodeType
    f_globals: dict[str, Any]
    f_locals: dict[str, Any]


def _ends_at_yield(function: Any, error: type[BaseException]) -> bool:
    """Whether a generator suppresses an error that is raised where it yields."""
    frame: Any = _Resting(function.__code__, function.__globals__, {})
    places = [s.offset for s in _instructions(frame.f_code) if s.opname == "YIELD_VALUE"]
    return any(handler_line(frame, at, error) is not None for at in places)


#: Instructions that name the classes of a handler.
_EXPRESSION = frozenset({
    "CACHE", "NOP", "EXTENDED_ARG", "PUSH_NULL", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_CONST",
    "LOAD_ATTR", "LOAD_METHOD", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "BUILD_TUPLE",
})  # fmt: skip
_SILENT = ("CACHE", "NOP", "EXTENDED_ARG", "PUSH_NULL")


def _evaluated(frame: FrameType, steps: Any) -> list[Any]:
    values: list[Any] = []
    _evaluate(frame, steps, values)
    if not values:
        raise _Unknown
    return values


def _evaluate(frame: FrameType, steps: Any, values: list[Any]) -> None:
    """The values that loads of names, attributes and constants leave on the stack."""
    spaces = (frame.f_locals, frame.f_globals, vars(builtins))
    for step in steps:
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if not values:
                raise _Unknown
            values.append(getattr(values.pop(), str(step.argval), None))
        elif step.opname == "LOAD_CONST":
            values.append(step.argval)
        elif step.opname == "BUILD_TUPLE":
            first = len(values) - step.argval
            values[first:] = [tuple(values[first:])]
        elif step.opname not in _SILENT:
            name = step.argval
            found = [space[name] for space in spaces if name in space]
            if not found:
                raise _Unknown
            values.append(found[0])


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


# -- code -------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _entries(code: CodeType) -> list[_Entry]:
    """The exception table: numbers in groups of six bits, the highest first."""
    found, numbers = [], _numbers(code.co_exceptiontable)
    for start, length, target, _ in zip(numbers, numbers, numbers, numbers, strict=True):
        found.append(_Entry(2 * start, 2 * (start + length), 2 * target))
    return found


def _numbers(table: bytes) -> Iterator[int]:
    number = 0
    for byte in table:
        number = number << 6 | byte & 63
        if not byte & 64:
            yield number
            number = 0


def _covering(code: CodeType, at: int) -> _Entry | None:
    return next((e for e in _entries(code) if e.start <= at < e.end), None)


@lru_cache(maxsize=64)
def _instructions(code: CodeType) -> list[Any]:
    import dis

    return list(dis.get_instructions(code))


def _index(code: CodeType, at: int) -> int:
    """The number of the instruction at or before an offset."""
    return max(0, bisect_right(_instructions(code), at, key=lambda step: step.offset) - 1)


def _next(code: CodeType, at: int, name: str) -> int:
    steps = _instructions(code)
    found = (s.offset for s in steps[_index(code, at) :] if s.opname == name)
    return int(next(found, steps[-1].offset))


def _line(steps: list[Any], position: int) -> int:
    lines = (s.positions.lineno for s in steps[position:] if s.positions and s.positions.lineno)
    return int(next(lines, 0))
