"""Attention alone: scores of 1,024 by 1,024 for each head, not all of which need memory at once."""

from __future__ import annotations

from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.vector_math import largest_of_row, vector_math_32

HEADS, LENGTH, WIDTH = 8, 1024, 64
BLOCK = 256  # queries whose scores and their cotangents stay in the cache: 2 MB
ROOT_WIDTH = WIDTH**0.5


def primal(np: Any, special: Any) -> Function:
    """Make the function of queries, keys and values (HEADS, LENGTH, WIDTH)."""

    def softmax(x):
        weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return weights / np.sum(weights, axis=-1, keepdims=True)

    def loss(queries, keys, values):
        scores = queries @ np.swapaxes(keys, 1, 2) / ROOT_WIDTH
        return np.sum((softmax(scores) @ values) ** 2)

    return loss


def jax_primal(jax: Any) -> Function:
    """This is not `jax.nn.dot_product_attention`, which needs the heads after the positions."""
    jnp = jax.numpy

    def loss(queries, keys, values):
        scores = queries @ jnp.swapaxes(keys, 1, 2) / ROOT_WIDTH
        return jnp.sum((jax.nn.softmax(scores, axis=-1) @ values) ** 2)

    return loss


def torch_primal(torch: Any) -> Function:
    attention = torch.nn.functional.scaled_dot_product_attention

    def loss(queries, keys, values):
        batch = attention(queries[None], keys[None], values[None])
        return torch.sum(batch**2)

    return loss


def pytensor_primal(pt: Any) -> Function:
    def loss(queries, keys, values):
        scores = queries @ keys.transpose((0, 2, 1)) / ROOT_WIDTH
        return pt.sum((pt.special.softmax(scores, axis=-1) @ values) ** 2)

    return loss


def numpy_gradient(np: Any) -> Function:
    def gradient(queries, keys, values):
        share = np.exp(queries @ keys.transpose(0, 2, 1) / ROOT_WIDTH)
        share /= share.sum(axis=-1, keepdims=True)
        back = 2.0 * (share @ values)
        slopes = back @ values.transpose(0, 2, 1)
        slopes = share * (slopes - np.sum(slopes * share, axis=-1, keepdims=True)) / ROOT_WIDTH
        return (
            slopes @ keys,
            slopes.transpose(0, 2, 1) @ queries,
            share.transpose(0, 2, 1) @ back,
        )

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


def numba_softmax(numba: Any) -> tuple[Function, Function]:
    """The work between the products: softmax of the rows and its transpose, in place."""
    exp, _ = vector_math_32(numba)
    largest_of = largest_of_row(numba)
    one = numpy.float32(1.0)

    @numba.njit(**OPTIONS)
    def softmax(scores):
        for row in scores:
            largest = largest_of(row)
            total = numpy.float32(0.0)
            for j in range(row.size):
                row[j] = exp(row[j] - largest)
                total += row[j]
            inverse = one / total
            for j in range(row.size):
                row[j] *= inverse

    @numba.njit(**OPTIONS)
    def softmax_back(share, back):
        for i in range(share.shape[0]):
            inner = numpy.float32(0.0)
            for j in range(share.shape[1]):
                inner += share[i, j] * back[i, j]
            for j in range(share.shape[1]):
                back[i, j] = share[i, j] * (back[i, j] - inner)

    return softmax, softmax_back


def numba_value(numba: Any, forward: Function) -> Function:
    @numba.njit(**OPTIONS)
    def value(queries, keys, values):
        share = numpy.empty((BLOCK, LENGTH), queries.dtype)
        out = numpy.empty((BLOCK, WIDTH), queries.dtype)
        loss = 0.0
        for head in range(HEADS):
            for first in range(0, LENGTH, BLOCK):
                block = queries[head, first : first + BLOCK]
                forward(block, keys[head], values[head], share, out)
                flat = out.ravel()
                loss += numpy.dot(flat, flat)
        return numpy.float32(loss)

    return value


def numba_version(numba: Any) -> tuple[Function, Function]:
    """One block of queries at a time, forward and back: no score is computed or stored twice.

    The products use BLAS's threads; Numba's threads, which keep spinning, would disturb them.
    """
    softmax, softmax_back = numba_softmax(numba)
    scale, two = numpy.float32(1.0 / ROOT_WIDTH), numpy.float32(2.0)

    @numba.njit(**OPTIONS)
    def forward(queries, keys, values, share, out):
        numpy.dot(queries * scale, keys.T, share)
        softmax(share)
        numpy.dot(share, values, out)

    @numba.njit(**OPTIONS)
    def fill(queries, keys, values, d_queries, d_keys, d_values):
        share = numpy.empty((BLOCK, LENGTH), queries.dtype)
        slopes, out = numpy.empty_like(share), numpy.empty((BLOCK, WIDTH), queries.dtype)
        added = numpy.empty((LENGTH, WIDTH), queries.dtype)
        for head in range(HEADS):
            for first in range(0, LENGTH, BLOCK):
                block = queries[head, first : first + BLOCK]
                forward(block, keys[head], values[head], share, out)
                out *= two
                d_values[head] += numpy.dot(share.T, out, added)
                numpy.dot(out, values[head].T, slopes)
                softmax_back(share, slopes)
                numpy.dot(slopes, keys[head] * scale, d_queries[head, first : first + BLOCK])
                d_keys[head] += numpy.dot(slopes.T, block * scale, added)

    def gradient(*inputs):
        results = tuple(numpy.zeros_like(array) for array in inputs)
        fill(*inputs, *results)
        return results

    return numba_value(numba, forward), gradient


def inputs() -> Arrays:
    rng = numpy.random.default_rng(0)
    shape = (HEADS, LENGTH, WIDTH)
    return tuple(rng.normal(size=shape).astype(numpy.float32) for _ in range(3))


# Two products per head forward, four back; nothing is recomputed.
_SQUARE = (LENGTH, WIDTH, LENGTH)
_TALL = (LENGTH, LENGTH, WIDTH)

WORKLOADS = (
    Workload(
        name="attention",
        derivative_of=f"squares of attention, {HEADS} heads, {LENGTH:,} x {WIDTH}, float32",
        dtype="float32",
        target=None,
        inputs=inputs,
        argnums=(0, 1, 2),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "torch": torch_primal,
            "pytensor": pytensor_primal,
        },
        limit=Limit(
            bytes_moved=24 * HEADS * LENGTH * WIDTH,
            # An exponential of about 20 flops for each score, and 7 more forward and back.
            flops=27 * HEADS * LENGTH * LENGTH,
            gemms=(_SQUARE, _TALL, _SQUARE, _TALL, _TALL, _TALL) * HEADS,
        ),
    ),
)
