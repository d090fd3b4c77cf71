"""The cards of this machine, or numba's simulator of one."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.locks import Lock

from . import compiler, forks
from .card import Card
from .compiler import ENTRY, SIMULATE, Kept, Kernel, load_cuda
from .library import Library, of_driver, of_python
from .prototypes import ORDINAL

#: ``(kernel, capability, kept) -> (code, name of the kernel in it)``.
Image = Callable[[Kernel, tuple[int, int], Kept | None], tuple[bytes, bytes]]


class _Machine:
    """The driver and the cards, opened at the first use."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.opened: tuple[Library, Image] | None = None
        self.cards: dict[int, Card] = {}


_machine = _Machine()


def is_simulated() -> bool:
    """Whether NUMBA_ENABLE_CUDASIM is set, or was when numba was imported."""
    config = sys.modules.get("numba.core.config")
    if config is not None:
        return bool(config.ENABLE_CUDASIM)
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def image_for(driver: int) -> Image:
    """A function that makes code for a driver of a release: 12040 is CUDA 12.4."""

    def image(
        kernel: Kernel, capability: tuple[int, int], kept: Kept | None
    ) -> tuple[bytes, bytes]:
        return compiler.image(kernel, capability, kept, driver), ENTRY.encode()

    return image


def _open() -> tuple[Library, Image]:
    if is_simulated():
        load_cuda()
        from .simulated import Simulator

        simulator = Simulator()
        names = [name for name in dir(simulator) if name.startswith("cu")]
        functions = {name: getattr(simulator, name) for name in names}
        return of_python(functions, is_host=True), simulator.image
    library = of_driver()
    if library is None or not _count(library):
        raise TargetError(
            'device="cuda" needs an NVIDIA GPU and its driver; none is found '
            f"(nvidia-smi says what the driver sees).\n{SIMULATE}"
        )
    forks.started()
    return library, image_for(library.asked("cuDriverGetVersion", ctypes.c_int))


def _count(library: Library) -> int:
    """The number of cards of a driver; 0 also if the driver reports that there is none."""
    try:
        library.call("cuInit", 0)
        return int(library.asked("cuDeviceGetCount", ctypes.c_int))
    except TargetError:
        return 0


def _library() -> tuple[Library, Image]:
    forks.refuse()
    with _machine.lock:
        if _machine.opened is None:
            _machine.opened = _open()
        return _machine.opened


def count() -> int:
    """The number of cards; raises TargetError if there is none."""
    return _count(_library()[0])


def card(ordinal: int = 0) -> Card:
    """A card by its number; raises TargetError if there is no such card."""
    found = _machine.cards.get(ordinal)
    if found is not None:
        return found
    library, image = _library()
    with _machine.lock:
        if ordinal not in _machine.cards:
            there = _count(library)
            if ordinal >= there:
                raise TargetError(
                    f'there is no device "cuda:{ordinal}": this machine has {there}, counted '
                    'from "cuda:0"'
                )
            _machine.cards[ordinal] = Card(library, ordinal, image)
        return _machine.cards[ordinal]


def opened() -> list[Card]:
    """The cards used so far."""
    return list(_machine.cards.values())


@contextmanager
def driven_by(library: Library, image: Any) -> Iterator[None]:
    """Replace the driver's functions inside of the block, for tests."""
    before = _machine.opened, _machine.cards
    _machine.opened, _machine.cards = (library, image), {}
    try:
        yield
    finally:
        _machine.opened, _machine.cards = before


def holder(pointer: int) -> int:
    """The number of the card whose memory contains an address."""
    if not pointer:
        return 0
    with card() as first:
        found = ctypes.c_int()
        address = ctypes.addressof(found)
        first.library.call("cuPointerGetAttribute", address, ORDINAL, pointer)
    return found.value
