"""Every mistake gets its own error, with the user's line or argument and the fix in code."""

from __future__ import annotations

import math
import operator
import re
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.special
import scipy.stats
from numpy import asarray  # noqa: F401 - evaluated
from numpy import exp as own_exp  # noqa: F401 - evaluated

import autojit
from autojit import errors, grad, jit, value_and_grad, vmap
from autojit.errors import (
    ArgumentChangedError,
    AutojitError,
    CaptureError,
    ConcreteValueError,
    DerivativeCheckError,
    DerivativeError,
    DonationWarning,
    DtypeError,
    EnvironmentVariableError,
    FrozenRandomError,
    FrozenTimeError,
    HandledFailureError,
    InPlaceError,
    IntegerGradientError,
    LeakedTracerError,
    MiscompilationError,
    MissingDtypeError,
    MixedDevicesError,
    NanError,
    NonScalarGradientError,
    NotArrayError,
    ProfileError,
    RefusedInPlaceError,
    SettingError,
    ShapeError,
    ShapesDifferError,
    StaleValueWarning,
    StructureError,
    TypeMismatch,
    UncoveredAttributeError,
    UncoveredFunctionError,
    UnhashableStaticError,
    UnsupportedTargetError,
)
from autojit.validation.compilation import verify

X = np.array([1.0, 2.0, 3.0])
A = np.arange(6.0).reshape(2, 3)
#: As C code calls it, so that it is not followed while a function is traced.
plain_asarray = np.asarray.__call__
HERE = f"({re.escape(__file__)}|<string>)"


def message(error: type[Exception], f: Callable[..., Any], *arguments: Any) -> str:
    """The message of the error that tracing f raises; it names a line of this file, or of a
    string that was evaluated."""
    with pytest.raises(error) as caught:
        jit(f)(*arguments)
    assert type(caught.value).__name__ == error.__name__
    text = str(caught.value)
    assert re.search(rf'File "{HERE}", line \d+, in ', text), text
    return text


def assert_says(text: str, *words: str) -> None:
    for word in words:
        assert word in text, text


# -- functions that are not covered -------------------------------------------

UNCOVERED = {
    "np.unique": lambda x: np.unique(x),
    "np.may_share_memory": lambda x: np.may_share_memory(x, x),
    "np.busday_count": lambda x: np.busday_count(x, x),
    "np.pad with a function as its mode": lambda x: np.pad(x, 1, mode=lambda *given: None),
}


@pytest.mark.parametrize("name", UNCOVERED)
def test_uncovered_functions(name: str) -> None:
    text = message(UncoveredFunctionError, UNCOVERED[name], X)
    assert_says(text, name, "is not covered by autojit", f"lambda x: np.{name.split()[0][3:]}(")


def test_similar_functions_are_suggested() -> None:
    text = message(UncoveredFunctionError, lambda x: scipy.special.kelvin(x), X)
    assert_says(text, "Covered and similar: ", "scipy.special.kei")


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_methods_of_ufuncs_along_an_axis_that_is_not_there(method: str) -> None:
    text = message(ShapeError, lambda x: getattr(np.maximum, method)(x, axis=3), X)
    assert_says(text, f"np.maximum.{method}: axis 3 is out of bounds")


def test_uncovered_ufunc_of_scipy() -> None:
    special = pytest.importorskip("scipy.special")
    text = message(UncoveredFunctionError, lambda x: special.kelvin(x), X)
    assert_says(text, "scipy.special.kelvin is not covered")


def test_what_scipy_asks_of_a_callback_is_refused_with_its_name() -> None:
    text = message(
        ConcreteValueError,
        lambda x: scipy.optimize.brute(lambda p: np.sum((p - x[0]) ** 2), ((0.0, 1.0),)),
        X,
    )
    assert_says(text, "which scipy.optimize.brute does", "@autojit.custom_jvp")
    assert "test_errors.py" in text


def test_functions_of_scipy_without_a_twin_are_named() -> None:
    space = {"np": np, "bandwidth": scipy.linalg.bandwidth}
    exec("def f(x): return bandwidth(x * np.eye(2))", space)
    with pytest.raises(ConcreteValueError, match=r"which scipy\.linalg\.bandwidth does") as caught:
        jit(space["f"])(1.0)
    assert_says(str(caught.value), "@autojit.custom_jvp")
    exec("def g(x): return softmax(x)", space := {"softmax": scipy.special.softmax})
    with pytest.raises(ConcreteValueError, match=r"which scipy\.special\.softmax does") as caught:
        jit(space["g"])(X)
    assert_says(
        str(caught.value), "f = scipy.special.softmax                    # not: from scipy.special"
    )


def test_clocks_are_refused() -> None:
    text = message(FrozenTimeError, lambda x: x * time.time(), X)
    assert_says(text, "time.time in a compiled function", "jit(f)(x, time.time())")


def test_samples_of_scipys_distributions_are_refused() -> None:
    text = message(FrozenRandomError, lambda x: scipy.stats.norm.rvs(loc=x), X)
    assert_says(text, "numbers that scipy.stats.norm.rvs draws", "jit(f)(mu, sigma, noise)")


def test_shapes_that_depend_on_values() -> None:
    text = message(UncoveredFunctionError, lambda x: np.sort(x[x > 0]), X)
    assert_says(
        text, "a traced mask selects", "np.where(m, x, 0)                          # not: x[m]"
    )
    batch = vmap(lambda x: np.where(x > 0))
    text = message(UncoveredFunctionError, batch, np.stack([X, X]))
    assert_says(text, "a traced mask selects", "The result of <lambda> is not covered")


def test_attributes_of_arrays_that_are_not_covered() -> None:
    with pytest.raises(AttributeError, match=r"x\.strides of a traced array of type f64\[3\]"):
        jit(lambda x: x.strides)(X)
    with pytest.raises(AttributeError, match="has no attribute 'summ'"):
        jit(lambda x: x.summ())(X)
    # The user's question is about an array; NumPy's own is not.
    assert jit(lambda x: hasattr(x, "__array_interface__"))(X)
    assert jit(eval("lambda x: hasattr(x, '__array_interface__')"))(X)


def test_uncovered_is_also_not_implemented() -> None:
    assert issubclass(UncoveredFunctionError, NotImplementedError)


# -- concrete values ----------------------------------------------------------


#: Made outside of any traced function.
PLAIN = np.zeros(3)


def branch(x: Any) -> Any:
    if x[0] > 0:
        return x
    return -x


def loop(x: Any) -> Any:
    while np.sum(x) > 1:
        x = x / 2
    return x


def rows_above(x: Any, least: Any) -> Any:
    try:
        for row in x:
            if row > least:
                yield row
    finally:
        pass


class Digit:
    """A class whose method is called by C code."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def of(self, found: Any) -> str:
        return "2" if self.x[0] > 0 else "3"


def named(x: Any) -> Any:
    word = "up" if x[0] > 0 else 2.0
    return x if word == "up" else -x


def test_ways_that_differ_in_more_than_numbers() -> None:
    text = message(CaptureError, named, X)
    assert_says(text, "where the condition does not hold, and 'up' where it does")
    assert_says(text, 'word = "up" if x[0] > 0', "grad(f)(x)  ", "kind = 1")


def test_ways_that_differ_in_shape() -> None:
    text = message(ShapesDifferError, lambda x: x[:2] if x[0] > 0 else x, X)
    assert_says(text, "is f64[3] where the condition does not hold, and f64[2] where it does")


#: Questions that are captured from the source.
ASKED = {
    "float": lambda x: float(x[0]),
    "complex": lambda x: complex(x[0]),
    "int": lambda x: int(x[0]),
    "bool": lambda x: bool(x[0]),
    "if": branch,
    "while": loop,
    "and": lambda x: x[0] > 0 and x[1] > 0,
    "not": lambda x: not x[0],
    "chained": lambda x: 0 < x[0] < 1,
    "max": lambda x: max(x[0], x[1]),
    "in": lambda x: x[0] in [1.0, 2.0],
    "math": lambda x: math.sin(x[0]),
    "round": lambda x: round(x[0]),
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "list index": lambda x: [1, 2][x[0].astype(int) - 1],
    "slice": lambda x: np.sum(x[: x[0].astype(int)]),
    "place in a copy": lambda x: at_a_place(x),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", ASKED)
def test_questions_get_the_answer_of_each_call(case: str) -> None:
    f = jit(ASKED[case])
    for x in (X, X[::-1].copy() / 2, np.array([1.25, -2.0, 7.0])):
        np.testing.assert_array_equal(f(x), ASKED[case](x.copy()))
    assert f.cache_info().traces == 1


#: The same in functions without source, and what is refused in all.
CONCRETE = {
    "float": ("float(x[0])", ["float(x)", "f64[]", "np.sin(x)"]),
    "complex": ("complex(x[0])", ["complex(x)", "x.astype(complex)"]),
    "int": ("int(x[0])", ["int(x)", "x.astype(int)"]),
    "bool": ("bool(x[0])", ["bool(x)", "np.where(x > 0, a, b)", "static_argnums"]),
    "if": ("x if x[0] > 0 else -x", ["its source is not available", "a if x > 0 else b"]),
    "while": (
        "next(i for i in range(9) if np.sum(x) > i)",
        ["its source is not available", "autojit.while_loop"],
    ),
    "and": ("x[0] > 0 and x[1] > 0", ["`and`", "np.where"]),
    "not": ("not x[0]", ["bool(x)"]),
    "chained": ("0 < x[0] < 1", ["bool(x)", "np.where"]),
    "max": ("max(x[0], x[1])", ["bool(x)"]),
    "in": ("x[0] in [1.0, 2.0]", ["bool(x)"]),
    "math": ("math.sin(x[0])", ["math.sin(x)", "y = np.sin(x)"]),
    "round": ("round(x[0])", ["round(x)", "np.rint(x)"]),
    "item": ("x[0].item()", ["x.item()", "result of jit(f)"]),
    "tolist": ("x.tolist()", ["x.tolist()"]),
    "list index": ("[1, 2][x[0].astype(int)]", ["index", "static_argnums"]),
    "place in a copy": ("[0.0, 1.0].__setitem__(x[0].astype(int), 2.0)", ["as an index"]),
    "format": (lambda x: f"{x[0]:.3f}", ["formatting x as '.3f'", "result of jit(f)"]),
    "tuple": (lambda x: (1.0,) * x[0].astype(int), ["static_argnums", "np.take(table, i)"]),
    "reshape": (lambda x: x.reshape(x[0].astype(int)), ["static_argnums"]),
    "asarray": ("asarray(x)", ["np.array([x, y])", "not: from numpy import array"]),
    "list": (
        "own_exp([x[0], x[1]])",
        ["np.sum([x, y])", "not: from numpy import sum"],
    ),
    "copy": (lambda x: into_a_copy(x), ["an ordinary array", "y = y0.copy(); y[0] = x"]),
    "part": (lambda x: PLAIN.__setitem__(slice(1), x), ["y = y0.copy(); y[0] = x"]),
    "item assigned": (lambda x: PLAIN.__setitem__(0, x[0]), ["y = y0.copy(); y[0] = x"]),
}

#: The reason why a function was not captured, and the text of its error.
NOT_CAPTURED = {
    "no source": (
        eval("lambda x: x if x[0] > 0 else -x"),
        ["not in `<lambda>` (line 1): its source is not available.", "Write that as an ordinary"],
    ),
    "generator": (
        lambda x: sum(rows_above(x, 0.0)),
        ["not in `rows_above` (line", "a try with finally"],
    ),
    "called by C": (
        lambda x: float(re.sub("1", Digit(x).of, "1")),
        ["`of` (line", "is called by a library or by C code", "Call it from your own"],
    ),
    "asked by C": (
        lambda x: x[0] if operator.contains({1: x[0]}.values(), x[1]) else x[1],
        ["here a library or C code tests the value", "`if` in your own code"],
    ),
}


@pytest.mark.parametrize("case", NOT_CAPTURED)
def test_why_a_function_was_not_captured(case: str) -> None:
    function, words = NOT_CAPTURED[case]
    text = message(ConcreteValueError, function, X)
    assert_says(text, "are captured from the source of the function", *words)
    assert_says(text, "y = np.where(x > 0, a, b)", "autojit.cond(x > 0, f, g, x)")


def test_assertions_that_pytest_has_rewritten() -> None:
    def f(x: Any) -> Any:
        assert x[0] > 0
        return x

    text = message(ConcreteValueError, f, X)
    assert_says(text, "not in `f` (line", "a tool has changed the function")


def at_a_place(x: Any) -> Any:
    places = [0.0, 1.0]
    places[x[0].astype(int)] = 2.0
    return places


def into_a_copy(x: Any) -> Any:
    y = PLAIN[:]
    y[0] = x[0]
    return y


@pytest.mark.parametrize("case", CONCRETE)
def test_concrete_values(case: str) -> None:
    function, words = CONCRETE[case]
    if isinstance(function, str):
        function = eval(f"lambda x: {function}")
    assert_says(message(ConcreteValueError, function, X), *words)


def test_arrays_that_become_traced_where_they_cannot_be_followed() -> None:
    def f(x: Any) -> Any:
        out = np.zeros(3)
        shown = plain_asarray(out)
        out[0] = x[0]
        return shown

    text = message(RefusedInPlaceError, f, X)
    assert_says(text, "out[0] = x[0]", "a view that is a plain array", "y = np.array(x)")


def test_changed_arguments() -> None:
    def f(x: Any) -> Any:
        x -= x.mean()
        return x

    text = message(ArgumentChangedError, f, X)
    assert_says(text, "argument 0 is changed in place", "x -= x.mean()", "x = x.copy()")


def test_attributes_that_are_not_covered() -> None:
    text = message(UncoveredAttributeError, lambda x: x.tobytes(), X)
    assert_says(text, "x.tobytes of a traced array of type f64[3] is not covered")


def test_failures_that_the_function_handles() -> None:
    def f(x: Any) -> Any:
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            return 0 * x

    text = message(HandledFailureError, f, np.eye(2))
    words = "may raise np.linalg.LinAlgError", "value = jit(f)(x)", "np.linalg.cholesky(x)"
    assert_says(text, *words)


def test_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        jit(lambda x: {x: 1})(X)


# -- grad ---------------------------------------------------------------------


def square(x: Any, n: Any = 2) -> Any:
    return x**2


def refusal(error: type[Exception], f: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(error) as caught:
        f(*arguments)
    assert type(caught.value).__name__ == error.__name__
    return str(caught.value)


def test_gradient_of_an_array() -> None:
    text = refusal(NonScalarGradientError, grad(square), X)
    assert_says(text, "square returns an array of type f64[3]", "grad(lambda x: f(x).sum())")


def test_gradient_of_several_results() -> None:
    text = refusal(NonScalarGradientError, grad(lambda x: (x, x)), 1.0)
    assert_says(text, "returns 2 arrays", "grad(f, has_aux=True)")
    text = refusal(NonScalarGradientError, value_and_grad(lambda x: None), 1.0)
    assert_says(text, "returns nothing", "return")


def test_gradient_of_whole_or_complex_results() -> None:
    text = refusal(NonScalarGradientError, grad(lambda x: np.sum(x > 0)), X)
    assert_says(text, "i64[]", "Counts, comparisons and positions (argmax) jump")
    text = refusal(NonScalarGradientError, grad(lambda x: x * 1j), 1.0)
    assert_says(text, "c128[]", "real part", "holomorphic=True")


def test_gradient_by_whole_numbers() -> None:
    text = refusal(IntegerGradientError, grad(square), 3)
    assert_says(text, "grad of square with respect to argument 0, which is int64", "grad(f)(3.0)")
    text = refusal(IntegerGradientError, grad(square), np.arange(3))
    assert_says(text, "x.astype(float)", "3.0, not 3")
    text = refusal(IntegerGradientError, grad(lambda n, x: n * x), 3, 2.0)
    assert_says(text, "grad(f)(3.0, x)", "choose another", "grad(f, argnums=1)")
    text = refusal(IntegerGradientError, grad(lambda p: p["w"]), {"w": 1.0, "steps": [True]})
    assert_says(text, "argument 0['steps'][0], which is bool")


def test_gradient_by_an_argument_that_is_not_there() -> None:
    text = refusal(SettingError, grad(square, 2), 3.0)
    assert_says(text, "argnums=2", "square was called with 1 positional argument.")


def test_auxiliary_results_that_are_not_a_pair() -> None:
    text = refusal(StructureError, grad(square, has_aux=True), 3.0)
    assert_says(text, "square must return a tuple (value, auxiliary)")
    text = refusal(StructureError, grad(lambda x: (x, 1, 2), has_aux=True), 3.0)
    assert_says(text, "returned a tuple of 3")


def test_derivatives_that_a_rule_does_not_give() -> None:
    square = autojit.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))
    text = message(DerivativeError, lambda x: autojit.jvp(square, (x,), (x,)), X)
    assert_says(text, "has a custom vjp, so it has no forward mode", "custom_jvp(")


def test_gradient_by_something_else() -> None:
    text = refusal(NotArrayError, grad(lambda x, mode: x, (0, 1)), 1.0, "fast")
    assert_says(text, "argument 1 is 'fast' of type str", "grad(f, argnums=0)")


# -- shapes and dtypes --------------------------------------------------------

SHAPES = {
    "+": (lambda a, x: a + np.ones((3, 2)), ["(2, 3) and (3, 2)", "x[:, None]"]),
    "where": (lambda a, x: np.where(a > 0, a, np.ones(2)), ["(2, 3)", "(2,)"]),
    "@": (lambda a, x: a @ a, ["(2, 3) and (2, 3)", "(3) must equal", "a @ b.T"]),
    "@ vector": (lambda a, x: a @ np.ones(2), ["(2, 3) and (2,)", "the axis of the second (2)"]),
    "@ scalar": (lambda a, x: a @ x[0], ["scalars are multiplied with *"]),
    "@ stacks": (lambda a, x: (a * np.ones((2, 2, 3))) @ np.ones((3, 3, 2)), ["do not broadcast"]),
    "dot": (lambda a, x: np.dot(a, a), ["np.dot", "(2, 3) and (2, 3)"]),
    "inner": (lambda a, x: np.inner(a, np.ones(2)), ["np.inner", "last axes differ"]),
    "tensordot": (lambda a, x: np.tensordot(a, a, 1), ["np.tensordot", "differ in extent"]),
    "concatenate": (lambda a, x: np.concatenate([a, a[:, :2]]), ["(2, 3)", "(2, 2)", "axis 0"]),
    "concatenate ranks": (lambda a, x: np.concatenate([a, x]), ["(2, 3) and (3,)"]),
    "stack": (lambda a, x: np.stack([a, x]), ["np.stack needs arrays of one shape", "(3,)"]),
    "reshape": (lambda a, x: a.reshape(4, 2), ["(2, 3)", "(4, 2)"]),
    "reshape -1": (lambda a, x: np.reshape(a, (4, -1)), ["(2, 3)", "(4, -1)"]),
    "broadcast_to": (lambda a, x: np.broadcast_to(a, (3, 3)), ["(2, 3)", "(3, 3)"]),
    "squeeze": (lambda a, x: np.squeeze(a, 0), ["np.squeeze", "(2, 3)"]),
    "axis": (lambda a, x: np.sum(a, axis=2), ["np.sum", "axis 2 is out of bounds", "2 dimensions"]),
    "axis twice": (lambda a, x: np.sum(a, axis=(0, 0)), ["the same axis twice"]),
    "split": (lambda a, x: np.split(x, 2), ["np.split", "3 elements do not divide by 2"]),
    "einsum extents": (lambda a, x: np.einsum("ij,jk", a, a), ["'j' is 3 in one operand and 2"]),
    "einsum ranks": (lambda a, x: np.einsum("ijk->i", a), ["'ijk' names 3 axes", "(2, 3)"]),
    "einsum operands": (lambda a, x: np.einsum("ij,jk->ik", a), ["names 2 operands; got 1"]),
    "einsum output": (lambda a, x: np.einsum("ij->ik", a), ["'k' is in no operand"]),
    "einsum output twice": (lambda a, x: np.einsum("ij->ii", a), ["'i' stands twice"]),
    "max of nothing": (lambda a, x: np.max(a[:0]), ["no elements", "initial="]),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", SHAPES)
def test_shapes(case: str) -> None:
    function, words = SHAPES[case]
    text = message(ShapeError, function, A, X)
    assert_says(text, *words)


def test_index_out_of_bounds() -> None:
    for pick in (lambda x: x[3], lambda x: x[[0, -4]]):
        with pytest.raises(IndexError, match=r"out of bounds for axis 0[\s\S]*f64\[3\][\s\S]*pick"):
            jit(pick)(X)
    with pytest.raises(IndexError, match=r"too many indices: 2 for an array of type f64\[3\]"):
        jit(lambda x: x[0, 0])(X)


def test_dtypes() -> None:
    text = message(DtypeError, lambda x: x & 1, X)
    assert_says(text, "bitwise_and", "float64", "x & 1")
    text = message(DtypeError, lambda x: np.arctan2(x * 1j, x), X)
    assert_says(text, "arctan2", "complex128")
    text = message(MissingDtypeError, lambda x: scipy.special.elliprc(x * 1j, x), X)
    words = "scipy.special.elliprc of complex operands is not covered"
    assert_says(text, words, "x.real and x.imag")


def test_item_assignment() -> None:
    def f(x: Any) -> Any:
        x[0] = 1j
        return x

    text = message(DtypeError, f, X)
    assert_says(text, "x[0] = 1j", "discard their imaginary parts", "x[i] = z.real")


def test_changes_in_place_that_do_not_fit() -> None:
    def f(x: Any) -> Any:
        x += np.ones((2, 3))
        return x

    text = message(InPlaceError, f, X)
    assert_says(text, "x += np.ones((2, 3))", "does not fit into the array", "x = x + y")


# -- arguments and results ----------------------------------------------------


def test_unhashable_static_arguments() -> None:
    f = jit(lambda x, sizes: x, static_argnums=1)
    text = refusal(UnhashableStaticError, f, 1.0, [1, 2])
    assert_says(text, "argument 1", "[1, 2] of type list", "f((1, 2))")
    text = refusal(UnhashableStaticError, jit(square, static_argnames="n"), 1.0, X)
    assert_says(text, "argument 1 of square", "leave the argument traced if it is an array")
    text = refusal(UnhashableStaticError, lambda: jit(square, static_argnames="n")(1.0, n={1: 2}))
    assert_says(text, "argument 'n' of square", "dict")


def test_arguments_that_are_not_arrays() -> None:
    text = refusal(NotArrayError, jit(square), ["text"])
    assert_says(text, "argument 0[0] is 'text' of type str", "static_argnums")
    text = refusal(NotArrayError, jit(square), {"w": [X, {1, 2}]})
    assert_says(text, "argument 0['w'][1] is {1, 2} of type set")
    text = refusal(NotArrayError, lambda: jit(square)(1.0, n={"a": "three"}))
    assert_says(text, "argument 'n'['a'] is 'three'")
    text = refusal(NotArrayError, autojit.trace(square), object())
    assert_says(text, "of type object")


def test_results_that_are_not_arrays() -> None:
    named = jit(vmap(lambda x: {"loss": x, "name": "model"}))
    text = refusal(NotArrayError, named, X)
    assert_says(text, "'model' of type str", "must be an array, a number, or tuples")


@pytest.mark.slow
def test_leaks_name_the_fix() -> None:
    kept: list[Any] = []
    text = message(LeakedTracerError, lambda x: kept.append(np.sin(x)) or x, X)
    assert_says(text, "in a list, in the variable `kept`", "has_aux=True", "np.sin(x)")
    text = refusal(LeakedTracerError, lambda: kept[0] + 1)
    assert_says(text, "kept in a global", "grad(f, has_aux=True)", "kept[0] + 1")


def test_program_called_with_other_types() -> None:
    program = autojit.trace(square)(X)
    wrong = r"argument 0 of program square must be f64\[3\], got f64\[2\]"
    with pytest.raises(TypeMismatch, match=wrong):
        program(X[:2])


def test_targets() -> None:
    text = refusal(UnsupportedTargetError, lambda: jit(square, device="tpu"))
    assert_says(text, "'cpu' or 'cuda'")


def test_one_program_on_two_devices() -> None:
    inner = jit(square, device="cuda")
    text = refusal(MixedDevicesError, lambda: jit(lambda x: inner(x), device="cpu")(X))
    assert_says(
        text, "jit(<lambda>, device='cpu')", "jit(square, device='cuda')", "@jit", "inner(x)"
    )


def test_donated_arguments() -> None:
    with pytest.warns(DonationWarning) as caught:
        donated = jit(square, donate_argnums=0)
    assert donated(2.0) == 4.0
    (warning,) = caught
    text = str(warning.message)
    assert_says(text, "donate_argnums=0", "inputs are never written to", "Leave it out", "jit(f)")
    assert warning.filename == __file__
    assert jit(square, donate_argnums=())(2.0) == 4.0


def test_stale_value_at_the_second_call() -> None:
    rates = [2.0]
    scaled = jit(lambda x: rates[0] * x)
    scaled(1.0)
    rates[0] = 3.0
    with pytest.warns(StaleValueWarning) as caught:
        assert scaled(1.0) == 2.0
    assert_says(str(caught[0].message), "`rates[0]` (2.0, now 3.0)", "Pass it", "f(x, rates)")


def test_nan_made_while_debug_nans_is_on() -> None:
    with autojit.debug_nans(), pytest.raises(NanError) as caught:
        jit(lambda x: np.log(x))(-1.0)
    assert_says(str(caught.value), __file__, "log(-1.0) is nan", "fine = x > 0")


def test_wrong_custom_rule_is_named() -> None:
    @autojit.custom_jvp
    def cubed(x: Any) -> Any:
        return x**3

    cubed.defjvp(lambda primals, tangents: (cubed(*primals), 2.0 * tangents[0]))
    with pytest.raises(DerivativeCheckError) as caught:
        jit(grad(cubed), check="first")(2.0)
    text = str(caught.value)
    assert_says(text, "the rule of cubed (custom_jvp)", "expected 12", "got 2.", __file__)


def test_code_that_is_wrong_is_a_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AUTOJIT_VERIFY", "points")
    monkeypatch.setenv("AUTOJIT_VERIFY_DIR", str(tmp_path))
    program = autojit.trace(np.sin)(X)
    with pytest.raises(MiscompilationError) as caught:
        verify(program, [X], lambda arrays: [np.cos(arrays[0])])
    assert_says(str(caught.value), "sin was miscompiled: result 0[0] is", str(tmp_path))


def test_setting_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOJIT_VERIFY", "yes")
    with pytest.raises(EnvironmentVariableError) as caught:
        jit(lambda x: x * 7.25)(X)
    assert_says(
        str(caught.value), "AUTOJIT_VERIFY=yes is not a valid setting", "AUTOJIT_VERIFY=points"
    )


# -- errors in general --------------------------------------------------------


def test_a_profile_that_has_not_begun_or_was_used() -> None:
    p = autojit.profile()
    with pytest.raises(ProfileError) as caught:
        print(p)
    found = str(caught.value)
    assert "has not started" in found
    with p:
        pass
    with pytest.raises(ProfileError, match="Create another one") as caught, p:
        pass
    for words in (found, str(caught.value)):
        fix = words.partition("\n")[2]
        exec(textwrap.dedent(fix), {"autojit": autojit, "f": jit(np.sin), "x": X})


def test_every_error_is_raised_by_a_test_here() -> None:
    # Warnings are those of the cache, and tested with it.
    names = {n for n in errors.__all__ if not issubclass(getattr(errors, n), Warning)}
    names -= {"AutojitError", "TracingError"}
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    unused = {n for n in names if not re.search(rf"(message|refusal|raises)\({n}\b", text)}
    assert unused == set()


def test_errors_are_of_python_s_kinds_too() -> None:
    kinds = {ShapeError: ValueError, DtypeError: TypeError, LeakedTracerError: RuntimeError}
    for error, kind in kinds.items():
        assert issubclass(error, kind)
        assert issubclass(error, AutojitError)


def test_only_the_error_is_shown() -> None:
    """The error has no chained exceptions from inside autojit."""
    for f in (lambda x: x + np.ones(2), lambda x: np.sum(x, axis=4), lambda x: x & 1):
        with pytest.raises(AutojitError) as caught:
            jit(f)(X)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_errors_inside_of_derivatives_name_the_line_too() -> None:
    def f(x: Any) -> Any:
        return np.sum(x + np.ones(2))  # this line

    for g in (grad(f), jit(grad(f)), grad(jit(f))):
        with pytest.raises(ShapeError, match="# this line"):
            g(X)


def test_failures_in_compiled_code_name_no_compiler() -> None:
    indexed = jit(lambda x, i: x[i])
    assert indexed(X, np.array([2]))[0] == 3.0
    with pytest.raises(IndexError) as caught:
        indexed(X, np.array([5]))
    assert not re.search("numba|llvm", str(caught.value), re.IGNORECASE)
    assert indexed(X, np.array([1]))[0] == 2.0


COMPLEX = [np.arcsin, np.arctan, np.expm1, np.log1p, np.log10, np.square, np.reciprocal, np.cbrt]


@pytest.mark.parametrize("ufunc", COMPLEX, ids=lambda f: f.__name__)
def test_complex_functions_are_right_or_refused(ufunc: Any) -> None:
    """A function that cannot be compiled is refused with an autojit error."""
    z = X * (1 + 0.5j)
    try:
        result = jit(ufunc)(z)
    except AutojitError as error:
        assert_says(str(error), f"np.{ufunc.__name__}", "complex")
    else:
        np.testing.assert_allclose(result, ufunc(z), rtol=1e-14)
