"""Checks of the driver layer: copies, numbers, failures, streams, threads, graphs."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from autojit.codegen.cuda.arrays import to_host, uploaded
from autojit.codegen.cuda.driver.card import Card
from autojit.codegen.cuda.runtime import CudaExecutable, compile_for_cuda
from autojit.ir.core.program import Value
from autojit.ir.core.types import Type
from autojit.ir.tools.interpreter import interpret

from .comparison import difference
from .programs import chain, op, program_of, texts


def _equal(got: Any, want: Any) -> None:
    if not np.array_equal(np.asarray(got), np.asarray(want)):
        raise AssertionError(f"{np.asarray(got).ravel()[:3]} ... is not {np.ravel(want)[:3]} ...")


def _double(count: int, card: Card) -> CudaExecutable:
    return compile_for_cuda(
        program_of("x + x", lambda x: [op("add")(x, x)], Type(np.dtype("f8"), (count,)))[1],
        card.ordinal,
    )


def copies(card: Card) -> str:
    """Upload arrays, small and large, that change at once afterwards."""
    sizes = [1, 100, 10_000] if card.is_host else [1, 1000, 100_000, 131_073, 3_000_000] * 5
    arrays = [np.arange(float(n)) + i for i, n in enumerate(sizes)]
    there = []
    for array in arrays:
        there.append(uploaded(array, card))
        array[:] = np.nan
    for i, (n, got) in enumerate(zip(sizes, to_host(there), strict=True)):
        _equal(got, np.arange(float(n)) + i)
    return f"{len(sizes)} arrays come back as they were"


def values(card: Card) -> str:
    """Pass numbers by value."""
    for dtype, weak, number in (("f8", float, 0.1), ("i8", int, -3), ("?", bool, True)):
        kind = Type(np.dtype(dtype), ())
        many = Type(np.dtype("f8"), (5,))

        def plus(x: Value, y: Value) -> list[Value]:
            return [
                x * op("broadcast")(op("convert")(y, dtype=np.dtype("f8")), shape=(5,), dims=())
            ]

        _, program = program_of("value", plus, many, kind)
        x = uploaded(np.arange(5.0), card)
        call = compile_for_cuda(program, card.ordinal).direct((None, weak), (), as_tuple=False)
        _equal(call(x, number), np.arange(5.0) * number)
    return "a float, an integer, a bool"


def failures(card: Card) -> str:
    """Check that an index out of bounds raises when the result is read, and later calls work."""
    _, program = texts(8)[0]
    code, x = compile_for_cuda(program, card.ordinal), np.arange(64.0).reshape(8, 8)
    bad, good = np.array([0, 1, 99, 2, 3]), np.array([4, 3, 2, 1, 0])
    try:
        to_host(code.call([x, bad]))
    except IndexError:
        _equal(to_host(code.call([x, good]))[0], x[good])
        return "an index of 99 in 8 rows is refused, the next call is not"
    raise AssertionError("an index of 99 in 8 rows was not noticed")


def streams(card: Card) -> str:
    """Run work on the per-thread stream, between work on the usual one."""
    code, x = _double(1000, card), uploaded(np.arange(1000.0), card)
    (once,) = code.call([x])
    with card.on(2):
        (twice,) = code.call([once])
    (thrice,) = code.call([twice])
    _equal(to_host([thrice])[0], np.arange(1000.0) * 8)
    return "three calls on two streams are in order"


def threads(card: Card) -> str:
    """Call the same program from four threads."""
    code, wrong = _double(1000, card), []

    def work(number: int) -> None:
        try:
            for i in range(3 if card.is_host else 200):
                x = np.full(1000, float(number * 1000 + i))
                _equal(to_host(code.call([x]))[0], x + x)
        except Exception as failure:
            wrong.append(failure)

    every = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in every:
        thread.start()
    for thread in every:
        thread.join()
    if wrong:
        raise wrong[0]
    return "four threads get their own results"


def graphs(card: Card) -> str:
    """Call a program of several launches until it is a graph, and with changing memory."""
    square = Type(np.dtype("f8"), (6, 6))
    _, program = program_of("chain", chain, square)
    code, rng = compile_for_cuda(program, card.ordinal), np.random.default_rng(0)
    held = []
    for _ in range(3 if card.is_host else 20):
        x = rng.normal(size=(6, 6)) / 4
        held.append((x, code.call([uploaded(x, card)])))
    for x, got in held:
        if not difference(to_host(got)[0], interpret(program, [x])[0]) < 1e-11:
            raise AssertionError("the results of a call are another one's")
    return f"{len(held)} calls of {len(code.printed.launches)} launches"


def about(card: Card) -> str:
    """Describe the card, and the form of its code."""
    release = ctypes.c_int()
    card.library.call("cuDriverGetVersion", ctypes.addressof(release))
    code, _ = card._image(_double(10, card).kernels()[0], card.capability, None)
    form = "machine code" if code[:4] == b"\x7fELF" else "PTX, which the driver translates"
    major, minor = card.capability
    return (
        f"{card.model}, capability {major}.{minor}, {card.processors} processors; driver of CUDA "
        f"{release.value // 1000}.{release.value % 1000 // 10}; kernels are {form}"
    )


#: The items in order; the most informative come first.
ITEMS = (about, copies, values, failures, streams, threads, graphs)
