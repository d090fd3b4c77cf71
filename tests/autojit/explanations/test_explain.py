"""``jit(f).explain``: every number against a count by hand, every reason as a user reads it."""

from __future__ import annotations

import inspect
import json
import warnings
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.driver import peaks
from autojit.codegen.driver.peaks import Peaks
from autojit.errors import UnsupportedTargetError
from autojit.explanations import explaining
from autojit.explanations.explanation import Explanation
from autojit.testing import assert_fused

pytestmark = pytest.mark.optimised

X = np.linspace(0.1, 1, 1000)


@pytest.fixture(autouse=True)
def known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 10 Gflop/s and 8 GB/s, so that times at best can be counted."""
    one = Peaks(10e9, (8e9, 8e9, 8e9, 8e9), 1, "told by a test")
    monkeypatch.setattr(peaks, "_known", Known((one, one._replace(processors=2))))
    monkeypatch.setattr(explaining, "SECONDS", 0.02)


class Known(dict):  # type: ignore[type-arg]
    def __init__(self, found: Any) -> None:
        self.found = found

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: object) -> Any:
        return self.found

    def __setitem__(self, key: object, value: object) -> None:
        """Ignore repeated measurements."""


def normalized(x: Any) -> Any:
    y = np.exp(x)
    total = y.sum()
    return y / total


def cross_entropy(w: Any, x: Any, labels: Any) -> Any:
    z = x @ w
    e = np.exp(z)
    p = e / e.sum(1, keepdims=True)
    return -np.sum(np.log(p) * labels)


def numbers(e: Explanation, f: Any) -> list[list[tuple[int, bool]]]:
    """Return each step's lines, counted from ``def``, and whether they run backward."""
    first = inspect.getsourcelines(f)[1]
    return [[(line.number - first, line.backward) for line in step.lines] for step in e.steps]


def explained(f: Any, *args: Any) -> Explanation:
    found: Explanation = jit(f).explain(*args)
    return found


def test_two_loops_and_why_they_are_two() -> None:
    found = explained(normalized, X)
    assert numbers(found, normalized) == [[(1, False), (2, False)], [(3, False)]]
    assert found.steps[0].lines[0].text == "y = np.exp(x)"
    first, second = found.steps
    assert first.operations == ["exp", "sum"]
    assert second.operations == ["div"]
    (why,) = first.not_fused
    assert why.about == "2"
    assert why.reason == "it reads a result of sum, which is complete only after the last iteration"
    assert second.not_fused == []


def test_amounts_and_times_at_best() -> None:
    found = explained(normalized, X)
    first, second = found.steps
    assert (first.flops, first.functions) == (2000, {"exp": 1000})
    assert (first.bytes_read, first.bytes_written) == (8000, 8000 + 8)
    assert (second.flops, second.bytes_read, second.bytes_written) == (1000, 8000 + 8, 8000)
    assert found.flops == 3000
    assert found.bytes_in_out == 16000
    # a quotient is four additions of the cost model, of which each takes the place of two flops
    assert second.compute_seconds == pytest.approx(2 * 4 * 1000 / 10e9)
    assert second.memory_seconds == pytest.approx(16008 / 8e9)
    assert second.bound == "memory"
    assert second.seconds is not None
    assert second.share == pytest.approx(second.roofline_seconds / second.seconds)
    assert found.seconds is not None
    assert found.seconds > 0
    assert found.calls >= 3


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("f", "args"),
    [(normalized, (X,)), (lambda x: (x @ x) @ x, (np.ones((40, 40)),)), (np.sort, (X,))],
)
def test_temporaries_are_those_of_the_arena(f: Any, args: Any) -> None:
    """Each temporary is listed once, at its first use; each starts at a multiple of 64 bytes."""
    found = explained(lambda *given: f(*given), *args)
    sizes = [size for step in found.steps for size in step.temporaries.values()]
    assert found.temporaries == jit(f).lower(*args).cost()["temporaries"]
    assert sum(sizes) <= found.temporaries <= sum(-(-size // 64) * 64 for size in sizes)


@pytest.mark.slow
def test_what_lies_where_a_result_will() -> None:
    first, _ = explained(normalized, np.ones(300_000)).steps
    assert list(first.reused.values()) == ["out0"]


def test_a_gradient() -> None:
    args = np.ones((8, 3)), np.ones((200, 8)), np.ones((200, 3))
    found = explained(grad(cross_entropy), *args)
    kinds = [step.kind for step in found.steps]
    assert kinds == ["product", "loops", "product"]
    forward, rows, backward = numbers(found, cross_entropy)
    assert forward == [(1, False)]
    assert {(2, False), (3, False), (4, True), (3, True), (2, True)} <= set(rows)
    assert backward == [(1, True)]
    assert found.steps[0].flops == 2 * 200 * 8 * 3
    assert "backward" in found.text()


def test_what_is_stored_for_the_reverse() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        z = np.cumsum(y)
        return np.sum(z * z)

    found = explained(grad(f), X)
    assert found.stored
    for each in found.stored:
        assert each.line is not None
        assert (each.bytes, each.line.text) == (8000, "z = np.cumsum(y)")
    assert "stored for the reverse" in " ".join(found.text().split())


@pytest.mark.slow
def test_what_is_computed_again() -> None:
    def f(x: Any) -> Any:
        y = x * x + 1
        s = np.sum(y)
        return np.sum(np.sin(y * s))

    found = explained(grad(f), X)
    print(found)
    (backward,) = [step for step in found.steps if step.repeated]
    assert "mul" in " ".join(backward.repeated)
    assert not any(each.operation == "mul" for each in found.stored)


def test_steps_in_turn() -> None:
    def oscillator(x: Any, dt: Any) -> Any:
        v = 0.0
        for _ in range(2000):
            v = v - x * dt
            x = x + v * dt
        return x

    (step,) = explained(oscillator, 1.0, 0.01).steps
    assert step.flops == 4 * 2000
    assert step.bound == "order"
    assert [each.lanes for each in step.vectors] == [1]
    assert step.vectors[0].reason is not None
    assert "steps run in turn" in step.vectors[0].reason.reason
    (captured,) = explained(oscillator, 1.0, 0.01).python_loops
    assert captured.reason.startswith("captured: 2000 steps")


def test_vectors_and_threads() -> None:
    (short,) = explained(lambda x: np.tanh(x) * 2, X[:100]).steps
    assert [each.lanes > 1 for each in short.vectors] == [True]
    assert short.no_tasks is not None
    assert short.no_tasks.reason.startswith("it is the work of ")
    (long,) = explained(lambda x: np.tanh(x) * 2, np.ones(10**6)).steps
    assert long.tasks > 1
    assert long.no_tasks is None


def test_library_calls() -> None:
    found = explained(lambda a: np.linalg.cholesky(a).sum(), np.eye(30))
    call = found.steps[0]
    assert (call.kind, call.title, call.library) == ("cholesky", "cholesky [30,30]", "dpotrf")
    assert call.flops == sum(k * k for k in range(1, 31))
    assert call.not_fused[0].reason == "this is a library call"


@pytest.mark.slow
def test_an_argument_that_is_returned() -> None:
    found = explained(lambda x: (x, x + 1), X)
    assert "no line of yours" in found.text()


@pytest.mark.slow
def test_where_the_code_was() -> None:
    f = jit(lambda x: np.cosh(x) * 1.25)
    assert f.explain(X).cache == "compiled anew"
    assert f.explain(X).cache == "memory"
    assert jit(lambda x: np.cosh(x) * 1.25).explain(X).cache == "disk"


@pytest.mark.slow
def test_lines_of_functions_that_are_alike() -> None:
    """Lines are not reused from another function with the same operations."""
    here = explained(grad(lambda x: np.sum(np.exp(x) * x)), X)
    there = explained(grad(lambda x: np.sum(np.exp(x) * x)), X)
    assert here.steps[0].lines[0].number + 1 == there.steps[0].lines[0].number


@pytest.mark.slow
def test_settings_and_names_are_arguments_too() -> None:
    f = jit(lambda x, n, *, scale: x * n * scale, static_argnums=1)
    (step,) = f.explain(X, 3, scale=2.0).steps
    assert step.flops == 2000


@pytest.mark.sampled(4)
@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("f", [normalized, grad(lambda x: np.sum(normalized(x) ** 2))])
def test_text_fits(f: Any, width: int) -> None:
    text = explained(f, X).text(width)
    assert max(map(len, text.splitlines())) <= width
    begun = [line.split()[0] for line in text.splitlines() if line[:1].isalpha()]
    assert begun[:5] == ["normalized:" if f is normalized else "main:", "loops", "bytes", "time",
                         "bound"]  # fmt: skip


def test_json_and_html() -> None:
    found = explained(normalized, X)
    read = json.loads(found.json())
    assert read["flops"] == found.flops
    assert [step["bound"] for step in read["steps"]] == [step.bound for step in found.steps]
    page = found._repr_html_()
    assert "y = np.exp(x)" in page
    assert page.count("<details") == page.count("</details>") == len(found.steps) + 1
    assert str(found) == found.text()
    assert repr(found) == "<explanation of normalized: 2 steps>"


@pytest.mark.slow
def test_html_escapes() -> None:
    f = jit(lambda x: np.where(x < 0.5, x, "<b>" and 1.0))
    assert "<b>" not in f.explain(X)._repr_html_().replace("<b>1</b>", "")


def test_other_devices_are_refused() -> None:
    with pytest.raises(UnsupportedTargetError, match="those of code for the CPU"):
        assert_fused(jit(np.sin, device="cuda"), X)


def test_a_busy_machine_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    from autojit.explanations import steps

    slow = Peaks(1.0, (1.0,) * 4, 1, "told")
    monkeypatch.setattr(steps, "peaks", lambda: (slow, slow))
    fast = slow._replace(flops=1e15, bandwidths=(1e15,) * 4)
    monkeypatch.setattr(steps, "measure_again", lambda: asked.append(1) or (fast, fast))
    (step,) = explained(np.sin, X).steps
    assert asked == [1]
    assert step.share is not None
    assert step.share < 1


def test_warnings_are_those_of_the_call() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explained(lambda x: np.log(x), np.zeros(3))


# -- bodies ------------------------------------------------------------------------------


def recurrence(x: Any) -> Any:
    h = x
    for _ in range(600):
        h = np.tanh(h * 0.9 + x)
        h = h / np.sqrt(np.sum(h * h))
    return h


def settled(x: Any) -> Any:
    while np.sum(x) > 1.0:
        x = np.sin(x) * 0.9 if x[0] > 0.5 else x * 0.5
    return x


@pytest.mark.slow
def test_bodies_are_shown_one_by_one() -> None:
    first = inspect.getsourcelines(recurrence)[1]
    (step,) = explained(recurrence, X).steps
    parts = [(p.number, p.title, p.runs, p.flops, p.functions) for p in step.inside]
    assert parts == [
        # a product, a sum, tanh, and the square with its sum
        ("1.1", "loop over 1,000", 600, 5 * 1000, {"tanh": 1000}),
        ("1.2", "loop over 1,000", 600, 1000, {}),
        ("1.3", "numbers, without a loop", 600, 1, {"sqrt": 1}),
    ]
    assert [{line.number - first for line in p.lines} for p in step.inside] == [{3, 4}, {4}, {4}]
    assert [[v.lanes > 1 for v in p.vectors] for p in step.inside] == [[True], [True], []]
    assert sum(p.flops * (p.runs or 0) for p in step.inside) == step.flops
    # Loops are timed one by one, and together take no longer than the whole.
    times = [p.seconds for p in step.inside if p.is_nest]
    assert all(times)
    assert step.seconds is not None
    assert sum(t for t in times if t) < 1.5 * step.seconds


@pytest.mark.slow
def test_bodies_of_loops_of_unknown_length_and_of_branches() -> None:
    found = explained(settled, X)
    (step,) = found.steps
    assert {p.runs for p in step.inside} == {None}
    assert sum(p.is_nest for p in step.inside) == 3
    assert "1.1  loop over 1,000, in each step" in found.text()
    found = explained(scan_of_branches, X)
    (scan,) = found.steps
    assert {(p.runs, p.runs_at_most) for p in scan.inside if p.is_nest} == {(700, True)}
    assert "at most 700 times" in found.text()


def scan_of_branches(x: Any) -> Any:
    for _ in range(700):
        x = np.sin(x) * 0.9 if x[0] > 0.5 else np.cos(x)
    return x


@pytest.mark.slow
def test_bodies_in_every_form() -> None:
    found = explained(recurrence, X)
    text = found.text(70)
    assert max(map(len, text.splitlines())) <= 70
    assert "   1.1  loop over 1,000, 600 times" in text
    assert "5,000 flops (1,000 tanh), each time" in " ".join(text.split())
    assert json.loads(found.json())["steps"][0]["inside"][0]["runs"] == 600
    assert "1.1  loop over 1,000<small>600 times" in found.html()


@pytest.mark.slow
def test_steps_without_loops_in_turn_have_no_bodies() -> None:
    assert [step.inside for step in explained(normalized, X).steps] == [[], []]


@pytest.mark.slow
def test_types_in_place_of_arrays() -> None:
    """With types nothing runs or is measured; everything else is the same as with arrays."""
    types = jit(cross_entropy).program(np.ones((8, 3)), np.ones((200, 8)), np.ones((200, 3)))

    def f(tree: Any, labels: Any) -> Any:
        return cross_entropy(tree["w"], tree["x"], labels)

    w, x, labels = types.in_types
    found = jit(grad(f)).explain({"w": w, "x": x}, labels)
    assert found.seconds is None
    assert found.calls == 0
    assert [step.seconds for step in found.steps] == [None] * len(found.steps)
    arrays = jit(grad(f)).explain(
        {"w": np.ones(w.shape), "x": np.ones(x.shape)}, np.ones(labels.shape)
    )
    assert (found.signature, found.flops) == (arrays.signature, arrays.flops)
    assert "not measured" in found.text()
    assert jit(f).lower({"w": w, "x": x}, labels).cost()["flops"] > 0
