"""DLPack gives arrays on a card to other libraries without a copy.

The structures are those of https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .driver.card import Card

#: DLPack's codes for devices, and for kinds of numbers.
CPU, CUDA = 1, 2
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6, "V": 4}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))


_NAME = b"dltensor"
#: The same in memory that stays.
_KEPT_NAME = ctypes.create_string_buffer(_NAME)
#: A separate handle, because other packages declare other types for the functions of
#: ``ctypes.pythonapi``.
_python = ctypes.PyDLL("python", handle=ctypes.pythonapi._handle)
_new_capsule = _python.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

#: The exported arrays by the address of their structure, until the consumer calls the deleter.
_exported: dict[int, Any] = {}


@_DELETER
def _delete(address: int) -> None:
    _exported.pop(address, None)


#: The destructor of a capsule releases the array if nobody has consumed the capsule, that is,
#: renamed it.  It is machine code: a consumer that refuses the array may destroy the capsule while
#: its exception is set, which a function of Python's would lose.
_COLLECTED = """
define void @collected(ptr %capsule) {{
entry:
  %type = alloca ptr
  %value = alloca ptr
  %traceback = alloca ptr
  %is_valid = inttoptr i64 {PyCapsule_IsValid} to ptr
  %pointer_in = inttoptr i64 {PyCapsule_GetPointer} to ptr
  %fetch = inttoptr i64 {PyErr_Fetch} to ptr
  %restore = inttoptr i64 {PyErr_Restore} to ptr
  %name = inttoptr i64 {name} to ptr
  %found = call i32 %is_valid(ptr %capsule, ptr %name)
  %is_ours = icmp ne i32 %found, 0
  br i1 %is_ours, label %release, label %end
release:
  call void %fetch(ptr %type, ptr %value, ptr %traceback)
  %tensor = call ptr %pointer_in(ptr %capsule, ptr %name)
  %place = getelementptr i8, ptr %tensor, i64 {deleter}
  %delete = load ptr, ptr %place
  call void %delete(ptr %tensor)
  %t = load ptr, ptr %type
  %v = load ptr, ptr %value
  %b = load ptr, ptr %traceback
  call void %restore(ptr %t, ptr %v, ptr %b)
  br label %end
end:
  ret void
}}
"""
_CALLED = ("PyCapsule_IsValid", "PyCapsule_GetPointer", "PyErr_Fetch", "PyErr_Restore")


@cache
def _destructor() -> Any:
    """The compiled destructor; its ``address("collected")`` is that of the function."""
    from autojit.codegen.cpu.host.engine import Compiled

    functions = {n: ctypes.cast(getattr(_python, n), ctypes.c_void_p).value for n in _CALLED}
    name = ctypes.cast(_KEPT_NAME, ctypes.c_void_p).value
    return Compiled([_COLLECTED.format(name=name, deleter=_Managed.deleter.offset, **functions)])


def device_of(card: Card) -> tuple[int, int]:
    """The DLPack device type and number of a card."""
    return (CPU, 0) if card.is_host else (CUDA, card.ordinal)


def exported(x: Any, stream: Any, device: Any, copy: bool | None) -> Any:
    """A capsule with an array; later work on the consumer's stream runs after ours."""
    own = device_of(x.card)
    if copy or (device is not None and tuple(device) != own):
        raise BufferError(
            f"an array on {x.device} is given to others where it is, without a copy; for one on "
            "the host:\n    np.asarray(x)"
        )
    if x.card.is_host:
        x.block_until_ready()
    elif stream != -1:
        x.card.release_to(1 if stream in (None, 0) else stream)
    shape = (ctypes.c_int64 * max(1, x.ndim))(*x.shape)
    managed = _Managed()
    managed.tensor = _Tensor(
        x.pointer, *own, x.ndim, _KINDS[x.dtype.kind], 8 * x.itemsize, 1,
        ctypes.addressof(shape), None, 0,
    )  # fmt: skip
    managed.deleter = _delete
    address = ctypes.addressof(managed)
    _exported[address] = managed, shape, x.memory
    name = ctypes.cast(_KEPT_NAME, ctypes.c_char_p)
    return _new_capsule(address, name, _destructor().address("collected"))
