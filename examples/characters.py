"""A character model: a small transformer learns a poem by heart, and recites it.

Embedding, attention, perceptron, cross-entropy, their gradient, clipping and Adam's update are one
compiled function.

    python examples/characters.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from autojit import jit, nn, optim, value_and_grad

#: Jane Taylor, "The star", 1806.
TEXT = """Twinkle, twinkle, little star,
How I wonder what you are!
Up above the world so high,
Like a diamond in the sky.
When the blazing sun is gone,
When he nothing shines upon,
Then you show your little light,
Twinkle, twinkle, all the night.
"""
LENGTH, WIDTH, HEADS, BATCH, STEPS = 32, 32, 4, 16, 300

ALPHABET = sorted(set(TEXT))
CODES = np.array([ALPHABET.index(c) for c in TEXT])


def initial(rng):
    return {
        "letters": nn.init.normal(rng, (len(ALPHABET), WIDTH), std=0.3, dtype=np.float32),
        "places": nn.init.normal(rng, (LENGTH, WIDTH), std=0.3, dtype=np.float32),
        "layers": [
            nn.init_transformer_encoder_layer(rng, WIDTH, 4 * WIDTH, dtype=np.float32)
            for _ in range(2)
        ],
        "out": nn.init_linear(rng, WIDTH, len(ALPHABET), dtype=np.float32),
    }


def scores(params, codes):
    """The logits of the next letter, for each place."""
    x = nn.embedding(codes, params["letters"]) + params["places"][: codes.shape[-1]]
    for layer in params["layers"]:
        x = nn.transformer_encoder_layer(
            layer, x, num_heads=HEADS, is_causal=True, norm_first=True, activation=nn.gelu
        )
    return nn.linear(x, **params["out"])


def loss(params, codes):
    found = scores(params, codes[:, :-1])
    return nn.cross_entropy(found.reshape(-1, len(ALPHABET)), codes[:, 1:].reshape(-1))


def windows(rng):
    starts = rng.integers(0, len(CODES) - LENGTH, BATCH)
    return CODES[starts[:, None] + np.arange(LENGTH + 1)]


def recite(params, count):
    """The most likely continuation of the poem's first letters."""
    compiled = jit(scores)
    codes = list(CODES[:LENGTH])
    for _ in range(count):
        codes.append(int(np.argmax(compiled(params, np.array(codes[-LENGTH:]))[-1])))
    return "".join(ALPHABET[k] for k in codes)


def main():
    rng = np.random.default_rng(0)
    params = initial(rng)
    opt = optim.adam(lr=optim.one_cycle(1e-2, STEPS))
    state = opt.init(params)

    @jit
    def step(params, state, codes):
        value, grads = value_and_grad(loss)(params, codes)
        grads, _ = nn.clip_by_global_norm(grads, 1.0)
        params, state = opt.update(params, grads, state)
        return params, state, value

    begin = perf_counter()
    params, state, value = step(params, state, windows(rng))
    print(f"traced and compiled in {perf_counter() - begin:.2f} s")
    begin = perf_counter()
    for k in range(1, STEPS):
        params, state, value = step(params, state, windows(rng))
        if k % 100 == 99:
            print(f"step {k + 1}: loss {value:.3f}")
    print(f"one step: {1e3 * (perf_counter() - begin) / (STEPS - 1):.2f} ms")
    told = recite(params, len(TEXT) - LENGTH)
    share = np.mean([a == b for a, b in zip(told[LENGTH:], TEXT[LENGTH:], strict=True)])
    print(f"recited {share:.0%} of the letters as they are:\n{told}", end="")


if __name__ == "__main__":
    main()
