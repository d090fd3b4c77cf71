"""Executables: programs compiled and callable."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.passes.pipeline import optimize
from autojit.ir.program import Program
from autojit.ir.types import canonical_dtype

from .loops import RunTasks
from .lower import lower


def compile_program(program: Program, device: str = "cpu") -> Any:
    """Optimise, schedule and compile a program for a device."""
    if device == "cuda":
        from .cuda.runtime import compile_for_cuda

        return compile_for_cuda(program)
    return Executable(program)


class Executable:
    """A program compiled for the CPU.

    ``call(arrays)`` takes any arrays of the input types.  ``direct(…)`` gives a
    builtin function for one calling convention.
    """

    def __init__(self, program: Program) -> None:
        from .cpu.entry import Module

        self.source = program
        self.optimized = optimize(program)
        self.loops = lower(self.optimized)
        self.in_types = program.in_types
        self.out_types = program.out_types
        self._module = Module(self.loops, self.in_types, self.out_types)
        self._lock = threading.RLock()
        self._entries: dict[Any, int] = {}
        self._compiled: list[Any] = []
        self._generic: Callable[..., Any] | None = None

    def call(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs for arrays of the input types, in any memory layout."""
        if self._generic is None:
            self._generic = self._entry((None,) * len(self.in_types), (), as_tuple=True)
        result = self._generic(*arrays)
        if result is None:
            canonical = [_canonical(a, t.dtype) for a, t in zip(arrays, self.in_types, strict=True)]
            result = self._generic(*canonical)
        if result is None:
            raise TypeError(
                f"compiled for {self.in_types}, called with "
                f"{[(a.dtype, a.shape) for a in map(np.asarray, arrays)]}"
            )
        return list(result)

    def direct(
        self, weak: Sequence[type | None], captured: Sequence[np.ndarray], *, as_tuple: bool
    ) -> Callable[..., Any] | None:
        """A builtin for inputs of these Python number types, with arrays bound to the last ones.

        It returns None where an argument is not just what the program was compiled for.
        There is none for Python's bool and complex.
        """
        if any(w not in (None, float, int) for w in weak):
            return None
        bound = [
            _canonical(a, t.dtype)
            for a, t in zip(captured, self.in_types[len(weak) :], strict=True)
        ]
        return self._entry(tuple(weak), bound, as_tuple=as_tuple)

    def _entry(
        self, weak: tuple[type | None, ...], bound: Sequence[np.ndarray], *, as_tuple: bool
    ) -> Callable[..., Any]:
        from .cpu import abi, blas, threads
        from .cpu.counted import text
        from .cpu.engine import compile_module, serial
        from .cpu.entry import Convention
        from .cpu.results import allocator

        convention = Convention(weak, len(bound), as_tuple)
        with self._lock:
            if convention not in self._entries:
                symbol = f"autojit_entry_{serial()}"
                module = self._module
                if self._entries:
                    from .cpu.entry import Module

                    module = Module(self.loops, self.in_types, self.out_types)
                module.add_entry(symbol, convention)
                compiled = compile_module(text(module.module))
                self._compiled.append(compiled)
                self._entries[convention] = compiled.address(symbol)
            address = self._entries[convention]
        allocators = [
            allocator(self.out_types[i].shape, self.out_types[i].dtype) for i in self._module.pooled
        ]
        own = [
            *map(blas.address, self._module.functions),
            *map(id, allocators),
            *(a.ctypes.data for a in bound),
        ]
        parallel = (0, 0)
        if any(isinstance(s, RunTasks) for k in self.loops.steps for s in getattr(k, "body", ())):
            parallel = threads.layer()[1:]
        numbers = [*abi.fixed_table(), 0, *parallel, *own]
        table = (ctypes.c_int64 * len(numbers))(*numbers)
        name = f"autojit_{self.source.name}"
        return abi.native_function(address, name, table, list(bound), allocators, self._compiled)

    def llvm(self) -> str:
        """The optimised LLVM IR."""
        return str(self._any_compiled().llvm())

    def assembly(self) -> str:
        """The assembly of this machine."""
        return str(self._any_compiled().assembly())

    def _any_compiled(self) -> Any:
        if not self._compiled:
            self._entry((None,) * len(self.in_types), (), as_tuple=True)
        return self._compiled[0]


def _canonical(array: Any, dtype: np.dtype) -> np.ndarray:
    """An aligned C-contiguous array of just this dtype object."""
    dtype = canonical_dtype(dtype)
    array = np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
    return array if array.dtype is dtype else array.view(dtype)
