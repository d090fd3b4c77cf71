"""Arrays that a traced function creates, and into which it may assign traced values.

``out = np.zeros(3); out[0] = x`` cannot be seen through NumPy's dispatch: zeros is
given no traced array, and assignment calls nobody.  So while a function is traced,
the creation functions (see ``patches``) return a :class:`FreshArray`: a subclass of
ndarray with real contents, so that it works as an index, a shape, a condition, in C
code and everywhere else where a traced array cannot.  Only when a traced value is
assigned into it, its class becomes :class:`TracedArray`, which passes everything on
to a tracer that holds the contents from then on.

Rejected alternatives: a tracer of a constant from the start has no contents for the uses above. An
object that is not an ndarray crashes C extensions that create arrays through the ``numpy`` module
and rely on their memory. An ndarray that keeps its memory when it becomes traced silently shows C
code the old contents.

Three things make the change of state exact:

* Views.  All fresh arrays over the same memory change together (``promotion``), each to a
  view of the traced contents of the whole (``layout``).
* Plain views, created by code that we do not see, would keep the old contents. Each holds a
  reference to the block of memory; if there are more references than ours, the assignment is
  refused.  For this to be countable every fresh array is made by :func:`fresh` as a view of a plain
  array that nobody else knows; what C code derives behind our back is not, and is refused too.
* The memory itself.  C code that reads the array later finds, instead of stale numbers,
  one Python object that refuses to be converted to a number.  Other holders of the memory (an
  ``np.nditer``) find NaN there. NumPy 2.5 and later free the format that a ``memoryview`` uses.
  Python 3.12 and later show that a ``memoryview`` exists, and then the assignment is refused; in
  earlier versions it finds NaN.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.types import TypeMismatch, dtype_name

from .aliasing import shape_is_kept
from .array_methods import OPERATORS, Flat, any_may_be_none
from .blocks import is_outside
from .context import Trace, current_trace
from .hooks import hooks
from .known import at_hand, depends
from .tracer import Tracer


class Memory:
    """A block of memory, the trace that created it, and the fresh arrays in it.

    ``vague``: whether NumPy might choose another layout, that of a traced array. ``lent``: whether
    an inner function uses parts of it as constants.
    """

    def __init__(self, block: np.ndarray, trace: Trace | None, vague: bool) -> None:
        self.block = block
        #: The builder of that trace. The trace itself is not referenced, because references to it
        #: show that traced values outlive it.
        self.maker = None if trace is None else trace.builder
        self.vague = vague
        self.lent = False
        self.arrays: dict[int, weakref.ref[FreshArray]] = {}

    def add(self, array: FreshArray) -> None:
        number = id(array)
        self.arrays[number] = weakref.ref(array, lambda _: self.arrays.pop(number, None))

    def is_of(self, trace: Trace | None) -> bool:
        """Whether this trace created it."""
        return self.maker is (None if trace is None else trace.builder)

    def living(self) -> list[FreshArray]:
        """The fresh arrays in it that are not traced yet."""
        alive = [array for ref in list(self.arrays.values()) if (array := ref()) is not None]
        return [array for array in alive if type(array) is FreshArray]

    def sharing(self) -> list[FreshArray]:
        """The fresh arrays that have memory of the block."""
        return [a for a in self.living() if np.may_share_memory(plain(a), self.block)]

    def references(self) -> int:
        """The number of references to the block if these are all of its views."""
        holders: set[int] = set()
        for array in self.living():
            holder: Any = array
            while holder is not None and holder.base is not self.block:
                holder = holder.base
            holders.add(id(holder))
        return len(holders - {id(None)}) + 1


class FreshArray(np.ndarray):
    """An array with known contents that the traced function has created.

    >>> import autojit
    >>> def rate(state):
    ...     out = np.empty(2)
    ...     out[0] = state[1]
    ...     out[1] = np.sin(state[0])
    ...     return out
    >>> autojit.jacfwd(rate)(np.array([0.0, 2.0]))
    array([[0., 1.],
           [1., 0.]])
    """

    #: A mark by which modules below this one recognise such arrays.
    made_in_trace = True
    memory: Memory | None
    #: Whether :func:`fresh` created it, so that plain views of it can be counted.
    counted: bool
    #: The number of users of its memory through the buffer protocol, from Python 3.12 on.
    exports: int

    def __array_finalize__(self, obj: Any) -> None:
        self.memory = obj.memory if isinstance(obj, FreshArray) else None
        self.counted, self.exports = False, 0
        if self.memory is not None:
            self.memory.add(self)

    def __buffer__(self, flags: int) -> memoryview:
        given = super().__buffer__(flags)  # type: ignore[misc]  # from Python 3.12 on
        self.exports += 1
        return given

    def __release_buffer__(self, given: memoryview) -> None:
        self.exports -= 1
        given.release()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any_may_be_none(map(type, inputs)):
            return NotImplemented
        if is_traced((inputs, kwargs)) or _writes_outside(kwargs.get("out")):
            return hooks.call_ufunc(ufunc, method, inputs, kwargs)
        result = getattr(ufunc, method)(*plain(inputs), **plain(kwargs))
        out = kwargs.get("out")
        if out is None:
            return fresh(result, is_vague(inputs))
        return out if ufunc.nout > 1 else out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any_may_be_none(types):
            return NotImplemented
        vague = is_vague((args, kwargs))
        if vague and func in (np.reshape, np.ravel):
            args = (hooks.traced(args[0]), *args[1:])
        if func in _WRITERS and args and _writes_outside(args[0]):
            hooks.traced(args[0])
        if is_traced((args, kwargs)) or _writes_outside(kwargs.get("out")):
            return hooks.call_function(func, args, kwargs)
        out = kwargs.get("out")
        result = func(*plain(args), **plain(kwargs))
        return fresh(result, vague) if out is None else out

    def __getitem__(self, index: Any) -> Any:
        if is_traced(index):
            return hooks.item_at_traced(self, index)
        return fresh(plain(self)[plain(index)], is_vague(self))

    def __setitem__(self, index: Any, value: Any) -> None:
        if is_traced((index, value)) or _writes_outside(self):
            hooks.traced(self)[index] = value
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


class TracedArray(FreshArray):
    """A fresh array after a traced value was assigned into it: everything goes to the tracer."""

    tracer: Tracer
    __pandas_priority__ = Tracer.__pandas_priority__
    __hash__ = None  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name in ("tracer", "memory", "counted"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "tracer"), name)

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self.tracer == value))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.tracer.__array__().__reduce_ex__(protocol)  # where there are numbers

    def __buffer__(self, flags: int) -> Any:
        return memoryview(self.tracer.__array__())  # type: ignore[arg-type]


def _attach() -> None:
    """The operators and the other special methods of tracers."""

    def forward(name: str) -> Any:
        def special(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
            result = getattr(self.tracer, name)(*args, **kwargs)
            return self if result is self.tracer else result

        return special

    own = ("bool", "float", "int", "complex", "index", "round", "trunc", "floor", "ceil",
           "format", "repr", "str", "len", "iter", "getitem", "setitem", "copy",
           "deepcopy", "array_namespace", "dlpack", "dlpack_device")  # fmt: skip
    for name in (*OPERATORS, *(f"__{word}__" for word in own)):
        setattr(TracedArray, name, forward(name))


_attach()


#: Functions that change their first argument, and methods that change their array.
_WRITERS = frozenset({np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal})
_CHANGING = frozenset({"fill", "put", "sort", "partition", "itemset", "setfield"})


def _writes_outside(out: Any) -> bool:
    """Whether a written array is from outside of the current block. It is not known whether and how
    often the block runs, so such an array becomes traced."""
    if isinstance(out, tuple):
        return any(map(_writes_outside, out))
    return type(out) is FreshArray and out.memory is not None and is_outside(out.memory.maker)


def _method(name: str) -> Any:
    """One of ndarray's methods, changed to return fresh arrays too."""

    def call(self: FreshArray, *args: Any, **kwargs: Any) -> Any:
        vague = is_vague(self)
        writes = name in _CHANGING and _writes_outside(self)
        if is_traced((args, kwargs)) or (vague and name in ("reshape", "ravel")) or writes:
            stays = name in ("reshape", "ravel") or name in _CHANGING
            return getattr(hooks.traced(self) if stays else hooks.as_tracer(self), name)(
                *args, **kwargs
            )
        return fresh(getattr(plain(self), name)(*plain(args), **plain(kwargs)), vague)

    call.__name__ = name
    return call


def _attribute(name: str) -> Any:
    def change(self: FreshArray, value: Any) -> None:
        if is_traced(value) or _writes_outside(self):
            getattr(hooks.traced(self), name)[...] = value
        else:
            setattr(plain(self), name, plain(value))

    return property(lambda self: fresh(getattr(plain(self), name), is_vague(self)), change)


def _attach_methods() -> None:
    for name, kind in vars(np.ndarray).items():
        if name in ("T", "mT", "real", "imag", "data", "ctypes"):
            setattr(FreshArray, name, _attribute(name))
        elif callable(kind) and not name.startswith("_") and name not in ("resize", "setflags"):
            setattr(FreshArray, name, _method(name))


_attach_methods()


def _set_flat(self: FreshArray, value: Any) -> None:
    Flat(self)[:] = value


def _set_shape(self: FreshArray, shape: Any) -> None:
    if type(self) is TracedArray:
        self.tracer.shape = shape
    elif _writes_outside(self):
        raise shape_is_kept()
    else:
        _SHAPE.__set__(self, shape)


_SHAPE: Any = np.ndarray.shape
_ATTRIBUTES: Any = FreshArray
_ATTRIBUTES.flat = property(Flat, _set_flat)
_ATTRIBUTES.shape = property(lambda self: _SHAPE.__get__(self), _set_shape)


# -- in and out -----------------------------------------------------------------


def fresh(result: Any, vague: bool = False) -> Any:
    """A result of NumPy with its plain arrays replaced by fresh ones, if they can be traced."""
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
    if not block.flags.owndata or isinstance(block, FreshArray):
        return array  # the memory of something else
    made = array.view(FreshArray)
    made.memory = _memory_of(block, vague)
    made.memory.add(made)
    made.counted = True
    return made


#: The blocks of memory of living fresh arrays, by identity.
_memories: weakref.WeakValueDictionary[int, Memory] = weakref.WeakValueDictionary()


def _memory_of(block: np.ndarray, vague: bool) -> Memory:
    found = _memories.get(id(block))
    if found is None:
        found = _memories[id(block)] = Memory(block, current_trace(), vague)
    return found


# -- through nests of values ----------------------------------------------------


def _mapped(change: Callable[[Any], Any], x: Any) -> Any:
    if type(x) in (tuple, list):
        return type(x)(_mapped(change, item) for item in x)
    if type(x) is dict:
        return {key: _mapped(change, item) for key, item in x.items()}
    return change(x)


def _anywhere(holds: Callable[[Any], bool], x: Any) -> bool:
    if isinstance(x, (tuple, list)):
        return any(_anywhere(holds, item) for item in x)
    if isinstance(x, dict):
        return any(_anywhere(holds, item) for item in x.values())
    if type(x) is slice:
        return any(holds(bound) for bound in (x.start, x.stop, x.step))
    return holds(x)


def plain(x: Any) -> Any:
    """Fresh arrays, also in tuples, lists and dicts, as plain ones with the same memory."""
    return _mapped(lambda v: np.ndarray.view(v, np.ndarray) if type(v) is FreshArray else v, x)


def bare(x: Any) -> Any:
    """Arrays that have become traced, also in tuples, lists and dicts, as their tracers."""
    kind = type(x)
    if kind is TracedArray:
        return x.tracer
    if kind is tuple:
        return tuple([bare(item) for item in x])
    return _mapped(bare, x) if kind is list or kind is dict else x


def with_values(x: Any, lost: bool = False) -> Any:
    """Known traced values without a derivative (with ``lost``, all known ones) as plain numbers,
    also in tuples, lists and dicts."""
    return _mapped(lambda v: _number(v, lost), bare(x))


def _number(x: Any, lost: bool) -> Any:
    found = at_hand(x) if isinstance(x, Tracer) else None
    return x if found is None or (depends(x) and not lost) else found


class MadeOfTraced:
    """An internal object with traced parts, such as a sparse matrix."""


class Uncounted(MadeOfTraced):
    """A list element that represents a traced number of elements."""


def is_traced(x: Any) -> bool:
    """Whether a value contains a traced array, also in tuples, lists and dicts."""
    return _anywhere(lambda v: isinstance(v, (Tracer, TracedArray, MadeOfTraced)), x)


def is_vague(x: Any) -> bool:
    """Whether NumPy might choose another layout for an array in a value (see `Memory`)."""
    return _anywhere(lambda v: type(v) is FreshArray and v.memory is not None and v.memory.vague, x)
