"""SciPy's functions and methods, for code that has no twin: stand-ins replace them.

A twin finds the answer by the function itself (see `autojit.scipy.names`). Code without source
finds stand-ins in SciPy's public modules and classes while any thread traces. A stand-in answers if
an argument is traced. Otherwise it is SciPy's own function, also in threads that do not trace, and
for everything that SciPy calls itself. Only public modules and classes that are loaded are touched.
"""

from __future__ import annotations

import functools
import pkgutil
import sys
from collections.abc import Callable
from types import FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import Any

import autojit.scipy
from autojit.capture.values.table import METHODS
from autojit.scipy.names import load, resolved
from autojit.scipy.registry import FUNCTIONS, OWN, own
from autojit.tracing.context import current_trace

from .listed import take_lists
from .name_patching import Names, StandIn


class Answered(StandIn):
    """Stands for a function or a class in a module."""

    def __init__(self, original: Any, answer: Callable[..., Any]) -> None:
        super().__init__(original)
        self.answer = answer
        setattr(self, OWN, original)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        f = self.original if current_trace() is None else self.answer
        return f(*args, **kwargs)

    # If the original is a class, instances and subclasses are those of it.
    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, self.original)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(own(kind), self.original)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.original,)


def _method(original: Any, answer: Callable[..., Any]) -> Any:
    """Stands for a method of a class; its answer gets the object first."""

    @functools.wraps(original)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        f = original if current_trace() is None else answer
        return f(self, *args, **kwargs)

    setattr(method, OWN, original)
    return method


def _of_object(original: Any, answer: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """The same for a public object; its answer gets the arguments alone."""

    def answered(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if type(self) is kind:
            return answer(*args, **kwargs)
        return original(self, *args, **kwargs)

    return answered


class _Methods:
    """Methods of one class that are replaced."""

    def __init__(self, kind: type, stand_ins: dict[str, Any]) -> None:
        self._kind = kind
        self._stand_ins = stand_ins
        self._originals = {name: vars(kind)[name] for name in stand_ins}

    def install(self) -> None:
        self._put(self._originals, self._stand_ins)

    def restore(self) -> None:
        self._put(self._stand_ins, self._originals)

    def _put(self, present: dict[str, Any], wanted: dict[str, Any]) -> None:
        found = vars(self._kind)
        for name, value in wanted.items():
            if found.get(name) is present[name]:  # nobody else has changed it
                setattr(self._kind, name, value)


class ScipyNames:
    """All stand-ins, for the modules that are loaded when a trace begins, or are imported in it."""

    def __init__(self) -> None:
        self._ready: frozenset[str] = frozenset()
        self._loaded: frozenset[str] = frozenset()
        self._known = 0
        self._places: list[Names | _Methods] = []
        self._installed: list[Names | _Methods] = []

    def prepare(self) -> None:
        """Import the answers for the modules that are loaded."""
        loaded = (_packages() | _owners(len(FUNCTIONS))) & sys.modules.keys()
        if loaded != self._ready:
            for name in loaded:
                load(name.split(".")[1])
                if name == "scipy.special":
                    take_lists(sys.modules[name])
            self._ready = (loaded | _owners(len(FUNCTIONS))) & sys.modules.keys()

    def install(self) -> None:
        """Put the stand-ins in place; if they are, add those of modules that were loaded since."""
        ready, known = self._ready, len(FUNCTIONS)
        if known != self._known and not self._installed:
            self._loaded, self._places, self._known = frozenset(), [], known
        if ready != self._loaded:
            self._places = [*self._places, *_places(ready - self._loaded)]
            self._loaded = ready
        for place in self._places[len(self._installed) :]:
            place.install()
        self._installed = self._places

    def restore(self) -> None:
        for place in self._installed:
            place.restore()
        self._installed = []


@functools.cache
def _packages() -> frozenset[str]:
    """The subpackages of SciPy for which autojit has functions."""
    found = pkgutil.iter_modules(autojit.scipy.__path__)
    return frozenset(f"scipy.{module.name}" for module in found)


@functools.cache
def _owners(count: int) -> frozenset[str]:
    """The modules and classes of the functions that have answers, ``count`` in number."""
    return frozenset(name.rpartition(".")[0] for name in FUNCTIONS)


def _module_of(name: str) -> str:
    """The innermost loaded module that a name lies in."""
    owner = name.rpartition(".")[0]
    while owner and owner not in sys.modules:
        owner = owner.rpartition(".")[0]
    return owner


def _places(loaded: frozenset[str]) -> list[Names | _Methods]:
    """The loaded modules and their classes, with their stand-ins."""
    functions: dict[str, dict[str, Any]] = {}
    methods: dict[type, dict[str, Any]] = {}
    for name, answer in FUNCTIONS.items():
        f = resolved(name) if _module_of(name) in loaded else None
        owner, _, last = name.rpartition(".")
        if f is None or "._" in owner:
            continue
        if isinstance(sys.modules.get(owner), ModuleType):
            functions.setdefault(owner, {})[last] = functools.partial(Answered, answer=answer)
        else:
            _add_method(methods, f, answer, owner, last)
    makers = [Names(sys.modules[module], table) for module, table in functions.items()]
    return [*makers, *(_Methods(kind, table) for kind, table in methods.items())]


def _add_method(
    methods: dict[type, dict[str, Any]], f: Any, answer: Any, owner: str, name: str
) -> None:
    """Note the stand-in for a method in the class that defines it."""
    inner = f.__func__ if isinstance(f, MethodType) else f
    kind = type(f.__self__) if isinstance(f, MethodType) else resolved(owner)
    if type(inner) is MethodDescriptorType:  # a class written in C: only twins see the answer
        METHODS[kind, name] = lambda call, self, *args, **kwargs: answer(self, *args, **kwargs)
        return
    for base in kind.__mro__:
        if own(vars(base).get(name)) is inner and type(inner) is FunctionType:
            if isinstance(f, MethodType):
                answer = _of_object(inner, answer, kind)
            methods.setdefault(base, {})[name] = _method(inner, answer)
