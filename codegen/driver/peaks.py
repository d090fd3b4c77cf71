"""The peak performance of this machine: float64 operations, and bytes from each memory level.

Both are measured once, for one processor and for all available ones, by loops of LLVM IR that do
nothing else. They are cached on disk under the machine's facts. The best of several rounds counts;
a busy machine shows less than it can do.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from autojit.codegen.cpu.llvm.counted import CountedLoop, text
from autojit.codegen.loop_ir.machine import current, has_fused

from .cache import user_cache

#: The memory levels in order. The arrays that are read from each are sized relative to the caches.
LEVELS = ("first-level cache", "second-level cache", "last-level cache", "memory")
#: The number of independent multiply-adds, more than a processor needs to be busy; and of sums.
_CHAINS, _SUMS = 12, 8
#: The seconds of a round, too few to be interrupted often, and the number of rounds.
_SECONDS, _ROUNDS = 0.001, 40

_DOUBLE, _I64 = ir.DoubleType(), ir.IntType(64)


class Peaks(NamedTuple):
    """Figures of one processor, or of all available ones together."""

    #: Operations on float64 per second; a multiply-add is two.
    flops: float
    #: Bytes per second that are read from each of ``LEVELS``.
    bandwidths: tuple[float, ...]
    #: The number of processors.
    processors: int
    #: How the figures were obtained, in words.
    source: str

    def level(self, size: int) -> int:
        """Return the number of the first level that can hold this many bytes."""
        caches = current().caches
        # One processor has its share of the last level; all processors have all of it.
        held = (*caches[:2], caches[2] * self.processors)
        return next((k for k, most in enumerate(held) if size <= most), len(held))

    def bandwidth(self, size: int) -> float:
        """Return the bytes per second from the level that holds arrays of this many bytes."""
        return self.bandwidths[self.level(size)]


def peaks() -> tuple[Peaks, Peaks]:
    """Return the peaks of one processor and of all, cached for this machine or measured now."""
    facts = current().facts(), current().processors
    if facts not in _known:
        entry = _load(*facts)
        _known[facts] = entry or _measured_by_now(*facts)
    return _known[facts]


def measure_again() -> tuple[Peaks, Peaks]:
    """Measure again and keep the better figures, for a caller that exceeded the peak."""
    known = peaks()
    facts = current().facts(), current().processors
    _known[facts] = _measured_by_now(*facts, known)
    return _known[facts]


_known: dict[tuple[str, int], tuple[Peaks, Peaks]] = {}


def _key(facts: str, processors: int) -> dict[str, Any]:
    from autojit.codegen.cpu.entry_point.key import machine

    return {**machine(), "program": "", "kind": "peaks", "model": facts, "processors": processors}


def _load(facts: str, processors: int) -> tuple[Peaks, Peaks] | None:
    kept = user_cache()
    entry = kept.load(_key(facts, processors)) if kept else None
    if entry is None:
        return None
    one, every = (Peaks(p[0], tuple(p[1]), *p[2:]) for p in entry.about["peaks"])
    return one, every


def _measured_by_now(
    facts: str, processors: int, known: Sequence[Peaks] = ()
) -> tuple[Peaks, Peaks]:
    """Measure the figures now, keep the better of these and the known ones, and cache them."""
    one, every = _measured(1), _measured(processors)
    if known:
        one, every = _better(one, known[0]), _better(every, known[1])
    every = _better(every, one)  # one of all may work alone
    kept = user_cache()
    if kept:
        about = {"name": "peaks of the machine", "types": "measured", "peaks": [one, every]}
        kept.store(_key(facts, processors), about, b"")
    return one, every


def _better(figures: Peaks, others: Peaks) -> Peaks:
    bandwidths = map(max, figures.bandwidths, others.bandwidths)
    return figures._replace(flops=max(figures.flops, others.flops), bandwidths=tuple(bandwidths))


def _measured(processors: int) -> Peaks:
    lanes = current().lanes()
    compute, read = _functions(lanes)
    operations = 2 * _CHAINS * lanes
    flops = operations * _best([lambda n: compute(n)] * processors)
    machine = current()
    sizes = [machine.caches[0] // 2, machine.caches[1] // 2, machine.caches[2] // 2]
    sizes.append(4 * machine.caches[2])  # per processor, so all together read more
    block = _SUMS * lanes
    bandwidths = [_bandwidth(read, block, size, processors) for size in sizes]
    return Peaks(flops, tuple(bandwidths), processors, "measured here by multiply-adds and sums")


def _bandwidth(
    read: Callable[[int, int, int], float], block: int, size: int, processors: int
) -> float:
    arrays = [np.ones(size // 8 // block * block) for _ in range(processors)]
    calls = [lambda n, a=a: read(a.ctypes.data, len(a) // block, n) for a in arrays]
    return arrays[0].nbytes * _best(calls)


def _best(calls: Sequence[Callable[[int], Any]]) -> float:
    """Return the runs per second if each thread makes one of the calls, which run n times."""
    with ThreadPoolExecutor(len(calls)) as pool:

        def once(n: int) -> float:
            begun = time.perf_counter()
            list(pool.map(lambda call: call(n), calls))
            return time.perf_counter() - begun

        n = 1
        while (took := min(once(n) for _ in range(3))) < _SECONDS:
            n = max(2 * n, int(n * min(1.2 * _SECONDS / max(took, 1e-9), 1000)))
        return len(calls) * n / min(took, *(once(n) for _ in range(_ROUNDS)))


# -- the loops ---------------------------------------------------------------------------


#: Keeps the code alive.
_owners: list[Any] = []


@cache
def _functions(
    lanes: int,
) -> tuple[Callable[[int], float], Callable[[int, int, int], float]]:
    """Return ``compute(n)`` and ``read(address, blocks, n)``, which let other threads run.

    A block is ``_SUMS`` vectors of ``lanes`` numbers.
    """
    from autojit.codegen.cpu.host.engine import Compiled, serial
    from autojit.codegen.cpu.llvm import library

    module, name = ir.Module("autojit"), f"autojit_peaks_{serial()}"
    _write_compute(module, f"{name}_compute", lanes)
    _write_read(module, f"{name}_read", lanes)
    compiled = Compiled([text(module)], library.used(module))
    number, address = ctypes.c_int64, ctypes.c_void_p
    kinds = (
        ctypes.CFUNCTYPE(ctypes.c_double, number),
        ctypes.CFUNCTYPE(ctypes.c_double, address, number, number),
    )
    made = [
        kind(compiled.address(f"{name}_{suffix}"))
        for kind, suffix in zip(kinds, ("compute", "read"), strict=True)
    ]
    _owners.append(compiled)
    return made[0], made[1]


def _write_compute(module: ir.Module, name: str, lanes: int) -> None:
    """Write ``double compute(int64 n)``: n rounds of a multiply-add in each chain."""
    vector = ir.VectorType(_DOUBLE, lanes)
    function = ir.Function(module, ir.FunctionType(_DOUBLE, [_I64]), name)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    places = [b.alloca(vector) for _ in range(_CHAINS)]
    for k, place in enumerate(places):
        b.store(_splat(vector, 1.0 + k), place)
    factor, more = _splat(vector, 0.999), _splat(vector, 0.1)
    with CountedLoop(b, ir.Constant(_I64, 0), function.args[0], keep_rolled=True):
        for place in places:
            x = b.load(place, typ=vector)
            if has_fused():
                x = b.call(_fused(module, vector), [x, factor, more])
            else:
                x = b.fadd(b.fmul(x, factor), more)
            b.store(x, place)
    b.ret(_sum(b, [b.load(place, typ=vector) for place in places]))


def _write_read(module: ir.Module, name: str, lanes: int) -> None:
    """Write ``double read(double* x, int64 blocks, int64 n)``: the sum of an array, n times."""
    vector = ir.VectorType(_DOUBLE, lanes)
    kind = ir.FunctionType(_DOUBLE, [ir.PointerType(), _I64, _I64])
    function = ir.Function(module, kind, name)
    x, blocks, n = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    places = [b.alloca(vector) for _ in range(_SUMS)]
    for place in places:
        b.store(_splat(vector, 0.0), place)
    zero = ir.Constant(_I64, 0)
    with (
        CountedLoop(b, zero, n, keep_rolled=True),
        CountedLoop(b, zero, blocks, keep_rolled=True) as block,
    ):
        for k, place in enumerate(places):
            at = b.add(b.mul(block, ir.Constant(_I64, _SUMS)), ir.Constant(_I64, k))
            address = b.gep(x, [at], inbounds=True, source_etype=vector)
            part = b.load(address, typ=vector, align=8)
            b.store(b.fadd(b.load(place, typ=vector), part), place)
    b.ret(_sum(b, [b.load(place, typ=vector) for place in places]))


def _fused(module: ir.Module, vector: ir.VectorType) -> ir.Value:
    name = f"llvm.fma.v{vector.count}f64"
    known = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(vector, [vector] * 3), name)


def _splat(vector: ir.VectorType, value: float) -> ir.Constant:
    return ir.Constant(vector, [ir.Constant(_DOUBLE, value)] * vector.count)


def _sum(b: ir.IRBuilder, vectors: Sequence[ir.Value]) -> ir.Value:
    total = vectors[0]
    for vector in vectors[1:]:
        total = b.fadd(total, vector)
    result = b.extract_element(total, ir.Constant(ir.IntType(32), 0))
    for k in range(1, total.type.count):
        result = b.fadd(result, b.extract_element(total, ir.Constant(ir.IntType(32), k)))
    return result
