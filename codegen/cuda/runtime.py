"""Programs compiled for the GPU, and run on it or in the CUDA simulator."""

from __future__ import annotations

import importlib
import itertools
import linecache
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CUDA
from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Program
from autojit.ir.core.types import Type
from autojit.ir.passes.pipeline import optimize

from .device_program.failures import TAPE_IS_FULL, error_for
from .mapping.machine import Machine
from .source import print_source

_INSTALL = 'pip install "autojit[cuda]"'
_SIMULATE = "To try it without a GPU, set NUMBA_ENABLE_CUDASIM=1 before Python starts."

#: The steps that tapes have room for at first.
STEPS_OF_TAPES = 1024

_serial = itertools.count()
#: One call at a time: calls of an executable share its scratch memory, and the simulator
#: runs one kernel at a time. Launches return at once, so a device does not wait for this.
_lock = Lock()


def load_cuda() -> Any:
    """The module ``numba.cuda`` of numba-cuda, whether or not there is a GPU."""
    try:
        importlib.import_module("numba_cuda")
    except ImportError:
        raise TargetError(
            f'device="cuda" needs numba-cuda, which is not installed:\n    {_INSTALL}\n{_SIMULATE}'
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of the toolkit
        from numba import cuda
    return cuda


def is_simulated() -> bool:
    """Whether NUMBA_ENABLE_CUDASIM was set when numba was imported."""
    from numba.core import config

    return bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]


def open_device() -> Any:
    """``numba.cuda`` with a GPU or the simulator behind it, or TargetError."""
    cuda = load_cuda()
    if not cuda.is_available():
        raise TargetError(
            'device="cuda" needs an NVIDIA GPU and its driver; numba-cuda finds none '
            f"(python -m numba -s says what it sees).\n{_SIMULATE}"
        )
    return cuda


def machine() -> Machine:
    """The sizes of launches for the device, or for the simulator."""
    if is_simulated():
        from .simulator import SIMULATED, add_warps

        add_warps()
        return SIMULATED
    device = load_cuda().get_current_device()
    return Machine(
        processors=device.MULTIPROCESSOR_COUNT,
        resident=device.MAX_THREADS_PER_MULTIPROCESSOR,
    )


def compile_for_cuda(program: Program) -> CudaExecutable:
    """Optimise and schedule a program for the GPU; its kernels are compiled at the first call."""
    return CudaExecutable(program, open_device())


class CudaExecutable:
    """A program compiled for the GPU: ``call(arrays)`` gives device arrays."""

    def __init__(self, program: Program, cuda: Any) -> None:
        self.source = program
        self.optimized = optimize(program)
        self.loops = lower(self.optimized, CUDA)
        self.printed = print_source(self.loops, machine())
        self.in_types = program.in_types
        self.out_types = program.out_types
        self._cuda = cuda
        self._run = load_source(self.printed.text, self.loops.name)["run"]
        self._scratch: list[Any] | None = None
        #: The steps of loops that tapes have room for.
        self._steps = STEPS_OF_TAPES

    def call(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs, as device arrays, for arrays on the device (not copied) or the host."""
        inputs = [self._input(a, t) for a, t in zip(arrays, self.in_types, strict=True)]
        made = [self._output(t) for t in self.out_types]
        with _lock, quiet():
            if self._scratch is None:
                self._scratch = self._allocate()
            self._run(*inputs, *(flat for flat, _ in made), *self._scratch)
            while self._is_to_be_repeated():
                self._run(*inputs, *(flat for flat, _ in made), *self._scratch)
        return [whole for _, whole in made]

    # -- arrays -------------------------------------------------------------

    def _input(self, array: Any, type: Type) -> Any:
        """An array as a flat device array of the scalars that make it up."""
        if is_device_array(array):
            found = self._cuda.as_cuda_array(array) if _is_foreign(array) else array
            if found.dtype != type.dtype or tuple(found.shape) != type.shape:
                raise TypeError(f"compiled for {type}, called with {found.dtype}{found.shape}")
            if found.is_c_contiguous():
                return _scalars(found, type)
            array = found.copy_to_host()
        host = np.ascontiguousarray(array, type.dtype).reshape(-1)
        return self._cuda.to_device(host.view(_part(type)))

    def _output(self, type: Type) -> tuple[Any, Any]:
        """A new device array: flat, as the kernels see it, and in its shape."""
        whole = self._cuda.device_array(type.shape, type.dtype)
        return _scalars(whole, type), whole

    def _allocate(self) -> list[Any]:
        """The temporaries, which share an arena; partial results and the status."""
        arena = self._cuda.device_array(max(1, self.loops.arena), np.uint8)
        made = [_slice(arena, b, offset) for b, offset in self.loops.temps.items()]
        for partial in self.printed.partials:
            made.append(self._cuda.device_array(partial.size, _numpy_dtype(partial.dtype)))
        for tape in self.printed.tapes:
            size = max(1, self._steps * tape.size)
            made.append(self._cuda.device_array(size, _numpy_dtype(tape.dtype)))
        if self.printed.can_fail:
            made.append(self._cuda.to_device(np.zeros(len(self.printed.failures), np.int32)))
        return made

    def _is_to_be_repeated(self) -> bool:
        """Raise what went wrong in the kernels, or make tapes longer that were full.

        The device is waited for only if something can go wrong.
        """
        if not self.printed.can_fail:
            return False
        assert self._scratch is not None
        status = self._scratch[-1]
        found = status.copy_to_host()
        if not found.any():
            return False
        status.copy_to_device(np.zeros(len(found), np.int32))
        failed = self.printed.failures[int(np.argmax(found))]
        if failed != TAPE_IS_FULL:
            raise error_for(failed)
        self._steps *= 4
        self._scratch = self._allocate()
        return True


def load_source(text: str, name: str) -> dict[str, Any]:
    """The names that a source defines; its lines are shown in tracebacks."""
    file = f"<autojit cuda {name} {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": f"autojit_cuda_{name}"}
    exec(compile(text, file, "exec"), namespace)
    return namespace


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: of the simulator's NumPy about NaN, of numba about small grids."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_device_array(x: Any) -> bool:
    """Whether an array lies on the device."""
    return hasattr(x, "__cuda_array_interface__") or _is_numba(x)


def _is_numba(x: Any) -> bool:
    return bool(getattr(x, "__cuda_ndarray__", False))


def _is_foreign(x: Any) -> bool:
    return not _is_numba(x)


def _part(type: Type) -> np.dtype:
    """The dtype of the scalars that make up an element."""
    return np.empty(0, type.dtype).real.dtype


def _numpy_dtype(dtype: str) -> np.dtype:
    if dtype == "bool":
        return np.dtype(bool)
    return np.dtype({"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:])


def _scalars(array: Any, type: Type) -> Any:
    """A contiguous device array as a flat one of its scalars, in the same memory."""
    if not type.size:
        return array
    flat = array.reshape(type.size)
    return flat.view(_part(type)) if type.dtype.kind == "c" else flat


def _slice(arena: Any, buffer: Buffer, offset: int) -> Any:
    size = buffer.size * itemsize(buffer.dtype)
    part = arena[offset : offset + size]
    return part.view(_numpy_dtype(buffer.dtype)) if size else part
