"""Covered functions of NumPy beside NumPy itself, on odd arguments.

The interpreter is asked, which is the reference for compiled code.  Where NumPy has a result, there
is the same one (dtype, shape and value) or a refusal of ours.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import errors, grad, jit
from autojit.protocols import registry
from autojit.tracing.hooks import hooks

hooks.load()

# -- by signature ---------------------------------------------------------------

#: Values of arguments, by their names.
GIVEN: dict[str, list[Any]] = {
    "axis": [None, 0, -1, 1, (0, 1), (), 2], "keepdims": [True], "dtype": ["f4", "i4", "c16"],
    "initial": [2, 2.5], "decimals": [-2, 0, 3], "k": [-1, 1], "n": [0, 1, 5], "ddof": [1, 2],
    "offset": [-1, 1], "axis1": [-1], "axis2": [0], "order": ["F"], "repeats": [0, 2],
    "reps": [2, (2, 1), 0], "shift": [1, (1, 2)], "q": [0.3, [0.1, 0.9], 1], "mode": ["same"],
    "side": ["right"], "indices": [0, [0, 1], -1], "include_initial": [True], "correction": [1],
    "returned": [True], "ord": [0, 1, 2, -1, 0.5, 3, np.inf, "fro"], "prepend": [0],
    "rowvar": [False], "bias": [True], "deg": [True], "increasing": [True], "N": [0, 2],
    "source": [0, [0, 1]], "destination": [-1, [1, 0]], "start": [0, 1], "pad_width": [1, (0, 2)],
    "indices_or_sections": [1, 2, [1, 2], (0, 5)], "axes": [0, (1, 0)],
}  # fmt: skip
#: What takes lists of arrays, or writes, or has contents that are not defined, or complex results
#: where NumPy's are real if their values are (`roots`).
LEFT_OUT = {
    np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block, np.select,
    np.einsum, np.linalg.multi_dot, np.copyto, np.put, np.putmask, np.place, np.fill_diagonal,
    np.put_along_axis, np.bincount, np.empty_like, np.linalg.pinv, np.linalg.tensorsolve,
    np.result_type, np.cov, np.corrcoef, np.common_type, np.min_scalar_type, np.polydiv,
    np.histogramdd, np.roots,
}  # fmt: skip
COVERED = [f for f in registry.FUNCTIONS if f not in LEFT_OUT and hasattr(f, "__wrapped__")]
SHAPES = [(), (3,), (2, 3), (0,), (0, 3)]


def drawn(shape: tuple[int, ...], kind: str) -> Any:
    values = np.random.default_rng(len(shape)).permutation(np.prod(shape, dtype=int)) - 1
    return values.reshape(shape).astype(kind)[()]


def calls(function: Any) -> Iterator[tuple[Callable[..., Any], int, str]]:
    """Calls with one argument beside the arrays, or an axis and one more; how many arrays."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "out"]
    required = [p.name for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    optional = [p.name for p in parameters if p.default is not p.empty]
    arrays = [name for name in required if name not in GIVEN]
    keywords: list[dict[str, Any]] = [{}, *({n: v} for n in optional for v in GIVEN.get(n, []))]
    if "axis" in optional:
        others = [n for n in optional if n in GIVEN and n != "axis"]
        keywords += [{"axis": -1, n: GIVEN[n][0]} for n in others]
    choices = [dict(zip(required, (), strict=False))]
    for name in required:
        if name in GIVEN:
            choices = [{**fixed, name: value} for fixed in choices for value in GIVEN[name]]
    for fixed in choices:
        for given in keywords:

            def call(*operands: Any, fixed: Any = fixed, given: Any = given) -> Any:
                left = iter(operands)
                return function(*(fixed[n] if n in fixed else next(left) for n in required),
                                **given)  # fmt: skip

            yield call, len(arrays), f"{fixed or ''}{given or ''}"


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            return call(*arguments)
    except Exception as error:
        return error


def interpreted(call: Callable[..., Any], *arguments: Any) -> Any:
    return autojit.trace(call)(*arguments)(*arguments)


#: The errors with which autojit refuses a call.
REFUSALS = (errors.UncoveredFunctionError, errors.DtypeError, errors.ConcreteValueError)


def fault(call: Callable[..., Any], arrays: list[Any]) -> str:
    """Return how the result differs from NumPy's; empty if it agrees or NumPy has none."""
    want, got = outcome(call, *arrays), outcome(interpreted, call, *arrays)
    if isinstance(want, Exception) or isinstance(got, REFUSALS) or not parts(want):
        return ""
    wrong = isinstance(got, Exception) or differs(got, want)
    return f"{got!r}, not {want!r}" if wrong else ""


def parts(result: Any) -> list[Any]:
    found = list(result) if isinstance(result, (tuple, list)) else [result]
    return [np.asarray(part) for part in found]


def differs(got: Any, want: Any) -> bool:
    if len(parts(got)) != len(parts(want)):
        return True
    for g, w in zip(parts(got), parts(want), strict=True):
        if (g.dtype, g.shape) != (w.dtype, w.shape):
            return True
        if not np.allclose(g, w, rtol=1e-6, atol=1e-6, equal_nan=True):
            return True
    return False


@pytest.mark.sampled(96)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", COVERED, ids=registry._name_of)
def test_same_as_numpy(function: Any) -> None:
    for call, count, words in calls(function):
        for shape in SHAPES:
            for kind in ("f8", "i8", "?"):
                found = fault(call, [drawn(shape, kind) for _ in range(count)])
                assert not found, f"{registry._name_of(function)}({words}) of {kind}{shape}"


# -- by name ----------------------------------------------------------------------

X = np.arange(6.0).reshape(2, 3)
WHOLE = np.array([2**60 + 123, 15, -25])
EDGES = np.array([0.0, -0.0, -np.inf, np.inf, np.nan, 2.0])
MASK = np.array([[True, False, True], [False, False, False]])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "round of large integers": (lambda x: np.round(x, -1), (WHOLE,)),
    "round as a method": (lambda x: x.round(-1), (WHOLE,)),
    "round of uint8 to thousands": (lambda x: np.round(x, -3), (WHOLE.astype(np.uint8),)),
    "round past the largest float": (lambda x: np.round(x, -400), (X,)),
    "round to 1e30": (lambda x: np.round(x, -30), (5e40 * X,)),
    "round of infinite complex": (lambda x: np.round(x, 1), (np.array([complex(np.inf, 2.55)]),)),
    "diff of no order with ends": (lambda x: np.diff(x, 0, append=3.0, prepend=[[1]]), (X,)),
    "diff with a column": (lambda x, y: np.diff(x, append=y), (X, np.ones((2, 1)))),
    "take_along_axis of one row": (lambda x, i: np.take_along_axis(x, i, 1), (X, [[2, 0]])),
    "take_along_axis of one column": (lambda x, i: np.take_along_axis(x, i, 0), (X, [[1], [0]])),
    "take_along_axis of more rows": (
        lambda x, i: np.take_along_axis(x[:1], i, 1), (X, [[0, 1], [1, 2]]),
    ),
    "tril of a row": (lambda x: np.tril(x[0]), (X,)),
    "triu of a row": (lambda x: np.triu(x[0], 1), (X,)),
    "sum over axis 0 of a number": (lambda x: np.sum(x[0, 1], axis=0), (X,)),
    "max over axis -1 of a number": (lambda x: np.max(x[0, 1], axis=-1, keepdims=True), (X,)),
    "argmax over axis 0 of a number": (lambda x: np.argmax(x[0, 1], axis=0), (X,)),
    "cumsum over axis 0 of a number": (lambda x: np.cumsum(x[0, 1], axis=0), (X,)),
    "max from a float of integers": (lambda x: np.max(x, initial=2.5), (WHOLE[1:],)),
    "sum from a traced float": (lambda x, y: np.sum(x, initial=y), (X.astype("f4"), 2.5)),
    "max where": (lambda x: np.max(x, 1, where=MASK, initial=-1.0), (X,)),
    "mean where": (lambda x: np.mean(x, 1, where=MASK), (X,)),
    "var where": (lambda x: np.var(x, 1, where=MASK, ddof=1), (X,)),
    "std where, keepdims": (lambda x: np.std(x, where=MASK, keepdims=True), (X,)),
    "var of float64 in float32": (lambda x: np.var(x, dtype=np.float32), (X + 1e5,)),
    "mean in integers": (lambda x: np.mean(x, dtype=int), (X,)),
    "nanvar where": (lambda x: np.nanvar(x, where=MASK), (np.where(X > 3, np.nan, X),)),
    "nanmax of NaN from a number": (lambda x: np.nanmax(x, initial=2), (X * np.nan,)),
    "average with weights returned": (lambda x: np.average(x, 1, [1, 2, 3], True), (X,)),
    "average by weights of axes": (lambda x, w: np.average(x, (1, 0), w), (X, X.T + 1)),
    "average by weights of an axis": (
        lambda x, w: np.average(x, (1,), w, True, keepdims=True), (X, [1, 2, 3])),
    "nan_to_num of complex": (
        lambda x: [np.nan_to_num(x), np.nan_to_num(x, nan=7, posinf=5.0)],
        (np.array([complex(np.inf, np.nan), np.nan, complex(-0.0, -np.inf), 2 - 3j]),)),
    "nan_to_num with arrays": (
        lambda x, y: np.nan_to_num(x, nan=y, neginf=-y),
        (np.array([np.nan, -np.inf, 2.0]), WHOLE[0])),
    "nan_to_num in place": (
        lambda x: (lambda y: [np.nan_to_num(y, copy=False), y])(x / 0.0), (X - 2,)),
    "corrcoef of complex": (lambda x: np.corrcoef(x), (X + 1j * X[::-1] ** 2,)),
    "cov in float32": (lambda x: np.cov(x, dtype=np.float32), (X,)),
    "norm of order 0": (lambda x: np.linalg.norm(x[0], 0), (X * 1j,)),
    "infinite norm of nothing": (lambda x: np.linalg.norm(x[0, :0], np.inf), (X,)),
    "vector_norm over two axes": (lambda x: np.linalg.vector_norm(x, axis=(0, 1), ord=3), (X,)),
    "diagonal of no rows": (lambda x: np.diagonal(x[:0], 1), (X,)),
    "median of no elements": (lambda x: np.median(x[:0], axis=0), (X,)),
    "percentile of no rows": (lambda x: np.percentile(x[:0], 30, axis=1), (X,)),
    "quantile of integers by an integer": (lambda x: np.quantile(x, 1), (WHOLE,)),
    "vdot of truth values": (lambda x: np.vdot(x, x), (MASK,)),
    "correlate of truth values": (lambda x: np.correlate(x, x), (MASK[0],)),
    "linspace of integers": (lambda x: np.linspace(x, 2, 5, dtype=int), (-1.5,)),
    "roots as powers of an array": (lambda x: [x**0.5, np.power(x, 0.5)], (EDGES,)),
    "running hypot of integers": (np.hypot.accumulate, (np.array([1, 2, 3]),)),
    "logaddexp.reduce of a number": (np.logaddexp.reduce, (2.0,)),
    "array_split by an array": (lambda x: np.array_split(x, np.array(2), 1), (X,)),
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_as_numpy_has_it(name: str) -> None:
    function, given = CASES[name]
    arguments = [np.array(x) if isinstance(x, list) else x for x in given]
    want = function(*arguments)
    found = [autojit.trace(function)(*arguments)(*arguments), jit(function)(*arguments)]
    for got in found:
        assert not differs(got, want), (got, want)


def test_put_along_axis_broadcasts() -> None:
    def put(x: Any, values: Any) -> Any:
        y = np.copy(x)
        np.put_along_axis(y, np.array([[2, 0]]), values, 1)
        return y

    np.testing.assert_array_equal(jit(put)(X, -X[:, :2]), put(X, -X[:, :2]))


@pytest.mark.sampled(8)
@pytest.mark.filterwarnings("ignore")  # negative orders divide by 0, in NumPy too
@pytest.mark.parametrize("ord", [None, 0.5, 1, 1.5, 2, 3, 4.0, np.inf, -1, -0.5, -2, -np.inf])
@pytest.mark.parametrize("x", [[0.0, 0.0, 0.0], [0.0, 2.0, -1.0], [3.0, 2.0, -1.0]])
def test_norms_have_finite_derivatives(x: list[float], ord: Any) -> None:
    x_ = np.array(x)

    def norm(x: Any) -> Any:
        return np.linalg.norm(x, ord)

    for f in (grad(norm), jit(grad(norm))):
        found = f(x_)
        assert np.isfinite(found).all()
        # Where an element is not 0, it is the derivative, unless the norm is 0.
        if norm(x_):
            h = 1e-6
            up, down = ([norm(x_ + s * h * d) for d in np.eye(3)] for s in (1, -1))
            wanted = np.where(x_ == 0, 0, (np.array(up) - np.array(down)) / (2 * h))
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    rows = np.array([x, [1.0, 2.0, 3.0]])
    each = grad(lambda a: np.sum(np.linalg.norm(a, ord, axis=1, keepdims=True)))(rows)
    np.testing.assert_allclose(each[0], grad(norm)(x_))


@pytest.mark.parametrize("ord", [None, "fro", 1, -1, 2, -2, np.inf, -np.inf, "nuc"])
def test_norms_of_matrices_have_finite_derivatives_at_0(ord: Any) -> None:
    assert np.isfinite(grad(lambda x: np.linalg.norm(x, ord))(np.zeros((2, 2)))).all()


# -- what must be known -------------------------------------------------------------

KNOWN: dict[str, Callable[[Any, Any], Any]] = {
    "np.array_split: the shape of the result depends on indices_or_sections": np.array_split,
    "np.hsplit: the shape of the result depends on indices_or_sections": np.hsplit,
    "np.split: the shape of the result depends on indices_or_sections": (
        lambda x, n: np.split(x, [n, n + 1])
    ),
    "np.delete: the shape of the result depends on obj": lambda x, n: np.delete(x, [n, 0]),
    "np.insert: the shape of the result depends on obj": (lambda x, n: np.insert(x, [n, 0], 1.0)),
    "np.repeat: the shape of the result depends on repeats": np.repeat,
    "np.tile: the shape of the result depends on reps": np.tile,
    "np.pad: the shape of the result depends on pad_width": np.pad,
    "np.reshape: the shape of the result depends on shape": lambda x, n: x.reshape(n, -1),
    "np.broadcast_to: the shape of the result depends on shape": (
        lambda x, n: np.broadcast_to(x, (n, 4))
    ),
    "np.linspace: the shape of the result depends on num": lambda x, n: np.linspace(x, 1.0, n),
    "np.zeros: the shape of the result depends on shape": lambda x, n: np.zeros(n) + x[0],
    "np.empty: the shape of the result depends on shape": lambda x, n: np.empty((2, n)),
    "np.full: the shape of the result depends on shape": lambda x, n: np.full(n, x[0]),
    "np.arange: the shape of the result depends on start": lambda x, n: np.arange(n),
    "np.eye: the shape of the result depends on M": lambda x, n: np.eye(2, n),
    "np.zeros_like: the shape of the result depends on shape": (
        lambda x, n: np.zeros_like(x, shape=n)
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", KNOWN)
def test_a_traced_number_where_a_shape_is_decided(words: str) -> None:
    f = KNOWN[words]
    with pytest.raises(errors.ConcreteValueError) as caught:
        jit(f)(np.arange(4.0), 2)
    assert words in str(caught.value)
    assert "jit(f, static_argnums=1)" in str(caught.value)
    jit(f, static_argnums=1)(np.arange(4.0), 2)  # as the message says


@pytest.mark.parametrize("sections", [0, -1])
@pytest.mark.parametrize("split", [np.split, np.array_split, np.hsplit])
def test_a_wrong_number_of_sections(split: Any, sections: int) -> None:
    with pytest.raises(errors.ShapeError, match="sections must be larger than 0"):
        jit(lambda x: split(x, sections))(np.arange(4.0))


def test_splits_of_too_few_axes() -> None:
    for split, axes in ((np.vsplit, 2), (np.dsplit, 3), (np.hsplit, 1)):
        with pytest.raises(errors.ShapeError, match=f"at least {axes} axes"):
            jit(lambda x, split=split: split(x[0], 1))(np.arange(4.0))


def test_an_axis_that_is_no_integer() -> None:
    with pytest.raises(
        errors.ShapeError, match=r"np.diff: an axis must be an integer, not \(0, 1\)"
    ):
        jit(lambda x: np.diff(x, axis=(0, 1)))(X)


def test_averages_that_there_are_not() -> None:
    def average(x: Any, w: Any, axis: Any = None) -> Any:
        return np.average(x, axis, w)

    for f in (average, jit(average)):
        with pytest.raises(ZeroDivisionError, match="Weights sum to zero, can't be normalized"):
            f(X, X * 0)
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero, can't be normalized"):
        jit(lambda x: np.average(x, 1, [1, -1, 0]))(X)
    with pytest.raises(TypeError, match="give the axis"):
        jit(average)(X, X[0])
    with pytest.raises(
        errors.ShapeError, match=r"shape \(2,\) do not fit shape \(2, 3\) along axis 1"
    ):
        jit(lambda x, w: average(x, w, 1))(X, X[:, 0])


def test_extremes_where_need_a_first_value() -> None:
    with pytest.raises(errors.ShapeError, match=r"np.max\(x, where=mask, initial=-np.inf\)"):
        jit(lambda x: np.max(x, where=MASK))(X)
    with pytest.raises(errors.ShapeError, match="initial= is a single number"):
        jit(lambda x: np.max(x, initial=np.ones(3)))(X)


@pytest.mark.parametrize(("ord", "axes"), [("fro", 1), (3, 2), ("nuc", 1), (1, 3)])
def test_norms_that_there_are_not(ord: Any, axes: int) -> None:
    with pytest.raises(errors.ShapeError, match=f"no norm with ord={ord!r} over {axes} axes"):
        jit(lambda x: np.linalg.norm(x, ord))(np.ones((2,) * axes))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", "?bhldf")
def test_dtypes_of_angles_and_of_quantiles_of_nothing(kind: str) -> None:
    one, nothing = np.ones((), kind), np.ones(0, kind)
    assert autojit.jit(np.angle)(one).dtype == np.angle(one).dtype
    quantile = autojit.jit(lambda a: np.nanquantile(a, 1))(nothing)
    assert quantile.dtype == np.nanquantile(nothing, 1).dtype
