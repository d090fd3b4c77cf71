"""The errors of the functions of control flow when they are used wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import cond, errors, fori_loop, jit, scan, switch, while_loop

X = np.ones(3)

#: A call, its error, and a part of the message.
CASES: list[tuple[Callable[[], Any], type[Exception], tuple[str, ...]]] = [
    (
        lambda: scan(lambda c, x: (np.stack([c, c]), None), 1.0, length=3),
        errors.ShapeError,
        ("takes carry as f64[] and returns it as f64[2]", "init = np.zeros((2,))"),
    ),
    (
        lambda: scan(lambda c, x: (c.astype(np.float32), None), np.ones(2), length=3),
        errors.DtypeError,
        ("takes carry as f64[2] and returns it as f32[2]", "init.astype(np.float32)"),
    ),
    (
        lambda: scan(lambda c, x: ((c, c), None), 1.0, length=3),
        errors.StructureError,
        ("must return a carry with the structure that it takes",),
    ),
    (
        lambda: scan(lambda c, x: c, 1.0, length=3),
        errors.StructureError,
        ("must return (carry, y)", "return carry, None"),
    ),
    (lambda: scan(lambda c, x: (c, x), 1.0), errors.StructureError, ("needs xs or a length",)),
    (
        lambda: scan(lambda c, x: (c, x), 1.0, (X, X[:2])),
        errors.ShapeError,
        ("different numbers of rows (xs[0]: 3, xs[1]: 2)",),
    ),
    (lambda: scan(lambda c, x: (c, x), 1.0, 2.0), errors.ShapeError, ("xs is a scalar",)),
    (
        lambda: scan(lambda c, x: (c, x), 1.0, length=3.0),
        errors.DtypeError,
        ("length of scan must be an integer, not 3.0",),
    ),
    (
        lambda: scan(lambda c, x: (c, x), 1.0, length=-1),
        errors.ShapeError,
        ("length of scan must not be negative; it is -1",),
    ),
    (
        lambda: jit(lambda n: scan(lambda c, x: (c, x), 1.0, length=n))(3),
        errors.ConcreteValueError,
        ("must be known when the function is traced", "fori_loop(0, n,"),
    ),
    (lambda: scan(1.0, 1.0, X), errors.StructureError, ("argument 0 of scan must be a function",)),
    (
        lambda: fori_loop(0, 3.5, lambda i, c: c, 1.0),
        errors.DtypeError,
        ("upper of fori_loop must be an integer, not 3.5",),
    ),
    (
        lambda: jit(lambda n: fori_loop(0, n, lambda i, c: c, 1.0))(3.0),
        errors.DtypeError,
        ("upper of fori_loop must be an integer, not a traced f64[]", "n.astype(int)"),
    ),
    (
        lambda: while_loop(lambda c: c > 0, lambda c: c - 1, X),
        errors.ShapeError,
        ("the result of a loop's condition must be a scalar, but has shape (3,)",),
    ),
    (
        lambda: cond(X > 0, lambda: 1.0, lambda: 2.0),
        errors.ShapeError,
        ("the predicate of cond must be a scalar, but has shape (3,)",),
    ),
    (
        lambda: cond(True, lambda: 1.0, lambda: X),
        errors.ShapeError,
        ("result 0 is f64[3] from false_fun, f64[] from true_fun",),
    ),
    (
        lambda: cond(True, lambda: X, lambda: X.astype(int)),
        errors.DtypeError,
        ("result 0 is i64[3] from false_fun, f64[3] from true_fun",),
    ),
    (
        lambda: cond(True, lambda: 1.0, lambda: (1.0, 2.0)),
        errors.StructureError,
        ("must return the same structure",),
    ),
    (
        lambda: switch(1.5, [np.sin, np.cos], 1.0),
        errors.DtypeError,
        ("the index of switch must be an integer, not f64[]",),
    ),
    (lambda: switch(0, [], 1.0), errors.StructureError, ("switch needs at least one branch",)),
    (
        lambda: switch(0, np.sin, 1.0),  # type: ignore[arg-type]
        errors.StructureError,
        ("switch(index, [f, g], x)",),
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), CASES)
def test_words(call: Callable[[], Any], error: type[Exception], words: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    assert "test_errors.py" in str(caught.value)


def test_an_index_out_of_bounds_in_a_loop_is_said() -> None:
    function = jit(lambda x, n: fori_loop(0, n, lambda i, c: c + x[i], 0.0))
    assert function(X, 3) == 3.0
    with pytest.raises(IndexError, match="out of bounds"):
        function(X, 4)


def test_what_a_gpu_lacks_is_refused_in_loops_by_name() -> None:
    def step(i: Any, c: Any) -> Any:
        return np.real(np.linalg.eig(c)[1])

    lowered = jit(lambda x: fori_loop(0, 3, step, x), device="cuda").lower(np.eye(2))
    with pytest.raises(errors.UnsupportedTargetError, match="eig cannot be compiled") as caught:
        lowered.text("cuda")
    assert "test_errors.py" in str(caught.value)


def test_a_failing_loop_leaves_nothing_active() -> None:
    with pytest.raises(errors.ShapeError):
        jit(lambda x: scan(lambda c, _: (np.stack([c, c]), None), x, length=2))(1.0)
    assert autojit.trace(np.sin)(1.0).ops[0].kind.name == "sin"
