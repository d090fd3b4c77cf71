"""Train a classifier 784-256-128-10 by mini-batches, with `autojit.nn` and `autojit.optim`.

The images are seven-segment digits, shifted, blurred and noisy, made when the program starts.
Forward pass, gradient and update are one compiled function.

    python examples/classifier.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from autojit import jit, nn, optim, value_and_grad

SIZES, BATCH, EPOCHS, EXAMPLES, HELD_OUT = [784, 256, 128, 10], 64, 8, 4000, 1000

#: Which of the segments (top, upper left, upper right, middle, lower left, lower right, bottom)
#: each digit lights.
SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010",
            "1101011", "1101111", "1010010", "1111111", "1111011"]  # fmt: skip
#: Rows and columns of each segment, in an image of 20 x 12.
PLACES = [
    (slice(0, 3), slice(0, 12)), (slice(0, 11), slice(0, 3)), (slice(0, 11), slice(9, 12)),
    (slice(8, 11), slice(0, 12)), (slice(8, 20), slice(0, 3)), (slice(8, 20), slice(9, 12)),
    (slice(17, 20), slice(0, 12)),
]  # fmt: skip


def digit(number, rng):
    """A picture of 28 x 28 in [0, 1], with noise."""
    glyph = np.zeros((20, 12))
    for lit, place in zip(SEGMENTS[number], PLACES, strict=True):
        if lit == "1":
            glyph[place] = rng.uniform(0.5, 1.0)
    picture = np.zeros((28, 28))
    row, column = rng.integers(2, 7), rng.integers(6, 11)
    picture[row : row + 20, column : column + 12] = glyph
    blurred = sum(np.roll(picture, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) / 9
    return np.clip(blurred + 0.2 * rng.standard_normal((28, 28)), 0.0, 1.0)


def data(rng, count):
    labels = rng.integers(0, 10, count)
    pictures = np.array([digit(number, rng).ravel() for number in labels], np.float32)
    return pictures, labels


def loss(params, pictures, labels):
    return nn.cross_entropy(nn.mlp(params, pictures), labels)


def main():
    rng = np.random.default_rng(0)
    pictures, labels = data(rng, EXAMPLES)
    held_out, answers = data(rng, HELD_OUT)

    params = nn.init_mlp(rng, SIZES, dtype=np.float32)
    opt = optim.sgd(lr=optim.cosine_annealing(0.1, EPOCHS * (EXAMPLES // BATCH)), momentum=0.9)
    state = opt.init(params)

    @jit
    def step(params, state, pictures, labels):
        value, grads = value_and_grad(loss)(params, pictures, labels)
        grads, _ = nn.clip_by_global_norm(grads, 5.0)
        params, state = opt.update(params, grads, state)
        return params, state, value

    seconds, steps = 0.0, 0
    for epoch in range(1, EPOCHS + 1):
        values = []
        for batch in nn.batches(rng, pictures, labels, batch_size=BATCH, drop_last=True):
            begin = perf_counter()
            params, state, value = step(params, state, *batch)
            if epoch > 1:  # the very first step compiles
                seconds, steps = seconds + perf_counter() - begin, steps + 1
            values.append(value)
        print(f"epoch {epoch}: loss {np.mean(values):.3f}")

    right = nn.mlp(params, held_out).argmax(axis=1) == answers
    print(f"held-out accuracy {right.mean():.1%} of {len(right)} digits")
    assert step.cache_info().traces == 1
    print(f"one step: {1e3 * seconds / steps:.2f} ms, compiled once")


if __name__ == "__main__":
    main()
