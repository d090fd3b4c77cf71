"""Messages of exceptions have the values that Python shows in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import errors, grad, jit, trace, value_and_grad, vmap
from autojit.ir.ops.checks import Reported
from autojit.ir.tools.interpreter import interpret
from autojit.staging import failing_lines
from tests.autojit.capture.asserting import asserted, asserted_value

TABLE = np.arange(12.0).reshape(3, 4)


def in_a_format(x):
    if x < 0:
        raise ValueError(f"negative: {x}, {x!r}, {x:.3f}, {x=:8.1e}|")
    return x


def by_percent(x):
    if x < 0:
        raise ValueError("negative: %.3f, %s, 100%%" % (x, "seen"))  # noqa: UP031
    return x


def by_str_and_format(x):
    if x < 0:
        raise ValueError("negative: " + str(x) + " {:6.2f}".format(x))  # noqa: UP032
    return x


def computed_for_the_message(x):
    if x < 0:
        y = x
        for i in range(20):
            y = y * 0.9 - i
        raise ValueError(f"y is {y:.3e}, {[x, y]}")
    return x


def several_arguments(x):
    if x < 0:
        raise ValueError("negative", x, 3, None)
    return x


def by_a_name(x):
    words = f"negative: {x}"
    if x < 0:
        raise ArithmeticError(words)
    return x


def in_a_callee(x):
    def checked(y):
        if y < 0:
            if y < -3:
                raise ValueError(f"below -3: {y} of {x}")
            raise ValueError(f"below 0: {y} of {x}")
        return y

    return checked(x + 1) + checked(x - 1)


def on_both_ways(x):
    if x > 3:
        return x
    if x > 1:
        raise ValueError(f"a {x}")
    raise ValueError(f"b {x}")


def an_array_that_changes(x):
    y = np.array([x, 2.0])
    words = f"before {y}"
    y[0] = 7.0
    if x < 0:
        raise ValueError(words + f", after {y}")
    return y.sum() * x


def in_a_recursion(x):
    def down(y):
        if y < -2:
            raise ValueError(f"deep: {y}")
        return y if y > 5 else down(y - 1)

    return down(x)


def raised_again(x):
    try:
        if x < 0:
            raise KeyError(f"inner {x}")
    except KeyError as error:
        raise ValueError(f"outer {x}") from error
    return x


def in_a_while(x):
    steps = 0
    while abs(x) > 0.1:
        x, steps = x / 2, steps + 1
        if steps > 5:
            raise RuntimeError(f"{x} after {steps}", steps)
    return x


FUNCTIONS = [
    in_a_format, by_percent, by_str_and_format, computed_for_the_message, several_arguments,
    asserted, asserted_value, by_a_name, in_a_callee, on_both_ways, an_array_that_changes,
    in_a_recursion, raised_again, in_a_while,
]  # fmt: skip


def raised(f: Callable[..., Any], *args: Any) -> Any:
    try:
        f(*args)
    except Exception as error:
        return type(error), error.args, [type(x) for x in error.args]
    return None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("x", [-1.5, np.float32(-2), -400.0, 7.0])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_arguments_are_pythons(f, x):
    assert raised(jit(f), x) == raised(f, x)
    assert raised(jit(grad(f)), x) == raised(f, x)


def sums_roots(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(f"x[{i}] = {x[i]:.2f}", i)
        total = np.sin(total) + x[i]
    return total


def two_checks_in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 5:
            raise ValueError(f"above: {i}")
        if total > 2.5:
            raise ValueError(f"sum: {total}")
        total += x[i]
    return total


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", [sums_roots, two_checks_in_a_loop])
@pytest.mark.parametrize("size", [5, 300, 40_000])
def test_the_first_failing_step(f, size):
    """Also where the interpreter would take too long, and another run of the code tells."""
    x = np.ones(size) * 1.25
    x[-2:] = [-1, -2] if f is sums_roots else [6, 7]
    if f is two_checks_in_a_loop:
        x[1:-2] = 0.0
    assert raised(f, x) is not None
    for compiled in (jit(f), jit(value_and_grad(f))):
        assert raised(compiled, x) == raised(f, x)


INDICES: dict[str, tuple[Callable[..., Any], Any]] = {
    "rows": (lambda x, i: x[i].sum(), 3),
    "from the end": (lambda x, i: x[i].sum(), -4),
    "columns": (lambda x, i: x[:, i].sum(), 4),
    "of an element": (lambda x, i: x[i, i], 3),
    "transposed": (lambda x, i: x.T[i].sum(), 4),
    "assigned": (lambda x, i: _assigned(x, i), 9),
    "an array": (lambda x, i: x[i].sum(), np.array([1, -5, 2])),
    "unread": (lambda x, i: (x[i], x.sum())[1], 3),
}


def _assigned(x: Any, i: Any) -> Any:
    y = np.zeros(4)
    y[i] = 1.0
    return (x * y).sum()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", INDICES)
def test_indices_out_of_bounds(name):
    f, index = INDICES[name]
    assert raised(f, TABLE, index)[0] is IndexError
    assert raised(jit(f), TABLE, index) == raised(f, TABLE, index)


def test_an_index_in_a_long_loop():
    def f(x, n):
        total, i = 0.0, 0
        while i < n:
            total += x[i // 10_000]
            i += 1
        return total

    x = np.ones(5)
    assert raised(jit(f), x, 60_000) == raised(f, x, 60_000)


def test_known_arguments_of_other_types():
    def f(x):
        if x < 0:
            raise KeyError(5)
        return x

    assert raised(jit(f), -1.0) == raised(f, -1.0) == (KeyError, (5,), [int])


def test_handlers_and_print_see_the_type(capsys):
    def f(x):
        try:
            if x < 0:
                raise ValueError(f"negative: {x}")
        except ValueError as error:
            print(len(f"{error}") > 10, x)
            return 0.0
        return x

    assert jit(f)(-1.0) == 0.0
    assert "Tracer<f64[]>" in capsys.readouterr().out


def test_each_element_of_a_batch_has_its_own_message():
    def f(x):
        if x > 0:
            if x > 2:
                raise ValueError(f"above two: {x}")
            return x * 2
        if x < -5:
            raise ValueError(f"below -5: {x}")
        return -x

    x = np.array([1.0, -1.0, 3.0, 4.0])
    with pytest.raises(ValueError, match=r"^above two: 3.0\n"):
        jit(vmap(f))(x)
    with pytest.raises(ValueError, match=r"^below -5: -6.0\n"):
        jit(vmap(f))(np.array([1.0, -6.0]))


def test_a_format_that_does_not_fit_the_value():
    def f(x):
        if x < 0:
            raise ValueError(f"{x:d}")
        return x

    with pytest.raises(ValueError, match="Unknown format code 'd'"):
        jit(f)(-1.0)


def test_other_uses_of_a_format_are_refused():
    with pytest.raises(errors.ConcreteValueError, match="formatting x as"):
        jit(lambda x: x * len(f"{x:.3f}"))(1.0)


# -- the op ----------------------------------------------------------------------------------


def reports(program: Any) -> int:
    inner = sum(reports(p) for op in program.ops for p in op.programs)
    return inner + sum(isinstance(op.kind, Reported) for op in program.ops)


def test_generated_code_has_neither_the_op_nor_the_values():
    def silent(x):
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    def telling(x):
        if x < 0:
            y = np.exp(x)
            raise ValueError(f"negative: {x}, {y}")
        return np.sqrt(x)

    def loops(f: Any) -> str:
        return jit(grad(f)).lower(2.0).text("loops").split("\n", 1)[1]

    words = "negative: Tracer<f64[]>, Tracer<f64[]>"
    assert reports(trace(telling)(2.0)) == 1
    assert loops(telling).replace(words, "negative") == loops(silent)


def test_the_interpreter_watches_what_the_check_says():
    program = trace(in_a_format)(2.0)
    assert reports(program) == 1
    assert interpret(program, [np.array(2.0)]) == [2.0]
    with pytest.raises(ValueError, match="Tracer"):  # the values are found after an error
        interpret(program, [np.array(-2.0)])


def test_a_program_that_reports_computes_the_same():
    from autojit.session.messages import reporting

    x = np.linspace(0.0, 1.0, 50)
    program = trace(sums_roots)(x)
    np.testing.assert_array_equal(interpret(reporting(program), [x]), interpret(program, [x]))


def test_an_error_that_another_run_does_not_raise_stays(monkeypatch):
    monkeypatch.setattr(failing_lines, "MOST_WORK", 0)
    monkeypatch.setattr(failing_lines, "report_by", lambda run, failure: None)
    with pytest.raises(ValueError, match=r"^negative: Tracer<f64\[\]>"):
        jit(in_a_format)(-1.0)
