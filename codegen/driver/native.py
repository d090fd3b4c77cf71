"""Native code of a program in memory, compiled from loops and called as a builtin."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.types import Type
from autojit.ir.pass_manager.records import phase

if TYPE_CHECKING:
    from autojit.codegen.cpu.abi.abi import Convention, Needs, Order
    from autojit.codegen.cpu.entry_point.core import Core
    from autojit.codegen.cpu.entry_point.entry import Module
    from autojit.codegen.loop_ir.program import LoopProgram


class Native(NamedTuple):
    """An entry in memory."""

    address: int
    #: Keeps the code alive.
    owner: Any
    needs: Needs


def compiled_entry(
    loops: LoopProgram,
    in_types: Sequence[Type],
    out_types: Sequence[Type],
    convention: Convention,
    writer: Callable[..., Core],
) -> tuple[str, Native]:
    """Compile a new entry for a convention. Return its name and its code."""
    from autojit.codegen.cpu.entry_point.entry import Module
    from autojit.codegen.cpu.host.engine import serial

    symbol = f"autojit_entry_{serial()}"
    with seldom_collected():
        divided, shared, needs = _written(
            lambda: Module(loops, in_types, out_types, writer), symbol, convention
        )
    _begin_to_load(needs)
    address, compiled = _translated(divided, shared, symbol)
    return symbol, Native(address, compiled, needs)


@phase("write LLVM IR")
def _written(
    make: Callable[[], Module], symbol: str, convention: Convention
) -> tuple[list[str], list[str], Needs]:
    """Return the LLVM IR of a module in parts, that of library functions, and the needs."""
    from autojit.codegen.cpu.entry_point.parts import parts
    from autojit.codegen.cpu.llvm import library

    module = make()
    module.add_entry(symbol, convention)
    divided = parts(module.module, module.core.name, module.printed)
    return divided, library.used(module.module), module.needs


@phase("LLVM")
def _translated(divided: list[str], shared: list[str], symbol: str) -> tuple[int, Any]:
    """Compile parts of LLVM IR. Return a function's address and an object that owns the code."""
    from autojit.codegen.cpu.host.engine import Compiled

    compiled = Compiled(divided, shared)
    return compiled.address(symbol), compiled


def builtin(
    native: Native,
    out_types: Sequence[Type],
    bound: Sequence[np.ndarray],
    name: str,
    times: np.ndarray | None = None,
    made: Sequence[Order] = (),
) -> Callable[..., Any]:
    """Return the builtin that calls native code, with everything that the code needs. ``times`` is
    memory for times, and ``made`` the axis orders of results, if any has one."""
    from autojit.codegen.cpu.abi import abi
    from autojit.codegen.cpu.abi.callbacks import owners
    from autojit.codegen.cpu.abi.results import allocator
    from autojit.codegen.cpu.host import threads

    needs = native.needs
    allocators = [
        allocator(*_placed(out_types[i], made[i] if made else None)) for i in needs.pooled
    ]
    own = [
        *map(_address, needs.functions),
        *map(id, allocators),
        *(a.ctypes.data for a in bound),
    ]
    parallel = threads.layer()[1:] if needs.parallel else (0, 0)
    taken = 0 if times is None else times.ctypes.data
    numbers = [*abi.fixed_table(), 0, 0, *parallel, taken, *own]
    table = (ctypes.c_int64 * len(numbers))(*numbers)
    return abi.native_function(
        native.address, f"autojit_{name}", table, list(bound), allocators, native.owner,
        owners(needs.functions), times,
    )  # fmt: skip


def _placed(type: Type, order: Order) -> tuple[Any, ...]:
    """Return the arguments of a request to a pool."""
    from autojit.codegen.cpu.abi import abi
    from autojit.codegen.cpu.abi.results import pool

    if order is None:
        return type.shape, type.dtype
    shape, strides = abi.in_memory(type, order)
    return shape, type.dtype, pool, strides


def _address(name: str) -> int:
    """Return the address of a library function or of a callback."""
    from autojit.codegen.cpu.abi import abi
    from autojit.codegen.cpu.abi.callbacks import address_of

    found = address_of(name)
    return abi.library_function(name) if found is None else found


def _begin_to_load(needs: Needs) -> None:
    """Import the libraries that the code will call, in a thread: LLVM releases the interpreter
    while it works. Their first user waits for the rest, and gets errors."""
    from autojit.codegen.cpu.host import threads

    def load() -> None:
        with contextlib.suppress(Exception):
            for name in needs.functions:
                _address(name)
            if needs.parallel:
                threads.layer()

    if needs.functions or needs.parallel:
        threading.Thread(target=load, name="autojit imports", daemon=True).start()
