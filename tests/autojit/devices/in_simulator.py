"""Devices of programs and arrays on a GPU, in numba's simulator, which runs the kernels.

`test_in_simulator.py` runs this file in a process of its own; to look at a failure, run it as

    NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/autojit/devices/in_simulator.py
"""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

import autojit
from autojit import device_get, device_put, grad, jit
from autojit.codegen.cuda.arrays import DeviceArray
from autojit.codegen.cuda.driver.cards import is_simulated
from autojit.errors import UncoveredFunctionError

X = np.random.default_rng(0).uniform(0.5, 2.0, (3, 4))
D = device_put(X)


def test_this_is_the_simulator() -> None:
    assert is_simulated()


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2 / x)


#: Transformations of a function, each called with an array.
MADE: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "itself": lambda f, x: f(x),
    "jit": lambda f, x: jit(lambda x: f(x) * 2)(x),
    "jit twice": lambda f, x: jit(jit(f))(x),
    "grad": lambda f, x: grad(f)(x),
    "jit of grad": lambda f, x: jit(grad(f))(x),
    "value_and_grad": lambda f, x: autojit.value_and_grad(f)(x),
    "vjp": lambda f, x: (lambda out, pullback: (out, pullback(1.0)))(*autojit.vjp(f, x)),
    "jvp": lambda f, x: autojit.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: (lambda out, moved: (out, moved(x)))(*autojit.linearize(f, x)),
    "vmap": lambda f, x: autojit.vmap(f, in_axes=1)(x),
    "vmap of grad": lambda f, x: autojit.vmap(grad(f))(x),
    "jacfwd": lambda f, x: autojit.jacfwd(f)(x),
    "jacrev": lambda f, x: autojit.jacrev(f)(x),
    "hessian": lambda f, x: autojit.hessian(f)(x),
    "hvp": lambda f, x: autojit.hvp(f)(x, x),
    "grad of jit of grad": lambda f, x: grad(lambda x: np.sum(jit(grad(f))(x)))(x),
    "checkpoint": lambda f, x: autojit.checkpoint(f)(x),
    "custom_jvp": lambda f, x: grad(_with_rule(f))(x),
}


def _with_rule(f: Callable[[Any], Any]) -> Any:
    made = autojit.custom_jvp(f)
    made.defjvp(lambda primals, tangents: autojit.jvp(f, primals, tangents))
    return made


def launches(call: Callable[[], Any]) -> int:
    """Return how often the call launches a kernel."""
    from autojit.codegen.cuda.driver.simulated import Simulator

    with pytest.MonkeyPatch.context() as patch:
        ran = []
        original = Simulator._array
        patch.setattr(Simulator, "_array", staticmethod(lambda *a: ran.append(1) or original(*a)))
        call()
    return len(ran)


def assert_all(got: Any, want: Any, kind: type) -> None:
    found, expected = optree.tree_leaves(got), optree.tree_leaves(want)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert isinstance(a, kind)
        np.testing.assert_allclose(np.asarray(a), b, 1e-10)


@pytest.mark.parametrize("name", MADE)
def test_whatever_is_made_of_a_function_runs_on_its_device(name: str) -> None:
    want = MADE[name](loss, X)
    results = []
    assert launches(lambda: results.append(MADE[name](jit(loss, device="cuda"), X)))
    assert_all(results[0], want, (np.ndarray, np.generic))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MADE)
def test_whatever_is_made_of_a_function_runs_where_its_argument_is(name: str) -> None:
    want = MADE[name](loss, X)
    results = []
    assert launches(lambda: results.append(MADE[name](loss, D)))
    expected = (DeviceArray, np.generic) if name == "checkpoint" else DeviceArray
    assert_all(results[0], want, expected)  # type: ignore[arg-type]


def test_closed_over_arrays_lead_to_their_device() -> None:
    for f in (jit(lambda x: x * D), grad(lambda x: np.sum(x * D))):
        assert_all(f(X), X * X if f(X) is None else np.asarray(f(X)), DeviceArray)
    np.testing.assert_allclose(np.asarray(jit(lambda x: x * D)(X)), X * X)
    np.testing.assert_allclose(np.asarray(grad(lambda x: np.sum(x * D))(X)), X)


def test_one_function_runs_on_both_and_is_traced_once() -> None:
    f = jit(lambda x: np.exp(x) + 1)
    for _ in range(3):
        assert_all(f(X), np.exp(X) + 1, np.ndarray)
        assert_all(f(D), np.exp(X) + 1, DeviceArray)
        assert_all(f({"a": 1.0}["a"]), np.exp(1.0) + 1, np.generic)
    assert f.cache_info().traces == 3  # a device, and a number
    assert f.cache_info().last_retrace is not None
    assert "cuda" not in f.cache_info().last_retrace


def test_the_interpreter_and_nan_checks_see_arrays_on_a_gpu() -> None:
    f = jit(lambda x: np.log(x))
    with autojit.disable_jit():
        np.testing.assert_allclose(np.asarray(f(D)), np.log(X))
    with autojit.debug_nans(), pytest.raises(autojit.errors.NanError, match="log"):
        f(device_put(-X))


# -- arrays -----------------------------------------------------------------------------

OPERATIONS: list[Callable[[Any], Any]] = [
    lambda x: x + 1, lambda x: 2 - x, lambda x: X + x, lambda x: x @ x.T, lambda x: X @ x.T,
    lambda x: x**2, lambda x: x**0.5, lambda x: 2.0**x, lambda x: x > 1, lambda x: x == x,
    lambda x: -x, lambda x: abs(x), lambda x: x // 0.3, lambda x: divmod(x, 1.0)[1] if 0 else x % 1,
    lambda x: np.sin(x), lambda x: np.add.reduce(x, axis=1), lambda x: np.sum(x, axis=0),
    lambda x: x.sum(), lambda x: x.mean(axis=1, keepdims=True), lambda x: x.max(axis=-1),
    lambda x: x.T, lambda x: x.reshape(4, 3), lambda x: x.reshape((2, -1)), lambda x: x.ravel(),
    lambda x: x.astype(np.float32), lambda x: np.where(x > 1, x, 0.0), lambda x: x.real,
    lambda x: np.concatenate([x, X]), lambda x: np.stack([x, x], axis=1), lambda x: x.copy(),
    lambda x: np.linalg.norm(x), lambda x: np.clip(x, 0.6, 1.5), lambda x: x.clip(0.6),
    lambda x: x[1], lambda x: x[-1, 2], lambda x: x[1:, ::-2], lambda x: x[..., None, 0],
    lambda x: x[np.array([2, 0])], lambda x: x[:, [1, 1]], lambda x: x[None], lambda x: x[()],
    lambda x: x[np.int32(1)], lambda x: np.einsum("ij,kj->ik", x, x), lambda x: np.zeros_like(x),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_operations(number: int) -> None:
    f = OPERATIONS[number]
    got, want = f(D), np.asarray(f(X))
    assert isinstance(got, DeviceArray)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(np.asarray(got), want, 1e-6)


def test_operations_are_compiled_once() -> None:
    from autojit.devices import operations

    operations._compiled.clear()
    for i in range(3):
        D[i], D * float(i), D.sum(axis=1), np.add.reduce(D, axis=0)
    assert len(operations._compiled) == 4


def test_to_the_host() -> None:
    assert float(D[1, 2]) == X[1, 2]
    assert D.item(5) == X.item(5)
    assert D.tolist() == X.tolist()
    assert int(device_put(3)) == 3
    assert complex(device_put(2j)) == 2j
    assert bool(np.all(D > 0))
    assert list(range(5))[device_put(3)] == 3
    assert f"{D[0, 0]:.3f}" == f"{X[0, 0]:.3f}"
    assert len(D) == 3
    assert [float(row.sum()) for row in D] == pytest.approx(X.sum(axis=1))
    assert np.asarray(D, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(D, copy=False)
    small = device_put(np.array([1.0, 2.0]))
    assert repr(small) == "DeviceArray([1., 2.], dtype=float64, device='cuda:0')"
    assert (D.ndim, D.size, D.nbytes, D.itemsize) == (2, 12, 96, 8)
    assert D.block_until_ready() is D


def test_what_arrays_on_a_gpu_refuse() -> None:
    with pytest.raises(TypeError, match="not written to"):
        D[0] = 1.0
    with pytest.raises(TypeError, match="out="):
        np.sin(D, out=np.empty(X.shape))
    with pytest.raises(AttributeError, match="no attribute 'sort'"):
        D.sort()
    with pytest.raises(TypeError):
        hash(D)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        D[3]
    with pytest.raises(IndexError, match="too many indices"):
        D[0, 0, 0]
    with pytest.raises(UncoveredFunctionError):
        np.unique(D)
    with pytest.raises(TypeError, match="len"):
        len(D[0, 0])


def test_arguments_are_never_written_to() -> None:
    def f(x: Any) -> Any:
        x = x.copy()
        x[0] = 5.0
        x += 1
        return x

    before = np.asarray(D)
    np.testing.assert_allclose(np.asarray(jit(f)(D))[0], 6.0)
    np.testing.assert_array_equal(np.asarray(D), before)
    x = D
    x += 1  # the name is bound anew
    np.testing.assert_array_equal(np.asarray(D), before)
    np.testing.assert_allclose(np.asarray(x), X + 1)


class Point(NamedTuple):
    x: Any
    y: Any


def test_trees_go_there_and_back() -> None:
    tree = {"p": Point(X, 2.5), "n": [np.arange(3), None, True]}
    there = device_put(tree)
    leaves = optree.tree_leaves(there, namespace="autojit")
    assert all(isinstance(leaf, DeviceArray) for leaf in leaves)
    assert [leaf.dtype.kind for leaf in leaves] == ["i", "b", "f", "f"]
    back = device_get(there)
    assert isinstance(back["p"], Point)
    np.testing.assert_array_equal(back["p"].x, X)
    assert (back["p"].y, back["n"][2]) == (2.5, True)
    assert device_put(there)["p"].x is there["p"].x
    assert isinstance(device_put(there, "cpu")["p"].x, np.ndarray)
    assert device_get({"a": 1, "b": "text"}) == {"a": 1, "b": "text"}
    changed = X.copy()
    held = device_put(changed)
    changed[:] = 0
    np.testing.assert_array_equal(device_get(held), X)


def test_device_put_in_a_traced_function_asks_for_the_device() -> None:
    f = jit(lambda x: device_put(x) * 2)
    assert launches(lambda: f(X))
    with pytest.raises(autojit.errors.MixedDevicesError, match="device_put"):
        jit(lambda x: device_put(x) * 2, device="cpu")(X)


def test_pickles_and_copies() -> None:
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(D))), X)
    assert copy.deepcopy(D) is D
    far = D
    state = pickle.dumps(far).replace(b"cuda:0", b"cuda:7")  # of a machine with more
    assert pickle.loads(state).device == "cuda:0"
    f = pickle.loads(pickle.dumps(jit(np.sin, device="cuda")))
    assert f.device == "cuda"


# -- failures ---------------------------------------------------------------------------


def pick(x: Any, i: Any) -> Any:
    y = x * 2
    return y[i]  # here


LINE = pick.__code__.co_firstlineno + 2
FAR = np.array([1, 9])


def assert_named(error: BaseException) -> None:
    notes = "".join(getattr(error, "__notes__", []))
    assert f"line {LINE}, in pick" in notes
    assert notes.count("  File ") == 1


def test_a_failure_with_results_on_the_host_is_raised_by_the_call() -> None:
    f = jit(pick, device="cuda")
    with pytest.raises(IndexError, match="out of bounds") as caught:
        f(X, FAR)
    assert_named(caught.value)
    assert str(caught.value) == "index 9 is out of bounds for axis 0 with size 3"
    np.testing.assert_allclose(f(X, np.array([1])), 2 * X[[1]])


def test_a_failure_on_the_card_is_raised_where_results_are_read() -> None:
    f = jit(pick)
    fine, wrong = f(D, np.array([1, 1])), f(D, FAR)
    later = wrong + 1
    with pytest.raises(IndexError) as caught:
        np.asarray(later)
    assert_named(caught.value)
    with pytest.raises(IndexError):  # and again
        np.asarray(wrong)
    with pytest.raises(IndexError):  # it is not known which of the calls failed
        np.asarray(fine)
    np.testing.assert_allclose(np.asarray(f(D, np.array([2, 0]))), 2 * X[[2, 0]])


def test_a_failure_outlives_its_function() -> None:
    wrong = jit(lambda x, i: x[i])(D, FAR)
    from autojit.staging import execute

    execute._executables.clear()
    gc.collect()
    with pytest.raises(IndexError):
        device_get(wrong)


def test_a_failure_in_a_gradient_without_jit() -> None:
    with pytest.raises(IndexError) as caught:
        np.asarray(grad(lambda x, i: np.sum(pick(x, i)))(D, device_put(FAR)))
    assert f"line {LINE}" in "".join(caught.value.__notes__)


# -- other libraries --------------------------------------------------------------------


def test_dlpack_gives_the_memory_itself() -> None:
    taken = np.from_dlpack(D)
    np.testing.assert_array_equal(taken, X)
    assert taken.__array_interface__["data"][0] == D.pointer
    from autojit.codegen.cuda import dlpack

    held = len(dlpack._exported)
    assert held
    del taken
    gc.collect()
    assert len(dlpack._exported) == held - 1
    D.__dlpack__()  # a capsule that nobody takes
    gc.collect()
    assert len(dlpack._exported) == held - 1
    with pytest.raises(BufferError):
        D.__dlpack__(copy=True)
    assert not hasattr(D, "__cuda_array_interface__")  # the host's memory, in the simulator


def test_dlpack_of_every_dtype_to_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for dtype in ("?", "i1", "u1", "i2", "i4", "i8", "f4", "f8", "c8", "c16"):
        x = np.arange(3).astype(dtype)
        np.testing.assert_array_equal(torch.from_dlpack(device_put(x)).numpy(), x)


# -- with other features ---------------------------------------------------------------


def test_derivatives_are_checked_where_they_run() -> None:
    for x in (X, D):
        f = jit(grad(loss), check="first")
        np.testing.assert_allclose(np.asarray(f(x)), grad(loss)(X), 1e-10)


def test_results_that_do_not_move_stay_there_too() -> None:
    _, moved = autojit.linearize(lambda x: (x * 2, np.float64(3.0)), D)
    assert_all(moved(D), (2 * X, 0.0), DeviceArray)


def test_training_stays_on_the_card() -> None:
    @jit
    def step(w: Any, x: Any, y: Any, rate: Any) -> Any:
        return w - rate * grad(lambda w: np.mean((x @ w - y) ** 2))(w)

    x = np.random.default_rng(1).normal(size=(8, 3))
    target = np.array([1.0, 2.0, 3.0])
    w, there, y = device_put((np.zeros(3), x, x @ target))
    want = np.zeros(3)
    for i in range(4):
        rate = 0.3 / (1 + i)
        w = step(w, there, y, rate)
        want = want - rate * 2 * x.T @ (x @ want - x @ target) / 8
    np.testing.assert_allclose(device_get(w), want, 1e-10)
    assert step.cache_info().traces == 1
    assert "on cuda:0" in repr(step)


def test_calls_are_shown_to_who_watches() -> None:
    f = jit(loss)
    f(D)
    with autojit.profile() as profile:
        f(D)
    assert "loss" in str(profile)


def test_explanations_are_of_the_arrays_device() -> None:
    assert "blocks of" in str(jit(loss).explain(D))


def test_threads_share_a_function() -> None:
    from concurrent.futures import ThreadPoolExecutor

    f = jit(lambda x, k: x * k + np.sum(x))
    with ThreadPoolExecutor(4) as pool:
        for k, got in enumerate(pool.map(lambda k: f(D, float(k)), range(6))):
            np.testing.assert_allclose(np.asarray(got), X * k + X.sum())
