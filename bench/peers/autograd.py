"""HIPS autograd: the same NumPy text, differentiated at every call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.peer import Compiled, Latency, Peer, argnums_of, no_environment, numpy_arrays
from bench.workload import Arrays, Workload


def load() -> Any:
    import autograd
    import autograd.numpy

    return autograd


def load_special() -> Any:
    from autograd.scipy import special

    return special


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    autograd = load()
    function = workload.primal(autograd.numpy, load_special())
    return Compiled(
        gradient=partial(autograd.grad(function, argnums_of(workload)), *inputs),
        primal=partial(function, *inputs),
        arrays=numpy_arrays,
    )


def first_gradient(make: Callable[[Any, Any], Any], x: np.ndarray) -> Any:
    autograd = load()
    return autograd.grad(make(autograd.numpy, None))(x)


PEER = Peer(
    name="autograd",
    title="autograd",
    package="autograd",
    environment=no_environment,
    load=load,
    build=build,
    latency=Latency(first_gradient),
    load_special=load_special,
)
