"""Arrays read across their rows: whole sectors, and the fewest possible turns at banks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import trace
from autojit.codegen.cuda.device_program.nodes import Barrier, DeviceProgram
from autojit.codegen.cuda.executor.coalescing import Coalescing
from autojit.codegen.cuda.executor.races import RaceError
from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.program import device_program
from autojit.codegen.cuda.mapping.transposes import Transposes
from autojit.codegen.loop_text.parse import parse_loops
from tests.codegen.cuda.running import SMALL, check, mapped

RNG = np.random.default_rng(3)
PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "a transpose": (lambda x: x.T + 0, [(64, 96)]),
    "borders": (lambda x: x.T + 0, [(37, 81)]),
    "beside rows": (lambda x, y: np.sin(x.T) * y + y, [(40, 33), (33, 40)]),
    "two arrays": (lambda x, y: x.T / y.T, [(40, 33), (40, 33)]),
    "a sum with its transpose": (lambda x: x + x.T, [(40, 40)]),
    "a part": (lambda x: x[3:, 7:].T * 2, [(60, 90)]),
    "backwards": (lambda x: x[::-1].T * 2, [(60, 40)]),
    "axes in between": (lambda x: x.transpose(3, 1, 0, 2) + 1, [(3, 2, 20, 35)]),
    "the first and the last": (lambda x: x.transpose(2, 1, 0) + 1, [(33, 3, 34)]),
}


def arrays(shapes: list[tuple[int, ...]], dtype: str = "f8") -> list[np.ndarray]:
    return [RNG.uniform(1, 2, shape).astype(dtype) for shape in shapes]


def is_tiled(device: DeviceProgram) -> bool:
    return any(b.name.startswith("tile") for k in device.launches for b in k.shared)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str) -> None:
    f, shapes = PROGRAMS[name]
    given = arrays(shapes)
    for machine in (Machine(), SMALL):
        assert is_tiled(check(trace(f)(*given), given, machine))


@pytest.mark.parametrize(("dtype", "width"), [("f4", 4), ("f8", 8)])
def test_warps_touch_whole_sectors_and_wait_for_no_bank(dtype: str, width: int) -> None:
    f, shapes = PROGRAMS["a transpose"]
    given = arrays(shapes, dtype)
    counter = Coalescing()
    execute(mapped(trace(f)(*given), Machine()), given, counter=counter)
    (sectors,), (turns,) = counter.sectors.values(), counter.turns.values()
    n = 64 * 96
    assert sectors == 2 * n * width // 32
    assert turns == 2 * n * width // 128  # of 128 bytes each


def test_without_tiles_each_element_takes_a_sector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transposes, "in_tiles_of", lambda *_: False)
    given, counter = arrays([(64, 96)]), Coalescing()
    execute(mapped(trace(lambda x: x.T + 0)(*given), Machine()), given, counter=counter)
    assert sum(counter.sectors.values()) == 64 * 96 * (1 + 8 / 32)


def test_turns_are_counted_where_rows_are_as_long_as_the_banks() -> None:
    counter, threads = Coalescing(), np.arange(32)
    counter.touch_shared("k", threads, 32 * threads, 4)
    assert counter.turns == {"k": 32}
    counter.touch_shared("pads", threads, 33 * threads, 4)
    counter.touch_shared("same", threads, 0 * threads, 4)
    assert counter.turns == {"k": 32, "pads": 1, "same": 1}


def test_without_its_barrier_there_is_a_race() -> None:
    given = arrays([(40, 33)])
    device = mapped(trace(lambda x: x.T + 0)(*given), Machine())
    (kernel,) = device.launches
    kernel.body = [s for s in kernel.body if not isinstance(s, Barrier)]
    with pytest.raises(RaceError):
        execute(device, given)


IN_PLACE = """loops main:
  input in0: f64[1600]
  output out0: f64[1600]
  kernel k0:
    for i in 0..1600:
      s0 = in0[i]
      out0[i] = s0
  kernel k1:
    for i in 0..40:
      for j in 0..40:
        s0 = {read}[{index}]
        {target}[40*i + j] = s0
"""


@pytest.mark.parametrize(
    ("read", "index", "target", "tiled"),
    [
        ("in0", "40*j + i", "out0", True),
        ("in0", "40*i + j", "out0", False),  # neighbours anyway
        ("in0", "40*i + 39", "out0", False),  # one element for all
        ("out0", "40*j + i", "out0", False),  # it is written
    ],
)
def test_what_is_read_in_tiles(read: str, index: str, target: str, tiled: bool) -> None:
    text = IN_PLACE.format(read=read, index=index, target=target)
    assert is_tiled(device_program(parse_loops(text), Machine())) is tiled


def test_tiles_have_room_on_a_processor() -> None:
    given = [np.ones((40, 40))] * 3
    assert not is_tiled(mapped(trace(lambda x, y, z: x.T * y.T + np.sin(z.T))(*given), Machine()))


def test_short_axes_are_read_as_they_are() -> None:
    for shape in ((3, 1000), (1000, 3)):
        assert not is_tiled(mapped(trace(lambda x: x.T + 0)(np.ones(shape)), Machine()))
