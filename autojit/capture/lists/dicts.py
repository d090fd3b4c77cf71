"""Dicts with optional keys: the keys that traced conditions add to them, or delete from them.

``d[k]``, ``k in d`` and the methods read and set the flag of a key. Everything that runs through a
dict runs through a generator, which asks whether each key is there.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.capture.rewriting.plain import UNBOUND
from autojit.capture.state.maybe import (
    DICTS,
    VIEWS,
    Maybe,
    has_optional,
    has_table,
    keys_of,
    known_keys,
    note_mixed,
    possible_keys,
    refuse_order,
)
from autojit.capture.state.optional import Facts, assume, flag, known_flag
from autojit.capture.users.classes import own_iter
from autojit.capture.values.scalars import python_number, truth
from autojit.protocols.lifting import as_tracer, as_value, tracer
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.known import arguments_are_known

from . import hashed, library, views
from .resumable import generator, handed_on
from .watched import State, Watched, one_by_one, refused, state_of

Call = Callable[..., Any]
_GIVEN: Any = object()


# -- one key --------------------------------------------------------------------------------


def _slot(d: dict[Any, Any], key: Any) -> Any:
    """The value of a key, unbound if it is not there, or a Maybe whose flag is not known."""
    found = d.get(key, UNBOUND)
    if type(found) is not Maybe:
        return found
    known = known_flag(found.held)
    return found if known is None else found.value if known else UNBOUND


def _is_table(d: dict[Any, Any], key: Any, *values: Any) -> bool:
    """Whether a dict is a table, or becomes one because the key is traced."""
    if has_table(d):
        return True
    if not hashed.is_key(key):
        return False
    found = [v.value if type(v) is Maybe else v for v in d.values() if v is not UNBOUND]
    if not (values or found):
        refused()
    hashed.begin(d, key, [*values, *found][0])
    return True


def contains(key: Any, d: dict[Any, Any]) -> Any:
    """``key in d``."""
    if _is_table(d, key):
        return hashed.contains(key, d)
    found = _slot(d, key)
    if type(found) is not Maybe:
        return found is not UNBOUND
    there: Facts = ((found.held, True),)
    return flag(tracer(as_value(found.held), bool), there, ((found.held, False),))


def _present(d: dict[Any, Any], key: Any, found: Maybe) -> Any:
    """The value of a key; the compiled code raises KeyError if it is not there."""
    hooks.fail_where(np.logical_not(found.held), KeyError(key))
    assume([(found.held, True)])
    return found.value


def item(d: dict[Any, Any], key: Any) -> Any:
    """``d[key]``."""
    if _is_table(d, key):
        return hashed.item(d, key, _made_for(d, key))
    found = _slot(d, key)
    is_there = found is not UNBOUND and type(found) is not Maybe
    if is_there:
        return found
    made = _made_for(d, key)
    if made is None:
        if found is UNBOUND:
            raise KeyError(key)
        return _present(d, key, found)
    return made() if found is UNBOUND else hooks.choose(found.held, lambda: found.value, made)


def _made_for(d: dict[Any, Any], key: Any) -> Callable[[], Any] | None:
    """The function that makes the value of a missing key."""
    if type(d) is Counter:
        return lambda: 0
    factory = d.default_factory if isinstance(d, defaultdict) else None
    if factory is None:
        return None

    def made() -> Any:
        value = factory()
        set_item(d, key, value)
        return value

    return made


def set_item(d: dict[Any, Any], key: Any, value: Any) -> None:
    """``d[key] = value``. A new key becomes the last one."""
    if _is_table(d, key, value):
        hashed.set_item(d, key, value)
        return
    found = _slot(d, key)
    if found is UNBOUND:
        d.pop(key, None)
    elif type(found) is Maybe:
        every = list(d.keys())
        behind = every[every.index(key) + 1 :]
        if any(d.get(k, UNBOUND) is not UNBOUND for k in behind):
            note_mixed(d)
    d[key] = value


def delete(d: dict[Any, Any], key: Any) -> None:
    """``del d[key]``."""
    _take(d, key)


def _take(d: dict[Any, Any], key: Any) -> Any:
    """The value of a key, which is deleted."""
    if _is_table(d, key):
        return hashed.take(d, key)
    found = _slot(d, key)
    if found is UNBOUND:
        raise KeyError(key)
    value = _present(d, key, found) if type(found) is Maybe else found
    _remove(d, key)
    return value


def _remove(d: dict[Any, Any], key: Any) -> None:
    d[key] = UNBOUND


# -- methods --------------------------------------------------------------------------------


def _get(call: Call, d: Any, key: Any, default: Any = None) -> Any:
    if _is_table(d, key):
        return views.METHODS["get"](call, d, key, default)
    found = _slot(d, key)
    if type(found) is Maybe:
        return hooks.choose(found.held, lambda: found.value, lambda: default)
    return default if found is UNBOUND else found


def _pop(call: Call, d: Any, key: Any, default: Any = _GIVEN) -> Any:
    if _is_table(d, key):
        return views.METHODS["pop"](call, d, key, *([] if default is _GIVEN else [default]))
    if default is _GIVEN:
        return _take(d, key)
    value = _get(call, d, key, default)
    if _slot(d, key) is not UNBOUND:
        _remove(d, key)
    return value


def _setdefault(call: Call, d: Any, key: Any, default: Any = None) -> Any:
    if _is_table(d, key, default):
        return views.METHODS["setdefault"](call, d, key, default)

    def made() -> Any:
        set_item(d, key, default)
        return default

    found: Any = _slot(d, key)
    if found is UNBOUND:
        return made()
    if type(found) is not Maybe:
        return found
    held, value = found.held, found.value
    return hooks.choose(held, lambda: value, made)


def _update(call: Call, d: Any, *others: Any, **named: Any) -> None:
    for other in (*others, named):
        if has_table(other) or type(other) is views.View:
            call(library.updated_from, d, call(other.items))
        elif has_optional(other):
            call(library.updated, d, other, _ordered(other))
        elif isinstance(other, dict):
            for key, value in other.items():
                set_item(d, key, value)
        else:
            for key, value in other:
                set_item(d, key, value)


def _clear(call: Call, d: Any) -> None:
    for key in possible_keys(d):
        _remove(d, key)


def _copy(call: Call, d: Any) -> Any:
    if has_table(d):
        return views.copied(d)
    made = d.copy() if type(d) is dict else copy.copy(d)
    mine, other = keys_of(d), keys_of(made)
    other.is_mixed, other.staying = mine.is_mixed, set(mine.staying)
    return made


def _ordered(d: dict[Any, Any]) -> list[Any]:
    """The keys that may be there, in their order."""
    facts = keys_of(d)
    if facts.is_mixed:
        refuse_order()
    facts.in_order = True
    return possible_keys(d)


def _run_through(pick: Any) -> Callable[..., Any]:
    """The answer to a view: a generator of keys, values or items."""

    def answered(call: Call, d: Any) -> Any:
        return handed_on(one_by_one, pick, (d, _ordered(d), state_of), always=True)

    return answered


_METHODS: dict[str, Callable[..., Any]] = {
    "get": _get, "pop": _pop, "setdefault": _setdefault, "update": _update, "clear": _clear,
    "copy": _copy, "keys": _run_through(library.present_keys),
    "values": _run_through(library.present_values), "items": _run_through(library.present_items),
    "__contains__": lambda call, d, key: contains(key, d),
    "__getitem__": lambda call, d, key: item(d, key),
    "__setitem__": lambda call, d, key, value: set_item(d, key, value),
    "__delitem__": lambda call, d, key: delete(d, key), "__len__": lambda call, d: length(d),
}  # fmt: skip


# -- the whole dict -------------------------------------------------------------------------


def length(d: dict[Any, Any]) -> Any:
    """``len(d)``."""
    if has_table(d):
        return hashed.length(d)
    found = [_slot(d, key) for key in possible_keys(d)]
    certain = sum(type(x) is not Maybe and x is not UNBOUND for x in found)
    flags = [as_tracer(x.held) for x in found if type(x) is Maybe]
    if not flags:
        return certain
    total = hooks.stack_nested(flags).astype(np.int64).sum()
    return python_number(as_value(total), int) + certain


def truth_of(d: dict[Any, Any]) -> Any:
    """``bool(d)``."""
    return truth(length(d) > 0)


def whole(x: Any) -> Any:
    """A value that Python takes apart; dicts with optional keys are refused."""
    if has_table(x):
        return views.refused()
    return refused() if has_optional(x) else x


def joined(call: Call, a: Any, b: Any) -> Any:
    """``a | b``."""
    if not (type(a) in DICTS and (has_optional(a) or has_optional(b))):
        return a | whole(b)
    made = call(a.copy)
    call(made.update, b)
    return made


def iterated(x: Any) -> Any:
    """An iterable. For a dict, or a view of one, a block may make keys optional while a loop runs
    through it."""
    found = _iterated(x)
    return found.alone() if isinstance(found, generator) and found is not x else found


def _iterated(x: Any) -> Any:
    own = own_iter(x)
    if own is not None:
        x = own()
    if type(x) is views.View:
        return x.running()
    if type(x) not in DICTS and type(x) not in VIEWS:
        return x
    if has_table(x):
        return views.View(x, "keys").running()
    if has_optional(x):
        return refused() if type(x) in VIEWS else _METHODS["keys"](None, x)
    if current_trace() is None or arguments_are_known():
        return x
    return Watched(x)


def concerns(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call gets a dict with optional keys, or is a method of one."""
    owner = getattr(f, "__self__", None)
    if is_optional(owner):
        return True
    return any(map(_holds, args)) or any(map(_holds, kwargs.values()))


def is_optional(d: Any) -> bool:
    """Whether a dict has optional keys, or will have some when keys are deleted."""
    if has_optional(d):
        return True
    found = known_keys(d)
    return found is not None and bool(found.staying)


def _holds(x: Any) -> bool:
    return x is UNBOUND or type(x) in (Maybe, views.View) or has_optional(x)


def answer(call: Call, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a call with such dicts of a function that is not the user's."""
    owner = getattr(f, "__self__", None)
    if type(owner) in DICTS:
        own = views.METHODS if has_table(owner) else {}
        method = own.get(f.__name__) or _METHODS.get(f.__name__)
        if args and has_table(owner):
            args = (hashed.settled_key(args[0]), *args[1:])
        return refused() if method is None else method(call, owner, *args, **kwargs)
    if f in (state_of, hashed.entry) or type(owner) is State:
        return f(*args, **kwargs)
    if f in (isinstance, type, id, print, repr) or getattr(f, "__name__", "") in _STORING:
        return f(*args, **kwargs)
    if f in (dict, copy.copy, defaultdict) and not kwargs and len(args) == 1:
        return _converted(call, f, args[0])
    if f is len:
        return length(*args)
    if f is bool:
        return truth_of(*args)
    if f in (len, bool) and type(args[0]) is views.View:
        return call(f, args[0].now())
    if f in _RUNNING or any(type(x) is views.View for x in args):
        return call(f, *map(_run, args), **kwargs)
    return views.refused() if any(map(has_table, args)) else refused()


def _run(x: Any) -> Any:
    """An iterable for a function that runs through all of it now, as most do."""
    if has_table(x):
        x = views.View(x, "keys")
    return x.now() if type(x) is views.View else iterated(x)


def _converted(call: Call, f: Any, d: Any) -> Any:
    made = _copy(call, d)
    if f is not dict or type(made) is dict:
        return made
    plain: dict[Any, Any] = dict(made.items())
    keys_of(plain).is_mixed = keys_of(made).is_mixed
    return plain


#: Methods of lists that store their arguments, and functions that run through an iterable.
_STORING = frozenset({"append", "appendleft", "insert"})
_RUNNING = frozenset({list, tuple, set, sorted, sum, min, max, any, all, enumerate, map, filter})
