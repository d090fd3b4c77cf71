"""The results of transformations: functions that know their original function."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from autojit.session.other_names import no_such_attribute
from autojit.session.tracebacks import fold
from autojit.session.uncalled import Uncalled

from .pickling import global_name
from .shown import Shown
from .signatures import (
    Reading,
    applied,
    described,
    names_of,
    other_result,
    signature_of,
    written,
)

#: The parameters of a function, those after the first, and its result.
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


#: Attributes that arrays have and functions of other libraries do not.
_OF_ARRAYS = frozenset(
    {"T", "all", "any", "argmax", "argmin", "astype", "copy", "dtype", "flatten", "item", "max",
     "mean", "min", "ndim", "ravel", "reshape", "shape", "size", "sum", "tolist", "transpose"}
)  # fmt: skip


def look_like(wrapper: Any, function: Callable[..., Any]) -> None:
    """Give a callable object the name, the docstring and the attributes of a function."""
    updated = functools.WRAPPER_UPDATES if isinstance(function, FunctionType) else ()
    functools.update_wrapper(wrapper, function, updated=updated)


class Binding(Uncalled, Generic[P, R]):
    """A callable object that becomes a method in a class, as a function does."""

    def called(self) -> tuple[str, str]:
        """Its transformations, and its arguments in brackets, as code."""
        f: Any = self
        arguments = re.sub(r", (/|\*\*?\w*)(?=[,)])", "", names_of(f))
        return written(f).replace("<lambda>", "f"), arguments

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...

    @overload
    def __get__(
        self: Binding[Concatenate[Any, Q], R], instance: object, owner: Any = None
    ) -> Callable[Q, R]: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The object itself, or bound to the instance as argument 0."""
        function: Any = self
        return self if instance is None else functools.partial(function, instance)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            owner = type(self).__name__
            if name.startswith("_"):
                words = f"{owner!r} object has no attribute {name!r}"
            elif name in _OF_ARRAYS and "__wrapped__" in vars(self):
                words = self.forgotten_call(f"has no attribute {name!r}")
            else:
                made = vars(self).get("made_of")
                of = "f" if made is None else f"{made[0].__name__}(f)"
                words = no_such_attribute(owner, name, of)
            raise AttributeError(words, name=name)


class Transformed(Shown, Binding[P, R]):
    """The result of a transformation: call it like the function.

    It pickles by its name if it has one in its module, else as ``transform(function, **settings)``.
    """

    def __init__(
        self,
        transform: Callable[..., Any],
        function: Callable[..., Any],
        settings: dict[str, Any],
        call: Callable[P, R],
        reading: Reading = other_result,
    ) -> None:
        look_like(self, function)
        self.__doc__ = described(transform, function)
        self.__annotations__: dict[str, Any] = {}  # those of `__signature__` are other ones
        #: The transformation, the function and the settings.
        self.made_of: tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]] = (
            transform, function, settings,
        )  # fmt: skip
        self._call = call
        self._reading = reading

    @property
    def __signature__(self) -> inspect.Signature:
        found = signature_of(self.made_of[1])
        if found is None:
            raise AttributeError("__signature__")
        return self._reading(found)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return self._call(*args, **kwargs)
        except Exception as error:
            fold(error)
            raise

    def __repr__(self) -> str:
        return f"<{self.written()}{names_of(self)}>"

    def written(self) -> str:
        """Its transformations as code: ``grad(loss, argnums=1)``."""
        return applied(*self.made_of)

    def __reduce__(self) -> Any:
        return global_name(self) or (_made, self.made_of)


def _made(transform: Callable[..., Any], function: Any, settings: dict[str, Any]) -> Any:
    return transform(function, **settings)
