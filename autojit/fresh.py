"""Arrays that a traced function makes itself, into which it may assign traced values.

``out = np.zeros(3); out[0] = x`` cannot be seen through NumPy's dispatch: zeros is
given no traced array, and assignment calls nobody.  So while a function is traced,
the creation functions (see ``patches``) return a :class:`FreshArray`: a subclass of
ndarray with real contents, so that it works as an index, a shape, a condition, in C
code and everywhere else where a traced array cannot.  Only when a traced value is
assigned into it, its class becomes :class:`TracedArray`, which passes everything on
to a tracer that holds the contents from then on.

Alternatives that were weighed: a tracer of a constant from the start has no contents
for the uses above; an object that is no ndarray crashes C extensions that create
arrays through the ``numpy`` module and rely on their memory; and an ndarray that
keeps its memory when it becomes traced shows C code what was in it before, silently.

Three things make the change of state exact:

* Views.  All fresh arrays over the same memory change together, each to a view of the
  traced contents of the whole (``layout``).
* Plain views, which came about where we do not see them, would keep the old contents.
  Each holds a reference to the block of memory; if there are more references than ours,
  the assignment is refused.  For this to be countable every fresh array is made by
  :func:`fresh` as a view of a plain array that nobody else knows; what C code derives
  behind our back is not, and is refused too.
* The memory itself.  C code that reads the array later finds in it, instead of stale
  numbers, one Python object that refuses to be converted to a number.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np

from autojit.ir.types import TypeMismatch, dtype_name

from .errors import ConcreteValueError, InPlaceError, with_place
from .tracer import OPERATORS, Tracer
from .tracing import Trace, current_trace, user_source


class _Memory:
    """A block of memory, the trace in which it was made, and the fresh arrays that lie in it.

    ``vague``: whether NumPy might lay it out otherwise, in the likeness of a traced array.
    """

    def __init__(self, block: np.ndarray, trace: Trace | None, vague: bool) -> None:
        self.block = block
        self.trace = trace
        self.vague = vague
        self.arrays: dict[int, weakref.ref[FreshArray]] = {}

    def add(self, array: FreshArray) -> None:
        number = id(array)
        self.arrays[number] = weakref.ref(array, lambda _: self.arrays.pop(number, None))

    def living(self) -> list[FreshArray]:
        """The fresh arrays that came from it and are not traced yet."""
        alive = [array for ref in list(self.arrays.values()) if (array := ref()) is not None]
        return [array for array in alive if type(array) is FreshArray]

    def sharing(self) -> list[FreshArray]:
        """Those that have memory of the block."""
        return [a for a in self.living() if np.may_share_memory(plain(a), self.block)]

    def references(self) -> int:
        """How many references to the block there are if these are all of its views."""
        holders: set[int] = set()
        for array in self.living():
            holder: Any = array
            while holder is not None and holder.base is not self.block:
                holder = holder.base
            holders.add(id(holder))
        return len(holders - {id(None)}) + 1


class FreshArray(np.ndarray):
    """An array with known contents that the traced function has made."""

    memory: _Memory | None
    #: Whether :func:`fresh` has made it, so that plain views of it can be counted.
    counted: bool

    def __array_finalize__(self, obj: Any) -> None:
        self.memory = obj.memory if isinstance(obj, FreshArray) else None
        self.counted = False
        if self.memory is not None:
            self.memory.add(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if is_traced((inputs, kwargs)):
            from .functions.ufuncs import call_ufunc

            return call_ufunc(ufunc, method, inputs, kwargs)
        result = getattr(ufunc, method)(*plain(inputs), **plain(kwargs))
        out = kwargs.get("out")
        if out is None:
            return fresh(result, is_vague(inputs))
        return out if ufunc.nout > 1 else out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        vague = is_vague((args, kwargs))
        if is_traced((args, kwargs)) or (vague and func in (np.reshape, np.ravel)):
            from .functions.registry import call_function

            if vague and func in (np.reshape, np.ravel):
                args = (traced(args[0]), *args[1:])
            return call_function(func, args, kwargs)
        out = kwargs.get("out")
        result = func(*plain(args), **plain(kwargs))
        return fresh(result, vague) if out is None else out

    def __getitem__(self, index: Any) -> Any:
        if is_traced(index):
            return _item_at_traced(self, index)
        return fresh(plain(self)[plain(index)], is_vague(self))

    def __setitem__(self, index: Any, value: Any) -> None:
        if is_traced((index, value)):
            traced(self)[index] = value
        else:
            plain(self)[plain(index)] = plain(value)

    def __repr__(self) -> str:
        return repr(plain(self))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return plain(self).__reduce_ex__(protocol)


def _item_at_traced(x: FreshArray, index: Any) -> Any:
    """``x[index]`` with a traced index: what may be a view has to be one of a traced array."""
    from .functions.indexing import getitem
    from .functions.lifting import as_tracer

    copied: Tracer = getitem(as_tracer(x), index)
    return copied if copied.base is None else traced(x)[index]


class TracedArray(FreshArray):
    """A fresh array after a traced value was assigned into it: everything goes to the tracer."""

    tracer: Tracer
    __hash__ = None  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name in ("tracer", "memory", "counted"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "tracer"), name)

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self.tracer == value))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.tracer.__array__()


def _attach() -> None:
    """The operators and the other special methods of tracers."""

    def forward(name: str) -> Any:
        def special(self: TracedArray, *args: Any) -> Any:
            result = getattr(self.tracer, name)(*args)
            return self if result is self.tracer else result

        return special

    own = ("bool", "float", "int", "complex", "index", "round", "format", "repr", "str", "len",
           "iter", "getitem", "setitem", "copy", "deepcopy")  # fmt: skip
    for name in (*OPERATORS, *(f"__{word}__" for word in own)):
        setattr(TracedArray, name, forward(name))


_attach()


def _method(name: str) -> Any:
    """One of ndarray's methods, so that what it returns is fresh too."""

    def call(self: FreshArray, *args: Any, **kwargs: Any) -> Any:
        vague = is_vague(self)
        if is_traced((args, kwargs)) or (vague and name in ("reshape", "ravel")):
            from .functions.lifting import as_tracer

            stays = name in ("fill", "put", "reshape", "ravel")
            return getattr(traced(self) if stays else as_tracer(self), name)(*args, **kwargs)
        return fresh(getattr(plain(self), name)(*plain(args), **plain(kwargs)), vague)

    call.__name__ = name
    return call


def _attribute(name: str) -> Any:
    def change(self: FreshArray, value: Any) -> None:
        if is_traced(value):
            getattr(traced(self), name)[...] = value
        else:
            setattr(plain(self), name, plain(value))

    return property(lambda self: fresh(getattr(plain(self), name), is_vague(self)), change)


def _attach_methods() -> None:
    for name, kind in vars(np.ndarray).items():
        if name in ("T", "mT", "real", "imag", "flat", "data", "ctypes"):
            setattr(FreshArray, name, _attribute(name))
        elif callable(kind) and not name.startswith("_") and name not in ("resize", "setflags"):
            setattr(FreshArray, name, _method(name))


_attach_methods()


# -- in and out -----------------------------------------------------------------


def fresh(result: Any, vague: bool = False) -> Any:
    """A result of NumPy's with its plain arrays as fresh ones, where they can be traced."""
    if current_trace() is None:
        return result
    if type(result) is np.ndarray:
        return _fresh_array(result, vague)
    if isinstance(result, tuple):
        made = [fresh(item, vague) for item in result]
        return tuple(made) if type(result) is tuple else type(result)(*made)
    return [fresh(item, vague) for item in result] if type(result) is list else result


def _fresh_array(array: np.ndarray, vague: bool) -> np.ndarray:
    try:
        dtype_name(array.dtype)
    except TypeMismatch:
        return array
    block = array
    while isinstance(block.base, np.ndarray):
        block = block.base
    if block.base is not None or isinstance(block, FreshArray):
        return array  # the memory of something else
    made = array.view(FreshArray)
    made.memory = _memory_of(block, vague)
    made.memory.add(made)
    made.counted = True
    return made


#: The blocks of memory of living fresh arrays, by identity.
_memories: weakref.WeakValueDictionary[int, _Memory] = weakref.WeakValueDictionary()


def _memory_of(block: np.ndarray, vague: bool) -> _Memory:
    found = _memories.get(id(block))
    if found is None:
        found = _memories[id(block)] = _Memory(block, current_trace(), vague)
    return found


def plain(x: Any) -> Any:
    """Fresh arrays, also in tuples, lists and dicts, as plain ones with the same memory."""
    if type(x) is FreshArray:
        return np.ndarray.view(x, np.ndarray)
    if type(x) in (tuple, list):
        return type(x)(map(plain, x))
    return {k: plain(v) for k, v in x.items()} if type(x) is dict else x


def is_traced(x: Any) -> bool:
    """Whether there is a traced array in a value, in tuples, lists and dicts."""
    if isinstance(x, (tuple, list)):
        return any(map(is_traced, x))
    if isinstance(x, dict):
        return any(map(is_traced, x.values()))
    return isinstance(x, (Tracer, TracedArray))


def is_vague(x: Any) -> bool:
    """Whether NumPy might lay out an array in a value otherwise (see `_Memory`)."""
    if isinstance(x, (tuple, list)):
        return any(map(is_vague, x))
    if isinstance(x, dict):
        return any(map(is_vague, x.values()))
    return type(x) is FreshArray and x.memory is not None and x.memory.vague


def bare(x: Any) -> Any:
    """Arrays that have become traced, also in tuples, lists and dicts, as their tracers."""
    if type(x) is TracedArray:
        return x.tracer
    if type(x) in (tuple, list):
        return type(x)(map(bare, x))
    return {k: bare(v) for k, v in x.items()} if type(x) is dict else x


# -- becoming traced ------------------------------------------------------------


def traced(x: Any) -> Tracer:
    """The tracer that holds an array's contents from now on."""
    if isinstance(x, Tracer):
        return x
    if not isinstance(x, TracedArray):
        _become_traced(x)
    found: Tracer = x.tracer
    return found


def _become_traced(x: FreshArray) -> None:
    from . import layout

    memory = _checked(x)
    arrays = memory.sharing() if x.size else [x]
    root = layout.whole(memory.block, ordered=not memory.vague)
    tracers = []
    for array in arrays:
        found = layout.shown(root, memory.block, plain(array))
        if found is None:
            raise _refusal("it shares memory with an array that reads it as another dtype")
        found.boxed = True
        tracers.append(found)
    for array, tracer in zip(arrays, tracers, strict=True):
        array.__class__ = TracedArray
        array.tracer = tracer  # type: ignore[attr-defined]
        state: Any = (1, (), np.dtype(object), False, [_REFUSAL])
        np.ndarray.__setstate__(array, state)


def _checked(x: FreshArray) -> _Memory:
    """The memory of an array that may become traced."""
    memory = x.memory
    if memory is None or not x.counted:
        raise _refusal("it was made where autojit does not see it")
    if memory.trace is not current_trace():
        raise _refusal("it was made by another traced function, or an outer one")
    if not all(array.counted for array in memory.sharing()):
        raise _refusal("it has a view that was made where autojit does not see it")
    if sys.getrefcount(memory.block) > memory.references() + 1:  # one is that of the question
        raise _refusal("it has a view that is a plain array (np.asarray imported by its name?)")
    return memory


def _refusal(reason: str) -> InPlaceError:
    return InPlaceError(
        with_place(
            f"A traced value is assigned into an array that cannot become traced: {reason}.\n"
            "Assign into a copy that the traced function makes:\n"
            "    y = np.array(x); y[i] = value      # not: x[i] = value",
            user_source(),
        )
    )


class _Refusal:
    """What C code finds where an array was that has become traced."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a traced array has no known elements, so no {name!r} of them")


def _attach_refusals() -> None:
    def refuse(self: _Refusal, *args: Any) -> Any:
        raise ConcreteValueError(
            with_place(
                "The elements of a traced array are read by code that NumPy does not dispatch: "
                "by a C extension, or by assignment into an ordinary array.\n"
                "Make the array that is assigned to inside of the traced function:\n"
                "    out = np.zeros(n); out[:] = x",
                user_source(),
            )
        )

    words = (*OPERATORS, *(f"__{word}__" for word in ("bool", "float", "int", "complex", "index")))
    for name in words:
        setattr(_Refusal, name, refuse)


_attach_refusals()
_REFUSAL = _Refusal()
