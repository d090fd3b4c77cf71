"""The outside values that a compiled function reads, and whether they have changed since tracing.

A trace keeps the numbers and arrays that it finds in global variables, in those of functions around
it and in attributes.  Their values are noted after tracing and compared at the second call, before
calls go straight to native code; while :class:`debug_stale` is on, they are compared at each call.
A changed value need not matter: the trace may have used it only for a message. So the function is
traced once more, and the warning comes only if the program differs.
"""

from __future__ import annotations

import dis
import functools
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from types import (
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import StaleValueWarning, warn_at
from autojit.session.frames import is_installed, is_of_python
from autojit.staging.execute import settings
from autojit.staging.trace_function import Traced
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

#: The number of elements compared in an array, at even distances.
SAMPLE = 4096
#: The most elements of a list or dict, functions that call each other, and levels of containers.
MOST, FUNCTIONS, DEPTH = 64, 64, 3
#: The most values looked at under one name.
LEAVES = 4096

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


class debug_stale:
    """Warn at each call of a compiled function whose numbers from outside have changed.

    Args:
        active: whether to do so, from now on and on all threads; as a context, until the block
            ends.

    A compiled function keeps the values that global variables, variables of enclosing functions,
    attributes and lists had when it was traced. By default they are compared only at the second
    call; with this, at each call, which then takes about 100 us longer.

    Warns:
        StaleValueWarning: if tracing with the present values gives another program.

    >>> import warnings
    >>> import autojit
    >>> rates = [2.0]
    >>> double = autojit.jit(lambda x: rates[0] * x)
    >>> for _ in range(2):
    ...     y = double(1.0)
    >>> rates[0] = 3.0
    >>> with autojit.debug_stale(), warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     float(double(1.0)), len(caught)
    (2.0, 1)
    """

    def __init__(self, active: bool = True) -> None:
        self._change = 1 if active else -max(settings.checks_outside, 0)
        settings.add("checks_outside", self._change)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        settings.add("checks_outside", -self._change)


class Outside:
    """The outside values of a function when it was traced; ``again`` traces it once more.

    It is created before the trace. Values that the trace changes, such as a list that the function
    appends to, are then ignored.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static: Sequence[tuple[Any, Any]],
        again: Callable[[], Traced],
    ) -> None:
        self.function = function
        self.static = static
        self.again = again
        #: The names of values that the function itself changes.
        self._own: set[str] = set()
        self.values = self._now()
        self.calls = 0

    def _now(self) -> dict[str, Mark]:
        return dict(_values(self.function, self.static))

    def settle(self) -> bool:
        """Note the values after the trace; return whether there is anything to compare."""
        now = self._now()
        self._own = {_root(n) for n in _changed(self.values, now)}
        self.values = {n: m for n, m in now.items() if _root(n) not in self._own}
        return bool(self.values)

    def is_due(self) -> bool:
        """Whether to compare at this call: at the second one, or at all calls if requested."""
        self.calls += 1
        return self.calls == 2 or (self.calls > 2 and settings.checks_outside > 0)

    def check(self, traced: Traced) -> None:
        """Warn if changed values give another program."""
        now = self._now()
        changed = [n for n in _changed(self.values, now) if _root(n) not in self._own]
        before, self.values = self.values, now
        if changed and _differ(traced, self.again):
            name = getattr(self.function, "__name__", "f")
            warn_at(user_source(), StaleValueWarning, _words(name, changed, before, now))


def _changed(before: dict[str, Mark], now: dict[str, Mark]) -> list[str]:
    return [n for n in dict.fromkeys((*before, *now)) if before.get(n) != now.get(n)]


def _root(name: str) -> str:
    return name.partition(".")[0].partition("[")[0]


def _differ(traced: Traced, again: Callable[[], Traced]) -> bool:
    """Whether a function now gives another program, or can no longer be traced."""
    try:
        anew = again()
    except Exception:
        return True
    old, new = traced.program, anew.program
    return old.bound_to(()) != new.bound_to(()) or not all(
        a is b or np.array_equal(np.asarray(a), np.asarray(b))
        for a, b in zip(old.captured, new.captured, strict=True)
    )


def _words(name: str, changed: list[str], before: dict[str, Mark], now: dict[str, Mark]) -> str:
    shown = "f" if name == "<lambda>" else name
    each = [_change(path, before.get(path), now.get(path)) for path in changed[:3]]
    many = "has" if len(changed) == 1 else "have"
    given = changed[0].partition("[")[0]
    root = given.rpartition(".")[2]
    mark = now.get(changed[0]) or before[changed[0]]
    words = (
        f"{', '.join(each)} {many} changed since {name} was traced, but the compiled code still "
        "uses the old value. "
    )
    if mark.kind is FunctionType:
        return f"{words}Compile the function again:\n    {shown} = jit({shown}.__wrapped__)"
    return (
        f"{words}Pass it as an argument:\n"
        + f"    {shown}(x, {given})".ljust(39)
        + f"# def {shown}(x, {root}): ..."
    )


def _change(path: str, before: Mark | None, now: Mark | None) -> str:
    if before is None or now is None or not (before.shown and now.shown):
        return f"`{path}`"
    return f"`{path}` ({before.shown}, now {now.shown})"


# -- the outside values -----------------------------------------------------------------


class Mark(NamedTuple):
    """A mark that distinguishes a value from others, and its text if it is short."""

    kind: Any
    value: Any
    shown: str = ""


class _Names(NamedTuple):
    """The names that code reads: of other scopes, and of attributes."""

    outer: tuple[str, ...]
    attributes: frozenset[str]


@lru_cache(maxsize=4096)
def _names(code: CodeType) -> _Names:
    outer: dict[str, None] = {}
    stored, attributes = set(), set()
    for each in _with_inner(code):
        for step in dis.get_instructions(each):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
                outer.setdefault(step.argval)
            elif step.opname in ("STORE_GLOBAL", "STORE_DEREF"):
                stored.add(step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                attributes.add(step.argval)
    return _Names(tuple(n for n in outer if n not in stored), frozenset(attributes))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _with_inner(each)


def _values(
    function: Callable[..., Any], static: Sequence[tuple[Any, Any]]
) -> Iterator[tuple[str, Mark]]:
    """The outside values of a function and the functions it calls, of a method's object, and of
    mutable static arguments, by the names they are read under."""
    given = list(_given(function, static))
    functions, attributes = _reached(function, given)
    outer = [pair for each, names in functions for pair in _outer(each, names)]
    for name, value in (*given, *outer):
        for path, inner in islice(_leaves(name, value, attributes, DEPTH), LEAVES):
            mark = _mark(inner)
            if mark is not None:
                yield path, mark


def _reached(
    function: Callable[..., Any], given: Sequence[tuple[str, Any]]
) -> tuple[list[tuple[FunctionType, _Names]], frozenset[str]]:
    """The functions that may be called, and the attributes that any of them reads."""
    waiting, seen, found = [function], set[CodeType](), []
    attributes: frozenset[str] = frozenset()
    held = list(given)
    while waiting and len(seen) < FUNCTIONS:
        each = function_of(waiting.pop())
        if each is None or each.__code__ in seen or not _is_users(each.__code__.co_filename):
            continue
        seen.add(each.__code__)
        names = _names(each.__code__)
        found.append((each, names))
        new = list(_outer(each, names))
        held += new
        if not names.attributes <= attributes:  # objects seen before may have these, too
            attributes, new = attributes | names.attributes, held
        for name, value in new:
            inner = islice(_leaves(name, value, attributes, DEPTH), LEAVES)
            waiting += [x for _, x in inner if function_of(x)]
    return found, attributes


def _given(
    function: Callable[..., Any], static: Sequence[tuple[Any, Any]]
) -> Iterator[tuple[str, Any]]:
    """The object of a method and static arguments, if they have attributes."""
    plain = function_of(function)
    if plain is None:
        return
    names = plain.__code__.co_varnames
    method = getattr(function, "__self__", None)
    given = [(names[0], method)] if method is not None and names else []
    first = len(given)
    for where, value in static:
        at = where + first if isinstance(where, int) else 0
        given.append((where if isinstance(where, str) else names[min(at, len(names) - 1)], value))
    yield from (pair for pair in given if _has_attributes(pair[1]))


def function_of(function: Any) -> FunctionType | None:
    """The user's function behind a transformation or a method."""
    if isinstance(function, (type, ModuleType)):
        return None
    for _ in range(FUNCTIONS):
        if isinstance(function, functools.partial):
            function = function.func
        inner = getattr(function, "__wrapped__", None) or getattr(function, "__func__", None)
        if inner is None:
            break
        function = inner
    return function if isinstance(function, FunctionType) else None


def _outer(function: FunctionType, names: _Names) -> Iterator[tuple[str, Any]]:
    closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in names.outer:
        if name in closure:
            try:
                yield name, closure[name].cell_contents
            except ValueError:  # not set yet
                continue
        elif name in function.__globals__:
            yield name, function.__globals__[name]


def _leaves(
    path: str, value: Any, attributes: frozenset[str], depth: int
) -> Iterator[tuple[str, Any]]:
    """The values in a container, object or module that may change, and the user's functions in its
    class."""
    if not depth:
        yield path, value
        return
    for inner_path, inner in _parts(path, value, attributes):
        if inner is value:
            yield path, value
        else:
            yield from _leaves(inner_path, inner, attributes, depth - 1)


def _parts(path: str, value: Any, attributes: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """The parts of a value; a value that is not looked into is its own only part."""
    if isinstance(value, (list, tuple, deque, set, frozenset)):
        yield from ((f"{path}[{at}]", each) for at, each in enumerate(islice(value, MOST)))
    elif isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", value[key]) for key in list(value)[:MOST])
    elif isinstance(value, functools.partial):
        yield f"{path}.func", value.func
        yield f"{path}.args", value.args
        yield f"{path}.keywords", value.keywords
    elif isinstance(value, MethodType):
        yield f"{path}.__func__", value.__func__
        yield f"{path}.__self__", value.__self__
    elif _has_attributes(value):
        names = attributes | {"__call__"}
        held = {**_of_class(value), **getattr(value, "__dict__", {})}
        for name in sorted(names & held.keys()):
            inner = held[name]
            if isinstance(inner, MemberDescriptorType):
                inner = getattr(value, name, None)
            yield f"{path}.{name}", inner.fget if isinstance(inner, property) else inner
    elif type(value).__module__.startswith("scipy."):
        slots = [n for c in type(value).__mro__ for n in getattr(c, "__slots__", ())]
        held = {n: getattr(value, n, None) for n in (*slots, *getattr(value, "__dict__", ()))}
        data = {n.removeprefix("_"): x for n, x in held.items() if _is_data(x)}
        yield from ((f"{path}.{n}", x) for n, x in data.items())
    else:
        yield path, value


def _is_data(x: Any) -> bool:
    """Whether a SciPy object holds numbers: a sparse matrix, or a spline."""
    arrays = x if isinstance(x, tuple) else (x,)
    return bool(arrays) and all(isinstance(each, np.ndarray) for each in arrays)


def _of_class(value: Any) -> dict[str, Any]:
    """The attributes of an object's class, if that is the user's."""
    if isinstance(value, (type, ModuleType)):
        return {}
    ours = [vars(c) for c in reversed(type(value).__mro__) if _is_of_user(c.__module__)]
    return {name: x for space in ours for name, x in space.items()}


def _has_attributes(value: Any) -> bool:
    """Whether a value is a user's class, an object of one, or a module of the user's."""
    if isinstance(value, ModuleType):
        return _is_users(getattr(value, "__file__", None) or "<frozen>")
    if isinstance(value, type):
        return _is_of_user(value.__module__)
    if isinstance(value, (FunctionType, MethodType)) or is_tracer(value):
        return False
    return isinstance(value, SimpleNamespace) or _is_of_user(type(value).__module__)


def _is_users(filename: str) -> bool:
    return not (is_installed(filename) or is_of_python(filename))


@lru_cache(maxsize=1024)
def _is_of_user(module: str) -> bool:
    """Whether classes of a module are the user's."""
    if module == "__main__":
        return True
    return _is_users(getattr(sys.modules.get(module), "__file__", None) or "<frozen>")


def _mark(value: Any) -> Mark | None:
    """The mark of a value; None if it cannot change, or is not looked into."""
    if is_tracer(value):
        return None
    if isinstance(value, _PLAIN):
        return Mark(type(value), value, f"{value!r:.40}")
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        step = max(1, value.size // SAMPLE)
        return Mark(np.ndarray, (id(value), value.shape, value.dtype.str, _sum(value, step)))
    if (function := function_of(value)) is not None and _is_users(function.__code__.co_filename):
        return Mark(FunctionType, function.__code__)
    return None


def _sum(array: np.ndarray, step: int) -> int:
    return zlib.crc32(array.flat[::step].tobytes())
