"""One program in a process of its own: `python -m bench.programs.worker NAME SIZE THREADS FOLDER`.

Prints its figures as JSON. FOLDER is where `autojit` is imported from; this folder's programs use
no other name of it than the public ones, so an older commit runs them too.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.programs import select
from bench.programs.check import wrong
from bench.programs.declare import PLAIN
from bench.worker import batch_size, in_words, peak_megabytes, restrict, seconds_per_call

#: A batch lasts a tenth of `batch_size`'s, 2 ms: shorter than the scheduler's slices, so that of
#: many batches some are disturbed by nobody.
SHORTER = 10
ROUNDS, SECONDS = 5, 1.0


def fastest(*calls: Callable[[], Any]) -> list[float]:
    """Seconds of each call, the least of many batches in turn: others only make it longer."""
    repeats = [max(1, batch_size(call) // SHORTER) for call in calls]
    least = [float("inf")] * len(calls)
    deadline = time.perf_counter() + SECONDS
    count = 0
    while count < ROUNDS or time.perf_counter() < deadline:
        measured = map(seconds_per_call, calls, repeats)
        least = [min(pair) for pair in zip(least, measured, strict=True)]
        count += 1
    return least


def figures(name: str, size: str, check: bool) -> dict[str, Any]:
    """Seconds by NumPy alone, of the compiled function and gradient, and to build the latter."""
    import autojit

    (program,) = select([name])
    sizes = getattr(program, size)
    function, arguments = program.at(sizes, autojit)
    alone, _ = program.at(sizes, PLAIN)
    autojit.jit(autojit.grad(lambda x: np.sum(np.tanh(x))))(np.ones(3))  # starts the compiler
    gradient = partial(autojit.jit(autojit.grad(function)), *arguments)
    primal = partial(autojit.jit(function), *arguments)
    start = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        derived = gradient()
    built, processor = time.perf_counter() - start[0], time.process_time() - start[1]
    found: dict[str, Any] = {
        "first_call_s": built,
        "first_call_processor_s": processor,
        "warnings": [in_words(str(warning.message)) for warning in caught],
    }
    if check:
        found["wrong"] = wrong(alone, arguments, primal(), derived)
    found["primal_s"], found["gradient_s"] = fastest(primal, gradient)
    # Apart and last: NumPy's BLAS has threads that spin for a while after each call.
    (found["numpy_s"],) = fastest(partial(alone, *arguments))
    found["peak_mb"] = peak_megabytes()
    return found


def main() -> None:
    name, size, threads, folder, check = sys.argv[1:]
    restrict(int(threads))
    sys.path.insert(0, folder)  # `bench` is loaded already
    try:
        answer = figures(name, size, check == "check")
    except Exception as error:  # a program that is not covered is reported, not fatal
        answer = {"failed": f"{type(error).__name__}: {in_words(error)}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
