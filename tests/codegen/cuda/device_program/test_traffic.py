"""Bytes moved by kernels: no more than the arrays contain, if rows fit into a processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, trace
from autojit.codegen.cuda.device_program.traffic import traffic
from autojit.codegen.cuda.mapping.machine import Machine
from tests.codegen.cuda.running import mapped


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def normalized(x: Any) -> Any:
    mean = np.mean(x, axis=1, keepdims=True)
    return (x - mean) / np.sqrt(np.var(x, axis=1, keepdims=True) + 1e-5)


N = 20_000_000
ROWS = np.broadcast_to(np.float64(1), (20_000, 1000))
#: Programs, and how many times they may move the bytes of an argument.
PROGRAMS: dict[str, tuple[Callable[..., Any], int, float]] = {
    "softmax": (softmax, 1, 2),
    "normalized rows": (normalized, 1, 2),
    "gradient of normalized rows": (grad(lambda x, g: np.sum(normalized(x) * g)), 2, 4),
    "elements": (lambda x: np.exp(x) * np.sin(x), 1, 2),
    "a sum": (lambda x: np.sum(x * x), 1, 1.001),
    "sums of rows": (lambda x: np.sum(x, 1), 1, 1.02),
    "sums of columns": (lambda x: np.sum(x, 0), 1, 1.02),
    "a transpose": (lambda x: x.T + 0, 1, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_moved(name: str) -> None:
    f, arguments, most = PROGRAMS[name]
    device = mapped(trace(f)(*[ROWS] * arguments), Machine())
    moved = sum(traffic(kernel).total for kernel in device.launches)
    assert 8 * N * (arguments > 0) <= moved <= most * 8 * N


def test_rows_that_do_not_fit_go_through_memory() -> None:
    wide = np.broadcast_to(np.float64(1), (2000, 10_000))
    (kernel,) = mapped(trace(softmax)(wide), Machine()).launches
    assert not kernel.shared
    assert traffic(kernel).total == 4 * 8 * N
