"""HIPS autograd runs the same NumPy text, and differentiates it at every call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from bench.derivatives import Build, argnums_of, gradient, hessian, primal_of
from bench.derivatives import build as build_derivative
from bench.peer import Bound, Compiled, Latency, Make, Peer, no_environment, numpy_arrays
from bench.workload import Arrays, Function, Workload


def load() -> Any:
    import autograd
    import autograd.numpy

    return autograd


def load_special() -> Any:
    from autograd.scipy import special

    return special


def hvp(autograd: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    product = autograd.hessian_vector_product(function, argnums_of(workload))
    return product, primal_of(workload, function)


def jacobian(autograd: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    """Build a Jacobian in reverse mode, the only mode of autograd's `jacobian`."""
    return autograd.jacobian(function, argnums_of(workload)), function


# There is no `vmap`: gradients of many examples would be a Python loop.
DERIVATIVES: Mapping[str, Build] = {
    "gradient": gradient,
    "hessian": hessian,
    "hvp": hvp,
    "jacobian": jacobian,
}


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    autograd = load()
    function = workload.function("autograd", autograd, autograd.numpy, load_special())
    derivative, primal = build_derivative(DERIVATIVES, autograd, workload, function)
    return Compiled(partial(derivative, *inputs), partial(primal, *inputs), numpy_arrays)


def again(make: Make, x: np.ndarray) -> Bound:
    autograd = load()
    return partial(autograd.grad(make(autograd.numpy, None)), x)


def first_gradient(make: Make, x: np.ndarray) -> Any:
    return again(make, x)()


PEER = Peer(
    name="autograd",
    title="autograd",
    package="autograd",
    environment=no_environment,
    load=load,
    build=build,
    latency=Latency(first_gradient, again=again),
    load_special=load_special,
)
