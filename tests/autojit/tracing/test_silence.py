"""Where Python would branch, raise or store, tracing does not pass over it in silence."""

from __future__ import annotations

import contextlib
import copy
import functools
import linecache
import logging
import operator
import pprint
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy import array as plain_array  # noqa: F401 - evaluated
from numpy import zeros as plain_zeros  # noqa: F401 - evaluated

import autojit
from autojit import cond, fori_loop, grad, hessian, jacfwd, jit, jvp, scan, vmap, while_loop
from autojit.errors import (
    ArgumentChangedError,
    ConcreteValueError,
    HandledFailureError,
    LeakedTracerError,
    MissingDtypeError,
    TracingError,
    UncoveredAttributeError,
    UncoveredFunctionError,
)
from autojit.testing import check_grads

X = np.array([1.0, 2.0, 3.0])
A = np.array([[2.0, 0.5], [0.5, 1.0]])
OUTSIDE = np.zeros(3)


# -- errors that the function catches -------------------------------------------------


def caught(error: type[Exception], go: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        try:
            return np.sum(go(x))
        except error:  # the line that is named
            return -np.inf

    return f


#: Without source, so that what it asks is not captured.
number = eval("lambda x: float(x[0])")


def assign_outside(x: Any) -> Any:
    OUTSIDE.__setitem__(0, x[0])
    return OUTSIDE


TRACING: dict[str, tuple[type[Exception], Callable[[Any], Any], type[TracingError]]] = {
    "float": (Exception, eval("lambda x: float(x[0])"), ConcreteValueError),
    "bool": (TypeError, eval("lambda x: 1.0 if x[0] > 0 else 2.0"), ConcreteValueError),
    "int": (TypeError, eval("lambda x: int(x[0])"), ConcreteValueError),
    "index": (TypeError, eval("lambda x: range(x[0].astype(int))"), ConcreteValueError),
    "uncovered": (NotImplementedError, lambda x: np.may_share_memory(x, x), UncoveredFunctionError),
    "attribute": (AttributeError, lambda x: x.tobytes(), UncoveredAttributeError),
    "dtype": (TypeError, lambda x: x.astype("S3"), MissingDtypeError),
    "converted": (Exception, eval("lambda x: plain_array([x[0], x[1]])"), ConcreteValueError),
    "assigned": (ValueError, assign_outside, ConcreteValueError),
    "picked": (Exception, eval("lambda x: plain_zeros(3)[x[0].astype(int)]"), ConcreteValueError),
}


#: What a function may ask where values are at hand.
ANSWERED = ("bool", "int", "index", "picked")


@pytest.mark.parametrize("case", TRACING)
def test_errors_of_tracing_are_raised_again(case: str) -> None:
    handled, go, error = TRACING[case]
    f = caught(handled, go)
    runs = [jit(f), jit(grad(jit(f))), grad(jit(f))]
    if case not in ANSWERED:
        runs += [grad(f), lambda x: jvp(f, (x,), (x,)), hessian(f)]
    for run in runs:
        with pytest.raises(error) as raised:
            run(X)
        note, _ = raised.value.__notes__
        assert "while f was traced" in note
        if case != "assigned":
            line = int(note.split("`except` at ")[1].split(" ")[0].rsplit(":", 1)[1])
            assert "the line that is named" in linecache.getline(__file__, line)
    with pytest.raises(error):
        vmap(f)(X[None])


@pytest.mark.parametrize("within", [
    lambda f: lambda x: scan(lambda c, _: (c + f(x), None), 0.0, None, length=2)[0],
    lambda f: lambda x: while_loop(lambda c: c < 1, lambda c: c + f(x), 0.0),
    lambda f: lambda x: fori_loop(0, 2, lambda i, c: c + f(x), 0.0),
    lambda f: lambda x: cond(x[0] > 0, f, lambda x: 0.0, x),
    lambda f: lambda x: grad(f)(x)[0],
    lambda f: lambda x: jit(f)(x),
    lambda f: lambda x: autojit.checkpoint(f)(x),
])  # fmt: skip
def test_in_bodies_and_nested_traces(within: Callable[..., Any]) -> None:
    with pytest.raises(ConcreteValueError, match=r"float\(x\)"):
        jit(within(caught(Exception, number)))(X)


def test_handlers_of_outer_functions() -> None:
    def outer(x: Any) -> Any:
        with contextlib.suppress(TypeError):
            return grad(number)(x)[0]
        return x[0]

    with pytest.raises(ConcreteValueError, match=r"float\(x\)") as raised:
        grad(outer)(X)
    assert "while outer was traced" in raised.value.__notes__[0]


def test_another_error_does_not_hide_them() -> None:
    def f(x: Any) -> Any:
        try:
            return number(x)
        except TypeError:
            raise KeyError("no number") from None

    with pytest.raises(ConcreteValueError, match=r"float\(x\)"):
        jit(f)(X)


def test_errors_of_numpy_s_may_be_caught() -> None:
    def f(x: Any) -> Any:
        tried = []
        for go in (
            lambda: x + np.ones(2), lambda: x[7], lambda: x.reshape(2, 2), lambda: x & 1,
            lambda: np.linalg.inv(x), lambda: len(x[0]), lambda: iter(x[0]), lambda: x.missing,
            lambda: (y := x.astype(int)).__iadd__(0.5) or y,
        ):  # fmt: skip
            try:
                go()
            except (ValueError, IndexError, TypeError, AttributeError) as error:
                tried.append(type(error))
        assert len(tried) == 9
        assert not any(issubclass(kind, TracingError) for kind in tried)
        return x

    np.testing.assert_array_equal(jit(f)(X), X)


def test_handlers_that_name_errors_of_autojit_know_of_tracing() -> None:
    assert jit(caught(ConcreteValueError, number))(X) == -np.inf
    assert jit(caught(autojit.errors.AutojitError, number))(X) == -np.inf


class Shown:
    """An object whose text reads a number, as for debuggers and loggers."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __repr__(self) -> str:
        return f"{self.x:.3f}"


@pytest.mark.slow
def test_questions_are_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def f(x: Any) -> Any:
        assert not hasattr(x, "tobytes")
        assert getattr(x, "flags", None) is None
        assert (np.ndim(x), np.shape(x), np.iterable(x), np.isscalar(x)) == (1, (3,), True, False)
        assert not np.iterable(x[0])
        with contextlib.suppress(TypeError):
            repr(Shown(x[0]))
        logging.getLogger("autojit.test").warning("%.3f", x[0])
        pprint.pformat([x, copy.copy(x), copy.deepcopy(x)])
        kinds = pandas.api.types
        assert kinds.is_list_like(x)
        assert kinds.is_numeric_dtype(x)
        return np.sum(x * pandas.Series(X).to_numpy())

    assert jit(f)(X) == 14.0


def test_nothing_is_remembered_of_a_trace_that_failed() -> None:
    with pytest.raises(ConcreteValueError):
        jit(number)(X)
    assert autojit.errors.raised.errors is None
    assert jit(np.sin)(0.0) == 0.0


def test_other_threads_of_the_function() -> None:
    def alone(x: Any) -> Any:
        def work() -> None:
            with contextlib.suppress(Exception):
                np.sin(x)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
        return x

    def pooled(x: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            try:
                return pool.submit(np.sin, x).result()
            except RuntimeError:
                return x

    for f in (alone, pooled):
        with pytest.raises(LeakedTracerError, match="in another thread"):
            jit(f)(X)


# -- values that are kept ---------------------------------------------------------------


class Model:
    def __init__(self) -> None:
        self.w: Any = None
        self.rows: list[Any] = []

    def stores(self, x: Any) -> Any:
        self.w = x * 2
        return np.sum(self.w)

    def appends(self, x: Any) -> Any:
        self.rows.append(x.T)
        return np.sum(x)

    @functools.cached_property
    def known(self) -> Any:
        return self.w * 3


cache: dict[str, Any] = {}


def into_a_global(x: Any) -> Any:
    cache["a"] = np.sin(x)
    return np.sum(x)


def memoized(x: Any) -> Any:
    @functools.lru_cache
    def power(k: int) -> Any:
        return x**k

    KEPT.append(power)
    return np.sum(power(3))


KEPT: list[Any] = []


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("f", "where"), [
    (Model().stores, "in the attribute `w` of a Model"),
    (Model().appends, "in a list, in the attribute `rows` of a Model"),
    (into_a_global, "in a dict, at 'a', in the global variable `cache`"),
    (memoized, "in "),
])  # fmt: skip
def test_holders_are_named(f: Callable[[Any], Any], where: str) -> None:
    for run in (jit(f), grad(f)):
        with pytest.raises(LeakedTracerError) as raised:
            run(X)
        assert where in str(raised.value)
        assert "Return it instead:" in str(raised.value)
        cache.clear()
        KEPT.clear()


def test_arrays_that_were_captured_before_they_became_traced_are_kept_by_nobody() -> None:
    def f(x: Any) -> Any:
        a = np.array([1.0, 2.0])
        np.multiply(a, x, out=a)
        return a

    np.testing.assert_array_equal(jit(f)(3.0), [3.0, 6.0])
    np.testing.assert_array_equal(autojit.jacfwd(f)(3.0), [1.0, 2.0])


@pytest.mark.slow
def test_variables_and_lists_of_callers() -> None:
    last, rows = None, []

    def remember(x: Any) -> Any:
        nonlocal last
        last = x + 1
        return np.sum(x)

    def collect(c: Any, x: Any) -> Any:
        rows.append(c)
        return c + x, None

    with pytest.raises(LeakedTracerError, match="in the variable `last` of an enclosing function"):
        grad(remember)(X)
    with pytest.raises(LeakedTracerError, match="in a list, in the variable `rows`"):
        jit(lambda x: scan(collect, 0.0, x)[0])(X)
    assert last is not None


@pytest.mark.slow
def test_arrays_that_became_traced_are_kept_too() -> None:
    model = Model()

    def f(x: Any) -> Any:
        model.w = np.zeros(3)
        model.w[0] = x[0]
        return x

    with pytest.raises(LeakedTracerError, match="the attribute `w` of a Model"):
        jit(f)(X)
    jit(lambda x: setattr(model, "w", np.zeros(3)) or x)(X)  # known numbers may be kept
    np.testing.assert_array_equal(model.w, 0.0)


def test_garbage_is_not_kept() -> None:
    model = Model()

    def recursive(x: Any) -> Any:
        def power(k: int) -> Any:
            return x if k == 0 else power(k - 1) * x

        return power(3)

    def in_a_cycle(x: Any) -> Any:
        own = Model()
        own.w, own.rows = x * 2, [own]
        return own.known

    def let_go(x: Any) -> Any:
        model.w = x
        total = model.w * 2
        model.w = None
        return total

    for f in (recursive, in_a_cycle, let_go):
        autojit.trace(f)(X)
        autojit.trace(f)(X)


@pytest.mark.slow
def test_errors_iterators_and_memos_keep_nothing() -> None:
    errors, iterators = [], []

    def with_an_error(x: Any) -> Any:
        y = x * 2
        try:
            y.reshape(2, 2)
        except ValueError as error:
            errors.append(error)
        return y

    def with_an_iterator(x: Any) -> Any:
        def numbers() -> Iterator[Any]:
            for i in range(5):
                yield x * i

        iterators.append(numbers())
        return next(iterators[-1]) + x

    def with_a_memo(x: Any) -> Any:
        memo: dict[int, Any] = {0: x}
        weak = weakref.WeakValueDictionary({"model": Model()})
        for i in range(4):
            memo[i + 1] = memo[i] * x
        return memo[4], len(weak)

    for f in (with_an_error, with_an_iterator, with_a_memo):
        autojit.trace(f)(X)
        autojit.trace(f)(X)
    assert len(errors) == 2


def test_in_an_error_that_leaves_the_function() -> None:
    model = Model()

    def f(x: Any) -> Any:
        model.w = x
        raise KeyError("as the function means it")

    with pytest.raises(KeyError, match="as the function means it"):
        jit(f)(X)


# -- failures that the function would handle --------------------------------------------


def cholesky_or_nothing(a: Any) -> Any:
    try:
        return np.sum(np.linalg.cholesky(a))
    except np.linalg.LinAlgError:
        return -np.inf


HANDLED: dict[str, Callable[[Any], Any]] = {
    "cholesky": cholesky_or_nothing,
    "in a loop": caught(Exception, lambda a: fori_loop(0, 2, lambda i, s: s + np.linalg.inv(a), a)),
}


@pytest.mark.parametrize("case", HANDLED)
def test_handlers_of_failures_are_refused(case: str) -> None:
    runs = [jit(HANDLED[case]), jit(grad(jit(HANDLED[case]))), grad(jit(HANDLED[case]))]
    if case == "in a loop":
        runs += [grad(HANDLED[case])]
    for run in runs:
        with pytest.raises(HandledFailureError, match=r"may raise np\.linalg\.LinAlgError"):
            run(A)


def test_handlers_around_what_was_traced_before() -> None:
    inverse = jit(np.linalg.inv)
    inverse(A)
    with pytest.raises(HandledFailureError, match="`solve` may raise"):
        jit(caught(Exception, inverse))(A)

    def suppressed(a: Any) -> Any:
        with contextlib.suppress(np.linalg.LinAlgError):
            return inverse(a)
        return a

    with pytest.raises(HandledFailureError, match="`solve` may raise"):
        jit(suppressed)(A)


def test_what_does_not_end_the_failure() -> None:
    def f(a: Any) -> Any:
        try:
            with contextlib.suppress(KeyError), contextlib.nullcontext():
                return np.linalg.inv(a)
        except (KeyError, FloatingPointError):
            return a
        except np.linalg.LinAlgError:
            raise
        finally:
            a = None
        return a

    def after(a: Any) -> Any:
        try:
            b = a * 2
        except Exception:
            return a
        return np.linalg.inv(b)

    np.testing.assert_allclose(jit(f)(A), np.linalg.inv(A))
    np.testing.assert_allclose(jit(after)(A), np.linalg.inv(2 * A))
    with pytest.raises(np.linalg.LinAlgError):
        jit(f)(np.zeros((2, 2)))


def test_the_handler_belongs_around_the_call() -> None:
    def f(a: Any) -> Any:
        return np.sum(np.linalg.cholesky(a))

    def value(a: Any) -> Any:
        try:
            return jit(f)(a)
        except np.linalg.LinAlgError:
            return np.inf

    assert value(-A) == np.inf
    np.testing.assert_allclose(value(A), f(A))


def test_divisions_by_zero_that_the_function_would_handle() -> None:
    def f(n: Any) -> Any:
        try:
            return 10 // n
        except ZeroDivisionError:
            return 0

    assert [jit(f)(n) for n in (5, 0, -3)] == [2, 0, -4]
    assert jit(f)(np.int64(5)) == 2  # of NumPy's integers it is 0 and a warning


@pytest.mark.parametrize("mode", ["raise", "call"])
def test_error_states(mode: Any) -> None:
    def f(x: Any) -> Any:
        with np.errstate(divide=mode):
            return np.sum(1 / x)

    for run in (jit(f), grad(f), jit(lambda x: grad(f)(x))):
        with pytest.raises(HandledFailureError, match=rf"np\.errstate\(divide='{mode}'\)"):
            run(X)

    def nested(x: Any) -> Any:
        with np.errstate(divide=mode):
            return grad(lambda y: np.sum(1 / y))(x)

    with pytest.raises(HandledFailureError, match="has no effect"):
        jit(nested)(X)


def test_error_states_that_change_nothing() -> None:
    def f(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.log(x)

    with np.errstate(all="raise"):  # outside: it says nothing about compiled code
        np.testing.assert_array_equal(jit(np.log)(np.zeros(1)), -np.inf)
        np.testing.assert_array_equal(jit(f)(np.zeros(1)), -np.inf)


@pytest.mark.parametrize("filters", [("error",), ("error", RuntimeWarning), ("error", Warning)])
def test_warnings_that_are_errors(filters: Any) -> None:
    def f(x: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter(*filters)
            try:
                return np.log(x)
            except RuntimeWarning:
                return -1.0

    for transformed in (jit(f), grad(f)):
        with pytest.raises(HandledFailureError, match="makes errors of warnings has no effect"):
            transformed(np.float64(0.0))


def test_other_filters_of_warnings() -> None:
    def f(x: Any, *filters: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter(*filters)
            return np.log(x)

    assert jit(lambda x: f(x, "ignore"))(1.0) == 0.0
    assert jit(lambda x: f(x, "error", DeprecationWarning))(1.0) == 0.0
    with warnings.catch_warnings():  # outside: it says nothing about compiled code
        warnings.simplefilter("error")
        assert np.isneginf(jit(np.log)(0.0))


# -- arguments that are changed -----------------------------------------------------------

CHANGES: dict[str, Callable[[Any], Any]] = {
    "x -= y": lambda x: operator.isub(x, 1.0),
    "x[i] = y": lambda x: x.__setitem__((0, 0), 1.0),
    "out=": lambda x: np.exp(x, out=x),
    "at": lambda x: np.add.at(x, [0], 1.0),
    "copyto": lambda x: np.copyto(x, 0.0),
    "fill_diagonal": lambda x: np.fill_diagonal(x, 0.0),
    "put": lambda x: np.put(x, [0], 1.0),
    "putmask": lambda x: np.putmask(x, x > 1, 0.0),
    "put_along_axis": lambda x: np.put_along_axis(x, np.array([[0]]), 1.0, 1),
    "sort": lambda x: x.sort(),
    "fill": lambda x: x.fill(0.0),
    "real": lambda x: setattr(x, "real", 0.0),
    "row": lambda x: x[0].__setitem__(0, 1.0),
    "transpose": lambda x: operator.imul(x.T, 2.0),
    "reshape": lambda x: operator.imul(x.reshape(-1), 2.0),
    "asarray": lambda x: operator.imul(np.asarray(x), 2.0),
    "atleast_2d": lambda x: operator.imul(np.atleast_2d(x), 2.0),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CHANGES)
def test_changes_of_arguments_are_refused(case: str) -> None:
    def f(x: Any) -> Any:
        CHANGES[case](x)
        return np.sum(x * x)

    def copied(x: Any) -> Any:
        x = x.copy()
        CHANGES[case](x)
        return np.sum(x * x)

    given = np.array([[1.5, -2.0], [0.5, 3.0]])
    for run in (jit(f), grad(f), jacfwd(f), hessian(f)):
        with pytest.raises(ArgumentChangedError, match="argument 0 is changed in place"):
            run(given)
    with pytest.raises(ArgumentChangedError, match=r"argument 0\['w'\]\[1\] is changed"):
        jit(lambda tree: f(tree["w"][1]))({"w": [X, given]})
    np.testing.assert_allclose(jit(copied)(given), copied(given))
    check_grads(copied, (given,), order=1)
    np.testing.assert_array_equal(given, [[1.5, -2.0], [0.5, 3.0]])


def test_arguments_of_inner_functions() -> None:
    def centred(x: Any) -> Any:
        x -= x.mean()
        return np.sum(x**2)

    within = (
        lambda x: grad(centred)(x),
        lambda x: jit(centred)(x * 2),
        lambda x: autojit.checkpoint(centred)(x),
        lambda x: vmap(centred, in_axes=None)(x),
    )
    for g in within[:3]:
        with pytest.raises(ArgumentChangedError, match="argument 0 is changed"):
            jit(g)(X)

    @autojit.custom_vjp
    def ruled(x: Any) -> Any:
        return centred(x)

    ruled.defvjp(lambda x: (np.sum(x), x), lambda x, ct: (ct * x,))
    with pytest.raises(ArgumentChangedError, match="argument 0 is changed"):
        grad(ruled)(X)


def test_rules_and_bodies_may_change_what_they_are_given() -> None:
    def doubled(c: Any, *_: Any) -> Any:
        c *= 2
        return c

    assert jit(lambda x: np.sum(scan(lambda c, _: (doubled(c), None), x, None, 2)[0]))(X) == 24.0
    assert jit(lambda x: np.sum(fori_loop(0, 2, lambda i, c: doubled(c), x)))(X) == 24.0
    assert jit(lambda x: np.sum(cond(True, doubled, lambda c: c, x)))(X) == 12.0
    assert jit(lambda x: np.sum(autojit.map(lambda r: doubled(r), x[:, None])))(X) == 12.0

    @autojit.custom_vjp
    def ruled(x: Any) -> Any:
        return x * 3

    def backward(_: Any, ct: Any) -> Any:
        ct *= 3
        return (ct,)

    ruled.defvjp(lambda x: (x * 3, None), backward)
    np.testing.assert_array_equal(grad(lambda x: np.sum(ruled(x)))(X), 3.0)


def test_names_bound_anew_are_no_changes() -> None:
    def f(x: Any, n: Any) -> Any:
        n += 1
        n *= 2.0
        y = x * n
        y -= n
        return np.sum(y)

    assert jit(f)(X, 1) == 12.0
    assert jit(f)(X, np.float64(1)) == 12.0
    assert grad(f, 1)(X, 1.0) == 6.0


def test_a_copy_of_an_argument_costs_nothing() -> None:
    def f(x: Any) -> Any:
        x = x.copy()
        x[1:] *= 2.0
        return x

    def g(x: Any) -> Any:
        y = x * 1.0
        y[1:] *= 2.0
        return y

    assert autojit.trace(lambda x: np.sum(x.copy()))(X) == autojit.trace(np.sum)(X)
    assert len(autojit.trace(f)(X).ops) < len(autojit.trace(g)(X).ops)


# -- Python's integers --------------------------------------------------------------------

MOST = 2**63 - 1
INTEGERS = [0, 1, -1, 2, -2, 7, 63, 64, 2**31, -(2**31), 3037000499, 3037000500]
INTEGERS += [2**62, -(2**62), MOST, -MOST, -MOST - 1]
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv,
    operator.lshift, operator.rshift, operator.pow,
]  # fmt: skip


def python_s(f: Callable[..., Any], *arguments: int) -> Any:
    """Python's answer, or the error that stands for it."""
    if f is operator.pow and arguments[1] < 0:
        return ValueError
    if f in (operator.pow, operator.lshift) and arguments[1] > 1000:
        answer: Any = f(arguments[0], 1000 + arguments[1] % 2)
    else:
        try:
            answer = f(*arguments)
        except (ArithmeticError, ValueError) as error:
            return type(error)
    if isinstance(answer, int) and not -MOST - 1 <= answer <= MOST:
        return OverflowError
    return answer


def ours(f: Callable[..., Any], *arguments: int) -> Any:
    try:
        return f(*arguments)
    except (ArithmeticError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("f", OPERATORS)
def test_arithmetic_is_python_s(f: Callable[[Any, Any], Any]) -> None:
    compiled = jit(f)
    for a in INTEGERS:
        for b in INTEGERS:
            want = python_s(f, a, b)
            assert ours(compiled, a, b) == want, (a, b)
            with autojit.disable_jit():
                assert ours(compiled, a, b) == want, (a, b)


ONE: list[Callable[[Any], Any]] = [
    operator.neg, abs, lambda n: n**40, lambda n: n**2, lambda n: n**3, lambda n: n**0,
    lambda n: n**70, lambda n: 1 // n, lambda n: 1 % n, lambda n: n + 1, lambda n: n + True,
    lambda n: 5 - n, lambda n: 3 * n, lambda n: n // -1, lambda n: divmod(n, 7)[1] * 2**60,
    lambda n: n << 3, lambda n: n >> 70, lambda n: sum([n, n, 1]), lambda n: (n % 10) ** 19,
]  # fmt: skip


@pytest.mark.parametrize("f", ONE)
def test_arithmetic_with_known_numbers(f: Callable[[Any], Any]) -> None:
    compiled = jit(f)
    for n in INTEGERS:
        assert ours(compiled, n) == python_s(f, n), n


def test_powers() -> None:
    assert jit(lambda n: n**-1)(4) == 0.25
    assert jit(lambda n: n**-2)(-2) == 0.25
    with pytest.raises(ZeroDivisionError):
        jit(lambda n: n**-1)(0)
    for base in (2, -2, 3, 10):
        power = jit(lambda n, base=base: base**n)
        for n in (0, 1, 18, 19, 39, 40, 62, 63, 64, 100):
            assert ours(power, n) == python_s(operator.pow, base, n)
        with pytest.raises(ValueError, match="negative integer powers"):
            power(-1)
    assert jit(lambda n: (-1) ** n)(10**18 + 1) == -1


def test_words_of_the_errors() -> None:
    with pytest.raises(OverflowError, match=r"does not fit into the 64 bits.*float\(n\)"):
        jit(lambda n: n**40)(7)
    assert jit(lambda n: (n * 1.0) ** 40)(7) == 7.0**40
    with pytest.raises(ZeroDivisionError, match="integer division or modulo by zero"):
        jit(lambda n: 1 // n)(0)
    with pytest.raises(OverflowError, match="does not fit int64"):
        jit(lambda n: n + 1)(2**63)


def test_arithmetic_of_numpy_s_integers_is_numpy_s() -> None:
    n = np.int64(MOST)
    with np.errstate(all="ignore"):
        assert jit(lambda n: n + 1)(n) == n + np.int64(1)
        assert jit(lambda n: 1 // n)(np.int64(0)) == 0
        assert jit(lambda n: n + n)(np.array([MOST]))[0] == -2
    assert jit(lambda x: 1 / x)(0.0) == np.inf  # floats follow NumPy, Python's as well


def test_checks_in_loops_and_branches() -> None:
    factorial = jit(lambda n: fori_loop(1, n + 1, lambda i, p: p * i, 1))
    assert factorial(20) == 2432902008176640000
    with pytest.raises(OverflowError):
        factorial(21)
    counted = jit(lambda n: while_loop(lambda k: k < n, lambda k: k + 7 // n, 0))
    assert counted(5) == 5
    assert counted(0) == 0  # the body does not run
    ratio = jit(lambda n: cond(n == 0, lambda: 0, lambda: 10 // n))
    assert (ratio(0), ratio(5)) == (0, 2)
    squares = jit(lambda n, x: scan(lambda c, x: (c * c, x), n, x)[0])
    assert squares(2, np.ones(5)) == 2**32
    with pytest.raises(OverflowError):
        squares(2, np.ones(6))


def test_checks_among_other_elements() -> None:
    """Checks apply only to the elements that exist."""
    f = jit(lambda n, x: np.concatenate([x, np.stack([10 // n, 10 % n, n * n]), x]))
    np.testing.assert_array_equal(f(4, X), [1, 2, 3, 2, 2, 16, 1, 2, 3])
    g = jit(lambda n: np.pad(np.stack([10 // n, 2**n]), 2))
    np.testing.assert_array_equal(g(4), [0, 0, 2, 16, 0, 0])
    with pytest.raises(ZeroDivisionError):
        f(0, X)
    h = vmap(lambda x, n: x * (n // 2) + 1 // n, in_axes=(0, None))
    np.testing.assert_array_equal(h(X, 5), [2, 4, 6])
    np.testing.assert_allclose(jit(grad(lambda x, n: np.sum(x**n) / (n * 2)))(X, 3), X**2 / 2)


def test_checks_in_branches_that_elements_of_a_batch_do_not_take() -> None:
    f = jit(lambda taken, n: vmap(lambda c: cond(c, lambda: n * n, lambda: n))(taken))
    np.testing.assert_array_equal(f(np.array([False, False]), 2**40), [2**40, 2**40])
    with pytest.raises(OverflowError):
        f(np.array([False, True]), 2**40)


def test_what_nothing_reads_is_checked() -> None:
    f = jit(lambda n: (1 // n, 5)[1])
    assert f(1) == 5
    with pytest.raises(ZeroDivisionError):
        f(0)


def test_indices_are_not_checked() -> None:
    """Indices with known bounds are not checked."""
    text = autojit.trace(
        lambda x: fori_loop(1, 5, lambda i, s: s + x[(2 * i - 1) % 5] * (i // 2) + i**3, 0.0)
    )(np.ones(5)).text()
    assert "ensure" not in text
    until = autojit.trace(lambda x, n: fori_loop(1, n, lambda i, s: s + x[i - 1], 0.0))
    assert "ensure" not in until(X, 3).text()


def test_the_text_reads_back() -> None:
    program = autojit.trace(lambda n: 3 * n // n)(4)
    assert "ensure" in program.text()
    assert autojit.parse(program.text()) == program


def test_cuda_checks() -> None:
    text = jit(lambda n: n + n, device="cuda").lower(3).text("cuda")
    assert "status[" in text
