"""Linear algebra, sorting and Fourier transforms against NumPy, by threads and by blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import trace
from autojit.codegen.cuda.device_program.calls import LibraryCall
from autojit.codegen.cuda.device_program.nodes import DeviceKernel
from autojit.codegen.cuda.device_program.traffic import traffic
from autojit.codegen.cuda.executor.coalescing import Coalescing
from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.matrices import merging
from autojit.codegen.cuda.source import print_device_source
from autojit.codegen.loop_ir.cost import itemsize
from autojit.ir.tools.interpreter import interpret
from tests.codegen.cuda.running import SMALL, arguments_of, assert_same, check, mapped, run

RNG = np.random.default_rng(0)
MACHINES = pytest.mark.parametrize("machine", [SMALL, Machine()], ids=["small", "large"])


def matrices(dtype: str, *shape: int) -> Any:
    real = RNG.normal(size=shape)
    return (real + 1j * RNG.normal(size=shape) if dtype[0] == "c" else real).astype(dtype)


@pytest.mark.sampled(8)
@MACHINES
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", [(2, 2), (40, 2, 2), (13, 13), (2, 9, 9)], ids=str)
def test_factors(shape: tuple[int, ...], dtype: str, machine: Machine) -> None:
    a = matrices(dtype, *shape)
    square = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(shape[-1])
    check(trace(np.linalg.cholesky)(square), [square], machine)
    check(trace(np.linalg.solve)(a, a), [a, square], machine)
    check(trace(np.linalg.det)(a), [a], machine)
    check(trace(lambda a: np.linalg.qr(a))(a), [a], machine)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_orthogonal_columns_that_are_added(dtype: str) -> None:
    a = matrices(dtype, 3, 9, 4)
    a[1, :, 0] = 0
    a[2, 1:, 0] = 0
    check(trace(lambda a: np.linalg.qr(a, "complete"))(a), [a])


def test_matrices_that_have_no_factors() -> None:
    singular = np.ones((3, 4, 4))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        check(trace(np.linalg.inv)(singular), [singular])
    program = trace(np.linalg.cholesky)(singular)
    device, arrays = mapped(program), arguments_of(program, [-singular])
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        run(device, program, arrays)


def turned(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def low_rank(dtype: str) -> Any:
    """Equal columns, one of zeros, and values of very different sizes."""
    a = matrices(dtype, 3, 5, 4)
    a[0, :, 1], a[0, :, 2] = a[0, :, 0], 0
    a[1] = 0
    a[2] *= [1e120, 1, 1e-90, 0] if dtype[-1] in "86" and dtype != "c8" else [1e9, 1, 1e-9, 0]
    return a


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("wide", [False, True])
def test_singular_values_and_vectors(dtype: str, wide: bool) -> None:
    """Vectors are orthonormal even if singular values are zero; NumPy's may have other phases."""
    a = low_rank(dtype)
    a = turned(a) if wide else a
    program = trace(lambda a: (*np.linalg.svd(a), np.linalg.pinv(a, 1e-5)))(a)
    u, s, vh, x = run(mapped(program), program, arguments_of(program, [a]))
    wanted = np.linalg.svd(a, compute_uv=False)
    eps = 20 * np.finfo(s.dtype).eps
    tall = np.max(wanted, -1)[:, None, None]
    assert (np.abs(s - wanted) <= eps * tall[..., 0]).all()
    for q in (u, turned(vh)):
        np.testing.assert_allclose(turned(q) @ q - np.eye(q.shape[-1]), 0, atol=eps)
    rebuilt = (u[..., :4] * s[:, None, :]) @ vh[..., :4, :]
    assert (np.abs(rebuilt - a) <= eps * tall).all()
    np.testing.assert_allclose(x[:2], np.linalg.pinv(a[:2], 1e-5), 1e3 * eps, 1e3 * eps)


@pytest.mark.sampled(4)
@MACHINES
@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_eigenvalues_of_hermitian_matrices(dtype: str, machine: Machine) -> None:
    """Only one triangle is read; with equal eigenvalues, and with all of them zero."""
    a = matrices(dtype, 3, 6, 6)
    a[1] = np.ones((6, 6))
    a[2] = 0
    program = trace(lambda a: (np.linalg.eigh(a, "U"), np.linalg.eigvalsh(a)))(a)
    w, v, again = run(mapped(program, machine), program, arguments_of(program, [a]))
    whole = np.triu(a) + turned(np.triu(a, 1))
    whole[:, np.arange(6), np.arange(6)] = whole[:, np.arange(6), np.arange(6)].real
    eps = 60 * np.finfo(w.dtype).eps
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a, "U"), atol=eps)
    np.testing.assert_allclose(again, np.linalg.eigvalsh(a), atol=eps)
    np.testing.assert_allclose(whole @ v, v * w[:, None, :], atol=eps)
    np.testing.assert_allclose(turned(v) @ v - np.eye(6), 0, atol=eps)


@pytest.mark.parametrize(
    ("name", "words"), [("eigvalsh", "Eigenvalues did"), ("svd", "SVD did not")]
)
def test_numbers_that_are_none_have_no_factors(name: str, words: str) -> None:
    a = np.full((2, 3, 3), np.nan)
    program = trace(getattr(np.linalg, name))(a)
    with pytest.raises(np.linalg.LinAlgError, match=words):
        run(mapped(program), program, arguments_of(program, [a]))


@pytest.mark.sampled(2)
@MACHINES
@pytest.mark.parametrize("n", [0, 1, 5, 32, 33, 64, 100, 300])
@pytest.mark.parametrize("dtype", ["f8", "i2"])
def test_order(dtype: str, n: int, machine: Machine) -> None:
    """Equal elements keep their order, and NaN comes last."""
    x = RNG.integers(0, max(1, n // 3), (2, n)).astype(dtype)
    if dtype == "f8":
        x[x == 1] = np.nan
    program = trace(lambda x: (np.argsort(x, 1, kind="stable"), np.sort(x, 1)))(x)
    check(program, [x], machine)


def test_sorting_moves_nothing_but_elements() -> None:
    x = RNG.normal(size=(2, 100)).astype("f4")
    device = check(trace(lambda x: np.sort(x, 1))(x), [x], Machine())
    assert {b.dtype for k in device.launches for b in k.buffers} == {"f32"}
    assert len(device.launches) == 1


ORDERS = pytest.mark.parametrize("f", [np.sort, np.argsort])


def small_tiles(monkeypatch: pytest.MonkeyPatch, dtype: Any, f: Any) -> None:
    """Use tiles of 64 elements."""
    each = np.dtype(dtype).itemsize + (4 if f is np.argsort else 0)
    monkeypatch.setattr(merging, "MOST_BYTES", 2 * each * 64)


@pytest.mark.sampled(24)
@ORDERS
@pytest.mark.parametrize("n", [64, 65, 128, 129, 200, 300])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1", "i8", "?", "f2"])
def test_tiles_are_merged(f: Any, n: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with equal elements, both zeros, both infinities, NaN, and the largest integer."""
    small_tiles(monkeypatch, "f4" if dtype == "f2" else dtype, f)
    x = RNG.integers(0, 9, (2, n)).astype(dtype)
    if dtype[0] == "f":
        few = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf], dtype)
        x[:, ::3] = few[RNG.integers(0, 5, x[:, ::3].shape)]
    elif dtype != "?":
        x[:, ::5] = np.iinfo(dtype).max
    program = trace(lambda x: f(x, 1, kind="stable"))(x)
    (found,) = run(mapped(program), program, [x])
    np.testing.assert_array_equal(found, f(x, 1, kind="stable"))
    if dtype[0] == "f" and f is np.sort:  # equal numbers keep their order, zeros too
        zeros = [np.signbit(each[each == 0]).tolist() for each in x]
        assert [np.signbit(each[each == 0]).tolist() for each in np.asarray(found)] == zeros


def test_rows_of_columns_are_sorted_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    small_tiles(monkeypatch, "f8", np.sort)
    x = RNG.normal(size=(150, 2, 2))
    device = check(trace(lambda x: np.sort(x, 0))(x), [x])
    assert any(b.kind == "shared" for k in device.launches for b in k.shared)


@ORDERS
def test_tiles_take_the_shared_memory_of_a_block(f: Any) -> None:
    x = np.broadcast_to(np.zeros(()), (10**5,))
    device = mapped(trace(lambda x: f(x))(x), Machine())
    tile = {np.sort: 2048, np.argsort: 1024}[f]
    assert len({k.name for k in device.launches}) == len(device.launches)
    assert len(device.launches) == 1 + int(np.ceil(np.log2(1e5 / tile)))
    for kernel in device.launches:
        assert sum(b.size * itemsize(b.dtype) for b in kernel.shared) <= 46 << 10


@pytest.mark.parametrize(("f", "lines"), [(np.sort, 340), (np.argsort, 530)])
def test_a_long_sort_is_a_short_text(f: Any, lines: int) -> None:
    """Numba takes about a second for a hundred lines, on a slow machine."""
    device = mapped(trace(lambda x: f(x))(np.broadcast_to(np.zeros(()), (10**5,))), Machine())
    assert len(print_device_source(device, Machine()).text.splitlines()) <= lines


@ORDERS
def test_a_pass_reads_and_writes_elements_once(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each launch touches at most 1.4 times the sectors that it must read and write."""
    monkeypatch.setattr(merging, "MOST_BYTES", 2 * 12 * 512)
    x = RNG.normal(size=4096)
    counter, program = Coalescing(), trace(lambda x: f(x))(x)
    device = mapped(program, Machine(processors=2))
    execute(device, [x], counter=counter)
    least = sum(traffic(k).total for k in device.launches) / 32
    assert sum(counter.sectors.values()) <= 1.4 * least


@pytest.mark.sampled(5)
@MACHINES
@pytest.mark.parametrize("n", [1, 2, 7, 8, 30, 34, 64, 67, 100, 125, 169])
def test_transforms(n: int, machine: Machine) -> None:
    """Lengths transformed in one pass, in several, by sums (34) and by a convolution (67)."""
    x = matrices("c16", 3, n)
    program = trace(lambda x: (np.fft.fft(x), np.fft.ifft(x, axis=0), np.fft.irfft(x, n)))(x)
    check(program, [x], machine)
    check(trace(lambda x: np.fft.rfft(x))(x.real), [x.real], machine)


@pytest.mark.parametrize(("n", "launches"), [(1024, 2), (4096, 5), (1009, 14)])
def test_long_transforms_are_as_exact_as_numpys(n: int, launches: int) -> None:
    """Lines in shared memory are read and written once, longer ones once per radix-8 pass."""
    x = matrices("c16", 2, n)
    program = trace(lambda x: np.fft.fft(x))(x)
    device = mapped(program, Machine())
    (found,) = run(device, program, [x])
    exact = np.fft.fft(x.astype(np.clongdouble))
    errors = [float(np.abs(y - exact).max()) for y in (found, np.fft.fft(x))]
    assert errors[0] <= 2 * errors[1]
    assert len(device.launches) == launches
    table = 16 * n
    moved = [traffic(k).total - table for k in device.launches if not isinstance(k, LibraryCall)]
    if n != 1009:
        assert max(moved) <= 2 * x.nbytes + table


def test_transforms_across_lines() -> None:
    """If the numbers of a line are far apart, neighbouring threads have neighbouring lines."""
    x = matrices("c8", 5, 64, 7)
    device = check(trace(np.fft.fftn)(x), [x], Machine())
    assert len(device.launches) == 5


def test_matrices_in_steps() -> None:
    """Factors within a loop, by the threads of its block."""
    from autojit import scan

    def f(a: Any, b: Any) -> Any:
        def step(c: Any, r: Any) -> Any:
            spectrum = np.abs(np.fft.fft(np.sort(r)))
            return np.linalg.solve(a, c) + spectrum[:, None], c

        return scan(step, b, b.T)

    a, b = matrices("f8", 6, 6) + 6 * np.eye(6), matrices("f8", 6, 6)
    program = trace(f)(a, b)
    arrays = arguments_of(program, [a, b])
    assert_same(run(mapped(program), program, arrays), [np.asarray(x) for x in f(a, b)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_matrices_of_a_block_lie_in_its_shared_memory(name: str) -> None:
    """This also holds for many matrices: they are read and written once, by neighbouring
    threads."""
    machine, n, count = Machine(processors=1, resident=64, threads=64, row=4, warp=4), 12, 20
    a = matrices("f8", count, n, n) + 6 * np.eye(n)
    f: Any = {"cholesky": np.linalg.cholesky, "lu": np.linalg.det, "qr": np.linalg.qr}[name]
    a = a @ turned(a) if name == "cholesky" else a
    program, counter = trace(lambda a: f(a))(a), Coalescing()
    arrays, device = arguments_of(program, [a]), mapped(program, machine)
    found = execute(device, arrays, counter=counter)
    assert_same([x.reshape(t.shape) for x, t in zip(found, program.out_types, strict=True)],
                interpret(program, arrays))  # fmt: skip
    kernel = next(k for k in device.launches if k.name.startswith(name))
    assert isinstance(kernel, DeviceKernel)
    assert kernel.shared
    assert kernel.threads == 16
    # Reads by few threads use only parts of sectors; the pivots, and R, add little.
    assert counter.sectors[kernel.name] <= (3 if name == "qr" else 2.5) * count * n * n / 4


def test_matrices_that_do_not_fit_stay_where_they_are() -> None:
    a = np.broadcast_to(np.eye(90), (4, 90, 90))
    (kernel,) = mapped(trace(np.linalg.cholesky)(a), Machine()).launches
    assert isinstance(kernel, DeviceKernel)
    assert not kernel.shared
    (kernel,) = mapped(trace(np.linalg.cholesky)(a.astype("f4")), Machine()).launches
    assert isinstance(kernel, DeviceKernel)
    assert [b.size for b in kernel.shared] == [90 * 90]
    # Arrays would fill the 48 KiB, but functions that combine values need some of it.
    a = np.broadcast_to(np.eye(64, dtype="f4"), (4, 64, 64))
    (kernel,) = mapped(trace(np.linalg.qr)(a), Machine()).launches
    assert isinstance(kernel, DeviceKernel)
    assert sum(4 * b.size for b in kernel.shared) <= 46 << 10
