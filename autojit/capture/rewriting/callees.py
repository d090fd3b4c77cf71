"""The replacement of a callee: the twin of a user's function, the answer for a function of SciPy's,
or the callee itself."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from autojit.callbacks import testing_calls
from autojit.scipy.names import standing_for
from autojit.tracing.running.as_written import answering, guarded

from .generators import pushed, resumed
from .twins import GENERATOR, is_twin_code, known_reason, twin_of

#: Libraries whose functions are called as they are.
LIBRARIES = frozenset(
    ("autojit", "jax", "jaxlib", "llvmlite", "numba", "numpy", "optree", "pandas", "scipy", "torch")
)
#: Python code that uses NumPy's public names; it is traced like the user's functions.
_PLAIN_PYTHON = "numpy.polynomial."
#: Our Python versions of standard functions, which get twins.
_LIBRARY = frozenset((
    "autojit.capture.calls.numbers.library",
    "autojit.capture.lists.heaps",
    "autojit.capture.lists.library",
    "autojit.capture.lists.remembered",
))  # fmt: skip
_STANDARD = os.path.dirname(os.__file__) + os.sep
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
#: The attribute of a generator function in a twin that holds its other forms.
FORMS = "__aj_forms__"
#: The results of `is_users`, by file.
_users: dict[str, bool] = {}
#: The results of `is_installed`, by file.
_installed: dict[str, bool] = {}
_BUILTIN = BuiltinFunctionType
_object_new, _object_init = object.__new__, object.__init__


def is_users(function: FunctionType) -> bool:
    """Whether a function belongs neither to the standard library nor to one of ``LIBRARIES``."""
    module = function.__globals__.get("__name__")
    if isinstance(module, str) and module.partition(".")[0] in LIBRARIES:
        return module.startswith(_PLAIN_PYTHON) or module in _LIBRARY
    file = function.__code__.co_filename
    known = _users.get(file)
    if known is None:
        known = _users[file] = is_users_file(file)
    return known


def is_users_file(file: str) -> bool:
    """Whether a file does not belong to the standard library."""
    if file.startswith("<frozen"):
        return False
    return not file.startswith(_STANDARD) or is_installed(file)


def is_of_library(file: str) -> bool:
    """Whether a file belongs to one of ``LIBRARIES``."""
    return any(f"{folder}{name}{os.sep}" in file for folder in _PACKAGES for name in LIBRARIES)


def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package."""
    known = _installed.get(file)
    if known is None:
        known = _installed[file] = any(part in file for part in _PACKAGES)
    return known


def converted(function: Any, runtime: type) -> Any:
    """The function that is called in place of a callee, with the same arguments."""
    kind = type(function)
    if kind is _BUILTIN:
        return standing_for(function)
    found = _CONVERT.get(kind, _object)(function, runtime)
    return standing_for(function) if found is function else found


def handing_on(function: FunctionType, runtime: type) -> Any:
    """The form of a generator function that calls ``__aj_consume__`` with each value it yields;
    None if it has no such form."""
    return _form(function, runtime, 0)


def resuming(function: FunctionType, runtime: type) -> Any:
    """The form of a generator function that is left at each ``yield``; None if it has none."""
    return _form(function, runtime, 1)


def _form(function: FunctionType, runtime: type, number: int) -> Any:
    made = getattr(function, FORMS, None)
    if made is not None:
        return made[number]
    if is_twin_code(function.__code__) or not is_users(function):
        return None
    return twin_of(function, runtime, form=(pushed, resumed)[number])


def _function(function: FunctionType, runtime: type, owner: Any = None) -> Any:
    """The twin of a function; ``owner`` is the class of its object if it is a method."""
    if function.__code__.co_flags & GENERATOR or is_twin_code(function.__code__):
        return function
    if not is_users(function):
        if function.__module__ == testing_calls.MODULE:
            return testing_calls.on_values(function)
        wrapped = getattr(function, "__wrapped__", None)  # by `contextmanager`, for example
        if type(wrapped) is FunctionType and is_users(wrapped):
            return guarded(function, "a function of a library calls it", is_users)
        return function
    leaving = runtime.leaving(function, owner)  # type: ignore[attr-defined]
    twin = twin_of(function, runtime, leaving)
    if twin is not None:
        return twin
    reason = known_reason(function.__code__)
    return function if reason is None else answering(function, reason, is_users)


def _method(method: MethodType, runtime: type) -> Any:
    function, owner = method.__func__, method.__self__
    if type(function) is not FunctionType:
        return method
    twin = _function(function, runtime, owner if isinstance(owner, type) else type(owner))
    return method if twin is function else MethodType(twin, owner)


def _partial(function: partial[Any], runtime: type) -> Any:
    inner = converted(function.func, runtime)
    if inner is function.func:
        return function
    return partial(inner, *function.args, **function.keywords)


def _object(value: Any, runtime: type) -> Any:
    kind = type(value)
    method = getattr(kind, "__call__", None)  # noqa: B004
    if type(method) is not FunctionType:
        return value
    if isinstance(value, type):  # a class of another metaclass
        call = guarded(method, "Python calls it", is_users)
        return value if call is method else MethodType(call, value)
    twin = _function(method, runtime, kind)
    return value if twin is method else MethodType(twin, value)


def _class(cls: type, runtime: type) -> Any:
    """A constructor that calls twins, if both of its steps are Python's own or functions in
    Python; else the class."""
    if cls.__module__ == builtins.__name__:
        return cls
    new: Any = cls.__new__
    init: Any = cls.__init__  # type: ignore[misc]
    makes = new is not _object_new
    if not _is_ours_to_call(new, _object_new) or not _is_ours_to_call(init, _object_init):
        return cls
    twin_new = _function(new, runtime, cls) if makes else new
    twin_init = _function(init, runtime, cls) if init is not _object_init else init
    if twin_new is new and twin_init is init:
        return cls
    return partial(_constructed, cls, twin_new if makes else None, twin_init)


def _is_ours_to_call(step: Any, default: Any) -> bool:
    return step is default or type(step) is FunctionType


def _constructed(
    cls: Any, new: Callable[..., Any] | None, init: Any, /, *args: Any, **kwargs: Any
) -> Any:
    made = _object_new(cls) if new is None else new(cls, *args, **kwargs)
    if not isinstance(made, cls):
        return made
    if type(made) is not cls:
        init = type(made).__init__
    if init is _object_init:
        return made
    result = init(made, *args, **kwargs)
    if result is not None:
        raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
    return made


_CONVERT: dict[type, Callable[[Any, type], Any]] = {
    FunctionType: _function,
    MethodType: _method,
    partial: _partial,
    type: _class,
}
