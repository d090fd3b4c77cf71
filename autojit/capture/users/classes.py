"""Special methods and properties of the user's classes, while a function is traced.

Python calls them itself, for `len(stack)`, `a + b` or `stack.count`. As they are written, they do
not know lists of traced length and the like, and would count the objects that stand for these. So
as long as functions are traced, the user's classes that are seen have methods that call twins.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from types import FrameType, FunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any
from weakref import WeakKeyDictionary

from autojit.capture.rewriting.callees import LIBRARIES, is_users, is_users_file
from autojit.errors import ConcreteValueError, with_place
from autojit.ir.core.locks import Lock
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.known import arguments_are_known, at_hand
from autojit.tracing.running import depth
from autojit.tracing.running.as_written import answering, asks_below
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

#: Special methods that stay as they are: they make objects and classes, or texts and hashes.
_PLAIN = frozenset((
    "__new__", "__init__", "__del__", "__init_subclass__", "__class_getitem__", "__set_name__",
    "__prepare__", "__mro_entries__", "__subclasshook__", "__instancecheck__",
    "__subclasscheck__", "__getattribute__", "__repr__", "__str__", "__format__", "__hash__",
    "__bytes__", "__fspath__", "__dir__", "__sizeof__", "__reduce__", "__reduce_ex__",
    "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__copy__",
    "__deepcopy__",
))  # fmt: skip
_users: WeakKeyDictionary[type, bool] = WeakKeyDictionary()

_lock = Lock()
#: The classes that have been seen, each with the user's classes among it and its bases.
_seen: dict[type, list[type]] = {}
#: What was replaced: class, name, original, replacement.
_replaced: list[tuple[type, str, Any, Any]] = []
#: The originals, by the identities of their replacements.
_originals: dict[int, Any] = {}


def is_users_class(cls: type) -> bool:
    """Whether a class is written in Python, in a module that belongs neither to Python nor to one
    of ``LIBRARIES``."""
    found = _users.get(cls)
    if found is None:
        found = _users[cls] = not _is_native(cls) and _is_users_module(cls)
    return found


def _is_native(cls: type) -> bool:
    """Whether a class has methods in C."""
    return any(
        type(x) in (WrapperDescriptorType, MethodDescriptorType) and x.__objclass__ is cls
        for x in vars(cls).values()
    )


def _is_users_module(cls: type) -> bool:
    name = cls.__module__
    if name == "types":  # also of the classes that `types.new_class` makes
        return vars(types).get(cls.__name__) is not cls
    if name == "__main__":  # whose file may be that of a debugger or a profiler
        return True
    package = name.partition(".")[0]
    file = getattr(sys.modules.get(name), "__file__", None)
    is_pythons = package in sys.stdlib_module_names if file is None else not is_users_file(file)
    return package not in LIBRARIES and not is_pythons


def users_classes(kind: type) -> list[type]:
    """The user's classes among a class and its bases."""
    return [cls for cls in kind.__mro__ if is_users_class(cls)]


def watch(kind: type) -> list[type]:
    """Let Python call twins of the special methods and properties of a class. Return the user's
    classes among this class and its bases."""
    found = _seen.get(kind)
    if found is not None:
        return found
    found = users_classes(kind)
    if current_trace() is None:
        return found
    with _lock:
        for cls in found:
            if cls not in _seen and type(cls).__setattr__ is type.__setattr__:
                for name, value in list(vars(cls).items()):
                    made = _watched(cls, name, value)
                    if made is not None:
                        _originals[id(made)] = value
                        _replaced.append((cls, name, value, made))
                        setattr(cls, name, made)
                    elif hasattr(type(value), "__get__"):
                        watch(type(value))
                _seen[cls] = [c for c in found if issubclass(cls, c)]
        _seen[kind] = found
    return found


def watch_callers() -> None:
    """Watch the classes of all objects that the user's running functions name."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_users_file(code.co_filename):
            named = (frame.f_globals.get(name) for name in code.co_names)
            for kind in {*map(type, frame.f_locals.values()), *map(type, named)}:
                watch(kind)
        frame = frame.f_back


def restore() -> None:
    """Give the classes back what they had."""
    with _lock:
        for cls, name, value, made in _replaced:
            if vars(cls).get(name) is made:
                setattr(cls, name, value)
        _replaced.clear()
        _originals.clear()
        _seen.clear()


depth.at_end.append(restore)


def seen_classes() -> frozenset[int]:
    """The identities of the classes that have been seen."""
    return frozenset(map(id, _seen))


def forget_classes(before: frozenset[int]) -> None:
    """Forget the classes of inner functions that were not seen before, since the function that has
    made them has been traced, and their functions may hold its values."""
    made = [c for c in _seen if id(c) not in before and "<locals>" in c.__qualname__]
    if not made:
        return
    with _lock:
        for cls, name, value, new in [each for each in _replaced if each[0] in made]:
            if vars(cls).get(name) is new:
                setattr(cls, name, value)
            _originals.pop(id(new), None)
        _replaced[:] = [each for each in _replaced if each[0] not in made]
        for cls in made:
            del _seen[cls]


hooks.seen_classes, hooks.forget_classes = seen_classes, forget_classes


def as_written(cls: type) -> dict[str, Any]:
    """The attributes of a class, as its author has set them."""
    return {name: _originals.get(id(value), value) for name, value in vars(cls).items()}


def _watched(cls: type, name: str, value: Any) -> Any:
    """What stands for an attribute of a class while functions are traced; None if it stays."""
    if name in _ORDER and is_generated(value) and hasattr(cls, "__dataclass_fields__"):
        return _comparing_fields(cls, name)
    if type(value) is property:
        get, put, delete = (f and _calling_twin(f) for f in (value.fget, value.fset, value.fdel))
        return property(get, put, delete, value.__doc__)
    if type(value) is functools.cached_property:
        made = functools.cached_property(_calling_twin(value.func))
        made.attrname = name
        return made
    is_special = name.startswith("__") and name.endswith("__") and name not in _PLAIN
    if type(value) is not FunctionType or not is_users(value):
        return None
    if name in _TEXTS and answering(value, _BY_PYTHON, is_users) is not value:
        return _seeing_types(value)
    return _calling_twin(value) if is_special else None


#: Methods that run as they are written, and may ask for types.
_TEXTS = frozenset(("__str__", "__repr__", "__format__", "__hash__"))


def _seeing_types(f: Any) -> Any:
    @functools.wraps(f)
    def watched(*args: Any, **kwargs: Any) -> Any:
        run = f if current_trace() is None else answering(f, _BY_PYTHON, is_users)
        return run(*args, **kwargs)

    return watched


#: The comparisons that `dataclass(order=True)` makes.
_ORDER = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt,
          "__ge__": operator.ge}  # fmt: skip


def is_generated(f: Any) -> bool:
    """Whether a function has no source because another function has made it."""
    return type(f) is FunctionType and f.__code__.co_filename == "<string>"


def _comparing_fields(cls: type, name: str) -> Any:
    """A comparison of a dataclass: that of the tuples of its fields."""
    fields: Any = cls.__dataclass_fields__  # type: ignore[attr-defined]
    names = [each.name for each in fields.values() if each.compare]

    def watched(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        pair = tuple([tuple([getattr(x, each) for each in names]) for x in (self, other)])
        if current_trace() is None or arguments_are_known():
            return _ORDER[name](*pair)
        return hooks.called(_ORDER[name], pair, {})

    return watched


#: The reason why a method has no twin where the values are known.
_BY_PYTHON = "Python calls it"


def _calling_twin(f: Any) -> Any:
    needs_number = f.__name__ in _NUMBERS

    @functools.wraps(f)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            return f(*args, **kwargs)
        if arguments_are_known() and not asks_below(f, is_users):
            return answering(f, _BY_PYTHON, is_users)(*args, **kwargs)
        found = hooks.called(f, args, kwargs)
        if needs_number and isinstance(found, Tracer):
            value = at_hand(found) if f.__name__ not in ("__float__", "__complex__") else None
            if value is not None:
                return value
            raise ConcreteValueError(with_place(_NEEDED.format(f.__qualname__), user_source()))
        return found

    return watched


#: Methods of which Python itself uses the result.
_NUMBERS = frozenset(("__len__", "__bool__", "__float__", "__int__", "__index__", "__complex__"))
_NEEDED = (
    "The result of {}, which Python takes for a number, needs a value that is not known while the "
    "function is traced.\nGive the method another name, and call it:\n"
    "    stack.height()                     # not: float(stack)"
)


def special(x: Any, name: str) -> Any:
    """A special method of an object of the user's class, as its twin. None for objects of other
    classes, and for those of a class that has not been seen."""
    found = getattr(type(x), name, None) if type(x) in _seen else None
    original = _originals.get(id(found))
    if found is not None and is_generated(original):
        return lambda *args: found(x, *args)
    return None if original is None else lambda *args: hooks.called(original, (x, *args), {})


def own_iter(x: Any) -> Any:
    """The method of an object of the user's class that gives what a loop runs through; else None.
    Python itself asks iterators, which are their own."""
    return None if hasattr(type(x), "__next__") else special(x, "__iter__")
