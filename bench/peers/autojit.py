"""autojit itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bench.derivatives import TRANSFORMED
from bench.derivatives import build as build_derivative
from bench.peer import Bound, Compiled, Latency, Make, Peer, no_environment, numpy_arrays
from bench.workload import Arrays, Workload


def load() -> Any:
    import autojit
    from autojit import grad, jit  # noqa: F401  (a half-installed package counts as absent)

    return autojit


def load_special() -> Any:
    import scipy.special

    return scipy.special


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    autojit = load()
    function = workload.function("autojit", autojit, np, load_special())
    derivative, primal = build_derivative(TRANSFORMED, autojit, workload, function)
    return Compiled(
        gradient=partial(autojit.jit(derivative), *inputs),
        primal=partial(autojit.jit(primal), *inputs),
        arrays=numpy_arrays,
    )


def first_gradient(make: Make, x: np.ndarray) -> Any:
    autojit = load()
    return autojit.jit(autojit.grad(make(np, None)))(x)


def again(make: Make, x: np.ndarray) -> Bound:
    autojit, function = load(), make(np, None)
    return lambda: autojit.grad(function)(x)


def compiled(make: Make, x: np.ndarray) -> Bound:
    autojit = load()
    return partial(autojit.jit(autojit.grad(make(np, None))), x)


def passes(make: Make, x: np.ndarray, differentiated: bool) -> Bound:
    from autojit.ir.passes import optimize

    autojit, function = load(), make(np, None)
    wanted = autojit.grad(function) if differentiated else function
    return lambda: optimize(autojit.jit(wanted).lower(x).program)


def bound_call(count: int) -> Bound:
    autojit = load()
    arrays = [np.ones(3) for _ in range(count)]
    if count > 2:
        tree = {f"array{i}": array for i, array in enumerate(arrays)}
        return partial(autojit.jit(lambda t: {key: 2.0 * x for key, x in t.items()}), tree)
    return partial(autojit.jit(lambda *xs: tuple(2.0 * x for x in xs)), *arrays)


PEER = Peer(
    name="autojit",
    title="autojit",
    package="autojit",
    environment=no_environment,
    load=load,
    build=build,
    latency=Latency(first_gradient, bound_call, lambda folder: {}, again, compiled, passes),
    load_special=load_special,
)
