"""The binary interface to CPython and NumPy: struct offsets and a table of addresses.

Compiled code contains no addresses. It finds functions, types and dtype descriptors in a table that
is passed to it, so it can be saved and loaded by another process. The offsets are those of NumPy
2's C ABI (``ndarraytypes.h``) and of CPython's ``PyObject``, ``PyVarObject`` and ``PyTupleObject``.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import sys
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from autojit.codegen.cpu.host import threads
from autojit.codegen.cpu.host.extensions import extension
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.halves import held_as as held_as
from autojit.ir.core.types import DTYPE_NAMES, Type, dtype_from_name
from autojit.ir.ops.checks import LIBRARY_ERRORS

from . import special_functions

HEADER = object.__basicsize__  # reference count and type
TYPE_OFFSET = HEADER - ctypes.sizeof(ctypes.c_void_p)
ARRAY_DATA = HEADER
ARRAY_NDIM = HEADER + 8
ARRAY_SHAPE = HEADER + 16
ARRAY_STRIDES = HEADER + 24
ARRAY_DESCR = HEADER + 40
ARRAY_FLAGS = HEADER + 48
TUPLE_ITEMS = tuple.__basicsize__ if tuple.__itemsize__ else HEADER + 8
BYTES_DATA = bytes.__basicsize__ - 1
#: NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
REQUIRED_FLAGS = 0x0001 | 0x0100
#: NPY_ARRAY_ALIGNED
ALIGNED_FLAG = 0x0100

# Positions in PyArray_API, fixed by NumPy's ABI.
_PYARRAY_SCALAR = 60
_PYARRAY_NEW = 93
_PYARRAY_GET_FUNCTIONS = 365
#: Positions in ``PyArray_ArrFuncs``: the fastest ``sort`` follows 21 casts and 12 functions; the
#: stable ``argsort`` follows three kinds of ``sort`` and two of ``argsort``.
_SORT = 21 + 12
_STABLE_ARGSORT = _SORT + 3 + 2
#: Prefixes of the names of NumPy's sorting functions.
ARGSORT, SORT = "argsort_", "sort_"
#: Prefixes of the names of the inner loops of NumPy's generalized ufuncs, and of the loops' data.
#: The module, the ufunc and the types follow, separated by spaces.
GUFUNC, GUFUNC_DATA = "gufunc ", "gufunc_data "
#: Offsets in ``PyUFuncObject`` of the loops and their data, after three counts and the identity.
_UFUNC_LOOPS, _UFUNC_DATA = HEADER + 16, HEADER + 24

_PYTHON = (
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyTuple_New",
    "Py_IncRef",
    "Py_DecRef",
    "PyLong_AsLongLong",
    "PyLong_FromVoidPtr",
    "PyObject_CallNoArgs",
    "PyObject_CallOneArg",
    "PyErr_Occurred",
    "PyErr_Clear",
    "PyErr_SetString",
    "PyErr_SetNone",
    "PyGILState_Ensure",
    "PyGILState_Release",
)
#: The exceptions that compiled code may raise: Python's by name, NumPy's ``LinAlgError``, and those
#: of libraries.
EXCEPTIONS: dict[str, type[Exception]] = {
    name: kind
    for name, kind in sorted(vars(builtins).items())
    if isinstance(kind, type) and issubclass(kind, Exception) and kind.__name__ == name
}
EXCEPTIONS["LinAlgError"] = np.linalg.LinAlgError
EXCEPTIONS.update(LIBRARY_ERRORS)
#: System functions for threads and time; their entries are 0 on systems without them.
_SYSTEM = ("pthread_self", "sched_getcpu", "pthread_getaffinity_np",
           "pthread_setaffinity_np", "clock_gettime")  # fmt: skip
_NUMPY = {"PyArray_New": _PYARRAY_NEW, "PyArray_Scalar": _PYARRAY_SCALAR}

#: The fixed part of the table, by name.
SLOTS: dict[str, int] = {}
for _name in (
    "ndarray",
    "float",
    "int",
    "None",
    *(f"PyExc_{name}" for name in EXCEPTIONS),
    "malloc",
    "free",
    "threads_allowed",
    "ask_python",
    *_SYSTEM,
    *_PYTHON,
    *_NUMPY,
    *(f"descr_{name}" for name in DTYPE_NAMES.values()),
    *(f"scalar_{name}" for name in DTYPE_NAMES.values()),
):
    SLOTS[_name] = len(SLOTS)
#: The arena that the last call left for the next one (0 if it is in use).
ARENA_SLOT = len(SLOTS)
#: The block of tapes that the last call left for the next one (0 if it is in use).
TAPE_SLOT = ARENA_SLOT + 1
#: The threading layer's parallel_for and get_num_threads, for programs that use threads.
PARALLEL_SLOT, COUNT_SLOT = TAPE_SLOT + 1, TAPE_SLOT + 2
#: The memory for the times of parts, for programs that measure them.
TIMES_SLOT = COUNT_SLOT + 1
#: The first of a program's own entries: BLAS functions, allocators of results, captured arrays.
OWN_SLOTS = TIMES_SLOT + 1


#: Axis ``order[k]`` of an array is axis k of its memory; None for the identity.
Order = tuple[int, ...] | None


class Convention(NamedTuple):
    """How an entry takes its inputs: types of Python numbers, how many are bound, tuple or bare."""

    weak: tuple[type | None, ...]
    bound: int
    as_tuple: bool
    #: The axis orders of inputs and of results (empty: no array has one). The program works on
    #: the transposes of arrays that have one.
    orders: tuple[Order, ...] = ()
    made: tuple[Order, ...] = ()

    def order_of(self, number: int) -> Order:
        """Return the axis order of an input."""
        return self.orders[number] if self.orders else None

    def made_order(self, number: int) -> Order:
        """Return the axis order of a result."""
        return self.made[number] if self.made else None


def in_memory(type: Type, order: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return shape and strides of an array whose transpose by ``order`` has ``type`` in C order.

    >>> from autojit.ir.core.types import parse_type
    >>> in_memory(parse_type("f64[4,3]"), (1, 0))
    ((3, 4), (8, 24))
    """
    shape, strides, step = [0] * type.ndim, [0] * type.ndim, held_as(type.dtype).itemsize
    for k in reversed(range(type.ndim)):
        shape[order[k]], strides[order[k]] = type.shape[k], step
        step *= type.shape[k]
    return tuple(shape), tuple(strides)


class Needs(NamedTuple):
    """The entries of a program's own part of the table."""

    #: BLAS, LAPACK and special functions by name.
    functions: tuple[str, ...]
    #: The numbers of the results that come from the pool.
    pooled: tuple[int, ...]
    #: Whether any loop runs on threads.
    parallel: bool


def ask_python() -> None:
    """Do nothing. Loops of unknown length call it regularly (see ``interruptions``), because
    Python handles pending work, such as signals, when it enters a function."""


def _c_library() -> ctypes.CDLL:
    return ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)


_library = _c_library()
_free = _library.free
_free.restype, _free.argtypes = None, [ctypes.c_void_p]


def load(
    builder: ir.IRBuilder, table: ir.Value, position: int, kind: ir.Type | None = None
) -> ir.Value:
    """An entry of the table, as a pointer unless another type is given."""
    offset = ir.Constant(ir.IntType(64), 8 * position)
    address = builder.gep(table, [offset], inbounds=True, source_etype=ir.IntType(8))
    return builder.load(address, typ=kind or ir.PointerType(), align=8)


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def fixed_table() -> tuple[int, ...]:
    """The addresses of this process for the fixed part of the table."""
    api = _numpy_api()
    entries: dict[str, int] = {
        "ndarray": id(np.ndarray),
        "float": id(float),
        "int": id(int),
        "None": id(None),
        **{f"PyExc_{name}": id(kind) for name, kind in EXCEPTIONS.items()},
        "threads_allowed": ctypes.addressof(threads.allowed),
        "ask_python": id(ask_python),
        "malloc": _address(_library.malloc),
        "free": _address(_free),
    }
    for name in _SYSTEM:
        entries[name] = _address(getattr(_library, name)) if _has(name) else 0
    for name in _PYTHON:
        entries[name] = _address(getattr(ctypes.pythonapi, name))
    for name, position in _NUMPY.items():
        entries[name] = api[position] or 0
    for dtype, name in DTYPE_NAMES.items():
        held = held_as(dtype)
        entries[f"descr_{name}"] = id(held)
        entries[f"scalar_{name}"] = id(held.type)
    return tuple(entries[name] for name in SLOTS)


def _has(name: str) -> bool:
    """Whether a system function can be called."""
    is_known = sys.platform == "linux" or (name == "clock_gettime" and sys.platform != "win32")
    return is_known and hasattr(_library, name)


def _numpy_api() -> Any:
    """``PyArray_API``, NumPy's table of functions."""
    import numpy._core.multiarray as multiarray

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


@cache
def library_function(name: str) -> int:
    """Return the address of a function of SciPy's BLAS or LAPACK, of its special functions, of
    NumPy's sorting, or of its ufuncs."""
    if name.startswith((ARGSORT, SORT)):
        return _sorting_function(name)
    if name.startswith((GUFUNC, GUFUNC_DATA)):
        return _loop_of_ufunc(name)
    if name.startswith((special_functions.FUNCTION, special_functions.DATA)):
        return special_functions.address(name)
    import scipy  # where its libraries lie, for the operating system  # noqa: F401

    blas, lapack = map(extension, ("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack"))
    capsule = {**lapack.__pyx_capi__, **blas.__pyx_capi__}[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found: int = get(capsule, get_name(capsule))
    return found


def _sorting_function(name: str) -> int:
    """Return NumPy's stable ``argsort`` of a dtype, or its fastest ``sort``."""
    slot = _STABLE_ARGSORT if name.startswith(ARGSORT) else _SORT
    dtype = name.removeprefix(ARGSORT).removeprefix(SORT)
    signature = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object)
    functions = signature(_numpy_api()[_PYARRAY_GET_FUNCTIONS])(dtype_from_name(dtype))
    table = ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))
    found: int | None = table[slot]
    if not found:
        raise TargetError(f"NumPy {np.__version__} has no function that sorts {dtype}")
    return found


def _loop_of_ufunc(name: str) -> int:
    """Return a loop of a ufunc, which runs without the interpreter's lock, or its data.

    ``void loop(char **arrays, npy_intp *extents, npy_intp *strides, void *data)``
    """
    kind, module, function, types = name.split(" ")
    ufunc = getattr(importlib.import_module(module), function, None)
    if not isinstance(ufunc, np.ufunc) or types not in ufunc.types:
        raise TargetError(f"NumPy {np.__version__} has no {module}.{function} of types {types}")
    counts = (ctypes.c_int * 3).from_address(id(ufunc) + HEADER)
    if tuple(counts) != (ufunc.nin, ufunc.nout, ufunc.nargs):
        raise TargetError(f"NumPy {np.__version__} has a different layout of ufuncs")
    offset = _UFUNC_LOOPS if f"{kind} " == GUFUNC else _UFUNC_DATA
    array = ctypes.c_void_p.from_address(id(ufunc) + offset).value
    if not array:  # loops without data
        return 0
    entries = ctypes.cast(array, ctypes.POINTER(ctypes.c_void_p))
    return entries[ufunc.types.index(types)] or 0


class MethodDef(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


METH_FASTCALL = 0x0080


class Handle(bytes):
    """``self`` of a native function: the address of a table as bytes; keeps its owners alive."""

    owners: tuple[Any, ...] = ()

    def __del__(self, slots: Any = (ARENA_SLOT, TAPE_SLOT), free: Any = _free) -> None:
        """Free the memory that the last call left; no call can be running now.

        The names it needs are bound as defaults: globals may be gone when the interpreter exits.
        """
        for slot in slots:
            if self.owners and (left := self.owners[0][slot]):
                self.owners[0][slot] = 0
                free(left)


def native_function(
    address: int, name: str, table: ctypes.Array[ctypes.c_int64], *owners: object
) -> Any:
    """Return a builtin for ``PyObject *f(PyObject *self, PyObject **args, Py_ssize_t n)``."""
    handle = Handle(ctypes.addressof(table).to_bytes(8, "little"))
    method = MethodDef(name.encode(), address, METH_FASTCALL, None)
    handle.owners = (table, method, *owners)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(method), handle, None)
