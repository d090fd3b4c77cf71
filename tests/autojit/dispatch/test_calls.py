"""Calls of compiled functions: trees, strides, and answers from native code."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.driver.executable import Executable
from autojit.dispatch.calls import MOST
from autojit.errors import UnhashableStaticError
from autojit.testing import assert_no_retrace


class Pair(NamedTuple):
    x: Any
    y: Any


many_traces = pytest.mark.filterwarnings("ignore::autojit.errors.RetraceWarning")


@dataclasses.dataclass
class Layer:
    weights: Any
    rest: Any


X, Y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])

#: The same leaves in different containers; each is a different tree structure.
CONTAINERS: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda x, y: {"x": x, "y": y},
    "ordered dict": lambda x, y: collections.OrderedDict(x=x, y=y),
    "ordered dict in another order": lambda x, y: collections.OrderedDict(y=y, x=x),
    "dict with a default": lambda x, y: collections.defaultdict(list, x=x, y=y),
    "dict with another default": lambda x, y: collections.defaultdict(dict, x=x, y=y),
    "dict with other keys": lambda x, y: {"x": x, "z": y},
    "tuple": lambda x, y: (x, y),
    "list": lambda x, y: [x, y],
    "named tuple": Pair,
    "deque": lambda x, y: collections.deque([x, y]),
    "dataclass": Layer,
    "dict in dict": lambda x, y: {"x": x, "y": {"y": y}},
    "dict in list": lambda x, y: [x, {"y": y}],
    "dict in named tuple": lambda x, y: Pair(x, {"y": y}),
    "ordered dict in named tuple": lambda x, y: Pair(x, collections.OrderedDict(y=y)),
    "dict in dataclass": lambda x, y: Layer(x, {"y": y}),
    "ordered dict in dataclass": lambda x, y: Layer(x, collections.OrderedDict(y=y)),
    "None beside": lambda x, y: (x, y, None),
}


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same, a.values(), b.values()))
    if isinstance(a, (tuple, list, collections.deque)):
        return len(a) == len(b) and all(map(same, a, b))
    return same(vars(a), vars(b)) if isinstance(a, Layer) else np.array_equal(a, b)


def double(tree: Any) -> Any:
    from autojit.staging import pytrees

    leaves, structure = pytrees.flatten(tree)
    return pytrees.unflatten(structure, [2 * leaf for leaf in leaves])


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_later_calls_return_what_the_first_one_did(make: Callable[[Any, Any], Any]) -> None:
    f = jit(double)
    for scale in (1.0, 2.0, 3.0):
        assert same(f(make(scale * X, scale * Y)), make(2 * scale * X, 2 * scale * Y))
    assert f.cache_info()[:2] == (1, 0)


@many_traces
def test_structures_in_turn_are_told_apart() -> None:
    f = jit(double)
    for _ in range(3):
        for make in CONTAINERS.values():
            assert same(f(make(X, Y)), make(2 * X, 2 * Y))
    assert f.cache_info().traces == len(CONTAINERS)


def test_a_container_at_the_place_of_an_array() -> None:
    f = jit(lambda tree: np.sum(double(tree)["x"]))
    assert f({"x": X}) == 12
    assert jit(lambda tree: double(tree))({"x": X})["x"][0] == 2
    g = jit(double)
    for value in (X, [X], (X, X), {"x": X}, None, Layer(X, X)):
        assert same(g({"x": value}), {"x": double(value)})


def test_keywords_in_any_order_and_statics() -> None:
    f = jit(lambda x, *, scale, mode: x * scale if mode else x, static_argnames="mode")
    for _ in range(3):
        np.testing.assert_array_equal(f(X, scale=Y, mode=True), X * Y)
        np.testing.assert_array_equal(f(mode=True, scale=Y, x=X), X * Y)
        np.testing.assert_array_equal(f(X, mode=False, scale=Y), X)
    assert f.cache_info()[:2] == (3, 0)
    with pytest.raises(UnhashableStaticError):
        f(X, scale=Y, mode=[])


def test_static_values_that_are_equal_stay_apart() -> None:
    f = jit(lambda tree, flag: 2 * tree["x"] if flag is True else tree["x"], static_argnums=1)
    for _ in range(3):
        assert f({"x": X}, True)[0] == 2
        assert f({"x": X}, 1)[0] == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [((1, 2), (True, 2)), (0.0, -0.0), (1, 1.0), ((0.0,), (-0.0,)), ("a", b"a"),
     (frozenset({1}), frozenset({True})), (np.float64(0), np.float64(-0.0)), (None, False)],
)  # fmt: skip
def test_static_values_that_are_equal_are_settings_of_their_own(first: Any, second: Any) -> None:
    seen = []
    f = jit(lambda x, setting: (seen.append(setting), 2 * x)[1], static_argnums=1)
    for _ in range(3):
        for setting in (first, second):
            f(X, setting)
            f({"x": X}["x"], setting=setting)  # by name it is the parameter's as well
    assert list(map(repr, seen)) == [repr(s) for s in (first, first, second, second)]


def test_a_static_value_that_is_not_a_number_is_one_setting() -> None:
    f = jit(lambda x, start: x + start, static_argnames="start")
    for _ in range(3):
        assert np.isnan(f(X, start=float("nan"))).all()
    assert f.cache_info().traces == 1


def test_types_in_turn_beside_static_arguments() -> None:
    f = jit(lambda n, x, y, mode="add": n * (x + y) if mode == "add" else x - y, static_argnums=0,
            static_argnames="mode")  # fmt: skip
    pairs = [
        (lambda: f(2, X, Y), 2 * (X + Y)), (lambda: f(3, X, Y), 3 * (X + Y)),
        (lambda: f(2, X, Y, mode="sub"), X - Y), (lambda: f(2, X, Y, "sub"), X - Y),
        (lambda: f(2, X[:2], Y[:2]), 2 * (X + Y)[:2]),
        (lambda: f(2, X, y=Y), 2 * (X + Y)), (lambda: f(2, X[::-1], Y), 2 * (X[::-1] + Y)),
    ]  # fmt: skip
    for _ in range(3):
        for call, wanted in pairs:
            got = call()
            np.testing.assert_array_equal(got, wanted)
            assert got.dtype == np.asarray(wanted).dtype


def test_trees_in_turn_beside_one_static_argument() -> None:
    f = jit(lambda tree, n: n * (tree[0] + tree[1] if isinstance(tree, list) else tree),
            static_argnums=1)  # fmt: skip
    for n in (1, 1, True, 1):
        for _ in range(2):
            np.testing.assert_array_equal(f(X, n), n * X)
            np.testing.assert_array_equal(f([X, Y], n), n * (X + Y))
    assert f.cache_info().traces == 4


def test_static_arguments_by_name_in_any_order() -> None:
    f = jit(lambda x, *, n, mode: n * x if mode else x, static_argnames=("n", "mode"))
    for _ in range(3):
        np.testing.assert_array_equal(f(X, n=2, mode=True), 2 * X)
        np.testing.assert_array_equal(f(X, mode=True, n=2), 2 * X)
        np.testing.assert_array_equal(f(X, mode=2, n=True), X)
    assert f.cache_info()[:2] == (2, 0)
    with pytest.raises(UnhashableStaticError):
        f(X, n=[2], mode=True)
    with pytest.raises(UnhashableStaticError):
        f(X, n=([2],), mode=True)


def test_ways_to_give_a_setting_leave_each_other_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, by: Any, mode: Any = "twice") -> Any:
        return x * by * 2 if mode == "twice" else x * by * mode if mode != "once" else x * by

    for g in (jit(f), jit(f, static_argnames="mode")):
        x, calls = (
            np.ones(3),
            [((2.0,), {"mode": "once"}), ((2.0, "once"), {}), ((2.0, "twice"), {})],
        )
        for args, named in calls:
            g(x, *args, **named)
        monkeypatch.setattr(g, "_call_native", None)  # the slow path
        for args, named in calls:
            np.testing.assert_array_equal(g(x, *args, **named), f(x, *args, **named))
        monkeypatch.undo()
    np.testing.assert_array_equal(jit(f)(x, 2.0, 3.0), f(x, 2.0, 3.0))


def test_static_objects_go_by_their_own_equality() -> None:
    f = jit(lambda self, x: x * self[0], static_argnums=0)
    g = jit(lambda h, x: h(x), static_argnums=0)
    for _ in range(2):
        np.testing.assert_array_equal(f((3,), X), 3 * X)
        np.testing.assert_array_equal(g(np.sin, X), np.sin(X))
        np.testing.assert_array_equal(g(np.negative, X), -X)
    assert g.cache_info().traces == 2


def test_scalars_trees_and_nothing_as_results() -> None:
    for f, expected in (
        (lambda t: np.sum(t["x"]), 6.0), (lambda t: None, None), (lambda t: (), ()),
        (lambda t: {"a": None, "b": t["x"][0]}, {"a": None, "b": np.float64(1)}),
        (lambda t: (t["x"][0], t["x"][1]), (np.float64(1), np.float64(2))),
        (lambda t: [np.sum(t["x"])], [np.float64(6)]), (lambda t: 3.0, 3.0),
    ):  # fmt: skip
        jitted = jit(f)
        for _ in range(3):
            assert jitted({"x": X}) == expected
        assert jitted.cache_info()[:2] == (1, 0)


def test_shapes_and_dtypes_in_turn_are_all_answered_by_native_code() -> None:
    f = jit(lambda tree: {k: v + 1 for k, v in tree.items()})
    g = jit(lambda x: x + 1)
    kinds = [np.ones(n, dtype) for n in (2, 3, 4) for dtype in (np.float32, np.int64)]
    for _ in range(3):
        for x in kinds:
            for result in (f({"x": x})["x"], g(x)):
                np.testing.assert_array_equal(result, x + 1, strict=True)
    assert f.cache_info()[:2] == (6, 0)
    assert g.cache_info()[:2] == (6, 0)


@many_traces
def test_more_shapes_than_are_tried() -> None:
    f = jit(lambda x: x + 1)
    for _ in range(2):
        for n in range(1, 2 * MOST):
            np.testing.assert_array_equal(f(np.ones(n)), np.full(n, 2.0))
    assert f.cache_info().traces == 2 * MOST - 1
    f(np.ones(1))  # an early one, whose place others have taken, is native again
    hits = f.cache_info().hits
    for _ in range(5):
        f(np.ones(1))
    assert f.cache_info().hits == hits


# -- strides --------------------------------------------------------------------

A = np.arange(24.0).reshape(4, 6)


def strided(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return arrays with equal elements and strides of all kinds."""
    base = np.arange(np.prod(shape), dtype=float).reshape(shape)
    every = np.zeros((*shape[:-1], 2 * shape[-1]))[..., ::2]
    every[:] = base
    backwards = base[::-1].copy()[::-1]
    unaligned = np.frombuffer(bytearray(base.nbytes + 1), np.uint8)[1:].view(float).reshape(shape)
    unaligned[:] = base
    readonly = base.copy(order="F")
    readonly.flags.writeable = False
    return {
        "Fortran": np.asfortranarray(base), "every other": every, "backwards": backwards,
        "unaligned": unaligned, "other byte order": base.astype(">f8"), "read-only": readonly,
        "field": np.rec.fromarrays([base, base], names="a,b")["b"],
        "memory map": base.view(np.memmap),
        "dtype with metadata": base.view(np.dtype("f8", metadata={"a": 1})),
    }  # fmt: skip


@pytest.mark.parametrize("name", strided((2, 3)))
@pytest.mark.parametrize("as_tree", [False, True])
def test_arrays_with_strides_neither_trace_nor_compile(
    name: str, as_tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = strided((4, 6))[name]
    expected = np.arange(24.0).reshape(4, 6)
    f = jit((lambda t: {"y": t["x"] * 2}) if as_tree else lambda x: x * 2)
    call = (lambda x: f({"x": x})["y"]) if as_tree else f
    call(expected)
    monkeypatch.setattr(Executable, "_native", None)
    with assert_no_retrace():
        for _ in range(2):
            np.testing.assert_array_equal(call(array), 2 * expected)
    np.testing.assert_array_equal(array, expected)


def test_a_first_call_with_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    f = jit(lambda x, y: x * y)
    np.testing.assert_array_equal(f(A.T, A[::-1].T), A.T * A[::-1].T)
    monkeypatch.setattr(Executable, "_native", None)
    with assert_no_retrace(f):
        np.testing.assert_array_equal(f(A.T.copy(), A.T), A.T * A.T)
        np.testing.assert_array_equal(f(A.reshape(6, 4), A.T), A.reshape(6, 4) * A.T)


def test_numbers_that_do_not_fit_are_refused_at_every_call() -> None:
    f = jit(lambda n: n + 1)
    assert f(3) == 4
    for _ in range(2):
        with pytest.raises(OverflowError):
            f(2**80)
    assert f(4) == 5


@pytest.mark.parametrize("dtype", [np.float64, ">f8", np.float32])
def test_large_arrays_in_any_order(dtype: Any) -> None:
    """Copies reuse the memory of earlier copies, and are released after the call."""
    f = jit(lambda x, y: (x * 2.0 + y, np.sum(x)))
    numbers = np.random.default_rng(0).normal(size=(300, 400, 2)).astype(dtype)
    views = [
        numbers, np.asfortranarray(numbers), numbers[::-1], np.repeat(numbers, 2, axis=0)[::2],
        numbers.transpose(1, 0, 2).copy().transpose(1, 0, 2),
        np.broadcast_to(numbers[:1], numbers.shape),
    ]  # fmt: skip
    kept = []
    for _ in range(2):
        for x, y in zip(views, views[::-1], strict=True):
            kept.append((f(x, y), (x * 2.0 + y, np.sum(x))))
    for (got, total), (wanted, sums) in kept:
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
        np.testing.assert_allclose(total, sums, rtol=1e-4)
    assert f.cache_info().traces == 1
    np.testing.assert_allclose(grad(lambda x: np.sum(x**2))(views[1]), 2 * views[1], rtol=1e-6)
