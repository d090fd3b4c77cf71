"""Compares two ways into native code; this was the basis for a decision.

Numba offers two ways to compile and enter the LLVM IR of a program:

``library``    a separate module in Numba's code library, entered through a C function in the same
               module that uses CPython's and NumPy's ABI (this is autojit's way);
``intrinsic``  the same kernels linked into a typed ``njit`` function by an ``@intrinsic``, entered
               through Numba's dispatcher.

``python -m bench ways_in`` measures each way in fresh processes, in turn: the compile time of a
first and of a second program, and the time of a call.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.report import Table

WAYS = ("library", "intrinsic")
CALLS = 20_000


def _programs() -> list[tuple[Any, tuple[np.ndarray, ...]]]:
    import autojit

    def rosenbrock(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def chain(x: Any) -> Any:
        for _ in range(10):
            x = np.tanh(x) * 0.5 + np.exp(-x * x)
        return np.sum(x)

    x = np.linspace(-1.0, 1.0, 10)
    return [(autojit.jit(autojit.grad(f)).lower(x), (x,)) for f in (rosenbrock, chain)]


def _enter_library(lowered: Any, arrays: tuple[np.ndarray, ...]) -> Callable[..., Any]:
    from autojit.codegen.driver.executable import Executable

    function = Executable(lowered.program).direct([None] * len(arrays), [], as_tuple=False)
    assert function is not None
    return function


def _enter_intrinsic(lowered: Any, arrays: tuple[np.ndarray, ...]) -> Callable[..., Any]:
    """The entry of a program with one array as input and one of the same type as output, which is
    enough for the comparison."""
    import numba
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    from autojit.codegen.cpu.entry_point.entry import Module
    from autojit.codegen.cpu.llvm import counted
    from autojit.codegen.lowering.lower import lower
    from autojit.ir.passes.pipeline import optimize

    program = optimize(lowered.program)
    module = Module(lower(program), program.in_types, program.out_types)
    module.core.linkage = "external"
    module.core.name = f"core_{id(module)}"
    text = counted.text(module.module)
    pointer = ir.PointerType()

    @intrinsic
    def core(typing_context: Any, x: Any, out: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            import llvmlite.binding as llvm

            library = context.codegen().create_library(module.core.name)
            library.add_llvm_module(llvm.parse_assembly(text))
            library.finalize()
            context.active_code_library.add_linking_library(library)
            kind = ir.FunctionType(ir.VoidType(), [pointer] * 5)
            function = cgutils.get_or_insert_function(builder.module, kind, module.core.name)
            data = [
                context.make_array(t)(context, builder, value).data
                for t, value in zip(signature.args, args, strict=True)
            ]
            null = ir.Constant(pointer, None)
            builder.call(function, [null, null, null, *data])
            return context.get_dummy_value()

        return types.void(x, out), generate

    kind = types.Array(types.float64, 1, "C")

    @numba.njit(kind(kind))
    def entry(x: Any) -> Any:
        out = np.empty_like(x)
        core(x, out)
        return out

    return entry  # type: ignore[no-any-return]


def measure(way: str) -> dict[str, float]:
    """The compile times (s) of a first and a second program, and the time of a call (us)."""
    programs = _programs()
    enter = _enter_library if way == "library" else _enter_intrinsic
    times, functions = [], []
    for lowered, arrays in programs:
        start = time.perf_counter()
        functions.append(enter(lowered, arrays))
        functions[-1](*arrays)
        times.append(time.perf_counter() - start)
    function, (x,) = functions[0], programs[0][1]
    start = time.perf_counter()
    for _ in range(CALLS):
        function(x)
    call = (time.perf_counter() - start) / CALLS * 1e6
    return {"first_s": times[0], "second_s": times[1], "call_us": call}


def measure_both(rounds: int) -> Table:
    """A table of medians for both ways, which run in turn, each time in a fresh process."""
    results: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            command = [sys.executable, "-m", "bench.ways_in", way]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            results[way].append(json.loads(done.stdout.splitlines()[-1]))
    middle = {
        way: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for way, rows in results.items()
    }
    columns = ["way", "first program, ms", "second program, ms", "call, us"]
    cells = [
        [way, f"{1e3 * m['first_s']:.0f}", f"{1e3 * m['second_s']:.0f}", f"{m['call_us']:.2f}"]
        for way, m in middle.items()
    ]
    return Table("Compile time (emission included) and time of a call", columns, cells)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
