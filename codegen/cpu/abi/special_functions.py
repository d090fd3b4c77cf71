"""The addresses of the functions of scipy.special, and how they are called.

``scipy.special.cython_special`` exports most of them as C functions, each in a capsule named after
its signature. A function of several dtypes is exported several times, under names that Cython
numbers; the one for float64 is recognised by its signature. If a function is not exported, the
inner loop of its ufunc is called on one element.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import numpy as np

from autojit.codegen.cpu.host.extensions import extension
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.special.external import External, external

#: The prefixes of the names of these functions, and of the data of inner loops.
FUNCTION, DATA = "special: ", "special data: "


def names(word: str) -> list[str]:
    """Return the names of the table's entries for a function of kernels."""
    found = external(word)
    if found is None:
        return []
    return [word, DATA + word.removeprefix(FUNCTION)] if found.loop else [word]


def address(name: str) -> int:
    """Return the address for a name that ``names`` returned."""
    is_data = name.startswith(DATA)
    declared = external(FUNCTION + name.removeprefix(DATA) if is_data else name)
    assert declared is not None, name
    if declared.loop:
        return _inner_loop(declared)[is_data]
    return _exported(declared)


def _exported(declared: External) -> int:
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    wanted = _signature(declared)
    own = re.compile(rf"(__pyx_fuse_[\d_]+)?{declared.function}")
    for name, capsule in _capsules().items():
        if own.fullmatch(name) and (signature := get_name(capsule)) in wanted:
            found: int = get(capsule, signature)
            return found
    raise _missing(declared)


def _signature(declared: External) -> tuple[bytes, ...]:
    """Return the possible signatures of a function, as Cython's capsules spell them."""
    kinds = [
        ("Py_ssize_t" if i in declared.whole else "double") for i in range(len(declared.rules))
    ]
    if declared.results > 1:
        return (f"void ({', '.join(kinds + ['double *'] * declared.results)})".encode(),)
    return (f"double ({', '.join(kinds)}, int __pyx_skip_dispatch)".encode(),)


@cache
def _capsules() -> dict[str, Any]:
    import scipy  # where its libraries lie, for the operating system  # noqa: F401

    found: dict[str, Any] = extension("scipy.special.cython_special").__pyx_capi__
    return found


class _Ufunc(ctypes.Structure):
    """The first fields of NumPy's ``PyUFuncObject``, which are part of its ABI."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("counts", ctypes.c_int * 4),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


def _inner_loop(declared: External) -> tuple[int, int]:
    """Return the inner loop of a ufunc for float64, and its data."""
    import scipy.special

    name, kind = declared.function, declared.loop
    ufunc = getattr(scipy.special, name, None)
    ufunc = getattr(ufunc, "__wrapped__", ufunc)  # if SCIPY_ARRAY_API is set
    if not isinstance(ufunc, np.ufunc):  # a Python function around a ufunc
        ufunc = getattr(scipy.special._ufuncs, f"_{name.lstrip('_')}", None)
    if not isinstance(ufunc, np.ufunc) or kind not in ufunc.types:
        raise _missing(declared)
    fields = _Ufunc.from_address(id(ufunc))
    place = ufunc.types.index(kind)
    return fields.functions[place] or 0, fields.data[place] or 0


def _missing(declared: External) -> TargetError:
    import scipy

    return TargetError(
        f"scipy.special.{declared.function} of SciPy {scipy.__version__} cannot be called from "
        "compiled code: SciPy exports no function for float64. autojit.disable_jit() runs it in "
        "Python."
    )
