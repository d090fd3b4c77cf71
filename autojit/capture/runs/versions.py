"""The versions of the functions of a recursion, and the layout of the stack of frames.

A version is a function, a place where it begins, and the structure of the values with which it
begins (see `capture.values.records`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FrameType, MethodType
from typing import Any

from autojit.capture.rewriting.context import Site
from autojit.capture.state.joining import joined
from autojit.capture.state.kept import Same, zero
from autojit.capture.state.kinds import no_narrower
from autojit.capture.state.state import Access, with_nones
from autojit.errors import CaptureError, with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Source
from autojit.ir.core.types import Type
from autojit.protocols.lifting import tracer
from autojit.staging.trace_function import LeafType
from autojit.tracing.created_arrays import FreshArray
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .messages import MANY_VERSIONS, MAY_BE_ANOTHER
from .records import Passed, Record, Static

#: The most versions of the functions of a recursion.
MOST_VERSIONS = 64
_WAYS = "where the function returns first", "where it returns later"


def same(a: Any, b: Any) -> bool:
    """Whether two functions, or methods, are the same."""
    if type(a) is MethodType and type(b) is MethodType:
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return a is b


def refused(f: Any, words: str, **more: str) -> CaptureError:
    """The error for a recursion that cannot be a loop."""
    name = f.__name__ if f.__name__.isidentifier() else "f"
    return CaptureError(with_place(words.format(name=name, **more), user_source()))


class Version:
    """A function that begins with values of a given structure: arguments, or names at a call."""

    def __init__(
        self, function: Any, twin: Any, number: int, record: Record, callee: int
    ) -> None:  # fmt: skip
        self.function, self.twin = function, twin
        #: The number of the call at which it continues, and the version that has been called; -1 if
        #: it runs from its beginning.
        self.number, self.callee = number, callee
        self.record = record
        #: Whether it has been run, which shows the versions that follow it.
        self.is_explored = False
        #: The places of arrays among the arguments that the function changes or returns, and the
        #: types of these arrays.
        self.changed: dict[int, LeafType] = {}


class Result:
    """What a function returns."""

    def __init__(self, function: Any, record: Record) -> None:
        self.function, self.record = function, record


class Machine:
    """What is known about a recursion."""

    def __init__(self) -> None:
        #: The shapes of inner functions that the functions make (see `closures`).
        self.shapes: list[Any] = []
        #: The functions under ``functools.lru_cache`` with their tables, and one of them whose
        #: arguments cannot be keys.
        self.tables: list[Any] = []
        self.without_table: Any = None
        self.versions: list[Version] = []
        self.results: list[Result] = []
        #: Whether a step has shown more than was known before it.
        self.has_more = False
        #: Arrays from outside that frames hold copies of; and the types of arrays that frames hold
        #: in loops, where they may be arrays from outside.
        self.seen: list[Any] = []
        #: The places of the calls, in functions that may have handlers of exceptions.
        self.places: list[tuple[FrameType, int]] = []
        #: The recursive calls, by function and number; a call in a loop counts twice.
        self.calls: set[tuple[Any, Any]] = set()
        self.vague: set[Type] = set()

    def find(
        self, function: Any, twin: Any, number: int, record: Record, callee: int = -1
    ) -> int:  # fmt: skip
        """The number of a version."""
        for k, v in enumerate(self.versions):
            if v.number == number and same(v.function, function) and v.record.fits(record):
                v.record = self._joined(v.record, record)
                return k
        if len(self.versions) == MOST_VERSIONS:
            raise refused(function, MANY_VERSIONS)
        self.versions.append(Version(function, twin, number, record.bare(), callee))
        self.has_more = True
        return len(self.versions) - 1

    def _joined(self, old: Record, new: Record) -> Record:
        types = no_narrower(old.types, new.types)
        kept = old.kept | new.kept
        self.has_more |= types != old.types or kept != old.kept
        return old._replace(types=types, kept=kept)

    def has_branches(self) -> bool:
        """Whether a function calls more than once."""
        functions = [function for function, _ in self.calls]
        return len(set(functions)) < len(functions)

    def result_of(self, function: Any) -> Result | None:
        """The result of a function, if it is known."""
        return next((r for r in self.results if same(r.function, function)), None)

    def is_ready(self, version: Version) -> bool:
        """Whether a version can run: the result with which it continues is known."""
        if version.number < 0:
            return True
        return self.result_of(self.versions[version.callee].function) is not None

    def returns(self, run: Any, value: Any) -> Record:
        """Note what a function returns; the record of it."""
        function = run.version.function
        known = self.result_of(function)
        if known is None:
            record = run.saved(value, is_result=True)
            self.results.append(Result(function, record.bare()))
            self.has_more = True
            return record
        first = known.record.filled([zero(t) for t in known.record.types])[0]
        first, value = with_nones([first, value])
        with_none = run.saved(first)
        if not known.record.fits(with_none):
            known.record = with_none.bare()
            self.has_more = True
        record = run.saved(value, is_result=True)
        if not known.record.fits(record):
            if _identities(known.record) != _identities(record):
                raise refused(function, MAY_BE_ANOTHER)
            joined([known.record.tree, record.tree], "the result", user_source(), _WAYS)
            raise refused(function, MAY_BE_ANOTHER)
        known.record = self._joined(known.record, record)
        return record

    def layout(self) -> Layout:
        """The arrays of the stack, and the registers."""
        return Layout(self.versions, self.results)


def _identities(record: Record) -> list[Any]:
    """The leaves that are objects from outside, or arrays of the caller's."""
    return [leaf if type(leaf) in (Same, Passed) else None for leaf in record.tree.leaves]


class Layout:
    """The arrays of the stack: a row has the values of one frame, whichever version it is.

    A register is a number or an array that a function returns, or that it leaves in an array of its
    caller's.
    """

    def __init__(self, versions: Sequence[Version], results: Sequence[Result]) -> None:
        self.columns: list[Type] = []
        #: For each version, the columns of its values.
        self.columns_of = [self._places(v.record.types) for v in versions]
        self.registers: list[Type] = []
        #: The registers of each result, and of each array that a version changes.
        self.of_results = [self._more(r.record.types) for r in results]
        self.of_changed = [self._more(list(v.changed.values())) for v in versions]

    def _places(self, types: Sequence[LeafType]) -> list[int]:
        free = list(range(len(self.columns)))
        found = []
        for t in types:
            k = next((k for k in free if self.columns[k] == t.type), None)
            if k is None:
                k = len(self.columns)
                self.columns.append(t.type)
            else:
                free.remove(k)
            found.append(k)
        return found

    def _more(self, types: Sequence[LeafType]) -> list[int]:
        first = len(self.registers)
        self.registers += [t.type for t in types]
        return list(range(first, len(self.registers)))


# -- a function, and its arguments and names -----------------------------------------------------


class Straight:
    """A function that is called as it is, since its control flow is captured already."""

    __aj_internal__ = True

    def __init__(self, f: Callable[[], Any]) -> None:
        self._f = f

    def __call__(self) -> Any:
        return self._f()


def nothing(values: tuple[Any, ...]) -> None:
    """Set no names, as there are none."""


def access_of(f: Any, reached: Any, get: Any, put: Any, names: tuple[str, ...] = ()) -> Access:
    """The access to what a function reaches, as for a construct with some names."""
    code = getattr(f, "__func__", f).__code__
    source = Source(code.co_filename, code.co_firstlineno, code.co_name)
    every = frozenset(names)
    site = Site(
        code.co_firstlineno, "while", names, every, every, every, (), code.co_name, code.co_filename
    )
    return Access(site, get, put, lambda: reached, source)


def position(held: Any, at: Any, is_unrolled: bool) -> tuple[Any, Any, Any]:
    """What a loop runs through, and the number of steps: known if its items may be objects."""
    numbers = isinstance(held, list) and all(type(x) in (int, float) for x in held)
    if numbers and held and not is_unrolled:
        return Static(held), at, Static(False)
    is_known = type(at) is int and isinstance(held, (list, range))
    return held, Static(at) if is_known else at, Static(is_unrolled)


def flag(x: Any) -> Any:
    """The value of a name that the rewriter has made; flags are known, except in loops."""
    return Static(x) if type(x) is bool else x


def traced(x: Any) -> Any:
    """An array that a call changes, as a traced one."""
    return hooks.traced(x) if type(x) is FreshArray else x


def nothing_for(f: Any) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that are never read."""
    args, kwargs = list[Any](), dict[str, Any]()
    for name, p in inspect.signature(f, follow_wrapped=False).parameters.items():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            args.append(None)
        elif p.kind is p.KEYWORD_ONLY:
            kwargs[name] = None
    return args, kwargs


def bound(f: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """The arguments by the function's parameters, with defaults, and those with names as pairs."""
    found = inspect.signature(f, follow_wrapped=False).bind(*args, **kwargs)
    found.apply_defaults()
    return found.args, tuple(found.kwargs.items())


def stack_of(t: Type, rows: int) -> Tracer:
    """An array with a row for each frame."""
    made = tracer(full(0, Type(t.dtype, (rows, *t.shape))))
    made.boxed = True
    return made
