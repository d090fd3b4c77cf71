"""The expected loops of known programs, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad
from autojit.codegen.cpu.entry_point.entry import Module
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.cost import work
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import Compute, Load, Loop
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import loop_count, walk
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.materialization import MANY
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret


def loops_of(f: Callable[..., Any], *arguments: Any) -> LoopProgram:
    return lower(optimize(autojit.trace(f)(*arguments)))


def check(f: Callable[..., Any], *arguments: Any) -> LoopProgram:
    """Check that compiled and interpreted results agree; return the loops."""
    program = autojit.trace(f)(*arguments)
    everything = [np.asarray(a) for a in (*arguments, *program.captured)]
    want = interpret(program, everything)
    got = Executable(program).call(everything)
    for w, g in zip(want, got, strict=True):
        assert (np.asarray(g).dtype, np.shape(g)) == (np.asarray(w).dtype, np.shape(w))
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)
    return lower(optimize(program))


def kernels(program: LoopProgram) -> list[Kernel]:
    return [s for s in program.steps if isinstance(s, Kernel)]


def statements(program: LoopProgram) -> Iterator[Any]:
    for kernel in kernels(program):
        yield from walk(kernel.body)


def words(program: LoopProgram) -> list[str]:
    return [s.name for s in statements(program) if isinstance(s, Compute)]


def outer_loops(program: LoopProgram) -> list[Loop]:
    return [s for k in kernels(program) for s in k.body if isinstance(s, Loop)]


def repeats(program: LoopProgram, name: str) -> int:
    """How often one run computes a word."""

    def count(body: list[Any], times: int) -> int:
        total = 0
        for s in body:
            if isinstance(s, Loop):
                total += count(s.body, times * (s.stop - s.start))
            elif isinstance(s, Compute) and s.name == name:
                total += times
        return total

    return sum(count(k.body, 1) for k in kernels(program))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- fusion -------------------------------------------------------------------


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_softmax_is_one_outer_loop_and_computes_exp_once() -> None:
    x = rng().normal(size=(10, 17))
    program = check(softmax, x)
    assert len(outer_loops(program)) == 1
    assert sum(b.size for b in program.temps) <= 17  # at most a row
    assert repeats(program, "exp") == x.size


def test_layer_norm_is_one_outer_loop() -> None:
    def layer_norm(x: Any, scale: Any) -> Any:
        centred = x - np.mean(x, axis=1, keepdims=True)
        return scale * centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5)

    program = check(layer_norm, rng().normal(size=(10, 17)), np.ones(17))
    assert len(outer_loops(program)) == 1
    assert repeats(program, "sqrt") == 10


def test_a_chain_of_elementwise_functions_is_one_loop() -> None:
    x = rng().normal(size=99)
    program = check(lambda x: np.tanh(np.sin(x) * 2 + np.exp(-x * x)) / (1 + x * x), x)
    assert loop_count(program) == 1
    assert not program.temps


def test_value_and_gradient_share_their_loop() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.exp(np.sin(x)))

    x = rng().normal(size=50)
    program = check(autojit.value_and_grad(loss), x)
    assert loop_count(program) == 1
    assert (repeats(program, "exp"), repeats(program, "sin")) == (50, 50)


def test_siblings_over_one_domain_are_one_loop() -> None:
    program = check(lambda x: (np.sum(x), np.sum(x * x), np.max(x), x + 1), rng().normal(size=40))
    assert loop_count(program) == 1


def test_statistics_of_rows_and_columns() -> None:
    x = rng().normal(size=(9, 11))
    program = check(lambda x: (np.sum(x, axis=0), np.sum(x, axis=1), np.sum(x)), x)
    assert len(outer_loops(program)) == 1


def test_column_sums_run_along_memory() -> None:
    program = check(lambda x: np.sum(x * 2, axis=0), rng().normal(size=(30, 20)))
    (load,) = [s for s in statements(program) if isinstance(s, Load) and s.buffer.kind == "input"]
    (outer,) = outer_loops(program)
    inner = [s for s in outer.body if isinstance(s, Loop)][-1]
    assert dict(load.index.terms) == {outer.var: 20, inner.var: 1}


# -- gradients of known functions ---------------------------------------------


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_gradient_of_rosenbrock_has_a_loop_without_conditions() -> None:
    program = check(grad(rosenbrock), rng().normal(size=100))
    assert len(kernels(program)) == 1
    main = max(outer_loops(program), key=lambda s: s.stop - s.start)
    assert main.stop - main.start >= 97
    assert not [s for s in walk(main.body) if isinstance(s, Load) and s.guard is not None]
    assert not [s for s in walk(main.body) if isinstance(s, Compute) and s.name == "select"]
    assert not program.temps


def lennard_jones(positions: Any) -> Any:
    offsets = positions[:, None, :] - positions[None, :, :]
    squared = np.sum(offsets**2, axis=-1) + np.eye(positions.shape[0])
    attraction = squared**-3 * (1 - np.eye(positions.shape[0]))
    return 2.0 * np.sum(attraction**2 - attraction)


def test_gradient_of_lennard_jones_visits_each_pair_once() -> None:
    n = 16
    positions = 2 * np.stack(np.meshgrid(*[np.arange(4.0)] * 2, [0.0]), -1).reshape(n, 3)
    program = check(grad(lennard_jones), positions + rng().uniform(0, 0.1, (n, 3)))
    nests = [s for s in outer_loops(program) if _depth(s) > 2]
    assert len(nests) == 1
    assert all(b.size <= 3 * n for b in program.temps)


def _depth(loop: Loop) -> int:
    inner = [_depth(s) for s in loop.body if isinstance(s, Loop)]
    return 1 + max(inner, default=0)


def logistic(weights: Any, features: Any, labels: Any) -> Any:
    logits = features @ weights
    return np.mean(np.logaddexp(0.0, logits) - labels * logits)


def test_gradient_of_logistic_regression_passes_once_over_the_features() -> None:
    n = 1000
    features, labels = rng().normal(size=(n, 10)), rng(1).integers(0, 2, n) * 1.0
    program = check(grad(logistic), np.ones(10), features, labels)
    assert len(kernels(program)) == 1
    assert sum(s.stop - s.start for s in outer_loops(program)) < 2 * n  # rows, or blocks of them
    buffers = [b for k in kernels(program) for b in k.buffers if b.kind in ("temp", "local")]
    assert all(b.size < n for b in buffers)


def test_gradient_of_a_product_uses_the_blas() -> None:
    def loss(a: Any, b: Any) -> Any:
        return np.sum(np.tanh(a @ b))

    a, b = rng().normal(size=(20, 30)), rng(1).normal(size=(30, 40))
    program = check(grad(loss, (0, 1)), a, b)
    products = [s for s in program.steps if isinstance(s, MatrixProduct)]
    assert len(products) == 3
    assert repeats(program, "tanh") == 20 * 40


def test_transposed_operands_of_the_blas_are_not_copied() -> None:
    a = rng().normal(size=(20, 30))
    for f in (lambda a: a @ a.T, lambda a: a.T @ a, lambda a: a[::2] @ a[1:11].T):
        program = check(f, a)
        assert [type(s) for s in program.steps] == [MatrixProduct]


# -- what is stored -----------------------------------------------------------


def test_an_expensive_value_that_is_broadcast_is_computed_once() -> None:
    x, y = rng().normal(size=20), rng(1).normal(size=(30, 20))
    program = check(lambda x, y: np.exp(np.sin(x)) * y, x, y)
    assert repeats(program, "exp") == 20


def test_a_cheap_value_that_is_broadcast_is_computed_again() -> None:
    program = check(lambda x, y: (x + 1) * y, rng().normal(size=20), rng(1).normal(size=(30, 20)))
    assert not program.temps


@pytest.mark.parametrize("times", [MANY - 1, MANY])
def test_what_is_read_with_steps_many_times_is_stored_without(times: int) -> None:
    """A strided value, such as a column of a matrix, that a product or a broadcast reads once per
    row."""
    rng = np.random.default_rng(1)
    table, weights = rng.standard_normal((40, 11)), rng.standard_normal((times, 40))

    def product(table: Any, weights: Any) -> Any:
        return weights @ np.maximum(table[:, 3], 0.0)

    def outer(table: Any, weights: Any) -> Any:
        return np.maximum(weights, table[:, 3])

    for f in (product, outer):
        found = [b.size for b in check(f, table, weights).temps]
        assert found == ([40] if times == MANY else []), f


def test_an_expensive_value_that_is_shifted_is_computed_once() -> None:
    program = check(lambda x: np.exp(x)[1:] - np.exp(x)[:-1], rng().normal(size=40))
    assert repeats(program, "exp") == 40


def test_invariants_of_a_loop_are_work_once() -> None:
    """The Hessian of a chain is zero off its diagonals; it is computed in many loop-invariant
    steps."""

    def chain(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    rows = outer_loops(loops_of(autojit.hessian(chain), np.linspace(1.0, 2.0, 200)))
    main = max(rows, key=lambda loop: loop.expanded)
    assert main.expanded > 198 * 200 * 10
    assert work([main]) < 198 * 200 * 3


def test_invariants_leave_the_loop() -> None:
    program = check(lambda x, s: x * np.exp(s) + np.sin(s), rng().normal(size=40), 0.5)
    assert repeats(program, "exp") == repeats(program, "sin") == 1


def test_long_chains_are_cut() -> None:
    def chain(x: Any) -> Any:
        for i in range(400):
            x = x * 0.5 + np.flip(x) * (0.1 + i * 1e-3)
        return x

    check(chain, rng().normal(size=5))


# -- views --------------------------------------------------------------------

X = rng(5).normal(size=(12, 10))
CUBE = rng(6).normal(size=(6, 4, 10))

VIEWS: dict[str, Callable[..., Any]] = {
    "sum of transposed": lambda x: np.sum(x.T, axis=0) + np.sum(x.T * 2, axis=1)[0],
    "sum of both": lambda x: np.sum(x[:10] + x[:10].T, axis=1),
    "flat": lambda x: x.reshape(-1) * 2,
    "merged": lambda x: np.sum(x.reshape(6, 20), axis=1),
    "split": lambda x: np.sum(x.reshape(3, 4, 2, 5), axis=(1, 3)),
    "uneven": lambda x: x.reshape(8, 15) + 1,
    "uneven sum": lambda x: np.sum(x.reshape(15, 8) * x.reshape(15, 8), axis=0),
    "transposed and flat": lambda x: x.T.reshape(-1)[3:50] * 2,
    "transposed and uneven": lambda x: np.sum(x.T.reshape(8, 15), axis=1),
    "reversed": lambda x: x[::-1, ::-2] + 1,
    "strided sum": lambda x: np.sum(x[1::3, ::-2], axis=0),
    "padded": lambda x: np.pad(x * 2, ((1, 2), (3, 0))) + 1,
    "padded twice": lambda x: np.pad(np.pad(x, 1) + 1, ((0, 2), (1, 1))),
    "joined": lambda x: np.concatenate([x, 2 * x, x[:3]], axis=0),
    "joined twice": lambda x: np.concatenate(
        [np.concatenate([x, x + 1], axis=1), np.pad(x, ((0, 0), (5, 5)))], axis=0
    ),
    "joined and summed": lambda x: np.sum(np.concatenate([x, x[:, :3] ** 2], axis=1), axis=1),
    "joined and cut": lambda x: np.concatenate([x[:, :4], x[:, 6:]], axis=1)[:, 2:7],
    "many joined": lambda x: np.concatenate([x[i] * i for i in range(12)]),
    "rolled": lambda x: np.roll(x, (3, -2), axis=(0, 1)) - x,
    "tiled": lambda x: np.sum(np.tile(x, (2, 3)), axis=0),
    "repeated": lambda x: np.repeat(x, 3, axis=1) * 2,
    "diagonals": lambda x: np.diagonal(x, 2) + np.trace(x),
    "diagonal matrix": lambda x: np.diag(x[0]) + np.tril(x[:10]),
    "picked": lambda x: x[np.array([3, 3, 0]), :][:, ::2] + 1,
    "mean of windows": lambda x: (x[:-2] + x[1:-1] + x[2:]) / 3,
    "outer difference": lambda x: np.sum((x[:, None] - x[None]) ** 2, axis=-1),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    check(VIEWS[name], X)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", VIEWS)
def test_gradients_of_views(name: str) -> None:
    weights = rng(9).normal(size=np.shape(VIEWS[name](X)))
    check(grad(lambda x: np.sum(np.sin(VIEWS[name](x)) * weights)), X)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.transpose(2, 0, 1).reshape(10, 24) @ np.ones(24),
        lambda x: np.sum(np.moveaxis(x, 1, -1), axis=(0, 2)),
        lambda x: np.max(x.reshape(6, 2, 2, 10), axis=(1, 2)),
        lambda x: np.einsum("abc,abd->cd", x, x),
        lambda x: (x - x.mean(axis=(0, 2), keepdims=True)) / x.std(axis=(0, 2), keepdims=True),
        lambda x: np.sum(x * x[:1, :, :1], axis=1),
    ],
)
def test_views_of_three_axes(f: Callable[..., Any]) -> None:
    check(f, CUBE)
    check(grad(lambda x: np.sum(f(x) ** 2)), CUBE)


# -- edges --------------------------------------------------------------------


def test_reductions_of_nothing() -> None:
    empty = np.ones((0, 3))
    check(lambda x: (np.sum(x), np.sum(x, axis=0), np.sum(x, axis=1), np.prod(x, axis=0)), empty)
    check(lambda x: (np.any(x > 0, axis=0), np.all(x > 0), np.max(x, initial=2.0)), empty)
    check(lambda x: (x.T @ x, x @ np.ones((3, 2))), empty)
    check(lambda x: np.concatenate([x, x + 1, np.ones((2, 3)) * np.sum(x)]), empty)
    check(grad(lambda x: np.sum(x * x) + 1), empty)


def test_results_of_many_kinds() -> None:
    x = rng().normal(size=(3, 4))

    def f(x: Any) -> Any:
        return x, x.T, np.sum(x), x > 0, np.argmax(x, axis=1), 3, x[:0], x * 1j, np.sum(x), x

    check(f, x)


def test_booleans_and_small_integers() -> None:
    i = rng().integers(-100, 100, (5, 6)).astype(np.int8)
    check(lambda i: (i + i, i * i, -i, i // 7, i % -7, abs(i), i.astype(bool), np.sum(i)), i)
    check(lambda i: (i.astype(np.uint8) + 250, i.astype(np.float32) / 3, i > 3), i)
    check(lambda i: (~(i > 3) & (i < 50)) | (i == 3), i)


def test_single_precision_sums_keep_their_precision() -> None:
    x = np.full(100_000, 0.1, np.float32)
    got = Executable(autojit.trace(np.sum)(x)).call([x])[0]
    assert got == np.float32(np.sum(x, dtype=np.float64))


def test_many_dimensions() -> None:
    x = rng().normal(size=(2, 3, 2, 2, 3, 2))
    check(lambda x: np.sum(x * x.transpose(3, 1, 0, 2, 4, 5), axis=(1, 4)), x)


def test_equal_loops_are_written_once() -> None:
    """Layers of the same size, which differ only in the arrays that they read and write."""

    def network(x: Any, ws: Any) -> Any:
        for w in ws:
            x = np.tanh(x @ w)
        return np.sum(x)

    rng = np.random.default_rng(0)
    x, ws = rng.normal(size=(30, 30)), list(rng.normal(size=(4, 30, 30)))
    program = optimize(autojit.trace(autojit.grad(network, 1))(x, ws))
    loops = lower(program)
    module = Module(loops, program.in_types, program.out_types)
    kernels = sum(isinstance(step, Kernel) for step in loops.steps)
    written = [f for f in module.module.functions if f.name.startswith("kernel")]
    assert len(written) <= kernels - 4
    got = autojit.jit(autojit.grad(network, 1))(x, ws)
    want = interpret(autojit.trace(autojit.grad(network, 1))(x, ws), [x, *ws])
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)
