"""PyTensor in its Numba mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from bench.derivatives import Build, primal_of
from bench.derivatives import build as build_derivative
from bench.peer import Compiled, Latency, Peer, numpy_arrays
from bench.workload import Arrays, Function, Workload


def environment(threads: int, dtype: str) -> dict[str, str]:
    """Set a fresh cache, so that a second run compiles again, and the dtype of constants."""
    return {"PYTENSOR_FLAGS": f"floatX={dtype},base_compiledir={{cache}}/pytensor"}


def load() -> Any:
    import pytensor
    import pytensor.tensor

    return pytensor


def _compile(variables: list[Any], outputs: Any) -> Callable[..., Any]:
    function = load().function(variables, outputs, mode="NUMBA", on_unused_input="ignore")
    function.trust_input = True  # the documented way to skip the checks of each argument
    return function


def gradient(library: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    def gradients(*variables: Any) -> Any:
        return library.grad(function(*variables), [variables[i] for i in workload.argnums])

    return gradients, function


def hessian(library: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    (at,) = workload.argnums
    return lambda *xs: library.gradient.hessian(function(*xs), xs[at]), function


def hvp(library: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    """Build the product in reverse over reverse mode, like PyTensor's own Hessian product."""
    (at,) = workload.argnums
    primal = primal_of(workload, function)

    def product(*variables: Any) -> Any:
        slope = library.grad(primal(*variables), variables[at])
        return library.grad((slope * variables[-1]).sum(), variables[at])

    return product, primal


DERIVATIVES: Mapping[str, Build] = {"gradient": gradient, "hessian": hessian, "hvp": hvp}


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    pytensor = load()
    variables = [pytensor.tensor.tensor(dtype=a.dtype, shape=a.shape) for a in inputs]
    function = workload.version("pytensor", pytensor.tensor)
    derivative, value = build_derivative(DERIVATIVES, pytensor, workload, function)
    # The primal is compiled at its first call, outside of the gradient's compile time.
    compiled_primal: list[Callable[..., Any]] = []

    def primal() -> Any:
        if not compiled_primal:
            compiled_primal.append(_compile(variables, value(*variables)))
        return compiled_primal[0](*inputs)

    gradient = _compile(variables, derivative(*variables))
    return Compiled(partial(gradient, *inputs), primal, numpy_arrays)


def first_gradient(make: Callable[[Any, Any], Any], x: np.ndarray) -> Any:
    pytensor = load()
    variable = pytensor.tensor.vector(dtype="float64")
    value = make(pytensor.tensor, None)(variable)
    return _compile([variable], pytensor.grad(value, variable))(x)


def bound_call(count: int) -> Callable[[], Any]:
    """A call with ``count`` arguments, since PyTensor has no trees."""
    pytensor = load()
    variables = [pytensor.tensor.vector(dtype="float64") for _ in range(count)]
    function = _compile(variables, [2.0 * variable for variable in variables])
    return partial(function, *[np.ones(3) for _ in range(count)])


PEER = Peer(
    name="pytensor",
    title="PyTensor",
    package="pytensor",
    environment=environment,
    load=load,
    build=build,
    latency=Latency(first_gradient, bound_call, lambda folder: {}),
)
