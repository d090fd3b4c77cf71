"""A Series or DataFrame of pandas beside a traced array counts by its values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import errors, grad, jit

pandas = pytest.importorskip("pandas")

S = pandas.Series([1.0, -2.0, 3.0], index=[7, 8, 9])
DF = pandas.DataFrame(np.arange(6.0).reshape(2, 3) + 0.5, columns=list("abc"))
W, V = np.array([0.5, 2.0, -1.5]), np.array([3.0, -4.0])

OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "ge", "eq")


@pytest.mark.parametrize("held", [S, DF, pandas.Index([1.0, 2.0, 4.0])], ids=["s", "df", "index"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, held: Any) -> None:
    apply = getattr(operator, name)
    values = held.to_numpy()
    np.testing.assert_array_equal(jit(lambda w: apply(held, w))(W), apply(values, W))
    np.testing.assert_array_equal(jit(lambda w: apply(w, held))(W), apply(W, values))
    np.testing.assert_array_equal(jit(lambda k: apply(held, k))(2.0), apply(values, 2.0))


FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], Any, Any]] = {
    "df @ w": (operator.matmul, DF, W),
    "v @ df": (lambda df, v: v @ df, DF, V),
    "s @ w": (operator.matmul, S, W),
    "w @ s": (lambda s, w: w @ s, S, W),
    "df.dot": (lambda df, w: df.dot(w), DF, W),
    "add": (np.add, S, W),
    "ufunc of df": (np.multiply, DF, W),
    "dot": (np.dot, DF, W),
    "where": (lambda s, w: np.where(s > 0, w, 0.0), S, W),
    "mask": (lambda s, w: w[s > 0], S, W),
    "column": (lambda df, v: df["a"] * v, DF, V),
    "sum": (lambda s, w: np.sum((s - w) ** 2), S, W),
    "of an array that was written": (lambda s, w: s * written(w), S, W),
    "to an array that was written": (lambda s, w: written(w) - s, S, W),
}


def written(w: Any) -> Any:
    made = np.zeros(3)
    made[1:] = w[1:]
    return made


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, held, argument = FUNCTIONS[name]
    values = held if name == "column" else held.to_numpy()
    want = np.asarray(function(values, argument))
    np.testing.assert_array_equal(jit(lambda w: function(held, w))(argument), want)


def test_a_gradient() -> None:
    found = jit(grad(lambda w: np.mean((DF @ w - V) ** 2)))(W)
    x = DF.to_numpy()
    np.testing.assert_allclose(found, x.T @ (x @ W - V))


def test_pandas_own_products_stay() -> None:
    def both(w: Any) -> Any:
        assert isinstance(DF @ W, pandas.Series)
        return w

    jit(both)(W)
    assert isinstance(DF @ W, pandas.Series)
    assert DF.dot.__func__ is pandas.DataFrame.dot
    assert not hasattr(pandas.DataFrame.dot, "__wrapped__")


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**"])
@pytest.mark.parametrize("held", [S, DF], ids=["s", "df"])
def test_in_place_operators_are_refused(held: Any, sign: str) -> None:
    space: dict[str, Any] = {"s": held}
    exec(f"def changes(x):\n    global s\n    s {sign}= x\n    return s", space)
    exec(f"def binds_anew(x):\n    return s {sign} x", space)
    with pytest.raises(errors.RefusedInPlaceError) as caught:
        jit(space["changes"])(W)
    words = f"would write a traced array into a {type(held).__name__} of pandas"
    assert f"{sign}= {words}" in str(caught.value)
    assert f"    s = s {sign} x" in str(caught.value)
    assert space["s"] is held
    jit(space["binds_anew"])(W)


def test_in_place_operators_of_a_column_are_refused() -> None:
    def f(v: Any) -> Any:
        frame = DF.copy()
        frame["a"] += v
        return np.sum(frame["a"])

    with pytest.raises(errors.RefusedInPlaceError, match="into a Series of pandas"):
        jit(f)(V)


def test_in_place_operators_of_known_numbers_stay() -> None:
    def f(w: Any) -> Any:
        series = S.copy()
        series += W
        return np.sum(series * w)

    np.testing.assert_allclose(jit(f)(W), np.sum((S.to_numpy() + W) * W))
    assert not hasattr(pandas.Series._inplace_method, "__wrapped__")


def test_an_array_takes_a_series_in_place() -> None:
    def f(w: Any) -> Any:
        w = w.copy()
        w += S
        return w

    np.testing.assert_array_equal(jit(f)(W), W + S.to_numpy())


def test_what_holds_no_numbers() -> None:
    words = pandas.Series(["a", "b", "c"], dtype=object)
    with pytest.raises(errors.DtypeError, match="dtype object is not supported"):
        jit(lambda w: words * w)(W)
