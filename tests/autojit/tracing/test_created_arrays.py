"""Arrays that a traced function makes: concrete until a traced value is assigned into them."""

from __future__ import annotations

import copy
import math
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit, vmap
from autojit.errors import ConcreteValueError, InPlaceError, LeakedTracerError, ShapeError
from autojit.interception import patches
from autojit.testing import check_grads
from autojit.tracing.created_arrays import FreshArray, TracedArray
from tests.autojit.functions.test_assignment import same

X = np.array([1.0, -2.0, 3.0])
#: As C code calls them, so that they are not followed while a function is traced.
plain_asarray, plain_zeros = np.asarray.__call__, np.zeros.__call__


# -- arrays that are filled ---------------------------------------------------


def pendulum(state: Any, length: Any) -> Any:
    """A right-hand side as one writes it in NumPy."""
    rate = np.empty(2)
    rate[0] = state[1]
    rate[1] = -9.81 / length * np.sin(state[0])
    return rate


def rotation(angle: Any) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def tridiagonal(x: Any) -> Any:
    a = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        a[i, i] = 2 * x[i]
        if i:
            a[i, i - 1] = a[i - 1, i] = -x[i] * x[i - 1]
    return a


def cumulative(x: Any) -> Any:
    out = np.zeros_like(x)
    total = np.zeros(())
    for i in np.arange(len(x)):
        total += x[i] ** 2
        out[i] = total
    return out


def halves(x: Any) -> Any:
    out = np.ones((2, 3), dtype=np.float32) * 0.5
    top, bottom = out
    top[:] = x
    bottom += x[::-1]
    return out, out.T, bottom


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "pendulum": (pendulum, (np.array([0.3, 0.1]), 1.5)),
    "rotation": (rotation, (0.7,)),
    "tridiagonal": (tridiagonal, (X,)),
    "cumulative": (cumulative, (X,)),
    "halves": (lambda x: halves(x)[0] * 1.0, (X.astype(np.float32),)),
    "full": (lambda x: np.full((2, np.int64(2)), x[0] * x[1]) + np.full((), x[2]), (X,)),
    "scaled": (lambda x: np.eye(3) * x + np.arange(3.0), (X,)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_as_one_writes_them(name: str) -> None:
    f, arguments = FUNCTIONS[name]
    same(f, *arguments)
    if np.asarray(arguments[0]).dtype == float:
        check_grads(lambda *a: np.sum(f(*a) ** 2), arguments, order=2)
    batch = [np.stack([a, np.multiply(a, 2), np.multiply(a, 0.5)]) for a in arguments]
    each = [f(*a) for a in zip(*batch, strict=True)]
    np.testing.assert_allclose(vmap(f)(*batch), each, rtol=1e-6)


def test_inside_of_nested_transformations() -> None:
    def f(x: Any) -> Any:
        outside = np.zeros(3)

        def g(y: Any) -> Any:
            inside = np.zeros(3)
            inside[0], inside[1] = y, x[1]
            inside += outside
            return np.sum(inside**2)

        outside[2] = x[0]
        return grad(g)(x[0]), jit(g)(2.0), outside

    got = jit(f)(X)
    assert (got[0], got[1]) == (2 * X[0], 4 + X[1] ** 2 + X[0] ** 2)
    np.testing.assert_array_equal(got[2], [0, 0, X[0]])


# -- arrays of nests of lists -------------------------------------------------


def test_nests_of_lists_have_numpys_dtype() -> None:
    def f(x: Any, k: Any) -> Any:
        single = x.astype(np.float32)
        return (
            np.array([x[0], 1, True]), np.array([k, 2]), np.array([single[0], 1.0]),
            np.array([single, [1, 2, 3]], dtype=np.float32), np.asarray(((x[0],), (k,))),
            np.array([[x, x + 1]], ndmin=4), np.array(x), np.asarray(x, dtype=complex),
            np.asanyarray([x, np.ones(3)]), np.ascontiguousarray(x[0]), np.array(k, dtype=np.int8),
            np.stack([[x[0], 1.0], [k, x[1]]]), np.vstack([[x[0], 1.0], [2.0, k]]),
            np.concatenate([[x[0]], [1.0, 2.0]]), np.hstack(([x[0]], [k])), np.array((x[0], k)),
        )  # fmt: skip

    same(f, X, np.int64(7))
    with pytest.raises(ShapeError, match="their shapes differ"):
        jit(lambda x: np.array([x, x[:2]]))(X)


def test_array_copies_and_asarray_does_not() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        same_one, other, again = np.asarray(y), np.array(y), np.array(y, copy=False)
        y[0] = 5.0
        a = np.zeros(2)
        same_a, other_a = np.asarray(a), np.array(a)
        a[0] = y[0]
        return same_one, other, again, same_a, other_a, np.asarray(a) is a

    same(f, X)


# -- concrete until then ------------------------------------------------------


def test_what_needs_known_values_works() -> None:
    def f(x: Any) -> Any:
        n, table, mask = np.array(3), np.arange(6).reshape(2, 3), np.zeros(3) == 0
        assert [*range(n)] == [0, 1, 2]
        assert (int(n), float(n), bool(mask.all()), f"{n:03d}") == (3, 3.0, True, "003")
        assert table.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert [("a", "b", "c")[i] for i in table[0]] == ["a", "b", "c"]
        assert np.zeros(tuple(table.shape)).shape == (2, 3)
        assert math.fsum(table[1]) == 12
        assert not np.any(np.zeros(3))
        assert repr(np.zeros(2)) == "array([0., 0.])"
        assert 4 in table
        assert isinstance(table, np.ndarray)
        assert type(pickle.loads(pickle.dumps(table))) is np.ndarray
        assert np.linalg.det(np.eye(2)) == 1
        assert sorted(np.array([3, 1, 2])) == [1, 2, 3]
        assert {**{int(k): "x" for k in table.flat}} == dict.fromkeys(range(6), "x")
        noise = np.random.default_rng(0).normal(size=3)
        table.sort(axis=0)
        return x[mask] * table[1][: int(n)] + noise

    want = X * [3, 4, 5] + np.random.default_rng(0).normal(size=3)
    np.testing.assert_array_equal(jit(f)(X), want)


def test_compiled_helpers_see_ordinary_arrays() -> None:
    numba = pytest.importorskip("numba")

    @numba.njit
    def helper(a: Any) -> Any:
        b = np.zeros(3)  # looked up in numpy while it is compiled
        for i in range(3):
            b[i] = 2 * a[i]
        return b

    np.testing.assert_array_equal(jit(lambda x: x * helper(np.arange(3.0)))(X), X * [0, 2, 4])


def test_copies_are_arrays_of_their_own() -> None:
    def f(x: Any) -> Any:
        a = np.arange(3.0)
        others = [
            a.copy(),
            copy.copy(a),
            copy.deepcopy(a),
            a[[0, 1, 2]],
            a + 0,
            np.copy(a),
            np.array(a),
        ]
        a[0] = x[0]
        for other in others:
            other[1] = x[1]
        copied = copy.deepcopy(a)
        copied[2] = 7.0
        return a, copied, *others

    same(f, X)


#: How an array may be seen, before anything traced is in it.
SEEN: dict[str, Callable[[Any], Any]] = {
    "part": lambda a: a[1:, ::2], "row": lambda a: a[1], "T": lambda a: a.T[::-1],
    "reshape": lambda a: a.reshape(2, 6), "flat": lambda a: a.ravel()[1:8:3],
    "flip": lambda a: np.flip(a, 1), "new axes": lambda a: a[None, :, 1:2],
    "diagonal": np.diagonal,
    "swapped": lambda a: np.swapaxes(a[:, 1:], 0, 1), "nothing": lambda a: a[:0],
    "two rows": lambda a: a.reshape(-1)[4:].reshape(2, 4), "element": lambda a: a[1, 2, ...],
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", SEEN)
def test_views_from_before_change_too(name: str, order: str) -> None:
    def f(x: Any, through: int) -> Any:
        a = np.array(np.arange(12.0).reshape(3, 4), order=order)
        seen = SEEN[name](a)
        if through:
            seen[...] = x
        else:
            a[1] = x
        a[2, 2] += 1.0
        return a, seen, seen * 2

    for through in (0, 1) if name != "diagonal" else (0,):
        same(lambda x, t=through: f(x, t), 3.5)


def test_parts_of_complex_arrays() -> None:
    def f(x: Any) -> Any:
        z = np.zeros(3, complex)
        re, im = z.real, z.imag[1:]
        re[0] = x[0]
        im[...] = x[1:]
        z[2] *= 2j
        return z, re, im

    same(f, X)


# -- what is refused ----------------------------------------------------------


def test_plain_views_and_reinterpreted_ones() -> None:
    def plain(x: Any) -> Any:
        a = np.zeros(3)
        seen = plain_asarray(a)
        a[0] = x[0]
        return seen

    def through_a_view(x: Any) -> Any:
        a = np.zeros(3)
        seen = plain_asarray(a[1:])
        a[0] = x[0]
        return seen

    def iterating(x: Any) -> Any:
        a = np.zeros(3)
        for index, _ in np.ndenumerate(a):
            a[index] = x[index]
        return a

    def reinterpreted(x: Any) -> Any:
        a = np.zeros(3)
        bits = a.view(np.int64)
        a[0] = x[0]
        return bits

    def strided(x: Any) -> Any:
        a = np.zeros(3)
        windows = np.lib.stride_tricks.as_strided(a, (2, 2), (8, 8))
        a[0] = x[0]
        return windows

    for f in (plain, through_a_view, iterating, strided):
        with pytest.raises(InPlaceError, match="a view that is a plain array"):
            jit(f)(X)
    with pytest.raises(InPlaceError, match="reads it as another dtype"):
        jit(reinterpreted)(X)


def test_read_only_arrays() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(3)
        wide = np.broadcast_to(a, (2, 3))
        a[0] = x[0]
        return a, wide

    same(f, X)
    for write in (lambda w, v: w.__setitem__(0, v), lambda w, v: np.add(w, v, out=w)):
        with pytest.raises(InPlaceError, match="read-only"):
            jit(lambda x, f=write: f(np.broadcast_to(np.zeros(3), (2, 3)), x))(X)
        with pytest.raises(InPlaceError, match="read-only"):
            jit(lambda x, f=write: f(np.broadcast_to(x, (2, 3)), x))(X)


def test_arrays_of_outer_functions_are_read_at_traced_places() -> None:
    def f(x: Any, places: Any) -> Any:
        table = np.arange(6.0).reshape(3, 2)
        rows = vmap(lambda i: table[i] * 2.0)(places)
        elements = vmap(lambda i: table[i, 1])(places)
        table[0] = x[0]
        return rows, elements, table

    places = np.array([2, 0])
    rows, elements, table = jit(f)(X, places)
    np.testing.assert_array_equal(rows, [[8.0, 10.0], [0.0, 2.0]])
    np.testing.assert_array_equal(elements, [5.0, 1.0])
    np.testing.assert_array_equal(table, [[1.0, 1.0], [2.0, 3.0], [4.0, 5.0]])

    def writes(x: Any, i: Any, change: Any) -> Any:
        table = np.arange(6.0).reshape(3, 2)
        return vmap(lambda i: change(table, table[i]))(np.stack([i, i]))

    for change in (lambda t, row: row.__setitem__(0, 1.0), lambda t, row: t.__setitem__(0, 1.0)):
        with pytest.raises((InPlaceError, ValueError), match="read-only"):
            jit(lambda x, i, c=change: writes(x, i, c))(X, 1)


def test_rows_at_traced_places_are_views() -> None:
    def f(x: Any, i: Any) -> Any:
        table = np.zeros((3, 2))
        row = table[i]
        row[0] = x[0]
        table[i, 1] = x[1]
        return table, row, np.arange(4)[i]

    same(f, X, 2)


@pytest.mark.slow
def test_arrays_of_others() -> None:
    kept: list[Any] = []

    def first(x: Any) -> Any:
        kept.append(np.zeros(3))
        kept.append(np.zeros(3))
        kept[1][0] = x[0]
        return x

    with pytest.raises(LeakedTracerError, match="in a list, in the variable `kept`"):
        jit(first)(X)
    assert isinstance(kept[0], np.ndarray)
    assert type(kept[0] + 1) is np.ndarray
    with pytest.raises(InPlaceError, match="made by another traced function"):
        jit(lambda x: kept[0].__setitem__(0, x[0]))(X)
    with pytest.raises(LeakedTracerError):
        kept[1] + 1
    with pytest.raises(InPlaceError, match="or an outer one"):
        jit(lambda x: (a := np.zeros(1), grad(lambda y: a.__setitem__(0, y) or y)(x[0])))(X)


@pytest.mark.parametrize("index", [0, slice(None), [0, 1, 2]])
def test_arrays_from_outside_raise(index: Any) -> None:
    outside = np.zeros(3)

    def plainly(x: Any) -> None:
        outside[index] = x[0]

    def by_name(x: Any) -> None:
        plain_zeros(3)[index] = x[0]

    def after_it_is_traced(x: Any) -> None:
        a = np.zeros(3)
        a[0] = x[0]
        outside[index] = a[:1] if index else a

    for f in (plainly, by_name, after_it_is_traced):
        with pytest.raises(ConcreteValueError, match=r"y = y0\.copy\(\)"):
            jit(f)(X)
    np.testing.assert_array_equal(outside, np.zeros(3))


def test_c_code_finds_no_stale_numbers() -> None:
    def traced(x: Any) -> Any:
        a = np.zeros(3)
        a[0] = x[0]
        assert isinstance(a, TracedArray)
        return a

    readers: list[Callable[[Any], Any]] = [
        lambda a: plain_asarray(a, float), lambda a: float(plain_asarray(a)), memoryview,
        lambda a: plain_asarray(a) + 1, lambda a: np.sin(plain_asarray(a)), math.fsum,
        lambda a: plain_asarray(a) == 0, lambda a: np.ndarray.tolist(a), pickle.dumps,
        lambda a: np.ndarray.__contains__(a, 1.0),
        lambda a: a.tobytes(), lambda a: plain_asarray(a)[0], lambda a: plain_zeros(3).__iadd__(a),
    ]  # fmt: skip
    for read in readers:
        with pytest.raises((TypeError, AttributeError, IndexError)):
            jit(lambda x, f=read: np.asarray(f(traced(x)))[0])(X)


def test_memory_that_is_still_read_holds_no_stale_numbers() -> None:
    def f(x: Any) -> Any:
        a, k = np.zeros(3), np.zeros(2, np.int8)
        numbers, places = np.nditer(a), np.nditer(k)
        a[0], k[0] = x[0], 1 + 0 * x[0]
        assert all(np.isnan(v) for v in numbers)
        assert all(v == 127 for v in places)
        return a

    np.testing.assert_array_equal(jit(f)(X), [X[0], 0, 0])


def test_what_a_memoryview_reads_stays_as_it_is() -> None:
    """Until it is released; before Python 3.12, there it finds a number that is none."""

    def f(x: Any) -> Any:
        a = np.zeros(3)
        with memoryview(a[1:]) as places:
            a[0] = x[0]
            assert np.isnan(places[1])
        a[1] = x[1]
        return a

    if sys.version_info >= (3, 12):
        with pytest.raises(InPlaceError, match="a memoryview reads it"):
            jit(f)(X)
    else:
        np.testing.assert_array_equal(jit(f)(X), [X[0], X[1], 0])


# -- the wrappers -------------------------------------------------------------

ORIGINALS = {name: getattr(np, name) for name in patches.ANSWERS}


def restored() -> bool:
    return all(getattr(np, name) is original for name, original in ORIGINALS.items())


def test_names_are_restored_whatever_happens() -> None:
    inside: list[bool] = []

    def f(x: Any, fail: bool) -> Any:
        inside.append(restored())
        grad(lambda y: y * 2)(x[0])
        inside.append(restored())
        if fail:
            raise RuntimeError("the user's")
        return x

    jit(lambda x: f(x, False))(X)
    with pytest.raises(RuntimeError, match="the user's"):
        jit(lambda x: f(x, True))(X)
    assert inside == [False] * 4
    assert restored()


def test_wrappers_stand_for_the_originals() -> None:
    table = {np.zeros: "zeros", np.array: "array"}

    def f(x: Any) -> Any:
        assert table[np.zeros] == "zeros"
        assert np.array == ORIGINALS["array"]
        assert repr(np.zeros) == repr(ORIGINALS["zeros"])
        assert np.zeros.__doc__ == ORIGINALS["zeros"].__doc__
        assert pickle.loads(pickle.dumps(np.zeros)) == ORIGINALS["zeros"]
        assert type("K", (), {"make": np.zeros})().make(2).shape == (2,)  # no method
        assert type(np.array("text")) is np.ndarray
        assert type(np.zeros(2, dtype=object)) is np.ndarray
        assert type(np.asarray(X)) is np.ndarray
        assert isinstance(np.array(X), FreshArray)
        return x

    jit(f)(X)


def test_other_threads_see_numpy_as_it_is() -> None:
    kinds: list[type] = []
    traced, done = threading.Event(), threading.Event()

    def other() -> None:
        assert traced.wait(10)
        made = [np.zeros(3), np.array([1.0, 2.0]), np.arange(3), np.copy(X), np.zeros_like(X)]
        made[0][1] = 2.0
        kinds.extend(map(type, made))
        done.set()

    def f(x: Any) -> Any:
        traced.set()
        assert done.wait(10)
        kinds.append(np.zeros(3).__class__)
        return x

    thread = threading.Thread(target=other)
    thread.start()
    jit(f)(X)
    thread.join()
    assert kinds == [np.ndarray] * 5 + [FreshArray]
    assert restored()


def test_threads_that_trace_at_the_same_time() -> None:
    barrier = threading.Barrier(4)
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        def f(x: Any) -> Any:
            out = np.zeros(3)
            barrier.wait(10)
            out[number % 3] = x[0] * number
            return out

        results[number] = jit(f)(X)
        barrier.wait(10)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, result in results.items():
        np.testing.assert_array_equal(result, np.eye(3)[number % 3] * number)
    assert len(results) == 4
    assert restored()


def test_modules_that_are_imported_meanwhile_get_plain_arrays(
    tmp_path: Any, monkeypatch: Any
) -> None:
    (tmp_path / "late_module.py").write_text("import numpy as np\nTABLE = np.zeros(3)\n")
    monkeypatch.syspath_prepend(tmp_path)

    def f(x: Any) -> Any:
        import late_module  # type: ignore[import-not-found]

        assert type(late_module.TABLE) is np.ndarray
        return x + late_module.TABLE

    np.testing.assert_array_equal(jit(f)(X), X)


def test_known_arrays_are_constants_of_the_program() -> None:
    program = autojit.trace(lambda x: x * np.ones(3) + np.zeros((2, 3)))(X)
    assert not program.captured
    assert autojit.trace(lambda x: x * np.arange(3.0) + np.arange(3.0))(X).captured[0].tolist() == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i2", "?"])
def test_constants_have_the_same_bytes_everywhere(dtype: str) -> None:
    def is_constant(array: Any) -> bool:
        return not autojit.trace(lambda x: (x, np.array(array)))(1.0).captured

    array = np.zeros((2, 20_000), dtype)
    assert is_constant(array)
    array[1, -1] = 1
    assert not is_constant(array)
    assert is_constant(array[:, :-1])
    assert not is_constant(np.array([0.0, -0.0]))


def test_what_an_array_held_before_a_traced_value_stays() -> None:
    def f(x: Any) -> Any:
        ones, steps = np.ones((3, 4)), np.arange(12.0).reshape(3, 4).T
        ones[1, 2], steps[0, 1] = x, x
        return ones, steps

    for got, want in zip(jit(f)(7.0), f(7.0), strict=True):
        np.testing.assert_array_equal(got, want)
