"""Slices with traced bounds: NumPy's results, its errors, and derivatives without the rest."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import errors, fori_loop, grad, jit, jvp, vmap, while_loop

from .bounded_programs import PROGRAMS, in_python

N = 6
X = np.random.default_rng(1).normal(size=N) + 0.1
Y = np.random.default_rng(2).normal(size=N)
M = np.random.default_rng(3).normal(size=(N, N))


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_programs_agree_with_python(program: Callable[..., Any], args: tuple[Any, ...]) -> None:
    def total(loop: Any) -> Any:
        return lambda *args: np.sum(np.sin(program(loop, *args)))

    found = jit(lambda *args: program(fori_loop, *args))(*args)
    np.testing.assert_allclose(found, program(in_python, *args), rtol=1e-10, atol=1e-12)
    every = tuple(range(len(args)))
    slopes = jit(grad(total(fori_loop), argnums=every))(*args)
    wanted = jit(grad(total(in_python), argnums=every))(*args)
    for a, b in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())
    autojit.testing.check_grads(jit(total(fori_loop)), args, order=1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("program", "args"), PROGRAMS[::3], ids=lambda x: getattr(x, "__name__", "")
)
def test_second_derivatives(program: Callable[..., Any], args: tuple[Any, ...]) -> None:
    def total(loop: Any) -> Any:
        return lambda *args: np.sum(np.sin(program(loop, *args)))

    def curvature(loop: Any) -> Any:
        slope = grad(total(loop))
        return jit(lambda x, *rest: jvp(lambda x: slope(x, *rest), (x,), (np.cos(x),))[1])(*args)

    wanted = curvature(in_python)
    np.testing.assert_allclose(
        curvature(fori_loop), wanted, rtol=1e-7, atol=1e-8 * np.abs(wanted).max()
    )


# -- random programs -------------------------------------------------------------------------

_BOUNDS = ("", "i", "i + 1", "i - 1", "-i", "N - i", "2 * i", "i // 2", "j", "j + 1", "2", "-1")


def _slice(r: random.Random) -> str:
    return f"{r.choice(_BOUNDS)}:{r.choice(_BOUNDS)}{r.choice(('', '', '', ':-1', ':2', ':-2'))}"


def _vector(r: random.Random) -> str:
    one, two = _slice(r), _slice(r)
    return r.choice(
        (
            f"x[{one}]", f"M[i - 1, {one}]", f"M[{one}, j - 1]", f"x[{one}][{two}]",
            f"(x[{one}] * 2 + s)", f"(x[{one}] / y[{one}])", f"(x[{one}] - M[-1, {two}])",
            f"np.sqrt(np.abs(x[{one}]))", f"np.where(x[{one}] > 0, s, y[{one}])",
            f"np.cumsum(x[{one}])", f"(y[{one}] ** 2)[{two}]", f"(s / (x[0] + x[{one}]))[::-1]",
        )
    )  # fmt: skip


def _number(r: random.Random) -> str:
    v, one = _vector(r), _slice(r)
    names = ("sum", "prod", "max", "min", "mean", "var", "std", "any", "ptp", "argmax", "argmin")
    return r.choice(
        (
            f"np.{r.choice(names)}({v}) * 1.0", f"np.{r.choice(names)}({v}) * 1.0",
            f"np.linalg.norm({v})", f"np.dot(x[{one}], y[{one}])", f"({v} @ {_vector(r)})",
            f"({v})[{r.choice(('0', '-1', 'i', '1', 'j'))}]", f"np.sum({v}) / ({v}).shape[0]",
            f"np.sum(M[{one}, {_slice(r)}] @ M[{_slice(r)}, 0])",
            f"np.sum(np.outer({v}, x[{one}]))",
        )
    )  # fmt: skip


def _statement(r: random.Random) -> str:
    one, two = _slice(r), _slice(r)
    return r.choice(
        (
            f"s = s + {_number(r)}", f"x[{one}] = s", f"x[{one}] += y[{one}]",
            f"M[{one}, i - 1] *= s", f"M[{one}, {two}] += 2", f"x[{two}] = {_vector(r)}",
            f"v = x[{one}]; v += 1; v[-1] = s", f"M[{one}, {one}] -= np.outer(x[{one}], y[{one}])",
            f"v = x[{one}] * 2; v[{two}] = 3; s = s + np.sum(v)",
        )
    )  # fmt: skip


def _program(seed: int) -> tuple[str, Callable[..., Any]]:
    """A random function of arrays and two indices; it returns all that it may change."""
    r = random.Random(seed)
    lines = [_statement(r) for _ in range(r.randint(0, 2))] + [f"s = s + {_number(r)}"]
    text = "\n    ".join(["x, M = np.copy(x), np.copy(M)", *lines, "return s, x, M"])
    names: dict[str, Any] = {"np": np, "N": N}
    exec(f"def f(x, y, M, i, j, s):\n    {text}\n", names)
    return text, names["f"]


def _outcome(f: Callable[..., Any], *args: Any) -> Any:
    """Return a function's result, or the error that it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means of nothing
        try:
            return f(*args)
        except errors.TracingError:
            raise
        except (ValueError, IndexError) as error:
            return error


#: What is refused as the code runs where NumPy stretches a single element or cuts a slice short.
_STRICT = ("differ in length", "not shortened")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("seed", range(24))
def test_random_programs_agree_with_numpy(seed: int) -> None:
    text, f = _program(seed)
    compiled = jit(f)
    for i in range(N + 1):
        for j in (0, 3, N):
            wanted = _outcome(f, X, Y, M, i, j, 0.7)
            found = _outcome(compiled, X, Y, M, i, j, 0.7)
            where = f"i={i}, j={j}:\n{text}\n{wanted}\n{found}"
            if isinstance(wanted, Exception):
                assert isinstance(found, Exception), where
            elif isinstance(found, Exception):
                assert any(words in str(found) for words in _STRICT), where
            else:
                for a, b in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=where)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(100, 107))
def test_random_derivatives_agree_with_known_bounds(seed: int) -> None:
    text, f = _program(seed)
    x, y = np.copy(X), np.copy(Y)
    x[0], x[-1], x[2], y[1], y[-2] = 0, np.nan, np.inf, 0, np.inf

    def slopes(x: Any, y: Any, M: Any, i: Any, j: Any, s: Any) -> Any:
        return grad(lambda *free: f(*free[:3], i, j, free[3])[0], argnums=(0, 1, 2, 3))(x, y, M, s)

    compiled, known = jit(slopes), jit(slopes, static_argnums=(3, 4))
    for i in range(0, N + 1, 2):
        args = (x, y, M, i, (0, 3, N)[i % 3], 0.7)
        wanted, found = _outcome(known, *args), _outcome(compiled, *args)
        if isinstance(wanted, Exception) or isinstance(found, Exception):
            continue  # compared above
        for a, b in zip(found, wanted, strict=True):
            spread = np.isnan(b)  # NaN that the rest of an array has no part in
            np.testing.assert_allclose(
                np.where(spread, 0, a), np.where(spread, 0, b), rtol=1e-7, atol=1e-9, err_msg=text
            )


# -- one by one --------------------------------------------------------------------------------


def test_what_is_beyond_the_length_has_no_part_in_derivatives() -> None:
    x = np.array([1.0, 4.0, 0.0, -1.0, np.nan, np.inf])

    def f(x: Any, s: Any, i: Any) -> Any:
        return np.sum(np.sqrt(x[:i]) * np.log(x[:i]) / s + 1 / x[:i] ** s) + np.prod(x[:i])

    found = jit(grad(f, argnums=(0, 1)))(x, 2.0, 2)
    wanted = jit(grad(f, argnums=(0, 1)), static_argnums=2)(x, 2.0, 2)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b)
    assert np.all(found[0][2:] == 0)


def test_equal_infinite_extremes_share_the_derivative() -> None:
    x = np.array([-np.inf, -np.inf, 1.0, 2.0])
    found = jit(grad(lambda x, i: np.max(x[:i])))(x, 2)
    np.testing.assert_array_equal(found, [0.5, 0.5, 0, 0])


def test_views_write_into_their_arrays() -> None:
    def f(i: Any, x: Any) -> Any:
        y = np.zeros(6)
        part, rest = y[:i], y[i:]
        part[0] = x[2]
        part += x[:i]
        np.add(rest, 1.0, out=rest)
        window = y[i - 1 : i + 1]
        window *= 2
        return y, part[-1], np.sum(rest)

    for i in range(1, 6):
        for found, wanted in zip(jit(f)(i, X), f(i, X), strict=True):
            np.testing.assert_allclose(found, wanted)


def test_a_loop_of_traced_length() -> None:
    def f(x: Any, n: Any) -> Any:
        def step(state: Any) -> Any:
            k, total = state
            return k + 1, total + np.sum(x[:k]) * x[k - 1]

        return while_loop(lambda state: state[0] <= n, step, (1, 0.0))[1]

    def in_numpy(n: int) -> Any:
        return sum(np.sum(X[:k]) * X[k - 1] for k in range(1, n + 1))

    assert [float(jit(f)(X, n)) for n in range(5)] == pytest.approx([in_numpy(n) for n in range(5)])
    np.testing.assert_allclose(
        jit(grad(f))(X, 4), grad(lambda x: sum(np.sum(x[:k]) * x[k - 1] for k in range(1, 5)))(X)
    )


def test_lengths_under_vmap() -> None:
    found = jit(lambda x, i: vmap(lambda i: np.sum(x[:i]) + np.max(x[i:]))(i))(X, np.arange(6))
    np.testing.assert_allclose(found, [np.sum(X[:i]) + np.max(X[i:]) for i in range(6)])


def test_dtypes_are_numpys() -> None:
    x = X.astype(np.float32)
    for f in (
        lambda x, i, s: x[:i] * s, lambda x, i, s: x[:i] * 2, lambda x, i, s: x[:i] > s,
        lambda x, i, s: x[:i].astype(int) // 2, lambda x, i, s: -x[:i] ** 2,
    ):  # fmt: skip
        found = jit(lambda x, i, s, f=f: np.sum(f(x, i, s)))(x, 4, 0.5)
        assert found.dtype == np.sum(f(x, 4, 0.5)).dtype
        np.testing.assert_allclose(found, np.sum(f(x, 4, 0.5)), rtol=1e-6)


RAISES = [
    (lambda x, i: np.sum(x[i : i + 3]), 5, IndexError, "not shortened"),
    (lambda x, i: np.sum(x[i - 1 : i + 2]), 0, IndexError, "not shortened"),
    (lambda x, i: x[:i][2], 2, IndexError, "out of range of a slice"),
    (lambda x, i: np.sum(x[:i] + x[1:]), 2, ValueError, "could not be broadcast together"),
    (lambda x, i: np.sum(x[:i] + np.ones(3)), 2, ValueError, "could not be broadcast together"),
    (lambda x, i: x[:i] @ x, 2, ValueError, "could not be broadcast together"),
    (lambda x, i: np.max(x[:i]), 0, ValueError, "zero-size array to reduction operation maximum"),
    (lambda x, i: np.min(x[:i]), 0, ValueError, "zero-size array to reduction operation minimum"),
    (lambda x, i: np.argmax(x[:i]), 0, ValueError, "attempt to get argmax or argmin of an empty"),
]


@pytest.mark.parametrize(("f", "i", "error", "words"), RAISES)
def test_errors_as_the_code_runs(
    f: Callable[..., Any], i: int, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        jit(f)(X, i)
    with autojit.disable_jit(), pytest.raises(error, match=words):
        jit(f)(X, i)


def _changed(x: Any, i: Any) -> Any:
    x[:i] += 1
    return x


def _kept_by_a_branch(x: Any, n: Any) -> Any:
    y = x[: n + 1]
    if x[0] > 0:
        y = x[n::-1]
    return y[0] * 2 + y[1]


def _kept_by_a_loop(x: Any, n: Any) -> Any:
    y = x[n::-1]
    for _ in range(n):
        y = y * 2
    return y[0] * 2 + y[1]


def _summed(x: Any, n: Any) -> Any:
    return sum(np.sum(part) for part in [x[:n], x[n:], x[x > 0]])


@pytest.mark.parametrize("f", [_kept_by_a_branch, _kept_by_a_loop, _summed])
def test_blocks_keep_parts_that_are_read_backwards(f: Callable[..., Any]) -> None:
    x = np.array([1.0, -2.0, 3.0, 4.0, -5.0])
    for each in (x, -x):
        assert jit(f)(each, 3) == f(each, 3)
        step = np.array([0.0, 0.0, 0.0, 1e-6, 0.0])
        slope = (f(each + step, 3) - f(each - step, 3)) / 2e-6
        np.testing.assert_allclose(jit(grad(f))(each, 3)[3], slope, rtol=1e-6)


REFUSED = [
    (lambda x, i: np.sort(x[:i]), "np.sort is not covered .* slice with traced bounds"),
    (lambda x, i: np.concatenate([x[:i], x]), "np.concatenate is not covered"),
    (lambda x, i: np.stack([x[:i], x[:i]]), "np.stack is not covered"),
    (lambda x, i: np.array([x[:i], x[:i]]), "np.stack is not covered"),
    (lambda x, i: np.reshape(x[:i], (2, -1)), "np.reshape to other shapes"),
    (lambda x, i: np.linalg.solve(M[:i, :i], x[:i]), "np.linalg.solve is not covered"),
    (lambda x, i: np.einsum("i,i", x[:i], x[:i]), "einsum is not covered"),
    (lambda x, i: range(x[:i].__len__()), r"len\(x\), which must be a known integer"),
    (lambda x, i: tuple(x[:i]), "Iteration is not covered"),
    (lambda x, i: 1 if x[:i] else 2, "This use"),
    (eval("lambda x, i: 1 if x[:i] else 2"), r"bool\(x\)"),
    (lambda x, i: x[:i][np.array([0, 1])], "An index array or a mask"),
    (lambda x, i: x[::i], "The step of a slice must be known"),
    (lambda x, i: np.sum(x[:i], where=x > 0), "out=, where="),
    (lambda x, i: np.zeros(i), "np.zeros.100..:n."),
    (_changed, "argument 0 is changed in place"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "words"), REFUSED)
def test_what_is_refused_as_it_is_traced(f: Callable[..., Any], words: str) -> None:
    with pytest.raises(errors.AutojitError, match=words) as found:
        jit(f)(X, 3)
    assert isinstance(found.value, errors.TracingError)


def test_the_rewrite_of_the_message_works() -> None:
    def f(x: Any, i: Any) -> Any:
        return np.sort(np.where(np.arange(len(x)) < i, x, 0))

    np.testing.assert_allclose(jit(f)(X, 3), f(X, 3))


NEW = np.newaxis
WITH_NEW_AXES = {
    "last": lambda x, i, j: x[:, i : i + 2, j : j + 3, NEW],
    "first": lambda x, i, j: x[NEW, :, i : i + 2, j : j + 3],
    "between": lambda x, i, j: x[i : i + 2, NEW, j : j + 3, 1],
    "several": lambda x, i, j: x[NEW, i : i + 2, NEW, 2, j : j + 3, NEW],
    "beside an integer": lambda x, i, j: x[i, NEW, j : j + 3],
    "beside a step": lambda x, i, j: x[::2, NEW, i : i + 3 : 2, j : j + 2],
    "beside a traced length": lambda x, i, j: x[: i + 1, NEW, j : j + 2],
}


@pytest.mark.parametrize("name", WITH_NEW_AXES)
def test_new_axes_beside_traced_slices(name):
    picked = WITH_NEW_AXES[name]

    def total(x, i, j):
        part = picked(x, i, j)
        weights = np.arange(1.0, 1.0 + part.size).reshape(part.shape) if whole else 1.0
        return np.sum(weights * part * part)

    whole = "length" not in name
    x = np.random.default_rng(0).standard_normal((4, 5, 6))
    for i, j in ((0, 0), (1, 2), (2, 2)):
        np.testing.assert_allclose(jit(total)(x, i, j), total(x, i, j))
        if whole:
            assert jit(picked)(x, i, j).shape == picked(x, i, j).shape
        check = np.zeros_like(x)
        part = picked(check, i, j)
        weights = np.arange(1.0, 1.0 + part.size).reshape(part.shape) if whole else 1.0
        part[...] = 2 * weights * picked(x, i, j)
        np.testing.assert_allclose(jit(grad(total))(x, i, j), check)


@pytest.mark.parametrize("name", ["last", "first", "between", "several", "beside a step"])
def test_assignment_with_new_axes_beside_traced_slices(name):
    picked = WITH_NEW_AXES[name]

    def assigned(x, i, j, by_view):
        x = x.copy()
        part = picked(x, i, j)
        if by_view:
            part *= 3.0
            part[...] += np.arange(1.0, 1.0 + part.size).reshape(part.shape)
        return x

    x = np.random.default_rng(0).standard_normal((4, 5, 6))
    for i, j in ((0, 0), (1, 2)):
        found = jit(assigned, static_argnums=3)(x, i, j, True)
        np.testing.assert_allclose(found, assigned(x, i, j, True))


def test_a_loop_over_windows_copies_only_the_windows():
    def windows(x, w):
        out = np.zeros((12, 12))
        for i in range(12):
            for j in range(12):
                out[i, j] = np.sum(x[i : i + 2, j : j + 2, NEW] * w)
        return out

    x, w = np.ones((13, 13)), np.ones((2, 2, 3))
    assert "f64[13,13,1]" not in str(autojit.trace(windows)(x, w))
    np.testing.assert_allclose(jit(windows)(x, w), windows(x, w))
