"""Compile loops over the functions, time them, and write `ACCURACY.md`: a developer's tool.

    python -m bench.vector_math.measure            # all (minutes), into ACCURACY.md
    python -m bench.vector_math.measure exp log    # only print these

The loops are compiled for this processor, like the loops of programs.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special
from llvmlite import ir

from autojit.codegen.cpu.host.engine import Compiled
from autojit.codegen.cpu.llvm import library
from autojit.codegen.loop_ir.machine import has_fused
from autojit.codegen.vector_math import CALLED, NAMES, function
from autojit.codegen.vector_math.scalar import FORMATS
from autojit.codegen.vector_math.table import TABLE

from .accuracy import CASES, Array, largest_error

PACKAGE = Path(__file__).parents[2] / "codegen" / "vector_math"

DTYPES: dict[int, np.dtype[Any]] = {64: np.dtype(np.float64), 32: np.dtype(np.float32)}
_serial = itertools.count()


def loop_module(name: str, bits: int, symbol: str, *, fused: bool = False) -> ir.Module:
    """A module with `void symbol(in..., out, count)`: out[i] = name(in[i], ...), no aliasing."""
    module = ir.Module(symbol)
    if name in CALLED:
        callee = library.elementary(module, name, bits)
    else:
        callee = function(module, name, bits, fused=fused)
    element, index_type = FORMATS[bits].float_type, ir.IntType(64)
    pointers = [element.as_pointer()] * (len(callee.args) + 1)
    loop = ir.Function(module, ir.FunctionType(ir.VoidType(), [*pointers, index_type]), symbol)
    *arrays, count = loop.args
    for array in arrays:
        array.add_attribute("noalias")
    entry, body, end = (loop.append_basic_block(block) for block in ("entry", "body", "end"))
    builder = ir.IRBuilder(entry)
    builder.cbranch(builder.icmp_signed(">", count, index_type(0)), body, end)
    builder.position_at_end(body)
    index = builder.phi(index_type)
    operands = [builder.load(builder.gep(array, [index])) for array in arrays[:-1]]
    builder.store(builder.call(callee, operands), builder.gep(arrays[-1], [index]))
    following = builder.add(index, index_type(1))
    index.add_incoming(index_type(0), entry)
    index.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, count), body, end)
    builder.position_at_end(end)
    builder.ret_void()
    return module


@dataclass(frozen=True)
class Loop:
    """A compiled loop, called with arrays of one dtype."""

    address: int
    arity: int
    dtype: np.dtype[Any]
    code: Any
    """The object that keeps the code in memory."""

    def __call__(self, *operands: Array) -> Array:
        out = np.empty_like(operands[0])
        self.into(out, *operands)
        return out

    def into(self, out: Array, *operands: Array) -> None:
        pointers = [ctypes.c_void_p] * (self.arity + 1)
        entry = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(self.address)
        contiguous = [np.ascontiguousarray(operand, self.dtype) for operand in operands]
        entry(*(operand.ctypes.data for operand in contiguous), out.ctypes.data, out.size)


def compile_loop(name: str, bits: int, *, fused: bool | None = None) -> Loop:
    """Compile the loop of a function for this processor."""
    symbol = f"loop_{name}_{bits}_{next(_serial)}"
    fused = has_fused() if fused is None else fused
    module = loop_module(name, bits, symbol, fused=fused)
    code = Compiled([library.with_forms(str(module))], library.used(module))
    return Loop(code.address(symbol), TABLE[name].arity, DTYPES[bits], code)


NUMPY: dict[str, Callable[..., Array]] = {
    "pow": np.power,
    "sigmoid": scipy.special.expit,
    "softplus": lambda x, out: np.logaddexp(x, 0, out=out),
    **{name: getattr(scipy.special, name) for name in ("erf", "erfc", "ndtr")},
}
INTERVALS = {
    "acosh": (1, 10),
    "log1p": (0, 10),
    **dict.fromkeys(("log", "log2", "log10", "pow"), (0.1, 10)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-1, 1)),
}


def nanoseconds(run: Callable[[], object], size: int, repeats: int = 60) -> float:
    """The shortest time per element."""
    shortest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest / size * 1e9


def row(name: str, bits: int) -> str:
    size, rng, dtype = 100_000, np.random.default_rng(0), DTYPES[bits]
    loop = compile_loop(name, bits)
    error = largest_error(name, loop, dtype, 4000)
    low, high = INTERVALS.get(name, (-5, 5))
    operands = [rng.uniform(low, high, size).astype(dtype) for _ in range(loop.arity)]
    out = np.empty(size, dtype)
    rival = NUMPY[name] if name in NUMPY else getattr(np, name)
    ours = nanoseconds(lambda: loop.into(out, *operands), size)
    theirs = nanoseconds(lambda: rival(*operands, out=out), size)
    bound = CASES[name].bound[bits]
    return f"| {name} | f{bits} | {bound:g} | {error:.2f} | {ours:.2f} | {theirs:.2f} |"


HEADER = """# Accuracy and speed of the vector math

Written by `bench/vector_math/measure.py`. Errors are in units of the last place, against mpmath, on
the samples of
`accuracy.py` (4,000 in each batch). Times are per element of an array of 100,000, one thread, the
shortest of 60 runs, on an x86-64 with AVX-512, which NumPy has its own kernels for. The rival is
NumPy, or SciPy for sigmoid, erf, erfc and ndtr. sin, cos and tan are of moderate arguments: of
large ones they take 23 ns in float64, 11 in float32.

| function | width | bound | largest error seen | ns | NumPy's ns |
|---|---|---|---|---|---|
"""


def main(names: list[str]) -> None:
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for name in names or sorted(NAMES):
            for bits in (64, 32):
                lines.append(row(name, bits))
                print(lines[-1], flush=True)
    if not names:
        (PACKAGE / "ACCURACY.md").write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
