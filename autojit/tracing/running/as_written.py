"""Functions that run as they are written, since they have no twin, and that ask for types.

``isinstance``, ``x.__class__`` and ``match`` see the types of Python in any code of the user's (see
``calls.type_queries``). ``type(x)`` and ``hasattr(x, name)`` see the object that stands for a
number, and would take another branch than on the number, without an error. So such a function runs
as a copy that calls our answers in their place. A function that may call another one, which does
so, is refused for traced arguments.
"""

from __future__ import annotations

import builtins
import dis
import functools
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from autojit.errors import CaptureError, with_place
from autojit.session.frames import is_installed, is_internal
from autojit.tracing.created_arrays import is_traced
from autojit.tracing.source import user_source

IsUsers = Callable[[FunctionType], bool]

#: The functions that see the object, and the names of our answers among Python's builtins.
_ANSWERS = {"type": "__aj_type__", "hasattr": "__aj_hasattr__"}
#: The flag of `LOAD_GLOBAL` for a function that is called.
_CALLED = 1
#: The most functions that are read because the first one may call them.
_MOST = 200


class _Facts(NamedTuple):
    """The facts about a function: the query that a function below it calls, its own one, and the
    code that calls our answer to that, if there is such code."""

    below: str | None
    own: str | None
    code: CodeType | None


#: The facts about functions that have been read. They refer to nothing that a function holds.
_known: WeakKeyDictionary[FunctionType, _Facts] = WeakKeyDictionary()

_REFUSED = (
    "{name}, or a function that it calls, calls {query}(), and Python would answer for the object "
    "that stands for a traced value. The answers of autojit need the source of {name}, but "
    "{reason}. Write it as an ordinary function, in a file or a cell of a notebook."
)


def add_answer(name: str, answer: Callable[..., Any]) -> None:
    """Register the answer to one of these functions."""
    setattr(builtins, _ANSWERS[name], answer)


def answering(function: FunctionType, reason: str, is_users: IsUsers) -> Callable[..., Any]:
    """The function that runs in place of one without a twin, for a given reason."""
    facts = _facts(function, is_users)
    query = facts.below or (facts.own if facts.code is None else None)
    made = function if facts.code is None else _copy(function, facts.code)
    return made if query is None else _refusing(made, query, reason)


def asks_below(function: FunctionType, is_users: IsUsers) -> bool:
    """Whether a function may call another one that asks for types."""
    return _facts(function, is_users).below is not None


def guarded(function: FunctionType, reason: str, is_users: IsUsers) -> Callable[..., Any]:
    """A function that a library calls. If it, or one that it may call, asks for types, CaptureError
    is raised for traced arguments."""
    inner = getattr(function, "__wrapped__", function)
    facts = _facts(inner, is_users)
    query = facts.own or facts.below
    return function if query is None else _refusing(function, query, reason)


def _facts(function: FunctionType, is_users: IsUsers) -> _Facts:
    if function not in _known:
        own = _query_of(function)
        code = None if own is None else _renamed(function.__code__)
        _known[function] = _Facts(_query_below(function, is_users), own, code)
    return _known[function]


def _refusing(function: FunctionType, query: str, reason: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_traced, (*args, *kwargs.values()))):
            name = function.__name__ if function.__name__.isidentifier() else "f"
            words = _REFUSED.format(name=name, query=query, reason=reason)
            raise CaptureError(with_place(words, user_source()))
        return function(*args, **kwargs)

    return call


# -- copies ---------------------------------------------------------------------------------


def _renamed(code: CodeType) -> CodeType | None:
    """Code that calls our answers in place of `type` and `hasattr`; None if it passes one of these
    on. The code of pytest's assertions may do so."""
    raw, names = bytearray(code.co_code), list(code.co_names)
    for step in dis.get_instructions(code):
        if step.argval not in _ANSWERS or step.opcode not in dis.hasname:
            continue
        argument, is_global = step.arg or 0, step.opname == "LOAD_GLOBAL"
        if is_global and argument & _CALLED:
            answer = _ANSWERS[step.argval]
            names += [] if answer in names else [answer]
            place = names.index(answer) << 1 | _CALLED
            if (place > 0xFF) != (argument > 0xFF) or max(place, argument) > 0xFFFF:
                return None  # the instruction would need another length
            raw[step.offset + 1] = place & 0xFF
            if place > 0xFF:
                raw[step.offset - 1] = place >> 8
        elif "ATTR" not in step.opname and not any(name[:1] == "@" for name in names):
            return None
    constants: list[Any] = []
    for constant in code.co_consts:
        made = _renamed(constant) if isinstance(constant, CodeType) else constant
        if made is None and constant is not None:
            return None
        constants.append(made)
    changed = {"co_code": bytes(raw), "co_names": tuple(names), "co_consts": tuple(constants)}
    return code.replace(**changed)  # type: ignore[arg-type]


def _copy(function: FunctionType, code: CodeType) -> FunctionType:
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__dict__ = function.__dict__
    return made


# -- what functions ask -----------------------------------------------------------------------


def _query_of(function: FunctionType) -> str | None:
    """The first of these functions that a function calls itself."""
    names = _names(function)
    return next((q for q in _ANSWERS if q in names and q not in function.__globals__), None)


def _query_below(function: FunctionType, is_users: IsUsers) -> str | None:
    """The first that a function may call which this one may call."""
    waiting, seen = [function], {id(function.__code__)}
    while waiting and len(seen) < _MOST:
        f = waiting.pop()
        for called in _called(f, _names(f)):
            if id(called.__code__) in seen or not is_users(called):
                continue
            if is_installed(called.__code__.co_filename):
                continue
            query = _query_of(called)
            if query is not None:
                return query
            seen.add(id(called.__code__))
            waiting.append(called)
    return None


def _names(function: FunctionType) -> set[str]:
    """The names in a function and those inside it, but for those of pytest's assertions."""
    found = {name for code in _codes(function.__code__) for name in code.co_names}
    return {name for name in found if name[:1] != "@"}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _called(function: FunctionType, names: set[str]) -> Iterator[FunctionType]:
    """The functions that a function may call by its globals, modules and variables."""
    held = [function.__globals__.get(name) for name in names]
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not set yet
            continue
    for value in held:
        if isinstance(value, ModuleType) and not is_internal(getattr(value, "__file__", "") or ""):
            yield from _functions(vars(value).get(name) for name in names)
        elif isinstance(value, type):
            own = vars(value).items()
            yield from _functions(x for name, x in own if name in names or name[:2] == "__")
        else:
            yield from _functions([value])


def _functions(values: Iterable[Any]) -> Iterator[FunctionType]:
    return (x for x in values if type(x) is FunctionType)
