"""PyTorch, eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.peer import Compiled, Latency, Peer, no_environment
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


def eager(workload: Workload, inputs: Arrays, function: Callable[..., Any]) -> Compiled:
    """`torch.autograd.grad` of a function of tensors, compiled or not."""
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
    return eager(workload, inputs, workload.version("torch", torch))


def first_gradient(make: Callable[[Any, Any], Any], x: np.ndarray) -> Any:
    torch = load()
    tensor = torch.tensor(x, requires_grad=True)
    return torch.autograd.grad(make(torch, None)(tensor), tensor)


PEER = Peer(
    name="torch",
    title="torch eager",
    package="torch",
    environment=no_environment,
    load=load,
    build=build,
    latency=Latency(first_gradient),
)
