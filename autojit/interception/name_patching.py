"""Names of NumPy's modules that are replaced while a function is traced."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from operator import itemgetter
from types import ModuleType
from typing import Any


class StandIn:
    """Called in place of a NumPy function, and equal to it in tables of functions."""

    original: Any

    def __init__(self, original: Any) -> None:
        functools.update_wrapper(self, original)  # type: ignore[arg-type]
        self.original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["original"], name)

    def __repr__(self) -> str:
        return repr(self.original)

    def __eq__(self, other: object) -> bool:
        return other is self or other == self.original

    def __hash__(self) -> int:
        return hash(self.original)

    # If the original is a class: instances are its instances, and subclasses derive from it.
    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.original)

    def __subclasscheck__(self, subclass: Any) -> bool:
        return issubclass(subclass, self.original)

    def __mro_entries__(self, bases: Any) -> tuple[Any, ...]:
        return (self.original,)

    def __reduce__(self) -> Any:
        """Pickle by name while the name leads here, else as the function itself."""
        name: str = self.original.__name__
        module = sys.modules.get(getattr(self.original, "__module__", None) or "numpy")
        return name if getattr(module, name, None) is self else (_itself, (self.original,))


def _itself(function: Any) -> Any:
    return function


#: Makes a stand-in for a function.
Maker = Callable[[Any], StandIn]


class Names:
    """Names of one module, and their stand-ins.

    Names that someone else has rebound in the meantime are left alone.
    """

    def __init__(self, module: ModuleType, makers: dict[str, Maker]) -> None:
        self._space = vars(module)
        self._makers = makers
        first, *others = makers
        self._values = itemgetter(first, *(others or [first]))  # a tuple even for one name
        self._originals: dict[str, Any] = {}
        self._stand_ins: dict[str, StandIn] = {}
        self._before: tuple[Any, ...] = ()
        self._during: tuple[StandIn, ...] = ()

    def install(self) -> None:
        found = self._values(self._space)
        if found != self._before:  # one C call, which looks at identities first
            self._before = found
            self._originals = dict(zip(self._makers, found, strict=False))
            self._stand_ins = {name: self._makers[name](f) for name, f in self._originals.items()}
            self._during = self._values(self._stand_ins)
        self._space.update(self._stand_ins)

    def restore(self) -> None:
        if self._values(self._space) == self._during:
            self._space.update(self._originals)
            return
        for name, stand_in in self._stand_ins.items():
            if self._space.get(name) is stand_in:
                self._space[name] = self._originals[name]
