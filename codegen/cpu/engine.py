"""LLVM as the compiler: LLVM IR in, addresses out.

It is the LLVM of Numba (llvmlite), with Numba's settings of the machine and of the passes, asked
directly: to import Numba for its code generator takes longer than all the rest of a program's
start (130 of 330 ms to the first gradient), and gives the same code.
"""

from __future__ import annotations

import itertools
import os
import threading
from functools import lru_cache
from typing import Any

#: Settings of Numba's that are followed here: the processor, and the passes.
SETTINGS = (
    "NUMBA_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "NUMBA_ENABLE_AVX",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_OPT",
    "NUMBA_SLP_VECTORIZE",
)

_lock = threading.RLock()
_serial = itertools.count()
if hasattr(os, "register_at_fork"):
    # LLVM in the middle of its work would be no use to a child, so a fork waits.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def settings() -> dict[str, str]:
    """Those settings that are made, as they are now."""
    return {name: os.environ[name] for name in SETTINGS if name in os.environ}


def target_machine() -> Any:
    """This processor, with the settings that Numba takes for it."""
    return _machine(**settings())


@lru_cache(maxsize=8)
def _machine(**settings: str) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features = llvm.get_host_cpu_features()
    if not _number(settings.get("NUMBA_ENABLE_AVX"), 1):
        features.update({name: False for name in features if name.startswith("avx")})
    return target.create_target_machine(
        cpu=settings.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name(),
        features=settings.get("NUMBA_CPU_FEATURES") or features.flatten(),
        opt=_level(settings),
        reloc="static" if target.name.startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )


@lru_cache(maxsize=1)
def has_cycle_counter() -> bool:
    """Whether programs may read the processor's counter of cycles."""
    import llvmlite.binding as llvm

    return str(llvm.get_process_triple()).startswith(("x86_64", "i686"))


def _level(settings: dict[str, str]) -> int:
    return min(_number(settings.get("NUMBA_OPT"), 3), 3)


def _number(setting: str | None, default: int) -> int:
    return int(setting) if setting and setting.isdigit() else default


def _optimized(text: str) -> Any:
    """The module of LLVM IR, after LLVM's passes in the order of its own pipeline."""
    import llvmlite.binding as llvm

    machine, made = target_machine(), settings()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    module.data_layout = str(machine.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=_level(made))
    tuning.loop_vectorization = bool(_number(made.get("NUMBA_LOOP_VECTORIZE"), 1))
    tuning.slp_vectorization = bool(_number(made.get("NUMBA_SLP_VECTORIZE"), 0))
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    return module


class Compiled:
    """A compiled module; keeps its code alive."""

    def __init__(self, text: str) -> None:
        self.text = text
        with _lock:
            #: What :func:`load_object` takes, in this process or another.
            self.object_code = bytes(target_machine().emit_object(_optimized(text)))
        self._linked: dict[str, tuple[int, Any]] = {}

    def address(self, symbol: str) -> int:
        """The address of a function of the module."""
        if symbol not in self._linked:
            self._linked[symbol] = load_object(self.object_code, symbol)
        return self._linked[symbol][0]

    def llvm(self) -> str:
        """The optimised LLVM IR."""
        with _lock:
            return str(_optimized(self.text))

    def assembly(self) -> str:
        with _lock:
            return str(target_machine().emit_assembly(_optimized(self.text)))


def load_object(code: bytes, symbol: str) -> tuple[int, Any]:
    """The address of a function in object code, and what keeps the code in memory.

    The linker is MCJIT, as it is Numba's.  Each object has one of its own: names in two
    objects may be equal.  A ValueError says that the bytes are not such an object.
    """
    # All that llvmlite made for this is gone before the lock is free, and a fork may go on: to
    # dispose of a machine takes llvmlite's own lock.
    with _lock:
        return _linked(code, symbol)


def _linked(code: bytes, symbol: str) -> tuple[int, Any]:
    import llvmlite.binding as llvm

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
