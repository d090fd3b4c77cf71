"""One library's process, which times the programs and saves parts of the results.

    python -m bench.on_gpu.run LIBRARY DEVICE FOLDER [SIZE] --from N

For each program it writes FOLDER/LIBRARY-NUMBER.npz: the seconds of a call, the bytes of arguments
and results, and up to 4,096 elements of each result.  N = "about" prints the library's version.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from autojit.codegen.cuda.check.supervised import Item, run_items
from bench.on_gpu.libraries import LIBRARIES, Library
from bench.on_gpu.namespace import Absent
from bench.on_gpu.programs import PROGRAMS, Program

#: The seconds of a batch of calls, and the number of batches, of which the fastest counts.
BATCH_SECONDS, BATCHES = 0.05, 5
#: The most elements of a result that are compared.
COMPARED = 4096


def seconds(call: Callable[[], Any], finish: Callable[[Any], None]) -> float:
    """The mean seconds of a call in the fastest batch, until the device has finished."""

    def batch(count: int) -> float:
        begun = time.perf_counter()
        for _ in range(count):
            result = call()
        finish(result)
        return time.perf_counter() - begun

    for _ in range(3):  # autojit uses a graph from the third call on
        once = batch(1)
    count = max(1, min(10_000, round(BATCH_SECONDS / max(once, 1e-6))))
    return min(batch(count) for _ in range(BATCHES)) / count


def part_of(array: np.ndarray) -> np.ndarray:
    """Elements of an array at equal distances, the first and the last among them."""
    flat = np.ravel(array)
    places = np.linspace(0, max(0, flat.size - 1), min(flat.size, COMPARED)).astype(int)
    return flat[places]


def timed(library: Library, program: Program, file: Path, *, is_small: bool) -> str:
    """Time a program, save what the table needs, and say how long it takes."""
    arrays = program.arguments(is_small=is_small)
    try:
        call = library.bind(program, arrays)
    except (Absent, NotImplementedError) as failure:
        return f"not run: {failure}"
    begun = time.perf_counter()
    result = call()
    library.finish(result)
    first = time.perf_counter() - begun
    made = library.arrays(result)
    found: dict[str, Any] = {f"part{i}": part_of(a) for i, a in enumerate(made)}
    nbytes = sum(a.nbytes for a in (*arrays, *made))
    took = seconds(call, library.finish)
    np.savez(file, seconds=took, first=first, nbytes=nbytes, **found)
    return f"{1e3 * took:>12.4f} ms, first call {first:.2f} s"


def main(arguments: list[str]) -> int:
    name, device, folder, *rest = arguments
    try:
        library = LIBRARIES[name](device)
        if rest[-1] == "about":
            print(library.about())
            return 0
    except Exception as failure:
        print(f"{type(failure).__name__}: {failure}".splitlines()[0])
        return 1
    is_small = "small" in rest
    every = [
        Item(p.name, partial(timed, library, p, Path(folder, f"{name}-{i}.npz"), is_small=is_small))
        for i, p in enumerate(PROGRAMS)
    ]
    run_items(every[int(rest[-1]) :], lambda: True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
