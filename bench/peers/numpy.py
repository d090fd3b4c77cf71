"""Plain NumPy runs the function unchanged, and its gradient derived by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.derivatives import primal_of
from bench.peer import Compiled, Peer, no_environment, numpy_arrays
from bench.workload import Arrays, Workload


def load() -> Any:
    import numpy

    return numpy


def load_special() -> Any:
    import scipy.special

    return scipy.special


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    numpy = load()
    primal = primal_of(workload, workload.primal(numpy, load_special()))
    return Compiled(
        gradient=partial(workload.version("numpy", numpy), *inputs),
        primal=partial(primal, *inputs),
        arrays=numpy_arrays,
    )


PEER = Peer(
    name="numpy",
    title="NumPy by hand",
    package="numpy",
    environment=no_environment,
    load=load,
    build=build,
    load_special=load_special,
)
