"""The operation that makes the first NaN or infinity is found, and what is shown instead works."""

from __future__ import annotations

import pickle
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import debug_nans, explain_nan, grad, jit, scan, value_and_grad, vmap
from autojit.errors import NanError, StructureError
from autojit.staging.execute import settings
from autojit.validation import origins
from autojit.validation.nan_report import NanReport

X = np.array([2.0, 1.0, 3.0])


def line_of(f: Callable[..., Any], after: int = 0) -> int:
    return int(f.__code__.co_firstlineno) + after


def shifted_root(x: Any) -> Any:
    return np.sum(np.sqrt(x - 1.0))


DERIVED = {
    "f": shifted_root,
    "jit(f)": jit(shifted_root),
    "grad(f)": grad(shifted_root),
    "jit(grad(f))": jit(grad(shifted_root)),
    "value_and_grad(f)": value_and_grad(shifted_root),
    "grad(jit(f))": grad(jit(shifted_root)),
}


@pytest.mark.parametrize("name", DERIVED)
def test_derivative_alone_is_not_finite(name: str) -> None:
    report = explain_nan(DERIVED[name], X)
    assert report
    assert (report.kind, report.derivative_of, report.element) == ("inf", "sqrt", (1,))
    assert report.value == 0.0
    assert report.line == line_of(shifted_root, 1)
    assert report.source is not None
    assert report.source.function == "shifted_root"
    assert [o.value for o in report.operands] == [1.0, 0.0]
    assert report.operands[1].way == (
        f"line {report.line}, add, sqrt, sub: 0.0",
        "argument 0 at [1]: 1.0",
    )
    words = report.text()
    assert "where its value is finite (0.0)" in words
    assert "return np.sum(np.sqrt(x - 1.0))" in words
    assert "A single np.where does not help" in words


def test_value_is_told_before_the_gradient() -> None:
    report = explain_nan(shifted_root, np.array([2.0, 1.0, 0.5]))
    assert (report.where, report.op, report.kind) == ("the value", "sqrt", "nan")
    assert report.derivative_of is None
    assert report.element == (2,)
    assert [o.value for o in report.operands] == [-0.5]


def test_batches_and_trees() -> None:
    report = explain_nan(vmap(grad(lambda x: np.sqrt(x))), np.array([1.0, 0.0, 2.0]))
    assert (report.derivative_of, report.element) == ("sqrt", (1,))
    report = explain_nan(lambda p, n: np.log(p["a"]) / n, {"a": np.array([1.0, 2.0])}, n=0)
    assert report.op == "div"
    assert report.operands[1].way[-1] == "argument 'n': 0"
    report = explain_nan(lambda p: np.log(p["a"][1] - 2.0), {"a": np.array([1.0, 2.0])})
    assert report.operands[0].way[-1] == "argument 0['a'] at [1]: 2.0"


def test_numbers_that_reach_no_result_are_passed_over() -> None:
    report = explain_nan(lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), np.zeros(2))
    assert not report
    assert report.text() == "There is no NaN and no infinity in the value or in the gradient."


def test_infinity_comes_before_the_nan_that_is_made_of_it() -> None:
    report = explain_nan(lambda x: np.exp(x) / np.sum(np.exp(x)), np.array([1000.0, 1.0]))
    assert (report.op, report.kind, report.element) == ("exp", "inf", (0,))
    assert report.operands[0].value == 1000.0


def test_infinities_of_the_users_own_are_no_fault_but_nan_made_of_them_is() -> None:
    def masked(x: Any) -> Any:
        shifted = np.where(x > 0, x, -np.inf)
        return np.sum(np.exp(shifted - np.max(shifted)))

    assert not explain_nan(masked, np.array([1.0, -1.0]))
    report = explain_nan(masked, np.array([-1.0, -1.0]))
    assert (report.op, report.kind) == ("sub", "nan")
    assert [o.value for o in report.operands] == [-np.inf, -np.inf]
    assert report.line == line_of(masked, 2)


def test_number_of_an_argument() -> None:
    report = explain_nan(lambda x, y: x[1] * y, np.array([1.0, np.nan]), 2.0)
    assert (report.argument, report.element, report.op) == ("argument 0", (1,), None)
    assert report.text() == "the value: the first NaN is in argument 0 at [1]."
    closed = np.array([np.inf, 1.0])
    words = explain_nan(lambda x: x * closed, X[:2]).text()
    assert "an array that the function closes over at [0]" in words


def grows(x: Any) -> Any:
    s = x
    for _ in range(600):
        s = s * 10.0
    return np.sum(s)


def until(x: Any) -> Any:
    while x < 1e300:
        x = np.exp(x)
    return x - x


def stacked(x: Any) -> Any:
    return scan(lambda c, v: (c + v, np.log(v)), 0.0, x)[1]


def nested(x: Any) -> Any:
    def outer(c: Any, row: Any) -> Any:
        return scan(lambda c, v: (c + 1.0 / v, v), c, row)[0], c

    return scan(outer, 0.0, x)[0]


def test_steps_of_loops() -> None:
    report = explain_nan(grows, np.array([1.0, 0.0]))
    assert (report.op, report.element) == ("mul", (0,))
    assert report.steps == ((f"loop at line {report.line}", 308),)
    assert report.line == line_of(grows, 3)
    assert report.operands[0].way[-1].startswith("the step before: 9.99")
    report = explain_nan(until, 2.0)
    assert report.op == "exp"
    assert [step for _, step in report.steps] == [2]
    assert report.operands[0].value == pytest.approx(np.exp(np.exp(2.0)))
    report = explain_nan(stacked, np.array([1.0, 2.0, -1.0, 3.0]))
    assert report.op == "log"
    assert [step for _, step in report.steps] == [2]
    assert report.operands[0].way[-1] == "argument 0 at [2]: -1.0"
    report = explain_nan(nested, np.array([[1.0, 2.0], [0.0, 3.0]]))
    assert (report.op, [step for _, step in report.steps]) == ("div", [1, 0])


def test_steps_of_the_gradient_of_a_loop() -> None:
    def f(x: Any) -> Any:
        return scan(lambda c, v: (c + np.sqrt(v), None), 0.0, x)[0]

    x = np.ones(7)
    x[4] = 0.0
    report = explain_nan(f, x)
    assert report.derivative_of == "sqrt"
    assert [step for _, step in report.steps] == [4]


def test_branches_and_calls() -> None:
    def f(x: Any) -> Any:
        y = np.log(x - 1.0) if x > 0 else x
        return autojit.checkpoint(lambda v: v * 2.0)(y)

    report = explain_nan(f, 1.0)
    assert (report.op, report.kind) == ("log", "inf")
    assert report.steps[-1][0].startswith("branch")
    assert not explain_nan(f, -1.0)


def test_long_loops_are_told_from_their_first_bad_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "MOST_BYTES", 100)
    report = explain_nan(grows, np.array([1.0, 0.0]))
    assert (report.op, report.steps[0][1]) == ("mul", 308)


def test_library_calls() -> None:
    def f(a: Any) -> Any:
        return np.sum(np.linalg.inv(a))

    report = explain_nan(f, np.full((2, 2), np.nan))
    assert report.argument == "argument 0"
    report = explain_nan(lambda a: np.linalg.slogdet(a)[1], np.zeros((2, 2)))
    assert report.kind == "inf"
    assert report.operands[0].type == "f64[2]"


def test_gradient_that_is_refused_is_said() -> None:
    report = explain_nan(lambda x: autojit.pure_callback(np.sin, x, x), X)
    assert not report
    assert "The gradient was not examined: pure_callback calls sin" in report.text()
    assert "no argument or no result is floating point" in explain_nan(lambda n: n + 1, 3).text()


FIXED: list[tuple[str, Any]] = [
    ("np.sum(np.sqrt(x - 1.0))", np.array([2.0, 1.0])),
    ("np.sum(np.sqrt(x - 1.0))", np.array([2.0, 0.0])),
    ("np.sum(x / np.sum(x))", np.array([0.0, 0.0])),
    ("np.sum(x ** 0.5)", np.array([4.0, 0.0])),
    ("np.sum(np.arccos(x))", np.array([0.5, 1.0])),
    ("np.sum(np.log(x) * 2.0)", np.array([4.0, 0.0])),
    ("np.sum(np.exp(x) + 1.0)", np.array([4.0, 1000.0])),
    ("np.sum(np.arccosh(x))", np.array([2.0, 1.0])),
    ("np.sum(np.sqrt(x * x))", np.array([2.0, 0.0])),
]


@pytest.mark.parametrize(("text", "x"), FIXED)
def test_shown_fix_works(text: str, x: Any, tmp_path: Any) -> None:
    report = explain_nan(written(f"return {text}", tmp_path), x)
    assert report
    code = report.fix.split(":\n", 1)[1]
    *first, last = textwrap.dedent(code).splitlines()
    fixed = written("\n".join([*first, f"return np.sum({last})"]), tmp_path)
    assert not explain_nan(fixed, x), report.text()


def written(body: str, folder: Any) -> Callable[[Any], Any]:
    """A function in a file of its own, so that its lines are found."""
    path = folder / f"written{len(list(folder.iterdir()))}.py"
    path.write_text("import numpy as np\ndef f(x):\n" + textwrap.indent(body, "    ") + "\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    made: Callable[[Any], Any] = names["f"]
    return made


# -- debug_nans -------------------------------------------------------------------------


def test_calls_raise_while_it_is_on() -> None:
    f = jit(np.log)
    bad = np.array([1.0, -1.0])
    assert np.isnan(f(bad)[1])
    with debug_nans():
        f(X)
        with pytest.raises(NanError, match=r"log makes the first NaN") as caught:
            f(bad)
        assert isinstance(caught.value, FloatingPointError)
        assert caught.value.report.element == (1,)
        assert "log(-1.0) is nan at [1]" in str(caught.value)
        with pytest.raises(NanError, match="in the derivative of sqrt"):
            grad(shifted_root)(X)
        with autojit.disable_jit(), pytest.raises(NanError):
            f(bad)
        with debug_nans(False):
            f(bad)
        with pytest.raises(NanError):
            f(bad)
    assert np.isnan(f(bad)[1])


def test_numbers_that_the_arguments_hold_do_not_raise() -> None:
    with debug_nans():
        assert np.isnan(jit(np.sin)(np.array([np.nan, 1.0]))[0])
        assert jit(lambda x: x + np.inf)(1.0) == np.inf
        with pytest.raises(NanError, match="sub makes the first NaN"):
            jit(lambda x: x - x)(np.inf)


def test_switch_is_for_all_threads_until_it_is_off() -> None:
    f, raised = jit(np.log), []
    debug_nans(True)
    try:

        def work() -> None:
            try:
                f(-1.0)
            except NanError as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        debug_nans(False)
    assert len(raised) == 1
    assert settings.direct
    f(-1.0)


def test_results_in_trees_and_with_settings() -> None:
    f = jit(lambda x, mode: {"a": np.log(x), "b": x} if mode == "log" else x)
    with debug_nans(), pytest.raises(NanError, match="result 0: log"):
        f(np.array([-1.0]), "log")


def test_number_that_only_compiled_code_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    from autojit.validation import nans

    monkeypatch.setattr(nans, "reported", lambda *given: None)
    with debug_nans(), pytest.raises(NanError, match="Compiled code produced one"):
        jit(np.log)(-1.0)


def test_words_for_misuse() -> None:
    with pytest.raises(StructureError, match=r"not: autojit.explain_nan\(f\(x\)\)"):
        explain_nan(3.0)  # type: ignore[arg-type]


def test_report_prints_and_pickles() -> None:
    report = explain_nan(shifted_root, X)
    assert isinstance(report, NanReport)
    assert repr(report) == str(report) == report.text()
    assert "<pre>the gradient by argument 0" in report._repr_html_()
    again = pickle.loads(pickle.dumps(NanError(report)))
    assert again.report.line == report.line


def test_contexts_that_overlap_leave_nothing_on() -> None:
    f = jit(np.log)
    first, second = debug_nans(), debug_nans()
    first.__exit__()
    with pytest.raises(NanError):
        f(-1.0)
    second.__exit__()
    assert np.isnan(f(-1.0))
