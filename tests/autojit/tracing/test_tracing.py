"""Tracing: what a function may take, close over, change and return, and how traces nest."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import autojit
from autojit import grad, jit, value_and_grad
from autojit.errors import (
    ConcreteValueError,
    InPlaceError,
    LeakedTracerError,
    NotArrayError,
    StaleValueWarning,
    StructureError,
    UnsupportedTargetError,
)
from autojit.tracing.context import current_trace
from autojit.tracing.running import leaks


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Layer:
    weights: Any
    bias: Any


@dataclasses.dataclass
class Checked:
    """A dataclass whose constructor accepts NumPy arrays only."""

    values: Any

    def __post_init__(self) -> None:
        assert isinstance(self.values, np.ndarray)


X = np.array([1.0, 2.0, 3.0])


# -- trees --------------------------------------------------------------------

TREES = [
    (X, 2.0), [X, X + 1], {"b": X, "a": 1.0}, Point(X, 2.0), Layer(X, 1.0), Checked(X),
    (None, X), {"nested": [Point(X, (X, None)), {}]}, collections.OrderedDict(z=X, a=2.0), X, 3.0,
]  # fmt: skip


def same(a: Any, b: Any) -> bool:
    """Whether two trees have one structure and equal leaves."""
    from autojit.staging import pytrees

    (left, one), (right, other) = pytrees.flatten(a), pytrees.flatten(b)
    return one == other and all(map(np.array_equal, left, right))


@pytest.mark.parametrize("tree", TREES, ids=lambda t: type(t).__name__)
def test_trees_come_back_as_they_were(tree: Any) -> None:
    assert same(jit(lambda t: t)(tree), tree)


@pytest.mark.parametrize("tree", TREES, ids=lambda t: type(t).__name__)
def test_gradients_have_the_structure_of_the_argument(tree: Any) -> None:
    from autojit.staging import pytrees

    def loss(tree: Any) -> Any:
        leaves, _ = pytrees.flatten(tree)
        return sum(np.sum(leaf * leaf) for leaf in leaves)

    gradient = grad(loss)(tree)
    leaves, structure = pytrees.flatten(tree)
    expected = pytrees.unflatten(structure, [2 * np.asarray(leaf)[()] for leaf in leaves])
    assert same(gradient, expected)
    assert type(gradient) is (np.float64 if isinstance(tree, float) else type(tree))


def test_trees_as_keywords_and_results() -> None:
    @jit
    def f(point: Point, *, scale: Any) -> dict[str, Any]:
        return {"sum": point.x + point.y * scale["by"], "same": [point, None]}

    result = f(Point(X, 1.0), scale={"by": 2.0})
    np.testing.assert_array_equal(result["sum"], X + 2)
    assert isinstance(result["same"][0], Point)
    assert result["same"][1] is None


def test_empty_trees() -> None:
    assert jit(lambda t: ((), {}, None))(()) == ((), {}, None)
    assert jit(lambda: 3.0)() == 3.0


# -- closures -----------------------------------------------------------------


def test_later_changes_of_an_array_do_not_matter() -> None:
    a = np.array([1.0, 2.0, 3.0])
    f = jit(lambda x: x * a)
    np.testing.assert_array_equal(f(X), [1, 4, 9])
    a[:] = 100
    with pytest.warns(StaleValueWarning, match="`a` has changed"):
        np.testing.assert_array_equal(f(X), [1, 4, 9])
    np.testing.assert_array_equal(f(X + 1), [2, 6, 12])


def test_changes_between_two_uses_are_seen() -> None:
    def f(x: Any) -> Any:
        a = np.array([1.0, 2.0, 3.0])
        first = x * a
        a += 10
        return first, x * a

    for run in (f, jit(f)):
        first, second = run(X)
        np.testing.assert_array_equal(first, [1, 4, 9])
        np.testing.assert_array_equal(second, [11, 24, 39])


def test_grad_without_jit_sees_the_present_array() -> None:
    a = np.array([1.0, 2.0, 3.0])
    g = grad(lambda x: np.sum(x * a))
    np.testing.assert_array_equal(g(X), [1, 2, 3])
    a[:] = 5
    np.testing.assert_array_equal(g(X), [5, 5, 5])


def test_an_array_used_twice_is_one_input() -> None:
    a = np.arange(3.0)
    assert len(autojit.trace(lambda x: x * a + a)(X).captured) == 1


def test_arguments_are_never_written() -> None:
    x = X.copy()

    @jit
    def f(x: Any) -> Any:
        x = x.copy()
        x += 1
        return x

    np.testing.assert_array_equal(f(x), X + 1)
    np.testing.assert_array_equal(x, X)


# -- nesting ------------------------------------------------------------------


def test_outer_values_are_captured() -> None:
    def f(x: Any, y: Any) -> Any:
        return grad(lambda z: np.sum(z * z * y))(x) + y

    np.testing.assert_array_equal(jit(f)(X, 3.0), 6 * X + 3)
    np.testing.assert_array_equal(grad(lambda y: np.sum(f(X, y)))(3.0), np.sum(2 * X + 1))


def test_perturbations_do_not_mix() -> None:
    # d/dx [x * d/dy (x + y)] = 1: an outer variable is a constant inside.
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0


def test_derivatives_of_high_order() -> None:
    f, factor, value = (lambda x: x**6), 1.0, 1.5
    for order in range(1, 6):
        f = grad(f)
        factor *= 7 - order
        assert f(value) == pytest.approx(factor * value ** (6 - order), rel=1e-14)
        assert jit(f)(value) == pytest.approx(factor * value ** (6 - order), rel=1e-14)


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: jit(grad(f)),
        lambda f: grad(jit(f)),
        lambda f: jit(grad(jit(f))),
        lambda f: jit(jit(grad(f))),
        lambda f: jit(lambda x: grad(f)(x)),
        lambda f: lambda x: value_and_grad(f)(x)[1],
        lambda f: grad(lambda x: value_and_grad(jit(f))(x)[0]),
    ],
)
def test_transformations_nest(transformed: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x)

    np.testing.assert_allclose(transformed(f)(X), np.cos(X) * X + np.sin(X), rtol=1e-15)


def test_compiled_function_inside_of_a_trace_is_inlined() -> None:
    inner = jit(lambda x: x * 2)
    assert [op.kind.name for op in autojit.trace(lambda x: inner(x) + 1)(X).ops][-1] == "add"
    assert current_trace() is None


def test_compiled_closure_over_a_tracer_is_not_kept() -> None:
    def f(x: Any) -> Any:
        return jit(lambda y: x * y)(2.0)

    assert grad(f)(3.0) == 2.0
    assert grad(f)(4.0) == 2.0


# -- grad's own arguments -----------------------------------------------------


def product(x: Any, y: Any, z: Any = 1.0) -> Any:
    return np.sum(x * x * y * z)


def test_argnums() -> None:
    assert grad(product)(3.0, 5.0) == 30.0
    assert grad(product, 1)(3.0, 5.0) == 9.0
    assert grad(product, argnums=(0, 1))(3.0, 5.0) == (30.0, 9.0)
    assert grad(product, argnums=(1, 0))(3.0, 5.0) == (9.0, 30.0)
    assert grad(product, argnums=[1])(3.0, 5.0) == (9.0,)
    assert grad(product, argnums=-1)(3.0, 5.0) == 9.0


def test_bare_and_called_decorators() -> None:
    @grad
    def first(x: Any) -> Any:
        return x * x

    @grad(argnums=1)
    def second(x: Any, y: Any) -> Any:
        return x * y

    @value_and_grad(argnums=(0, 1))
    def third(x: Any, y: Any) -> Any:
        return x * y

    @jit(static_argnums=1)
    def fourth(x: Any, n: int) -> Any:
        return x**n

    @jit()
    def fifth(x: Any) -> Any:
        """Documented."""
        return x

    assert first(3.0) == 6.0
    assert second(3.0, 4.0) == 3.0
    assert third(3.0, 4.0) == (12.0, (4.0, 3.0))
    assert fourth(3.0, 3) == 27.0
    assert (fifth.__name__, fifth.__doc__) == ("fifth", "Documented.")
    assert first.__name__ == "first"


def test_auxiliary_results() -> None:
    def f(x: Any) -> Any:
        y = x * x
        return np.sum(y), {"y": y, "n": 3}

    gradient, aux = grad(f, has_aux=True)(X)
    np.testing.assert_array_equal(gradient, 2 * X)
    np.testing.assert_array_equal(aux["y"], X * X)
    assert aux["n"] == 3
    (value, aux), gradient = jit(value_and_grad(f, has_aux=True))(X)
    assert value == 14
    np.testing.assert_array_equal(aux["y"], X * X)
    np.testing.assert_array_equal(gradient, 2 * X)


def test_keyword_arguments_are_constants_of_the_derivative() -> None:
    assert grad(product)(3.0, y=5.0) == 30.0
    assert jit(grad(product))(3.0, y=5.0, z=2.0) == 60.0


def test_unused_arguments_have_zero_gradient() -> None:
    gradients = grad(lambda x, y: np.sum(x), (0, 1))(X, np.float32(2))
    np.testing.assert_array_equal(gradients[0], [1, 1, 1])
    assert gradients[1] == 0
    assert gradients[1].dtype == np.float32


# -- jit's own arguments ------------------------------------------------------


@pytest.mark.parametrize("static", [{"static_argnums": 1}, {"static_argnames": "mode"}])
def test_static_arguments_by_position_and_name(static: Any) -> None:
    seen = []

    @jit(**static)
    def f(x: Any, mode: str = "double") -> Any:
        seen.append(mode)
        return x * 2 if mode == "double" else x

    assert f(2.0) == 4.0
    assert f(2.0, "none") == 2.0
    assert f(2.0, mode="none") == 2.0
    assert f(3.0, "none") == 3.0
    assert seen.count("double") == 1
    assert f.cache_info().traces == len(seen) <= 3


def test_static_arguments_of_any_hashable_type() -> None:
    f = jit(lambda x, g, n: g(x) * n, static_argnums=(1, 2))
    assert f(0.5, np.sin, 2) == np.sin(0.5) * 2
    assert f(0.5, np.cos, 2) == np.cos(0.5) * 2
    assert jit(lambda x, n: x**n, static_argnums=-1)(2.0, 5) == 32.0


def test_static_values_that_are_equal_but_of_other_types() -> None:
    f = jit(lambda x, flag: x * 2 if flag is True else x, static_argnums=1)
    assert f(3.0, True) == 6.0
    assert f(3.0, 1) == 3.0


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @jit
    def __call__(self, x: Any) -> Any:
        return x * self.scale

    @functools.partial(jit, static_argnums=0)
    def scaled(self, x: Any) -> Any:
        return x * self.scale

    @jit(static_argnums=0)
    def shifted(self, x: Any, by: Any) -> Any:
        return x * self.scale + by

    def loss(self, x: Any) -> Any:
        return np.sum(self.scaled(x) ** 2)


def test_methods() -> None:
    one, two = Model(2.0), Model(3.0)
    np.testing.assert_array_equal(one.scaled(X), 2 * X)
    np.testing.assert_array_equal(two.scaled(X), 3 * X)
    np.testing.assert_array_equal(two.shifted(X, by=1.0), 3 * X + 1)
    np.testing.assert_array_equal(grad(one.loss)(X), 8 * X)
    np.testing.assert_array_equal(jit(one.loss)(X), 56.0)


def test_callables_of_all_kinds() -> None:
    assert jit(functools.partial(product, y=2.0))(3.0) == 18.0
    assert jit(np.sin)(0.5) == np.sin(0.5)
    assert grad(functools.partial(product, 3.0))(2.0) == 9.0


def test_counts() -> None:
    f = jit(lambda x, y: x + y)
    f(X, 1.0)
    f(X, 2.0)
    assert f.cache_info().traces == 1
    f(X[:2], 1.0)
    info = f.cache_info()
    assert info.traces == 2
    assert info.last_retrace == "argument 0 was f64[3], is f64[2]"
    f(X[:2], np.float32(1))
    assert f.cache_info().last_retrace == "argument 1 was a Python float, is f32[]"


def test_hits_are_counted() -> None:
    f = jit(lambda tree: tree["x"] + 1)
    with autojit.disable_jit():
        for _ in range(3):
            f({"x": X})
    assert f.cache_info()[:2] == (1, 2)


def test_programs_equal_in_structure_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from autojit.codegen.driver import executable

    count = []
    compile_program = executable.compile_program
    monkeypatch.setattr(
        executable, "compile_program", lambda *a: count.append(a) or compile_program(*a)
    )
    scale = 0.123456

    def loss(x: Any) -> Any:
        return np.sum(x * x) * scale

    for _ in range(3):
        grad(lambda x: loss(x))(np.ones(7))
    assert len(count) == 1


def test_device() -> None:
    assert jit(lambda x: x + 1, device="cpu")(1.0) == 2.0
    with pytest.raises(UnsupportedTargetError, match="device must be 'cpu' or 'cuda', not 'tpu'"):
        jit(lambda x: x, device="tpu")


def test_what_is_not_a_function() -> None:
    with pytest.raises(StructureError, match="jit takes a function, not 3"):
        jit(3)
    with pytest.raises(StructureError, match=r"grad takes a function[\s\S]*grad\(f\)\(x\)"):
        grad(np.float64(3.0))


# -- exceptions and threads ---------------------------------------------------


def test_exceptions_leave_no_trace_active() -> None:
    def broken(x: Any) -> Any:
        y = grad(lambda z: np.sum(z * x))(x)
        raise KeyError(str(y.shape))

    for wrapped in (jit(broken), grad(broken), autojit.trace(broken), jit(grad(jit(broken)))):
        with pytest.raises(KeyError, match=r"\(3,\)"):
            wrapped(X)
        assert current_trace() is None
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(X), 2 * X)


def test_an_exception_caught_inside_goes_on() -> None:
    def f(x: Any) -> Any:
        try:
            grad(lambda z: z.__float__())(x)
        except ConcreteValueError:
            return x * 3
        return x

    assert jit(f)(2.0) == 6.0


def test_threads_trace_at_the_same_time() -> None:
    barrier = threading.Barrier(4)
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        def f(x: Any) -> Any:
            barrier.wait(10)
            y = grad(lambda z: np.sum(z * z * number))(x)
            barrier.wait(10)
            return y + number

        results[number] = jit(f)(np.arange(3.0) + number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert set(results) == {0, 1, 2, 3}
    for number, result in results.items():
        np.testing.assert_array_equal(result, 2 * number * (np.arange(3.0) + number) + number)


def test_one_compiled_function_in_many_threads() -> None:
    f = jit(lambda x: np.sum(x * x))
    shapes = [(n % 3 + 1,) for n in range(12)]
    results: list[Any] = [None] * len(shapes)

    def work(i: int) -> None:
        results[i] = [f(np.full(shapes[i], float(i))) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(shapes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for i, values in enumerate(results):
        assert values == [shapes[i][0] * float(i) ** 2] * 20
    assert f.cache_info().traces == 3


@pytest.mark.usefixtures("young_objects")
def test_leaked_values_are_refused() -> None:
    kept: list[Any] = []
    with pytest.raises(LeakedTracerError, match="in a list, in the variable `kept`"):
        jit(lambda x: kept.append(x) or x)(X)
    (leaked,) = kept
    for use in (
        lambda: leaked + 1,
        lambda: np.sin(leaked),
        lambda: jit(lambda x: x + leaked)(X),
        lambda: float(leaked),
        lambda: grad(lambda x: np.sum(x * leaked))(X),
        lambda: leaked[0],
        lambda: np.concatenate([leaked, X]),
    ):
        with pytest.raises(LeakedTracerError, match=r"f64\[3\] is used after the function"):
            use()
    assert current_trace() is None


@pytest.mark.usefixtures("young_objects")
def test_leaked_numbers_are_refused() -> None:
    kept: set[Any] = set()
    with pytest.raises(LeakedTracerError, match="in a set, in the variable `kept`"):
        grad(lambda x: kept.add(x) or x)(1.5)
    (leaked,) = kept
    for use in (
        lambda: leaked == 1.5,
        lambda: 1.5 in kept,
        lambda: 2.0 / leaked,
        lambda: leaked**2,
        lambda: leaked // 2 < 3,
        lambda: -leaked,
        lambda: hash(leaked),
    ):
        with pytest.raises(LeakedTracerError, match=r"f64\[\] is used after the function"):
            use()


def test_values_of_another_thread_are_refused() -> None:
    errors: list[BaseException] = []

    def f(x: Any) -> Any:
        def use() -> None:
            try:
                np.sin(x)
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join(10)
        return x

    with pytest.raises(LeakedTracerError, match="in another thread"):
        jit(f)(X)
    assert [type(e) for e in errors] == [LeakedTracerError]


def test_copies_of_traced_values_are_the_values() -> None:
    def f(x: Any) -> Any:
        return copy.copy(x) + 1, x.copy() * 2

    shallow, deep = jit(f)(X)
    np.testing.assert_array_equal(shallow, X + 1)
    np.testing.assert_array_equal(deep, X * 2)


# -- in place -----------------------------------------------------------------


def test_aliases_see_an_in_place_operator() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        z = y
        y += 1
        y *= 2
        return z, y

    for run in (f, jit(f)):
        z, y = run(X)
        np.testing.assert_array_equal(z, 2 * X + 2)
        np.testing.assert_array_equal(y, z)


def test_scalars_are_bound_anew() -> None:
    def f(x: Any) -> Any:
        total = x
        before = total
        for _ in range(3):
            total += x
        return total, before

    assert jit(f)(2.0) == f(2.0) == (8.0, 2.0)


def test_in_place_keeps_the_dtype() -> None:
    def f(x: Any, y: Any) -> Any:
        x = x * 1
        x += y
        return x

    single = np.ones(3, np.float32)
    assert jit(f)(single, X).dtype == f(single, X).dtype == np.float32


def test_results_that_do_not_fit_in_place_are_refused() -> None:
    def widen(x: Any) -> Any:
        i = x.astype(int)
        i += 0.5
        return i

    def grow(x: Any) -> Any:
        y = x * 1
        y += np.ones((2, 3))
        return y

    for f in (widen, grow):
        with pytest.raises(InPlaceError, match="does not fit"):
            jit(f)(X)


# -- arguments and results of every kind --------------------------------------


def test_results_that_are_inputs_constants_or_twice() -> None:
    x, y, again, number, zero, text = jit(lambda x: (x, x + 1, x, 2, np.float32(3), X))(X)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, X + 1)
    np.testing.assert_array_equal(again, X)
    assert (number, zero, zero.dtype) == (2, 3, np.float32)
    np.testing.assert_array_equal(text, X)
    x[0] = 99  # results are the caller's
    assert again[0] == X[0] == 1


def test_results_do_not_share_memory_with_arguments() -> None:
    for f in (lambda x: x, lambda x: x[1:], lambda x: x.reshape(1, 3), lambda x: x.T):
        x = X.copy()
        result = jit(f)(x)
        assert not np.shares_memory(result, x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (1, 1, 1)])
def test_empty_and_scalar_arrays(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 1.5)
    for f in (lambda x: x * 2, lambda x: np.sum(x), lambda x: np.cos(x.reshape(-1))):
        want, got = f(x), jit(f)(x)
        assert type(got) is type(want)
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(x), 2 * x)
    np.testing.assert_array_equal(jit(grad(lambda x: np.sum(x * x)))(x), 2 * x)


def layouts() -> dict[str, np.ndarray]:
    base = np.arange(24.0).reshape(4, 6)
    read_only = base.copy()
    read_only.flags.writeable = False
    unaligned = np.zeros(24 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(4, 6)
    unaligned[:] = base
    return {
        "transposed": base.T,
        "sliced": base[::2, 1::2],
        "reversed": base[::-1, ::-1],
        "fortran": np.asfortranarray(base),
        "broadcast": np.broadcast_to(np.arange(3.0), (4, 3)),
        "read only": read_only,
        "byte swapped": base.astype(">f8"),
        "unaligned": unaligned,
        "a field": np.zeros(5, [("a", "i4"), ("b", "f8")])["b"],
    }


@pytest.mark.parametrize("layout", layouts())
def test_layouts(layout: str) -> None:
    x = layouts()[layout]
    f = jit(lambda x: (x * 2 + 1, np.sum(x, axis=0)))
    for _ in range(2):  # first by the slow way, then by the fast one
        doubled, total = f(x)
        np.testing.assert_array_equal(doubled, x * 2 + 1)
        np.testing.assert_array_equal(total, np.sum(x, axis=0))
        assert doubled.dtype.isnative
    np.testing.assert_array_equal(f(np.ascontiguousarray(x, "f8"))[0], doubled)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(x), 2 * x)


def test_layouts_alternate() -> None:
    f = jit(lambda x: x - x.T)
    x = np.arange(9.0).reshape(3, 3)
    for layout in (x, x.T, np.asfortranarray(x), x[::-1], x.astype(">f8"), x):
        np.testing.assert_array_equal(f(layout), layout - layout.T)


@pytest.mark.parametrize("number", [True, 3, 2.5, 1 + 2j, np.bool_(True), np.int8(3), np.uint16(3),
                                    np.float32(2.5), np.complex64(1j), np.array(2.5)])  # fmt: skip
def test_numbers_as_arguments(number: Any) -> None:
    f = jit(lambda x: x + x)
    for _ in range(2):
        want, got = number + number, f(number)
        assert (got.dtype, got.shape) == (np.asarray(want).dtype, ())
        assert got == want


def test_python_numbers_are_weak() -> None:
    f = jit(lambda x, s: x * s)
    x = np.ones(3, np.float32)
    for _ in range(2):
        assert f(x, 2.0).dtype == np.float32
        assert f(x, np.float64(2.0)).dtype == np.float64
        assert f(x, 2).dtype == np.float32
    assert grad(lambda x, s: np.sum(x * s))(x, 2.0).dtype == np.float32


@pytest.mark.filterwarnings("ignore::autojit.errors.RetraceWarning")
def test_calls_of_changing_types_are_right_each_time() -> None:
    f = jit(lambda x: x * 2)
    arguments = [X, X.astype(np.float32), np.arange(3), 2.0, 2, X[:2], X.reshape(1, 3), X, 2.0]
    for x in arguments:
        want, got = np.asarray(x * 2), f(x)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_array_equal(got, want)


def test_arrays_that_compute_in_their_own_way_are_refused(tmp_path: Any) -> None:
    masked = np.ma.masked_array(X, [False, True, False])
    with pytest.raises(NotArrayError, match=r"argument 0: MaskedArray is a subclass[\s\S]*x.mask"):
        jit(np.sum)(masked)
    with pytest.raises(NotArrayError, match="argument 0: MaskedArray is a subclass"):
        grad(np.sum)(masked)
    with pytest.raises(NotArrayError, match="MaskedArray is a subclass"):
        jit(lambda x: np.multiply(x, masked))(X)
    mapped = np.memmap(tmp_path / "x", dtype="f8", mode="w+", shape=(3,))
    mapped[:] = X
    np.testing.assert_array_equal(jit(lambda x: x * 2)(mapped), 2 * X)


# -- interpreting -------------------------------------------------------------


def test_disable_jit() -> None:
    from autojit.staging import execute

    f = jit(lambda x: np.sin(x) * 0.987)
    before = set(execute._executables)
    with autojit.disable_jit():
        np.testing.assert_array_equal(f(X), np.sin(X) * 0.987)
        grad(lambda x: np.sum(f(x)))(X)
        with autojit.disable_jit():
            pass
        f(X + 1)
    assert set(execute._executables) <= before
    f(X)
    assert len(set(execute._executables) - before) == 1


def test_disable_jit_ends_with_an_exception() -> None:
    from autojit.staging.execute import settings

    with pytest.raises(KeyError), autojit.disable_jit():
        raise KeyError
    assert not settings.interpret


def test_traced_program_is_a_function() -> None:
    program = autojit.trace(lambda x, y: x * y["k"])(X, {"k": 2.0})
    np.testing.assert_array_equal(program(X, 3.0), 3 * X)
    assert autojit.parse(str(program)) == program


@pytest.mark.slow
def test_threads_search_for_kept_values_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searching, most, errors = [0], [0], list[BaseException | None]()
    search = leaks._path_to_a_holder

    def slowly(tracers: Any) -> Any:
        searching[0] += 1
        most[0] = max(most[0], searching[0])
        time.sleep(0.005)
        found = search(tracers)
        searching[0] -= 1
        return found

    def f(x: Any) -> Any:
        try:
            raise ValueError(x)
        except ValueError as error:
            errors.append(error)
        return 2 * x

    monkeypatch.setattr(leaks, "_path_to_a_holder", slowly)
    threads = [threading.Thread(target=grad(f), args=(1.0,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
