"""Programs on the GPU against the interpreter, with times, and what the card reaches at most.

    python -m autojit.codegen.cuda.check

For a machine with a card; with NUMBA_ENABLE_CUDASIM=1 it runs small ones in the simulator.
Each program runs twice, in memory that holds NaN before. The exit status is 1 if a result is
wrong. The table of samples runs the same way by ``python -m tests.codegen.cuda.check_samples``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import Type
from autojit.ir.tools.interpreter import interpret

from .arrays import to_host, uploaded
from .driver.card import Card
from .driver.cards import card as card_of
from .libraries.finding import libraries
from .libraries.prototypes import PROTOTYPES
from .runtime import compile_for_cuda

Make = Callable[..., Value]


def _op(name: str) -> Make:
    kind: Make = REGISTRY[name]
    return kind


def _several(name: str) -> Callable[..., Sequence[Value]]:
    """An op of several results."""
    kind: Callable[..., Sequence[Value]] = REGISTRY[name]
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


def _factors(a: Value, b: Value) -> list[Value]:
    """What is determined, signs too: factors, a solution, values."""
    square = _op("dot")(a, a, contract=((1,), (1,)), batch=((), ()))
    packed, pivots = _several("lu")(square)
    solution = _op("solve")(square, packed, pivots, b, transpose=False)
    q, r = _several("qr")(square)
    values = _several("eigh")(square, lower=True)[0]
    singular = _several("svd")(b)[1]
    return [_op("cholesky")(square), packed, solution, q, r, values, singular]


def _transforms(x: Value, z: Value) -> list[Value]:
    rows, columns = x.shape
    fourier = _op("fourier")
    return [
        fourier(x, axis=1, kind="real", length=columns, scale=1.0),
        fourier(z, axis=0, kind="forward", length=rows, scale=1.0),
        fourier(z, axis=1, kind="half", length=2 * columns - 2, scale=0.5),
    ]


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
        few = max(4, n // 8)
        small = square.with_shape((few, 4 * few)), square.with_shape((few, few // 2))
        made += [
            _program(f"factors {dtype}", _factors, *small),
            _program(f"transforms {dtype}", _transforms, square, square.with_dtype(
                np.dtype(f"c{2 * int(dtype[1])}"))),
        ]  # fmt: skip
    return made


def arguments(program: Program) -> list[Any]:
    """Random arrays; integers are places below an eighth of their number."""
    rng = np.random.default_rng(0)
    return [
        rng.integers(0, max(1, t.size // 8), t.shape) if t.dtype.kind == "i" else _normal(rng, t)
        for t in program.in_types
    ]


def _normal(rng: np.random.Generator, t: Type) -> np.ndarray:
    real = rng.normal(size=t.shape)
    return (real + 1j * rng.normal(size=t.shape) if t.dtype.kind == "c" else real).astype(t.dtype)


def check(program: Program, card: Card) -> Checked:
    """Two calls against the interpreter, whose memory holds NaN before."""
    host = arguments(program)
    start = time.perf_counter()
    executable = compile_for_cuda(program, card.ordinal)
    there = [uploaded(np.asarray(a), card) for a in host]
    want = interpret(program, host)
    first, error = 0.0, 0.0
    for turn in range(2):
        poison(card, [t.nbytes for t in program.out_types] + [executable.layout.nbytes])
        got = to_host(executable.call(there))
        if turn == 0:
            first = time.perf_counter() - start
        error = max(error, *(difference(a, b) for a, b in zip(got, want, strict=True)))
    return Checked(error, first, seconds(lambda: executable.call(there), card))


class Checked(NamedTuple):
    """The error relative to the largest element; seconds of the first call and of a later one."""

    error: float
    first: float
    later: float


def poison(card: Card, sizes: Sequence[int]) -> None:
    """Fill the memory that the next results of these sizes will have with NaN of every width."""
    # What is given back last is taken first.
    held = [uploaded(np.full(max(1, n), 0xFF, np.uint8), card) for n in sizes for _ in range(2)]
    held.clear()


def difference(got: Any, want: Any) -> float:
    """The largest difference relative to the largest element; infinite for other shapes or NaN."""
    a, b = np.asarray(got), np.asarray(want)
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(np.abs(np.where(a == b, 0.0, a.astype(complex) - b)))
    return float(apart.max(initial=0.0) / max(1.0, np.abs(np.nan_to_num(b)).max(initial=0.0)))


def seconds(call: Callable[[], Any], card: Card) -> float:
    """Seconds of a call among many, until the card is done."""
    repeats = 1 if card.is_host else 20
    card.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    card.synchronize()
    return (time.perf_counter() - start) / repeats


# -- ceilings ---------------------------------------------------------------------------


def ceilings(card: Card) -> Iterator[tuple[str, str]]:
    """What the card, and the way to it, reach at most: names and figures."""
    many = 1 << (4 if card.is_host else 27)
    long, few = Type(np.dtype("f4"), (many,)), Type(np.dtype("f4"), (1,))
    name, program = _program("copy", lambda x: [_op("add")(x, x)], long)
    took = _timed(program, card)
    yield name, f"{2 * long.nbytes / took / 1e9:.0f} GB/s read and written"
    host = np.ones(many, np.float32)
    memory = card.memory(host.nbytes)
    ways = {"upload": card.write, "download": card.read}
    for name, way in ways.items():
        took = seconds(partial(way, memory.pointer, host), card)
        yield name, f"{host.nbytes / took / 1e9:.1f} GB/s"
    n = 4 if card.is_host else 4096
    for dtype in ("f4", "f8"):
        square = Type(np.dtype(dtype), (n, n))
        name, program = _program(f"product {dtype}", _product, square, square)
        yield name, f"{2e-12 * n**3 / _timed(program, card):.2f} Tflop/s at {n} x {n}"
    name, program = _program("launch", lambda x: [_op("add")(x, x)], few)
    yield name, f"{1e6 * _timed(program, card):.1f} us a call of one kernel, results dropped"
    n = 2 if card.is_host else 64
    name, program = _program("graph", _chain, Type(np.dtype("f4"), (n, n)))
    yield name, f"{1e6 * _timed(program, card):.1f} us a call of 8 products of {n} x {n}"


def _chain(x: Value) -> list[Value]:
    for _ in range(8):
        (x,) = _product(x, x)
    return [x]


def _timed(program: Program, card: Card) -> float:
    executable = compile_for_cuda(program, card.ordinal)
    there = [uploaded(np.asarray(a), card) for a in arguments(program)]
    for _ in range(3):  # the third runs as a graph, if there is one
        executable.call(there)
    return seconds(lambda: executable.call(there), card)


def _libraries(card: Card) -> list[str]:
    """Those that are installed beside the card."""
    return [] if card.is_host else [name for name in PROTOTYPES if name in libraries()]


def main() -> int:
    """Print tables, and give the exit status."""
    try:
        card = card_of()
    except TargetError as failure:
        print(failure, file=sys.stderr)
        return 1
    major, minor = card.capability
    print(f"{card.model}, capability {major}.{minor}, {card.processors} processors")
    print(f"libraries: {', '.join(_libraries(card)) or 'none, all is computed by our kernels'}\n")
    n = 12 if card.is_host else 2000
    wrong = 0
    print(f"{'program':<18}{'error':>10}{'first call':>13}{'later':>12}   on {n} x {n}")
    for name, program in programs(n):
        found = check(program, card)
        bad = not found.error < (1e-4 if "f4" in name else 1e-11)
        wrong += bad
        mark = "  WRONG" if bad else ""
        print(f"{name:<18}{found.error:>10.1e}{found.first:>11.2f} s"
              f"{found.later * 1e3:>9.3f} ms{mark}")  # fmt: skip
    print("\nceilings")
    for name, figure in ceilings(card):
        print(f"{name:<18}{figure}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
