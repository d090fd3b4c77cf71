"""What runs in numba's CUDA simulator, which has to be chosen before numba is imported.

`test_simulator.py` runs this file in a process of its own; to look at a failure, run it as

    NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/codegen/cuda/in_simulator.py
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import autojit
from autojit import grad, jit
from autojit.codegen.cuda.driver.cards import is_simulated
from autojit.codegen.cuda.driver.simulated import Simulator
from autojit.codegen.cuda.kernels import KernelWriter
from autojit.codegen.cuda.runtime import compile_for_cuda
from autojit.codegen.scheduling import op_loops
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.linalg.factorizations import Matrices
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.checks import Ensure
from autojit.ir.ops.index import scatter_add
from autojit.ir.passes import optimize
from autojit.ir.special.external import External
from tests.codegen import test_random_programs as checks
from tests.samples import SAMPLES, Sample
from tests.thresholds import Thresholds

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


# -- the table of samples -------------------------------------------------------


def _on_the_cpu_only(sample: Sample) -> str | None:
    """The first op of a sample that is not compiled for a GPU, as the error calls it."""
    program = optimize(autojit.trace(sample.function)(*sample.draw()))
    kinds = [op.kind for op in program.ops]
    if any(isinstance(k, External) for k in kinds):
        return r"scipy\.special\.\w+"
    if any(isinstance(k, Ensure) for k in kinds):
        return r"(ensure|\w+\(.*\))"  # or the exception
    return next((k.name for k in kinds if isinstance(k, (BodyOp, Matrices))), None)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_value_of(sample: Sample) -> None:
    arguments = sample.draw()
    on_the_cpu = _on_the_cpu_only(sample)
    if on_the_cpu is not None:
        refused = f"^{on_the_cpu} can"
        with pytest.raises(autojit.errors.UnsupportedTargetError, match=refused):
            on_gpu(sample.function, *arguments)
        return
    with np.errstate(all="ignore"):
        want = interpret_jit(sample.function, arguments)
    assert_same(on_gpu(sample.function, *arguments), want)


def interpret_jit(f: Callable[..., Any], arguments: list[Any]) -> Any:
    with autojit.disable_jit():
        return jit(f)(*arguments)


# -- each way of running a kernel ----------------------------------------------


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def log_sum_exp(x: Any) -> Any:
    return np.log(np.sum(np.exp(x)))


AXES = [None, 0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2), ()]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("reduce", [np.sum, np.max, np.prod], ids=lambda f: f.__name__)
def test_reductions_over_every_combination_of_axes(reduce: Any, axes: Any) -> None:
    x = RNG.uniform(0.5, 1.5, (3, 5, 7))
    assert_same(on_gpu(lambda x: reduce(x, axis=axes), x), reduce(x, axis=axes))


def test_several_reductions_of_one_array() -> None:
    assert_same(
        on_gpu(lambda x: (x.sum(), x.sum(0), x.max(1), x * 2), X),
        (X.sum(), X.sum(0), X.max(1), X * 2),
    )


def test_rows_of_softmax_share_one_kernel() -> None:
    assert_same(on_gpu(softmax, X), softmax(X))
    text = jit(softmax, device="cuda").lower(np.ones((100, 500))).text("cuda")
    assert text.count("@cuda.jit\n") == 1
    assert "A block for each of 100 rows." in text


def test_gradient_of_log_sum_exp() -> None:
    assert_same(on_gpu(grad(log_sum_exp), X), np.exp(X - log_sum_exp(X)))


def test_views_move_no_data() -> None:
    def f(x: Any) -> Any:
        return np.concatenate([x.T[::-1], np.pad(x[:, ::2], ((4, 5), (1, 1)))], axis=1)

    assert_same(on_gpu(f, X), f(X))
    assert jit(f).lower(X).text("cuda").count("@cuda.jit\n") == 1


def test_gradient_of_a_network_with_matrix_products() -> None:
    W, V, Y = RNG.normal(size=(6, 5)), RNG.normal(size=(5, 3)), RNG.normal(size=(5, 3))

    def loss(W: Any, V: Any) -> Any:
        return np.mean((np.tanh(X[:5, :6] @ W) @ V - Y) ** 2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(op_loops, "SMALL_PRODUCT", 0)
        compiled = jit(grad(loss, (0, 1)), device="cuda")
        assert "(TILE, TILE)" in compiled.lower(W, V).text("cuda")
        assert_same(compiled(W, V), jit(grad(loss, (0, 1)))(W, V))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_products_of_batches_in_any_layout(dtype: str) -> None:
    a, b = (RNG.normal(size=s) + (1j if dtype[0] == "c" else 0) for s in ((2, 1, 5, 3), (2, 4, 3)))
    a, b = a.astype(dtype), b.astype(dtype)

    def f(a: Any, b: Any) -> Any:
        return a @ np.swapaxes(b, -1, -2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(op_loops, "SMALL_PRODUCT", 0)
        assert_same(on_gpu(f, a, b), f(a, b), 1e-5 if dtype in ("f4", "c8") else 1e-12)


def test_scattering_adds_at_repeated_places() -> None:
    places = np.array([3, 5, -1, 3])

    def f(x: Any) -> Any:
        return np.sum(x[places] ** 2)

    assert_same(on_gpu(grad(f), X), jit(grad(f))(X))


def test_updates_in_place_and_of_copies() -> None:
    places = np.array([3, 1, 1, 0])

    def f(x: Any, v: Any) -> Any:
        y, z = x * 2, np.copy(x)
        y[places] = v
        np.add.at(z, places, v)
        z[1:3] = y[:2]
        return y, z

    x, v = X.reshape(-1)[:5], X.reshape(-1)[5:9]
    assert_same(on_gpu(f, x, v), f(x, v))


def test_a_long_chain_of_windows() -> None:
    def f(x: Any) -> Any:
        out = np.zeros((12, 5))
        for i in range(12):
            out[i, 1:] = x[:4] * i
        return out

    assert_same(on_gpu(f, X.reshape(-1)[:5]), f(X.reshape(-1)[:5]))


def test_a_kernel_that_one_thread_runs() -> None:
    """No atomic operation adds 8-bit integers."""
    builder = Builder()
    updates, places = Value(Type(np.dtype("i1"), (3,))), Value(Type(np.dtype("i8"), (3,)))
    with building(builder):
        result = scatter_add(updates, places, axes=(0,), shape=(4,))
    executable = compile_for_cuda(builder.finish([updates, places], [result]))
    assert "One thread does everything." in executable.printed.text
    assert_same(executable.call([np.int8([5, 6, 7]), np.array([1, 1, 3])]), np.int8([0, 11, 0, 7]))


# -- dtypes and edges ----------------------------------------------------------


def test_float32_stays_float32() -> None:
    x = X.astype(np.float32)
    assert_same(on_gpu(softmax, x), softmax(x), 1e-6)


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
    for a, b in zip(got[2:], want[2:], strict=True):  # which zero is the larger is nobody's matter
        real = ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(np.asarray(a))[real], np.signbit(b)[real])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1)])
def test_scalars_and_empty_arrays(shape: tuple[int, ...]) -> None:
    x = np.ones(shape) * 3
    assert_same(
        on_gpu(lambda x: (x * 2, np.sum(x), x > 1, x + 0j), x), (x * 2, x.sum(), x > 1, x + 0j)
    )


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


# -- random programs ------------------------------------------------------------


@pytest.fixture(params=["usual", "large"])
def _choices(request: pytest.FixtureRequest) -> Iterator[None]:
    """The checks of the CPU on this target, with the choices for small and for large arrays."""
    chosen = Thresholds(checks.LARGE if request.param == "large" else {})
    with pytest.MonkeyPatch.context() as patch, chosen:
        patch.setattr(checks, "compiled", call)
        yield


def call(program: Program, arguments: list[Any], choices: Any = None) -> list[Any]:
    return [np.asarray(a) for a in compile_for_cuda(program).call(arguments)]


@pytest.mark.usefixtures("_choices")
@checks.examples(40)
@given(checks.ALL_ON_CUDA, checks.SEEDS)
def test_values(program: Program, seed: int) -> None:
    checks.check_near(program, seed, low=-2, high=2)


@pytest.mark.usefixtures("_choices")
@checks.examples(40)
@given(checks.EXACTLY_ON_CUDA, checks.SEEDS)
def test_exact_values(program: Program, seed: int) -> None:
    checks.check_exact(program, seed)


@pytest.mark.usefixtures("_choices")
@checks.examples(10)
@given(checks.SMOOTH_ON_CUDA, checks.SEEDS)
def test_derivatives(program: Program, seed: int) -> None:
    checks.check_near(checks.derivative(program), seed, low=0.2, high=0.9)


def test_every_kind_of_launch_occurs() -> None:
    """The tests above would say little if the simulated machine chose one way for everything."""
    seen = set()
    with pytest.MonkeyPatch.context() as patch:
        original = KernelWriter._function

        def note(self: Any, name: str, doc: str, *rest: Any, **options: Any) -> None:
            seen.add(" ".join(w for w in doc.split() if not w.isdigit()))
            original(self, name, doc, *rest, **options)

        patch.setattr(KernelWriter, "_function", note)
        for f in (softmax, log_sum_exp, lambda x: x + 1, lambda x: np.sum(x[0, :5])):
            compile_for_cuda(autojit.trace(f)(X))
    assert seen >= {
        "A block for each of rows.",
        "A thread for each of elements.",
        "One block reduces.",
        "Each block reduces its share.",
        "One block reduces what the blocks have left.",
    }
