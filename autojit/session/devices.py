"""The device on which a program runs: the requests for one, and the check that all agree.

Requests come from ``jit(f, device=...)``, wherever it is called, and from arrays on a GPU. The
requests in a traced function belong to its program (``Program.devices``), and transformations pass
them on. There are no other requests: NumPy arrays go where the program runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from autojit import places
from autojit.codegen.cuda.arrays import DeviceArray, Operations
from autojit.codegen.cuda.foreign import is_foreign
from autojit.errors import MixedDevicesError, with_place
from autojit.ir.core.program import Source

CPU = "cpu"
Operations.load = staticmethod(lambda: importlib.import_module(places.ON_GPU))


class Request(NamedTuple):
    """A request for a device."""

    device: str
    #: Where the request comes from, as the start of a sentence: ``jit(f, device='cuda')``.
    words: str
    place: Source | None = None
    #: Whether it comes from an array, which can be brought elsewhere.
    is_array: bool = False


def is_on_card(x: Any) -> bool:
    """Whether an object is an array on a GPU, ours or another library's."""
    return isinstance(x, DeviceArray) or is_foreign(x)


def device_of(x: Any) -> str | None:
    """``"cuda:0"`` for an array on that GPU; None for anything that is not on a GPU."""
    if isinstance(x, DeviceArray):
        return x.device
    if not is_foreign(x):
        return None
    from autojit.codegen.cuda.driver.cards import holder

    return f"cuda:{holder(x.__cuda_array_interface__['data'][0])}"


def placed(things: Iterable[Any], names: Sequence[str] | None = None) -> list[Request]:
    """The device requests of the arrays among some objects."""
    found = []
    for number, thing in enumerate(things):
        device = device_of(thing)
        if device is not None:
            name = f"argument {number}" if names is None else names[number]
            found.append(Request(device, f"{name} lies on {device!r}", is_array=True))
    return found


def chosen(requests: Iterable[Request]) -> str | None:
    """The device that all requests ask for, with its number; None if there are no requests.

    Raises:
        MixedDevicesError: if they ask for different ones.
    """
    found: Request | None = None
    for request in requests:
        if found is None or (found.device == "cuda" and request.device.startswith("cuda")):
            found = request
        elif request.device != found.device and not (
            request.device == "cuda" and found.device.startswith("cuda")
        ):
            raise _mixed(found, request)
    if found is None:
        return None
    return "cuda:0" if found.device == "cuda" else found.device


def numbered(device: str) -> str:
    """A device with its number: ``"cuda"`` is the first card."""
    return "cuda:0" if device == "cuda" else device


def ordinal(device: str) -> int:
    """The number of a card.

    >>> ordinal("cuda"), ordinal("cuda:3")
    (0, 3)
    """
    return int(device.partition(":")[2] or 0)


def _mixed(first: Request, second: Request) -> MixedDevicesError:
    words = f"{first.words}, and {second.words}: a program runs on one device. "
    return MixedDevicesError(with_place(words + _fix(first, second), second.place or first.place))


def _fix(first: Request, second: Request) -> str:
    array = next((r for r in (second, first) if r.is_array), None)
    other = first if array is second else second
    if array is None:
        return (
            "Name the device once, in the outermost jit:\n"
            "    @jit                               # it runs on the device of its caller\n"
            "    def g(x): ...                      # not: @jit(device=...)"
        )
    if other.device == CPU:
        return (
            "Bring the array to the host, or leave the device out, and the function runs where "
            "its arrays are:\n"
            "    f(autojit.device_get(x))\n"
            "    jit(f)(x)                          # not: jit(f, device='cpu')(x)"
        )
    return f"Bring it there first:\n    autojit.device_put(x, {other.device!r})"
