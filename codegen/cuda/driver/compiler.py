"""Kernels are compiled to code that a card loads: PTX by numba-cuda, then machine code.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.locks import Lock

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
    """The module ``numba.cuda`` of numba-cuda, whether or not there is a GPU."""
    try:
        importlib.import_module("numba_cuda")
    except ImportError:
        raise TargetError(
            f'device="cuda" needs numba-cuda, which is not installed:\n    {_INSTALL}\n{SIMULATE}'
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
    """The PTX of a kernel, which is named ``autojit_kernel`` in it."""
    cuda = load_cuda()
    namespace = run_source(kernel.text, kernel.key[:12])
    entry = _entry(namespace[NAME].py_func, kernel.buffers)
    from numba.cuda.cudadrv import error

    too_old: Any = getattr(error, "CCSupportError", error.NvvmSupportError)
    try:
        with quiet(), _device_of(capability), _buffers_apart(kernel.buffers):
            # By default Numba reads NUMBA_OPT, as it was when Numba was imported.
            text, _ = cuda.compile_ptx(entry, _signature(kernel.buffers), cc=capability, opt=True)
    except too_old as failure:
        raise TargetError(
            f"the compiler that is installed makes no code for this GPU: {failure}. For older ones "
            'there is that of CUDA 12:\n    pip install "numba-cuda[cu12]"'
        ) from None
    return _named(str(text))


def _named(text: str) -> str:
    """The PTX with our name for the kernel in the place of Numba's."""
    mangled = text.split(".visible .entry ", 1)[1].split("(", 1)[0].strip()
    return text.replace(mangled, ENTRY)


def _entry(function: Any, buffers: Sequence[Parameter]) -> Any:
    """A kernel that takes addresses, or numbers, and calls the function with arrays made of
    them."""
    from numba import cuda

    names, arrays = [], []
    for i, b in enumerate(buffers):
        names += [f"p{i}", *([f"steps{i}"] if b.per_step else [])]
        steps = f"steps{i}" if b.per_step else "1"
        size = max(1, b.size) if b.per_step else b.size
        arrays.append(f"array_of(p{i})" if b.by_value else f"array_at(p{i}, {size}, {steps})")
    text = f"def entry({', '.join(names)}):\n    function({', '.join(arrays)})\n"
    device = cuda.jit(device=True, forceinline=True)(function)  # type: ignore[call-arg]
    array_at, array_of = _intrinsics()
    namespace = {"array_at": array_at, "array_of": array_of, "function": device}
    exec(text, namespace)
    return namespace["entry"]


@cache
def _intrinsics() -> tuple[Any, Any]:
    """The intrinsics that make arrays in a kernel.

    ``array_at(pointer, size, steps)`` is an array with ``size`` elements for each step;
    ``array_of(number)`` is an array of one element.  LLVM optimizes both away.
    """
    from numba import types
    from numba.cuda.cgutils import alloca_once_value
    from numba.cuda.extending import intrinsic

    @intrinsic
    def array_at(typing: Any, pointer: Any, size: Any, steps: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            count = context.get_constant(types.intp, signature.args[1].literal_value)
            count = builder.mul(count, arguments[2])
            return _array(context, builder, signature.return_type, arguments[0], count)

        if not isinstance(size, types.IntegerLiteral):
            return None  # Numba first tries types without literal values
        return types.Array(pointer.dtype, 1, "C")(pointer, size, types.intp), code

    @intrinsic
    def array_of(typing: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            stored = context.data_model_manager[number].as_data(builder, arguments[0])
            place = alloca_once_value(builder, stored)
            one = context.get_constant(types.intp, 1)
            return _array(context, builder, signature.return_type, place, one)

        return types.Array(number, 1, "C")(number), code

    return array_at, array_of


def _array(context: Any, builder: Any, kind: Any, pointer: Any, count: Any) -> Any:
    """Numba's structure for an array."""
    from numba import types
    from numba.cuda.np import arrayobj

    made = arrayobj.make_array(kind)(context, builder)
    element = context.get_data_type(kind.dtype)
    width = context.get_constant(types.intp, context.get_abi_sizeof(element))
    arrayobj.populate_array(
        made,
        data=builder.bitcast(pointer, element.as_pointer()),
        shape=(count,),
        strides=(width,),
        itemsize=width,
        meminfo=None,
    )
    return made._getvalue()


def _signature(buffers: Sequence[Parameter]) -> tuple[Any, ...]:
    from numba import types

    found = []
    for b in buffers:
        kind = types.boolean if b.dtype == "bool" else getattr(types, b.dtype)
        found.append(kind if b.by_value else types.CPointer(kind))
        if b.per_step:
            found.append(types.int64)
    return tuple(found)


@contextmanager
def _device_of(capability: tuple[int, int]) -> Iterator[None]:
    """Compile device functions for this capability.

    Numba takes it from the current device, even in ``compile_ptx``, which needs no device.
    """
    from unittest import mock

    from numba.cuda import dispatcher

    device = SimpleNamespace(compute_capability=capability)
    with mock.patch.object(dispatcher, "get_current_device", return_value=device):
        yield


@contextmanager
def _buffers_apart(buffers: Sequence[Parameter]) -> Iterator[None]:
    """Mark the buffers of kernels as ``noalias``, and declare their alignment.

    No two buffers overlap: each has its own memory while a kernel runs, except arguments, which are
    never written.

    A buffer in which threads exchange numbers is not marked.  LLVM sees a barrier as a call that
    does not get the buffer and so cannot change it; after the barrier it would reuse values loaded
    before (``BasicAAResult::getModRefInfo``: a ``noalias`` argument that does not escape).

    With these marks, LLVM loads from buffers that a kernel does not write by ``ld.global.nc``, and
    moves loads ahead of stores.  It loads and stores both parts of a complex number, and other
    neighbours, at once.
    """
    from unittest import mock

    from numba.cuda.cudadrv import nvvm

    mark, given = nvvm.set_cuda_kernel, [b for b in buffers if not b.by_value]

    def mark_apart(function: Any) -> None:
        pointers = [argument for argument in function.args if argument.type.is_pointer]
        for argument, buffer in zip(pointers, given, strict=True):
            if not buffer.exchanged:
                argument.add_attribute("noalias")
            if buffer.aligned > 1:
                argument.attributes.align = buffer.aligned
        mark(function)

    with mock.patch.object(nvvm, "set_cuda_kernel", mark_apart):
        yield
