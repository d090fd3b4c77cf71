"""Arguments as texts: literals for small arrays, seeds of random numbers for large ones."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

#: Arrays of at most this many elements are literals.
LITERAL = 24
#: The most elements of an array.
MOST = 400_000

SHAPES = ("", "n", "n", "m", "nm", "mn", "nn", "n1", "nm2", "n", "1m")
SMALL = (1, 2, 2, 3, 3, 4, 5)


def drawn(rng: random.Random, sizes: Sequence[int] = SMALL, empty: float = 0.03) -> dict[str, int]:
    """Draw the extents n and m."""
    extents = {axis: rng.choice(list(sizes)) for axis in "nm"}
    if rng.random() < empty:
        extents[rng.choice("nm")] = 0
    return extents


def shape(rng: random.Random, extents: dict[str, int], most: int = MOST) -> tuple[int, ...]:
    for _ in range(20):
        found = tuple(extents[a] if a in extents else int(a) for a in rng.choice(SHAPES))
        if np.prod(found, dtype=int) <= most:
            return found
    return ()


def text(rng: random.Random, shape: tuple[int, ...], kind: str) -> str:
    """The text of an array; kind is the name of a dtype."""
    size, seed = int(np.prod(shape, dtype=int)), rng.randrange(10_000)
    if size > LITERAL:
        return _seeded(shape, kind, seed)
    values = literal(np.random.default_rng(seed), size, kind).reshape(shape)
    if not shape and kind in ("float64", "int64") and rng.random() < 0.5:
        return repr(values.tolist())
    if size == 0:
        return f"np.zeros({shape}, np.{kind if kind != 'bool' else 'bool_'})"
    typed = "" if values.dtype == np.asarray(values.tolist()).dtype else f", np.{kind}"
    made = f"np.array({values.tolist()}{typed})"
    return made if shape else f"{made}[()]"


def literal(rng: np.random.Generator, size: int, kind: str) -> np.ndarray:
    """Distinct numbers of two digits, so that few of them are at a kink."""
    if kind == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if kind == "int64":
        return rng.integers(-4, 5, size)
    spread = rng.permutation(size * 3)[:size] if size else np.zeros(0)
    values = np.round(
        (spread - 1.3 * size) * 1.7 / max(size, 1) + rng.uniform(0.011, 0.04, size), 3
    )
    if kind == "complex128":
        return values + 1j * np.round(rng.normal(size=size), 2)
    return values.astype(kind)


def _seeded(shape: tuple[int, ...], kind: str, seed: int) -> str:
    rng = f"np.random.default_rng({seed})"
    if kind == "bool":
        return f"{rng}.integers(0, 2, {shape}).astype(bool)"
    if kind == "int64":
        return f"{rng}.integers(-4, 5, {shape})"
    if kind == "complex128":
        return f"{rng}.normal(size={shape}) * (1 + 0.5j)"
    return f"{rng}.normal(size={shape})" + (".astype(np.float32)" if kind == "float32" else "")
