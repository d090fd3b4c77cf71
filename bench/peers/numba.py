"""Primal and derivative, derived and fused by hand and compiled by Numba, close to the limit."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.peer import Compiled, Peer, no_environment, numpy_arrays
from bench.workload import Arrays, Workload


def load() -> Any:
    import numba

    return numba


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    numba = load()
    numba.set_num_threads(threads)
    primal, derivative = workload.version("numba", numba)
    return Compiled(partial(derivative, *inputs), partial(primal, *inputs), numpy_arrays)


PEER = Peer(
    name="numba",
    title="Numba by hand",
    package="numba",
    environment=no_environment,
    load=load,
    build=build,
)
