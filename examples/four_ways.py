"""Train one network in four ways: by single numbers, by tensors, compiled, and as pure functions.

All four start from the same weights and make the same steps.

    python examples/four_ways.py
"""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter

import numpy as np

from autojit import Value, grad, jit, torch

SIZES, SAMPLES, STEPS, RATE = [2, 16, 16, 1], 64, 20, 0.1


def numbers(weights, x, y):
    """A step of single numbers: each step builds a graph with one node for each operation."""
    params = [([[Value(v) for v in row] for row in w], [Value(v) for v in b]) for w, b in weights]

    def step():
        total = Value(0.0)
        for sample, target in zip(x.tolist(), y.tolist(), strict=True):
            values = sample
            for k, (w, b) in enumerate(params):
                sums = [
                    sum((p * v for p, v in zip(row, values, strict=True)), c)
                    for row, c in zip(w, b, strict=True)
                ]
                values = sums if k == len(params) - 1 else [s.tanh() for s in sums]
            total = total + (values[0] - target) ** 2
        loss = total * (1 / SAMPLES)
        for w, b in params:
            for p in [*b, *(p for row in w for p in row)]:
                p.grad = 0.0
        loss.backward()
        for w, b in params:
            for p in [*b, *(p for row in w for p in row)]:
                p.data -= RATE * p.grad
        return loss.data

    return step


def model_of(weights):
    """The network as modules, with given weights."""
    layers = []
    for w, b in weights:
        layer = torch.nn.Linear(w.shape[1], w.shape[0], dtype=torch.float64)
        layer.load_state_dict({"weight": torch.from_numpy(w), "bias": torch.from_numpy(b)})
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def tensors(weights, x, y, *, compiled):
    """A step of tensors, with a graph recorded during the computation, or compiled at the first
    step."""
    model = model_of(weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    inputs, targets = torch.from_numpy(x), torch.from_numpy(y)
    forward = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(forward(inputs)[:, 0], targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def functions(weights, x, y):
    """A step as one compiled function of NumPy arrays."""
    params = [(w.copy(), b.copy()) for w, b in weights]

    def loss(params):
        values = x
        for w, b in params[:-1]:
            values = np.tanh(values @ w.T + b)
        w, b = params[-1]
        return np.mean(((values @ w.T + b)[:, 0] - y) ** 2)

    @jit
    def update(params):
        gradients = grad(loss)(params)
        new = [
            (w - RATE * dw, b - RATE * db)
            for (w, b), (dw, db) in zip(params, gradients, strict=True)
        ]
        return new, loss(params)

    def step():
        nonlocal params
        params, value = update(params)
        return float(value)

    return step


def main():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (SAMPLES, 2))
    y = np.where(np.sum(x**2, axis=1) > 0.5, 1.0, -1.0)
    weights = [(rng.normal(0, 1 / np.sqrt(a), (b, a)), np.zeros(b)) for a, b in pairwise(SIZES)]
    ways = {
        "single numbers": numbers(weights, x, y),
        "tensors": tensors(weights, x, y, compiled=False),
        "compiled tensors": tensors(weights, x, y, compiled=True),
        "compiled functions": functions(weights, x, y),
    }
    losses = {}
    for name, step in ways.items():
        start = perf_counter()
        losses[name] = [step()]
        first = perf_counter() - start
        times = []
        for _ in range(STEPS - 1):
            start = perf_counter()
            losses[name].append(step())
            times.append(perf_counter() - start)
        print(
            f"{name:18}  loss {losses[name][0]:.6f} -> {losses[name][-1]:.6f}  "
            f"first step {first * 1e3:7.1f} ms, a step {np.median(times) * 1e6:9.1f} us"
        )
    reference = np.array(losses["compiled functions"])
    worst = max(np.abs(np.array(found) / reference - 1).max() for found in losses.values())
    print(f"losses differ by at most {worst:.0e} of their values")


if __name__ == "__main__":
    main()
