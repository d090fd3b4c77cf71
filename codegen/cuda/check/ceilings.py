"""Measurements of the highest rates that the card, and the transfers to it, reach.

    python -m autojit.codegen.cuda.check.ceilings

prints the bandwidth of a copy, in bytes read and written in a second.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from autojit.codegen.cuda.driver.card import Card
from autojit.codegen.cuda.driver.cards import card as card_of
from autojit.ir.core.types import Type

from .comparison import seconds, timed
from .programs import chain, op, product, program_of


def ceilings(card: Card) -> list[tuple[str, Callable[[], str]]]:
    """The names of the measurements, with the function that makes each."""
    return [(name, partial(measure, card)) for name, measure in CEILINGS.items()]


def _many(card: Card) -> int:
    return 1 << (4 if card.is_host else 27)


def copied(card: Card) -> float:
    """The bytes that a kernel reads and writes in a second."""
    long = Type(np.dtype("f4"), (_many(card),))
    _, program = program_of("copy", lambda x: [op("add")(x, x)], long)
    return 2 * long.nbytes / timed(program, card)


def _copy(card: Card) -> str:
    return f"{copied(card) / 1e9:.0f} GB/s read and written"


def _transfer(card: Card, way: str) -> str:
    host = np.ones(_many(card), np.float32)
    memory = card.memory(host.nbytes)
    took = seconds(partial(getattr(card, way), memory.pointer, host), card)
    return f"{host.nbytes / took / 1e9:.1f} GB/s"


def _products(card: Card, dtype: str) -> str:
    n = 4 if card.is_host else 4096
    square = Type(np.dtype(dtype), (n, n))
    _, program = program_of("product", product, square, square)
    return f"{2e-12 * n**3 / timed(program, card):.2f} Tflop/s at {n} x {n}"


def _launch(card: Card) -> str:
    few = Type(np.dtype("f4"), (1,))
    _, program = program_of("launch", lambda x: [op("add")(x, x)], few)
    return f"{1e6 * timed(program, card):.1f} us a call of one kernel, results dropped"


def _graph(card: Card) -> str:
    n = 2 if card.is_host else 64
    _, program = program_of("graph", chain, Type(np.dtype("f4"), (n, n)))
    return f"{1e6 * timed(program, card):.1f} us a call of 8 products of {n} x {n}"


CEILINGS: dict[str, Callable[[Card], str]] = {
    "copy": _copy,
    "product f4": partial(_products, dtype="f4"),
    "product f8": partial(_products, dtype="f8"),
    "launch": _launch,
    "graph": _graph,
    "upload": partial(_transfer, way="write"),
    "download": partial(_transfer, way="read"),
}


if __name__ == "__main__":
    print(copied(card_of()))
