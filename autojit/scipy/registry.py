"""The table of SciPy's functions for which autojit answers on traced arrays.

Each entry has SciPy's name and arguments. If nothing is traced, it imports and calls SciPy's own
function. `names` finds the answer when the user calls a function by SciPy's own name.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np

from autojit.errors import (
    AutojitError,
    ShapeError,
    TypeMismatch,
    UncoveredFunctionError,
    with_place,
)
from autojit.protocols.lifting import as_scalars, as_value, boxed, to_dtype, tracer
from autojit.protocols.lists import takes_arrays
from autojit.protocols.way_out import offer, their_refusal
from autojit.session.tracebacks import is_from_user
from autojit.staging.bodies import check_function
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import is_traced
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .arguments import refused

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound=type)

#: SciPy's public names -> the functions that answer for them, with the same signatures.
FUNCTIONS: dict[str, Callable[..., Any]] = hooks.scipys_functions

#: The attribute in which a stand-in holds SciPy's own function.
OWN = "__scipys_own__"


#: Functions of SciPy that return a Python float, or a tuple that begins with one.
_FLOATS = frozenset(
    [f"scipy.integrate.{name}" for name in ("dblquad", "nquad", "quad", "tplquad")]
    + [f"scipy.optimize.{name}" for name in ("bisect", "brenth", "brentq", "ridder")]
    + [f"scipy.spatial.distance.{name}" for name in ("euclidean", "seuclidean")]
    + ["scipy.interpolate.splint", "scipy.interpolate.UnivariateSpline.integral"]
)


def _as_floats(result: Any) -> Any:
    if isinstance(result, tuple):
        return (_as_floats(result[0]), *result[1:])
    is_float = isinstance(result, Tracer) and not result.shape and result.dtype.kind == "f"
    return tracer(to_dtype(as_value(result), np.float64), float) if is_float else result


def _unchanged(result: Any) -> Any:
    return result


def returns_array(function: F) -> F:
    """Mark a function from which SciPy returns an array even where it has no axes."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return boxed(result) if isinstance(result, Tracer) else result

    call.gives_array = True  # type: ignore[attr-defined]
    return cast(F, call)


def answers(
    name: str, *, tuples: tuple[str, ...] = (), callables: bool = False, always: bool = False
) -> Callable[[F], F]:
    """Register a function that answers for one of SciPy, such as ``"scipy.linalg.expm"``.

    It is called only if an argument is traced. With ``callables``, it is also called during a
    trace if an argument is a function that returns a traced value. With ``always``, it is called
    during each trace, because functions that it calls may close over traced arrays. It gets traced
    arrays instead of arrays that were written to and of lists of traced numbers; the arguments
    named in ``tuples`` stay as they are.

    A class is registered as a function that returns objects of autojit's class. A method of a class
    (``"scipy.interpolate.PPoly.__call__"``) gets SciPy's object as its first argument; a method of
    a public object (``"scipy.stats.dirichlet.logpdf"``) does not.
    """

    def register(function: F) -> F:
        traced = takes_arrays(*tuples)(function)
        gives_array = getattr(function, "gives_array", False)
        finished = _as_floats if name in _FLOATS else _unchanged

        def answered(*args: Any, **kwargs: Any) -> Any:
            try:
                result = traced(*args, **_without_defaults(name, function, kwargs))
                return result if gives_array else finished(as_scalars(result))
            except TypeMismatch as error:
                raise ShapeError(with_place(f"{name}: {error}", user_source())) from None
            except UncoveredFunctionError as error:
                raise offer(error, original(name), args, kwargs) from None
            except (TypeError, AttributeError, LookupError) as error:
                theirs = _theirs(error, name, args, kwargs)
                if theirs is None:
                    raise
                raise theirs from None

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_traced((args, kwargs)) or (always and current_trace() is not None):
                return answered(*args, **kwargs)
            if callables and _may_use_traced(args, kwargs):
                with contextlib.suppress(_TracedResultError):
                    return original(name)(*_guarded(args), **_guarded(kwargs))
                return answered(*args, **kwargs)
            return original(name)(*args, **kwargs)

        FUNCTIONS[name] = call
        return cast(F, call)

    return register


def _theirs(error: Exception, name: str, args: Any, kwargs: Any) -> Exception | None:
    """SciPy's own error if SciPy refuses the arguments too; None for errors of autojit or users."""
    if isinstance(error, AutojitError) or is_from_user(error):
        return None
    theirs = their_refusal(original(name), args, kwargs)
    if theirs is not None:
        theirs.args = (with_place(f"{name}: {theirs}", user_source()),)
    return theirs


def _without_defaults(
    name: str, function: Callable[..., Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The keywords without those that only SciPy's function has, which must have their defaults."""
    unknown = kwargs.keys() - _parameters(function).keys() if kwargs else ()
    if not unknown or any(p.kind is p.VAR_KEYWORD for p in _parameters(function).values()):
        return kwargs
    theirs = _parameters(original(name))
    for key in unknown & theirs.keys():
        if kwargs[key] is not theirs[key].default:
            raise refused(name, f"{key}= is not covered.")
    return {key: value for key, value in kwargs.items() if key not in theirs or key not in unknown}


@functools.cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _may_use_traced(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return current_trace() is not None and any(map(callable, (*args, *kwargs.values())))


def answers_class(name: str) -> Callable[[K], K]:
    """Register a class that replaces SciPy's if an object is made of traced arrays."""

    def register(kind: K) -> K:
        def make(*args: Any, **kwargs: Any) -> Any:
            return (kind if is_traced((args, kwargs)) else original(name))(*args, **kwargs)

        FUNCTIONS[name] = make
        return kind

    return register


class _TracedResultError(Exception):
    """Raised if a function with known arguments returns a traced value."""


def _guarded(x: Any) -> Any:
    """The functions, also in tuples, lists, dicts and SciPy's constraints, changed to raise if a
    result is traced."""
    if type(x) in (tuple, list):
        return type(x)(_guarded(item) for item in x)
    if type(x) is dict:
        return {key: _guarded(item) for key, item in x.items()}
    if hasattr(x, "lb"):
        return _guarded_constraint(x)
    if not callable(x) or isinstance(x, type) or hasattr(x, "matvec"):
        return x
    function = check_function(x, "argument", "a function of SciPy")

    @functools.wraps(x)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if is_traced(result):
            raise _TracedResultError
        return result

    return call


def _guarded_constraint(x: Any) -> Any:
    """A constraint or bounds of SciPy's; limits that are traced raise at once."""
    if is_traced(list(vars(x).values())):
        raise _TracedResultError
    if not hasattr(x, "fun"):
        return x
    guarded = copy.copy(x)
    guarded.fun = _guarded(x.fun)
    return guarded


@functools.cache
def original(name: str) -> Any:
    """SciPy's function, class or method of this name."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            owner = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return attribute(owner, parts[length:])
    raise AttributeError(name)


def attribute(owner: Any, path: list[str]) -> Any:
    """The attribute of an object at a path of names; never a stand-in."""
    for part in path:
        owner = own(getattr(owner, part))
    return owner


def own(f: Any) -> Any:
    """SciPy's own function if f is a stand-in for it; else f itself."""
    inner = f.__func__ if isinstance(f, MethodType) else f
    known = getattr(inner, "__dict__", None)
    found = known.get(OWN) if isinstance(known, dict) else None
    if found is None:
        return f
    return MethodType(found, f.__self__) if isinstance(f, MethodType) else found
