"""What became of branches and loops: ``cache_info()`` counts them, ``dump --remarks`` says why."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from typer.testing import CliRunner

from autojit import errors, grad, jit
from autojit.cli.app import app
from autojit.ir.pass_manager.remarks import collecting

X = np.linspace(0.1, 1.0, 10)


def few_steps(x):
    total = 0.0
    for i in range(5):
        total += x[i]
    return total


def long_loop(x):
    y = 0.0
    for i in range(1000):
        y = np.sin(y * x[i % 10]) + i
    return y


def short_loop(x):
    y = 0.0
    for i in range(10):
        y = np.sin(y + x[i])
    return y


def independent_steps(x):
    total = 0.0
    for i in range(400):
        total += np.sin(x[i % 10]) * i
    return total


def until_small(x):
    y = x[0] * 100
    while y > 1:
        y /= 2
    return y


def traced_range(x):
    total = 0.0
    for i in range(int(x[0] * 50)):
        total += x[1] * i
    return total


def index_of_a_list(x):
    names = [f"{k}" for k in range(40)]
    total = 0.0
    for k in range(40):
        total = np.sin(total + float(names[k]) * x[0])
    return total


def known_while(x):
    k = 0
    while k < 3:
        k += 1
    return x[0] * k


def _remark(f):
    with collecting() as found:
        jit(f).lower(X)
    (remark,) = (r for r in found if r.by == "capture")
    lines, first = inspect.getsourcelines(f)
    (at,) = (n for n, line in enumerate(lines, first) if line.lstrip().startswith(("for", "while")))
    assert remark.place == f"{__file__}:{at}"
    return remark.reason


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (few_steps, "unrolled: 5 steps, and up to 8 are unrolled"),
        (short_loop, "unrolled: 30 operations; a compiled loop pays only above 500"),
        (independent_steps, "captured: its steps do not depend on each other, and became "),
        (long_loop, "captured: 1000 steps of 4 operations would take long to trace"),
        (until_small, "captured: whether there is another step depends on a traced value"),
        (traced_range, "captured: how many steps it has depends on a traced value"),
        (known_while, "unrolled: its condition is known before each step"),
    ],
)
def test_each_loop_has_a_remark(f, words):
    assert _remark(f).startswith(words)


def test_a_body_that_cannot_be_captured():
    assert _remark(index_of_a_list).startswith("unrolled: its body cannot be captured: ")


def branches_and_loops(x):
    total = x[0] if x[1] > 0 else x[2]
    if total > 0:
        total = np.sin(total)
    for v in x:
        if v > total:
            break
        total += v
    for i in range(3):
        total *= i + 1
    return total


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", [branches_and_loops, grad(branches_and_loops)])
def test_lines_are_counted(f):
    compiled = jit(f)
    assert compiled.cache_info()[4:] == (0, 0, 0)
    compiled(X)
    info = compiled.cache_info()
    assert (info.branches, info.loops, info.unrolled) == (3, 1, 1)
    compiled(X[:5])
    assert compiled.cache_info().branches == 3  # the same lines


def test_functions_without_control_flow_have_none():
    compiled = jit(np.sin)
    compiled(X)
    assert compiled.cache_info()[4:] == (0, 0, 0)


def test_remarks_are_printed(tmp_path, monkeypatch):
    code = (
        "def root(a):\n    x = a\n    while abs(x * x - a) > 1e-12:\n        x = (x + a / x) / 2\n"
    )
    (tmp_path / "roots.py").write_text(code + "    return x\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["dump", "roots.py:root", "2.0", "--remarks"])
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith(
        "==== capture: Python loops, compiled as loops or unrolled ====\n\nroots.py:3\n"
        "    captured: whether there is another step depends on a traced value\n"
    )


def five_loops(total, at, x):
    for a in range(2):
        for b in range(2):
            for c in range(2):
                for d in range(2):
                    for e in range(2):
                        total[at + a] += np.sin(total[b + c] * x[d + e])


def nest_of_few_steps(x):
    total = x.copy()
    for a in range(2):
        for b in range(2):
            for c in range(2):
                for d in range(2):
                    for e in range(2):
                        if a - e >= 0:
                            five_loops(total, b + c + d, x)
    return total


def test_a_long_nest_of_short_loops_is_captured():
    call = jit(nest_of_few_steps)
    np.testing.assert_allclose(call(X), nest_of_few_steps(X), rtol=1e-12)
    assert call.cache_info().loops >= 3


def energies(g, h, d):
    s = np.zeros_like(g)
    for k in range(2):
        for e in range(3):
            for q in range(2):
                for w in range(2):
                    for i in range(2):
                        for a in range(4):
                            if e - w >= 0:
                                s[k, e, a] += g[k, e - w, (a + q) % 4] @ h[a, i] * d[q, w, a]
    return s


def test_a_nest_of_products_with_a_condition_is_compiled_once():
    """A step of the inner loops has nothing to do at the end of the outer ones."""
    rng = np.random.default_rng(0)
    args = [rng.normal(size=n) for n in ((2, 3, 4, 3, 3), (4, 2, 3, 3), (2, 2, 4))]
    call = jit(energies)
    np.testing.assert_allclose(call(*args), energies(*args), rtol=1e-12)
    assert call.cache_info().loops >= 4
    assert call.lower(*args).text("optimized").count("= dot") <= 8
    (slope,) = jit(grad(lambda d: np.sum(energies(*args[:2], d) ** 2), argnums=(0,)))(args[2])
    at = (1, 0, 2)
    moved = [args[2].copy() for _ in range(2)]
    moved[0][at] += 1e-6
    moved[1][at] -= 1e-6
    a, b = (np.sum(energies(*args[:2], d) ** 2) for d in moved)
    np.testing.assert_allclose(slope[at], (a - b) / 2e-6, rtol=1e-5)


def unrolled_at_last(x):
    for _ in range(12):
        print("step", end=";")
        x = x * 2
    return x


def with_a_condition(x):
    i = 0
    while i < 3:
        print("step", end=";")
        i += 1
        x = x * 2
    return x


def a_nest(x):
    for i in range(2):
        for j in range(2):
            for k in range(3):
                print(i, j, k, end=";")
                x = x * 2
    return x


def captured_with_a_print(x):
    total, low = 0, 0.0
    for i in range(2000):
        if x > i:
            print("once", end=";")
            low = np.sin(low + x)
        total += low
    return total


@pytest.mark.parametrize("f", [unrolled_at_last, with_a_condition, a_nest])
def test_code_that_runs_to_find_something_out_prints_nothing(f, capsys):
    f(1.0)
    expected = capsys.readouterr().out
    jit(f)(1.0)
    assert capsys.readouterr().out == expected


def test_a_loop_that_is_traced_again_prints_once(capsys):
    jit(captured_with_a_print)(3.0)
    assert capsys.readouterr().out == "once;"


def broken(x):
    for _ in range(12):
        print("before", end=";")
        x = np.reshape(x, (3, 3))
    return x


def test_what_was_printed_before_an_error_is_seen(capsys):
    with pytest.raises(errors.ShapeError):
        jit(broken)(X)
    assert capsys.readouterr().out == "before;"


def test_two_short_loops_run_as_in_python(capsys):
    def f(x):
        for i in range(3):
            for j in range(2):
                print(i, j)
                x = x * 2
        return x

    assert jit(f)(1.0) == 64
    assert capsys.readouterr().out.split("\n")[:-1] == ["0 0", "0 1", "1 0", "1 1", "2 0", "2 1"]
