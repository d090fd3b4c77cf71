"""Small networks: convolutions, recurrences, attention, graphs."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from bench.programs.declare import program


@program(
    "U-shaped block of 1-d convolutions by sliding windows, with a skip",
    full={"batch": 16, "length": 256, "channels": 8},
    tiny={"batch": 2, "length": 8, "channels": 2},
)
def u_shaped_block(rng, batch, length, channels):
    x = rng.normal(size=(batch, 1, length))
    target = np.roll(x, 3, axis=2)

    def convolve(x, w):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
        windows = sliding_window_view(padded, 3, axis=2)
        return np.einsum("bclk,dck->bdl", windows, w)

    def loss(params, x, target):
        first = np.maximum(convolve(x, params["in"]), 0)
        half = first.reshape(*first.shape[:2], -1, 2).max(axis=-1)
        deep = np.maximum(convolve(half, params["deep"]), 0)
        up = np.repeat(deep, 2, axis=2)
        joined = np.concatenate([first, up], axis=1)
        return np.mean((convolve(joined, params["out"]) - target) ** 2)

    params = {
        "in": rng.normal(size=(channels, 1, 3)) / np.sqrt(3),
        "deep": rng.normal(size=(2 * channels, channels, 3)) / np.sqrt(3 * channels),
        "out": rng.normal(size=(1, 3 * channels, 3)) / np.sqrt(9 * channels),
    }
    return loss, (params, x, target)


@program(
    "Gated recurrent unit by scan",
    full={"steps": 100, "batch": 16, "inputs": 16, "hidden": 48},
    tiny={"steps": 3, "batch": 2, "inputs": 2, "hidden": 3},
    needs=("scan",),
)
def gated_recurrent_unit(rng, steps, batch, inputs, hidden, scan):
    xs = rng.normal(size=(steps, batch, inputs))
    target = rng.normal(size=batch)

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def loss(params, xs, target):
        def step(h, x):
            both = np.concatenate([x, h], axis=1)
            z = sigmoid(both @ params["z"])
            r = sigmoid(both @ params["r"])
            candidate = np.tanh(np.concatenate([x, r * h], axis=1) @ params["h"])
            return (1 - z) * h + z * candidate, None

        last, _ = scan(step, np.zeros((xs.shape[1], hidden)), xs)
        return np.mean((last @ params["out"] - target) ** 2)

    width = inputs + hidden
    params = {k: rng.normal(size=(width, hidden)) / np.sqrt(width) for k in ("z", "r", "h")}
    return loss, ({**params, "out": rng.normal(size=hidden) / np.sqrt(hidden)}, xs, target)


@program(
    "Causal self-attention with a mask of padding, four heads",
    full={"batch": 8, "tokens": 64, "width": 64, "heads": 4},
    tiny={"batch": 2, "tokens": 4, "width": 4, "heads": 2},
)
def masked_attention(rng, batch, tokens, width, heads):
    x = rng.normal(size=(batch, tokens, width))
    lengths = rng.integers(tokens // 2, tokens + 1, batch)
    mask = np.tril(np.ones((tokens, tokens), bool)) & (np.arange(tokens) < lengths[:, None, None])

    def loss(params, x, mask):
        b, n, d = x.shape
        q, k, v = (
            (x @ params[name]).reshape(b, n, heads, d // heads).transpose(0, 2, 1, 3)
            for name in ("q", "k", "v")
        )
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(d // heads)
        scores = np.where(mask[:, None], scores, -1e9)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(b, n, d)
        out = x + mixed @ params["o"]
        return np.mean((out[:, :-1] - x[:, 1:]) ** 2)

    params = {k: rng.normal(size=(width, width)) / np.sqrt(width) for k in "qkvo"}
    return loss, (params, x, mask)


@program(
    "Message passing on a graph, two rounds of np.add.at",
    full={"nodes": 2_000, "edges": 10_000, "width": 16},
    tiny={"nodes": 5, "edges": 9, "width": 2},
)
def message_passing(rng, nodes, edges, width):
    source, target = rng.integers(0, nodes, (2, edges))
    features = rng.normal(size=(nodes, width))
    label = (rng.random(nodes) < 0.5).astype(float)

    def loss(params, features, source, target, label):
        degree = np.zeros(len(features))
        np.add.at(degree, target, 1.0)
        h = features
        for w in (params["w1"], params["w2"]):
            messages = np.zeros_like(h)
            np.add.at(messages, target, np.tanh(h[source] @ w))
            h = h + messages / np.maximum(degree, 1.0)[:, None]
        logit = h @ params["out"]
        return np.mean(np.logaddexp(0, logit) - label * logit)

    params = {
        "w1": rng.normal(size=(width, width)) / np.sqrt(width),
        "w2": rng.normal(size=(width, width)) / np.sqrt(width),
        "out": rng.normal(size=width) / np.sqrt(width),
    }
    return loss, (params, features, source, target, label)


@program(
    "Network of random depth: residual layers in a list, layer norm",
    full={"rows": 256, "width": 64, "layers": 8},
    tiny={"rows": 4, "width": 3, "layers": 2},
)
def residual_network(rng, rows, width, layers):
    x = rng.normal(size=(rows, width))
    y = np.sin(x.sum(axis=1))

    def loss(params, x, y):
        h = x
        for w, b, gain in params:
            normed = (h - h.mean(axis=1, keepdims=True)) / np.sqrt(h.var(axis=1) + 1e-5)[:, None]
            z = (gain * normed) @ w + b
            h = h + z / (1 + np.exp(-1.702 * z))
        return np.mean((h.sum(axis=1) - y) ** 2)

    params = [
        (rng.normal(size=(width, width)) / width, np.zeros(width), np.ones(width))
        for _ in range(layers)
    ]
    return loss, (params, x, y)
