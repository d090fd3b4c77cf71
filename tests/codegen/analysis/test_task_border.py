"""Tasks and the code around them: no task uses memory that belongs to another function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import checkpoint, grad, jit, vmap
from autojit.codegen.loop_ir.nodes import RunTasks
from autojit.codegen.loop_ir.traversal import statements
from autojit.ir.ops.reduce import identity
from autojit.staging.execute import executable
from tests.thresholds import Thresholds, drawn

Function = Callable[[Any], Any]


def batch_norm(x: Any) -> Any:
    return (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + 1e-5)


def layer_norm(x: Any) -> Any:
    mean = np.mean(x, axis=1, keepdims=True)
    return (x - mean) / np.sqrt(np.var(x, axis=1, keepdims=True) + 1e-5)


def softmax(axis: int | None) -> Function:
    def of(x: Any) -> Any:
        weights = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return weights / np.sum(weights, axis=axis, keepdims=True)

    return of


def log_sum_exp(axis: int | None) -> Function:
    return lambda x: np.log(np.sum(np.exp(np.sin(x)), axis=axis))


def clipped(a: Any) -> Any:
    return np.clip(a, -0.5, 0.5) * a * np.sum(a)


def nested(a: Any) -> Any:
    return checkpoint(lambda b: softmax(0)(b) * np.mean(b, axis=0))(a) * np.sum(a, axis=0)


FUNCTIONS: dict[str, Function] = {
    "batch norm": batch_norm,
    "layer norm": layer_norm,
    "softmax of columns": softmax(0),
    "softmax of rows": softmax(1),
    "softmax of all": softmax(None),
    "log-sum-exp of columns": log_sum_exp(0),
    "log-sum-exp of rows": log_sum_exp(1),
    "log-sum-exp of all": log_sum_exp(None),
    "maxima of columns": lambda a: np.max(np.sin(a), axis=0),
    "maxima of rows": lambda a: np.max(np.sin(a), axis=1),
    "ranges of columns": lambda a: np.ptp(a, axis=0),
    "ranges of rows": lambda a: np.ptp(a, axis=1),
    "variances of columns": lambda a: np.var(a, axis=0),
    "variances of rows": lambda a: np.var(a, axis=1),
    "clipped": clipped,
    "nested": nested,
    "rows and columns": lambda a: (
        (a - np.mean(a, axis=0)) * np.sum(np.tanh(a), axis=1, keepdims=True)
    ),
}


def weighed(y: Any) -> Any:
    """A number to which every element contributes differently."""
    weights = np.sin(1.7 * np.arange(np.size(y))).reshape(np.shape(y))
    return np.sum(np.sin(3.0 * y + weights) * weights)


#: A checkpoint alone, with reductions before and after it, and mapped over several arrays.
USES: dict[str, Callable[[Function], Function]] = {
    "alone": lambda f: lambda x: weighed(checkpoint(f)(x)),
    "between reductions": lambda f: (
        lambda x: weighed(checkpoint(lambda y: f(y * np.sum(y * y) / y.size))(x) * np.max(x))
    ),
    "mapped": lambda f: (
        lambda x: np.sum(vmap(lambda y: weighed(checkpoint(f)(y)))(np.stack([x, 0.5 * x])))
    ),
}


def agrees(f: Function, x: np.ndarray) -> None:
    with autojit.disable_jit():
        want = jit(f)(x)
    np.testing.assert_allclose(jit(f)(x), want, rtol=1e-8, atol=1e-10 * np.max(np.abs(want)))


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


CASES = [
    *((name, "alone") for name in FUNCTIONS),
    *((name, "between reductions") for name in ("softmax of rows", "clipped", "variances of rows")),
    *((name, "mapped") for name in ("maxima of columns", "log-sum-exp of all", "layer norm")),
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("name", "use"), CASES)
def test_checkpoints_of_small_arrays_in_tasks(name: str, use: str) -> None:
    """Small arrays, with all loops divided and blocked, cover the cases that large arrays have."""
    f = USES[use](FUNCTIONS[name])
    with Thresholds(
        {
            "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0,
            "codegen.loop_passes.tasks.task_cost.WORK_OF_TASK": 1e-6,
        }
    ):
        agrees(grad(f), array(13, 5))
    rng = np.random.default_rng([len(name), len(use)])
    with drawn(rng):
        agrees(grad(f), array(*rng.integers(2, 12, 2)))


#: Cases that the usual thresholds divide into tasks. Without an analysis of task borders, tasks
#: read memory of other functions: results were NaN, infinite or wrong, or a scalar was undefined.
LARGE: list[tuple[str, tuple[int, int]]] = [
    ("maxima of columns", (2050, 8)),
    ("batch norm", (3000, 16)),
    ("ranges of columns", (4000, 8)),
    ("variances of columns", (6000, 8)),
    ("softmax of columns", (2050, 8)),
    ("softmax of all", (20_000, 1)),
    ("log-sum-exp of all", (20_000, 1)),
    ("clipped", (30_000, 1)),
    ("ranges of rows", (4, 20_000)),
    ("layer norm", (4, 10_000)),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "shape"), LARGE)
def test_checkpoints_of_large_arrays(name: str, shape: tuple[int, int]) -> None:
    f, x = grad(USES["alone"](FUNCTIONS[name])), array(*shape)
    agrees(f, x)
    loops = executable(jit(f).program(x)).loops
    assert any(isinstance(s, RunTasks) for s in statements(loops))


def test_scalars_of_earlier_reductions_are_handed_to_tasks() -> None:
    x = array(50)
    with Thresholds(
        {
            "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0,
            "codegen.loop_passes.tasks.task_cost.WORK_OF_TASK": 1e-6,
        }
    ):
        f = grad(lambda x: np.sum(checkpoint(clipped)(x)))
        agrees(f, x)
        assert "_f64_of_tasks" in str(executable(jit(f).program(x)).loops)


def test_a_loop_that_is_written_out_is_counted_as_tasks_share_it() -> None:
    """Otherwise each task would have summed the whole loop."""
    thresholds = {
        "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0,
        "codegen.loop_passes.tasks.task_cost.WORK_OF_TASK": 1e-6,
        "codegen.lowering.nests.UNROLL": 16,
    }
    with Thresholds(thresholds):
        agrees(lambda x: np.sum(np.exp(x)), array(8))


COMBINED = [
    *((f, dtype) for f in (np.sum, np.prod, np.max, np.min) for dtype in ("f8", "f4", "i8", "i4")),
    *((f, "u1") for f in (np.max, np.min)),
    *((f, "?") for f in (np.any, np.all)),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("combine", "dtype"), COMBINED)
def test_copies_of_tasks_begin_with_what_changes_nothing(combine: Any, dtype: str) -> None:
    x = np.random.default_rng(1).integers(0 if dtype == "?" else 1, 3, (40, 6)).astype(dtype)
    with Thresholds(
        {
            "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0,
            "codegen.loop_passes.tasks.task_cost.WORK_OF_TASK": 1e-6,
        }
    ):
        np.testing.assert_array_equal(jit(lambda x: combine(x, axis=0))(x), combine(x, axis=0))


def test_neutral_elements() -> None:
    inf = float("inf")
    assert [identity(c, np.dtype("f8")) for c in ("add", "mul", "maximum", "minimum")] == [
        0.0, 1.0, -inf, inf,
    ]  # fmt: skip
    assert [identity(c, np.dtype("i4")) for c in ("add", "mul", "maximum", "minimum")] == [
        0, 1, -(2**31), 2**31 - 1,
    ]  # fmt: skip
    assert [identity(c, np.dtype("?")) for c in ("or", "and", "maximum", "minimum")] == [
        False, True, False, True,
    ]  # fmt: skip
