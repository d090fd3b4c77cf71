"""Large results reuse the memory of results that are no longer referenced."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from autojit import jit
from autojit.codegen.cpu.abi.results import POOLED, Block, Pool, allocator, pool

LARGE = POOLED // 8 + 5


@pytest.mark.slow
def test_memory_comes_back_with_the_last_view() -> None:
    double = jit(lambda x: x * 2)
    x = np.arange(LARGE, dtype=float)
    first = double(x)
    address = first.ctypes.data
    part = first[10:20]
    del first
    second = double(x + 1)
    assert second.ctypes.data != address
    np.testing.assert_array_equal(part, 2 * x[10:20])
    del part
    gc.collect()
    third = double(x)
    assert third.ctypes.data == address
    np.testing.assert_array_equal(third, 2 * x)
    np.testing.assert_array_equal(second, 2 * (x + 1))


def test_results_are_ordinary_arrays_that_can_be_fed_back() -> None:
    double = jit(lambda x: x * 2)
    y = double(double(np.ones(LARGE)))
    assert type(y) is np.ndarray
    assert y.flags.writeable
    assert y.flags.c_contiguous
    assert y.dtype is np.dtype(float)
    y += 1
    assert y[0] == 5


def test_the_pool_keeps_no_more_than_it_may() -> None:
    small = Pool(most=3 << 20)
    blocks = [Block(1 << 20) for _ in range(5)]
    for block in blocks:
        small.give_back(block)
    assert small.kept == 3 << 20
    small.give_back(Block(4 << 20))
    assert small.kept == 3 << 20
    taken = small.take(1 << 20)
    assert any(taken is block for block in blocks)
    assert small.kept == 2 << 20
    small.clear()
    assert small.kept == 0


@pytest.mark.slow
def test_a_lease_gives_its_block_back_once() -> None:
    own = Pool()
    array = allocator((8,), np.dtype(float), own)()
    assert own.kept == 0
    del array
    gc.collect()
    assert own.kept == 64


def test_a_block_is_lent_to_arrays_of_several_types() -> None:
    own = Pool()
    make = [allocator((8,), np.dtype("f8"), own), allocator((4, 2, 2), np.dtype("i4"), own)]
    addresses = set()
    for k in (0, 1, 1, 0):
        array = make[k]()
        assert (array.shape, array.dtype.str) == [((8,), "<f8"), ((4, 2, 2), "<i4")][k]
        assert array.ctypes.data % 64 == 0
        addresses.add(array.ctypes.data)
        del array
    assert len(addresses) == 1


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "?"])
def test_allocators_make_arrays_of_the_type(dtype: str) -> None:
    array = allocator((3, 4), np.dtype(dtype))()
    assert (array.shape, array.dtype) == ((3, 4), np.dtype(dtype))


def test_threads_never_share_a_result() -> None:
    double = jit(lambda x: x * 2)
    wrong: list[int] = []

    def work(k: int) -> None:
        x = np.full(LARGE, float(k))
        for _ in range(20):
            if not (double(x) == 2 * k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    pool.clear()
