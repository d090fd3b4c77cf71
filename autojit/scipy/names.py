"""The answers for SciPy's functions as the user calls them, by whatever name they were imported.

A function, class or method is looked up by its identity. The table is made from the names in
`registry` when something of a SciPy module is first called.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import MethodType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from autojit.errors import AutojitError, TracingError, UncoveredFunctionError, with_place
from autojit.tracing.created_arrays import is_traced
from autojit.tracing.scipy_calls import public_name, way_out
from autojit.tracing.source import user_source

from .registry import FUNCTIONS, attribute, own


def standing_for(f: Any) -> Any:
    """The function to call in place of a function of SciPy; another f is returned as it is.

    It is the answer for traced arguments, or SciPy's own function, wrapped so that an error about
    traced arguments names it.
    """
    f = own(f)
    inner = _inner(f)
    module = getattr(inner, "__module__", None)
    if not isinstance(module, str) or not module.startswith("scipy."):
        return f
    wrapped = getattr(inner, "__wrapped__", None)
    if isinstance(wrapped, np.ufunc):  # SciPy wraps its ufuncs if SCIPY_ARRAY_API is set
        return wrapped
    table = _table(module, _loaded(module.split(".")[1]))
    found = table.get(id(f)) or table.get(id(inner))
    if found is None:
        return functools.partial(_run_uncovered, f)
    return found.bound(f)


def load(package: str) -> None:
    """Import autojit's module for a subpackage of SciPy, which registers its answers."""
    place = f"autojit.scipy.{package}"
    if place not in sys.modules and find_spec(place) is not None:
        importlib.import_module(place)


def resolved(name: str) -> Any:
    """SciPy's function of this name, if its module is loaded; else None."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 1, -1):
        module = sys.modules.get(".".join(parts[:length]))
        if module is not None:
            try:
                return attribute(module, parts[length:])
            except AttributeError:  # another version of SciPy
                return None
    return None


class _Found(NamedTuple):
    """A function of SciPy, kept alive so that its id is not reused, and the answer for it."""

    original: Any
    answer: Callable[..., Any]

    def bound(self, f: Any) -> Callable[..., Any]:
        """The answer for a function, a class, or a method with its object."""
        if f is self.original:
            return self.answer
        owner = f.__self__ if isinstance(f, MethodType) else f
        if isinstance(self.original, MethodType):  # of a public object, such as stats.dirichlet
            same = type(owner) is type(self.original.__self__)
            return self.answer if same else functools.partial(_run_uncovered, f)
        return functools.partial(self.answer, owner)


def _inner(f: Any) -> Any:
    """The function to look up: that of a method, or ``__call__`` of an object."""
    if isinstance(f, MethodType):
        return own(f.__func__)
    if isinstance(f, type) or not type(f).__module__.startswith("scipy."):
        return f
    called = getattr(type(f), "__call__", None)  # noqa: B004
    return f if called is None or hasattr(f, "__name__") else own(called)


def _loaded(package: str) -> int:
    """Load the answers for a package; return the number of all answers."""
    load(package)
    return len(FUNCTIONS)


@functools.cache
def _table(module: str, count: int) -> dict[int, _Found]:
    """The answers for the functions of the module's subpackage, by their ids.

    For a private subpackage of SciPy, these are all answers.
    """
    package = module.split(".")[1]
    prefix = "scipy." if package.startswith("_") else f"scipy.{package}."
    table = {}
    for name, answer in FUNCTIONS.items():
        if name.startswith(prefix):
            f = resolved(name)
            if f is not None:
                key = _inner(f) if isinstance(f, MethodType) else f
                table[id(key)] = _Found(f, answer)
    return table


def _run_uncovered(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call SciPy's own function; an error about traced arguments names the function."""
    if not is_traced((args, kwargs)):
        return f(*args, **kwargs)
    try:
        return f(*args, **kwargs)
    except Exception as error:
        if isinstance(error, AutojitError) and not _is_about_scipy(error):
            raise
        raise _refusal(f, error) from error


def _is_about_scipy(error: AutojitError) -> bool:
    """Whether the error is about the code of SciPy's own function, and names no other function."""
    return isinstance(error, TracingError) and not str(error).startswith("scipy.")


def _refusal(f: Any, error: Exception) -> UncoveredFunctionError:
    package, name = public_name(f)
    if isinstance(error, AutojitError):
        return _error_about(package, name)
    return _error_about(package, name, f" (it raises {type(error).__name__}: {error})")


def uncovered(package: str, name: str) -> NoReturn:
    """Raise the error for a function of SciPy that is not covered."""
    raise _error_about(package, name)


def _error_about(package: str, name: str, why: str = "") -> UncoveredFunctionError:
    return UncoveredFunctionError(
        with_place(
            f"scipy.{package}.{name} of traced values is not covered by autojit{why}.\n"
            f"{way_out(package, name)}",
            user_source(),
        )
    )
