"""Arguments that are static by themselves, and arrays of other libraries as arguments."""

from __future__ import annotations

import array
import datetime
import decimal
import enum
import fractions
import pathlib
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit, vmap
from autojit.errors import MissingDtypeError, NotArrayError, UnhashableStaticError

X = np.array([1.0, 2.0, 3.0])


class Mode(enum.Enum):
    SUM = 1
    PRODUCT = 2


def reduced(x: Any, mode: Any, *, function: Any = np.sin, scale: Any = 1.0) -> Any:
    result = np.prod(x) if mode in (Mode.PRODUCT, "product") else np.sum(x)
    return function(result) * scale


def test_settings_are_static_by_themselves() -> None:
    f = jit(reduced)
    calls: list[Any] = [("sum", {}), ("product", {}), (Mode.PRODUCT, {"function": np.exp}),
                        (Mode.SUM, {"function": np.exp, "scale": 2.0})]  # fmt: skip
    for _ in range(2):
        for mode, named in calls:
            np.testing.assert_allclose(f(X, mode, **named), reduced(X, mode, **named))
    assert f.cache_info().traces == len(calls)
    with pytest.raises(NotArrayError, match=r"argument 1\['mode'\] is 'sum'"):
        f(X, {"mode": "sum"})


def test_what_is_a_setting_in_one_call_may_be_an_array_in_another() -> None:
    f = jit(lambda x, y, n=1: x * n if isinstance(y, str) else x + y * n)
    for _ in range(3):
        np.testing.assert_array_equal(f(X, "none"), X)
        np.testing.assert_array_equal(f(X, X), 2 * X)
        np.testing.assert_array_equal(f(X, 2.0), X + 2)
        np.testing.assert_array_equal(f(X, "other", n=3), 3 * X)
        np.testing.assert_array_equal(f(X, X, 3), 4 * X)
    assert f.cache_info().traces == 5
    for path in (pathlib.Path("a"), range(3), np.dtype(float), frozenset({1}), np.float32):
        np.testing.assert_array_equal(jit(lambda x, s: x)(X, path), X)
    g = jit(f, static_argnums=2)
    for _ in range(2):
        np.testing.assert_array_equal(g(X, "none", 2), 2 * X)
        np.testing.assert_array_equal(g(X, X, 2), 3 * X)
    np.testing.assert_array_equal(jit(vmap(lambda x: f(x, "none")))(X), X)
    assert jit(grad(lambda x, mode: reduced(x, mode)))(X, "sum").shape == (3,)


class Changing:
    pass


class ArrayLike:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return X


class Exported:
    def __dlpack__(self, **kwargs: Any) -> Any:
        return X.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return X.__dlpack_device__()


REFUSED = {
    "object": (Changing(), "is <.*Changing object.*Make the argument static.*\n    "),
    "decimal": (decimal.Decimal("1.5"), r"is a decimal.Decimal, .*\n    float\(x\)"),
    "fraction": (fractions.Fraction(1, 2), r"is a fractions.Fraction, .*\n    float\(x\)"),
    "array-like": (ArrayLike(), r"ArrayLike, .*\n    np.asarray\(x\)"),
    "exported": (Exported(), r"Exported, .*\n    np.from_dlpack\(x\)"),
    "matrix": (X[None].view(np.matrix), r"matrix is a subclass .*\n    np.asarray\(x\)"),
    "masked": (np.ma.array(X, mask=X > 1), r"MaskedArray is a subclass .*\n.*x.data, x.mask"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_objects_are_named(name: str) -> None:
    value, words = REFUSED[name]
    for call in (jit(lambda x: x), grad(lambda x: x), jit(grad(lambda x: x))):
        with pytest.raises(NotArrayError, match=f"(?s)argument 0.*{words}"):
            call(value)


def test_arrays_of_pandas_and_torch_are_named() -> None:
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    for value, fix in (
        (pandas.Series(X), "x.to_numpy()"), (pandas.DataFrame({"a": X}), "x.to_numpy()"),
        (pandas.Index(X), "x.to_numpy()"), (torch.tensor(X), "x.detach().cpu().numpy()"),
    ):  # fmt: skip
        for call in (jit(lambda x: x), grad(lambda x: x)):
            with pytest.raises(NotArrayError) as error:
                call(value)
            assert str(error.value).startswith("argument 0 is a ")
            assert str(error.value).endswith(f"\n    {fix}")
        made = eval(fix, {"x": value})
        np.testing.assert_array_equal(jit(lambda x: x * 1)(made), made)


@pytest.mark.parametrize(
    ("array", "fix"),
    [
        (X.astype(object), "x.astype(float)"),
        (X.astype(np.longdouble), "x.astype(np.float64)"),
    ],
)
def test_arrays_of_other_dtypes_are_named(array: Any, fix: str) -> None:
    if array.dtype == np.float64:
        pytest.skip("long double is double here")
    for call in (jit(lambda d: d["x"]), grad(lambda d: np.sum(d["x"]))):
        with pytest.raises(MissingDtypeError) as error:
            call({"x": array})
        assert str(error.value).startswith("argument 0['x']: dtype ")
        assert f"Convert it:\n    {fix}" in str(error.value)
    made = eval(fix, {"np": np, "x": array})
    np.testing.assert_array_equal(autojit.jit(lambda x: x)(made), made)


def test_any_order_in_memory() -> None:
    a = np.arange(24.0).reshape(6, 4)
    f = jit(lambda a: a @ np.ones(a.shape[1]) + a.sum())
    for b in (np.asfortranarray(a), a[::-2, 1:], a.T, a[:, ::3], a.astype(">f8")):
        np.testing.assert_allclose(f(b), b @ np.ones(b.shape[1]) + b.sum())


class Stamp(datetime.datetime):
    """A date as pandas has it: hashable, compared by value, and not a number."""

    def to_numpy(self) -> np.datetime64:
        return np.datetime64(self)


def test_a_date_is_a_setting() -> None:
    day = Stamp(2026, 1, 2)
    np.testing.assert_array_equal(jit(lambda day, x: day.year * x)(day, X), 2026 * X)
    for f, words in (
        (lambda day, x: x + day, r"argument 0 is a \S+Stamp, .*\n    x.timestamp\(\)"),
        (lambda x, day: day - x, r"argument 1 is a \S+Stamp, .*\n    x.timestamp\(\)"),
        (lambda x, day: x < day, r"argument 1 is a \S+Stamp, .*\n    x.timestamp\(\)"),
        (lambda span, x: x * span, r"argument 0 is a datetime.timedelta, .*x.total_seconds\(\)"),
    ):
        first, second = f.__code__.co_varnames
        given = {"x": X, "day": day, "span": datetime.timedelta(1)}
        with pytest.raises(NotArrayError, match=f"(?s){words}") as error:
            jit(f)(given[first], given[second])
        assert error.traceback[-1].frame.code.name == "<lambda>"
    with pytest.raises(NotArrayError, match="argument 'day' is a"):
        jit(lambda x, day: x + day)(X, day=day)
    with pytest.raises(NotArrayError, match=r"(?s)argument 0 is a \S+Stamp.*x.timestamp"):
        grad(lambda day, x: x[0])(day, X)


def test_a_buffer_is_not_a_setting() -> None:
    for buffer in (memoryview(X), memoryview(b"ab"), array.array("d", X), bytearray(b"ab")):
        for run in (jit(np.sum), grad(np.sum), jit(grad(np.sum))):
            with pytest.raises(NotArrayError, match=r"(?s)argument 0 is an? .*np.asarray\(x\)"):
                run(buffer)
    with pytest.raises(UnhashableStaticError, match="argument 0 of <lambda>"):
        jit(lambda m, x: x, static_argnums=0)(memoryview(X.copy()), X)
