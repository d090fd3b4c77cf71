"""Long rows sorted by digits, against NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autojit import trace
from autojit.codegen.cuda.device_program.nodes import DeviceKernel, DeviceProgram, Digit
from autojit.codegen.cuda.executor.races import RaceError
from autojit.codegen.cuda.executor.words import digit
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.matrices import radix
from autojit.codegen.cuda.printing.helpers import Helpers
from autojit.codegen.cuda.simulator import libdevice
from autojit.codegen.cuda.source import print_device_source
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.traversal import walk
from tests.codegen.cuda.executor.test_launch import barriers
from tests.codegen.cuda.printing.assembling import every_kernel
from tests.codegen.cuda.running import mapped, run

RNG = np.random.default_rng(0)
#: With few threads, so that tiles are short, and several blocks.
CARD = Machine(threads=128, processors=3, resident=128, warp=8, tile=4, row=4, few=40)
ORDERS = pytest.mark.parametrize("f", [np.sort, np.argsort])


def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sort all rows by digits, in tiles of 64 elements."""
    monkeypatch.setattr(radix, "LANES", 32)
    monkeypatch.setattr(radix, "MOST_OF_LANE", 2)
    monkeypatch.setattr(radix, "pays", lambda s, near, processors: True)


def drawn(dtype: str, *shape: int) -> np.ndarray:
    """Equal elements, extremes, and in floats both zeros, both infinities and NaN of both signs."""
    x = RNG.integers(-9 if dtype[0] == "i" else 0, 2 if dtype == "?" else 9, shape).astype(dtype)
    if dtype[0] == "f":
        few = np.array([np.nan, -np.nan, -0.0, 0.0, np.inf, -np.inf], dtype)
        x[..., ::3] = few[RNG.integers(0, 6, x[..., ::3].shape)]
        x[..., 1::3] = RNG.normal(size=x[..., 1::3].shape) * 100
    elif dtype != "?":
        x[..., ::5], x[..., 1::5] = np.iinfo(dtype).max, np.iinfo(dtype).min
    return x


def _argsort(x: Any) -> Any:
    return np.argsort(x, 0, kind="stable")


def by_digits(device: DeviceProgram) -> bool:
    kernels = (k for k in device.launches if isinstance(k, DeviceKernel))
    return any(isinstance(s, Digit) for k in kernels for s in walk(k.body))


#: The dtypes whose keys have eight digits take long.
DTYPES = [
    "?", "i1", "u1", "i2", "f2", "u4", "f4", *(pytest.param(x, marks=pytest.mark.slow)
    for x in ("i8", "u8", "f8")),
]  # fmt: skip


@pytest.mark.sampled(8)
@ORDERS
@pytest.mark.parametrize("n", [100, 128, 300])
@pytest.mark.parametrize("dtype", DTYPES)
def test_order(f: Any, n: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal elements keep their order, zeros too; NaN comes last."""
    small_tiles(monkeypatch)
    x = drawn(dtype, 2, n)
    program = trace(lambda x: f(x, 1, kind="stable"))(x)
    device = mapped(program, CARD)
    assert by_digits(device)
    (found,) = run(device, program, [x])
    np.testing.assert_array_equal(found, f(x, 1, kind="stable"))
    if dtype[0] == "f" and f is np.sort:
        zeros = [np.signbit(each[each == 0]).tolist() for each in x]
        assert [np.signbit(each[each == 0]).tolist() for each in np.asarray(found)] == zeros


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["one column", "equal", "reversed"])
def test_layouts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are apart in memory; one digit for all; views."""
    small_tiles(monkeypatch)
    x = RNG.integers(-(1 << 15), 1 << 15, (150, 2)).astype("i2")
    x = np.zeros_like(x) if name == "equal" else x
    f: Any = (lambda x: np.sort(x[::-1], 0)) if name == "reversed" else _argsort
    program = trace(f)(x)
    (found,) = run(mapped(program, CARD), program, [x])
    np.testing.assert_array_equal(found, f(x))


def test_barriers_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its barriers the sort has a race."""
    small_tiles(monkeypatch)
    x = drawn("u1", 150)
    program = trace(lambda x: np.argsort(x))(x)
    device = mapped(program, CARD)
    found = [b for kernel in device.launches for b in barriers(kernel.body)]
    assert len(found) > 10
    for body, position in reversed(found):
        del body[position]
    with pytest.raises(RaceError):
        run(device, program, [x])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u8", "?"])
def test_printed_digits(dtype: str) -> None:
    """The printed function and the executor agree, and digits order the numbers."""
    x = drawn(dtype, 200)
    helpers = Helpers()
    name = helpers.digit({"?": "bool"}.get(dtype, f"{dtype[0]}{8 * x.itemsize}"))
    jit = SimpleNamespace(jit=lambda **options: lambda f: f)
    namespace: dict[str, Any] = {"np": np, "cuda": jit, "libdevice": libdevice}
    exec(helpers.texts[name], namespace)
    shifts = [8 * k for k in reversed(range(x.itemsize))]
    with np.errstate(all="ignore"):
        printed = [[int(namespace[name](each, shift)) for each in x] for shift in shifts]
    executed = [digit(x, np.full(x.shape, shift)) for shift in shifts]
    np.testing.assert_array_equal(printed, executed)
    order = np.lexsort([*reversed(executed)])
    np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))


@pytest.mark.parametrize(
    ("dtype", "f", "n", "expected"),
    [
        ("f4", np.sort, 10**6, False), ("f4", np.sort, 10**7, True),
        ("f4", np.argsort, 10**5, False), ("f4", np.argsort, 10**6, True),
        ("f8", np.sort, 10**7, False), ("f8", np.argsort, 10**7, True),
        ("i2", np.sort, 10**6, True), ("f4", np.sort, 1 << 31, False),
    ],
)  # fmt: skip
def test_long_rows_are_sorted_by_digits(dtype: str, f: Any, n: int, expected: bool) -> None:
    """If the estimate says that it is faster; places have 32 bits."""
    device = mapped(trace(lambda x: f(x))(np.broadcast_to(np.array(1, dtype), (n,))), Machine())
    assert by_digits(device) == expected
    for kernel in device.launches:
        assert sum(b.size * itemsize(b.dtype) for b in kernel.shared) <= 46 << 10


@pytest.mark.parametrize(("f", "kernels", "lines"), [(np.sort, 5, 670), (np.argsort, 6, 910)])
def test_later_passes_are_the_same_kernels(f: Any, kernels: int, lines: int) -> None:
    program = trace(lambda x: f(x))(np.broadcast_to(np.float32(1), (10**7,)))
    every = every_kernel(program)
    assert len(every) == 12
    assert len({named.kernel.key for named in every}) == kernels
    text = print_device_source(mapped(program, Machine()), Machine()).text
    assert len(text.splitlines()) <= lines
