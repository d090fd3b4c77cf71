"""Tests in numba's CUDA simulator, which must be selected before numba is imported.

`test_simulator.py` runs this file in a separate process; to examine a failure, run it as

    NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/codegen/cuda/in_simulator.py
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import jit, while_loop
from autojit.codegen.cuda import tapes
from autojit.codegen.cuda.driver.cards import is_simulated
from autojit.codegen.cuda.driver.simulated import Simulator
from autojit.codegen.cuda.runtime import compile_for_cuda
from autojit.codegen.scheduling import op_loops
from autojit.ir.core import halves
from autojit.ir.core.program import Builder, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.index import scatter_add
from tests.codegen.cuda.kernel_programs import PROGRAMS, arguments

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (9, 18))


def test_this_is_the_simulator() -> None:
    assert is_simulated()


def leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def assert_same(got: Any, want: Any, tolerance: float = 1e-10) -> None:
    for a, b in zip(leaves(got), leaves(want), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, tolerance, tolerance)


def on_gpu(f: Callable[..., Any], *arguments: Any) -> Any:
    return jit(f, device="cuda")(*arguments)


# -- a program of each class of kernels ---------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    """The text computes the same as the device program; the executor runs many more programs."""
    f, shapes, _ = PROGRAMS[name]
    x = arguments(shapes)
    with np.errstate(all="ignore"):
        want = jit(f)(*x)
    assert_same(on_gpu(f, *x), want)


# -- each way of running a kernel ----------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_products_of_batches_in_any_layout(dtype: str) -> None:
    a, b = (RNG.normal(size=s) + (1j if dtype[0] == "c" else 0) for s in ((2, 1, 5, 3), (2, 4, 3)))
    a, b = a.astype(dtype), b.astype(dtype)

    def f(a: Any, b: Any) -> Any:
        return a @ np.swapaxes(b, -1, -2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(op_loops, "SMALL_PRODUCT", 0)
        assert_same(on_gpu(f, a, b), f(a, b), 1e-5 if dtype == "f4" else 1e-12)


def test_a_kernel_that_one_block_runs() -> None:
    """No atomic operation adds 8-bit integers."""
    builder = Builder()
    updates, places = Value(Type(np.dtype("i1"), (3,))), Value(Type(np.dtype("i8"), (3,)))
    with building(builder):
        result = scatter_add(updates, places, axes=(0,), shape=(4,))
    executable = compile_for_cuda(builder.finish([updates, places], [result]))
    assert "One block does everything." in executable.printed.text
    assert_same(
        executable.call([np.array([5, 6, 7], np.int8), np.array([1, 1, 3])]),
        np.array([0, 11, 0, 7], np.int8),
    )


def test_errors_of_the_user_and_of_matrices() -> None:
    def checked(x: Any) -> Any:
        if np.any(x < 0):
            raise ValueError("x < 0")
        return np.sqrt(x)

    compiled = jit(checked, device="cuda")
    assert_same(compiled(np.ones(3)), np.ones(3))
    with pytest.raises(ValueError, match="x < 0"):
        compiled(-np.ones(3))
    assert_same(compiled(np.ones(3)), np.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        on_gpu(np.linalg.inv, np.ones((3, 3)))


def test_a_loop_ends_where_an_index_is_out_of_bounds() -> None:
    """With the element used in its place, the loop's condition would always hold."""
    x = np.ones(5)
    with pytest.raises(IndexError, match="out of bounds"):
        on_gpu(lambda x: while_loop(lambda i: x[i] > 0, lambda i: i + 1, 0), x)
    with pytest.raises(IndexError, match="out of bounds"):
        on_gpu(lambda x: while_loop(lambda c: np.sum(x[c]) > 0, lambda c: c + 1, np.arange(5)), x)


def test_tapes_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop with more steps than its tapes have room for runs again with longer tapes."""
    monkeypatch.setattr(tapes, "STEPS_OF_TAPES", 1)
    f, shapes, _ = PROGRAMS["a loop until"]
    (x,) = arguments(shapes)
    assert_same(on_gpu(f, x), jit(f)(x))


# -- dtypes and edges ----------------------------------------------------------


def test_float32_stays_float32() -> None:
    x = X.astype(np.float32)
    assert_same(on_gpu(np.tanh, x), np.tanh(x), 1e-6)


def test_integers_divide_by_zero_as_numpy_does() -> None:
    x, y = np.array([7, -7, 5, -128], np.int8), np.array([2, 2, 0, -1], np.int8)
    with np.errstate(all="ignore"):
        want = x // y, x % y, np.fmod(x, y), x << 3, x >> 1, -x, abs(x)
    assert_same(
        on_gpu(lambda x, y: (x // y, x % y, np.fmod(x, y), x << 3, x >> 1, -x, abs(x)), x, y), want
    )


def test_floats_convert_to_integers_without_wrapping() -> None:
    x = np.array([1e30, -1e30, 2.9, -2.9, np.nan])
    got = np.asarray(on_gpu(lambda x: x.astype(np.int32), x))
    np.testing.assert_array_equal(got, [2**31 - 1, -(2**31), 2, -2, 0])


def test_nan_infinities_and_signed_zeros() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5])
    x, y = (a.ravel() for a in np.meshgrid(values, values))

    def f(x: Any, y: Any) -> Any:
        return (np.maximum(x, y), np.fmin(x, y), np.logaddexp(x, y), np.copysign(x, y), x // y,
                x % y, np.sign(x), np.rint(x), np.hypot(x, y), np.arctan2(x, y))  # fmt: skip

    with np.errstate(all="ignore"):
        want = f(x, y)
    got = on_gpu(f, x, y)
    assert_same(got, want)
    for a, b in zip(got[2:], want[2:], strict=True):  # which of two zeros is larger is unspecified
        real = ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(np.asarray(a))[real], np.signbit(b)[real])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1)])
def test_scalars_and_empty_arrays(shape: tuple[int, ...]) -> None:
    x = np.ones(shape) * 3
    assert_same(
        on_gpu(lambda x: (x * 2, np.sum(x), x > 1, x + 0j), x), (x * 2, x.sum(), x > 1, x + 0j)
    )


def test_temporaries_without_elements() -> None:
    assert_same(on_gpu(lambda x: np.sum(np.sort(x)), np.ones(0)), np.float64(0))


def test_the_argument_itself_as_result() -> None:
    assert_same(on_gpu(lambda x: (x, x), X), (X, X))


# -- arrays on the device -------------------------------------------------------


def test_arrays_of_numbas_simulator_are_taken() -> None:
    from numba import cuda

    executable = compile_for_cuda(autojit.trace(lambda x: x + 1)(X))
    assert_same(executable.call([cuda.to_device(X)]), X + 1)


def test_arguments_are_never_written_to() -> None:
    x = X.copy()
    on_gpu(lambda x: x * 0, x)
    assert_same(x, X)


def test_an_index_out_of_bounds_raises_and_the_next_call_does_not() -> None:
    pick = jit(lambda x, i: x[i], device="cuda")
    with pytest.raises(IndexError, match="out of bounds"):
        pick(X, np.array([100]))
    assert_same(pick(X, np.array([3])), X[[3]])


def test_tracebacks_show_the_generated_line() -> None:
    executable = compile_for_cuda(autojit.trace(lambda x: x + 1)(X))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Simulator, "_array", lambda *_: None)
        with pytest.raises(Exception, match="NoneType") as caught:
            executable.call([X])
    assert "s0 = in0[" in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_precision_is_loaded_and_stored(kind: str) -> None:
    program = autojit.parse(f"""program main(%0: {kind}[9,18], %1: {kind}[]) {{
      %2: {kind}[9,18] = broadcast %1 {{dims=(), shape=(9, 18)}}
      %3: {kind}[9,18] = mul %0, %2
      %4: {kind}[9] = sum %3 {{axes=(1,)}}
      return %3, %4
    }}""")
    dtypes = [t.dtype for t in program.in_types]
    given = [halves.converted(np.asarray(x), d) for x, d in zip((X, 0.3), dtypes, strict=True)]
    for got, want in zip(compile_for_cuda(program).call(given), program(*given), strict=True):
        a, b = (halves.converted(np.asarray(v), np.dtype(float)) for v in (got, want))
        np.testing.assert_allclose(a, b, rtol=2.0**-7)
