"""Random numbers inside traced functions, and mini-batches in random order."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from autojit.arguments import checked
from autojit.errors import FrozenRandomError, with_place
from autojit.tracing.context import is_kept
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

from .checks import need_integers, need_shape, need_value

_WORD = 64


@checked
def keep_mask(rng: Any, p: float, shape: tuple[int, ...]) -> Any:
    """An array of bools that are True with probability p.

    Args:
        rng: a NumPy Generator, which advances (under ``vmap`` once for all elements); or an integer
            seed, which may be traced. Element i of a seeded mask is a function of the seed and i
            only, by SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
            generators", 2014). Its state is the mixed seed plus i times its constant.
        p: the probability of True.
        shape: the shape of the result.

    Raises:
        TracingError: if a Generator would be used during compilation, and thus only once.

    >>> int(keep_mask(7, 0.25, (1000,)).sum())
    256
    """
    need_value(rng is not None, "rng is None; keep_mask needs a Generator or a seed")
    if isinstance(rng, np.random.Generator):
        _check_not_frozen()
        return rng.random(shape) < p
    return _uniform(rng, shape) < p


def _check_not_frozen() -> None:
    if not is_kept():
        return
    raise FrozenRandomError(
        with_place(
            "a Generator in a compiled function would draw only once, during compilation, and "
            "every call would use the same numbers. Draw the seed outside, and pass it as an "
            "argument:\n"
            "    step(params, x, rng.integers(2**63))  # dropout(x, p, seed)",
            user_source(),
        )
    )


def _uniform(seed: Any, shape: tuple[int, ...]) -> Any:
    """Numbers in [0, 1) with 53 random bits: SplitMix64's i-th output for each element i."""
    need_shape(
        np.shape(seed) == (), f"the seed has shape {np.shape(seed)}, but must be a single number"
    )
    if is_tracer(seed):
        need_integers(seed, "seed")
        state = seed.astype(np.uint64)
    else:
        state = np.uint64(operator.index(seed) % 2**_WORD)
    count = np.arange(1, prod(shape) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):  # integers modulo 2**64
        bits = _mixed(_mixed(state) + count * np.uint64(0x9E3779B97F4A7C15))
    return ((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)


def _mixed(z: Any) -> Any:
    """SplitMix64's finalizer."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@checked
def batches(
    rng: Any, *arrays: Any, batch_size: int, drop_last: bool = False
) -> Iterator[tuple[Any, ...]]:
    """One pass over arrays in mini-batches, in random order.

    Args:
        rng: a NumPy Generator or a seed; None keeps the order.
        arrays: arrays of one length, which stay together.
        batch_size: the number of rows of a batch.
        drop_last: whether to drop a last batch that is smaller. A compiled step is compiled for
            each size of a batch.

    Yields:
        Tuples of rows, one array for each in ``arrays``.

    Raises:
        ShapeError: if the lengths differ.

    >>> x = np.arange(5)
    >>> [a.tolist() for a, b in batches(0, x, -x, batch_size=2)]
    [[2, 4], [3, 0], [1]]
    """
    lengths = {len(x) for x in arrays}
    shapes = ", ".join(str(np.shape(x)) for x in arrays)
    need_shape(len(lengths) == 1, f"batches needs arrays of one length, got {shapes}")
    need_value(batch_size >= 1, f"batch_size={batch_size} is less than 1")
    (length,) = lengths
    order = np.arange(length) if rng is None else np.random.default_rng(rng).permutation(length)
    return _batches(order, arrays, batch_size, drop_last)


def _batches(
    order: np.ndarray, arrays: tuple[Any, ...], size: int, drop_last: bool
) -> Iterator[tuple[Any, ...]]:
    last = len(order) - (len(order) % size if drop_last else 0)
    for start in range(0, last, size):
        rows = order[start : min(start + size, last)]
        yield tuple([x[rows] for x in arrays])
