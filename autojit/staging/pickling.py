"""Pickles of transformed functions: by name, by parts, or by their traced programs.

Native code is not part of a pickle.  The process that loads it finds the code in the cache on
disk, or compiles it.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from autojit.errors import MissingFunctionError

#: Modules that pickle functions by value, under the names by which their users load them.
LIBRARIES = ("cloudpickle", "joblib.externals.cloudpickle", "ray.cloudpickle")


def global_name(thing: Any) -> str | None:
    """The name under which an object's module has it; None if that name is something else.

    Definitions of a script or notebook have no name in other processes, unless these load the same
    script, as with ``multiprocessing``. Libraries that pickle by value do not need the name.
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module == "__main__" and _cloudpickle() is not None:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is thing else None


class ByValue(NamedTuple):
    """A function that a library has pickled with its code."""

    data: bytes


def portable(function: Callable[..., Any]) -> Any:
    """The function, or its bytes by a loaded library; None if it does not pickle."""
    if pickles(function):
        return function
    library = _cloudpickle()
    if library is None:
        return None
    try:
        return ByValue(library.dumps(function))
    except Exception:  # whatever the function holds on to may raise
        return None


def loaded(function: Any, name: str) -> Callable[..., Any]:
    """The function from :func:`portable`'s result, or one whose call reports that it is missing."""
    if isinstance(function, ByValue):
        made: Callable[..., Any] = pickle.loads(function.data)
        return made
    return Missing(name) if function is None else function


class Missing:
    """A placeholder for a function that could not be pickled."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __reduce__(self) -> NoReturn:
        raise pickle.PicklingError(f"the code of {self.__name__} is missing")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise MissingFunctionError(
            f"{self.__name__} was pickled without its Python function, which pickle finds by "
            "name only: it is a lambda or is defined inside another function. The pickle "
            "contains the programs that had been traced, but none of them fits this call.\n"
            "Define the function at the top level of a module, or call it once with arguments "
            "of these types before it is pickled."
        )


def pickles(thing: Any) -> bool:
    """Whether an object can be pickled."""
    try:
        pickle.dumps(thing)
    except Exception:  # PicklingError, AttributeError, TypeError, and what its own methods raise
        return False
    return True


def _cloudpickle() -> Any:
    return next((sys.modules[name] for name in LIBRARIES if name in sys.modules), None)
