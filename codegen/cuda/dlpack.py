"""DLPack gives arrays on a card to other libraries without a copy.

The structures are those of https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
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
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
#: A separate handle, because other packages declare other types for the functions of
#: ``ctypes.pythonapi``.
_python = ctypes.PyDLL("python", handle=ctypes.pythonapi._handle)
_new_capsule = _python.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR]
_is_capsule = _python.PyCapsule_IsValid
_is_capsule.restype, _is_capsule.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_pointer_in = _python.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]

#: The exported arrays by the address of their structure, until the consumer calls the deleter.
_exported: dict[int, Any] = {}


@_DELETER
def _delete(address: int) -> None:
    _exported.pop(address, None)


@_DESTRUCTOR
def _collected(capsule: int) -> None:
    """Release the array of a capsule that nobody consumed; a consumer renames the capsule."""
    if _is_capsule(capsule, _NAME):
        _exported.pop(_pointer_in(capsule, _NAME), None)


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
    return _new_capsule(address, _NAME, _collected)
