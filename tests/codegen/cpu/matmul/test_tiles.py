"""Matrix products in tiles: every shape and layout, on every kind of processor."""

from __future__ import annotations

import dataclasses
import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import jit
from autojit.codegen.cpu.host import engine
from autojit.codegen.cpu.llvm import library
from autojit.codegen.cpu.matmul import tile_functions
from autojit.codegen.cpu.matmul.tiles import tile_for
from autojit.codegen.loop_passes import products
from autojit.ir.core import machine

TOLERANCE = {"f4": 2e-5, "f8": 1e-13}
#: Vector registers: bytes and number for AVX-512, AVX, SSE and Arm.
PROCESSORS = [(64, 32), (32, 16), (16, 16), (16, 32)]
SHAPES = [
    (2, 1, 8), (1, 40, 40), (3, 5, 9), (8, 2, 16), (7, 2, 50), (13, 7, 33), (33, 65, 17),
    (64, 10, 128), (100, 100, 100), (70, 513, 25), (17, 1100, 40), (32, 1024, 48),
]  # fmt: skip


def with_vectors(registers: tuple[int, int]) -> machine.Machine:
    """This machine with other vector registers."""
    size, count = registers
    return dataclasses.replace(machine.current(), vector_bytes=size, vector_registers=count)


def way(function: Any, *arguments: Any) -> set[str]:
    """How the products of a function are computed, according to the loops."""
    text = jit(function).lower(*arguments).text("loops")
    lines = [line for line in text.splitlines() if " @ " in line]
    return {way for line in lines for way in ("tiles", "blocks", "BLAS") if f", {way}" in line}


def swapped(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def way_and_error(
    registers: tuple[int, int], dtype: str, layout: str, shape: tuple[int, int, int]
) -> tuple[set[str], float]:
    """How a product is computed, and its error."""
    rng = np.random.default_rng(2)
    m, k, n = shape
    a = rng.standard_normal((k, m) if layout[0] == "T" else (m, k)).astype(dtype)
    b = rng.standard_normal((n, k) if layout[1] == "T" else (k, n)).astype(dtype)

    def product(a: Any, b: Any) -> Any:
        a = swapped(a) if layout[0] == "T" else a
        # The added number makes a separate program for each processor.
        return a @ (swapped(b) if layout[1] == "T" else b) + float(registers[0] + registers[1])

    exact = product(a.astype("f8"), b.astype("f8"))
    error = np.abs(jit(product)(a, b) - exact).max() / np.abs(exact).max()
    return way(product, a, b), float(error)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("layout", ["NN", "TN", "NT", "TT"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_shape_and_layout(dtype: str, layout: str, batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)

    def product(a: Any, b: Any) -> Any:
        a = swapped(a) if layout[0] == "T" else a
        return a @ (swapped(b) if layout[1] == "T" else b)

    for m, k, n in SHAPES[1::2] if batch else SHAPES:
        a = rng.standard_normal((*batch, *((k, m) if layout[0] == "T" else (m, k)))).astype(dtype)
        b = rng.standard_normal((*batch, *((n, k) if layout[1] == "T" else (k, n)))).astype(dtype)
        exact = product(a.astype("f8"), b.astype("f8"))
        error = np.abs(jit(product)(a, b) - exact).max() / np.abs(exact).max()
        assert error < TOLERANCE[dtype], (m, k, n)


@pytest.mark.parametrize("registers", PROCESSORS, ids=["AVX-512", "AVX", "SSE", "Arm"])
def test_tiles_of_every_processor(
    registers: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_told", [with_vectors(registers)])
    rng = np.random.default_rng(1)
    for (m, k, n), dtype in itertools.product([(3, 400, 11), (9, 600, 8), (37, 40, 50)], TOLERANCE):
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((n, k)).astype(dtype)
        for function, right in ((lambda a, b: a @ b, b.T.copy()), (lambda a, b: a @ b.T, b)):
            assert way(function, a, right) == {"tiles"}
            found = jit(function)(a, right)
            np.testing.assert_allclose(found, function(a, right), atol=k * TOLERANCE[dtype])


@pytest.mark.parametrize("registers", PROCESSORS)
def test_a_tile_stays_in_registers(registers: tuple[int, int]) -> None:
    width, count = registers
    for m, n, size in itertools.product([1, 2, 7, 8, 12, 100], [8, 9, 31, 64, 1000], [4, 8]):
        tile = tile_for(m, n, size, width, count)
        assert tile.rows <= m
        assert tile.columns <= n
        assert tile.lanes * size <= width
        assert tile.rows * tile.vectors + tile.vectors + 1 <= count


@pytest.mark.usefixtures("one_machine")
def test_what_goes_to_the_blas() -> None:
    """Complex numbers, and fewer columns than a vector register holds."""
    x = np.ones((64, 64))
    assert way(lambda x: x @ x, x) == {"tiles"}
    assert way(lambda x: x @ x, x + 0j) == {"BLAS"}
    assert way(lambda x: x @ x[:, :5], x) == {"BLAS"}
    long = np.ones((10, 30_000))
    assert way(lambda x: x @ x.T, long) == {"BLAS"}


def test_batches_with_axes_in_any_order() -> None:
    """Attention heads: the batch axis lies between the axes of the matrices."""
    rng = np.random.default_rng(2)
    q, k = rng.standard_normal((2, 2, 40, 4, 16))

    def scores(q: Any, k: Any) -> Any:
        return np.einsum("bihd,bjhd->bhij", q, k)

    np.testing.assert_allclose(jit(scores)(q, k), scores(q, k), rtol=1e-12, atol=1e-12)
    assert way(scores, q, k) == {"tiles"}
    shared = rng.standard_normal((16, 24))
    np.testing.assert_allclose(jit(lambda q, s: q @ s)(q, shared), q @ shared, atol=1e-12)


def test_what_is_not_a_number_stays_in_its_row_and_column() -> None:
    a, b = np.ones((40, 30)), np.ones((30, 50))
    a[7, 3], b[4, 9] = np.nan, np.inf
    found = jit(lambda a, b: a @ b)(a, b)
    np.testing.assert_array_equal(found, a @ b)


def test_long_sums_of_float32_keep_their_digits() -> None:
    """As many as in a BLAS: a single sum of 60,000 terms would lose three of them."""
    a, b = np.full((8, 60_000), 0.1, np.float32), np.full((60_000, 16), 0.1, np.float32)
    found = jit(lambda a, b: a @ b)(a, b)
    assert way(lambda a, b: a @ b, a, b) == {"tiles"}
    np.testing.assert_allclose(found, 60_000 * np.float64(np.float32(0.1)) ** 2, rtol=2e-5)


def test_gradients_through_products_in_loops() -> None:
    rng = np.random.default_rng(3)
    w, x = rng.standard_normal((24, 24)) / 5, rng.standard_normal((16, 24))

    def last(w: Any) -> Any:
        step = lambda x, _: (np.tanh(x @ w.T), None)  # noqa: E731
        return np.sum(autojit.scan(step, x, length=6)[0] ** 2)

    autojit.testing.check_grads(last, (w,), order=1)
    text = jit(autojit.grad(last)).lower(w).text("loops")
    assert "tiles" in text
    assert "BLAS" not in text


def test_functions_of_the_library_are_compiled_once() -> None:
    """A second program with products does not compile them again, and gets its own copy."""
    x = np.ones((48, 48))
    first = jit(lambda x: (x @ x) * 2.0)
    first(x)
    made: list[str] = []
    part = engine._Part

    class Counting(part):  # type: ignore[misc, valid-type]
        def __init__(self, text: str) -> None:
            made.append(text)
            super().__init__(text)

    second = jit(lambda x: (x @ x) * 3.0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "_Part", Counting)
        np.testing.assert_array_equal(second(x), 3.0 * (x @ x))
    assert made
    assert set(made).isdisjoint(library._texts.values())
    assert '@"multiply"' in library._texts["multiply"]


CHILD = """
import sys
import numpy as np
from autojit import jit
rng = np.random.default_rng(0)
a, b = rng.standard_normal((2, 300, 300))
sys.stdout.buffer.write(jit(lambda a, b: a @ b.T)(a, b).tobytes())
"""


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads() -> None:
    results = {
        subprocess.run(
            [sys.executable, "-c", CHILD],
            env={**os.environ, "NUMBA_NUM_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "3")
    }
    assert len(results) == 1


def test_products_count_in_the_cost() -> None:
    x = np.ones((200, 200))
    cost = jit(lambda x: x @ x).lower(x).cost()
    assert cost["products"] == 1
    assert cost["flops"] == 2 * 200**3
    assert cost["loops"] == cost["kernels"] == 0


def test_groups_cover_each_row_once() -> None:
    """For long sums, the last tile is a separate group: added twice, it would be wrong."""
    assert tile_functions.BLOCK < 1100
    rng = np.random.default_rng(4)
    for m in range(1, 40):
        a, b = rng.standard_normal((m, 1100)), rng.standard_normal((1100, 9))
        np.testing.assert_allclose(jit(lambda a, b: a @ b)(a, b), a @ b, rtol=1e-11, atol=1e-11)


# -- steps that lie far apart ------------------------------------------------------

#: With tiles that do not overlap, a short last part, several parts; and with overlapping tiles.
FAR_SHAPES = {
    "f4": [(512, 1200, 64), (256, 263, 32), (1024, 300, 256), (257, 300, 48), (600, 4000, 16)],
    "f8": [(128, 1200, 64), (256, 137, 24), (512, 150, 512), (128, 300, 37), (600, 2000, 16)],
}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("layout", ["NN", "TN", "NT", "TT"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("registers", PROCESSORS, ids=["AVX-512", "AVX", "SSE", "Arm"])
def test_sums_in_parts_of_steps_that_lie_far_apart(
    registers: tuple[int, int], dtype: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_told", [with_vectors(registers)])
    for shape in FAR_SHAPES[dtype]:
        found, error = way_and_error(registers, dtype, layout, shape)
        assert found == {"tiles"}
        assert error < TOLERANCE[dtype], shape


def test_batches_of_steps_that_lie_far_apart() -> None:
    """The values of attention, by rows and by columns of the weights."""
    rng = np.random.default_rng(6)
    shares, values = rng.standard_normal((3, 500, 128)), rng.standard_normal((3, 500, 24))
    for function in (
        lambda a, b: swapped(a) @ b,
        lambda a, b: swapped(b) @ a,
        lambda a, b: np.einsum("hij,hik->jk", a, b),
    ):
        found = jit(function)(shares, values)
        np.testing.assert_allclose(found, function(shares, values), rtol=1e-11, atol=1e-11)


def matrix_product(m: int, k: int, n: int, layout: str, dtype: str = "f32") -> Any:
    """A product of contiguous matrices, transposed or not."""
    buffer, zero = products.Buffer("c", dtype, m * n, "temp"), products.Affine(0)
    a = products.Operand(buffer, zero, (k, 1) if layout[0] == "N" else (1, m))
    b = products.Operand(buffer, zero, (n, 1) if layout[1] == "N" else (1, k))
    return products.MatrixProduct(dtype, (), m, n, k, a, b, buffer, zero)


def test_which_steps_lie_far_apart() -> None:
    def far(*arguments: Any) -> tuple[bool, bool]:
        return products.is_far(matrix_product(*arguments))

    assert far(1024, 1024, 64, "TN") == (True, False)
    assert far(64, 1024, 1024, "TN") == (False, True)
    assert far(64, 1024, 1024, "TT") == (False, False)  # B is packed, whatever its strides
    assert far(1024, 1024, 64, "NN") == (False, False)
    assert far(1000, 1024, 64, "TN") == (False, False)  # maps to all sets of the caches
    assert far(1000, 2048, 64, "TN") == (True, False)  # also, but too large
    assert far(1024, 256, 64, "TN") == (False, False)  # a short sum
    assert products.chosen(matrix_product(64, 1024, 1024, "TN")).panel is not None
    assert products.chosen(matrix_product(8, 1024, 1024, "TN")).panel is None


@pytest.mark.parametrize("k", [129, 183, 257, 300, 631, 1446, 10627, 999_983])
def test_no_part_is_too_short(k: int) -> None:
    for m, dtype in itertools.product([256, 512, 4096], ["f32", "f64"]):
        steps = products.steps_of(matrix_product(m, k, 64, "TN", dtype))
        assert 16 <= steps <= k
        assert (k - 1) % steps + 1 >= products.LEAST_STEPS


# -- large products, in blocks ----------------------------------------------------

#: With and without overlapping ends in rows, columns and steps; the last block of steps is short.
LARGE = [
    (4, 40, 32), (5, 257, 35), (32, 8, 32), (33, 9, 40), (192, 300, 72), (200, 513, 33),
    (193, 1029, 100), (391, 2053, 50),
]  # fmt: skip


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "MOST", 0)
    monkeypatch.setattr(products, "FEW_ROWS", 0)


@pytest.mark.sampled(27)
@pytest.mark.parametrize("layout", ["NN", "TN", "NT", "TT"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("registers", PROCESSORS, ids=["AVX-512", "AVX", "SSE", "Arm"])
def test_large_products_of_every_layout(
    registers: tuple[int, int],
    dtype: str,
    layout: str,
    in_blocks: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "_told", [with_vectors(registers)])
    for shape in LARGE:
        found, error = way_and_error(registers, dtype, layout, shape)
        assert found == {"blocks"}
        assert error < TOLERANCE[dtype] / 10, shape


def test_large_products_of_a_batch_share_a_factor(in_blocks: None) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 3, 50, 70)), rng.standard_normal((3, 70, 41))
    assert way(lambda a, b: a @ b, a, b) == {"blocks"}
    np.testing.assert_allclose(jit(lambda a, b: a @ b)(a, b), a @ b, atol=1e-12)


def test_which_products_are_whose() -> None:
    """For few rows the other matrix is read once; blocks need columns, and enough steps to pay for
    a copy."""

    def product(a: Any, b: Any) -> Any:
        return a @ b

    def shapes(m: int, k: int, n: int) -> set[str]:
        return way(product, np.empty((m, k)), np.empty((k, n)))

    assert shapes(500, 500, 500) == {"tiles"}
    assert shapes(600, 600, 600) == {"blocks"}
    assert shapes(8, 3000, 8000) == {"tiles"}
    assert shapes(9, 3000, 8000) == {"blocks"}
    assert shapes(8000, 3000, 16) == {"BLAS"}
    assert shapes(8000, 4, 8000) == {"BLAS"}
    assert way(product, np.empty((600, 600), complex), np.empty((600, 600), complex)) == {"BLAS"}


@pytest.mark.parametrize("k", [8, 256, 257, 263, 511, 512, 513, 1000, 128_003, 999_983])
def test_no_block_is_too_short(k: int) -> None:
    for dtype in ("f32", "f64"):
        buffer = products.Buffer("c", dtype, 1, "temp")
        zero = products.Affine(0)
        operand = products.Operand(buffer, zero, (1, 1))
        product = products.MatrixProduct(dtype, (), 99, 99, k, operand, operand, buffer, zero)
        block = products.block_of(product)
        assert block * (4 if dtype == "f32" else 8) <= products.BLOCK_BYTES
        assert (k - 1) % block + 1 >= min(k, products.LEAST_STEPS)
