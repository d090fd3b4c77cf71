"""Kernels are compiled to code that a card loads: PTX by NVVM, then machine code.

No card is needed for that.  A kernel takes the bare addresses of its buffers; their sizes are part
of its code.  Compiled kernels are cached by their text, so that equal ones are compiled once, and
also on disk.
"""

from __future__ import annotations

import hashlib
import importlib
import linecache
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from autojit.codegen.cuda.translation.module import Module
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.locks import Lock

from . import nvvm
from .assembly import assembled, assembles, is_for, lowered
from .extraction import NAME

_INSTALL = 'pip install "autojit[cuda]"'
SIMULATE = "To try it without a GPU, set NUMBA_ENABLE_CUDASIM=1 before Python starts."
#: The name of a kernel in its PTX.
ENTRY = "autojit_kernel"


class Parameter(NamedTuple):
    """A buffer of a kernel.

    ``dtype`` and ``size`` describe its elements.  If ``by_value``, its one element is passed
    instead of its address.  If ``per_step``, it has ``size`` elements for each step, and the number
    of steps is passed after its address.  Its address is a multiple of ``aligned``.  If
    ``exchanged``, threads read elements that others have written before a barrier.
    """

    dtype: str
    size: int
    by_value: bool = False
    per_step: bool = False
    aligned: int = 1
    exchanged: bool = False


class Kernel(NamedTuple):
    """A kernel as its own module, its buffers, and their names in it."""

    text: str
    buffers: tuple[Parameter, ...]
    names: tuple[str, ...]

    @property
    def words(self) -> int:
        """The number of 8-byte words that a launch passes."""
        return len(self.buffers) + sum(b.per_step for b in self.buffers)

    @property
    def key(self) -> str:
        """A key that is equal, in every process, for kernels that differ only in buffer names."""
        return _key(self)


@lru_cache(maxsize=4096)
def _key(kernel: Kernel) -> str:
    numbers = {name: f"<{i}>" for i, name in enumerate(kernel.names)}
    words = re.sub(r"[A-Za-z_]\w*", lambda found: numbers.get(found[0], found[0]), kernel.text)
    return hashlib.sha256(f"{kernel.buffers}\n{words}".encode()).hexdigest()


class Kept(Protocol):
    """A store for code between processes."""

    def load(self, kernel: Kernel, capability: tuple[int, int], form: str) -> bytes | None:
        """The code of a kernel, or None; ``form`` is ``"ptx"`` or ``"cubin"``."""

    def store(self, kernel: Kernel, capability: tuple[int, int], form: str, code: bytes) -> None:
        """Store the code of a kernel."""


class Count:
    """The numbers of kernels compiled, and loaded from disk, in this process."""

    compiled = 0
    loaded = 0


_images: dict[tuple[str, tuple[int, int], int], bytes] = {}
_lock = Lock()


def load_cuda() -> Any:
    """The module ``numba.cuda`` of numba-cuda, in which the simulator is."""
    try:
        importlib.import_module("numba_cuda")
    except ImportError:
        raise TargetError(
            f"the CUDA simulator needs numba-cuda, which is not installed:\n    {_INSTALL}"
        ) from None
    with quiet():  # numba-cuda warns about versions of the toolkit
        from numba import cuda
    return cuda


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings: NumPy's about NaN in the simulator, and Numba's about small grids."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def run_source(text: str, name: str) -> dict[str, Any]:
    """Execute a source, and return the names that it defines; tracebacks show its lines."""
    file = f"<autojit cuda {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": f"autojit_cuda_{name}"}
    exec(compile(text, file, "exec"), namespace)
    return namespace


def image(
    kernel: Kernel, capability: tuple[int, int], kept: Kept | None = None, driver: int = 0
) -> bytes:
    """The code of a kernel for cards of a capability, in a form that the driver takes.

    It is machine code, or PTX, which the driver translates.  ``driver`` is the driver's version:
    12040 is that of CUDA 12.4; for 0, the result is PTX with its version unchanged.
    """
    with _lock:
        key = kernel.key, capability, driver
        if key not in _images:
            _images[key] = _image(kernel, capability, kept, driver)
        return _images[key]


def _image(
    kernel: Kernel, capability: tuple[int, int], kept: Kept | None, driver: int
) -> bytes:  # fmt: skip
    forms = ["cubin", "ptx"] if assembles(driver) else ["ptx"]
    for form in forms if kept is not None else []:
        found = kept.load(kernel, capability, form) if kept is not None else None
        if found is not None:
            Count.loaded += 1
            return found if form == "cubin" else lowered(found.decode(), driver).encode()
    text = ptx(kernel, capability) + "\0"
    Count.compiled += 1
    form = forms[0] if is_for(text, capability) else "ptx"
    code = assembled(text[:-1], capability) if form == "cubin" else text.encode()
    if kept is not None:
        kept.store(kernel, capability, form, code)
    return code if form == "cubin" else lowered(text, driver).encode()


def ptx(kernel: Kernel, capability: tuple[int, int]) -> str:
    """The PTX of a kernel, which is named ``autojit_kernel`` in it.

    The buffers of a kernel are marked as ``noalias``: each has its own memory while the kernel
    runs, except arguments, which are never written.  So LLVM loads from buffers that are not
    written by ``ld.global.nc``, and moves loads ahead of stores.  With the alignment, it loads and
    stores both parts of a complex number, and other neighbours, at once.

    A buffer in which threads exchange numbers is not marked.  LLVM sees a barrier as a call that
    does not get the buffer and so cannot change it; after the barrier it would reuse values loaded
    before (``BasicAAResult::getModRefInfo``: a ``noalias`` argument that does not escape).

    Raises:
        TargetError: if NVVM is not installed, or has no code for the capability.
    """
    module = Module(kernel.text)
    return nvvm.compiled(
        lambda version: module.kernel(NAME, ENTRY, kernel.buffers, version), capability
    )
