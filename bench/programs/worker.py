"""Measures one program in a process: `python -m bench.programs.worker NAME SIZE THREADS FOLDER`.

It prints the figures as JSON. `autojit` is imported from FOLDER; the programs use only its public
names, so older commits can run them too.
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

#: A batch lasts a tenth of that of `batch_size`, 2 ms: this is shorter than the scheduler's slices,
#: so that some of many batches run undisturbed.
SHORTER = 10
ROUNDS, SECONDS = 5, 1.0


def fastest(*calls: Callable[[], Any]) -> list[float]:
    """The seconds of each call: the least of many batches in turn, since disturbances only add."""
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
    """The figures: seconds by NumPy alone, of the compiled function and gradient, and to build the
    latter."""
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
    # Measured separately and last: the threads of NumPy's BLAS spin for a while after each call.
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
