"""The form of compiled loops: where carries are stored, and which work a step does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, fori_loop, grad, scan, switch, while_loop
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.sequences import Branch, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import buffers_named, statements, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_passes.tasks import task_cost
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from autojit.staging import pytrees

RNG = np.random.default_rng(0)
N = 100
X = RNG.normal(size=N)
MATRIX = RNG.normal(size=(N, N)) / N


def check(f: Callable[..., Any], *arguments: Any) -> LoopProgram:
    """Check that compiled and interpreted results agree; return the loops."""
    program = autojit.trace(f)(*arguments)
    everything = [np.asarray(a) for a in (*arguments, *program.captured)]
    want = interpret(program, everything)
    for g, w in zip(Executable(program).call(everything), want, strict=True):
        assert (np.asarray(g).dtype, np.shape(g)) == (np.asarray(w).dtype, np.shape(w))
        tolerance = 1e-5 if np.asarray(w).dtype == np.float32 else 1e-10
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance / 100)
    return lower(optimize(program))


def sequences(program: LoopProgram) -> list[Any]:
    """The loops whose steps run in order."""
    return [
        s
        for s in statements(program)
        if isinstance(s, (Repeat, Steps)) or (isinstance(s, Loop) and s.role == "sequence")
    ]


def in_steps(program: LoopProgram) -> Iterator[Any]:
    """The statements of all steps."""
    for s in sequences(program):
        yield from walk(s.body)


def work_of_a_step(program: LoopProgram) -> int:
    """The iterations of the longest loop nest within a step."""

    def longest(body: list[Any]) -> int:
        sizes = [
            max(1, s.stop - s.start) * max(1, longest(s.body)) for s in body if isinstance(s, Loop)
        ]
        return max(sizes, default=0)

    return max(longest(s.body) for s in sequences(program))


def swaps(program: LoopProgram) -> int:
    return sum(isinstance(s, Swap) for s in in_steps(program))


def arrays_of_steps(program: LoopProgram) -> set[Buffer]:
    """The program's own arrays that steps use."""
    found = (b for s in in_steps(program) for b in buffers_named(s))
    return {b for b in found if b.kind == "temp"}


# -- carries ------------------------------------------------------------------


def test_scalar_carries_are_registers() -> None:
    def step(c: Any, row: Any) -> Any:
        a, b, n = c
        return (b, a * 0.5 + row, n + 1), a

    program = check(lambda x: scan(step, (0.0, 1.0, 0), x), X)
    assert not program.temps
    assert work_of_a_step(program) <= 1  # the store of one row


def test_small_carries_are_registers() -> None:
    def step(i: Any, c: Any) -> Any:
        return np.roll(c, 1) * 0.5 + i

    program = check(lambda x: fori_loop(0, 9, step, x), X[:4])
    assert not program.temps
    assert not swaps(program)


def test_an_elementwise_carry_is_updated_in_place() -> None:
    for body in (
        lambda i, c: np.sin(c) * 2 + i,
        lambda i, c: c * np.sum(c) + 1,
        lambda i, c: c[::1] - np.max(c * c),
    ):
        program = check(lambda x, body=body: fori_loop(0, 9, body, x), X)
        assert not swaps(program)
        assert not [b for b in arrays_of_steps(program) if b.size >= N]


def test_several_elementwise_carries_are_updated_in_place() -> None:
    def leapfrog(i: Any, state: Any) -> Any:
        x, v = state
        v = v - 0.1 * np.sin(x)
        return x + 0.1 * v, v

    program = check(lambda x: fori_loop(0, 9, leapfrog, (x, x * 0.0)), X)
    assert not swaps(program)
    (loop,) = [s for s in sequences(program)[0].body if isinstance(s, Loop)]
    assert loop.stop - loop.start == N


@pytest.mark.parametrize(
    "body",
    [
        lambda i, c: c + np.roll(c, 1),
        lambda i, c: np.tanh(MATRIX @ c),
        lambda i, c: c[::-1] * 0.5,
        lambda i, c: c * c[i],
    ],
)
def test_a_carry_whose_elements_are_read_elsewhere_changes_places(body: Any) -> None:
    program = check(lambda x: fori_loop(0, 9, body, x), X)
    assert swaps(program) == 1
    assert work_of_a_step(program) <= N * N  # and no copy:
    (sequence,) = sequences(program)
    written = [s for s in walk(sequence.body) if type(s).__name__ == "Store"]
    assert len({s.buffer for s in written if s.buffer.kind != "local"}) == 1


def test_carries_that_change_places() -> None:
    program = check(lambda x: fori_loop(0, 5, lambda i, c: (c[1], c[0]), (x, x * 2)), X)
    assert work_of_a_step(program) <= N
    check(lambda x: fori_loop(0, 5, lambda i, c: (c[1], c[0] + c[1]), (x, x * 2)), X)
    check(lambda x: fori_loop(0, 5, lambda i, c: (c[1], c[2], c[0]), (x, x * 2, x * 3)), X)
    check(lambda x: fori_loop(0, 5, lambda i, c: (c[0] + 1, c[0]), (x, x * 2)), X)


def test_a_new_carry_that_is_read_with_the_old_one() -> None:
    def step(c: Any, i: Any) -> Any:
        new = np.sin(c) + np.max(c)
        return new + np.roll(c, 3), (c[i], new[i], np.sum(new * c[::-1]))

    check(lambda x: scan(step, x, np.arange(7)), X)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [1, 3, 17, 5000])
@pytest.mark.parametrize("dtype", ["f4", "c16", "i8", "?"])
def test_carries_of_every_size_and_dtype(size: int, dtype: str) -> None:
    x = (RNG.normal(size=size) * 3).astype(dtype)

    def step(c: Any, i: Any) -> Any:
        a, b, s = c
        turned = np.roll(a, 1)
        new = a ^ turned if dtype == "?" else turned * 2 - a
        return (b, new, a[0]), (s, a[i % size])

    check(lambda x: leaves(scan(step, (x, x[::-1], x[0]), np.arange(5))), x)


def leaves(tree: Any) -> list[Any]:
    return pytrees.flatten(tree)[0]


# -- elements and slices ------------------------------------------------------


#: Expressions that read a matrix in a loop over i, the same element or row more than once.
READS: dict[str, Callable[[Any, Any], Any]] = {
    "x[i]": lambda a, i: a[i],
    "x[i, 0]": lambda a, i: a[i, 0],
    "x[i, i]": lambda a, i: a[i, i],
    "x[:, i]": lambda a, i: a[:, i],
    "x[i, ::2]": lambda a, i: np.sum(a[i, ::2]),
    "x[i] and x[i - 1]": lambda a, i: a[i] * a[i - 1],
    "x[i], x[i - 1] and x[-1 - i]": lambda a, i: a[i] * a[i - 1] + a[-1 - i] - a[i],
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", READS)
def test_reading_costs_what_is_read_in_both_directions(name: str) -> None:
    def f(a: Any) -> Any:
        return np.sum(fori_loop(0, N, lambda i, c: np.sin(c * READS[name](a, i)), a[0]))

    for g in (f, grad(f), lambda a: autojit.hvp(f)(a, np.cos(a))):
        assert work_of_a_step(check(g, MATRIX)) <= N


def test_reading_an_element_costs_an_element_in_both_directions() -> None:
    def f(x: Any) -> Any:
        return fori_loop(0, N, lambda i, c: c * x[i] + x[N - 1 - i], 1.0)

    def twice(x: Any) -> Any:
        return grad(lambda x: np.sum(grad(f)(x) * np.cos(x)))(x)

    for g in (f, grad(f), lambda x: autojit.jvp(f, (x,), (x,)), twice):
        assert work_of_a_step(check(g, X / 2)) <= 1


def test_reading_in_a_while_loop_costs_an_element_in_both_directions() -> None:
    def f(x: Any) -> Any:
        body = lambda s: (s[0] + 1, s[1] * x[s[0]] + x[-1 - s[0]])  # noqa: E731
        return while_loop(lambda s: s[0] < N, body, (0, 1.0))[1]

    for g in (f, grad(f)):
        assert work_of_a_step(check(g, X / 2)) <= 1


def test_assigning_an_element_costs_an_element_in_both_directions() -> None:
    def body(i: Any, u: Any) -> Any:
        u[i] = np.sin(u[i - 1]) * u[i]
        return u

    def f(x: Any) -> Any:
        return np.sum(fori_loop(1, N, body, x) ** 2)

    for g in (f, grad(f)):
        program = check(g, X)
        assert work_of_a_step(program) <= 1
        assert not swaps(program)


def test_assigning_a_row_costs_a_row_in_both_directions() -> None:
    def body(i: Any, u: Any) -> Any:
        u[i] = u[i - 1] * 0.5 + u[i]
        return u

    def f(a: Any) -> Any:
        return np.sum(fori_loop(1, N, body, a) ** 2)

    for g in (f, grad(f)):
        program = check(g, MATRIX)
        assert work_of_a_step(program) <= N
        assert not swaps(program)


def test_places_that_are_computed() -> None:
    at = RNG.integers(0, N, N)

    def f(x: Any) -> Any:
        def step(u: Any, i: Any) -> Any:
            new = u[i] + np.sin(x[i])
            u[i] = new
            return u, new

        u, ys = scan(step, x * 1.0, at)
        return np.sum(u**2) + np.sum(ys)

    for g in (f, grad(f)):
        assert work_of_a_step(check(g, X)) <= 1


# -- the number of steps ------------------------------------------------------


def test_the_program_does_not_depend_on_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ignore whether the code around the loop runs on threads.
    monkeypatch.setattr(task_cost, "WORTH_TRYING", 10**12)

    def f(x: Any) -> Any:
        c, ys = scan(lambda c, r: (np.sin(c) + r, c * r), 0.0, x)
        return c + np.sum(ys)

    short, long = (
        list(statements(lower(optimize(autojit.trace(grad(f))(np.zeros(n)))))) for n in (10, 10**6)
    )
    assert len(short) == len(long)


def test_statements_of_a_while_loop_in_reverse() -> None:
    def f(x: Any) -> Any:
        return np.sum(while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, np.sin(c[1])), (0, x))[1])

    program = check(grad(f), X)
    kinds = [type(s) for s in sequences(program)]
    assert kinds == [Repeat, Steps]
    (repeat,) = [s for s in sequences(program) if isinstance(s, Repeat)]
    assert [t.size for t in repeat.tapes] == [N]  # the cosine, or the sine's argument


# -- what bodies call ---------------------------------------------------------


def test_products_and_linear_algebra_within_loops() -> None:
    def f(a: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            c = np.linalg.solve(c + 9 * np.eye(20), a) @ a
            return c, None

        return np.sum(scan(step, a, length=3)[0])

    a = MATRIX[:20, :20]
    for g in (f, grad(f)):
        program = check(g, a)
        kinds = {type(s) for s in in_steps(program)}
        assert {MatrixProduct, Factorization} <= kinds


def test_branches_are_branches() -> None:
    def f(x: Any, i: Any) -> Any:
        a = cond(i > 0, lambda: np.sin(x), lambda: x * 2)
        return switch(i, [lambda a: a, lambda a: a[::-1] * np.sum(a), lambda a: np.exp(a)], a)

    for i in (0, 1, 2):
        program = check(f, X, i)
        assert [len(s.bodies) for s in statements(program) if isinstance(s, Branch)] == [2, 3]
        check(grad(lambda x, i: np.sum(f(x, i) ** 2)), X, i)
