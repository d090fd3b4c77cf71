"""A transformer block: twelve weights, products from 128 to 2,048 wide, and the work between them.

There is a layer norm before attention and before the perceptron, whose results are added to their
inputs; see
R. Xiong and others, "On layer normalization in the transformer architecture", 2020, figure 1 (b).
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.attention import numba_softmax
from bench.workloads.vector_math import vector_math_32

LENGTH, MODEL, HEADS = 128, 512, 8
WIDTH, INNER = MODEL // HEADS, 4 * MODEL
EPSILON = 1e-5
ROOT_WIDTH, ROOT_TWO = math.sqrt(WIDTH), math.sqrt(2.0)
DENSITY_SCALE = 1.0 / math.sqrt(2.0 * math.pi)


def primal(np: Any, special: Any) -> Function:
    def layer_norm(x, scale, bias):
        mean = np.mean(x, axis=-1, keepdims=True)
        variance = np.var(x, axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + EPSILON) * scale + bias

    def softmax(x):
        weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return weights / np.sum(weights, axis=-1, keepdims=True)

    def gelu(x):
        return 0.5 * x * (1.0 + special.erf(x / ROOT_TWO))

    def attention(x, w_qkv, b_qkv):
        mixed = np.reshape(x @ w_qkv + b_qkv, (LENGTH, 3, HEADS, WIDTH))
        queries, keys, values = np.transpose(mixed, (1, 2, 0, 3))
        share = softmax(queries @ np.swapaxes(keys, 1, 2) / ROOT_WIDTH)
        return np.reshape(np.transpose(share @ values, (1, 0, 2)), (LENGTH, MODEL))

    def loss(
        x, scale_1, bias_1, w_qkv, b_qkv, w_out, b_out, scale_2, bias_2, w_up, b_up, w_down, b_down
    ):
        x = x + attention(layer_norm(x, scale_1, bias_1), w_qkv, b_qkv) @ w_out + b_out
        x = x + gelu(layer_norm(x, scale_2, bias_2) @ w_up + b_up) @ w_down + b_down
        return np.mean(x**2)

    return loss


def jax_primal(jax: Any) -> Function:
    jnp, standardize = jax.numpy, jax.nn.standardize

    def loss(
        x, scale_1, bias_1, w_qkv, b_qkv, w_out, b_out, scale_2, bias_2, w_up, b_up, w_down, b_down
    ):
        normal = standardize(x, epsilon=EPSILON) * scale_1 + bias_1
        mixed = (normal @ w_qkv + b_qkv).reshape(LENGTH, 3, HEADS, WIDTH)
        queries, keys, values = (mixed[:, i] for i in range(3))
        attended = jax.nn.dot_product_attention(queries, keys, values)
        x = x + attended.reshape(LENGTH, MODEL) @ w_out + b_out
        normal = standardize(x, epsilon=EPSILON) * scale_2 + bias_2
        x = x + jax.nn.gelu(normal @ w_up + b_up, approximate=False) @ w_down + b_down
        return jnp.mean(x**2)

    return loss


def torch_primal(torch: Any) -> Function:
    functional = torch.nn.functional

    def loss(
        x, scale_1, bias_1, w_qkv, b_qkv, w_out, b_out, scale_2, bias_2, w_up, b_up, w_down, b_down
    ):
        normal = functional.layer_norm(x, (MODEL,), scale_1, bias_1, EPSILON)
        mixed = torch.addmm(b_qkv, normal, w_qkv).view(1, LENGTH, 3, HEADS, WIDTH)
        queries, keys, values = mixed.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(queries, keys, values)
        joined = attended.transpose(1, 2).reshape(LENGTH, MODEL)
        x = x + torch.addmm(b_out, joined, w_out)
        normal = functional.layer_norm(x, (MODEL,), scale_2, bias_2, EPSILON)
        hidden = functional.gelu(torch.addmm(b_up, normal, w_up))
        return torch.mean((x + torch.addmm(b_down, hidden, w_down)) ** 2)

    return loss


def numpy_gradient(np: Any) -> Function:
    from scipy.special import ndtr

    def normalise(x):
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + EPSILON)
        return centred / deviation, deviation

    def normalise_back(normal, deviation, scale, back):
        """The cotangents of the layer norm's input, of its scale and of its bias."""
        inner = back * scale
        along = np.mean(inner * normal, axis=1, keepdims=True)
        d_x = (inner - inner.mean(axis=1, keepdims=True) - normal * along) / deviation
        return d_x, np.sum(back * normal, axis=0), back.sum(axis=0)

    def attend(mixed):
        heads = mixed.reshape(LENGTH, 3, HEADS, WIDTH).transpose(1, 2, 0, 3)
        share = np.exp(heads[0] @ heads[1].transpose(0, 2, 1) / ROOT_WIDTH)
        share /= share.sum(axis=-1, keepdims=True)
        return (share @ heads[2]).transpose(1, 0, 2).reshape(LENGTH, MODEL), (heads, share)

    def attend_back(kept, back):
        (queries, keys, values), share = kept
        back = back.reshape(LENGTH, HEADS, WIDTH).transpose(1, 0, 2)
        slopes = back @ values.transpose(0, 2, 1)
        slopes = share * (slopes - np.sum(slopes * share, axis=-1, keepdims=True)) / ROOT_WIDTH
        mixed = np.stack(
            (slopes @ keys, slopes.transpose(0, 2, 1) @ queries, share.transpose(0, 2, 1) @ back)
        )
        return mixed.transpose(2, 0, 1, 3).reshape(LENGTH, 3 * MODEL)

    def gradient(
        x, scale_1, bias_1, w_qkv, b_qkv, w_out, b_out, scale_2, bias_2, w_up, b_up, w_down, b_down
    ):
        first, first_deviation = normalise(x)
        into_attention = first * scale_1 + bias_1
        attended, kept = attend(into_attention @ w_qkv + b_qkv)
        middle = x + attended @ w_out + b_out
        second, second_deviation = normalise(middle)
        into_perceptron = second * scale_2 + bias_2
        hidden = into_perceptron @ w_up + b_up
        cdf = ndtr(hidden)
        active = hidden * cdf
        back = 2.0 / x.size * (middle + active @ w_down + b_down)
        slope = cdf + hidden * np.exp(-0.5 * hidden * hidden) * DENSITY_SCALE
        d_hidden = (back @ w_down.T) * slope
        d_x, d_scale_2, d_bias_2 = normalise_back(
            second, second_deviation, scale_2, d_hidden @ w_up.T
        )
        d_middle = back + d_x
        d_mixed = attend_back(kept, d_middle @ w_out.T)
        d_x, d_scale_1, d_bias_1 = normalise_back(
            first, first_deviation, scale_1, d_mixed @ w_qkv.T
        )
        return (
            d_middle + d_x, d_scale_1, d_bias_1,
            into_attention.T @ d_mixed, d_mixed.sum(axis=0),
            attended.T @ d_middle, d_middle.sum(axis=0),
            d_scale_2, d_bias_2,
            into_perceptron.T @ d_hidden, d_hidden.sum(axis=0),
            active.T @ back, back.sum(axis=0),
        )  # fmt: skip

    return gradient


OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}
ONE, HALF = numpy.float32(1.0), numpy.float32(0.5)
SPREAD, TINY = numpy.float32(1.0 / MODEL), numpy.float32(EPSILON)
SCALE, DENSITY = numpy.float32(1.0 / ROOT_WIDTH), numpy.float32(DENSITY_SCALE)


def numba_layer_norm(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)

    @njit
    def layer_norm(x, scale, bias):
        """The result, the rows before scale and bias, and reciprocals of the rows' deviations."""
        result, normal = numpy.empty_like(x), numpy.empty_like(x)
        inverse = numpy.empty(LENGTH, x.dtype)
        for i in range(LENGTH):
            total, squares = numpy.float32(0.0), numpy.float32(0.0)
            for j in range(MODEL):
                total += x[i, j]
            mean = total * SPREAD
            for j in range(MODEL):
                squares += (x[i, j] - mean) * (x[i, j] - mean)
            inverse[i] = ONE / numpy.sqrt(squares * SPREAD + TINY)
            for j in range(MODEL):
                normal[i, j] = (x[i, j] - mean) * inverse[i]
                result[i, j] = normal[i, j] * scale[j] + bias[j]
        return result, normal, inverse

    @njit
    def layer_norm_back(back, normal, inverse, scale, added):
        """Turn `back` into the input's cotangent and add `added`; return those of the weights."""
        d_scale, d_bias = numpy.zeros_like(scale), numpy.zeros_like(scale)
        for i in range(LENGTH):
            total, along = numpy.float32(0.0), numpy.float32(0.0)
            for j in range(MODEL):
                slope = back[i, j]
                d_scale[j] += slope * normal[i, j]
                d_bias[j] += slope
                back[i, j] = slope * scale[j]
                total += back[i, j]
                along += back[i, j] * normal[i, j]
            total, along = total * SPREAD, along * SPREAD
            for j in range(MODEL):
                inner = back[i, j] - total - normal[i, j] * along
                back[i, j] = added[i, j] + inner * inverse[i]
        return d_scale, d_bias

    return layer_norm, layer_norm_back


def numba_heads(numba: Any) -> tuple[Function, Function]:
    """The conversion of each head's queries, keys and values to separate matrices, and back."""
    njit = numba.njit(**OPTIONS)

    @njit
    def taken_apart(mixed, bias):
        """Split into heads; divide queries, which come first, by the root of their width."""
        parts = numpy.empty((3 * HEADS, LENGTH, WIDTH), mixed.dtype)
        for k in range(3 * HEADS):
            columns = slice(k * WIDTH, (k + 1) * WIDTH)
            parts[k] = (mixed[:, columns] + bias[columns]) * (SCALE if k < HEADS else ONE)
        return parts.reshape(3, HEADS, LENGTH, WIDTH)

    @njit
    def put_together(parts, mixed):
        for k in range(parts.shape[0]):
            mixed[:, k * WIDTH : (k + 1) * WIDTH] = parts[k]

    return taken_apart, put_together


def numba_attention(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)
    softmax, softmax_back = numba_softmax(numba)
    taken_apart, put_together = numba_heads(numba)

    @njit
    def attend(mixed, bias):
        parts = taken_apart(mixed, bias)
        shares = numpy.empty((HEADS, LENGTH, LENGTH), mixed.dtype)
        found = numpy.empty((HEADS, LENGTH, WIDTH), mixed.dtype)
        for head in range(HEADS):
            numpy.dot(parts[0, head], parts[1, head].T, shares[head])
            softmax(shares[head])
            numpy.dot(shares[head], parts[2, head], found[head])
        joined = numpy.empty((LENGTH, MODEL), mixed.dtype)
        put_together(found, joined)
        return joined, parts, shares

    @njit
    def attend_back(joined, parts, shares):
        """Compute the cotangent of the arguments of `attend` from that of the heads' results."""
        back, slopes = numpy.empty((LENGTH, WIDTH), joined.dtype), numpy.empty_like(shares[0])
        found = numpy.empty_like(parts)
        for head in range(HEADS):
            back[:] = joined[:, head * WIDTH : (head + 1) * WIDTH]
            numpy.dot(back, parts[2, head].T, slopes)
            numpy.dot(shares[head].T, back, found[2, head])
            softmax_back(shares[head], slopes)
            numpy.dot(slopes, parts[1, head], found[0, head])
            found[0, head] *= SCALE
            numpy.dot(slopes.T, parts[0, head], found[1, head])
        mixed = numpy.empty((LENGTH, 3 * MODEL), joined.dtype)
        put_together(found.reshape(3 * HEADS, LENGTH, WIDTH), mixed)
        return mixed

    return attend, attend_back


def numba_sweeps(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)
    exp, cdf = vector_math_32(numba)

    @njit
    def gelu(hidden, bias, slope):
        """Add the bias, apply gelu in place and keep its slope."""
        for i in range(LENGTH):
            for j in range(INNER):
                x = hidden[i, j] + bias[j]
                bell = exp(-HALF * x * x)
                below = cdf(x, bell)
                hidden[i, j] = x * below
                slope[i, j] = below + x * bell * DENSITY

    @njit
    def add(product, bias, residual):
        for i in range(LENGTH):
            for j in range(MODEL):
                product[i, j] += bias[j] + residual[i, j]

    return gelu, add


def numba_version(numba: Any) -> tuple[Function, Function]:
    """BLAS and its threads for the products, which dominate; sweeps in one thread between them."""
    njit = numba.njit(**OPTIONS)
    layer_norm, layer_norm_back = numba_layer_norm(numba)
    attend, attend_back = numba_attention(numba)
    gelu, add = numba_sweeps(numba)

    @njit
    def value(
        x, scale_1, bias_1, w_qkv, b_qkv, w_out, b_out, scale_2, bias_2, w_up, b_up, w_down, b_down
    ):
        first, _, _ = layer_norm(x, scale_1, bias_1)
        attended, _, _ = attend(numpy.dot(first, w_qkv), b_qkv)
        middle = numpy.dot(attended, w_out)
        add(middle, b_out, x)
        second, _, _ = layer_norm(middle, scale_2, bias_2)
        hidden = numpy.dot(second, w_up)
        gelu(hidden, b_up, numpy.empty_like(hidden))
        last = numpy.dot(hidden, w_down)
        add(last, b_down, middle)
        flat = last.ravel()
        return numpy.dot(flat, flat) / numpy.float32(x.size)

    @njit
    def gradient(
        x, scale_1, bias_1, w_qkv, b_qkv, w_out, b_out, scale_2, bias_2, w_up, b_up, w_down, b_down
    ):
        first, first_normal, first_inverse = layer_norm(x, scale_1, bias_1)
        attended, parts, shares = attend(numpy.dot(first, w_qkv), b_qkv)
        middle = numpy.dot(attended, w_out)
        add(middle, b_out, x)
        second, second_normal, second_inverse = layer_norm(middle, scale_2, bias_2)
        hidden = numpy.dot(second, w_up)
        slope = numpy.empty_like(hidden)
        gelu(hidden, b_up, slope)
        back = numpy.dot(hidden, w_down)
        add(back, b_down, middle)
        back *= numpy.float32(2.0 / (LENGTH * MODEL))
        d_w_down = numpy.dot(hidden.T, back)
        d_hidden = numpy.dot(back, w_down.T)
        d_hidden *= slope
        d_middle = numpy.dot(d_hidden, w_up.T)
        d_scale_2, d_bias_2 = layer_norm_back(
            d_middle, second_normal, second_inverse, scale_2, back
        )
        d_mixed = attend_back(numpy.dot(d_middle, w_out.T), parts, shares)
        d_x = numpy.dot(d_mixed, w_qkv.T)
        d_scale_1, d_bias_1 = layer_norm_back(d_x, first_normal, first_inverse, scale_1, d_middle)
        return (
            d_x, d_scale_1, d_bias_1,
            numpy.dot(first.T, d_mixed), d_mixed.sum(axis=0),
            numpy.dot(attended.T, d_middle), d_middle.sum(axis=0),
            d_scale_2, d_bias_2,
            numpy.dot(second.T, d_hidden), d_hidden.sum(axis=0),
            d_w_down, back.sum(axis=0),
        )  # fmt: skip

    return value, gradient


LAYERS = ((MODEL, 3 * MODEL), (MODEL, MODEL), (MODEL, INNER), (INNER, MODEL))


def inputs() -> Arrays:
    """The input and the weights in the order of the block, each norm before its layers."""
    rng = numpy.random.default_rng(0)

    def norm():
        return [1.0 + 0.1 * rng.normal(size=MODEL), 0.1 * rng.normal(size=MODEL)]

    def layer(rows, columns):
        return [rng.normal(size=(rows, columns)) / rows**0.5, 0.1 * rng.normal(size=columns)]

    arrays = [rng.normal(size=(LENGTH, MODEL))]
    arrays += norm() + layer(*LAYERS[0]) + layer(*LAYERS[1])
    arrays += norm() + layer(*LAYERS[2]) + layer(*LAYERS[3])
    return tuple(array.astype(numpy.float32) for array in arrays)


def _products() -> tuple[tuple[int, int, int], ...]:
    """Each product forward, and back by both of its operands."""
    square, tall = (LENGTH, WIDTH, LENGTH), (LENGTH, LENGTH, WIDTH)
    heads = (square, tall, square, tall, tall, tall) * HEADS
    forward = tuple((LENGTH, rows, columns) for rows, columns in LAYERS)
    weights = tuple((rows, LENGTH, columns) for rows, columns in LAYERS)
    return forward + heads + weights + tuple((LENGTH, columns, rows) for rows, columns in LAYERS)


PARAMETERS = sum((rows + 1) * columns for rows, columns in LAYERS) + 4 * MODEL

WORKLOADS = (
    Workload(
        name="transformer",
        derivative_of=f"squares of a block, {LENGTH} x {MODEL}, {HEADS} heads, float32",
        dtype="float32",
        target=1.0,
        inputs=inputs,
        argnums=tuple(range(13)),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "torch": torch_primal,
        },
        limit=Limit(bytes_moved=8 * (PARAMETERS + LENGTH * MODEL), gemms=_products()),
    ),
)
