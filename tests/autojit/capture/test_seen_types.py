"""Type tests see the types that Python would have: arrays without axes or scalars, and those of
numbers that have another type on another way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from scipy import integrate, interpolate, linalg, optimize, signal, stats
from scipy.spatial import distance

import autojit
from autojit import custom_jvp, custom_vjp, grad, jit, value_and_grad, vmap
from autojit.errors import ArgumentChangedError, CaptureError, RetraceWarning

TESTS: dict[str, Callable[[Any], Any]] = {
    "array": lambda y: isinstance(y, np.ndarray),
    "float": lambda y: isinstance(y, float),
    "int": lambda y: isinstance(y, int),
    "generic": lambda y: isinstance(y, np.generic),
    "isscalar": np.isscalar,
    "iterable": lambda y: hasattr(y, "__len__"),
    "type": lambda y: type(y) is float,
}

KINDS = [float, np.float64, np.array]

# -- arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("kind", KINDS)
def test_arguments(name: str, kind: Callable[[float], Any]) -> None:
    def f(x: Any) -> Any:
        return 3.0 * x if TESTS[name](x) else 2.0 * x

    x = kind(2.5)
    want = 3.0 if TESTS[name](x) else 2.0
    assert jit(f)(x) == f(x)
    assert grad(f)(x) == jit(grad(f))(x) == grad(jit(f))(x) == want
    assert value_and_grad(lambda p: f(p["x"]))({"x": x}) == (f(x), {"x": want})


def told(x: Any) -> Any:
    return 3.0 * x if isinstance(x, np.ndarray) else 2.0 * x


def test_one_function_for_all_kinds() -> None:
    compiled = jit(told)
    for _ in range(3):
        for kind in KINDS:
            assert compiled(kind(2.5)) == told(kind(2.5))
    assert compiled.cache_info().traces == 3


def test_inside_a_compiled_function() -> None:
    inner = jit(told)
    outer = jit(lambda x, n: inner(x) + n * x, static_argnums=1)
    for _ in range(3):
        for kind in KINDS:
            assert outer(kind(2.5), 0) == told(kind(2.5))


def test_many_arguments() -> None:
    """Native code takes them packed in one array."""
    compiled = jit(lambda *xs: sum(told(x) for x in xs))
    for kind in [*KINDS, *KINDS]:
        assert compiled(*[kind(1.0)] * 80) == (240.0 if kind is np.array else 160.0)


def test_elements_of_many_arguments_in_loops() -> None:
    def f(*xs: Any) -> Any:
        total = 0.0
        for x in xs:
            total += told(x)
        return total + sum(told(x) for x in xs)

    for kind in KINDS:
        assert jit(f)(*[kind(1.0)] * 300) == (1800.0 if kind is np.array else 1200.0)


def test_same_code_if_nothing_asks() -> None:
    def loss(p: Any) -> Any:
        y = np.sin(p["b"]) if p["b"] > 0 else -p["b"]
        for _ in range(3):
            y = y + np.sum(p["w"] * p["b"])
        return y * y

    step = jit(value_and_grad(loss))
    for kind in [*KINDS[1:], *KINDS[1:]]:
        step({"w": np.ones(3), "b": kind(0.5)})
    assert step.cache_info().traces == 1


def test_reason_of_the_retrace() -> None:
    compiled = jit(told)
    compiled(np.array(1.0))
    compiled(np.float64(1.0))
    assert compiled.cache_info().last_retrace == "argument 0 was an array f64[], is f64[]"


def test_retrace_warning_shows_a_fix() -> None:
    compiled = jit(lambda *xs: sum(told(x) for x in xs))

    def call_often() -> None:
        for kinds in itertools.product(KINDS[1:], repeat=3):
            compiled(*[kind(1.0) for kind in kinds])

    with pytest.warns(RetraceWarning, match=r"f\(x\[\(\)\]\)"):
        call_often()


def test_in_place() -> None:
    def f(x: Any) -> Any:
        x += 1
        return x

    assert jit(f)(np.float64(1.0)) == jit(f)(1.0) == 2.0
    with pytest.raises(ArgumentChangedError):  # the caller's array would change
        jit(f)(np.array(1.0))


@custom_jvp
def with_jvp(x: Any) -> Any:
    return told(x)


with_jvp.defjvp(lambda primals, tangents: (told(*primals), tangents[0]))


@custom_vjp
def with_vjp(x: Any) -> Any:
    return told(x)


with_vjp.defvjp(lambda x: (told(x), x), lambda x, g: (g,))

INSIDE: dict[str, Callable[[Any], Any]] = {
    "custom_jvp": with_jvp, "custom_vjp": with_vjp, "checkpoint": autojit.checkpoint(told),
    "cond": lambda x: autojit.cond(x > 1, told, lambda v: v, x),
    "grad": grad(lambda x: told(x) * 1.0), "jit": jit(told),
}  # fmt: skip


@pytest.mark.parametrize("name", INSIDE)
def test_inside_transformations(name: str) -> None:
    f = INSIDE[name]
    compiled = jit(f)
    for kind in [*KINDS, *KINDS]:
        x = kind(2.5)
        want = (3.0 if kind is np.array else 2.0) * (1.0 if name == "grad" else 2.5)
        assert compiled(x) == f(x) == want
    assert value_and_grad(lambda x: f(x) * 1.0)(np.array(2.5))[0] == f(np.array(2.5))


LOOPS: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: autojit.fori_loop(0, 2, lambda i, v: told(v), x),
    "while_loop": lambda x: autojit.while_loop(lambda v: v < 9, told, x),
    "scan": lambda x: autojit.scan(lambda c, _: (told(c), 0.0), x, np.arange(2.0))[0],
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_carries_are_arrays_in_the_first_step_only(name: str) -> None:
    for transformed in (LOOPS[name], jit(LOOPS[name])):
        transformed(np.float64(2.5))
        with pytest.raises(CaptureError, match="The type of a variable is tested"):
            transformed(np.array(2.5))


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "grad": grad(lambda v: told(v) if isinstance(v, np.floating) else v),
    "jit": jit(lambda v: 3.0 if isinstance(v, np.floating) else 2.0),
    "checkpoint": autojit.checkpoint(lambda v: v if isinstance(v, np.floating) else 2 * v),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_number_with_two_types_goes_into_a_transformed_function(name: str) -> None:
    with pytest.raises(CaptureError, match="The type of a variable is tested"):
        jit(lambda x: TRANSFORMED[name](x if x > 1 else 1.5))(np.float64(2.0))


def test_vmap_gives_scalars() -> None:
    assert vmap(told)(np.ones(2)).tolist() == [2.0, 2.0]
    assert vmap(lambda x, y: told(y) + x, in_axes=(0, None))(np.ones(2), np.array(1.0))[0] == 4.0


# -- results of functions -------------------------------------------------------------------

RESULTS: dict[str, Callable[[Any], Any]] = {
    "where": lambda x: np.where(x > 0, x, -x), "select": lambda x: np.select([x > 0], [x], 0),
    "ellipsis": lambda x: x[...], "empty index": lambda x: x[()],
    "broadcast_to": lambda x: np.broadcast_to(x, ()), "asarray": np.asarray,
    "copy": np.copy, "method copy": lambda x: x.copy(), "reshape": lambda x: np.reshape(x, ()),
    "squeeze": np.squeeze, "transpose": np.transpose, "sinc": np.sinc, "i0": np.i0,
    "modf": lambda x: np.modf(x)[0], "frexp": lambda x: np.frexp(x)[0], "round": np.round,
    "conj": np.conj, "method conj": lambda x: x.conj(), "real": np.real, "imag": np.imag,
    "tensordot": lambda x: np.tensordot(x, x, 0), "einsum": lambda x: np.einsum("", x),
    "clip": lambda x: np.clip(x, 0, 1), "std": lambda x: np.std(np.array([x, 2 * x])),
    "median": lambda x: np.median(np.array([x, 2 * x])),
    "quantile": lambda x: np.quantile(np.array([x, 2 * x]), 0.3),
    "norm": lambda x: np.linalg.norm(np.array([x, x])),
    "interp": lambda x: np.interp(x, [0, 3], [1, 2]),
    "nanmax": lambda x: np.nanmax(np.array([x, 2 * x])), "isin": lambda x: np.isin(x, [2.5]),
    "average": lambda x: np.average(np.array([x, x]), returned=True)[1],
    "logsumexp": lambda x: scipy.special.logsumexp(np.array([x, x])),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(np.array([x, x])),
    "spline": lambda x: interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2)(x),
    "line": lambda x: interpolate.interp1d(np.arange(4.0), np.arange(4.0) ** 2)(x),
    "sawtooth": lambda x: signal.sawtooth(x), "pdf": lambda x: stats.norm.pdf(x),
    "weighted quantile": lambda x: np.quantile(
        np.array([x, 2 * x]), 0.3, weights=np.ones(2), method="inverted_cdf"),
    "element": lambda x: np.array([x, x])[0],
    "element by ellipsis": lambda x: np.array([x, x])[..., 0],
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_results(name: str, kind: Callable[[float], Any]) -> None:
    made = RESULTS[name]

    def f(x: Any) -> Any:
        return 1.0 if isinstance(made(x), np.ndarray) else 2.0

    if kind is float and name in ("ellipsis", "empty index", "method copy", "method conj"):
        return
    assert jit(f)(kind(2.5)) == f(kind(2.5))


FLOATS: dict[str, Callable[[Any], Any]] = {
    "quad": lambda x: integrate.quad(lambda t: t * x, 0, 1)[0],
    "brentq": lambda x: optimize.brentq(lambda t: t - x, 0, 9),
    "euclidean": lambda x: distance.euclidean(np.ones(2), np.ones(2) * x),
    "norm": lambda x: linalg.norm(np.ones(2) * x),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_python_floats_of_scipy(name: str) -> None:
    def f(x: Any) -> Any:
        return 1.0 if type(FLOATS[name](x)) is float else 2.0

    assert jit(f)(2.5) == f(2.5) == 1.0
    small = jit(lambda x: FLOATS[name](x) * np.ones(2, np.float32))(2.5)
    assert small.dtype == np.float32  # a Python float takes the dtype of the array


# -- numbers that have one type per way ---------------------------------------------------------


def by_recursion(x: Any) -> Any:
    def f(v: Any, n: int) -> Any:
        return v if n == 0 else f(v + 1 if v < 2 else 0, n - 1)

    return f(x, 3)


def from_a_list(x: Any) -> Any:
    found = [x]
    if x > 1:
        found.append(1)
    return found[-1]


def from_a_generator(x: Any) -> Any:
    def steps() -> Any:
        yield x
        if x > 1:
            yield 1

    return list(steps())[-1]


def in_a_loop(x: Any) -> Any:
    y, n = 1, 0
    while n < x + 3:
        z = y + 1
        y = y + x
        n += 1
    return z


def at_a_value(x: Any) -> Any:
    return [x, 1][int(x > 1)]


CHOICES: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: max(x, 1), "min": lambda x: min(1, x), "sorted": lambda x: sorted([x, 1])[0],
    "sorted by a key": lambda x: sorted([x, 1], key=lambda v: -v)[0],
    "max by a key": lambda x: max([x, 1], key=abs), "between": lambda x: max(0, min(x, 1)),
    "element": at_a_value, "value of a dict": lambda x: {True: x, False: 1}[bool(x > 1)],
    "sum": lambda x: (x if x > 1 else 1) + 1, "power": lambda x: (x if x > 1 else 1) ** 2,
    "quotient": lambda x: (x if x > 1 else 1) // 1, "negated": lambda x: -(x if x > 1 else 1),
    "round": lambda x: round(x if x > 1 else 1, 1),
    "square": lambda x: np.square(x if x > 1 else 1),
    "np.abs": lambda x: np.abs(x if x > 1 else 1), "np.sum": lambda x: np.sum(x if x > 1 else 1),
    "recursion": by_recursion, "list": from_a_list, "generator": from_a_generator,
    "loop": in_a_loop,
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name: str) -> None:
    """A type test has Python's answer, or is refused; and some are refused."""
    chosen, refused = CHOICES[name], []
    for test in TESTS.values():

        def f(x: Any, test: Callable[[Any], Any] = test) -> Any:
            return 1.0 if test(chosen(x)) else 2.0

        for value in (2.5, 0.5):
            for kind in KINDS[:2]:
                try:
                    assert jit(f)(kind(value)) == f(kind(value))
                except CaptureError as error:
                    refused.append(str(error))
    assert refused
    assert all("The type of a variable is tested" in words for words in refused)


DEFINITE: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: isinstance(float(x if x > 1 else 1), float),
    "int": lambda x: isinstance(int(x if x > 1 else 1), int),
    "floor": lambda x: isinstance(math.floor(x if x > 1 else 1), int),
    "np.float64": lambda x: isinstance(np.float64(x if x > 1 else 1), np.float64),
    "quotient": lambda x: isinstance((x if x > 1 else 1) / 2, float),
    "np.copy": lambda x: isinstance(np.copy(x if x > 1 else 1), np.ndarray),
    "np.sin": lambda x: isinstance(np.sin(x if x > 1 else 1), np.float64),
    "array": lambda x: isinstance(np.array([x if x > 1 else 1, 0.5])[0], np.float64),
}


@pytest.mark.parametrize("name", DEFINITE)
def test_one_type_again(name: str) -> None:
    f = DEFINITE[name]
    for kind in KINDS[:2]:
        for value in (2.5, 0.5):
            assert jit(lambda x: 1.0 if f(x) else 2.0)(kind(value)) == 1.0
