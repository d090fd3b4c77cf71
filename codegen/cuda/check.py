"""Programs on the GPU against the interpreter, with times.

    python -m autojit.codegen.cuda.check

For a machine with a card; with NUMBA_ENABLE_CUDASIM=1 it runs small ones in the simulator.
The exit status is 1 if a result is wrong.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops import REGISTRY
from autojit.ir.tools.interpreter import interpret

from .runtime import CudaExecutable, compile_for_cuda, is_simulated, load_cuda

Make = Callable[..., Value]


def _op(name: str) -> Make:
    kind: Make = REGISTRY[name]
    return kind


def _program(name: str, make: Callable[..., list[Value]], *types: Type) -> tuple[str, Program]:
    builder = Builder()
    inputs = [Value(t) for t in types]
    with building(builder):
        outputs = make(*inputs)
    return name, builder.finish(inputs, outputs)


def _elementwise(x: Value) -> list[Value]:
    return [_op("sin")(x) * _op("exp")(x * -0.5) + _op("tanh")(x)]


def _softmax(x: Value) -> list[Value]:
    def spread(row: Value) -> Value:
        return _op("broadcast")(row, shape=x.shape, dims=(0,))

    e = _op("exp")(x - spread(_op("max")(x, axes=(1,))))
    return [e / spread(_op("sum")(e, axes=(1,)))]


def _sums(x: Value) -> list[Value]:
    total = _op("sum")
    return [total(x * x, axes=(0, 1)), total(x, axes=(0,)), total(x, axes=(1,))]


def _product(a: Value, b: Value) -> list[Value]:
    return [_op("dot")(a, b, contract=((1,), (0,)), batch=((), ()))]


def _scatter(updates: Value, places: Value) -> list[Value]:
    shape = (max(1, updates.shape[0] // 8), updates.shape[1])
    return [_op("scatter_add")(updates, places, axes=(0,), shape=shape)]


def programs(n: int) -> list[tuple[str, Program]]:
    """What is checked, on arrays of about n x n elements."""
    made = []
    for dtype in ("f4", "f8"):
        square = Type(np.dtype(dtype), (n, n))
        odd = square.with_shape((n + 3, n - 1)), square.with_shape((n - 1, n + 5))
        made += [
            _program(f"elementwise {dtype}", _elementwise, square),
            _program(f"softmax {dtype}", _softmax, square),
            _program(f"sums {dtype}", _sums, square),
            _program(f"product {dtype}", _product, *odd),
            _program(f"scatter {dtype}", _scatter, square, Type(np.dtype("i8"), (n,))),
        ]
    return made


def arguments(program: Program) -> list[Any]:
    """Random arrays; integers are places below an eighth of their number."""
    rng = np.random.default_rng(0)
    return [
        rng.integers(0, max(1, t.size // 8), t.shape)
        if t.dtype.kind == "i"
        else rng.normal(size=t.shape).astype(t.dtype)
        for t in program.in_types
    ]


def check(program: Program) -> tuple[float, float, float]:
    """The error relative to the largest element; seconds of the first call and of a later one."""
    cuda = load_cuda()
    host = arguments(program)
    start = time.perf_counter()
    executable = compile_for_cuda(program)
    there = [cuda.to_device(a) for a in host]
    got = executable.call(there)
    cuda.synchronize()
    first = time.perf_counter() - start
    error = 0.0
    for a, b in zip(got, interpret(program, host), strict=True):
        difference = np.abs(np.asarray(a, np.float64) - b).max(initial=0.0)
        error = max(error, float(difference / max(1.0, np.abs(b).max(initial=0.0))))
    return error, first, _time(executable, there)


def _time(executable: CudaExecutable, there: list[Any]) -> float:
    cuda = load_cuda()
    repeats = 1 if is_simulated() else 20
    start = time.perf_counter()
    for _ in range(repeats):
        executable.call(there)
    cuda.synchronize()
    return (time.perf_counter() - start) / repeats


def main() -> int:
    """Print a table, and give the exit status."""
    n = 12 if is_simulated() else 2000
    wrong = 0
    print(f"{'program':<18}{'error':>10}{'first call':>13}{'later':>12}   on {n} x {n}")
    for name, program in programs(n):
        try:
            error, first, later = check(program)
        except TargetError as failure:
            print(failure, file=sys.stderr)
            return 1
        bad = not error < (1e-4 if "f4" in name else 1e-11)
        wrong += bad
        mark = "  WRONG" if bad else ""
        print(f"{name:<18}{error:>10.1e}{first:>11.2f} s{later * 1e3:>9.3f} ms{mark}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
