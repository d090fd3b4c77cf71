"""Values at hand: what Python may ask of traced arrays where ``jit`` is not around.

The reference is the function itself, called on arrays, and differences of it.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.special
from numpy import asarray as plain_asarray

import autojit
from autojit import (
    checkpoint,
    cond,
    custom_jvp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    scan,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from autojit.errors import ConcreteValueError, TracingError, UncoveredFunctionError
from autojit.tracing.known import value_of
from tests.autojit.staging.test_tracing_time import calls_of

X = np.array([1.5, -2.25, 0.625, 3.2])

Function = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def _interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Interpret all programs; compiling would take most of the time."""
    if "compiled" in request.node.name:
        yield
        return
    with autojit.disable_jit():
        yield


def differences(f: Function, x: Any, h: float = 1e-6) -> Any:
    """The gradient by central differences."""
    x = np.asarray(x, float)
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[place] = h
        found[place] = (f(x + step) - f(x - step)) / (2 * h)
    return found[()]


# -- each question --------------------------------------------------------------------


def halve(x: Any) -> Any:
    n = 0
    while np.abs(x[0]) > 0.01:
        x, n = x * 0.5, n + 1
    return np.sum(x) * n


def newton(x: Any) -> Any:
    y = x[0]
    while True:
        better = 0.5 * (y + x[0] / y)
        if abs(better - y) < 1e-12:
            return better
        y = better


def bisected(x: Any) -> Any:
    knots = sorted(x)
    i = bisect.bisect(knots, 1.0 + 0.0 * x[0])
    return knots[i] * knots[i - 1]


def heap(x: Any) -> Any:
    queue = [v * v for v in x]
    heapq.heapify(queue)
    return heapq.heappop(queue) * heapq.heappop(queue)


def in_place(x: Any) -> Any:
    y = x.copy()
    row = y[1:]
    if y[1] < 0:
        row[0] = y[0] * 3
    return y[1] * y[0] if y[1] > 4 else y[0]


def filled(x: Any) -> Any:
    out = np.zeros(3)
    out[1] = x[0] * x[1]
    return np.sum(out * x[:3]) if out[1] < 0 else x[3]


def floored(x: Any) -> Any:
    table = {1: 2.0, 3: 5.0}
    return x[0] * table[int(x[3])] + x[1] * math.floor(x[3]) * round(x[3]) * math.ceil(x[0])


def asserted(x: Any) -> Any:
    assert x[0] > 0, "positive"
    return x[0] ** 2 if -3 < x[1] < x[3] and not x[2] > 1 else x[1]


def without_derivative(x: Any) -> Any:
    count = float(np.sum(x > 0)) + np.argmax(x).item() + sum((x < 0).tolist())
    return count * float(stop_gradient(x[0])) * 0.0 + x[0] * count + x[1] * math.sqrt(count)


def assigned_outside(x: Any) -> Any:
    seen = np.empty(2, int)
    seen[0] = np.argmax(x)
    table = plain_asarray([1.0, 2.0, 3.0, 4.0])
    return x[0] * table[np.argmax(x)] + x[1] * seen[0]


def shapes(x: Any) -> Any:
    n = np.sum(x > 0)
    made = np.zeros(n) + np.arange(n) + np.ones((n,)) + np.linspace(0, 1, n) + np.full(n, 2.0)
    parts = x[:n].sum() + x[n:].sum() * 2 + sum(x[i] for i in range(n))
    return np.sum(made * x[:n]) + parts + np.sum(x.reshape(n - 1, -1)[0]) + np.eye(n)[0] @ x[:n]


def repeated(x: Any) -> Any:
    n = np.sum(x > 0)
    items = [0.0] * n
    items[-1] = x[0] * x[1]
    return sum(items) + len(items) * sum((x[2],) * n)


def masks(x: Any) -> Any:
    y = x.copy()
    y[x > 1] = x[x > 1] * 2
    y[x < 0] += 1.0
    total = np.sum(x[x > 0] ** 2) + np.sum(y**2) + np.prod(np.extract(x > 0, x))
    total += np.compress(x > 0, x)[0] * np.sum(np.bincount(np.argsort(x)) * x)
    return total + np.sum(x[np.nonzero(x < 0)]) + len(np.argwhere(x > 0)) * x[0]


def places(x: Any) -> Any:
    (positive,) = np.where(x > 0)
    return x[positive[0]] * x[np.flatnonzero(x < 0)[-1]] + x[(x > 2).nonzero()[0]].sum()


def uniques(x: Any) -> Any:
    values, counts = np.unique(np.round(x * 0) + np.array([2, 1, 2, 3]) * x[0], return_counts=True)
    return np.sum(values**2 * counts) + np.unique(x)[0]


QUESTIONS: dict[str, Function] = {
    "if": lambda x: x[0] ** 2 if x[0] > 0 else -x[0],
    "while": halve,
    "until": newton,
    "min and max": lambda x: min(x[0], x[1]) * max(x) + max(x[2], 0.0) + min(1.0, x[3]),
    "sorted": lambda x: sorted(x, reverse=True)[1] * sorted(x, key=lambda v: -v)[0],
    "bisect": bisected,
    "heapq": heap,
    "any and all": lambda x: x[0] if any(v < 0 for v in x) and not all(x > 0) else x[1],
    "in": lambda x: x[0] * x[3] if 1.0 in x / x[1] and x[0] not in [1.0, 2.0] else x[1],
    "assert": asserted,
    "rounded": floored,
    "in place": in_place,
    "filled": filled,
    "plain numbers": without_derivative,
    "plain arrays": assigned_outside,
    "shapes": shapes,
    "repeated": repeated,
    "masks": masks,
    "places": places,
    "uniques": uniques,
    "isclose": lambda x: x[0] ** 3 if np.allclose(x, x + 1e-12) and np.any(x < 0) else x[0],
}


def as_arrays(f: Function) -> list[tuple[str, Function]]:
    """Functions with the gradient of f, by each transformation and nests of them."""
    unit = np.eye(len(X))
    return [
        ("grad", grad(f)),
        ("value_and_grad", lambda x: value_and_grad(f)(x)[1]),
        ("vjp", lambda x: vjp(f, x)[1](1.0)[0]),
        ("jvp", lambda x: np.array([jvp(f, (x,), (e,))[1] for e in unit])),
        ("linearize", lambda x: np.array([linearize(f, x)[1](e) for e in unit])),
        ("jacfwd", jacfwd(f)),
        ("jacrev", jacrev(f)),
        ("checkpoint", grad(checkpoint(f))),
        ("by a list", lambda x: np.array(grad(lambda v: f(np.array(v)))(list(x)))),
    ]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", QUESTIONS)
def test_each_question_in_each_transformation(name: str) -> None:
    f = QUESTIONS[name]
    wanted = differences(f, X)
    assert np.any(wanted != 0)
    for how, derivative in as_arrays(f):
        np.testing.assert_allclose(derivative(X), wanted, rtol=1e-6, atol=1e-7, err_msg=how)
    value, _ = value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-13)


@pytest.mark.parametrize("name", ["while", "masks", "filled", "rounded"])
def test_compiled(name: str) -> None:
    f = QUESTIONS[name]
    value, gradient = value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(grad(checkpoint(f))(X), gradient, rtol=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", QUESTIONS)
def test_second_derivatives(name: str) -> None:
    f = QUESTIONS[name]
    wanted = np.array([differences(lambda x, i=i: grad(f)(x)[i], X) for i in range(len(X))])  # type: ignore[misc]
    got = hessian(f)(X)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jacfwd(grad(f))(X), got, rtol=1e-12, atol=1e-12)
    v = np.arange(4.0)
    np.testing.assert_allclose(hvp(f)(X, v), got @ v, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(f)(x) * v))(X), got @ v, rtol=1e-10,
                               atol=1e-12)  # fmt: skip


def test_the_path_is_that_of_each_call() -> None:
    def f(x: Any) -> Any:
        return x**2 if x > 1 else 3 * x if x > 0 else -x

    for run in (grad(f), jacfwd(f), jacrev(f), grad(checkpoint(f)), lambda x: vjp(f, x)[1](1.0)[0]):
        assert [float(run(x)) for x in (2.0, 0.5, -1.0, 2.0, np.float64(3.0))] == [4, 3, -1, 4, 6]
    _, at_two = linearize(f, 2.0)
    _, at_half = linearize(f, 0.5)
    assert (at_two(1.0), at_half(1.0), at_two(2.0)) == (4.0, 3.0, 8.0)


def test_what_python_shows() -> None:
    shown: list[str] = []

    def f(x: Any, a: Any) -> Any:
        shown.extend([f"{x}", f"{x:.2f}", repr(x), str(a), f"{a[0]:8.3e}", f"{a}", repr(a * 2)])
        return x * a[0]

    grad(f)(3.0, X)
    grad(f, argnums=(0, 1))(3.0, X)
    assert shown[:7] == shown[7:]
    assert shown[7:] == ["3.0", "3.00", "3.0", str(X), "1.500e+00", str(X), repr(X * 2)]


def test_kinds_of_numbers() -> None:
    kinds: list[Any] = []

    def f(x: Any, i: Any) -> Any:
        kinds.extend([int(x), round(x), round(x, 1), x.astype(int).item(), (x > 1).item()])
        kinds.extend([math.floor(x), math.trunc(x), bool(x > 1), complex(stop_gradient(x))])
        kinds.extend([stop_gradient(x).tolist(), np.argmax(np.array([x, 0 * x])).tolist()])
        return x * i

    assert grad(f)(2.75, 3) == 3.0
    assert kinds == [2, 3, 2.8, 2, True, 2, 2, True, 2.75 + 0j, 2.75, 0]
    assert [type(k) for k in kinds] == [int, int, float, int, bool, int, int, bool, complex, float,
                                        int]  # fmt: skip


def test_nan_and_several_elements() -> None:
    def f(x: Any) -> Any:
        return 2 * x[0] if x[0] < 1 or x[0] >= 1 or x[0] == x[0] else 3 * x[0]

    np.testing.assert_array_equal(grad(f)(np.array([np.nan, 1.0])), [3, 0])
    with pytest.raises(ValueError, match="more than one element is ambiguous") as raised:
        grad(lambda x: x[0] if x > 0 else x[1])(X)
    assert not isinstance(raised.value, TracingError)
    assert grad(lambda x: x[0] if x > 0 else -x[0])(np.array([2.0]))[0] == 1.0
    with pytest.raises(TypeError, match="list indices must be integers or slices, not float"):
        grad(lambda x: [1.0, 2.0][x] * x)(1.0)
    with pytest.raises(TypeError, match=r"[Oo]nly .* can be converted"):
        grad(lambda x: float(stop_gradient(x)) * x[0])(X)


# -- nests ------------------------------------------------------------------------------


def test_values_of_outer_functions() -> None:
    def f(x: Any) -> Any:
        def inner(y: Any) -> Any:
            if x > y:  # an outer value and one of its own
                return y**3 * x
            return y * x

        return grad(inner)(x / 2) + (grad(inner)(x * 2) if x > 0 else 0.0)

    # 3 (x/2)^2 x + x
    assert grad(f)(2.0) == pytest.approx(9 / 4 * 4 + 1)
    assert grad(grad(f))(2.0) == pytest.approx(9 / 2 * 2)


def test_a_gradient_at_known_numbers_within_jit() -> None:
    def f(y: Any) -> Any:
        return y**2 if y > 1 else -y

    assert jit(lambda x: x * grad(f)(3.0) + grad(f)(0.5))(2.0) == 11.0
    g = jit(lambda x: grad(lambda y: y * x if x > 0 else y)(3.0))
    assert (g(2.0), g(-2.0)) == (2.0, 1.0)
    h = eval("lambda x: grad(lambda y: y * x if x > 0 else y)(3.0)")  # has no source
    with pytest.raises(ConcreteValueError, match="bool"):
        jit(h)(2.0)


def test_values_that_only_the_others_share() -> None:
    def f(w: Any, x: Any) -> Any:
        return w * x if w > 0 else x

    np.testing.assert_array_equal(vmap(f, in_axes=(None, 0))(2.0, X), 2 * X)
    np.testing.assert_array_equal(vmap(f, in_axes=(None, 0))(-2.0, X), X)
    gradient = grad(lambda w: np.sum(vmap(f, in_axes=(None, 0))(w, X)))
    assert gradient(2.0) == pytest.approx(np.sum(X))


def test_checkpoint_at_other_values() -> None:
    @checkpoint
    def f(x: Any) -> Any:
        return np.sin(x) if x > 0 else x**2

    def twice(x: Any) -> Any:
        return f(x) * f(-x)

    for x in (0.7, -0.4):
        assert grad(twice)(x) == pytest.approx(differences(twice, x), rel=1e-7)
        assert grad(grad(twice))(x) == pytest.approx(differences(grad(twice), x), rel=1e-7)


def test_a_value_is_that_of_the_moment() -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        y = x * 1.0
        view = y[:2]
        for k in range(3):
            y[0] = y[0] * 2 + k
            seen.extend((float(stop_gradient(view[0])), float(stop_gradient(y[0]))))
        return np.sum(y)

    grad(f)(X)
    assert seen == [3.0, 3.0, 7.0, 7.0, 16.0, 16.0]


def test_captured_arrays_are_those_of_the_moment() -> None:
    data = np.array([1.0, 2.0])
    seen: list[bool] = []

    def f(x: Any) -> Any:
        before = x * data
        data[0] = -5.0
        after = x * data
        seen.extend([bool(before[0] > 0), bool(after[0] > 0)])
        return np.sum(before)

    np.testing.assert_array_equal(grad(f)(np.ones(2)), [1.0, 2.0])
    assert seen == [True, False]


# -- errors -----------------------------------------------------------------------------


def test_failing_operations_name_the_line_where_they_are_asked() -> None:
    def f(x: Any) -> Any:
        i = np.argmax(x) + 7
        y = x[i]  # the line that fails
        return x[0] if y > 0 else x[1]

    with pytest.raises(IndexError) as raised:
        grad(f)(X)
    assert "the line that fails" in "\n".join(raised.value.__notes__)
    assert any(e.name == "f" for e in raised.traceback)


def test_failures_are_handled_as_python_does() -> None:
    def f(a: Any) -> Any:
        try:
            return np.sum(np.linalg.inv(a))
        except np.linalg.LinAlgError:
            return np.sum(a) * 3.0

    regular, singular = np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones((2, 2))
    np.testing.assert_allclose(grad(f)(regular), differences(f, regular), rtol=1e-6)
    np.testing.assert_array_equal(grad(f)(singular), np.full((2, 2), 3.0))
    np.testing.assert_array_equal(jacfwd(f)(singular), np.full((2, 2), 3.0))


LOSING: dict[str, tuple[Function, str]] = {
    "float": (eval("lambda x: float(x[0]) * x[1]"), "float(x) gives plain numbers"),
    "math": (eval("lambda x: math.sin(x[0])"), "not: math.sin(x) or float(x)"),
    "complex": (eval("lambda x: complex(x[0]).real"), "complex(x) gives"),
    "item": (eval("lambda x: x[0].item()"), "x.item() gives"),
    "tolist": (eval("lambda x: sum(x.tolist())"), "x.tolist() gives"),
    "array": (eval("lambda x: np.sum(plain_asarray(x))"), "converting x to a NumPy array gives"),
    "arange": (lambda x: np.sum(np.arange(0.0, 3.0, x[0])), "depends on step, which is traced"),
}


#: The same in functions with source keep the derivative.
KEEPING: dict[str, Function] = {
    "float": lambda x: float(x[0]) * x[1],
    "math": lambda x: math.sin(x[0]),
    "complex": lambda x: complex(x[0]).real,
    "item": lambda x: x[0].item() * x[0],
    "tolist": lambda x: sum(x.tolist()),
    "array": lambda x: np.sum(plain_asarray(x) ** 2),
}


@pytest.mark.parametrize("name", KEEPING)
def test_numbers_keep_their_derivatives(name: str) -> None:
    f = KEEPING[name]
    for run in (grad(f), jit(grad(f)), jacfwd(f)):
        np.testing.assert_allclose(run(X), differences(f, X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", LOSING)
def test_derivatives_are_not_lost(name: str) -> None:
    f, words = LOSING[name]
    runs = [grad(f), jacfwd(f), hessian(f), lambda x: vjp(f, x), grad(checkpoint(f)),
            grad(lambda x: np.sum(grad(lambda y: f(x) * y[0])(X))),
            grad(lambda x: vmap(lambda y: f(x) * y)(X).sum())]  # fmt: skip
    for run in runs:
        with pytest.raises(ConcreteValueError) as raised:
            run(X)
        assert words in str(raised.value)
    if name != "arange":
        assert "    y = autojit.stop_gradient(x) " in str(raised.value)
        assert "the derivative would be lost" in str(raised.value)


def test_the_fixes_work() -> None:
    def f(x: Any) -> Any:
        y = stop_gradient(x)
        number = float(y[0]) + y[1].item() + complex(y[0]).real + sum(y.tolist())
        return x[0] * (number + np.sum(plain_asarray(y)))

    wanted = 2 * X[0] + X[1] + 2 * np.sum(X)
    np.testing.assert_allclose(grad(f)(X), [wanted, 0, 0, 0])


def test_functions_of_scipy_are_still_named() -> None:
    def solved(x: Any) -> Any:
        y = np.ones((1, 2))
        return scipy.integrate.solve_bvp(lambda t, y: x[0] * y, lambda a, b: a, [0.0, 1.0], y).y

    with pytest.raises(
        ConcreteValueError, match=r"scipy\.integrate\.solve_bvp does, gives"
    ) as raised:
        grad(lambda x: solved(x)[0, 0])(X)
    assert "autojit.pure_callback" in str(raised.value)
    # What has no derivative to lose is an array for SciPy, too.
    f = lambda x: x[0] * scipy.special.logsumexp(stop_gradient(x))  # noqa: E731
    np.testing.assert_allclose(grad(f)(X)[0], scipy.special.logsumexp(X))


def test_an_assignment_into_an_ordinary_array_is_named() -> None:
    table = np.zeros(2)

    def f(x: Any) -> Any:
        table[0] = x[0]
        return np.sum(x) * table[0]

    with pytest.raises(ConcreteValueError, match="Assigning x into an ordinary array gives plain"):
        grad(f)(X)


def test_a_lost_derivative_that_is_caught_is_raised_again() -> None:
    def f(x: Any) -> Any:
        try:
            return x.__array__() * x
        except TypeError:
            return x

    with pytest.raises(ConcreteValueError, match="would be lost") as raised:
        grad(f)(2.0)
    assert "while f was traced" in raised.value.__notes__[0]


def test_a_batch_has_many_answers() -> None:
    def f(x: Any) -> Any:
        return x if x > 0 else -x

    def runs(f: Function) -> list[Function]:
        return [vmap(f), jit(vmap(f)), vmap(grad(f)), grad(lambda x: np.sum(vmap(f)(x)))]

    signs = [1, -1, 1, 1]
    for run, wanted in zip(runs(f), (np.abs(X), np.abs(X), signs, signs), strict=True):
        np.testing.assert_array_equal(run(X), wanted)
    for run in runs(eval("lambda x: x if x > 0 else -x")):
        with pytest.raises(ConcreteValueError) as raised:
            run(X)
        text = str(raised.value)
        assert "each element of the batch may have a different one under vmap" in text
        assert "its source is not available" in text
        assert "np.where(x > 0, a, b)" in text
        assert "np.stack([f(x) for x in xs])       # not: vmap(f)(xs)" in text
        assert "static" not in text
    # The fix works.
    np.testing.assert_array_equal(np.stack([f(x) for x in X]), np.abs(X))
    assert grad(lambda xs: np.sum(np.stack([f(x) for x in xs])))(X).tolist() == [1, -1, 1, 1]


#: Programs for other values than those at hand, of a function of a number.
OTHERS: dict[str, Function] = {
    "jit": lambda f: jit(lambda x: f(x[0])),
    "of jit": lambda f: grad(jit(lambda x: f(x[0]))),
    "jit of": lambda f: jit(grad(lambda x: f(x[0]))),
    "checkpoint in jit": lambda f: jit(checkpoint(lambda x: f(x[0]))),
    "scan": lambda f: grad(lambda x: scan(lambda c, _: (f(c), None), x[0], None, length=2)[0]),
    "cond": lambda f: grad(lambda x: cond(x[0] > 0, f, lambda y: y, x[0])),
    "custom": lambda f: grad(lambda x: _with_a_rule(f)(x[0])),
    "trace": lambda f: autojit.trace(lambda x: f(x[0])),
}


def _with_a_rule(f: Function) -> Function:
    ruled = custom_jvp(f)
    ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0]))
    return ruled


@pytest.mark.parametrize("name", OTHERS)
def test_programs_for_other_values_do_not_answer(name: str) -> None:
    without_source = eval("lambda x: 2 * x if x > 0 else -x")
    with pytest.raises(ConcreteValueError, match="only its type is known"):
        OTHERS[name](without_source)(X)


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "trace"])
def test_programs_for_other_values_choose_in_each_call(name: str) -> None:
    run = OTHERS[name](lambda x: 2 * x if x > 0 else -x)
    plain = OTHERS[name](lambda x: np.where(x > 0, 2 * x, -x))
    for x in (X, -X):
        np.testing.assert_array_equal(run(x), plain(x))


def test_a_repeated_tuple_needs_a_number() -> None:
    with pytest.raises(ConcreteValueError, match="only its type is known"):
        jit(lambda x: sum((0.0,) * np.sum(x > 0)))(X)
    assert jit(lambda x: sum([0.5] * np.sum(x > 0)))(X) == 0.5 * np.sum(X > 0)


def test_a_compiled_function_bakes_no_outer_value_in() -> None:
    flag: list[Any] = []

    def results(g: Function) -> list[Any]:
        def f(x: Any) -> Any:
            flag[:] = [x > 0]
            y = g(x) + g(1.0)
            flag.clear()
            return y

        return [grad(f)(2.0), grad(f)(-2.0)]

    assert results(jit(lambda x: 2 * x if flag[0] else 3 * x)) == [2.0, 3.0]
    with pytest.raises(ConcreteValueError, match="bool"):
        results(jit(eval("lambda x: 2 * x if flag[0] else 3 * x", {"flag": flag})))


def test_sizes_are_refused_where_values_are_not_known() -> None:
    for f in (np.argwhere, np.unique, lambda x: np.sort(np.extract(x > 0, x))):
        with pytest.raises(
            UncoveredFunctionError, match=r"the shape of the result depends|length depends"
        ):
            jit(f)(X)


# -- cost -------------------------------------------------------------------------------


def test_what_is_never_asked_is_never_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    from autojit.tracing.known import Known

    monkeypatch.delattr(Known, "find")
    monkeypatch.delattr(Known, "depends")
    assert grad(lambda x: np.sum(np.sin(x) * x))(np.zeros(3)).tolist() == [0, 0, 0]


LONG = """
def long(x):
    s = x
    for _ in range(50_000):
        s = s + x
        s = s * 0.5
    return x * x if s > 2 else s
"""


@pytest.mark.slow
def test_a_long_trace_and_one_question() -> None:
    names: dict[str, Any] = {}
    exec(LONG, names)  # without source each step is traced
    with pytest.warns(autojit.errors.UnrolledLoopWarning):
        assert grad(names["long"])(3.0) == 6.0


@pytest.mark.slow
def test_a_long_loop_and_one_question() -> None:
    def f(x: Any) -> Any:
        s = x
        for _ in range(50_000):
            s = s + x
            s = s * 0.5
        return x * x if s > 2 else s

    assert grad(f)(3.0) == 6.0


def asking(steps: int) -> Function:
    def f(x: Any) -> Any:
        s = x
        for _ in range(steps):
            s = s * 0.99 + 0.01 * x
            if s > 10.0 or float(stop_gradient(s)) > 20.0:
                s = -s
        return s

    return f


def test_questions_cost_what_their_operations_cost() -> None:
    counts = []
    for n in (200, 400):
        autojit.session.transform_cache.clear()
        counts.append(calls_of(lambda n=n: linearize(asking(n), 1.0)))  # type: ignore[misc]
    assert counts[1] < 2.3 * counts[0]


def test_ten_thousand_questions() -> None:
    assert grad(asking(5_000))(2.0) == pytest.approx(1.0)


# -- drawn functions ----------------------------------------------------------------------


class Drawn:
    """A function drawn at random, with branches, loops and indices that depend on values."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.path: list[Any] = []

    def __call__(self, x: Any) -> Any:
        self.path.clear()
        rng = np.random.default_rng(self.seed)
        values = [x[i] for i in range(len(x))]
        for _ in range(8):
            a, b = (values[i] for i in rng.integers(0, len(values), 2))
            kind, c = rng.integers(0, 8), rng.normal()
            values.append(self._step(int(kind), a, b, float(c), values))
        return sum(values[1:], values[0])

    def _took(self, outcome: Any) -> Any:
        self.path.append(outcome)
        return outcome

    def _step(self, kind: int, a: Any, b: Any, c: float, values: list[Any]) -> Any:
        if kind == 0:
            return np.sin(a) * b if self._took(bool(a > b)) else a - np.cos(b)
        if kind == 1:
            steps = 0
            while abs(a) > 0.3 and steps < 20:
                a, steps = a * 0.6 + 0.1 * np.tanh(b), steps + 1
            self._took(steps)
            return a
        if kind == 2:
            found = [v for v in values if v > c]
            self._took(len(found))
            return sum(found, 0.0 * a)
        if kind == 3:
            both = np.array([a, b, a * b])
            return both[self._took(int(np.argmax(both)))] * c
        if kind == 4:
            return a * b if self._took(bool(a < c < b)) else a + b
        if kind == 5:
            taken = np.array(values[:4])
            self._took(tuple((taken > c).tolist()))
            return np.sum(taken[taken > c] ** 2) * 0.1
        if kind == 6:
            n = self._took(min(int(abs(a)), 3))
            return np.sum(np.arange(n + 1.0) * b) + sum(a * i for i in range(n))
        self._took(tuple(np.argsort(np.array(values[:4])).tolist()))
        return max(a, b) - 0.5 * min(values) + sorted(values)[1] * c


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(30))
def test_drawn_functions(seed: int) -> None:
    f, x = Drawn(seed), np.random.default_rng(1000 + seed).normal(size=4)
    value, gradient = value_and_grad(f)(x)
    taken = list(f.path)
    assert value == pytest.approx(f(x), rel=1e-12)
    assert f.path == taken
    h, paths = 1e-6, []
    for e in np.eye(4) * h:
        for shifted in (x + e, x - e):
            f(shifted)
            paths.append(list(f.path))
    assert all(path == taken for path in paths), "too close to a switch: draw another"
    np.testing.assert_allclose(gradient, differences(f, x, h), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(jacfwd(f)(x), gradient, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(hessian(f)(x), jacrev(grad(f))(x), rtol=1e-9, atol=1e-10)


def test_value_of() -> None:
    found: list[Any] = []

    def f(x: Any, n: Any) -> Any:
        y = np.sin(x) * n
        found.extend([value_of(x), value_of(y), value_of(np.sum(y))])
        return np.sum(y)

    grad(f)(X, 2)
    np.testing.assert_array_equal(found[0], X)
    np.testing.assert_array_equal(found[1], np.sin(X) * 2)
    assert isinstance(found[2], np.float64)
    found.clear()
    jit(lambda x: found.append(value_of(x)) or x)(X)
    assert found == [None]
