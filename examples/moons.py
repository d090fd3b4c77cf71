"""Train a network of single numbers to separate two moons, and draw its decision boundary.

The program is micrograd's demonstration: each weight is a ``Value``, the loss is a hinge with a
penalty, and each step follows the gradient. The picture shows the samples and the side to which the
network assigns each point.

    python examples/moons.py [picture.png]
"""

from __future__ import annotations

import random
import struct
import sys
import zlib
from pathlib import Path
from time import perf_counter

import numpy as np

from autojit import Value, jit, vmap
from autojit.scalar import MLP

SAMPLES, STEPS, PENALTY, WIDTH, HEIGHT = 100, 60, 1e-4, 480, 320
LEFT, RIGHT, LOW, HIGH = -1.8, 2.8, -1.3, 1.8


def moons(rng):
    """Two interleaved half circles, and the side of each sample."""
    angles = np.linspace(0, np.pi, SAMPLES // 2)
    upper = np.stack([np.cos(angles), np.sin(angles)], 1)
    lower = np.stack([1 - np.cos(angles), 0.5 - np.sin(angles)], 1)
    points = np.concatenate([upper, lower]) + rng.normal(0, 0.1, (SAMPLES, 2))
    return points, np.repeat([-1.0, 1.0], SAMPLES // 2)


def loss_of(model, points, sides):
    """The mean hinge loss with a penalty on large weights, and the number of correct samples."""
    scores = [model(point) for point in points]
    hinges = [(1 + -side * score).relu() for side, score in zip(sides, scores, strict=True)]
    penalty = PENALTY * sum((p * p for p in model.parameters()), Value(0.0))
    right = sum((s.data > 0) == (y > 0) for s, y in zip(scores, sides, strict=True))
    return sum(hinges, Value(0.0)) * (1.0 / len(hinges)) + penalty, right


def picture(scores, points, sides):
    """Rows of pixels that show both sides, the line between them, and the samples."""
    colours = np.where(scores[..., None] > 0, [250, 220, 180], [190, 210, 245]).astype(np.uint8)
    edge = (scores[:-1, :-1] > 0) != (scores[1:, 1:] > 0)
    colours[:-1, :-1][edge] = 0
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    for (x, y), side in zip(points, sides, strict=True):
        column = (x - LEFT) / (RIGHT - LEFT) * WIDTH
        row = (HIGH - y) / (HIGH - LOW) * HEIGHT
        near = (columns - column) ** 2 + (rows - row) ** 2
        colours[near < 16] = 255
        colours[near < 9] = [200, 60, 20] if side > 0 else [30, 70, 180]
    return colours


def png(colours):
    """The bytes of a PNG file."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", colours.shape[1], colours.shape[0], 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in colours)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def main():
    random.seed(1337)
    points, sides = moons(np.random.default_rng(0))
    model = MLP(2, [16, 16, 1])
    print(f"{len(model.parameters())} parameters, {SAMPLES} samples")
    start = perf_counter()
    for step in range(STEPS):
        loss, right = loss_of(model, points.tolist(), sides.tolist())
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= (1.0 - 0.9 * step / STEPS) * p.grad
        if step % 20 == 0 or step == STEPS - 1:
            print(f"step {step}: loss {loss.data:.4f}, {right} of {SAMPLES} right")
    print(f"a step: {(perf_counter() - start) / STEPS * 1e3:.0f} ms")

    x = np.linspace(LEFT, RIGHT, WIDTH)[None, :]
    y = np.linspace(HIGH, LOW, HEIGHT)[:, None]
    pixels = np.stack(np.broadcast_arrays(x, y), -1).reshape(-1, 2)
    seen = jit(vmap(lambda point: model([point[0], point[1]]).data))  # compiled for all points
    scores = seen(pixels).reshape(HEIGHT, WIDTH)
    print("where it sees the upper moon (.) and the lower one (#):")
    for row in scores[::20, ::8]:
        print("".join("#" if s > 0 else "." for s in row))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_bytes(png(picture(scores, points, sides)))
        print(f"picture: {sys.argv[1]}")


if __name__ == "__main__":
    main()
