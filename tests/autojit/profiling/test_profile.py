"""A profile lists phases, functions, parts and lines, however a function is called."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.errors import ProfileError
from autojit.profiling.lines import Line
from autojit.profiling.profile import Profile
from autojit.profiling.report import FunctionTime, Report, report
from autojit.session.watching import state
from autojit.staging.execute import settings

X = np.random.default_rng(0).normal(size=(300, 200))


def loss(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    return np.mean(np.exp(hidden) ** 2)


W = np.random.default_rng(1).normal(size=200)


def profiled(call: Callable[[], Any]) -> Profile:
    with autojit.profile() as p:
        call()
    return p


def report_of(p: Profile) -> Report:
    return report(p.recorder)


def phases(p: Profile) -> dict[str, int]:
    return {phase.name: phase.count for phase in report_of(p).phases}


def line_in(f: Callable[..., Any], words: str) -> tuple[str, int]:
    lines, first = inspect.getsourcelines(f)
    (number,) = (k for k, line in enumerate(lines) if words in line)
    return __file__, first + number


def only(p: Profile) -> FunctionTime:
    (found,) = report_of(p).functions
    return found


# -- phases ---------------------------------------------------------------------------


def test_a_first_call_is_traced_transformed_and_compiled() -> None:
    def fresh(w: Any, x: Any) -> Any:
        return loss(w, x) * 1.00123

    found = phases(profiled(lambda: autojit.jit(autojit.grad(fresh))(W, X)))
    assert found["trace"] == found["transform"] == found["run"] == 1
    assert {"passes", "lower to loops", "write LLVM IR", "LLVM"} <= found.keys()


def test_a_call_of_what_was_compiled_before_only_runs() -> None:
    f = autojit.jit(loss)
    f(W, X)
    p = profiled(lambda: [f(W, X) for _ in range(5)])
    assert phases(p) == {"arguments": 5, "run": 5}
    assert only(p).count == 5
    assert all(part.time.count == 5 for part in only(p).parts)


def test_code_of_another_process_is_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from autojit.codegen.driver import cache, executable
    from autojit.staging import execute

    folder = cache.Cache(tmp_path)
    make = executable.compile_program
    monkeypatch.setattr(executable, "compile_program", lambda p, d, _, v: make(p, d, folder, v))

    def f(x: Any) -> Any:
        return np.exp(x) * 3.2109

    autojit.jit(f)(X)
    execute._executables.clear()
    found = phases(profiled(lambda: autojit.jit(f)(X)))
    assert found["read the cache"] == 1
    assert "LLVM" not in found


def test_each_retrace_shows() -> None:
    f = autojit.jit(lambda x: np.sin(x) * 2.345)
    p = profiled(lambda: [f(np.ones(n)) for n in (3, 4, 3, 5)])
    assert phases(p)["trace"] == 3
    assert phases(p)["run"] == 4
    assert sorted(f.count for f in report_of(p).functions) == [1, 1, 2]


def test_phases_and_what_is_beside_them_are_the_whole() -> None:
    f = autojit.jit(autojit.grad(loss))
    r = report_of(profiled(lambda: [f(W, X) for _ in range(10)]))
    assert r.counted + r.elsewhere + r.own == pytest.approx(r.seconds, rel=0.02)


# -- functions and parts --------------------------------------------------------------


def test_results_are_those_without_a_profile() -> None:
    f = autojit.jit(autojit.value_and_grad(loss))
    value, gradient = f(W, X)
    with autojit.profile():
        again = f(W, X)
    assert again[0] == value
    np.testing.assert_array_equal(again[1], gradient)
    assert type(again[0]) is type(value)


def test_parts_add_up_to_the_run() -> None:
    big = np.random.default_rng(2).normal(size=(3000, 200))
    f = autojit.jit(autojit.grad(loss))
    f(W, big)
    found = only(profiled(lambda: [f(W, big) for _ in range(5)]))
    parts = sum(part.time.seconds for part in found.parts)
    assert 0.8 * found.seconds < parts < 1.01 * found.seconds
    assert parts + found.rest == pytest.approx(found.seconds, rel=0.01)


def dense(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    return np.sum(hidden)


def test_forward_and_backward_are_told_apart() -> None:
    f = autojit.jit(autojit.grad(dense))
    p = profiled(lambda: f(np.eye(200), X))
    products = [part for part in only(p).parts if part.time.kind == "product"]
    assert [part.direction for part in products] == ["forward", "backward"]
    product = report_of(p).lines[line_in(dense, "x @ w")]
    assert product.forward > 0
    assert product.backward > 0


def test_without_a_gradient_nothing_is_backward() -> None:
    lines = report_of(profiled(lambda: autojit.jit(loss)(W, X))).lines
    assert all(line.backward == 0 for line in lines.values())


def slow_and_cheap(x: Any) -> Any:
    cheap = (x[1:] + x[:-1]).sum()
    slow = np.sort(x)
    return cheap, slow


@pytest.mark.optimised
def test_a_slow_line_shows() -> None:
    x = np.random.default_rng(3).normal(size=3000)  # few enough for one thread
    f = autojit.jit(slow_and_cheap)
    f(x)
    p = profiled(lambda: [f(x) for _ in range(20)])
    lines = report_of(p).lines
    slow, cheap = (lines[line_in(slow_and_cheap, words)] for words in ("np.sort", "cheap ="))
    assert slow.seconds > 2 * cheap.seconds


def test_programs_that_share_code_have_their_own_lines() -> None:
    def first(x: Any) -> Any:
        return np.exp(x) * 7.654

    def second(x: Any) -> Any:
        return np.exp(x) * 7.654

    def both() -> None:
        autojit.jit(first)(X)
        autojit.jit(second)(X)

    lines = report_of(profiled(both)).lines
    assert {line_in(f, "np.exp") for f in (first, second)} == lines.keys()


def test_what_is_computed_together_is_said_to_be_estimated() -> None:
    def f(x: Any) -> Any:
        a = np.exp(x)
        return a + 1.0

    lines = report_of(profiled(lambda: autojit.jit(f)(X))).lines
    dear, cheap = lines[line_in(f, "np.exp")], lines[line_in(f, "+ 1.0")]
    assert dear.is_estimated
    assert cheap.is_estimated
    assert dear.seconds > 3 * cheap.seconds


def steps(x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        return np.tanh(c + row) @ SQUARE, c.sum()

    return autojit.scan(step, np.zeros(100), x)[0].sum()


SQUARE = np.random.default_rng(4).normal(size=(100, 100)) / 10


def test_loops_of_python_count_what_is_in_them() -> None:
    f = autojit.jit(autojit.grad(steps))
    found = only(profiled(lambda: [f(np.ones((20, 100))) for _ in range(3)]))
    inside = [inner.time.count for part in found.parts for inner in part.inside]
    assert inside
    assert set(inside) == {60}


# -- all ways to call -----------------------------------------------------------------


def static(x: Any, name: str, n: int) -> Any:
    return np.sin(x) * n if name == "sin" else np.cos(x) * n


WAYS: dict[str, Callable[[], Any]] = {
    "vmap": lambda: autojit.jit(autojit.vmap(autojit.grad(loss), (0, None)))(np.ones((3, 200)), X),
    "checkpoint": lambda: autojit.jit(autojit.grad(autojit.checkpoint(loss)))(W, X),
    "static": lambda: autojit.jit(static, static_argnums=2)(X, "sin", 3),
    "trees": lambda: autojit.jit(lambda t: {"y": t["x"] * 2.5})({"x": X}),
    "by name": lambda: autojit.jit(loss)(W, x=X),
    "numbers": lambda: autojit.jit(lambda x, y: x * y + 2.75)(2.0, 3),
    "strided": lambda: autojit.jit(lambda x: np.exp(x) * 1.75)(X[:, ::2]),
    "captured": lambda: autojit.jit(lambda w: loss(w, X))(W),
    "hessian": lambda: autojit.jit(autojit.hessian(lambda x: np.sum(np.exp(x))))(np.ones(5)),
    "two in one": lambda: autojit.jit(lambda x: autojit.jit(np.sin)(x) * 1.125)(X),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_call(way: str) -> None:
    expected = WAYS[way]()
    made: list[Any] = []
    p = profiled(lambda: made.append(WAYS[way]()))
    assert report_of(p).functions
    assert str(p)
    np.testing.assert_equal(made[0], expected)


def test_eager_derivatives_show_phases_and_parts() -> None:
    p = profiled(lambda: autojit.grad(loss)(W, X))
    assert {"trace", "run"} <= phases(p).keys()
    found = only(p)
    assert not found.jit
    assert found.parts


def test_calls_without_jit_are_one_function() -> None:
    p = profiled(lambda: [autojit.grad(loss)(W, X) for _ in range(4)])
    assert only(p).count == 4
    assert len({id(e.data.program) for e in p.recorder.events if e.kind == "run"}) == 1


def test_the_interpreter_shows_ops_with_lines() -> None:
    def call() -> None:
        with autojit.disable_jit():
            autojit.jit(autojit.grad(loss))(W, X)

    p = profiled(call)
    assert phases(p)["interpreter"] == 1
    ops = report_of(p).ops
    assert {op.name for op in ops} >= {"dot", "exp", "tanh"}
    (exp,) = (op for op in ops if op.name == "exp")
    assert exp.line.endswith(":{}".format(line_in(loss, "np.exp")[1]))


def test_tensors_show_each_operation() -> None:
    from autojit import torch

    x = torch.tensor(X, requires_grad=True)

    def step() -> None:
        (x.tanh().exp()).sum().backward()

    p = profiled(step)
    ops = {(op.name, op.kind): op.count for op in report_of(p).ops}
    assert ops["tanh", "operation"] == 1
    assert ops["ExpBackward0", "backward"] == 1
    line = report_of(p).lines[line_in(step, "backward")]
    assert line.forward > 0
    assert line.backward > 0


def test_both_profilers_at_once() -> None:
    from autojit import torch

    x = torch.ones(3)
    mine = torch.profiler.record_function("mine")
    with autojit.profile() as p, torch.profiler.profile() as prof, mine:
        x.exp()
    assert [e.key for e in prof.key_averages()] == ["mine", "aten::exp"]
    assert [op.name for op in report_of(p).ops] == ["exp"]


# -- contexts -------------------------------------------------------------------------


def test_nested_profiles_see_what_is_in_them() -> None:
    f = autojit.jit(loss)
    with autojit.profile() as outer:
        f(W, X)
        with autojit.profile() as inner:
            f(W, X)
            f(W, X)
    assert only(outer).count == 3
    assert only(inner).count == 2
    assert "run" in phases(inner)


def test_an_error_ends_the_profile_and_is_raised() -> None:
    f = autojit.jit(lambda x, i: np.exp(x)[i])
    f(np.ones(3), 1)
    p = autojit.profile()

    def fails() -> None:
        with p:
            f(np.ones(3), 1)
            f(np.ones(3), 7)

    with pytest.raises(IndexError):
        fails()
    assert not state.watchers
    assert settings.direct
    assert only(p).parts[0].time.count == 1


def test_an_error_names_the_line_as_it_does_without_a_profile() -> None:
    f = autojit.jit(lambda x: np.linalg.cholesky(x))
    p = autojit.profile()
    with pytest.raises(np.linalg.LinAlgError) as caught, p:
        f(-np.eye(3))
    assert any(__file__ in note for note in caught.value.__notes__)


def test_threads_are_seen() -> None:
    f = autojit.jit(loss)
    f(W, X)

    def work() -> None:
        for _ in range(10):
            f(W, X)

    with autojit.profile() as p:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert only(p).count == 30
    assert len(p.recorder.threads) == 3


def test_a_call_that_goes_on_after_the_profile_is_not_counted() -> None:
    begun, over = threading.Event(), threading.Event()

    def waits(a: Any) -> Any:
        begun.set()
        over.wait(30)
        return a

    f = autojit.jit(lambda x: autojit.pure_callback(waits, x, x) + 1.0)
    thread = threading.Thread(target=lambda: f(np.ones(3)))
    with autojit.profile() as p:
        thread.start()
        assert begun.wait(30)
    over.set()
    thread.join()
    assert report_of(p).functions == []


def test_a_callback_may_call_compiled_code() -> None:
    inner = autojit.jit(np.exp)
    f = autojit.jit(lambda x: autojit.pure_callback(inner, x, x) + 1.0)
    p = profiled(lambda: f(np.ones(5)))
    assert sorted(found.name for found in report_of(p).functions) == ["<lambda>", "exp"]


def test_after_a_profile_calls_are_native_again() -> None:
    f = autojit.jit(lambda x: x * 1.5)
    profiled(lambda: f(X))
    hits = f.cache_info().hits
    f(X)
    assert f.cache_info().hits == hits  # which native calls do not count


def test_a_profile_without_anything() -> None:
    p = profiled(lambda: None)
    assert report_of(p).phases == []
    assert "profile of" in str(p)
    assert "no line" in p.source()


def test_a_profile_is_used_once_and_begun_before_it_is_asked() -> None:
    p = autojit.profile()
    with pytest.raises(ProfileError, match=r"with autojit.profile\(\) as p"):
        str(p)
    assert repr(p) == "<profile, not begun>"
    with p:
        pass
    with pytest.raises(ProfileError, match="already been used"), p:
        pass


def test_a_line_knows_what_was_estimated() -> None:
    line = Line()
    line.add(1.0, backward=False, estimated=False)
    line.add(0.01, backward=True, estimated=True)
    assert not line.is_estimated
    line.add(1.0, backward=True, estimated=True)
    assert line.is_estimated
    assert (line.forward, line.backward) == (1.0, 1.01)
