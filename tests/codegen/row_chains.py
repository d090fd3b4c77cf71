"""Random computations on the rows of a matrix, with steps as in networks and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit import trace
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.ir.tools.interpreter import interpret


def agrees(f: Any, *arguments: Any, rtol: float = 1e-10) -> LoopProgram:
    """Check that compiled code agrees with the interpreter; return its loops."""
    program = trace(f)(*arguments)
    everything = [*arguments, *program.captured]
    executable = Executable(program)
    results = executable.call([np.asarray(a) for a in everything])
    for got, wanted in zip(results, interpret(program, everything), strict=True):
        scale = max(1.0, float(np.max(np.abs(np.nan_to_num(wanted)), initial=0.0)))
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * scale)
    return executable.loops


#: h has a number of rows and 16 columns; w is a matrix and v a row.
STEPS = (
    lambda h, w, v: h @ w,
    lambda h, w, v: np.tanh(h) + v,
    lambda h, w, v: h - np.max(h, axis=1, keepdims=True),
    lambda h, w, v: np.exp(h - np.max(h, axis=1, keepdims=True)) / 7.0,
    lambda h, w, v: (
        (h - np.mean(h, axis=1, keepdims=True)) / np.sqrt(np.var(h, axis=1) + 1.0)[:, None]
    ),
    lambda h, w, v: h * np.sum(h * v, axis=1, keepdims=True) / 16.0,
    lambda h, w, v: h - np.mean(h, axis=0),  # needs all rows
    lambda h, w, v: h + (h.T @ np.tanh(h))[:, :1].T / len(h),  # this too
    lambda h, w, v: np.where(h > 0, h, 0.1 * h) @ w.T,
    lambda h, w, v: h[::-1] + v,  # other rows
    lambda h, w, v: np.concatenate([h[1:], h[:1]]) * v,
    lambda h, w, v: np.cumsum(h, axis=1) / 4.0,
    lambda h, w, v: h / np.sqrt(1.0 + np.sum(h**2, axis=1))[:, None],
)


def random_chain(seed: int, rows: tuple[int, ...] = (96, 97, 128, 130, 251)) -> Any:
    """A function of (x, w, v), its arguments, and its relative accuracy."""
    rng = np.random.default_rng(seed)
    chosen = [0, *rng.integers(0, len(STEPS), int(rng.integers(2, 6)))]
    count = int(rng.choice(rows))
    dtype = rng.choice([np.float64, np.float64, np.float32])

    def f(x: Any, w: Any, v: Any) -> Any:
        h = x
        for k in chosen:
            h = STEPS[k](h, w, v)
        return np.sum(h**2) / count

    x, v = rng.normal(size=(count, 16)), rng.normal(size=16)
    w = rng.normal(size=(16, 16)) / 4.0
    arguments = [a.astype(dtype) for a in (x, w, v)]
    return f, arguments, 1e-10 if dtype == np.float64 else 3e-4
