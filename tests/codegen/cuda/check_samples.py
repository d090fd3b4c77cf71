"""Runs the table of samples on a GPU, values and gradients, twice, in memory that contains NaN
before.

    python -m tests.codegen.cuda.check_samples [SECONDS]

This is for a machine with a card; with NUMBA_ENABLE_CUDASIM=1 it runs in the simulator. Several
processes share the samples, and begin no new one after that many seconds (400). A sample that ends
its process is named, and the others go on. Refused programs are counted; the exit status is 1 if a
sample fails.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import autojit
from autojit.codegen.cuda.arrays import to_host, uploaded
from autojit.codegen.cuda.check.__main__ import is_usable
from autojit.codegen.cuda.check.comparison import difference, poison
from autojit.codegen.cuda.check.supervised import Item, Outcome, run_items, supervise
from autojit.codegen.cuda.driver.cards import card as card_of
from autojit.codegen.cuda.driver.library import DriverError
from autojit.codegen.cuda.runtime import compile_for_cuda
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret
from tests.samples import SAMPLES, Sample

#: The most processes; each has its own context on the card.
PROCESSES = 8
#: The seconds of a sample; kernels are compiled within them.
OF_SAMPLE = 60.0
_OUTCOMES = re.compile(r" ((?:(?:right|refused) ?)+)$")


def programs(sample: Sample) -> list[tuple[str, Callable[[], Program], list[Any]]]:
    """The value of a sample, and the gradient of its sum with respect to the first argument."""
    arguments = sample.draw()
    made: list[tuple[str, Callable[[], Program], list[Any]]] = [
        (sample.name, lambda: autojit.trace(sample.function)(*arguments), arguments)
    ]
    if arguments and np.asarray(arguments[0]).dtype.kind == "f":

        def loss(*args: Any) -> Any:
            result = sample.function(*args)
            return np.sum(np.real(result[0] if isinstance(result, (tuple, list)) else result))

        def gradient() -> Program:
            return autojit.trace(autojit.grad(loss))(*arguments)

        made.append((f"gradient of {sample.name}", gradient, arguments))
    return made


def outcome(make: Callable[[], Program], arguments: list[Any]) -> str:
    """``right``, ``refused`` (by an error of autojit's own), or a description of the mistake."""
    try:
        program = make()
        card = card_of()
        code = compile_for_cuda(program)
    except DriverError:
        raise
    except (TargetError, autojit.errors.AutojitError, NotImplementedError):
        return "refused"
    inputs = [np.asarray(a, t.dtype) for a, t in
              zip([*arguments, *program.captured], program.in_types, strict=True)]  # fmt: skip
    with np.errstate(all="ignore"):
        want = interpret(program, inputs)
    there = [uploaded(a, card) for a in inputs]
    single = any(t.dtype.name in ("float32", "complex64") for t in program.out_types)
    for _ in range(2):
        poison(card, [t.nbytes for t in program.out_types] + [code.layout.nbytes])
        got = to_host(code.call(there))
        error = max((difference(a, b) for a, b in zip(got, want, strict=True)), default=0.0)
        if not error < (1e-3 if single else 1e-8):
            return f"WRONG by {error:.1e}"
    return "right"


def told(sample: Sample) -> str:
    """The outcomes of a sample's programs; raises AssertionError if one is wrong."""
    found = {name: outcome(make, arguments) for name, make, arguments in programs(sample)}
    for name, words in found.items():
        if words.startswith("WRONG"):
            raise AssertionError(f"{name}: {words}")
    return " ".join(found.values())


def supervised(share: int, of: int, seconds: float, say: Callable[[str], None]) -> Outcome:
    """Run every ``of``-th sample from number ``share`` on in another process."""
    module = "tests.codegen.cuda.check_samples"
    command = [sys.executable, "-m", module, "--share", str(share), str(of), "--from"]
    names = [s.name for s in SAMPLES[share::of]]
    return supervise(command, names, seconds, OF_SAMPLE, say)


def main(seconds: float, processes: int) -> int:
    """Print what is wrong, and how many of each outcome there are; the exit status."""
    counts = Counter[str]()

    def say(line: str) -> None:
        found = _OUTCOMES.search(line)
        if found is None:
            print(line, flush=True)
        else:
            counts.update(found[1].split())

    with ThreadPoolExecutor(processes) as pool:
        shares = partial(supervised, of=processes, seconds=seconds, say=say)
        outcomes = list(pool.map(shares, range(processes)))
    counts["failed"] = sum(len(o.failed) for o in outcomes)
    counts["not begun"] = sum(len(o.not_begun) for o in outcomes)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return 1 if counts["failed"] else 0


def run(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--share"]:
        share, of, first = int(arguments[1]), int(arguments[2]), int(arguments[4])
        every = [Item(s.name, partial(told, s)) for s in SAMPLES[share::of]]
        run_items(every[first:], lambda: is_usable(card_of()))
        return 0
    seconds = float(arguments[0]) if arguments else 400.0
    return main(seconds, min(PROCESSES, os.cpu_count() or 1))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
