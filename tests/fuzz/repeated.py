"""The same bits again: on one thread and on several, and with several simultaneous callers."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from autojit import jit
from autojit.codegen.cpu.host import threads
from tests.fuzz.case import autojit_names, leaves
from tests.fuzz.memory import laid_out, owned, same_bits
from tests.fuzz.oracles import Fault, Run, faults, taken_by_numpy

#: Calls until both ways to run a loop have been tried, and simultaneous callers.
CALLS, CALLERS = 8, 4


def check_threads(run: Run) -> None:
    """Results have the same bits, whatever the number of threads and of other callers."""
    compiled = jit(run.case.function(autojit_names()))
    others = [laid_out(run.values, layout) for layout in (_last_reversed, _reversed, np.copy)]
    taken = [given if taken_by_numpy(run.case, given) else run.values for given in others]
    values = [run.values, *taken]

    def call(given: dict[str, Any]) -> list[Any]:
        with faults("compiled"):
            return owned(leaves(compiled(*given.values())))

    call(values[0])  # starts the threads
    usual = threads.allowed.value
    try:
        threads.allowed.value = 0
        alone = [call(given) for given in values]
        threads.allowed.value = usual
        for _ in range(CALLS):
            for given, wanted in zip(values, alone, strict=True):
                same_bits("results depend on the number of threads", call(given), wanted)
    finally:
        threads.allowed.value = usual
    run.compared += sum(r.size for r in alone[0])
    _at_once(values, alone, call)


def _last_reversed(x: np.ndarray) -> np.ndarray:
    return x[..., ::-1]


def _reversed(x: np.ndarray) -> np.ndarray:
    return x[::-1]


def _at_once(values: list[Any], wanted: list[Any], call: Any) -> None:
    found: list[Any] = [None] * CALLERS
    start = threading.Barrier(CALLERS)

    def work(number: int) -> None:
        try:
            start.wait()
            for _ in range(CALLS):
                same_bits("results depend on other callers", call(values[number]), wanted[number])
        except BaseException as error:
            found[number] = error

    callers = [threading.Thread(target=work, args=(k,)) for k in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for error in filter(None, found):
        raise error if isinstance(error, Fault) else Fault("callers at once", repr(error))
