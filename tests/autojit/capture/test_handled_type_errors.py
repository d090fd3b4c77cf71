"""Code that tries and handles the error takes Python's way, or is refused."""

from __future__ import annotations

import array
import collections
import decimal
import fractions
import importlib
import json
import math
import operator
import pickle
import queue
import re
import statistics
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, value_and_grad
from autojit.errors import AutojitError, CaptureError, ConcreteValueError, UncoveredAttributeError

#: Arguments of the kinds that Python distinguishes.
KINDS: dict[str, Any] = {
    "float": 1.0,
    "int": 1,
    "bool": True,
    "complex": 1j,
    "NumPy's float": np.float64(1.0),
    "NumPy's integer": np.int64(1),
    "array without axes": np.array(1.0),
    "array": np.array([1.0, 2.0]),
}

_ERRORS = (TypeError, AttributeError, KeyError, IndexError, ValueError, ArithmeticError, Exception)
_HANDLERS = "".join(
    f"    except {kind.__name__}:\n        return {k}.0\n" for k, kind in enumerate(_ERRORS, 1)
)
_NAMES = {
    "array": array, "collections": collections, "decimal": decimal, "fractions": fractions,
    "json": json, "math": math, "np": np, "operator": operator, "pickle": pickle, "struct": struct,
}  # fmt: skip


def trying(expressions: list[str], tmp_path: Any) -> list[Callable[..., Any]]:
    """For each expression of x, a function that says which error it raises, if any."""
    source = "".join(
        f"def f{k}(x):\n    try:\n        {text}\n{_HANDLERS}    return 0.0\n\n\n"
        for k, text in enumerate(expressions)
    )
    path = tmp_path / "tried.py"
    path.write_text(source)
    space: dict[str, Any] = dict(_NAMES)
    exec(compile(source, str(path), "exec"), space)
    return [space[f"f{k}"] for k in range(len(expressions))]


#: What a number or an array is asked for, each by one expression or more.
ASKED = {
    "an iterator": ["iter(x)", "len(x)", "list(x)", "next(iter(x))"],
    "items": ["x[0]", "x[...]", "x[()]", "x[0, 0]", "x['a']", "x[5]"],
    "attributes of arrays": ["x.shape", "x.ndim", "x.size", "x.dtype.name", "x.T", "x.flat"],
    "methods of arrays": ["x.sum()", "x.copy()", "x.astype(float)", "x.item()", "x.conj()"],
    "attributes of numbers": ["x.real", "x.numerator", "x.denominator", "x.is_integer()"],
    "special methods": ["x.__len__()", "x.__iter__()", "x.__contains__(1)", "x.__add__(1)"],
    "attributes of others": ["x.value", "x.type", "x.own", "x.foo", "x.append(1)", "x.keys()"],
    "getattr": ["getattr(x, 'shape')", "getattr(x, 'value')", "setattr(x, 'own', 1)"],
    "sums with lists": ["x + [1]", "[1] + x", "operator.concat(x, x)"],
    "products with lists": ["x * [1.5, 2.5]", "[1.5] @ x", "x @ x"],
    "membership": ["1 in x", "x in {1, 2}", "x in {1: 2}", "x in [x]", "x in 'abc'"],
    "a place in a list": ["[x].index(x)", "[x].count(x)", "[1][x]"],
    "comparisons": ["x < 'a'", "x == 'a'", "x + None"],
    "functions of Python": ["math.trunc(x)", "math.isnan(x)", "sorted([x, x])", "sum(x)"],
    "functions of numbers": ["np.interp(x, [0, 1], [0, 1])", "np.float64(x)", "np.bool_(x)"],
    "functions of types": ["' '.join(x)", "''.join([x])", "dict(x)", "chr(x)", "[].extend(x)"],
    "axes": ["np.sum(x, axis=3)", "np.sort(x)", "np.concatenate([x, x])", "np.diag(x)"],
    "places": ["np.nonzero(x)", "np.where(x)", "np.unravel_index(x, (3, 3))", "np.packbits(x)"],
    "data types": ["np.dtype(x)", "np.issubdtype(x, float)", "np.can_cast(x, float)"],
    "indices": ["np.take(np.ones(3), x)", "np.ones(3)[x]"],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", ASKED)
def test_the_handler_is_pythons(asked: str, kind: str, tmp_path: Any) -> None:
    for f, text in zip(trying(ASKED[asked], tmp_path), ASKED[asked], strict=True):
        x = KINDS[kind]
        try:
            found = jit(f)(x)
        except AutojitError:
            continue  # it is refused
        assert found == f(x), text


#: Expressions that need a number, of which a traced one is none.
REFUSED = [
    "hash(x)",
    "{x}",
    "{x: 1}",
    "set([x])",
    "frozenset((x,))",
    "set().add(x)",
    "dict.fromkeys([x])",
    "x.hex()",
    "str(x)",
    "f'{x}'",
    "f'{x:.3f}'",
    "'%d' % x",
    "'{}'.format(x)",
    "decimal.Decimal(x)",
    "fractions.Fraction(x)",
    "struct.pack('d', x)",
    "json.dumps([x])",
    "pickle.dumps(x)",
    "array.array('d', [x])",
]


@pytest.mark.parametrize("text", REFUSED)
def test_an_error_of_ours_is_raised_again(text: str, tmp_path: Any) -> None:
    (f,) = trying([text], tmp_path)
    assert f(1.0) == 0.0
    with pytest.raises((ConcreteValueError, UncoveredAttributeError)) as caught:
        jit(f)(1.0)
    assert any("raised again" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("text", REFUSED)
def test_without_jit_values_are_known(text: str, tmp_path: Any) -> None:
    (f,) = trying([text], tmp_path)
    try:
        value, _ = value_and_grad(f)(1.0)
    except (ConcreteValueError, UncoveredAttributeError) as error:
        words = str(error)
    else:
        words = "is not covered" if value == 0.0 else "a handler has run"
    assert re.search("derivative would be lost|is not covered", words), words


def test_sets_and_dicts_of_known_numbers() -> None:
    def distinct(x: float, y: float) -> float:
        seen = {x, 2 * y, y + y}
        table = {x: 3.0, 2 * y: y}
        return len(seen) * x * table[x] + sum(seen) + collections.Counter([x, x, y])[x] * y

    assert value_and_grad(distinct, argnums=(0, 1))(1.5, 2.5) == (
        distinct(1.5, 2.5),
        (2 * 3.0 + 1.0, 2.0 + 2.0),
    )


def test_attributes_in_a_suppressed_error() -> None:
    import contextlib

    def f(x: Any) -> Any:
        n = 1
        with contextlib.suppress(AttributeError):
            n = x.size
        return n * x

    assert jit(f)(2.0) == 2.0
    assert np.all(jit(f)(np.ones(3)) == 3.0)
    assert grad(f)(np.float64(2.0)) == 1.0


def _size(x: Any) -> Any:
    return x.size


def test_attributes_in_a_function_that_is_called_in_a_try() -> None:
    def f(x: Any) -> Any:
        try:
            n = _size(x) * (lambda v: v.ndim)(x)
        except AttributeError:
            n = 1
        return n * x

    assert jit(f)(2.0) == 2.0
    assert np.all(jit(f)(np.ones(3)) == 3.0)
    assert grad(f)(2.0) == 1.0
    assert jit(lambda x: _size(x) * x)(2.0) == 2.0


def test_attributes_outside_a_try_are_those_of_arrays() -> None:
    """Python numbers have no `sum`; a program that works for arrays works for them too."""
    assert jit(lambda x: (x**2).sum())(3.0) == 9.0


def test_attributes_of_variables_around_a_function() -> None:
    def f(x: Any) -> Any:
        def size() -> Any:
            try:
                return x.shape[0]
            except AttributeError:
                return 1

        return size() * x

    assert jit(f)(2.0) == 2.0
    assert np.all(jit(f)(np.ones(3)) == 3.0)


def test_attributes_of_the_users_objects() -> None:
    class Box:
        def __init__(self, value: Any) -> None:
            self.value = value

    def unboxed(x: Any) -> Any:
        try:
            return x.value
        except AttributeError:
            return x

    assert jit(lambda x: unboxed(Box(2 * x)) + unboxed(x) + getattr(x, "value", x))(1.5) == 6.0
    assert grad(lambda x: unboxed(Box(2 * x)) + unboxed(x) + getattr(x, "data", x))(1.5) == 4.0


def test_the_type_of_a_variable_on_two_ways() -> None:
    def f(x: float) -> Any:
        y = x if x > 0 else np.float64(1.0)
        try:
            return y.size * 2.0
        except AttributeError:
            return 1.0

    with pytest.raises(CaptureError, match="The type of a variable is tested"):
        jit(f)(1.0)


def test_functions_of_others_are_named_in_the_error() -> None:
    with pytest.raises(
        ConcreteValueError, match=r"dumps\(\) does not take traced values"
    ) as caught:
        jit(lambda x: json.dumps(x))(1.0)
    text = str(caught.value)
    assert text.startswith("dumps() ")
    assert "y = jit(f)(x)" in text
    assert "autojit.pure_callback(json.dumps, x, x)" in text
    assert isinstance(caught.value.__cause__, TypeError)
    with pytest.raises(ConcreteValueError, match=r"Decimal\(\) gives plain numbers"):
        grad(lambda x: float(decimal.Decimal(x)) * x)(1.0)


def test_errors_of_libraries_that_are_not_about_types() -> None:
    def f(x: Any) -> Any:
        places: queue.Queue[Any] = queue.Queue(1)
        try:
            places.put_nowait(x)
            places.put_nowait(2 * x)
        except queue.Full:
            return 3 * places.get()
        return x

    def g(x: Any) -> Any:
        try:
            return statistics.stdev([x])
        except statistics.StatisticsError:
            return 2 * x

    assert [jit(f)(1.5), grad(f)(1.5), jit(g)(1.5), grad(g)(1.5)] == [4.5, 3.0, 3.0, 2.0]


def test_arguments_that_do_not_fit_are_named_by_python() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        jit(lambda x: json.dumps(x, other=1))(1.0)
    with pytest.raises(TypeError, match="exactly one argument"):
        jit(lambda x: math.isnan(x, 2))(1.0)  # type: ignore[call-arg]


def test_exceptions_of_an_installed_package(tmp_path: Any, monkeypatch: Any) -> None:
    package = tmp_path / "site-packages" / "installed_solver.py"
    package.parent.mkdir()
    package.write_text(
        "class Unsolved(Exception): ...\n\n"
        "def solve(x, steps):\n"
        "    if steps < 2:\n        raise Unsolved('too few')\n"
        "    return x / steps\n"
    )
    monkeypatch.syspath_prepend(package.parent)
    installed: Any = importlib.import_module("installed_solver")

    def f(x: Any, steps: int) -> Any:
        try:
            return installed.solve(x, steps)
        except installed.Unsolved:
            return 3 * x

    assert [jit(f, static_argnums=1)(2.0, n) for n in (1, 2)] == [6.0, 1.0]
    assert [grad(f)(2.0, n) for n in (1, 2)] == [3.0, 0.5]
    assert [jit(f)(2.0, n) for n in (1, 2)] == [6.0, 1.0]


def test_an_error_of_python_names_the_users_type() -> None:
    with pytest.raises(TypeError, match="can only join an iterable"):
        jit(lambda x: " ".join(x))(1.0)
    with pytest.raises(TypeError, match="'Tracer' and 'list'"):
        jit(lambda x: x - [1.0])(1.0)


def test_handlers_of_an_axis() -> None:
    def f(x: Any) -> Any:
        try:
            return np.sum(x, axis=2)
        except np.exceptions.AxisError:
            return np.sum(x)

    assert jit(f)(np.ones(3)) == 3.0
