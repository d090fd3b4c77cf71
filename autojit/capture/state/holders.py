"""Holders of values that may change: containers, objects, cells, names of modules.

Some hold values by keys, so that a block's changes of these can become its results
(:func:`contents`, :func:`set_content`). Others only have a state, which can be compared and
restored (:data:`STATES`): a block that changes them is refused.
"""

from __future__ import annotations

import io
import random
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from autojit.capture.rewriting.callees import is_users
from autojit.capture.rewriting.plain import UNBOUND
from autojit.capture.users.classes import as_written, is_users_class
from autojit.staging.pytrees import is_dataclass
from autojit.tracing.running.asked import is_opaque, times_asked


class Names:
    """Some names of a module, as functions read and set them."""

    def __init__(self, space: dict[str, Any], names: Iterable[str]) -> None:
        self.space, self.names = space, names


class Attributes:
    """The attributes of an object that is also a list or dict."""

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space


def contents(x: Any) -> Any:
    """The contents of a holder, as a new list, set or dict."""
    for kind, copied in ((list, list), (dict, dict), (set, set)):
        if isinstance(x, kind):
            return copied(x)
    if type(x) is CellType:
        try:
            return {"cell_contents": x.cell_contents}
        except ValueError:
            return {"cell_contents": UNBOUND}
    if type(x) is Names:
        return {name: x.space[name] for name in x.names if name in x.space}
    if type(x) is Attributes:
        return dict(x.space)
    if isinstance(x, type):
        return as_written(x)
    found = dict(getattr(x, "__dict__", ()))
    for name in _slots_of(x):
        try:
            found[name] = getattr(x, name)
        except AttributeError:
            continue
    return found


def is_object(x: Any) -> bool:
    """Whether x is an object of a class of the user's, or a namespace, which holds nothing but its
    attributes."""
    kind = type(x)
    found = _objects.get(kind)
    if found is None:
        found = _objects[kind] = is_ours(x) or (has_contents(x) and _holds_attributes_only(x))
    return found


def is_ours(x: Any) -> bool:
    """Whether x is an object of a class of ours that branches and loops carry like a user's."""
    return hasattr(type(x), "__aj_object__")


def _holds_attributes_only(x: Any) -> bool:
    kind = type(x)
    if issubclass(kind, (*_MORE, *(each for each, _ in STATES))):
        return False
    if not (is_dataclass(x) or is_users_class(kind) or kind is SimpleNamespace):
        return False
    made = (vars(cls).get("__new__") for cls in kind.__mro__ if cls not in _EMPTY)
    return not any(type(new) is BuiltinFunctionType for new in made)


#: Classes in C whose objects hold nothing but attributes.
_EMPTY = (object, SimpleNamespace)
#: Types of objects that hold more than attributes, or whose objects are known by name.
_MORE = (list, dict, set, tuple, str, bytes, int, float, complex, BaseException, Enum, type)
_objects: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def is_container(x: Any) -> bool:
    """Whether x is a list, a dict, or an object of the user's class."""
    return issubclass(type(x), (list, dict)) or is_object(x)


def is_same_content(x: Any, held: Any) -> bool:
    """Whether a list, dict or object still holds the same objects."""
    if not isinstance(x, (list, dict)):
        x = contents(x)
    if len(x) != len(held):
        return False
    if isinstance(x, dict):
        return all(a is b and x[a] is held[b] for a, b in zip(x, held, strict=True))
    return all(a is b for a, b in zip(x, held, strict=True))


def name_of(x: Any, key: Any) -> str:
    """Words for a place in a holder."""
    kind = type(x).__name__
    if isinstance(x, (list, dict)):
        return f"[{key!r}] of a {kind}"
    if type(x) is CellType:
        return "a variable of an inner function"
    if type(x) is Names:
        return f"the global `{key}`"
    if is_ours(x):
        return f"the variable `{key.lstrip('.')}` of a {kind}"
    return f"the attribute `{key}` of a {kind}"


def set_content(x: Any, key: Any, value: Any) -> None:
    if isinstance(x, list):
        list.__setitem__(x, key, value)
    elif isinstance(x, dict):
        dict.__setitem__(x, key, value)
    elif type(x) in (Names, Attributes):
        x.space[key] = value
    elif type(x) is CellType:
        x.cell_contents = value  # twins read the mark of an unbound name as Python an empty cell
    elif isinstance(x, type):
        setattr(x, key, value)
    else:
        object.__setattr__(x, key, value)


def _delete(x: Any, key: Any) -> None:
    if type(x) in (Names, Attributes):
        del x.space[key]
    elif isinstance(x, type):
        delattr(x, key)
    else:
        object.__delattr__(x, key)


def put_back(x: Any, before: Any) -> None:
    """Give a holder the contents that it had."""
    if isinstance(x, list):
        list.__setitem__(x, slice(None), before)
    elif isinstance(x, (dict, set)):
        x.clear()
        x.update(before)
    else:
        now = contents(x)
        for key in now.keys() - before.keys():
            _delete(x, key)
        for key, value in before.items():
            if key not in now or now[key] is not value:
                set_content(x, key, value)


def _slots_of(x: Any) -> tuple[str, ...]:
    kind: Any = type(x)
    return _slots(kind)


def _slots(kind: Any) -> tuple[str, ...]:
    found = _known_slots.get(kind)
    if found is None:  # without a strong reference to the class, whose functions may hold values
        found = _known_slots[kind] = _slots_by_class(kind)
    return found


_known_slots: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def _slots_by_class(kind: Any) -> tuple[str, ...]:
    found: list[str] = []
    for cls in kind.__mro__:
        names = cls.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else tuple(names):
            mangled = f"_{cls.__name__.lstrip('_')}{name}"
            is_private = name.startswith("__") and not name.endswith("__")
            found.append(mangled if is_private else name)
    return tuple(name for name in found if name not in ("__dict__", "__weakref__"))


def has_contents(x: Any) -> bool:
    """Whether an object has attributes of its own, and is no library's."""
    kind = type(x)
    if kind.__module__.partition(".")[0] in ("numpy", "autojit", "builtins"):
        return is_ours(x)
    return type(getattr(x, "__dict__", None)) is dict or bool(_slots_of(x))


# -- states -----------------------------------------------------------------------------


class _State(NamedTuple):
    """The ways to take and restore the state of a kind of object (None: it cannot be restored)."""

    take: Callable[[Any], Any]
    put: Callable[[Any, Any], None] | None


def _put_array(x: Any, state: Any) -> None:
    if x.flags.writeable:
        x[...] = state


def _frame(x: GeneratorType[Any, Any, Any]) -> Any:
    frame = x.gi_frame
    if frame is None:
        return None
    return frame.f_lasti, [(name, id(value)) for name, value in frame.f_locals.items()]


def _progress(x: Any) -> Any:
    return times_asked(x), _shown_progress(x)


def _shown_progress(x: Any) -> Any:
    hint = getattr(x, "__length_hint__", None)
    if hint is not None:
        return hint()
    reduce = getattr(x, "__reduce__", None)
    try:
        return repr(x) if reduce is None else repr(reduce())
    except TypeError:
        return repr(x)


def _position(x: io.IOBase) -> Any:
    try:
        return times_asked(x), x.closed or x.tell()
    except (OSError, ValueError):  # it has no position, as a pipe
        return times_asked(x)


def _put_deque(x: Any, state: Any) -> None:
    x.clear()
    x.extend(state)


def _put_bytes(x: Any, state: Any) -> None:
    x[:] = state


def _put_generator(x: Any, state: Any) -> None:
    x.bit_generator.state = state


STATES: list[tuple[Any, _State]] = [
    (np.ndarray, _State(np.array, _put_array)),
    (np.random.Generator, _State(lambda x: x.bit_generator.state, _put_generator)),
    (np.random.RandomState, _State(lambda x: x.get_state(), lambda x, s: x.set_state(s))),
    (random.Random, _State(lambda x: x.getstate(), lambda x, s: x.setstate(s))),
    (deque, _State(tuple, _put_deque)),
    (bytearray, _State(bytes, _put_bytes)),
    (array, _State(lambda x: x[:], _put_bytes)),
    (GeneratorType, _State(_frame, None)),
    (io.IOBase, _State(_position, None)),
    (Iterator, _State(_progress, None)),
]


def state_of(x: Any) -> _State | None:
    if is_ours(x):
        return None
    found = next((state for kind, state in STATES if isinstance(x, kind)), None)
    return _CALLS if found is None and is_opaque(type(x)) else found


#: The state of an object that shows nothing: how often its methods were called.
_CALLS = _State(times_asked, None)


def same_state(a: Any, b: Any) -> bool:
    """Whether two states of an object are equal: arrays by their bits, elements by identity."""
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_state(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(x is y or same_state(x, y) for x, y in pairs)
    return a is b or (type(a) is type(b) and isinstance(a, _PLAIN) and a == b)


_PLAIN = (int, float, str, bytes, array)


# -- functions --------------------------------------------------------------------------


def of_function(f: FunctionType) -> Iterator[Any]:
    """The objects that a user's function reads and sets, besides its arguments."""
    if not is_users(f):
        for cell in f.__closure__ or ():
            yield from _inside(cell)
        return
    yield from f.__closure__ or ()
    yield from f.__defaults__ or ()
    yield from (f.__kwdefaults__ or {}).values()
    names = _names(f.__code__)
    space = f.__globals__
    yield Names(space, names)
    for name in names:
        value = space.get(name)
        if type(value) is ModuleType and _is_users_module(value):
            yield Names(vars(value), names)
    if "random" in names:
        yield from _RANDOM


def _inside(cell: CellType) -> Iterator[Any]:
    """The objects that one of our functions closes over, except iterators, which are ours; the
    objects that an iterator reads are not."""
    try:
        found = cell.cell_contents
    except ValueError:
        return
    inner: Iterable[Any] = (found,)
    if type(found) is GeneratorType:
        inner = () if found.gi_frame is None else found.gi_frame.f_locals.values()
    elif isinstance(found, (map, filter)):
        inner = found.__reduce__()[1]
    yield from (x for x in inner if is_ours(x) or not isinstance(x, Iterator))


_RANDOM = (random._inst, np.random.mtrand._rand)


@lru_cache(maxsize=2048)
def _names(code: CodeType) -> tuple[str, ...]:
    """The names in a function and in the functions inside it."""
    found = dict.fromkeys(code.co_names)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found.update(dict.fromkeys(_names(const)))
    return tuple(found)


def _is_users_module(module: ModuleType) -> bool:
    space = vars(module)
    file = space.get("__file__")
    if not isinstance(file, str):
        return False
    key = (module.__name__, file)
    known = _modules.get(key)
    if known is None:
        probe = FunctionType(compile("None", file, "exec"), {"__name__": module.__name__})
        known = _modules[key] = is_users(probe)
    return known


_modules: dict[tuple[str, str], bool] = {}


def values_of(held: Any) -> Iterable[Any]:
    """The values among a holder's contents."""
    return held.values() if isinstance(held, Mapping) else held
