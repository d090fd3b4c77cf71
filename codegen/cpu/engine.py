"""Numba's CPU code generator as the compiler: LLVM text in, addresses out."""

from __future__ import annotations

import itertools
import threading
from functools import lru_cache
from typing import Any

_lock = threading.RLock()
_serial = itertools.count()


@lru_cache(maxsize=1)
def code_generator() -> Any:
    """One code generator a process, with an engine of its own."""
    from numba.core.codegen import JITCPUCodegen

    return JITCPUCodegen("autojit")


class Compiled:
    """A compiled module; keeps its code alive."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def address(self, symbol: str) -> int:
        """The address of a function of the module."""
        with _lock:
            found: int = self.library.get_pointer_to_function(symbol)
        if not found:
            raise KeyError(symbol)
        return found

    def llvm(self) -> str:
        """The optimised LLVM IR."""
        return str(self.library.get_llvm_str())

    def assembly(self) -> str:
        return str(self.library.get_asm_str())


def compile_module(text: str) -> Compiled:
    """Compile LLVM IR."""
    import llvmlite.binding as llvm
    from numba.core.compiler_lock import global_compiler_lock

    with _lock, global_compiler_lock:
        generator = code_generator()
        library = generator.create_library(f"autojit.{next(_serial)}")
        module = llvm.parse_assembly(text)
        module.verify()
        library.add_llvm_module(module)
        library.finalize()
        return Compiled(library)


def serial() -> int:
    """A number that no other module of this process has."""
    return next(_serial)
