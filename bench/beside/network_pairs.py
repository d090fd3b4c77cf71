"""Define-by-run, compared with PyTorch, and with a scalar engine of closures."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from autojit import jit, nn, optim, torch, value_and_grad
from autojit.scalar import MLP

from .closures import Network
from .pairs import Pair

#: The sizes of the scalar network, of the classifier, and of its batch.
SCALARS, SIZES, BATCH = (10, [100, 100, 1]), [784, 256, 128, 10], 64
LONG = 100_000


def pairs() -> list[Pair]:
    import torch as pytorch

    pytorch.set_num_threads(1)
    return [*of_numbers(), *steps(pytorch), *chains(pytorch), *convolutions(pytorch)]


def of_numbers() -> list[Pair]:
    """Forward and backward of a network of single numbers."""
    inputs = np.random.default_rng(0).uniform(-1, 1, SCALARS[0]).tolist()
    random.seed(0)
    ours, theirs = MLP(*SCALARS), Network(*SCALARS)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        q.data = p.data

    def backward(network: Any) -> Callable[[], float]:
        def run() -> float:
            for p in network.parameters():
                p.grad = 0.0
            out = network(inputs)
            out.backward()
            return float(out.data + sum(p.grad for p in network.parameters()))

        return run

    return [Pair("numbers, 10-100-100-1", backward(ours), "closures", backward(theirs), 1e-9, 0.1)]


def weights() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(1)
    return [
        (rng.normal(0, 1 / np.sqrt(m), (n, m)).astype(np.float32), np.zeros(n, np.float32))
        for m, n in pairwise(SIZES)
    ]


def step_of(library: Any, compiled: bool) -> Callable[[], Any]:
    """A step of gradient descent, in PyTorch or in a library with its names."""
    layers: list[Any] = []
    for w, b in weights():
        layer = library.nn.Linear(w.shape[1], w.shape[0])
        with library.no_grad():
            layer.weight.copy_(library.from_numpy(w))
            layer.bias.copy_(library.from_numpy(b))
        layers += [layer, library.nn.ReLU()]
    model = library.nn.Sequential(*layers[:-1])
    forward = library.compile(model) if compiled else model
    optimizer = library.optim.SGD(model.parameters(), lr=1e-3)
    rng = np.random.default_rng(2)
    x = library.from_numpy(rng.uniform(0, 1, (BATCH, SIZES[0])).astype(np.float32))
    y = library.from_numpy(rng.integers(0, SIZES[-1], BATCH))

    def step() -> float:
        optimizer.zero_grad()
        loss = library.nn.functional.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def function_step() -> Callable[[], Any]:
    """The same as one compiled function of arrays."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, (BATCH, SIZES[0])).astype(np.float32)
    y = rng.integers(0, SIZES[-1], BATCH)
    opt = optim.sgd(lr=1e-3)

    def loss(layers: Any) -> Any:
        values = x
        for w, b in layers[:-1]:
            values = nn.relu(nn.linear(values, w, b))
        w, b = layers[-1]
        return nn.cross_entropy(nn.linear(values, w, b), y)

    @jit
    def update(layers: Any, state: Any) -> Any:
        value, grads = value_and_grad(loss)(layers)
        return *opt.update(layers, grads, state), value

    layers: Any = weights()
    state = opt.init(layers)

    def step() -> float:
        nonlocal layers, state
        layers, state, value = update(layers, state)
        return float(value)

    return step


def steps(pytorch: Any) -> list[Pair]:
    name = "classifier 784-256-128-10, a step"
    return [
        Pair(f"{name}, eager", step_of(torch, False), "PyTorch",
             step_of(pytorch, False), 1e-4, 1.0),
        Pair(f"{name}, `torch.compile`", step_of(torch, True), "PyTorch, eager",
             step_of(pytorch, False), 1e-4),
        Pair(f"{name}, functions under `jit`", function_step(), "PyTorch, eager",
             step_of(pytorch, False), 1e-4, 0.2),
    ]  # fmt: skip


def chains(pytorch: Any) -> list[Pair]:
    """A long chain of operations on small tensors."""

    def run(library: Any) -> Callable[[], float]:
        start = library.ones(3, requires_grad=True, dtype=library.float64)

        def chain() -> float:
            start.grad = None
            x = start
            for _ in range(LONG // 2):
                x = x * 0.999 + 0.001
            x.sum().backward()
            return float(start.grad.sum().item())

        return chain

    return [Pair(f"a chain of {LONG:,} operations", run(torch), "PyTorch", run(pytorch), 1e-9)]


def convolutions(pytorch: Any) -> list[Pair]:
    rng = np.random.default_rng(3)
    images = rng.normal(size=(16, 8, 32, 32)).astype(np.float32)
    kernels = rng.normal(size=(16, 8, 3, 3)).astype(np.float32)

    def run(library: Any, compiled: bool) -> Callable[[], Any]:
        x = library.from_numpy(images)
        w = library.from_numpy(kernels).requires_grad_(True)

        def energy(w: Any) -> Any:
            return (library.nn.functional.conv2d(x, w, padding=1) ** 2).sum()

        forward = library.compile(energy) if compiled else energy

        def gradient() -> Any:
            w.grad = None
            forward(w).backward()
            return w.grad.numpy()

        return gradient

    peer = run(pytorch, False)
    return [
        Pair(
            "`conv2d`, 16 x 8 x 32 x 32, gradient, eager", run(torch, False), "PyTorch", peer, 1e-3
        ),
        Pair("the same, `torch.compile`", run(torch, True), "PyTorch, eager", peer, 1e-3),
    ]
