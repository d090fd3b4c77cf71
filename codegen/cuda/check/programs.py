"""Programs of each class of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import Type
from autojit.ir.tools.text import parse

Make = Callable[..., Value]


def op(name: str) -> Make:
    kind: Make = REGISTRY[name]
    return kind


def program_of(name: str, make: Callable[..., list[Value]], *types: Type) -> tuple[str, Program]:
    builder = Builder()
    inputs = [Value(t) for t in types]
    with building(builder):
        outputs = make(*inputs)
    return name, builder.finish(inputs, outputs)


def _elementwise(x: Value) -> list[Value]:
    return [op("sin")(x) * op("exp")(x * -0.5) + op("tanh")(x)]


def _softmax(x: Value) -> list[Value]:
    def spread(row: Value) -> Value:
        return op("broadcast")(row, shape=x.shape, dims=(0,))

    e = op("exp")(x - spread(op("max")(x, axes=(1,))))
    return [e / spread(op("sum")(e, axes=(1,)))]


def _sums(x: Value) -> list[Value]:
    total = op("sum")
    return [total(x * x, axes=(0, 1)), total(x, axes=(0,)), total(x, axes=(1,))]


def product(a: Value, b: Value) -> list[Value]:
    return [op("dot")(a, b, contract=((1,), (0,)), batch=((), ()))]


def _scatter(updates: Value, places: Value) -> list[Value]:
    shape = (max(1, updates.shape[0] // 8), updates.shape[1])
    return [op("scatter_add")(updates, places, axes=(0,), shape=shape)]


def _several(name: str) -> Callable[..., Sequence[Value]]:
    """An op of several results."""
    kind: Callable[..., Sequence[Value]] = REGISTRY[name]
    return kind


def _factors(a: Value, b: Value) -> list[Value]:
    """Results that are unique, including signs: factors, a solution, values."""
    square = op("dot")(a, a, contract=((1,), (1,)), batch=((), ()))
    packed, pivots = _several("lu")(square)
    solution = op("solve")(square, packed, pivots, b, transpose=False)
    q, r = _several("qr")(square)
    values = _several("eigh")(square, lower=True)[0]
    singular = _several("svd")(b)[1]
    return [op("cholesky")(square), packed, solution, q, r, values, singular]


def _transforms(x: Value, z: Value) -> list[Value]:
    rows, columns = x.shape
    fourier = op("fourier")
    return [
        fourier(x, axis=1, kind="real", length=columns, scale=1.0),
        fourier(z, axis=0, kind="forward", length=rows, scale=1.0),
        fourier(z, axis=1, kind="half", length=2 * columns - 2, scale=0.5),
    ]


def _ordered(x: Value) -> list[Value]:
    return [op("sort")(x), op("argsort")(x)]


def _long_transform(z: Value) -> list[Value]:
    return [op("fourier")(z, axis=0, kind="forward", length=z.shape[0], scale=1.0)]


def of_ours(n: int) -> list[tuple[str, Program]]:
    """Programs that use libraries if these are installed, and long rows, for our own kernels."""
    made = []
    for dtype in ("f4", "f8"):
        square = Type(np.dtype(dtype), (n, n))
        both = square, square.with_dtype(np.dtype(f"c{2 * int(dtype[1])}"))
        long = both[1].with_shape((n * n // 4,)), square.with_shape((1, n * n // 4))
        made += [
            program_of(f"our transforms {dtype}", _transforms, *both),
            program_of(f"our long row {dtype}", _long_transform, long[0]),
            program_of(f"order of a row {dtype}", _ordered, long[1]),
        ]
    few = max(4, n // 8)
    small = square.with_shape((few, 4 * few)), square.with_shape((few, few // 2))
    return [*made, program_of("our factors f8", _factors, *small)]


def programs(n: int) -> list[tuple[str, Program]]:
    """The programs to check, on arrays of about n x n elements."""
    made = []
    for dtype in ("f4", "f8"):
        square = Type(np.dtype(dtype), (n, n))
        odd = square.with_shape((n + 3, n - 1)), square.with_shape((n - 1, n + 5))
        made += [
            program_of(f"elementwise {dtype}", _elementwise, square),
            program_of(f"softmax {dtype}", _softmax, square),
            program_of(f"sums {dtype}", _sums, square),
            program_of(f"product {dtype}", product, *odd),
            program_of(f"scatter {dtype}", _scatter, square, Type(np.dtype("i8"), (n,))),
        ]
        few = max(4, n // 8)
        small = square.with_shape((few, 4 * few)), square.with_shape((few, few // 2))
        both = square, square.with_dtype(np.dtype(f"c{2 * int(dtype[1])}"))
        made += [
            program_of(f"factors {dtype}", _factors, *small),
            program_of(f"transforms {dtype}", _transforms, *both),
        ]
    return made


_TEXTS = {
    "gather": """program main(%0: f64[{n},{n}], %1: i64[{m}]) {{
      %2: f64[{m},{n}] = gather %0, %1 {{axes=(0,)}}
      return %2
    }}""",
    "transpose": """program main(%0: f32[{n},{m},3]) {{
      %1: f32[3,{m},{n}] = transpose %0 {{axes=(2, 1, 0)}}
      %2: f32[3,{m},{n}] = neg %1
      return %2
    }}""",
    "sort": """program main(%0: f64[{m},{n}]) {{
      %1: f64[{m},{n}] = sort %0
      %2: i64[{m},{n}] = argsort %0
      return %1, %2
    }}""",
    "fourier": """program main(%0: f64[{m},{n}]) {{
      %1: c128[{m},{h}] = fourier %0 {{axis=1, kind='real', length={n}, scale=1.0}}
      return %1
    }}""",
    "factorization": """program main(%0: f64[{s},{s}], %1: f64[{s},3]) {{
      %2: f64[{s},{s}], %3: i64[{s}] = lu %0
      %4: f64[{s},3] = solve %0, %2, %3, %1 {{transpose=False}}
      return %4
    }}""",
    "sums so far": """program main(%0: f64[{m}]) {{
      %1: f64[] = constant {{dtype=f64, shape=(), value=0.0}}
      %2: f64[], %3: f64[{m}] = scan %1, %0 {{body=program step(%0: i64[], %1: f64[], %2: f64[]) {{
        %3: f64[] = add %1, %2
        return %3, %3
      }}, carries=1, constants=0, length={m}, reverse=False}}
      return %2, %3
    }}""",
    "while loop": """program main(%0: f64[{n}]) {{
      %1: i64[] = constant {{dtype=i64, shape=(), value=0}}
      %2: i64[], %3: f64[{n}] = while %1, %0 {{backward=(False,), carries=(2,), """
    """condition=program f(%0: i64[], %1: f64[{n}]) {{
        %2: i64[] = constant {{dtype=i64, shape=(), value=50}}
        %3: bool[] = lt %0, %2
        return %3
      }}, constants=0, sweeps=(program f(%0: i64[], %1: f64[{n}]) {{
        %2: i64[] = constant {{dtype=i64, shape=(), value=1}}
        %3: i64[] = add %0, %2
        %4: f64[{n}] = sin %1
        return %3, %4
      }},)}}
      return %3
    }}""",
    "loop of all blocks": """program main(%0: f64[{n},{n}]) {{
      %1: i64[] = constant {{dtype=i64, shape=(), value=0}}
      %2: i64[], %3: f64[{n},{n}] = while %1, %0 {{backward=(False,), carries=(2,), """
    """condition=program f(%0: i64[], %1: f64[{n},{n}]) {{
        %2: i64[] = constant {{dtype=i64, shape=(), value=50}}
        %3: bool[] = lt %0, %2
        return %3
      }}, constants=0, sweeps=(program f(%0: i64[], %1: f64[{n},{n}]) {{
        %2: i64[] = constant {{dtype=i64, shape=(), value=1}}
        %3: i64[] = add %0, %2
        %4: f64[{n},{n}] = transpose %1 {{axes=(1, 0)}}
        %5: f64[{n},{n}] = sin %4
        return %3, %5
      }},)}}
      return %3
    }}""",
}  # fmt: skip


def texts(n: int) -> list[tuple[str, Program]]:
    """One program of each other class of kernels."""
    sizes = {"n": n, "m": n // 2 + 1, "h": n // 2 + 1, "s": min(n, 200)}
    return [(name, parse(text.format(**sizes))) for name, text in _TEXTS.items()]


def arguments(program: Program) -> list[Any]:
    """Random arrays; integers are indices below an eighth of the array's size."""
    rng = np.random.default_rng(0)
    return [
        rng.integers(0, max(1, t.size // 8), t.shape) if t.dtype.kind == "i" else _normal(rng, t)
        for t in program.in_types
    ]


def _normal(rng: np.random.Generator, t: Type) -> np.ndarray:
    real = rng.normal(size=t.shape)
    return (real + 1j * rng.normal(size=t.shape) if t.dtype.kind == "c" else real).astype(t.dtype)


def chain(x: Value) -> list[Value]:
    for _ in range(8):
        (x,) = product(x, x)
    return [x]
