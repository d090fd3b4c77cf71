"""The error bound of each function, its reference, and samples for tests: a developer's tool.

`CASES` has a row per function: the error bound in ulps for each width, the exact function in
mpmath, and the arguments to sample. The tests check the bounds; `measure` tabulates the errors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf  # type: ignore[import-untyped]
from numpy.random import Generator
from numpy.typing import NDArray

from autojit.codegen.vector_math.argument_reduction import MODERATE_LIMIT

Array = NDArray[np.floating]
Operands = tuple[Array, ...]
Sampler = Callable[[Generator, int, np.finfo], Operands]

PRECISION = 160
"""The bits of the reference; mpmath raises them itself for argument reduction."""


@dataclass(frozen=True)
class Case:
    bound: dict[int, float]
    """The largest error in ulps of the result, by width."""
    exact: Callable[..., mpf]
    samplers: Sequence[Sampler]
    scale: Callable[..., mpf] | None = None
    """The number whose magnitude defines an ulp, if it is not the result."""


def between(low: float, high: float, low_float: float = 0.0, high_float: float = 0.0) -> Sampler:
    """Uniform arguments; the second interval is for 32 bits, if it differs."""

    def sample(rng: Generator, count: int, info: np.finfo) -> Operands:
        narrow = info.bits == 32 and low_float != high_float
        return (rng.uniform(*((low_float, high_float) if narrow else (low, high)), count),)

    return sample


def magnitudes(low: float = -1.0, high: float = 1.0, signed: bool = True) -> Sampler:
    """Arguments of all sizes, from `low` to `high` times the format's largest exponent."""

    def sample(rng: Generator, count: int, info: np.finfo) -> Operands:
        least = info.minexp - info.nmant if low == -1.0 else low * info.maxexp
        exponents = rng.uniform(least, high * info.maxexp - 1e-3, count)
        return (2.0**exponents * (rng.choice([-1.0, 1.0], count) if signed else 1.0),)

    return sample


def near_multiples(of: float, up_to: int) -> Sampler:
    """The floats nearest to multiples of a number, where the reduction cancels most digits."""

    def sample(rng: Generator, count: int, info: np.finfo) -> Operands:
        return (of * rng.integers(-up_to, up_to, count, endpoint=True),)

    return sample


def pairs(first: Sampler, second: Sampler) -> Sampler:
    def sample(rng: Generator, count: int, info: np.finfo) -> Operands:
        return (*first(rng, count, info), *second(rng, count, info))

    return sample


def similar(rng: Generator, count: int, info: np.finfo) -> Operands:
    """Pairs of all sizes that differ by at most a factor of eight."""
    (x,) = magnitudes(-0.9, 0.9)(rng, count, info)
    return x, x * 2.0 ** rng.uniform(-3, 3, count)


def powers(rng: Generator, count: int, info: np.finfo) -> Operands:
    """Bases of all sizes with exponents that fill the range of results."""
    (x,) = magnitudes(signed=False)(rng, count, info)
    return x, rng.uniform(-1.05, 1.05, count) * info.maxexp / np.log2(x)


def powers_near_1(rng: Generator, count: int, info: np.finfo) -> Operands:
    offset = rng.uniform(-1, 1, count) * 2.0 ** -rng.uniform(1, info.nmant, count)
    x = (1 + offset).astype(info.dtype).astype(np.float64)
    logarithm = np.where(x == 1, 1.0, np.log2(x))
    return x, rng.uniform(-1, 1, count) * info.maxexp / logarithm


def negative_bases(rng: Generator, count: int, info: np.finfo) -> Operands:
    return -rng.uniform(0, 10, count), np.rint(rng.uniform(-30, 30, count))


UNIT = between(-1, 1)
SMALL = magnitudes(-1.0, 0.0)
POSITIVE = magnitudes(signed=False)
LOGARITHM = (POSITIVE, between(0.4, 2.5), between(0.99, 1.01))
ANGLES = (
    between(-10, 10),
    between(-MODERATE_LIMIT, MODERATE_LIMIT),
    SMALL,
    near_multiples(np.pi / 2, 1000),
    magnitudes(0.0, 1.0),
)

CASES: dict[str, Case] = {
    "exp": Case({64: 1.5, 32: 1.5}, mp.exp, (between(-750, 711, -105, 90), UNIT, SMALL)),
    "exp2": Case(
        {64: 1.5, 32: 1.5}, lambda x: mpf(2) ** x, (between(-1080, 1025, -151, 129), UNIT, SMALL)
    ),
    "expm1": Case(
        {64: 2, 32: 2}, mp.expm1, (between(-45, 711, -20, 90), between(-2, 2), UNIT, SMALL)
    ),
    "sigmoid": Case(
        {64: 2, 32: 2},
        lambda x: 1 / (1 + mp.exp(-x)),
        (between(-750, 750, -105, 105), between(-40, 40), between(-2, 2)),
    ),
    "softplus": Case(
        {64: 2, 32: 2},
        lambda x: mp.log1p(mp.exp(x)),
        (between(-750, 750, -105, 105), between(-40, 40), between(-3, 3)),
    ),
    "logaddexp": Case(
        {64: 2, 32: 2},
        lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))),
        (pairs(between(-5, 5), between(-5, 5)), similar),
        scale=lambda x, y: max(abs(x), abs(y), mpf(0.5)),
    ),
    "log": Case({64: 1, 32: 1}, mp.log, LOGARITHM),
    "log2": Case({64: 1, 32: 1}, lambda x: mp.log(x) / mp.log(2), LOGARITHM),
    "log10": Case({64: 1, 32: 1}, lambda x: mp.log(x) / mp.log(10), LOGARITHM),
    "log1p": Case({64: 1.5, 32: 1.5}, mp.log1p, (POSITIVE, between(-1, 2.5), UNIT, SMALL)),
    "sin": Case({64: 1, 32: 1}, mp.sin, ANGLES),
    "cos": Case({64: 1, 32: 1}, mp.cos, ANGLES),
    "tan": Case({64: 2, 32: 2}, mp.tan, ANGLES),
    "asin": Case({64: 1, 32: 1}, mp.asin, (UNIT, SMALL)),
    "acos": Case({64: 1.5, 32: 1.5}, mp.acos, (UNIT, SMALL, between(0.99, 1))),
    "atan": Case({64: 2, 32: 2}, mp.atan, (between(-5, 5), magnitudes())),
    "atan2": Case(
        {64: 2, 32: 2},
        mp.atan2,
        (pairs(between(-2, 2), between(-2, 2)), pairs(magnitudes(), magnitudes()), similar),
    ),
    "sinh": Case({64: 2, 32: 2}, mp.sinh, (between(-711, 711, -90, 90), between(-3, 3), SMALL)),
    "cosh": Case({64: 2, 32: 2}, mp.cosh, (between(-711, 711, -90, 90), between(-3, 3), SMALL)),
    "tanh": Case({64: 2, 32: 2}, mp.tanh, (between(-20, 20), UNIT, SMALL)),
    "asinh": Case({64: 2, 32: 2}, mp.asinh, (between(-5, 5), magnitudes())),
    "acosh": Case(
        {64: 2, 32: 2}, mp.acosh, (between(1, 5), between(1, 1.01), magnitudes(0.0, 1.0, False))
    ),
    "atanh": Case({64: 2, 32: 2}, mp.atanh, (UNIT, SMALL)),
    "pow": Case(
        {64: 1.5, 32: 1},
        mp.power,
        (powers, powers_near_1, pairs(between(0.1, 10), between(-5, 5)), negative_bases),
    ),
    "cbrt": Case(
        {64: 1, 32: 1}, lambda x: mp.sign(x) * mp.cbrt(abs(x)), (magnitudes(), between(-10, 10))
    ),
    "hypot": Case(
        {64: 1.5, 32: 1},
        mp.hypot,
        (pairs(between(-2, 2), between(-2, 2)), pairs(magnitudes(), magnitudes()), similar),
    ),
    "erf": Case({64: 2, 32: 2}, mp.erf, (between(-6.5, 6.5), between(-1.2, 1.2), SMALL)),
    "erfc": Case({64: 3, 32: 3}, mp.erfc, (between(-7, 28, -5, 11), between(-1.2, 1.2), SMALL)),
    "ndtr": Case(
        {64: 4, 32: 4},
        lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
        (between(-39, 10, -15, 7), between(-2, 2), SMALL),
    ),
}


def samples(name: str, dtype: np.dtype[Any], count: int, seed: int = 0) -> list[Operands]:
    """Arguments in the precision of the format, with one batch per sampler."""
    rng, info = np.random.default_rng(seed), np.finfo(dtype)
    with np.errstate(over="ignore", under="ignore"):
        return [
            tuple(operand.astype(dtype) for operand in sampler(rng, count, info))
            for sampler in CASES[name].samplers
        ]


@functools.cache
def exact_values(
    name: str, dtype: np.dtype[Any], count: int
) -> list[tuple[Operands, list[mpf], list[mpf]]]:
    """For each batch of samples: the operands, the exact results, and the scales of an ulp."""
    case = CASES[name]
    with mp.workprec(PRECISION):
        batches = []
        for operands in samples(name, dtype, count):
            points = [tuple(map(mpf, map(float, point))) for point in zip(*operands, strict=True)]
            values = [case.exact(*point) for point in points]
            scales = values
            if case.scale is not None:
                scales = [case.scale(*point) for point in points]
            batches.append((operands, values, scales))
        return batches


def ulp_error(got: float, exact: mpf, scale: mpf, info: np.finfo) -> float:
    """|got - exact| in units of the last place of a number with the magnitude of ``scale``."""
    if exact == 0 or not np.isfinite(got):
        overflows = abs(exact) > mpf(float(info.max)) * (1 + mpf(2) ** -(info.nmant + 2))
        right = overflows and got == np.sign(float(exact)) * np.inf if exact else got == 0
        return 0.0 if right else np.inf
    exponent = max(mp.frexp(scale)[1] - 1, info.minexp) if scale else info.minexp
    return float(abs(mpf(got) - exact) / mpf(2) ** (exponent - info.nmant))


def largest_error(
    name: str, compiled: Callable[..., Array], dtype: np.dtype[Any], count: int
) -> float:
    """The largest error in ulps over all batches."""
    info, largest = np.finfo(dtype), 0.0
    with mp.workprec(PRECISION):
        for operands, values, scales in exact_values(name, dtype, count):
            for got, exact, scale in zip(compiled(*operands), values, scales, strict=True):
                largest = max(largest, ulp_error(float(got), exact, scale, info))
    return largest
