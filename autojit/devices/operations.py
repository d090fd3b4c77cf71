"""NumPy's functions, operators, indices and methods for arrays on a GPU, each compiled once.

An operation is ``jit`` of the called function on the arrays among its arguments; all other
arguments are settings. So ``x + y`` is one kernel. Put a formula of many operations into its own
``jit``.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from autojit.codegen.cuda.arrays import DeviceArray, Operations
from autojit.dispatch.jit_function import jit
from autojit.dispatch.static import exact
from autojit.ir.core.locks import Lock
from autojit.session.devices import is_on_card
from autojit.staging import pytrees
from autojit.tracing.values import is_tracer

from . import picked
from .transfer import device_get, restored

#: The most compiled operations that are kept; the least recently used go first.
_MOST = 1024
_compiled: OrderedDict[Any, Callable[..., Any]] = OrderedDict()
_lock = Lock()


def run(function: Callable[..., Any], args: Any, kwargs: Any, traced: Sequence[bool]) -> Any:
    """``function(*args, **kwargs)`` compiled for the leaves that are marked as traced."""
    leaves, structure = pytrees.flatten((args, kwargs))
    fixed = [None if mark else leaf for leaf, mark in zip(leaves, traced, strict=True)]
    key = function, structure, tuple(traced), exact(tuple(enumerate(map(_hashable, fixed))))
    with _lock:
        found = _compiled.get(key)
        if found is not None:
            _compiled.move_to_end(key)
    if found is None:
        found = _made(function, structure, fixed, traced)
        with _lock:
            _compiled[key] = found
            while len(_compiled) > _MOST:
                _compiled.popitem(last=False)
    return found(*[leaf for leaf, mark in zip(leaves, traced, strict=True) if mark])


def _made(
    function: Callable[..., Any], structure: Any, fixed: list[Any], traced: Sequence[bool]
) -> Callable[..., Any]:
    def operation(*arrays: Any) -> Any:
        rest = iter(arrays)
        leaves = [next(rest) if mark else f for f, mark in zip(fixed, traced, strict=True)]
        args, kwargs = pytrees.unflatten(structure, leaves)
        return function(*args, **kwargs)

    operation.__name__ = getattr(function, "__name__", "operation")
    return jit(operation)


def _hashable(leaf: Any) -> Any:
    """A setting as part of a key."""
    if isinstance(leaf, slice):  # not hashable before Python 3.12
        return slice, leaf.start, leaf.stop, leaf.step
    return leaf


def _is_array(leaf: Any) -> bool:
    return is_on_card(leaf) or isinstance(leaf, np.ndarray)


def _arrays(tree: Any) -> list[bool]:
    """A mask of the leaves that are arrays; numbers are settings."""
    return [_is_array(leaf) for leaf in pytrees.flatten(tree)[0]]


def _has_traced(tree: Any) -> bool:
    return any(map(is_tracer, pytrees.flatten(tree)[0]))


# -- NumPy's protocols ------------------------------------------------------------------


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc, or a method of one. Numbers are traced, except exponents that are integers."""
    if _has_traced((inputs, kwargs)):
        return NotImplemented
    if method == "__call__":
        _refuse_out(f"np.{ufunc.__name__}", inputs, kwargs, keeps_others=True)
    else:
        _refuse_out(f"np.{ufunc.__name__}.{method}", inputs, kwargs)
    if method == "__call__":
        marks = [not (ufunc is np.power and isinstance(x, int)) for x in inputs]
        marks += [_is_array(leaf) for leaf in pytrees.flatten(kwargs)[0]]
        return run(ufunc, inputs, kwargs, marks)
    call = _METHODS.setdefault((ufunc, method), getattr(ufunc, method))
    return run(call, inputs, kwargs, _arrays((inputs, kwargs)))


def _refuse_out(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], names: str = "xyzabc", *,
    keeps_others: bool = False,
) -> None:  # fmt: skip
    """Raise TypeError if the argument ``out`` is given.

    The message shows the call without it, with these names for arrays. If it ``keeps_others``, the
    call keeps the elements of ``out`` where the condition ``where`` is false.
    """
    if kwargs.get("out") is not None:
        raise TypeError(
            f"{name}(..., out=...) would write to an array, but those on a GPU are never changed "
            f"in place:\n    out = {_without_out(name, args, kwargs, names, keeps_others)}"
        )


def _without_out(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], names: str, keeps_others: bool
) -> str:
    given = {key: value for key, value in kwargs.items() if key != "out"}
    arrays = dict.fromkeys(id(a) for a in pytrees.flatten((args, given))[0] if _is_array(a))
    named = dict(zip(arrays, names, strict=False))

    def text(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            comma = "," if len(value) == 1 else ""
            inner = ", ".join(map(text, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{comma})"
        return named.get(id(value), "…") if _is_array(value) else repr(value)

    where = given.pop("where", True) if keeps_others else True
    each = [*map(text, args), *(f"{key}={text(value)}" for key, value in given.items())]
    call = f"{name}({', '.join(each)})"
    return call if where is True else f"np.where({text(where)}, {call}, out)"


#: Methods of ufuncs, kept because each access makes a new object.
_METHODS: dict[tuple[Any, str], Any] = {}

#: Functions that depend on an array's type alone.
_ABOUT: dict[Any, Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
}
#: Functions that write numbers into texts and files.
_OF_HOST = (np.array2string, np.array_repr, np.array_str, np.save, np.savez, np.savetxt)


def call_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a NumPy function; arguments that are not arrays are settings."""
    if _has_traced((args, kwargs)):
        return NotImplemented
    if func in _ABOUT:
        return _ABOUT[func](*args, **kwargs)
    if func in _OF_HOST:
        return func(*device_get(args), **device_get(kwargs))
    _refuse_out(f"np.{func.__name__}", args, kwargs)
    found = picked.call(func, args, kwargs)
    if found is not NotImplemented:
        return found
    return run(func, args, kwargs, _arrays((args, kwargs)))


# -- indices ----------------------------------------------------------------------------


def getitem(x: DeviceArray, index: Any) -> Any:
    """``x[index]``; integers are checked here, and do not need separate compilation."""
    if _has_traced(index):
        from autojit.tracing.hooks import hooks

        return hooks.getitem(hooks.as_tracer(x), index)
    items = picked.without_masks(index if isinstance(index, tuple) else (index,), x)
    axis, checked = 0, []
    taken = sum(picked.axes(item) for item in items)
    for item in items:
        if item is Ellipsis:
            axis += x.ndim - taken
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            item = _in_range(operator.index(item), axis, x)
            axis += 1
        else:
            axis += picked.axes(item)
        checked.append(item)
    marks = [True, *(_is_array(i) or type(i) is int for i in pytrees.flatten(checked)[0])]
    return run(_item, (x, checked), {}, marks)


def _item(x: Any, index: list[Any]) -> Any:
    return x[tuple(index)]


def _in_range(i: int, axis: int, x: DeviceArray) -> int:
    if axis >= x.ndim:
        raise IndexError(
            f"too many indices for array: array is {x.ndim}-dimensional, but {axis + 1} were "
            "indexed"
        )
    extent = x.shape[axis]
    if not -extent <= i < extent:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {extent}")
    return i % extent


# -- methods and attributes -------------------------------------------------------------

#: Attributes that write to an array, or that are about memory of the host.
_REFUSED = (
    "fill", "sort", "partition", "put", "itemset", "resize", "setfield", "setflags", "byteswap",
    "tofile", "dump", "tobytes", "data", "base", "ctypes", "flags",
)  # fmt: skip
#: Functions by name, so that there is one key for each.
_named: dict[str, Callable[..., Any]] = {}


def attribute(x: DeviceArray, name: str) -> Any:
    """A method or an attribute of ``np.ndarray``, compiled."""
    if name == "nonzero":
        return partial(picked.nonzero, x)
    own = getattr(np.ndarray, name, None)
    if own is None or name in _REFUSED:
        raise AttributeError(f"an array on a GPU has no attribute {name!r}")
    if not callable(own):
        function = _named.setdefault(name, operator.attrgetter(name))
        return run(function, (x,), {}, [True])
    function = _named.setdefault(name, _method(name))

    def method(*args: Any, **kwargs: Any) -> Any:
        _refuse_out(f"x.{name}", args, kwargs, "yzabc")
        given = (x, *args)
        return run(function, given, kwargs, _arrays((given, kwargs)))

    method.__name__ = name
    return method


def _method(name: str) -> Callable[..., Any]:
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    call.__name__ = name
    return call


Operations.call_function = staticmethod(call_function)
Operations.getitem = staticmethod(getitem)
Operations.attribute = staticmethod(attribute)
Operations.restore = staticmethod(restored)
# Set last: code that finds it finds all of them.
Operations.call_ufunc = staticmethod(call_ufunc)
