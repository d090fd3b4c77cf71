"""One gradient for each example: the small classifier's 64 gradients fill 120 MB.

For a sum over a batch, one matrix product suffices; here there is an outer product for each
example, and most of the time goes into writing the results.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy

from bench.workload import Function, Limit, Workload
from bench.workloads import mlp

BATCH, WIDTHS = mlp.BATCH, mlp.WIDTHS
BY_BATCH = mlp.WORKLOADS[1]  # the same network, inputs and dtype
PARAMETERS = sum((rows + 1) * columns for rows, columns in pairwise(WIDTHS))


def primal(np: Any, special: Any) -> Function:
    def cross_entropy(w1, b1, w2, b2, w3, b3, image, label):
        hidden = np.maximum(image @ w1 + b1, 0.0)
        hidden = np.maximum(hidden @ w2 + b2, 0.0)
        logits = hidden @ w3 + b3
        shifted = logits - np.max(logits)
        return np.log(np.sum(np.exp(shifted))) - shifted[label]

    return cross_entropy


def jax_primal(jax: Any) -> Function:
    def cross_entropy(w1, b1, w2, b2, w3, b3, image, label):
        hidden = jax.nn.relu(image @ w1 + b1)
        hidden = jax.nn.relu(hidden @ w2 + b2)
        logits = hidden @ w3 + b3
        return jax.nn.logsumexp(logits) - logits[label]

    return cross_entropy


def torch_primal(torch: Any) -> Function:
    def cross_entropy(w1, b1, w2, b2, w3, b3, image, label):
        hidden = torch.relu(image @ w1 + b1)
        hidden = torch.relu(hidden @ w2 + b2)
        return torch.nn.functional.cross_entropy(hidden @ w3 + b3, label)

    return cross_entropy


def numpy_gradients(np: Any) -> Function:
    def gradients(w1, b1, w2, b2, w3, b3, images, labels):
        first = np.maximum(images @ w1 + b1, 0.0)
        second = np.maximum(first @ w2 + b2, 0.0)
        logits = second @ w3 + b3
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        share[np.arange(labels.size), labels] -= 1.0
        back_second = (share @ w3.T) * (second > 0.0)
        back_first = (back_second @ w2.T) * (first > 0.0)
        outer = "bi,bj->bij"
        return (
            np.einsum(outer, images, back_first),
            back_first,
            np.einsum(outer, first, back_second),
            back_second,
            np.einsum(outer, second, share),
            share,
        )

    return gradients


def numba_version(numba: Any) -> tuple[Function, Function]:
    """Products by BLAS, and outer products, of which each thread writes those of its examples."""
    njit = numba.njit(**mlp.OPTIONS)
    bias_relu, mask_and_sum, softmax_row = mlp.numba_sweeps(numba)
    forward = mlp.numba_forward(numba, bias_relu)

    @njit
    def values(w1, b1, w2, b2, w3, b3, images, labels):
        logits = forward(w1, b1, w2, b2, w3, images)[2]
        losses = numpy.empty(labels.size)
        for i in range(labels.size):
            picked = logits[i, labels[i]] + b3[labels[i]]
            losses[i] = softmax_row(logits[i], b3) - picked
        return losses

    @njit
    def outer(left, right, result):
        for i in range(left.size):
            for j in range(right.size):
                result[i, j] = left[i] * right[j]

    @numba.njit(parallel=True, **mlp.OPTIONS)
    def fill(w1, b1, w2, b2, w3, b3, images, labels, d_w1, d_b1, d_w2, d_b2, d_w3, d_b3):
        first, second, share = forward(w1, b1, w2, b2, w3, images)
        for i in range(labels.size):
            softmax_row(share[i], b3)
            share[i, labels[i]] -= 1
        back_second = numpy.dot(share, w3.T)
        mask_and_sum(back_second, second)
        back_first = numpy.dot(back_second, w2.T)
        mask_and_sum(back_first, first)
        d_b1[:], d_b2[:], d_b3[:] = back_first, back_second, share
        for i in numba.prange(labels.size):
            outer(images[i], back_first[i], d_w1[i])
            outer(first[i], back_second[i], d_w2[i])
            outer(second[i], share[i], d_w3[i])

    def gradients(*inputs):
        # NumPy asks for huge pages for its arrays, Numba's own `empty` does not.
        results = tuple(numpy.empty((BATCH, *array.shape)) for array in inputs[:6])
        fill(*inputs, *results)
        return results

    return values, gradients


def _products() -> tuple[tuple[int, int, int], ...]:
    """The products forward of every layer, and for the input gradients of all but the first."""
    layers = tuple(pairwise(WIDTHS))
    forward = tuple((BATCH, rows, columns) for rows, columns in layers)
    return forward + tuple((BATCH, columns, rows) for rows, columns in layers[1:])


WORKLOADS = (
    Workload(
        name="per_example_mlp",
        derivative_of=f"cross-entropy of each of {BATCH} examples, MLP 784-256-128-10",
        derivative="per_example",
        dtype="float64",
        target=1.5,
        inputs=BY_BATCH.inputs,
        argnums=BY_BATCH.argnums,
        mapped=(6, 7),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradients,
            "jax": jax_primal,
            "torch": torch_primal,
        },
        limit=Limit(bytes_moved=8 * PARAMETERS * (BATCH + 1), gemms=_products()),
    ),
)
