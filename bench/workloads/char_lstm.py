"""A recurrent network without a matrix: ADBench's LSTM, a chain of narrow elementwise steps.

F. Srajer, Z. Kukelova and A. Fitzgibbon, "A Benchmark of Selected Algorithmic Differentiation
Tools on Some Problems in Computer Vision and Machine Learning", 2018, as its programs have it:
each gate has a weight and a bias for each of a character's 14 bits, two gates see the layer's
input and two its hidden state, and the softmax's sum begins at 2. Unlike there, the losses of all
steps are taken together, after the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload
from bench.workloads.loops import UNROLLED, scan_of
from bench.workloads.recurrent import numba_functions
from bench.workloads.vector_math import vector_math

LAYERS, CHARACTERS, BITS = 2, 1024, 14
STEPS = CHARACTERS - 1
# By hand: a row of bits is whole vectors. A layer's record of a step holds its hidden state, cell,
# gates (forget, input, output, change) and the cell's tanh; its sums hold the gradients of its
# weights and biases and the cotangents of the hidden state, the cell and the layer's output.
LANES = 16
CELL, FORGET, LET_IN, LET_OUT, CHANGE, SHOWN, RECORD = (LANES * row for row in range(1, 8))
BIASES, BACK_HIDDEN, BACK_CELL, BACK, SUMS = (LANES * row for row in (4, 8, 9, 10, 11))
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}


@dataclass(frozen=True)
class Tools:
    """The library functions of the common text."""

    np: Any
    scan: Function
    sigmoid: Function


def objective(tools: Tools) -> Function:
    """The axes of `main`: layer, weight or bias, gate (forget, input, output, change), bit.

    `extra` are the input's weights, the output's weights and its biases; `state` is layer, hidden
    or cell, bit.
    """
    np, sigmoid = tools.np, tools.sigmoid

    def loss(main, extra, state, characters):
        in_weight, out_weight, out_bias = extra[0], extra[1], extra[2]

        def layer(weight, bias, x, hidden, cell):
            forget = sigmoid(x * weight[0] + bias[0])
            let_in = sigmoid(hidden * weight[1] + bias[1])
            let_out = sigmoid(x * weight[2] + bias[2])
            change = np.tanh(hidden * weight[3] + bias[3])
            cell = cell * forget + let_in * change
            return let_out * np.tanh(cell), cell

        def step(state, x):
            x, new_state = x * in_weight, []
            for i in range(LAYERS):
                x, cell = layer(main[i, 0], main[i, 1], x, *state[i])
                new_state.append((x, cell))
            return tuple(new_state), x

        start = tuple((state[i, 0], state[i, 1]) for i in range(LAYERS))
        _, hiddens = tools.scan(step, start, characters[:-1])
        outputs = hiddens * out_weight + out_bias
        log_total = np.log(np.sum(np.exp(outputs), axis=1) + 2.0)
        return -np.mean(characters[1:] * (outputs - log_total[:, None]))

    return loss


def primal(np: Any, special: Any) -> Function:
    return objective(Tools(np, scan_of(np), special.expit))


def autojit_primal(autojit: Any) -> Function:
    from scipy.special import expit

    return objective(Tools(numpy, autojit.scan, expit))


def jax_primal(jax: Any) -> Function:
    return objective(Tools(jax.numpy, jax.lax.scan, jax.nn.sigmoid))


def torch_primal(torch: Any) -> Function:
    return objective(Tools(torch, scan_of(torch), torch.sigmoid))


def numpy_gradient(np: Any) -> Function:
    from scipy.special import expit

    def layer(params, x, hidden, cell):
        """The new hidden state and cell, and the values that the reverse pass needs."""
        weight, bias = params
        forget, let_out = expit(x * weight[0] + bias[0]), expit(x * weight[2] + bias[2])
        let_in, change = expit(hidden * weight[1] + bias[1]), np.tanh(hidden * weight[3] + bias[3])
        new_cell = cell * forget + let_in * change
        shown = np.tanh(new_cell)
        kept = x, hidden, cell, forget, let_in, let_out, change, shown
        return let_out * shown, new_cell, kept

    def layer_back(weight, kept, back, back_cell, d_params):
        """The cotangents of the input, the hidden state and the cell; those of the parameters are
        added to `d_params`."""
        x, hidden, cell, forget, let_in, let_out, change, shown = kept
        inner = back_cell + back * let_out * (1.0 - shown**2)
        gates = np.stack(
            (
                inner * cell * forget * (1.0 - forget),
                inner * change * let_in * (1.0 - let_in),
                back * shown * let_out * (1.0 - let_out),
                inner * let_in * (1.0 - change**2),
            )
        )
        d_params[0] += gates * np.stack((x, hidden, x, hidden))
        d_params[1] += gates
        along = gates * weight
        return along[0] + along[2], along[1] + along[3], inner * forget

    def gradient(main, extra, state, characters):
        hidden, cell = list(state[:, 0]), list(state[:, 1])
        lasts, tape = np.empty((STEPS, BITS)), []
        for t in range(STEPS):
            x, kept = characters[t] * extra[0], []
            for i in range(LAYERS):
                x, cell[i], needed = layer(main[i], x, hidden[i], cell[i])
                hidden[i] = x
                kept.append(needed)
            lasts[t] = x
            tape.append(kept)
        share = np.exp(lasts * extra[1] + extra[2])
        share /= share.sum(axis=1, keepdims=True) + 2.0
        gold = characters[1:]
        back_outputs = (gold.sum(axis=1, keepdims=True) * share - gold) / gold.size
        d_main, d_extra = np.zeros_like(main), np.zeros_like(extra)
        d_extra[1], d_extra[2] = (back_outputs * lasts).sum(axis=0), back_outputs.sum(axis=0)
        back_hidden, back_cell = np.zeros((LAYERS, BITS)), np.zeros((LAYERS, BITS))
        for t in range(STEPS - 1, -1, -1):
            back = back_outputs[t] * extra[1]
            for i in range(LAYERS - 1, -1, -1):
                back, back_hidden[i], back_cell[i] = layer_back(
                    main[i, 0], tape[t][i], back + back_hidden[i], back_cell[i], d_main[i]
                )
            d_extra[0] += back * characters[t]
        return d_main, d_extra

    return gradient


def numba_layer(numba: Any) -> tuple[Function, Function]:
    """A step of a layer. With few arrays, LLVM needs few overlap checks before vector code."""
    njit = numba.njit(**OPTIONS)
    tanh, sigmoid = numba_functions(numba)

    @njit
    def layer(weights, x, old, new):
        for j in range(LANES):
            forget = sigmoid(x[j] * weights[j] + weights[BIASES + j])
            let_in = sigmoid(old[j] * weights[LANES + j] + weights[BIASES + LANES + j])
            let_out = sigmoid(x[j] * weights[2 * LANES + j] + weights[BIASES + 2 * LANES + j])
            change = tanh(old[j] * weights[3 * LANES + j] + weights[BIASES + 3 * LANES + j])
            cell = old[CELL + j] * forget + let_in * change
            shown = tanh(cell)
            new[j], new[CELL + j], new[SHOWN + j] = let_out * shown, cell, shown
            new[FORGET + j], new[LET_IN + j] = forget, let_in
            new[LET_OUT + j], new[CHANGE + j] = let_out, change

    @njit
    def layer_back(weights, x, old, new, sums):
        """Turn the cotangent of the layer's output into that of its input."""
        for j in range(LANES):
            forget, let_in, let_out = new[FORGET + j], new[LET_IN + j], new[LET_OUT + j]
            change, shown = new[CHANGE + j], new[SHOWN + j]
            out = sums[BACK + j] + sums[BACK_HIDDEN + j]
            inner = sums[BACK_CELL + j] + out * let_out * (1.0 - shown * shown)
            d_forget = inner * old[CELL + j] * forget * (1.0 - forget)
            d_in = inner * change * let_in * (1.0 - let_in)
            d_out = out * shown * let_out * (1.0 - let_out)
            d_change = inner * let_in * (1.0 - change * change)
            sums[BACK + j] = d_forget * weights[j] + d_out * weights[2 * LANES + j]
            back_hidden = d_in * weights[LANES + j] + d_change * weights[3 * LANES + j]
            sums[BACK_HIDDEN + j], sums[BACK_CELL + j] = back_hidden, inner * forget
            sums[j] += d_forget * x[j]
            sums[LANES + j] += d_in * old[j]
            sums[2 * LANES + j] += d_out * x[j]
            sums[3 * LANES + j] += d_change * old[j]
            sums[BIASES + j] += d_forget
            sums[BIASES + LANES + j] += d_in
            sums[BIASES + 2 * LANES + j] += d_out
            sums[BIASES + 3 * LANES + j] += d_change

    return layer, layer_back


def numba_outputs(numba: Any) -> tuple[Function, Function]:
    """The losses of all steps; in reverse, each row of hidden states becomes its cotangent."""
    exp, log, _ = vector_math(numba)
    njit = numba.njit(**OPTIONS)

    @njit
    def share_row(hidden, extra, share):
        total = 2.0
        for j in range(BITS):
            share[j] = exp(hidden[j] * extra[1, j] + extra[2, j])
            total += share[j]
        return total

    @njit
    def losses(hiddens, extra, gold):
        loss, share = 0.0, numpy.empty(BITS)
        for t in range(STEPS):
            log_total = log(share_row(hiddens[t], extra, share))
            for j in range(BITS):
                output = hiddens[t, j] * extra[1, j] + extra[2, j]
                loss -= gold[t, j] * (output - log_total)
        return loss / (STEPS * BITS)

    @njit
    def losses_back(hiddens, extra, gold, backs, d_extra):
        share = numpy.empty(BITS)
        for t in range(STEPS):
            total = share_row(hiddens[t], extra, share)
            golden = 0.0
            for j in range(BITS):
                golden += gold[t, j]
            golden /= total
            for j in range(BITS):
                back = (golden * share[j] - gold[t, j]) * (1.0 / (STEPS * BITS))
                d_extra[1, j] += back * hiddens[t, j]
                d_extra[2, j] += back
                backs[t, j] = back * extra[1, j]

    return losses, losses_back


def numba_forward(numba: Any, layer: Function) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)

    @njit
    def widened(main, extra, state, characters):
        """Pad the bits with zeros to whole vectors, and weight the inputs."""
        weights = numpy.zeros((LAYERS, 8, LANES))
        tape = numpy.zeros((LAYERS, STEPS + 1, RECORD))
        for i in range(LAYERS):
            weights[i, :4, :BITS], weights[i, 4:, :BITS] = main[i, 0], main[i, 1]
            tape[i, 0, :BITS], tape[i, 0, CELL : CELL + BITS] = state[i, 0], state[i, 1]
        xs = numpy.zeros((STEPS, LANES))
        for t in range(STEPS):
            for j in range(BITS):
                xs[t, j] = characters[t, j] * extra[0, j]
        return weights.reshape(LAYERS, 8 * LANES), tape, xs

    @njit
    def forward(weights, tape, xs):
        """Alternate the layers, so that a processor can work on both chains at once."""
        for t in range(STEPS):
            x = xs[t]
            for i in range(LAYERS):
                layer(weights[i], x, tape[i, t], tape[i, t + 1])
                x = tape[i, t + 1]

    return widened, forward


def numba_version(numba: Any) -> tuple[Function, Function]:
    njit = numba.njit(**OPTIONS)
    layer, layer_back = numba_layer(numba)
    losses, losses_back = numba_outputs(numba)
    widened, forward = numba_forward(numba, layer)

    @njit
    def value(main, extra, state, characters):
        weights, tape, xs = widened(main, extra, state, characters)
        forward(weights, tape, xs)
        return losses(tape[LAYERS - 1, 1:], extra, characters[1:])

    @njit
    def gradient(main, extra, state, characters):
        weights, tape, xs = widened(main, extra, state, characters)
        forward(weights, tape, xs)
        backs, sums = numpy.zeros((STEPS, LANES)), numpy.zeros((LAYERS, SUMS))
        d_extra = numpy.zeros_like(extra)
        losses_back(tape[LAYERS - 1, 1:], extra, characters[1:], backs, d_extra)
        for t in range(STEPS - 1, -1, -1):
            back = backs[t]
            for i in range(LAYERS - 1, -1, -1):
                sums[i, BACK:] = back
                x = tape[i - 1, t + 1] if i > 0 else xs[t]
                layer_back(weights[i], x, tape[i, t], tape[i, t + 1], sums[i])
                back = sums[i, BACK:]
            for j in range(BITS):
                d_extra[0, j] += back[j] * characters[t, j]
        d_main = sums[:, :BACK_HIDDEN].copy().reshape(LAYERS, 2, 4, LANES)
        return d_main[:, :, :, :BITS].copy(), d_extra

    return value, gradient


def inputs() -> Arrays:
    """Random bits for characters; weights of both signs."""
    rng = numpy.random.default_rng(0)
    return (
        rng.normal(size=(LAYERS, 2, 4, BITS)),
        rng.normal(size=(3, BITS)),
        rng.normal(size=(LAYERS, 2, BITS)),
        rng.integers(0, 2, (CHARACTERS, BITS)).astype(numpy.float64),
    )


WORKLOADS = (
    Workload(
        name="char_lstm",
        derivative_of=f"log-softmax loss of {CHARACTERS:,} characters, {LAYERS} elementwise LSTMs",
        dtype="float64",
        target=None,
        inputs=inputs,
        argnums=(0, 1),
        primal=primal,
        versions={
            "numba": numba_version,
            "numpy": numpy_gradient,
            "jax": jax_primal,
            "autojit": autojit_primal,
            "torch": torch_primal,
            "torch_compile": UNROLLED,
        },
        # A bit of a layer: five functions of some 25 flops, and 45 more; of the loss: one such and
        # 15. A layer waits from hidden to hidden state for a sigmoid, the cell, its tanh and the
        # last product, 10 operations, and back for two; the layers do not wait for one another.
        limit=Limit(
            bytes_moved=8 * CHARACTERS * BITS,
            flops=STEPS * BITS * (170 * LAYERS + 40),
            chain=12 * STEPS,
        ),
    ),
)
