"""Runs the table of samples on a GPU, values and gradients, twice, in memory that contains NaN
before.

    python -m tests.codegen.cuda.check_samples [SECONDS]

This is for a machine with a card; with NUMBA_ENABLE_CUDASIM=1 it runs in the simulator. It begins
no new sample after that many seconds (400). Refused programs are counted; the exit status is 1 if a
result is wrong.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import autojit
from autojit.codegen.cuda.arrays import to_host, uploaded
from autojit.codegen.cuda.check.comparison import difference, poison
from autojit.codegen.cuda.driver.cards import card as card_of
from autojit.codegen.cuda.runtime import compile_for_cuda
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret
from tests.samples import SAMPLES, Sample


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


def main(limit: float, samples: list[Sample] = SAMPLES) -> int:
    """Print the mistakes and the number of each outcome; return the exit status."""
    begun, counts = time.perf_counter(), Counter[str]()
    for sample in samples:
        if time.perf_counter() - begun > limit:
            counts["not begun"] += 1
            continue
        for name, make, arguments in programs(sample):
            found = outcome(make, arguments)
            counts[found.split()[0]] += 1
            if found.startswith("WRONG"):
                print(f"{name}: {found}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 400.0))
