"""A network of single numbers, as in micrograd: the cost of thousands of tiny operations.

Each neuron is a sum of weights times inputs in a Python loop, each weight one element of a vector
(https://github.com/karpathy/micrograd). Its demo: a network 2-16-16-1, 100 points on two moons, a
hinge loss and the squares of all parameters. There each input is a number; here it is the column of
all points, so that 337 parameters make 1,000 operations. The second network, 10-100-100-1, gets a
single example, all in scalars: 22,000 operations. PyTorch and JAX compute the networks by matrices.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload, not_written

MOONS, WIDE = (2, 16, 16, 1), (10, 100, 100, 1)
POINTS = 100
DECAY = 1e-4
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def parameters_of(sizes: tuple[int, ...]) -> int:
    return sum((ins + 1) * outs for ins, outs in pairwise(sizes))


def score_of(np: Any, sizes: tuple[int, ...]) -> Function:
    """`score(p, x)`, neuron by neuron; `p` has each neuron's weights, then its bias."""

    def score(p, x):
        at = 0
        for layer, (ins, outs) in enumerate(pairwise(sizes)):
            out = []
            for _ in range(outs):
                act = p[at + ins]
                for k in range(ins):
                    act = act + p[at + k] * x[k]
                at += ins + 1
                out.append(np.maximum(act, 0.0) if layer < len(sizes) - 2 else act)
            x = out
        return x[0]

    return score


def moons_primal(np: Any, special: Any) -> Function:
    score = score_of(np, MOONS)

    def loss(p, points, labels):
        scores = score(p, [points[:, k] for k in range(MOONS[0])])
        return np.mean(np.maximum(1.0 - labels * scores, 0.0)) + DECAY * np.sum(p * p)

    return loss


def wide_primal(np: Any, special: Any) -> Function:
    score = score_of(np, WIDE)

    def loss(p, points, labels):
        found = score(p, [points[0, k] for k in range(WIDE[0])])
        return np.maximum(1.0 - labels[0] * found, 0.0) + DECAY * np.sum(p * p)

    return loss


def in_matrices(np: Any, relu: Function, sizes: tuple[int, ...]) -> Function:
    def loss(p, points, labels):
        at, x = 0, points
        for layer, (ins, outs) in enumerate(pairwise(sizes)):
            neurons = p[at : at + outs * (ins + 1)].reshape(outs, ins + 1)
            at += outs * (ins + 1)
            x = x @ neurons[:, :-1].T + neurons[:, -1]
            x = relu(x) if layer < len(sizes) - 2 else x
        return np.mean(relu(1.0 - labels * x[:, 0])) + DECAY * np.sum(p * p)

    return loss


def numpy_gradient(np: Any, sizes: tuple[int, ...]) -> Function:
    def gradient(p, points, labels):
        at, activations, layers = 0, [points], []
        for ins, outs in pairwise(sizes):
            layers.append(p[at : at + outs * (ins + 1)].reshape(outs, ins + 1))
            at += outs * (ins + 1)
            x = activations[-1] @ layers[-1][:, :-1].T + layers[-1][:, -1]
            activations.append(np.maximum(x, 0.0))
        missed = 1.0 - labels * x[:, 0] > 0.0
        back, parts = (-labels * missed / labels.size)[:, None], []
        for x, neurons in zip(activations[-2::-1], layers[::-1], strict=True):
            parts.append(np.column_stack((back.T @ x, back.sum(axis=0))).ravel())
            back = (back @ neurons[:, :-1]) * (x > 0.0)
        return np.concatenate(parts[::-1]) + 2.0 * DECAY * p

    return gradient


def numba_column_layer(numba: Any) -> Function:
    """A layer with contiguous points: `x` is (ins, points)."""

    @numba.njit(**OPTIONS)
    def layer(p, x, result):
        ins, at = x.shape[0], 0
        for j in range(result.shape[0]):
            row = result[j]
            row[:] = p[at + ins]
            for k in range(ins):
                weight, column = p[at + k], x[k]
                for i in range(POINTS):
                    row[i] += weight * column[i]
            at += ins + 1

    return layer


def numba_column_layer_back(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def layer_back(p, x, back, back_x, result):
        """Fill `result` with the parameters' cotangents, `back_x` with those before the relu."""
        ins, at = x.shape[0], 0
        back_x[:] = 0.0
        for j in range(back.shape[0]):
            row = back[j]
            for k in range(ins):
                weight, column, target, total = p[at + k], x[k], back_x[k], 0.0
                for i in range(POINTS):
                    total += row[i] * column[i]
                    target[i] += weight * row[i]
                result[at + k] = total + 2.0 * DECAY * weight
            result[at + ins] = row.sum() + 2.0 * DECAY * p[at + ins]
            at += ins + 1
        for k in range(ins):
            for i in range(POINTS):
                back_x[k, i] = back_x[k, i] if x[k, i] > 0.0 else 0.0

    return layer_back


def numba_moons_forward(numba: Any) -> Function:
    layer = numba_column_layer(numba)
    first, second = parameters_of(MOONS[:2]), parameters_of(MOONS[:3])

    @numba.njit(**OPTIONS)
    def relu(x):
        for j in range(x.shape[0]):
            for i in range(POINTS):
                x[j, i] = max(x[j, i], 0.0)

    @numba.njit(**OPTIONS)
    def forward(p, points):
        x = points.T.copy()
        one, two = numpy.empty((MOONS[1], POINTS)), numpy.empty((MOONS[2], POINTS))
        score = numpy.empty((1, POINTS))
        layer(p[:first], x, one)
        relu(one)
        layer(p[first:second], one, two)
        relu(two)
        layer(p[second:], two, score)
        return x, one, two, score

    return forward


def numba_moons(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)
    forward, layer_back = numba_moons_forward(numba), numba_column_layer_back(numba)
    first, second = parameters_of(MOONS[:2]), parameters_of(MOONS[:3])

    @njit
    def value(p, points, labels):
        score, total = forward(p, points)[3][0], 0.0
        for i in range(POINTS):
            total += max(1.0 - labels[i] * score[i], 0.0)
        return total / POINTS + DECAY * numpy.dot(p, p)

    @njit
    def gradient(p, points, labels):
        x, one, two, back = forward(p, points)
        result = numpy.empty_like(p)
        for i in range(POINTS):
            back[0, i] = -labels[i] / POINTS if labels[i] * back[0, i] < 1.0 else 0.0
        back_two, back_one = numpy.empty_like(two), numpy.empty_like(one)
        layer_back(p[second:], two, back, back_two, result[second:])
        layer_back(p[first:second], one, back_two, back_one, result[first:second])
        layer_back(p[:first], x, back_one, numpy.empty_like(x), result[:first])
        return result

    return value, gradient


def numba_rows(numba: Any) -> tuple[Function, Function]:
    """A layer and its reverse for one example: loops along a neuron's weights."""
    njit = numba.njit(**OPTIONS)

    @njit
    def layer(p, x, result):
        ins = x.size
        for j in range(result.size):
            neuron, total = p[j * (ins + 1) : (j + 1) * (ins + 1)], 0.0
            for k in range(ins):
                total += neuron[k] * x[k]
            result[j] = total + neuron[ins]

    @njit
    def layer_back(p, x, back, back_x, result):
        """As for columns. A neuron that was not active passes no cotangent on."""
        ins = x.size
        back_x[:] = 0.0
        for j in range(back.size):
            start, stop, slope = j * (ins + 1), (j + 1) * (ins + 1), back[j]
            neuron, target = p[start:stop], result[start:stop]
            for k in range(ins):
                target[k] = slope * x[k] + 2.0 * DECAY * neuron[k]
            target[ins] = slope + 2.0 * DECAY * neuron[ins]
            if slope != 0.0:
                for k in range(ins):
                    back_x[k] += slope * neuron[k]
        for k in range(ins):
            back_x[k] = back_x[k] if x[k] > 0.0 else 0.0

    return layer, layer_back


def numba_wide(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)
    layer, layer_back = numba_rows(numba)
    first, second = parameters_of(WIDE[:2]), parameters_of(WIDE[:3])

    @njit
    def forward(p, x):
        one, two, score = numpy.empty(WIDE[1]), numpy.empty(WIDE[2]), numpy.empty(1)
        layer(p[:first], x, one)
        one[:] = numpy.maximum(one, 0.0)
        layer(p[first:second], one, two)
        two[:] = numpy.maximum(two, 0.0)
        layer(p[second:], two, score)
        return one, two, score

    @njit
    def value(p, points, labels):
        score = forward(p, points[0])[2]
        return max(1.0 - labels[0] * score[0], 0.0) + DECAY * numpy.dot(p, p)

    @njit
    def gradient(p, points, labels):
        x, result = points[0], numpy.empty_like(p)
        one, two, back = forward(p, x)
        back[0] = -labels[0] if labels[0] * back[0] < 1.0 else 0.0
        back_one, back_two = numpy.empty_like(one), numpy.empty_like(two)
        layer_back(p[second:], two, back, back_two, result[second:])
        layer_back(p[first:second], one, back_two, back_one, result[first:second])
        layer_back(p[:first], x, back_one, numpy.empty_like(x), result[:first])
        return result

    return value, gradient


def network(sizes: tuple[int, ...], rng: Any) -> numpy.ndarray:
    """Weights from -1 to 1, and no biases."""
    layers = []
    for ins, outs in pairwise(sizes):
        weights = rng.uniform(-1.0, 1.0, (outs, ins))
        layers.append(numpy.column_stack((weights, numpy.zeros(outs))).ravel())
    return numpy.concatenate(layers)


def moons_inputs() -> Arrays:
    """Two interleaved half circles with noise, and labels of -1 and 1."""
    rng = numpy.random.default_rng(0)
    angle = numpy.linspace(0.0, numpy.pi, POINTS // 2)
    across = numpy.concatenate((numpy.cos(angle), 1.0 - numpy.cos(angle)))
    along = numpy.concatenate((numpy.sin(angle), 0.5 - numpy.sin(angle)))
    points = numpy.column_stack((across, along)) + 0.1 * rng.normal(size=(POINTS, 2))
    return network(MOONS, rng), points, numpy.repeat((-1.0, 1.0), POINTS // 2)


def wide_inputs() -> Arrays:
    """One example, with a label that the network gets wrong, so that the gradient is not zero."""
    rng = numpy.random.default_rng(0)
    p, points = network(WIDE, rng), rng.normal(size=(1, WIDE[0]))
    score = score_of(numpy, WIDE)(p, points[0])
    return p, points, numpy.array([-1.0 if score > 0.0 else 1.0])


def _workload(name: str, sizes: tuple[int, ...], count: int, **parts: Any) -> Workload:
    # Forward, and back for the weights and, except in the first layer, for the inputs.
    products = sum(ins * outs for ins, outs in pairwise(sizes))
    flops = count * (6 * products - 2 * sizes[0] * sizes[1])
    versions = {
        "numpy": lambda np: numpy_gradient(np, sizes),
        "jax": lambda jax: in_matrices(jax.numpy, jax.nn.relu, sizes),
        "torch": lambda torch: in_matrices(torch, torch.relu, sizes),
        "pytensor": not_written("a graph of thousands of scalars is not PyTensor's"),
    }
    return Workload(
        name=name,
        dtype="float64",
        target=None,
        argnums=(0,),
        limit=Limit(flops=flops),
        **{**parts, "versions": versions | parts["versions"]},
    )


WORKLOADS = (
    _workload(
        "micrograd_moons",
        MOONS,
        POINTS,
        derivative_of=f"hinge loss of {POINTS} points, 2-16-16-1, weight by weight",
        inputs=moons_inputs,
        primal=moons_primal,
        versions={"numba": numba_moons},
    ),
    _workload(
        "micrograd_wide",
        WIDE,
        1,
        derivative_of="hinge loss of one example, 10-100-100-1, weight by weight",
        inputs=wide_inputs,
        primal=wide_primal,
        versions={"numba": numba_wide},
    ),
)
