"""Functions of the process that compiled code calls by address.

Native code passes the addresses of contiguous arrays (operands, then results) and the address of
the call's status. It calls Python under the interpreter's lock and without ``ctypes``, which loses
errors that signals raise when Python enters a function. Python's functions get copies of their
operands, since they may keep them longer than the memory lives. An error is stored under the
address of the status; the entry raises it in the calling thread.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.types import Type
from autojit.ir.ops.callback import Answer, HostCall

#: The prefix of the names of callbacks among those of library functions.
PREFIX = "callback:"
#: The name of the Python function that raises a callback's error.
RAISE = "callback_error"

_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)

#: The errors that callbacks raised, by the address of the call's status.
_raised: dict[int, BaseException] = {}


class Native:
    """A function and its types, in the form that native code calls."""

    def __init__(self, call: HostCall) -> None:
        self.call = call
        # The number belongs to this function and is never reused.
        self.name = f"{PREFIX}{call.function.number}:{call.in_types}:{call.types}:{call.batch}"
        self._python = _SIGNATURE(self._run)
        found = call.function.native(call, self._python)
        #: Whether Python is called, not native code that needs no interpreter.
        self.is_python = found is None
        if found is None:
            entered = self._enter
            found = id(entered), entered
        self.address: int = found[0]
        self._owner: Any = found[1]

    def _enter(self, record: int) -> int | None:
        """Handle a call from native code that holds the interpreter's lock. The record contains
        the addresses of the status and of the arrays."""
        count = len(self.call.in_types) + len(self.call.out_types)
        status, *addresses = (ctypes.c_void_p * (1 + count)).from_address(record)
        return None if self._run(addresses, status or 0) == Answer.FINE else Answer.FAILED

    def _run(self, addresses: Any, status: int) -> int:
        if status in _raised:
            return Answer.FAILED  # the results are no longer used
        types = (*self.call.in_types, *self.call.out_types)
        arrays = [_array_at(addresses[i] or 0, t) for i, t in enumerate(types)]
        given = arrays[: len(self.call.in_types)]
        made = arrays[len(given) :]
        try:
            for target, result in zip(made, self.call(given), strict=True):
                target[...] = result
        except BaseException as error:  # every error belongs to the caller
            _raised[status] = error
            for target in made:
                target[...] = 0
            return Answer.FAILED
        return Answer.FINE


def _array_at(address: int, type: Type) -> np.ndarray:
    if not type.size:
        return np.empty(type.shape, type.dtype)
    memory = (ctypes.c_char * type.nbytes).from_address(address)
    return np.frombuffer(memoryview(memory), type.dtype).reshape(type.shape)


def raise_error(status: int) -> None:
    """Raise the error that a callback raised in the call with this status.

    If none is stored, ``ctypes`` could not enter the callback because Ctrl-C came first.
    """
    raise _raised.pop(status, None) or KeyboardInterrupt


#: The callbacks of living functions, by name.
_natives: weakref.WeakValueDictionary[str, Native] = weakref.WeakValueDictionary()


def native_of(call: HostCall) -> Native:
    """Return the native form of a call; it lives as long as the function."""
    kept: dict[Any, Native] = vars(call.function).setdefault("natives", {})
    key = (call.in_types, call.types, call.batch)
    if key not in kept:
        made = Native(call)
        kept[key] = _natives[made.name] = made
    return kept[key]


def owners(names: Sequence[str]) -> list[Any]:
    """Return the objects that must live as long as code that calls these functions."""
    return [_natives[name] for name in names if name.startswith(PREFIX)]


def address_of(name: str) -> int | None:
    """Return the address of a callback, or of the function that raises; None for other names."""
    if name == RAISE:
        return id(raise_error)
    return _natives[name].address if name.startswith(PREFIX) else None
