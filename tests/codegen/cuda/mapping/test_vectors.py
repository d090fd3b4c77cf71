"""Threads that take several neighbours: the same results, fewer requests, no wrong places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import trace
from autojit.codegen.cuda.device_program.nodes import DeviceProgram, Together
from autojit.codegen.cuda.executor.coalescing import Coalescing
from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.cuda.executor.threads import LaunchError
from autojit.codegen.cuda.mapping import kernels
from autojit.codegen.loop_ir.nodes import Store
from autojit.codegen.loop_ir.traversal import walk
from autojit.ir.core import affine
from autojit.ir.core.values import Source
from tests.codegen.cuda.kernel_programs import softmax
from tests.codegen.cuda.running import SMALL, check, mapped

RNG = np.random.default_rng(3)
TABLE = RNG.normal(size=200).astype("f4")


def places(x: Any) -> Any:
    return TABLE[np.arange(x.shape[0]) * 7 % 200] * x


#: Programs, their arguments, and how many neighbours a thread takes at a time (1: no grouping).
PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[str, tuple[int, ...]]], int]] = {
    "float32, with a rest": (lambda x: np.exp(x) * x + 1, [("f4", (103,))], 4),
    "float64": (lambda x, y: x * y - x, [("f8", (128,)), ("f8", (128,))], 2),
    "two widths": (lambda x, y: x + y, [("f4", (99,)), ("f8", (99,))], 2),
    "bools": (lambda x: (x > 0, x * 2), [("f4", (99,))], 4),
    "a row for all": (lambda x, b: x * b, [("f4", (10, 16)), ("f4", (16,))], 4),
    "a column for all": (lambda x, b: x * b, [("f4", (10, 16)), ("f4", (10, 1))], 4),
    "rows of an odd length": (lambda x, b: x * b, [("f4", (10, 15)), ("f4", (15,))], 1),
    "whole arrays of odd rows": (lambda x: x * 2, [("f4", (11, 9))], 4),
    "a part of rows": (lambda x: x[1:, 4:8] * 2, [("f4", (40, 12))], 4),
    "from another place": (lambda x: x[1:] - x[:-1], [("f4", (103,))], 1),
    "backwards": (lambda x: x[::-1] * 2, [("f4", (103,))], 1),
    "gathered": (places, [("f4", (103,))], 4),
    "a sum": (lambda x: np.sum(x * x), [("f4", (103,))], 4),
    "numbers of elements": (lambda x: x * np.arange(103.0), [("f8", (103,))], 2),
    "many functions": (
        lambda x: np.sin(x) + np.cos(x) + np.exp(x) + np.tanh(x) + np.log1p(x * x),
        [("f4", (103,))],
        1,
    ),
    "few": (lambda x: x * 2, [("f4", (30,))], 1),
    "rows that teams share": (softmax, [("f4", (7, 40))], 4),
    "rows of a block": (softmax, [("f8", (3, 100))], 2),
    "rows of an odd length that teams share": (softmax, [("f4", (7, 41))], 1),
    "sums of rows": (lambda x: np.sum(x * x, 1), [("f4", (9, 32))], 4),
    "rows with a single element for a thread": (lambda x: np.sum(x, 1), [("f4", (9, 4))], 1),
}


def arrays(name: str) -> list[np.ndarray]:
    return [RNG.uniform(0.5, 2, shape).astype(dtype) for dtype, shape in PROGRAMS[name][1]]


def together(device: DeviceProgram) -> list[Together]:
    return [s for k in device.launches for s in walk(k.body) if isinstance(s, Together)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str) -> None:
    """The executor checks races, bounds, and the alignment of the first place."""
    given = arrays(name)
    device = check(trace(PROGRAMS[name][0])(*given), given, SMALL)
    assert {len(s.body) for s in together(device)} == {PROGRAMS[name][2]} - {1}
    stores = (s for k in device.launches for s in walk(k.body) if isinstance(s, Store))
    assert all(s.source is None or isinstance(s.source, Source) for s in stores)


def test_a_quarter_of_the_requests_for_the_same_sectors(monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG.normal(size=4096).astype("f4")
    program = trace(lambda x: x * 2)(x)
    counts = []
    for pays in (True, False):
        counter = Coalescing()
        if not pays:
            monkeypatch.setattr(kernels, "in_vectors", lambda nest, body, threads: [nest])
        execute(mapped(program, SMALL), [x], counter=counter)
        counts.append((*counter.sectors.values(), *counter.requests.values()))
    (wide, few), (narrow, many) = counts
    assert wide == narrow == 2 * 4096 * 4 // 32
    assert 4 * few == many


def test_a_first_place_that_is_no_multiple_is_found() -> None:
    x = RNG.normal(size=128).astype("f4")
    device = mapped(trace(lambda x: x * 2)(x), SMALL)
    (read, _) = together(device)
    first = read.body[0].index
    for s in read.body:
        s.index = s.index + affine.of(1) if s.index is not first else s.index
    with pytest.raises(LaunchError, match="no neighbours"):
        execute(device, [x])
    for s in read.body[:1]:
        s.index = first + 1
    with pytest.raises(LaunchError, match="begin at a multiple"):
        execute(device, [x])
