"""PyTorch through `torch.compile`, which needs a C++ compiler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.peer import Compiled, Latency, Peer
from bench.peers.torch import compiled, load
from bench.workload import Arrays, Workload


def environment(threads: int, dtype: str) -> dict[str, str]:
    return {"TORCHINDUCTOR_COMPILE_THREADS": str(threads)}


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    torch = load()
    torch.set_num_threads(threads)
    compiler = partial(torch.compile, fullgraph=True, dynamic=False)
    return compiled(workload, inputs, compiler, "torch_compile")


def first_gradient(make: Callable[[Any, Any], Any], x: np.ndarray) -> Any:
    torch = load()
    tensor = torch.tensor(x, requires_grad=True)
    return torch.autograd.grad(torch.compile(make(torch, None))(tensor), tensor)


def bound_call(count: int) -> Callable[[], Any]:
    torch = load()
    arrays = [torch.ones(3, dtype=torch.float64) for _ in range(count)]
    if count <= 2:
        function = torch.compile(lambda *xs: tuple(2.0 * x for x in xs))
        return lambda: function(*arrays)
    tree = {f"array{i}": array for i, array in enumerate(arrays)}
    over_tree = torch.compile(lambda t: {key: 2.0 * x for key, x in t.items()})
    return lambda: over_tree(tree)


PEER = Peer(
    name="torch_compile",
    title="torch.compile",
    package="torch",
    environment=environment,
    load=load,
    build=build,
    latency=Latency(first_gradient, bound_call, lambda folder: {}),
)
