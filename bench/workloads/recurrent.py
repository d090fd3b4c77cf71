"""Recurrent networks: small matrix products in a loop; the weights' gradients can be one product.

The products of a step have 32 rows. By hand, one product before the loop handles the inputs of all
steps, and one after it computes the weights' gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.loops import UNROLLED, scan_of
from bench.workloads.mlp import numba_sweeps
from bench.workloads.vector_math import vector_math

STEPS, BATCH, FEATURES, WIDTH, CLASSES = 200, 32, 64, 64, 10
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


@dataclass(frozen=True)
class Tools:
    """The library functions of the common text; the last computes losses from logits and labels."""

    np: Any
    scan: Function
    sigmoid: Function
    cross_entropy: Function


def rnn_loss(tools: Tools) -> Function:
    np = tools.np

    def loss(w_in, w_back, b, w_out, b_out, xs, labels):
        def cell(hidden, x):
            return np.tanh(x @ w_in + hidden @ w_back + b), None

        start = np.zeros((BATCH, WIDTH), dtype=xs.dtype)
        hidden, _ = tools.scan(cell, start, xs)
        return tools.cross_entropy(hidden @ w_out + b_out, labels)

    return loss


def lstm_loss(tools: Tools) -> Function:
    """The loss of an LSTM; the columns of the weights are the input, forget, cell and output gate,
    as in PyTorch."""
    np, sigmoid = tools.np, tools.sigmoid

    def loss(w_in, w_back, b, w_out, b_out, xs, labels):
        def cell(state, x):
            hidden, memory = state
            gates = x @ w_in + hidden @ w_back + b
            let_in, keep = sigmoid(gates[:, :WIDTH]), sigmoid(gates[:, WIDTH : 2 * WIDTH])
            new, let_out = np.tanh(gates[:, 2 * WIDTH : 3 * WIDTH]), sigmoid(gates[:, 3 * WIDTH :])
            memory = keep * memory + let_in * new
            return (let_out * np.tanh(memory), memory), None

        start = np.zeros((BATCH, WIDTH), dtype=xs.dtype)
        (hidden, _), _ = tools.scan(cell, (start, start), xs)
        return tools.cross_entropy(hidden @ w_out + b_out, labels)

    return loss


def cross_entropy_of(np: Any) -> Function:
    def cross_entropy(logits, labels):
        shifted = logits - np.max(logits, axis=1, keepdims=True)
        log_total = np.log(np.sum(np.exp(shifted), axis=1))
        return np.mean(log_total - shifted[np.arange(labels.shape[0]), labels])

    return cross_entropy


def jax_tools(jax: Any) -> Tools:
    jnp = jax.numpy

    def cross_entropy(logits, labels):
        picked = logits[jnp.arange(labels.shape[0]), labels]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - picked)

    return Tools(jnp, jax.lax.scan, jax.nn.sigmoid, cross_entropy)


def torch_tools(torch: Any) -> Tools:
    """A Python loop over the cell."""
    return Tools(torch, scan_of(torch), torch.sigmoid, torch.nn.functional.cross_entropy)


def autojit_tools(autojit: Any) -> Tools:
    from scipy.special import expit

    return Tools(numpy, autojit.scan, expit, cross_entropy_of(numpy))


def output_gradient(np: Any, hidden: Any, w_out: Any, b_out: Any, labels: Any) -> Any:
    """The cotangents of the last hidden state, of the readout's weights and of its bias."""
    share = np.exp(hidden @ w_out + b_out)
    share /= share.sum(axis=1, keepdims=True)
    share[np.arange(labels.size), labels] -= 1.0
    share /= labels.size
    return share @ w_out.T, hidden.T @ share, share.sum(axis=0)


def numpy_rnn(np: Any) -> Function:
    def gradient(w_in, w_back, b, w_out, b_out, xs, labels):
        hiddens = [np.zeros((BATCH, WIDTH), xs.dtype)]
        for x in xs:
            hiddens.append(np.tanh(x @ w_in + hiddens[-1] @ w_back + b))
        back, d_w_out, d_b_out = output_gradient(np, hiddens[-1], w_out, b_out, labels)
        d_w_in, d_w_back, d_b = np.zeros_like(w_in), np.zeros_like(w_back), np.zeros_like(b)
        for t in range(STEPS - 1, -1, -1):
            back = back * (1.0 - hiddens[t + 1] ** 2)
            d_w_in += xs[t].T @ back
            d_w_back += hiddens[t].T @ back
            d_b += back.sum(axis=0)
            back = back @ w_back.T
        return d_w_in, d_w_back, d_b, d_w_out, d_b_out

    return gradient


def numpy_lstm(np: Any) -> Function:
    from scipy.special import expit

    def cell(gates, memory):
        let_in, keep, new, let_out = np.split(gates, 4, axis=1)
        parts = expit(let_in), expit(keep), np.tanh(new), expit(let_out)
        return parts, parts[1] * memory + parts[0] * parts[2]

    def cell_back(parts, memory, new_memory, back, back_memory):
        let_in, keep, new, let_out = parts
        shown = np.tanh(new_memory)
        back_memory = back_memory + back * let_out * (1.0 - shown**2)
        gates = (
            back_memory * new * let_in * (1.0 - let_in),
            back_memory * memory * keep * (1.0 - keep),
            back_memory * let_in * (1.0 - new**2),
            back * shown * let_out * (1.0 - let_out),
        )
        return np.concatenate(gates, axis=1), back_memory * keep

    def gradient(w_in, w_back, b, w_out, b_out, xs, labels):
        hiddens = [np.zeros((BATCH, WIDTH), xs.dtype)]
        memories, all_parts = [hiddens[0]], []
        for x in xs:
            parts, memory = cell(x @ w_in + hiddens[-1] @ w_back + b, memories[-1])
            all_parts.append(parts)
            memories.append(memory)
            hiddens.append(parts[3] * np.tanh(memory))
        back, d_w_out, d_b_out = output_gradient(np, hiddens[-1], w_out, b_out, labels)
        back_memory = np.zeros_like(back)
        d_w_in, d_w_back, d_b = np.zeros_like(w_in), np.zeros_like(w_back), np.zeros_like(b)
        for t in range(STEPS - 1, -1, -1):
            gates, back_memory = cell_back(
                all_parts[t], memories[t], memories[t + 1], back, back_memory
            )
            d_w_in += xs[t].T @ gates
            d_w_back += hiddens[t].T @ gates
            d_b += gates.sum(axis=0)
            back = gates @ w_back.T
        return d_w_in, d_w_back, d_b, d_w_out, d_b_out

    return gradient


def numba_functions(numba: Any) -> tuple[Function, Function]:
    """Vectorisable tanh and sigmoid, with an error relative to one, not to small results."""
    exp, _, _ = vector_math(numba)

    @numba.njit(**OPTIONS)
    def tanh(x):
        return 1.0 - 2.0 / (exp(2.0 * min(max(x, -20.0), 20.0)) + 1.0)

    @numba.njit(**OPTIONS)
    def sigmoid(x):
        return 1.0 / (exp(-min(max(x, -40.0), 40.0)) + 1.0)

    return tanh, sigmoid


def numba_readout(numba: Any) -> tuple[Function, Function]:
    _, _, softmax_row = numba_sweeps(numba)

    @numba.njit(**OPTIONS)
    def readout(hidden, w_out, b_out, labels):
        logits = numpy.dot(hidden, w_out)
        loss = 0 * b_out[0]
        for i in range(labels.size):
            picked = logits[i, labels[i]] + b_out[labels[i]]
            loss += softmax_row(logits[i], b_out) - picked
        return loss / labels.size

    @numba.njit(**OPTIONS)
    def readout_back(hidden, w_out, b_out, labels):
        share = numpy.dot(hidden, w_out)
        for i in range(labels.size):
            softmax_row(share[i], b_out)
            share[i, labels[i]] -= 1
        share /= b_out.dtype.type(labels.size)
        return numpy.dot(share, w_out.T), numpy.dot(hidden.T, share), share.sum(axis=0)

    return readout, readout_back


def numba_weights(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def weights_back(xs, hiddens, back):
        """The weights' gradients from the cotangents of all steps: two products and a sum."""
        columns = back.shape[2]
        flat = back.reshape(STEPS * BATCH, columns)
        inputs = xs.reshape(STEPS * BATCH, FEATURES)
        states = hiddens[:STEPS].reshape(STEPS * BATCH, WIDTH)
        return numpy.dot(inputs.T, flat), numpy.dot(states.T, flat), flat.sum(axis=0)

    return weights_back


def numba_rnn(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)
    tanh, _ = numba_functions(numba)
    readout, readout_back = numba_readout(numba)
    weights_back = numba_weights(numba)

    @njit
    def forward(w_in, w_back, b, xs):
        hiddens = numpy.zeros((STEPS + 1, BATCH, WIDTH), xs.dtype)
        flat = numpy.dot(xs.reshape(STEPS * BATCH, FEATURES), w_in)
        driven = flat.reshape(STEPS, BATCH, WIDTH)
        for t in range(STEPS):
            hidden = hiddens[t + 1]
            numpy.dot(hiddens[t], w_back, hidden)
            for i in range(BATCH):
                for j in range(WIDTH):
                    hidden[i, j] = tanh(hidden[i, j] + driven[t, i, j] + b[j])
        return hiddens

    @njit
    def value(w_in, w_back, b, w_out, b_out, xs, labels):
        return readout(forward(w_in, w_back, b, xs)[STEPS], w_out, b_out, labels)

    @njit
    def gradient(w_in, w_back, b, w_out, b_out, xs, labels):
        hiddens = forward(w_in, w_back, b, xs)
        back, d_w_out, d_b_out = readout_back(hiddens[STEPS], w_out, b_out, labels)
        backs = numpy.empty((STEPS, BATCH, WIDTH), xs.dtype)
        for t in range(STEPS - 1, -1, -1):
            for i in range(BATCH):
                for j in range(WIDTH):
                    hidden = hiddens[t + 1, i, j]
                    backs[t, i, j] = back[i, j] * (1 - hidden * hidden)
            numpy.dot(backs[t], w_back.T, back)
        return *weights_back(xs, hiddens, backs), d_w_out, d_b_out

    return value, gradient


def numba_lstm_cell(numba: Any) -> tuple[Function, Function]:
    """The work between the products of a step: `gates` become their activations in place."""
    njit = numba.njit(**OPTIONS)
    tanh, sigmoid = numba_functions(numba)

    @njit
    def cell(product, b, memory, gates, new_memory, shown, hidden):
        for i in range(BATCH):
            row, added = gates[i], product[i]
            for j in range(WIDTH):
                row[j] = sigmoid(row[j] + added[j] + b[j])
                k = j + WIDTH
                row[k] = sigmoid(row[k] + added[k] + b[k])
                k = j + 2 * WIDTH
                row[k] = tanh(row[k] + added[k] + b[k])
                k = j + 3 * WIDTH
                row[k] = sigmoid(row[k] + added[k] + b[k])
                kept = row[j + WIDTH] * memory[i, j] + row[j] * row[j + 2 * WIDTH]
                new_memory[i, j] = kept
                shown[i, j] = tanh(kept)
                hidden[i, j] = row[j + 3 * WIDTH] * shown[i, j]

    @njit
    def cell_back(gates, memory, shown, back, back_memory):
        """Turn the activations into the cotangents of the gates."""
        for i in range(BATCH):
            row = gates[i]
            for j in range(WIDTH):
                let_in, keep = row[j], row[j + WIDTH]
                new, let_out = row[j + 2 * WIDTH], row[j + 3 * WIDTH]
                out = back[i, j]
                inner = back_memory[i, j] + out * let_out * (1 - shown[i, j] * shown[i, j])
                row[j] = inner * new * let_in * (1 - let_in)
                row[j + WIDTH] = inner * memory[i, j] * keep * (1 - keep)
                row[j + 2 * WIDTH] = inner * let_in * (1 - new * new)
                row[j + 3 * WIDTH] = out * shown[i, j] * let_out * (1 - let_out)
                back_memory[i, j] = inner * keep

    return cell, cell_back


def numba_lstm(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)
    cell, cell_back = numba_lstm_cell(numba)
    readout, readout_back = numba_readout(numba)
    weights_back = numba_weights(numba)

    @njit
    def forward(w_in, w_back, b, xs):
        hiddens = numpy.zeros((STEPS + 1, BATCH, WIDTH), xs.dtype)
        memories, shown = numpy.zeros_like(hiddens), numpy.empty_like(hiddens)
        flat = numpy.dot(xs.reshape(STEPS * BATCH, FEATURES), w_in)
        gates = flat.reshape(STEPS, BATCH, 4 * WIDTH)
        product = numpy.empty((BATCH, 4 * WIDTH), xs.dtype)
        for t in range(STEPS):
            numpy.dot(hiddens[t], w_back, product)
            cell(product, b, memories[t], gates[t], memories[t + 1], shown[t], hiddens[t + 1])
        return hiddens, memories, shown, gates

    @njit
    def value(w_in, w_back, b, w_out, b_out, xs, labels):
        return readout(forward(w_in, w_back, b, xs)[0][STEPS], w_out, b_out, labels)

    @njit
    def gradient(w_in, w_back, b, w_out, b_out, xs, labels):
        hiddens, memories, shown, gates = forward(w_in, w_back, b, xs)
        back, d_w_out, d_b_out = readout_back(hiddens[STEPS], w_out, b_out, labels)
        back_memory = numpy.zeros_like(back)
        for t in range(STEPS - 1, -1, -1):
            cell_back(gates[t], memories[t], shown[t], back, back_memory)
            numpy.dot(gates[t], w_back.T, back)
        return *weights_back(xs, hiddens, gates), d_w_out, d_b_out

    return value, gradient


def _workload(kind: str, dtype: str) -> Workload:
    loss, gates, by_numpy, by_numba = {
        "rnn": (rnn_loss, 1, numpy_rnn, numba_rnn),
        "lstm": (lstm_loss, 4, numpy_lstm, numba_lstm),
    }[kind]
    columns, rows = gates * WIDTH, STEPS * BATCH

    def primal(np: Any, special: Any) -> Function:
        return loss(Tools(np, scan_of(np), special.expit, cross_entropy_of(np)))

    def inputs() -> Arrays:
        rng = numpy.random.default_rng(0)
        arrays = (
            rng.normal(size=(FEATURES, columns)) / FEATURES**0.5,
            0.8 * rng.normal(size=(WIDTH, columns)) / WIDTH**0.5,
            0.1 * rng.normal(size=columns),
            rng.normal(size=(WIDTH, CLASSES)) / WIDTH**0.5,
            0.1 * rng.normal(size=CLASSES),
            rng.normal(size=(STEPS, BATCH, FEATURES)),
        )
        return *(array.astype(dtype) for array in arrays), rng.integers(0, CLASSES, BATCH)

    # The inputs of all steps, a step forward and one back, and two gradients of weights.
    products = (
        (rows, FEATURES, columns),
        *((BATCH, WIDTH, columns) for _ in range(STEPS)),
        *((BATCH, columns, WIDTH) for _ in range(STEPS)),
        (FEATURES, rows, columns),
        (WIDTH, rows, columns),
    )
    return Workload(
        name=f"{kind}_{'f32' if dtype == 'float32' else 'f64'}",
        derivative_of=f"cross-entropy after {STEPS} steps of {kind}, batch {BATCH}, width {WIDTH}",
        dtype=dtype,
        target=1.5,
        inputs=inputs,
        argnums=(0, 1, 2, 3, 4),
        primal=primal,
        versions={
            "numba": by_numba,
            "numpy": by_numpy,
            "jax": lambda jax: loss(jax_tools(jax)),
            "autojit": lambda autojit: loss(autojit_tools(autojit)),
            "torch": lambda torch: loss(torch_tools(torch)),
            "torch_compile": UNROLLED,
        },
        limit=Limit(gemms=products),
    )


WORKLOADS = (
    _workload("rnn", "float32"),
    _workload("rnn", "float64"),
    _workload("lstm", "float32"),
    _workload("lstm", "float64"),
)
