"""Programs for arrays whose axes are stored in another order: the same values, and no
transposes."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autojit
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.ops.move import transpose
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.verifier import verify
from autojit.ir.transforms.layouts import Order, inverse, laid_out
from tests.ir.random_programs import arguments_for, programs
from tests.sampling import share

X = np.arange(24.0).reshape(2, 3, 4) + 1.0


def results(f: Any, arrays: list[np.ndarray], orders: tuple[Order | None, ...]) -> tuple[Any, Any]:
    """The results of a function, and those of its program for transposed arrays."""
    program = autojit.trace(f)(*arrays)
    return program, compared(program, arrays, orders)


def compared(program: Any, arrays: list[np.ndarray], orders: tuple[Order | None, ...]) -> Any:
    made = laid_out(program, orders)
    verify(made.program)
    given = [
        np.asarray(a) if o is None else np.ascontiguousarray(a.transpose(o))
        for a, o in zip(arrays, orders, strict=True)
    ]
    want = interpret(program, [*arrays, *program.captured])
    got = interpret(made.program, [*given, *program.captured])
    for a, b, order in zip(want, got, made.results, strict=True):
        b = b if order is None else np.transpose(b, inverse(order))
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12)
    return made


FOLLOWING = {
    "elementwise": lambda x: np.sin(x) * x + 1.0,
    "sum over an axis": lambda x: np.sum(x * x, axis=1),
    "sum over all": np.sum,
    "centred": lambda x: x - x.mean(axis=0),
    "broadcast": lambda x: x * np.arange(4.0) + np.arange(3.0)[:, None],
    "slice": lambda x: x[:, 1:] - x[:, :-1],
    "transpose": lambda x: np.transpose(x, (1, 2, 0)) * 2.0,
    "choice": lambda x: np.where(x > 3.0, x, 0.0),
    "gradient": autojit.grad(lambda x: np.sum(np.exp(x) * x)),
}


@pytest.mark.parametrize("order", list(permutations(range(3)))[1:], ids=str)
@pytest.mark.parametrize("name", FOLLOWING)
def test_operations_follow_the_order(name: str, order: Order) -> None:
    _, made = results(FOLLOWING[name], [X], (order,))
    moves = [op for op in optimize(made.program).ops if op.kind is transpose]
    assert all(op.result.type.size < 24 for op in moves)


#: Operations that depend on the order of the axes, so they read the transpose.
PLACED = {
    "reshape": lambda x: x.reshape(6, 4) * 2.0,
    "cumulative sum": lambda x: np.cumsum(x, axis=1),
    "position of the largest": lambda x: np.argmax(np.sin(x), axis=2),
    "gather": lambda x: x[np.array([1, 0, 1])],
    "sort": lambda x: np.sort(np.sin(x), axis=0),
    "product with two free axes": lambda x: np.tensordot(x, np.arange(4.0), axes=(2, 0)),
    "loop": lambda x: autojit.scan(lambda c, r: (c + np.sin(r), c * r), x[0], x)[1],
}


@pytest.mark.parametrize("name", PLACED)
def test_operations_on_places_read_the_transpose(name: str) -> None:
    for order in permutations(range(3)):
        results(PLACED[name], [X], (order,))


def test_products_read_matrices_as_they_lie() -> None:
    a, b = X.reshape(6, 4), X.reshape(4, 6)
    _, made = results(lambda a, b: a @ b, [a, b], ((1, 0), (1, 0)))
    assert not any(op.kind is transpose for op in made.program.ops)


def test_the_first_operand_decides() -> None:
    a, b = X[0], X[1]
    _, made = results(lambda a, b: (a + b, b + a), [a, b], ((1, 0), None))
    assert made.results == ((1, 0), (1, 0))
    _, made = results(lambda a, b: (a * b, b * 2.0), [a, b], (None, None))
    assert made.results == (None, None)


@settings(max_examples=share(100), derandomize=True, deadline=None)
@given(programs(), st.integers(0, 999))
def test_random_programs(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    orders = tuple(
        [
            tuple([int(a) for a in rng.permutation(t.ndim)]) if t.ndim > 1 else None
            for t in program.in_types
        ]
    )
    made = laid_out(program, orders)
    verify(made.program)
    given = arguments_for(program, rng)
    moved = [a if o is None else np.transpose(a, o) for a, o in zip(given, orders, strict=True)]
    back = Builder()
    with building(back):
        inputs = [Value(t) for t in made.program.in_types]
        results = [
            v if o is None else transpose(v, axes=inverse(o))
            for v, o in zip(back.inline(made.program, inputs), made.results, strict=True)
        ]
    after = back.finish(inputs, results)
    for a, b in zip(interpret(program, given), interpret(after, moved), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4, equal_nan=True)
