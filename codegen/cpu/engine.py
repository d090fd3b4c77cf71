"""Numba's CPU code generator as the compiler: LLVM text in, addresses out.

Object code that was compiled before is linked by LLVM's linker alone, without Numba, whose import
takes longer than all the rest of a program's start.
"""

from __future__ import annotations

import itertools
import os
import threading
from functools import lru_cache
from typing import Any

_lock = threading.RLock()
_serial = itertools.count()
if hasattr(os, "register_at_fork"):
    # LLVM in the middle of its work would be no use to a child, so a fork waits.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


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

    def object_code(self) -> bytes:
        """What :func:`load_object` takes, in this process or another."""
        _, _, (code, _) = self.library.serialize_using_object_code()
        return bytes(code)


def compile_module(text: str, *, keep_object: bool = False) -> Compiled:
    """Compile LLVM IR; the object code is there afterwards if it was asked for."""
    import llvmlite.binding as llvm
    from numba.core.compiler_lock import global_compiler_lock

    with _lock, global_compiler_lock:
        generator = code_generator()
        library = generator.create_library(f"autojit.{next(_serial)}")
        if keep_object:
            library.enable_object_caching()
        module = llvm.parse_assembly(text)
        module.verify()
        library.add_llvm_module(module)
        library.finalize()
        return Compiled(library)


def load_object(code: bytes, symbol: str) -> tuple[int, Any]:
    """The address of a function in object code, and what keeps the code in memory.

    The linker is MCJIT, as it is Numba's.  Each object has one of its own: names in two
    objects may be equal.  A ValueError says that the bytes are not such an object.
    """
    import llvmlite.binding as llvm

    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_triple(llvm.get_process_triple())
        machine = target.create_target_machine(jit=True)
        linker = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        file = llvm.ObjectFileRef.from_data(code)
        if not file:
            raise ValueError("it is no object code")
        linker.add_object_file(file)
        linker.finalize_object()
        address = linker.get_function_address(symbol)
        if not address:
            raise ValueError(f"it has no function {symbol}")
        return address, linker


def serial() -> int:
    """A number that no other module of this process has."""
    return next(_serial)
