"""Compare programs on the GPU with the interpreter, and measure times and the card's limits.

    python -m autojit.codegen.cuda.check [--seconds 415] [--page FILE]

This needs a machine with a card; with NUMBA_ENABLE_CUDASIM=1 it runs small programs in the
simulator.  There are three parts:

1. Items, the card's ceilings first.  Each program runs twice, in memory that holds NaN before.  If
   NVIDIA's libraries are installed, their computations also run once by our own kernels.
2. All samples of the tests, values and gradients, twice in memory that holds NaN before
   (``python -m tests.codegen.cuda.check_samples``).
3. Programs beside JAX, ``torch.compile`` and CuPy (``python -m bench.on_gpu``).

Only a source tree has the second and third.  Items that are wrong, raise, hang or end the process
are named, and the others go on; in all this takes less than eight minutes.  The exit status is 1 if
an item failed or was not begun.  The page, a section that names the card, goes to FILE; in a source
tree with a card that is bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from autojit.codegen.cuda.arrays import to_host, uploaded
from autojit.codegen.cuda.driver.card import Card
from autojit.codegen.cuda.driver.cards import card as card_of
from autojit.codegen.cuda.driver.cards import count as cards_there
from autojit.codegen.cuda.driver.cards import is_simulated
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
from .page import RESULTS, Page, has_sources, run_module
from .programs import arguments, of_ours, programs, texts
from .supervised import Item, run_items, supervise, this_module

#: The seconds of the whole check, and the shares of the first and second part; what a part leaves
#: is for those after it.  The last item may take a minute more.
SECONDS, OF_ITEMS, OF_SAMPLES = 415.0, 0.3, 0.2


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
    """All items in order; the ceilings come first."""
    n = 12 if card.is_host else 2000
    found = [Item(_ceiling(name), run) for name, run in ceilings(card)]
    found += [Item(f.__name__, partial(f, card)) for f in driver.ITEMS]
    for name, program in texts(12 if card.is_host else 300):
        found.append(Item(name, partial(_checked, name, program, card)))
    for run, every in ((_checked, programs(n)), (_checked_alone, of_ours(n))):
        found += [Item(name, partial(run, name, program, card)) for name, program in every]
    return found


def names() -> list[str]:
    """The names of the items, without use of a card, which only one process may have."""
    found = [_ceiling(name) for name in CEILINGS] + [f.__name__ for f in driver.ITEMS]
    found += [name for name, _ in texts(8)]
    return found + [name for name, _ in [*programs(8), *of_ours(8)]]


def _would_run() -> str:
    """A description of the checks that would run with a card."""
    every, fixed = len(names()), len(driver.ITEMS) + len(CEILINGS)
    return (
        f"With one, {every} items run: {len(CEILINGS)} ceilings, {len(driver.ITEMS)} of the "
        f"driver, and {every - fixed} programs, each twice and against the interpreter. In a "
        "source tree the samples of the tests follow, and programs beside JAX, torch.compile and "
        "CuPy. All takes less than eight minutes."
    )


#: The message if there is no card.
PURPOSE = (
    "This compiles and runs kernels, library calls and whole programs on a GPU of NVIDIA's, and\n"
    "compares each result with NumPy's: a line an item, and exit status 1 if any differs. It\n"
    'needs a card, its driver, and `pip install "autojit[cuda]"`. Nothing was checked:'
)


def _ceiling(name: str) -> str:
    return f"at most: {name}"


def main(given: Sequence[str] = ()) -> int:
    """Print what is found, and return the exit status."""
    options = _options(given)
    try:
        cards_there()
        if options.first is not None:
            _run_items(options.first)
            return 0
    except TargetError as failure:
        print(f"{PURPOSE}\n\n{failure}\n\n{_would_run()}", file=sys.stderr)
        return 1
    page, end = Page(), time.monotonic() + options.seconds
    failed = not _items(page, options.seconds * OF_ITEMS)
    if has_sources():
        failed |= _of_sources(page, options.seconds * OF_SAMPLES, end)
    file = options.page or (RESULTS if has_sources() and not is_simulated() else None)
    if file is not None:
        page.write(file)
    return int(failed)


def _options(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autojit.codegen.cuda.check",
        description="Compare programs on the GPU with the interpreter, and measure times.",
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all parts (415)")
    parser.add_argument("--page", type=Path, help="the file for the page of results")
    parser.add_argument("--from", dest="first", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def _run_items(first: int) -> None:
    """Run the items from this number on in this process."""
    card = card_of()
    if first == 0:
        print(f"card: {card.model}\nlibraries: {_libraries(card)}", flush=True)
    run_items(items(card)[first:], partial(is_usable, card))


def _items(page: Page, seconds: float) -> bool:
    """Run all items in another process; whether all are right."""
    page.begin("Items")
    begun, every = time.monotonic(), names()
    command = this_module("autojit.codegen.cuda.check")
    outcome = supervise(command, every, seconds, say=page.say)
    page.say(f"{len(every)} items in {time.monotonic() - begun:.0f} s")
    for words, of_them in (("failed", outcome.failed), ("not begun in time", outcome.not_begun)):
        if of_them:
            page.say(f"{len(of_them)} {words}: {', '.join(of_them)}")
    return not (outcome.failed or outcome.not_begun)


def _of_sources(page: Page, seconds: float, end: float) -> bool:
    """Run the samples, and the programs beside other libraries; whether any failed."""
    page.begin("Samples")
    failed = run_module("tests.codegen.cuda.check_samples", [f"{seconds:.0f}"], page.say)
    page.begin("Beside other libraries")
    left = f"{max(0.0, end - time.monotonic()):.0f}"
    size = ["--small"] if is_simulated() else []
    failed |= run_module("bench.on_gpu", [left, *size], page.say)
    return bool(failed)


def is_usable(card: Card) -> bool:
    try:
        return bool(to_host([uploaded(np.ones(1), card)])[0] == 1)
    except Exception:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
