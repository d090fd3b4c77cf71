"""Updates at computed places: the same bits in any order of threads, and hardly any rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, trace
from autojit.codegen.cuda.device_program.nodes import Atomic, DeviceProgram
from autojit.codegen.cuda.device_program.traffic import traffic
from autojit.codegen.cuda.mapping import scatters
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.program import device_program
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_text.parse import parse_loops
from tests.codegen.cuda.running import SMALL, arguments_of, check, mapped, run

RNG = np.random.default_rng(5)


def add(x: Any, places: Any, values: Any) -> Any:
    y = x.copy()
    np.add.at(y, places, values)
    return y


def put(x: Any, places: Any, values: Any) -> Any:
    y = x.copy()
    y[places] = values
    return y


def result(f: Callable[..., Any], *arguments: Any, machine: Machine = SMALL) -> np.ndarray:
    program = trace(f)(*arguments)
    (found,) = run(mapped(program, machine), program, arguments_of(program, arguments))
    return np.asarray(found)


def atomics(device: DeviceProgram) -> list[Atomic]:
    return [s for k in device.launches for s in walk(k.body) if isinstance(s, Atomic)]


def spread(dtype: Any, count: int) -> np.ndarray:
    """Numbers of very different magnitudes, which cancel."""
    values = RNG.normal(size=count) * 10.0 ** RNG.integers(-6, 7, count)
    return np.concatenate([values, -values + RNG.normal(size=count)]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", [add, put])
def test_bits_do_not_depend_on_the_order_of_threads(f: Callable[..., Any], dtype: Any) -> None:
    values, x = spread(dtype, 200), RNG.normal(size=7).astype(dtype)
    places = RNG.integers(-7, 7, 400)
    want = result(f, x, places, values, machine=Machine())
    # Other launch sizes and, for sums, another order of the updates.
    assert result(f, x, places, values).tobytes() == want.tobytes()
    if f is put:
        np.testing.assert_array_equal(want, put(x, places, values))
        return
    for _ in range(3):
        order = RNG.permutation(400)
        again = result(f, x, places[order], values[order])
        assert again.tobytes() == want.tobytes()
    assert add(x, places, values).tobytes() != want.tobytes()  # NumPy's result depends on the order


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_exact_but_for_the_last_digit(dtype: Any) -> None:
    values, x = spread(dtype, 300), np.zeros(5, dtype)
    places = RNG.integers(0, 5, 600)
    found = result(add, x, places, values)
    for d in range(5):
        mine = values[places == d].astype(np.float64)
        exact, largest = math.fsum(mine), np.abs(mine).max()
        # The magnitude of the largest number bounds the rounding error.
        unit = np.finfo(dtype).eps
        assert abs(found[d] - exact) <= unit * abs(exact) + unit * largest / 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_at_the_ends_of_the_range(dtype: Any) -> None:
    info = np.finfo(dtype)
    big, tiny = info.max, info.smallest_subnormal
    rows = [
        [big, -big, big / 2], [tiny, tiny, 3 * tiny], [np.inf, 1, 1], [np.inf, -np.inf, 1],
        [np.nan, 1, 1], [big, big, 1], [1, tiny, -1], [0, 0, 0], [-np.inf, big, 0], [1, 1, big],
    ]  # fmt: skip
    values = np.array(rows, dtype)
    places = np.repeat(np.arange(10), 3)
    with np.errstate(all="ignore"):
        want = [big / 2, 5 * tiny, np.inf, np.nan, np.nan, np.inf, 0, 0, -np.inf, big]
        found = result(add, np.zeros(10, dtype), np.tile(places, 2)[:30], values.ravel())
    assert found[6] == 0 or found[6] == tiny  # beside 1, tiny is rounded off
    np.testing.assert_array_equal(np.delete(found, 6), np.delete(np.array(want, dtype), 6))


LOOPS = """loops main:
  input in0: i64[40]
  input in1: f64[40]
  output out0: f64[5]
  output out1: f64[40]
  kernel k0:
    out0[0 : +5] = 0.0
    for i in 0..40:  # reduces
      s0 = in0[i]
      s1 = in1[i]
      {before}
      out0[s0 of 5] += {value}
"""


@pytest.mark.parametrize(
    ("before", "value", "is_ordered"),
    [
        ("out1[i] = s1", "s1", True),
        ("out1[i] = s1\n      s2 = out1[i]", "s2", False),  # the first pass stores nothing
        ("s2 = out1[i]\n      out1[i] = s1", "s1", False),
    ],
)
def test_what_is_stored_is_not_read(before: str, value: str, is_ordered: bool) -> None:
    program = parse_loops(LOOPS.format(before=before, value=value))
    names = [k.name for k in device_program(program, SMALL).launches]
    assert ("k0_parts" in names) is is_ordered


def test_untouched_elements_keep_their_sign_of_zero() -> None:
    x = np.array([-0.0, -0.0, 1.0])
    found = result(add, x, np.full(40, 2), np.ones(40))
    assert np.signbit(found).tolist() == [True, True, False]


def test_rows_and_derivatives_of_gathers() -> None:
    places = RNG.integers(-9, 9, 80)
    check(trace(grad(lambda x: np.sum(np.sin(x[places]) ** 2)))(RNG.normal(size=(9, 4))),
          [RNG.normal(size=(9, 4))])  # fmt: skip
    check(trace(put)(np.ones((9, 4)), places, np.ones((80, 4))),
          [np.ones((9, 4)), places, RNG.normal(size=(80, 4))])  # fmt: skip
    z = RNG.normal(size=60) + 1j * RNG.normal(size=60)
    for f in (add, put):
        check(trace(f)(z[:5], places[:60] % 5, z), [z[:5], places[:60] % 5, z])


def test_many_updates_need_more_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {n: len(scatters._Split(_buffer("f64"), n).sums) for n in (100, 1 << 20, 1 << 30)}
    assert parts == {100: 2, 1 << 20: 2, 1 << 30: 3}
    assert len(scatters._Split(_buffer("f32"), 1 << 25).sums) == 1
    # Three parts of fewer bits each are as accurate as two.
    monkeypatch.setitem(scatters._BITS, "f64", 100)
    values, places = spread(np.float64, 50), RNG.integers(0, 3, 100)
    found = result(add, np.zeros(3), places, values)
    exact = [math.fsum(values[places == d]) for d in range(3)]
    np.testing.assert_allclose(found, exact, rtol=1e-15)


def _buffer(dtype: str) -> Any:
    from autojit.codegen.loop_ir.values import Buffer

    return Buffer("y", dtype, 10, "output")


def test_few_updates_of_many_elements_and_integers_are_added_at_once() -> None:
    many = np.zeros(10_000)
    sparse = mapped(trace(add)(many, np.arange(100), np.ones(100)), Machine())
    assert [s.combine for s in atomics(sparse)] == ["add"]
    whole = mapped(trace(add)(np.zeros(10, int), np.zeros(500, int), np.ones(500, int)), Machine())
    assert {s.combine for s in atomics(whole)} == {"add"}


@pytest.mark.parametrize(("dtype", "sums"), [(np.float32, 1), (np.float64, 2)])
def test_what_an_order_of_its_own_costs(dtype: Any, sums: int) -> None:
    """With many updates, they are only read twice, and added once for float32."""
    n, m = 1_000_000, 1000
    values = np.broadcast_to(np.ones((), dtype), (n,))
    places = np.broadcast_to(np.int64(0), (n,))
    device = mapped(trace(add)(np.zeros(m, dtype), places, values), Machine())
    finite = [s for s in atomics(device) if s.combine == "add"][1:]
    assert len(finite) == sums
    assert sum(traffic(k).total for k in device.launches) <= 2.02 * n * (8 + values.itemsize)


def test_setting_many_numbers_is_no_work_for_one_thread() -> None:
    n = 100_000
    places = np.broadcast_to(np.int64(0), (n,))
    device = mapped(trace(put)(np.zeros(1000), places, np.zeros(n)), Machine())
    assert [k.lanes >= n for k in device.launches if k.name.startswith("k1")] == [False, True, True]
