"""PyTorch, eager."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.derivatives import TRANSFORMED
from bench.derivatives import build as build_derivative
from bench.peer import Bound, Compiled, Latency, Make, Peer, no_environment
from bench.workload import Arrays, Workload, as_tuple


def load() -> Any:
    import torch

    return torch


def tensors(workload: Workload, inputs: Arrays) -> list[Any]:
    torch = load()
    arguments = [torch.tensor(array) for array in inputs]
    for position in workload.argnums:
        arguments[position].requires_grad_()
    return arguments


def to_arrays(result: Any) -> Arrays:
    return tuple(part.detach().numpy() for part in as_tuple(result))


def compiled(
    workload: Workload, inputs: Arrays, compiler: Callable[[Any], Any], peer: str = "torch"
) -> Compiled:
    """A gradient by the tape, as in ordinary PyTorch code; any other derivative by `torch.func`.

    `compiler` gets the function to be taped, or for other derivatives the whole derivative, since
    PyTorch cannot differentiate a compiled function twice.
    """
    torch = load()
    function = workload.version(peer if peer in workload.versions else "torch", torch)
    if workload.derivative == "gradient":
        return taped(workload, inputs, compiler(function))
    derivative, primal = build_derivative(TRANSFORMED, torch.func, workload, function)
    arguments = [torch.tensor(array) for array in inputs]
    return Compiled(
        partial(compiler(derivative), *arguments), partial(compiler(primal), *arguments), to_arrays
    )


def taped(workload: Workload, inputs: Arrays, function: Callable[..., Any]) -> Compiled:
    """Use `torch.autograd.grad` on a function of tensors, compiled or not."""
    torch = load()
    arguments = tensors(workload, inputs)
    wanted = [arguments[position] for position in workload.argnums]
    constants = [argument.detach() for argument in arguments]

    def gradient() -> Any:
        return torch.autograd.grad(function(*arguments), wanted)

    def primal() -> Any:
        return function(*constants)

    return Compiled(gradient, primal, to_arrays)


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    torch = load()
    torch.set_num_threads(threads)
    return compiled(workload, inputs, lambda function: function)


def again(make: Make, x: np.ndarray) -> Bound:
    torch = load()
    function, tensor = make(torch, None), torch.tensor(x, requires_grad=True)
    return lambda: torch.autograd.grad(function(tensor), tensor)


def first_gradient(make: Make, x: np.ndarray) -> Any:
    return again(make, x)()


PEER = Peer(
    name="torch",
    title="torch eager",
    package="torch",
    environment=no_environment,
    load=load,
    build=build,
    latency=Latency(first_gradient, again=again),
)
