"""A small classifier: matrix products at BLAS speed, and the overhead between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload

BATCH = 64
WIDTHS = (784, 256, 128, 10)


def primal(np: Any, special: Any) -> Function:
    def cross_entropy(w1, b1, w2, b2, w3, b3, images, labels):
        hidden = np.maximum(images @ w1 + b1, 0.0)
        hidden = np.maximum(hidden @ w2 + b2, 0.0)
        logits = hidden @ w3 + b3
        shifted = logits - np.max(logits, axis=1, keepdims=True)
        log_total = np.log(np.sum(np.exp(shifted), axis=1))
        return np.mean(log_total - shifted[np.arange(labels.shape[0]), labels])

    return cross_entropy


def jax_primal(jax: Any) -> Function:
    """JAX's own `relu` and `logsumexp`: their derivatives are cheaper than the written-out ones."""
    jnp = jax.numpy

    def cross_entropy(w1, b1, w2, b2, w3, b3, images, labels):
        hidden = jax.nn.relu(images @ w1 + b1)
        hidden = jax.nn.relu(hidden @ w2 + b2)
        logits = hidden @ w3 + b3
        picked = logits[jnp.arange(labels.shape[0]), labels]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - picked)

    return cross_entropy


def torch_primal(torch: Any) -> Function:
    def cross_entropy(w1, b1, w2, b2, w3, b3, images, labels):
        hidden = torch.relu(torch.addmm(b1, images, w1))
        hidden = torch.relu(torch.addmm(b2, hidden, w2))
        logits = torch.addmm(b3, hidden, w3)
        return torch.nn.functional.cross_entropy(logits, labels)

    return cross_entropy


def pytensor_primal(pt: Any) -> Function:
    def cross_entropy(w1, b1, w2, b2, w3, b3, images, labels):
        hidden = pt.maximum(images @ w1 + b1, 0.0)
        hidden = pt.maximum(hidden @ w2 + b2, 0.0)
        logits = hidden @ w3 + b3
        picked = logits[pt.arange(labels.shape[0]), labels]
        return pt.mean(pt.logsumexp(logits, axis=1) - picked)

    return cross_entropy


def numpy_gradient(np: Any) -> Function:
    def gradient(w1, b1, w2, b2, w3, b3, images, labels):
        first = np.maximum(images @ w1 + b1, 0.0)
        second = np.maximum(first @ w2 + b2, 0.0)
        logits = second @ w3 + b3
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        share[np.arange(labels.size), labels] -= 1.0
        share /= labels.size
        back_second = (share @ w3.T) * (second > 0.0)
        back_first = (back_second @ w2.T) * (first > 0.0)
        return (
            images.T @ back_first,
            back_first.sum(axis=0),
            first.T @ back_second,
            back_second.sum(axis=0),
            second.T @ share,
            share.sum(axis=0),
        )

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def numba_sweeps(numba: Any) -> tuple[Function, Function, Function]:
    """The work between the products: one sweep each, in place.

    A sweep has at most 20,000 elements, too few to wake a second thread.
    """
    njit = numba.njit(**OPTIONS)

    @njit
    def bias_relu(product, bias):
        for i in range(product.shape[0]):
            for j in range(product.shape[1]):
                product[i, j] = max(product[i, j] + bias[j], 0)

    @njit
    def mask_and_sum(back, activation):
        sums = numpy.zeros(back.shape[1], back.dtype)
        for i in range(back.shape[0]):
            for j in range(back.shape[1]):
                back[i, j] = back[i, j] if activation[i, j] > 0 else 0
                sums[j] += back[i, j]
        return sums

    @njit
    def softmax_row(row, bias):
        """Turn logits into probabilities; return their logsumexp."""
        row += bias
        largest = row.max()
        total = 0 * largest
        for j in range(row.size):
            total += numpy.exp(row[j] - largest)
        log_total = largest + numpy.log(total)
        for j in range(row.size):
            row[j] = numpy.exp(row[j] - log_total)
        return log_total

    return bias_relu, mask_and_sum, softmax_row


def numba_forward(numba: Any, bias_relu: Function) -> Function:
    @numba.njit(**OPTIONS)
    def forward(w1, b1, w2, b2, w3, images):
        first = numpy.dot(images, w1)
        bias_relu(first, b1)
        second = numpy.dot(first, w2)
        bias_relu(second, b2)
        return first, second, numpy.dot(second, w3)

    return forward


def numba_version(numba: Any) -> tuple[Function, Function]:
    """BLAS for the products and fused sweeps for the rest."""
    njit = numba.njit(**OPTIONS)
    bias_relu, mask_and_sum, softmax_row = numba_sweeps(numba)
    forward = numba_forward(numba, bias_relu)

    @njit
    def value(w1, b1, w2, b2, w3, b3, images, labels):
        logits = forward(w1, b1, w2, b2, w3, images)[2]
        loss = 0 * b3[0]
        for i in range(labels.size):
            picked = logits[i, labels[i]] + b3[labels[i]]
            loss += softmax_row(logits[i], b3) - picked
        return loss / labels.size

    @njit
    def gradient(w1, b1, w2, b2, w3, b3, images, labels):
        first, second, share = forward(w1, b1, w2, b2, w3, images)
        for i in range(labels.size):
            softmax_row(share[i], b3)
            share[i, labels[i]] -= 1
        share /= b3.dtype.type(labels.size)
        back_second = numpy.dot(share, w3.T)
        d_b2 = mask_and_sum(back_second, second)
        back_first = numpy.dot(back_second, w2.T)
        d_b1 = mask_and_sum(back_first, first)
        d_w1 = numpy.dot(images.T, back_first)
        d_w2 = numpy.dot(first.T, back_second)
        return d_w1, d_b1, d_w2, d_b2, numpy.dot(second.T, share), share.sum(axis=0)

    return value, gradient


def _products() -> tuple[tuple[int, int, int], ...]:
    """Forward and weight gradient of every layer, and the input gradient of all but the first."""
    layers = tuple(pairwise(WIDTHS))
    forward = tuple((BATCH, rows, columns) for rows, columns in layers)
    weights = tuple((rows, BATCH, columns) for rows, columns in layers)
    return forward + weights + tuple((BATCH, columns, rows) for rows, columns in layers[1:])


def _workload(name: str, dtype: str) -> Workload:
    def inputs() -> Arrays:
        rng = numpy.random.default_rng(0)
        parameters = []
        for rows, columns in pairwise(WIDTHS):
            parameters.append(rng.normal(size=(rows, columns)) * numpy.sqrt(2.0 / rows))
            parameters.append(0.1 * rng.normal(size=columns))
        images = rng.uniform(size=(BATCH, WIDTHS[0]))
        labels = rng.integers(0, WIDTHS[-1], BATCH)
        return (*(array.astype(dtype) for array in (*parameters, images)), labels)

    return Workload(
        name=name,
        derivative_of=f"cross-entropy of an MLP 784-256-128-10, batch {BATCH}, {dtype}",
        dtype=dtype,
        target=1.2,
        inputs=inputs,
        argnums=(0, 1, 2, 3, 4, 5),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        limit=Limit(gemms=_products()),
    )


WORKLOADS = (_workload("mlp_f32", "float32"), _workload("mlp_f64", "float64"))
