"""Programs with wrong results once, or with somebody else's exceptions: one test each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.errors import (
    ArgumentChangedError,
    ConcreteValueError,
    HandledFailureError,
    LeakedTracerError,
)
from autojit.scipy.special import logsumexp, softmax

RNG = np.random.default_rng(0)


def batch_norm(a: Any) -> Any:
    return (a - a.mean(axis=0)) / np.sqrt(a.var(axis=0) + 1e-5)


CHECKPOINTED: dict[str, tuple[Any, tuple[int, ...]]] = {
    "max of columns": (lambda a: np.max(np.sin(a), axis=0), (2050, 8)),
    "batch norm": (batch_norm, (600, 16)),
    "ptp": (lambda a: np.ptp(np.sin(a), axis=0), (2050, 8)),
    "var": (lambda a: np.var(np.sin(a), axis=0), (2050, 8)),
    "softmax of columns": (lambda a: softmax(np.sin(a), axis=0), (2050, 8)),
    "log of sums": (lambda a: np.log(np.sum(np.exp(np.sin(a)), axis=0)), (2050, 8)),
    "statistics of few long rows": (lambda a: np.var(np.sin(a), axis=1), (3, 40_000)),
    "softmax of many": (softmax, (20_000,)),
    "clipped, times a sum": (lambda a: np.clip(a, -1, 1) * a * np.sum(a), (10_000,)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CHECKPOINTED)
def test_gradients_of_checkpoints(name: str) -> None:
    f, shape = CHECKPOINTED[name]
    x = RNG.normal(size=shape)
    weights = RNG.normal(size=np.shape(f(x)))
    got = jit(grad(lambda a: np.sum(weights * autojit.checkpoint(f)(a))))(x)
    want = jit(grad(lambda a: np.sum(weights * f(a))))(x)
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)
    direction, h = RNG.normal(size=shape), 1e-6
    ends = [np.sum(weights * f(x + s * h * direction)) for s in (1, -1)]
    difference = (ends[0] - ends[1]) / (2 * h)
    np.testing.assert_allclose(np.sum(got * direction), difference, rtol=1e-4, atol=1e-4)


def test_names_of_bodies_mean_nothing() -> None:
    def step(c: Any, x: Any) -> Any:
        return c * x, c

    def step_linear(c: Any, x: Any) -> Any:
        return c * x, c

    def step_transpose(c: Any, x: Any) -> Any:
        return c * x, c

    xs = np.array([1e200, 1e200, 1e-300, 1e-300, 1e-100])
    found = []
    for body in (step, step_linear, step_transpose):
        with np.errstate(all="ignore"):
            found.append(jit(lambda c, body=body: autojit.scan(body, c, xs)[0])(1.0))
    assert str(found[0]) == str(found[1]) == str(found[2])


def test_an_exception_of_ours_is_no_answer() -> None:
    def root(x: Any) -> Any:
        try:
            return np.sqrt(float(x))
        except Exception:
            return -np.inf

    def picked(x: Any) -> Any:
        try:
            return np.linalg.cholesky(x * np.eye(2))[0, 0]
        except ValueError:
            return 0.0 * x

    assert jit(root)(4.0) == 2.0
    with pytest.raises(HandledFailureError, match="except"):
        jit(picked)(4.0)


@pytest.mark.usefixtures("young_objects")
def test_the_state_of_an_object_is_not_left_traced() -> None:
    class Model:
        w: Any = 1.0

        def __call__(self, x: Any) -> Any:
            self.w = self.w * x
            return self.w

    model = Model()
    with pytest.raises(LeakedTracerError, match="attribute `w`"):
        jit(model)(2.0)


def test_linalg_errors_and_errstate_are_not_passed_over() -> None:
    def solved(a: Any) -> Any:
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return np.zeros((2, 2))

    def factored(a: Any) -> Any:
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return np.zeros((2, 2))

    def divided(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return 1.0 / x

    np.testing.assert_array_equal(jit(solved)(np.zeros((2, 2))), np.zeros((2, 2)))
    with pytest.raises(HandledFailureError, match="LinAlgError"):
        jit(factored)(np.zeros((2, 2)))
    with pytest.raises(HandledFailureError, match="errstate"):
        jit(divided)(np.zeros(2))


def test_the_callers_array_is_not_changed() -> None:
    def centred(x: Any) -> Any:
        x -= x.mean()
        return x

    with pytest.raises(ArgumentChangedError):
        jit(centred)(np.arange(3.0))


def test_numbers_of_python_do_not_wrap_around() -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        jit(lambda n: n * n)(2**40)
    with pytest.raises(ZeroDivisionError):
        jit(lambda n: 1 // n)(0)


def test_rounding_keeps_integers() -> None:
    x = np.array([2**53 + 15, -(2**60) - 25, 14, 15, 25, -15])
    for digits in (-1, -2, 0, 2):
        found = jit(lambda x, digits=digits: np.round(x, digits))(x)
        want = np.round(x, digits)
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found, want)


def test_diff_broadcasts_what_is_put_before_and_behind() -> None:
    x, row = RNG.normal(size=(3, 4)), RNG.normal(size=(1, 1))
    for axis in (0, 1):
        for n in (1, 2):
            for more in ({"prepend": 1.0}, {"append": 2.0}, {"prepend": 0.0, "append": 3.0}):
                found = jit(lambda x, a=axis, n=n, m=more: np.diff(x, n, a, **m))(x)
                np.testing.assert_allclose(found, np.diff(x, n, axis, **more))
    wide = np.repeat(row, 3, axis=0)
    np.testing.assert_allclose(
        jit(lambda x: np.diff(x, axis=1, prepend=wide))(x), np.diff(x, axis=1, prepend=wide)
    )


def test_take_along_axis_broadcasts() -> None:
    x = RNG.normal(size=(3, 4, 5))
    for axis, shape in ((0, (2, 1, 5)), (1, (1, 2, 5)), (2, (3, 1, 2)), (-1, (1, 1, 3))):
        places = RNG.integers(0, x.shape[axis], shape)
        found = jit(lambda x, p=places, a=axis: np.take_along_axis(x, p, a))(x)
        np.testing.assert_array_equal(found, np.take_along_axis(x, places, axis))


def test_norms_have_derivatives_at_0() -> None:
    for order in (0.5, 1, 1.5, 2, 3, np.inf):
        found = jit(grad(lambda x, order=order: np.linalg.norm(x, order)))(np.zeros(3))
        assert not np.isnan(found).any(), order


def test_triangles_and_sums_of_few_axes() -> None:
    x = np.arange(1.0, 4.0)
    np.testing.assert_array_equal(jit(np.tril)(x), np.tril(x))
    np.testing.assert_array_equal(jit(np.triu)(x), np.triu(x))
    for f in (np.sum, np.prod, np.max, np.any):
        number = np.array(2.5)
        assert jit(lambda x, f=f: f(x, axis=0))(number) == f(number, axis=0)


SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
COMPLEX = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])


@pytest.mark.parametrize(
    "name", ["exp", "log", "sqrt", "sin", "cos", "sinh", "cosh", "tanh", "square", "conj", "abs"]
)
def test_complex_functions_of_infinite_and_nan_parts(name: str) -> None:
    f = getattr(np, name)
    with np.errstate(all="ignore"):
        want, found = f(COMPLEX), jit(f)(COMPLEX)
    np.testing.assert_allclose(found.real, want.real, rtol=1e-13)
    np.testing.assert_allclose(found.imag, want.imag, rtol=1e-13)


def test_complex_division_by_infinite_and_nan_parts() -> None:
    a, b = (c.ravel() for c in np.meshgrid(COMPLEX, COMPLEX))
    with np.errstate(all="ignore"):
        want, found = a / b, jit(lambda a, b: a / b)(a, b)
    np.testing.assert_allclose(found.real, want.real, rtol=1e-13)
    np.testing.assert_allclose(found.imag, want.imag, rtol=1e-13)


TEXTS: dict[str, Any] = {
    "sort": np.sort,
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "median": np.median,
    "diag": lambda x: np.diag(x[0]),
    "cumsum": lambda x: np.cumsum(x, axis=np.int64(1)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_parse_back(name: str) -> None:
    x = RNG.normal(size=(3, 3))
    program = autojit.trace(TEXTS[name])(x)
    assert autojit.parse(program.text()) == program


def test_logsumexp_and_softmax_of_what_was_written_in_place() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(4)
        y[1:] = x
        return logsumexp(y), softmax(y)

    y = np.array([0.0, 1.0, 2.0, 3.0])
    total, parts = jit(f)(y[1:])
    np.testing.assert_allclose(total, np.log(np.sum(np.exp(y))))
    np.testing.assert_allclose(parts, np.exp(y) / np.sum(np.exp(y)))


def test_arrays_in_parts() -> None:
    x = np.arange(7.0)
    found = jit(lambda x: [p.sum() for p in np.array_split(x * 2, 3)])(x)
    np.testing.assert_allclose(found, [p.sum() for p in np.array_split(x * 2, 3)])


def test_series_and_frames_times_traced_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0])
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    for f in (lambda w: np.sum(series * w), lambda w: np.sum(np.asarray(frame @ w))):
        w, h = np.array([0.5, 1.5]), 1e-6 * np.eye(2)
        found = grad(f)(w)
        want = [(f(w + d) - f(w - d)) / 2e-6 for d in h]
        np.testing.assert_allclose(found, want, rtol=1e-6)


def test_zeros_of_a_traced_number_say_what_to_do() -> None:
    with pytest.raises(ConcreteValueError, match="the shape of the result"):
        jit(lambda n: np.sum(np.zeros(n) + 1))(3)


def test_many_updates_nested_in_a_gradient() -> None:
    def orthogonal(a: Any) -> Any:
        q = np.zeros(a.shape)
        a = a.copy()
        for k in range(a.shape[1]):
            q[:, k] = a[:, k] / np.sqrt(np.dot(a[:, k], a[:, k]))
            for j in range(k + 1, a.shape[1]):
                r = np.dot(q[:, k], a[:, j])
                a[:, j] -= q[:, k] * r
        return q

    x, weights = RNG.normal(size=(12, 24))[:, :11], RNG.normal(size=(12, 11))
    found = jit(grad(lambda a: np.sum(weights * orthogonal(a))))(x)
    direction, h = RNG.normal(size=x.shape), 1e-6
    ends = [np.sum(weights * orthogonal(x + s * h * direction)) for s in (1, -1)]
    np.testing.assert_allclose(np.sum(found * direction), (ends[0] - ends[1]) / (2 * h), rtol=1e-4)


def test_the_size_of_random_draws_is_known_while_tracing() -> None:
    def drawn(n: Any) -> Any:
        return np.sum(np.random.default_rng(0).normal(size=(n, 2)))

    with pytest.raises(ConcreteValueError, match="as an index, a shape or a range"):
        jit(drawn)(3)


def test_medians_of_numbers_have_no_axis() -> None:
    for f in (np.median, np.nanmedian, lambda x, axis: np.quantile(x, 0.5, axis=axis)):
        with pytest.raises(ValueError, match="axis 0 is out of bounds"):
            jit(lambda x, f=f: f(x, axis=0))(np.array(2.5))
        assert jit(lambda x, f=f: f(x, axis=None))(np.array(2.5)) == 2.5


def test_first_powers_of_complex_numbers_are_exact() -> None:
    with np.errstate(all="ignore"):
        for one in (np.ones(len(COMPLEX)), np.ones(len(COMPLEX), complex)):
            found, want = jit(lambda x, p: x**p)(COMPLEX, one), COMPLEX**one
            np.testing.assert_array_equal(found, want)


def test_an_array_of_another_trace_forgets_what_it_may_be() -> None:
    """A loop bound a name to an argument that the gradient does not concern, which then kept the
    arrays of the inner trace."""

    def f(a: Any, b: Any) -> Any:
        n = a.shape[0]
        a = a.copy()
        for k in range(n):
            for j in range(k + 1, n):
                a[k, j] = 0.5 * a[k, j - 1] + b[j]
            for j in range(n - 2, k, -1):
                b = b + 0.0
                a[k, j] += a[k, j + 1] * b[k]
        return np.sum(a * b)

    a, b, direction = RNG.normal(size=(11, 11)), RNG.normal(size=11), RNG.normal(size=(11, 11))
    ends = [f(a + s * 1e-6 * direction, b) for s in (1, -1)]
    found = jit(grad(f))(a, b)
    np.testing.assert_allclose(np.sum(found * direction), (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


def test_a_trial_step_of_a_reversed_loop() -> None:
    def f(x: Any, n: Any) -> Any:
        t = 0.0
        for _ in range(n):
            for _, q in enumerate(reversed(x)):
                c = 0
                while c < n:
                    c += 1
                    t = t * 0.5 + q
        return t

    x = np.arange(3.0)
    assert jit(f)(x, 3) == pytest.approx(f(x, 3), rel=1e-12)
