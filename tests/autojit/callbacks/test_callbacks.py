"""Functions of the process, called from traced and compiled code."""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numpy._core.overrides import array_function_dispatch

import autojit
from autojit import (
    cond,
    custom_jvp,
    custom_vjp,
    grad,
    jit,
    numba_callback,
    pure_callback,
    scan,
    vmap,
)
from autojit.codegen.driver.cache import Cache
from autojit.codegen.driver.executable import Executable
from autojit.codegen.loop_text.interpreter import interpret_loops, shaped
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret

X = np.array([3.0, 1.0, 2.0])


def every_way(f: Callable[..., Any], *args: Any) -> list[Any]:
    """Return the results on arrays, interpreted, compiled, and of the traced program."""
    with autojit.disable_jit():
        interpreted = jit(f)(*args)
    program = autojit.trace(f)(*args)
    return [f(*args), interpreted, jit(f)(*args), program(*args)]


# -- values ---------------------------------------------------------------------------


def test_results_in_every_way() -> None:
    def ordered(x: Any, mode: str) -> Any:
        assert isinstance(x, np.ndarray)
        x.sort()  # it is the function's own
        return x[::-1] if mode == "down" else x

    def f(x: Any) -> Any:
        return 2 * pure_callback(ordered, "f64[3]", x + 1, mode="down")

    for found in every_way(f, X):
        np.testing.assert_array_equal(found, [8.0, 6.0, 4.0])
    np.testing.assert_array_equal(X, [3.0, 1.0, 2.0])


def test_trees_dtypes_and_numbers() -> None:
    def parts(tree: Any, z: Any) -> Any:
        assert isinstance(tree["n"], np.int64)
        return {"re": z.real.astype(np.float32), "any": bool(tree["x"].any())}, z * tree["n"]

    types = {"re": np.zeros(2, np.float32), "any": True}, "c128[2]"

    def f(x: Any, n: Any, z: Any) -> Any:
        return pure_callback(parts, types, {"x": x, "n": n}, z)

    for found in every_way(f, X, 3, np.array([1 + 2j, 3j])):
        if len(found) == 3:  # the results of a program
            some, real, product = found
        else:
            tree, product = found
            some, real = tree["any"], tree["re"]
        assert real.dtype == np.float32
        assert some.dtype == np.bool_
        np.testing.assert_array_equal(product, [3 + 6j, 9j])


def test_types_are_written_in_many_ways() -> None:
    class Struct:
        shape, dtype = (3,), np.float64

    for described in ("f64[3]", X, Struct(), [Struct()]):
        found = jit(lambda x, d=described: pure_callback(lambda v: [v] if d is not None and
                    isinstance(d, list) else v, d, x))(X)  # fmt: skip
        np.testing.assert_array_equal(found[0] if isinstance(found, list) else found, X)


def test_bodies_of_loops_and_branches() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(60):
            total = total + pure_callback(np.sin, "f64[]", x * i)
        while pure_callback(lambda v: v < 100, "bool[]", x):
            x = x * 2
        if x > 150:
            total = pure_callback(np.negative, "f64[]", total)
        return scan(lambda c, row: (c + pure_callback(np.sum, "f64[]", row), c), total,
                    np.ones((4, 2)))[0]  # fmt: skip

    want = f(1.7)
    np.testing.assert_allclose(jit(f)(1.7), want, rtol=1e-12)
    np.testing.assert_allclose(jit(vmap(f))(np.array([1.7, 3.0])), [want, f(3.0)], rtol=1e-12)


def test_a_branch_that_is_not_taken_is_not_called() -> None:
    def never(x: Any) -> Any:
        raise AssertionError(x)

    def f(x: Any) -> Any:
        return cond(x > 0, lambda x: x, lambda x: pure_callback(never, "f64[]", x), x)

    assert jit(f)(1.0) == 1.0
    np.testing.assert_array_equal(jit(vmap(f))(np.array([1.0, 2.0])), [1.0, 2.0])


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [(2,), (2,)]),
        ("expand_dims", [(4, 2), (1, 2)]),
        ("broadcast_all", [(4, 2), (4, 2)]),
    ],
)
def test_vmap(method: Any, shapes: list[Any]) -> None:
    seen: list[Any] = []

    def product(x: Any, y: Any) -> Any:
        seen.append([x.shape, y.shape])
        return x * y

    def f(x: Any, y: Any) -> Any:
        return pure_callback(product, "f64[2]", x, y, vmap_method=method)

    xs, y = np.arange(8.0).reshape(4, 2), np.array([1.0, -1.0])
    batched = vmap(f, in_axes=(0, None))
    for g in (batched, jit(batched)):
        seen.clear()
        np.testing.assert_array_equal(g(xs, y), xs * y)
        assert seen == [shapes] * (4 if method == "sequential" else 1)
    twice = vmap(vmap(f), in_axes=(None, 0))
    both = np.stack([xs, xs + 1, xs * 2])
    np.testing.assert_array_equal(jit(twice)(xs, both), xs * both)


def test_loops_as_text_run() -> None:
    program = autojit.trace(lambda x: 3 * pure_callback(np.conj, "c128[3]", x * 1j)[::-1])(X)
    loops = lower(program)
    assert "= call conjugate(" in str(loops) or "= call conj" in str(loops)
    (found,) = interpret_loops(loops, [X])
    np.testing.assert_array_equal(shaped(found, program.out_types[0]), -3j * X[::-1])


# -- errors ------------------------------------------------------------------------------


def test_an_error_comes_out_of_the_call() -> None:
    class OwnError(Exception):
        pass

    def fails(x: Any) -> Any:
        if x[0] > 2:
            raise OwnError("too much")
        return x

    def f(x: Any) -> Any:
        return 2 * pure_callback(fails, x, x)

    compiled = jit(f)
    np.testing.assert_array_equal(compiled(X - 2), 2 * X - 4)
    for _ in range(2):
        with pytest.raises(OwnError, match="too much") as error:
            compiled(X)
        assert "return 2 * pure_callback(fails, x, x)" in error.value.__notes__[0]
    np.testing.assert_array_equal(compiled(X - 2), 2 * X - 4)


def test_a_loop_ends_where_its_condition_raises() -> None:
    def f(x: Any) -> Any:
        while pure_callback(lambda v: 1 // int(v < 5) > 0, "bool[]", x):
            x = x + 1
        return x

    with pytest.raises(ZeroDivisionError):
        jit(f)(0.0)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda x: x[:2], r"pure_callback: the result of result has shape \(2,\), and its type is "
         r"f64\[3\].*change result_types to 'f64\[2\]'"),
        (lambda x: x * 1j, r"has dtype complex128.*return result.astype\(np.float64\)"),
        (lambda x: (x, x), r"result, called by pure_callback, returned \(\*, \*\), but its "
         r"result_types are \*"),
    ],
)  # fmt: skip
def test_results_are_checked(result: Any, words: str) -> None:
    result.__name__ = "result"

    def f(x: Any) -> Any:
        return pure_callback(result, "f64[3]", x)

    for call in (f, jit(f), grad(lambda x: float(f(autojit.stop_gradient(x))[0]) * x.sum())):
        with pytest.raises((autojit.errors.AutojitError), match=f"(?s){words}"):
            call(X)


def test_wrong_arguments() -> None:
    for types, words in ((["f64 3"], "a type is written like"), ({1}, "Write a type, an array")):
        with pytest.raises(TypeError, match=words):
            jit(lambda x, t=types: pure_callback(np.sin, t, x))(X)
    with pytest.raises(ValueError, match="vmap_method is one of 'sequential', "):
        pure_callback(np.sin, X, X, vmap_method="all")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"numba\.njit"):
        numba_callback(np.sort, X, X)


# -- derivatives ---------------------------------------------------------------------------


def test_there_is_no_derivative_without_a_rule() -> None:
    def f(x: Any) -> Any:
        return np.sum(pure_callback(np.sin, x, x))

    for transformed in (grad(f), jit(grad(f)), lambda x: autojit.jvp(f, (x,), (x,))):
        with pytest.raises(autojit.errors.DerivativeError, match=r"@autojit\.custom_jvp"):
            transformed(X)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x) * f(autojit.stop_gradient(x)))(X),
                                  np.full(3, f(X)))  # fmt: skip
    # An integer result has derivative 0.
    rounded = grad(lambda x: np.sum(x) * pure_callback(len, "i64[]", x))
    np.testing.assert_array_equal(rounded(X), [3.0, 3.0, 3.0])


def test_the_bodies_of_functions_with_rules() -> None:
    @custom_jvp
    def sine(x: Any) -> Any:
        return pure_callback(np.sin, x, x)

    @sine.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return sine(*primals), np.cos(primals[0]) * tangents[0]

    @custom_vjp
    def cosine(x: Any) -> Any:
        return pure_callback(np.cos, x, x)

    cosine.defvjp(lambda x: (cosine(x), x),
                  lambda x, ct: (-pure_callback(np.sin, x, x) * ct,))  # fmt: skip

    def f(x: Any) -> Any:
        return np.sum(sine(x) * cosine(x))

    for g in (grad(f), jit(grad(f)), jit(grad(autojit.checkpoint(f)))):
        np.testing.assert_allclose(g(X), np.cos(2 * X), rtol=1e-12)
    np.testing.assert_allclose(
        jit(grad(lambda x: np.sum(sine(x))))(X) - jit(vmap(grad(sine)))(X), 0
    )
    second = grad(lambda x: np.sum(grad(lambda x: np.sum(sine(x)))(x)))
    np.testing.assert_allclose(jit(second)(X), -np.sin(X), rtol=1e-12)


# -- processes and threads -----------------------------------------------------------------


def test_nothing_is_kept_on_disk(tmp_path: Path) -> None:
    def run(function: Any) -> Any:
        program = autojit.trace(lambda x: pure_callback(function, x, x) + 1)(X)
        made = Executable(program, Cache(tmp_path))
        return made.call([X])[0], made.loaded

    for function in (np.sin, np.cos):
        found, loaded = run(function)
        np.testing.assert_array_equal(found, function(X) + 1)
        assert not loaded
    assert not list(tmp_path.iterdir())


def test_two_functions_have_two_programs() -> None:
    def made(k: float) -> Any:
        return jit(lambda x: pure_callback(lambda v: v * k, x, x))

    first, second = made(2.0), made(3.0)
    np.testing.assert_array_equal(first(X), 2 * X)
    np.testing.assert_array_equal(second(X), 3 * X)


def test_pickles() -> None:
    program: Program = autojit.trace(lambda x: pure_callback(np.sin, x, x, 1.0, dtype=None))(X)
    loaded = pickle.loads(pickle.dumps(program))
    assert loaded.key != program.key  # another process may have another function of that number
    program = autojit.trace(lambda x: pure_callback(np.sin, x, x))(X)
    loaded = pickle.loads(pickle.dumps(program))
    np.testing.assert_array_equal(interpret(loaded, [X])[0], np.sin(X))


def test_threads_and_calls_inside_of_calls() -> None:
    inner = jit(lambda x: pure_callback(np.sort, x, x) * 2)
    outer = jit(lambda x: pure_callback(lambda v: inner(v) + v[0], x, x) + 1)
    failures: list[Any] = []

    def work(k: int) -> None:
        for i in range(30):
            x = X + k + i
            if not np.array_equal(outer(x), np.sort(x) * 2 + x[0] + 1):
                failures.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# -- Numba ----------------------------------------------------------------------------------


@numba.njit
def steps(x: Any, k: Any) -> Any:
    for i in range(1, len(x)):
        x[i] = k * x[i] + x[i - 1]
    if x[0] < 0:
        raise ValueError("negative")
    return x, x.sum()


@numba.cfunc("float64(float64, int64)")
def power(x: Any, n: Any) -> Any:
    return x**n


@pytest.mark.slow
def test_functions_of_numba() -> None:
    def f(x: Any) -> Any:
        return numba_callback(steps, (x, "f64[]"), x, 2)

    want = np.array([3.0, 5.0, 9.0]), 17.0
    for found in (f(X), jit(f)(X)):
        np.testing.assert_array_equal(found[0], want[0])
        assert found[1] == want[1]
    several = jit(vmap(f))(np.stack([X, X + 1]))
    np.testing.assert_array_equal(several[0][0], want[0])
    assert several[1].shape == (2,)
    compiled = jit(f)
    with pytest.raises(ValueError, match="negative"):
        compiled(-X)
    np.testing.assert_array_equal(compiled(X)[0], want[0])
    np.testing.assert_array_equal(X, [3.0, 1.0, 2.0])


@pytest.mark.slow
def test_functions_of_numbers() -> None:
    np.testing.assert_array_equal(jit(lambda x: numba_callback(power, x, x, 3))(X), X**3)
    assert jit(lambda x: numba_callback(power, "f64[]", x, 2))(3.0) == 9.0
    with pytest.raises(autojit.errors.DtypeError, match=r"return result.astype\(np.float32\)"):
        jit(lambda x: numba_callback(power, "f32[3]", x, 3))(X)


def test_numba_runs_without_the_lock() -> None:
    held = ctypes.pythonapi.PyGILState_Check
    held.restype, held.argtypes = ctypes.c_int, ()

    @numba.njit
    def holds_lock(x: Any) -> Any:
        return x + held()

    assert jit(lambda x: numba_callback(holds_lock, "i64[]", x))(0) == 0


# -- the way out ----------------------------------------------------------------------------


def pasted(error: Exception) -> str:
    """Return the call that the error's message shows."""
    (line,) = [line for line in str(error).splitlines() if "autojit.pure_callback(" in line]
    return line.strip()


@array_function_dispatch(lambda x, count=None, *, twice=None: (x,))
def shifted(x: Any, count: int = 0, *, twice: bool = False) -> Any:
    """Stand for a library's function that dispatches as NumPy's do and is not covered."""
    moved = np.roll(x, count)
    return (moved, 2 * x) if twice else moved


CALLS = [
    "shifted(x,\n              1)",
    "shifted(x, count=2)",
    "shifted(x, 1, twice=True)[0]",
    "shifted(*[x], **{'twice': True})[1]",
]


@pytest.mark.parametrize("call", CALLS)
def test_the_code_in_the_error_runs(call: str, tmp_path: Path) -> None:
    file = tmp_path / "users.py"
    text = "import autojit\ndef f(x, n):\n    y = {}\n    return y\n"
    file.write_text(text.format(call))
    names: dict[str, Any] = {"shifted": shifted}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(NotImplementedError, match="is not covered") as error:
        jit(names["f"])(X, 2.0)
    want = names["f"](X, 2.0)
    start = call.index("shifted(")
    end = call.index(")", start) + 1
    file.write_text(text.format(call[:start] + pasted(error.value) + call[end:]))
    exec(compile(file.read_text(), str(file), "exec"), names)
    for a, b in zip(jit(names["f"])(X, 2.0), want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_code_for_a_library_runs(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "foreign_library.py").write_text(textwrap.dedent(
        """
        from numpy import array

        def smooth(a, n):
            return array(sorted(float("%.9f" % v) for v in a)) * n
        """
    ))  # fmt: skip
    monkeypatch.syspath_prepend(os.fspath(folder))
    foreign_library = importlib.import_module("foreign_library")

    names = {"foreign_library": foreign_library}

    def f(x: Any) -> Any:
        return foreign_library.smooth(x, n=2)

    try:
        with pytest.raises(TypeError) as error:
            jit(f)(X)
        assert pasted(error.value) == "autojit.pure_callback(foreign_library.smooth, x, x, n=2)"
        found = jit(lambda x: eval(pasted(error.value), {"autojit": autojit, "x": x, **names}))(X)
        np.testing.assert_array_equal(found, [2.0, 4.0, 6.0])
    finally:
        del sys.modules["foreign_library"]


@pytest.mark.parametrize("is_in_branch", [False, True])
def test_the_index_of_a_compiled_loop_is_an_argument(is_in_branch) -> None:
    def f(xs):
        total = 0.0
        for i in range(len(xs)):
            total = np.sin(total)
            if not is_in_branch or xs[i] < 0:
                total = total + pure_callback(np.float64, "f64[]", i)
        return total

    xs = np.ones(300)
    xs[200] = -1.0
    assert jit(f)(xs) == pytest.approx(f(xs), rel=1e-12)
