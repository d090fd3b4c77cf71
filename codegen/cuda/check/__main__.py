"""Compare programs on the GPU with the interpreter, and measure times and the card's limits.

    python -m autojit.codegen.cuda.check

This needs a machine with a card; with NUMBA_ENABLE_CUDASIM=1 it runs small programs in the
simulator. Each program runs twice, in memory that holds NaN before. Items that are wrong, raise,
hang or end the process are named, and the others go on; in all this takes less than eight minutes.
If NVIDIA's libraries are installed, their computations also run once by our own kernels. The exit
status is 1 if an item failed or was not begun. The table of samples runs the same way by
``python -m tests.codegen.cuda.check_samples``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from autojit.codegen.cuda.arrays import to_host, uploaded
from autojit.codegen.cuda.driver.card import Card
from autojit.codegen.cuda.driver.cards import card as card_of
from autojit.codegen.cuda.driver.cards import count as cards_there
from autojit.codegen.cuda.driver.compiler import Count
from autojit.codegen.cuda.libraries.finding import libraries, served_by
from autojit.codegen.cuda.libraries.prototypes import PROTOTYPES
from autojit.codegen.cuda.runtime import compile_for_cuda
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret

from . import driver
from .ceilings import CEILINGS, ceilings
from .comparison import difference, poison, seconds
from .occupancy import described, occupancies
from .programs import arguments, of_ours, programs, texts
from .supervised import Item, run_items, supervise, this_module


def check(program: Program, card: Card) -> Checked:
    """Compare two calls, in memory that holds NaN before, with the interpreter."""
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
    later = seconds(lambda: executable.call(there), card)
    return Checked(error, first, later, described(occupancies(executable)))


class Checked(NamedTuple):
    """The error relative to the largest element; the seconds of the first call and of a later one;
    the registers and threads of its kernels, in words."""

    error: float
    first: float
    later: float
    needs: str


def _checked(name: str, program: Program, card: Card) -> str:
    before = Count.compiled
    found = check(program, card)
    if not found.error < (1e-4 if "f4" in name else 1e-10):
        raise AssertionError(f"WRONG by {found.error:.1e} of the largest element")
    made = Count.compiled - before
    return (
        f"{found.error:>10.1e}{found.first:>9.2f} s with {made} compiled"
        f"{found.later * 1e3:>11.3f} ms later; {found.needs}"
    )


def _checked_alone(name: str, program: Program, card: Card) -> str:
    """The same as if none of NVIDIA's libraries was installed."""
    with served_by({}):
        return _checked(name, program, card)


def _libraries(card: Card) -> str:
    """The names of the installed libraries."""
    found = [] if card.is_host else [name for name in PROTOTYPES if name in libraries()]
    return ", ".join(found) or "none, all is computed by our kernels"


def items(card: Card) -> list[Item]:
    """All items in order; the most informative come first, in case time runs out."""
    n = 12 if card.is_host else 2000
    found = [Item(f.__name__, partial(f, card)) for f in driver.ITEMS]
    for name, program in texts(12 if card.is_host else 300):
        found.append(Item(name, partial(_checked, name, program, card)))
    found += [Item(_ceiling(name), run) for name, run in ceilings(card)]
    for run, every in ((_checked, programs(n)), (_checked_alone, of_ours(n))):
        found += [Item(name, partial(run, name, program, card)) for name, program in every]
    return found


def names() -> list[str]:
    """The names of the items, without use of a card, which only one process may have."""
    found = [f.__name__ for f in driver.ITEMS] + [name for name, _ in texts(8)]
    found += [_ceiling(name) for name in CEILINGS]
    return found + [name for name, _ in [*programs(8), *of_ours(8)]]


def _would_run() -> str:
    """A description of the checks that would run with a card."""
    every, fixed = len(names()), len(driver.ITEMS) + len(CEILINGS)
    return (
        f"With one, {every} items run in less than eight minutes: {len(driver.ITEMS)} of the "
        f"driver, {len(CEILINGS)} ceilings, and {every - fixed} programs, each twice and against "
        "the interpreter."
    )


#: The message if there is no card.
PURPOSE = (
    "This compiles and runs kernels, library calls and whole programs on a GPU of NVIDIA's, and\n"
    "compares each result with NumPy's: a line an item, and exit status 1 if any differs. It\n"
    'needs a card, its driver, and `pip install "autojit[cuda]"`. Nothing was checked:'
)


def _ceiling(name: str) -> str:
    return f"at most: {name}"


def main(arguments: Sequence[str] = ()) -> int:
    """Print a table, and return the exit status."""
    try:
        cards_there()
        if arguments[:1] == ["--from"]:
            card = card_of()
            if arguments[1] == "0":
                print(f"libraries: {_libraries(card)}", flush=True)
            run_items(items(card)[int(arguments[1]) :], partial(_is_usable, card))
            return 0
    except TargetError as failure:
        print(f"{PURPOSE}\n\n{failure}\n\n{_would_run()}", file=sys.stderr)
        return 1
    begun, every = time.monotonic(), names()
    outcome = supervise(this_module("autojit.codegen.cuda.check"), every)
    print(f"\n{len(every)} items in {time.monotonic() - begun:.0f} s")
    for words, of_them in (("failed", outcome.failed), ("not begun in time", outcome.not_begun)):
        if of_them:
            print(f"{len(of_them)} {words}: {', '.join(of_them)}")
    return 1 if outcome.failed or outcome.not_begun else 0


def _is_usable(card: Card) -> bool:
    try:
        return bool(to_host([uploaded(np.ones(1), card)])[0] == 1)
    except Exception:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
