"""Programs that were slow once, held by counts: operations, loops, Python calls, copies.

Other counts are beside what they count: Python calls of long traces in
`staging/test_tracing_time.py`, vector code of gathers in `loop_passes/test_scatters.py`, copies of
arrays in Fortran order in `dispatch/test_layouts.py`, and traces without `jit` in
`transformations/test_kept_traces.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.ir.core.program import Program
from autojit.session.transform_cache import clear
from bench import tracing_programs


def loops(f: Callable[..., Any], *args: Any) -> str:
    return str(jit(f).lower(*args).text("loops"))


def operations(program: Program) -> int:
    """Count the operations, those in bodies too."""
    return sum(1 + sum(map(operations, op.programs)) for op in program.ops)


def events(work: Callable[[], object]) -> int:
    """Count the calls of functions, Python's and others."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


# -- first calls --------------------------------------------------------------------------

#: Kernels of NPBench whose loops were unrolled once.
UNROLLED = ["cholesky", "lu", "ludcmp", "seidel_2d", "trmm"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", UNROLLED)
def test_kernels_of_npbench_are_loops(name: str) -> None:
    f, arguments = getattr(tracing_programs, name)(64)
    assert operations(autojit.trace(grad(f))(*arguments)) < 300


def two_arrays(n: int) -> tuple[int, int]:
    f, arguments = tracing_programs.two_arrays_in_place(n)
    return operations(autojit.trace(f)(*arguments)), operations(autojit.trace(grad(f))(*arguments))


def test_arrays_written_in_place_are_one_loop_of_any_length() -> None:
    assert two_arrays(300) == two_arrays(919)


def walked_set(n: int) -> tracing_programs.Made:
    """A graph, walked in the order in which a set gives its nodes."""
    rng = np.random.default_rng(0)
    nodes = [object() for _ in range(n)]
    parents = {node: nodes[int(rng.integers(0, max(k, 1)))] for k, node in enumerate(nodes)}
    walked = list(set(nodes))

    def f(x: Any) -> Any:
        values = dict.fromkeys(nodes, x)
        for node in walked:
            values[node] = np.tanh(values[parents[node]] * 0.5 + values[node])
        return sum(values[node] for node in walked)

    return f, (0.3,)


LONG = [
    (tracing_programs.two_arrays_in_place, 60), (tracing_programs.mixture, 60),
    (tracing_programs.binomial_tree, 30), (walked_set, 120),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore::autojit.errors.UnrolledLoopWarning")
@pytest.mark.usefixtures("uncaptured")
@pytest.mark.parametrize(("make", "least"), LONG)
def test_the_work_of_a_trace_is_linear(
    make: Callable[[int], tracing_programs.Made], least: int
) -> None:
    counts = []
    for n in (least, 2 * least):
        f, arguments = make(n)
        derived = autojit.trace(grad(f))
        clear()
        counts.append(events(lambda d=derived, a=arguments: d(*a)))  # type: ignore[misc]
    assert counts[1] < 2.3 * counts[0]


# -- calls of compiled code -----------------------------------------------------------------


def by_elements(first: Any, k: Any) -> Any:
    s = first.copy()
    for _ in range(1000):
        right, left = s[1], -k * s[0]
        s[0] = s[0] + 0.01 * right
        s[1] = s[1] + 0.01 * left
    return np.sum(s)


def by_rows(first: Any, k: Any) -> Any:
    s = first.copy()
    for _ in range(1000):
        s = s + 0.01 * np.array([s[1], -k * s[0]])
    return np.sum(s)


def arithmetic(f: Callable[..., Any]) -> dict[str, int]:
    """Count the additions and multiplications of a step."""
    (step,) = re.findall(r"for \w+ in 0\.\.1000:.*?(?=\n    \S)", loops(f, np.ones(2), 2.0), re.S)
    return {word: step.count(f" {word} ") for word in "*+"}


def test_a_state_written_element_by_element_costs_what_a_row_costs() -> None:
    elements, rows = arithmetic(by_elements), arithmetic(by_rows)
    assert elements["+"] == rows["+"] == 2
    assert elements["*"] <= 3


def test_a_returned_array_is_filled_where_it_is_returned() -> None:
    def filtered(x: Any) -> Any:
        y = np.zeros(len(x))
        for i in range(1, len(x)):
            y[i] = 0.5 * y[i - 1] + x[i]
        return y

    def with_a_sum(x: Any) -> Any:
        y = np.exp(x)
        return y, np.sum(y)

    x = np.ones(5000)
    for f in (filtered, with_a_sum, lambda x: np.cumsum(x), lambda x: np.sort(x)):
        text = loops(f, x)
        assert not re.search(r"temp \w+: f64\[5000\]", text)
        assert "copy" not in text


@pytest.mark.parametrize("f", [np.sort, np.argsort])
def test_rows_are_sorted_as_they_lie(f: Any) -> None:
    text = loops(lambda x: f(x, axis=1), np.ones((40, 300)))
    assert f"out0 by (300, 1) = {f.__name__}(in0 by (300, 1))" in text
    assert "kernel" not in text


def test_a_median_of_rows_sorts_them_once() -> None:
    text = loops(lambda x: np.median(x, axis=1), np.ones((40, 300)))
    assert text.count("= sort(") == 1
    assert text.count("kernel") == 1


def test_a_call_with_a_static_argument_runs_few_functions() -> None:
    x = np.ones(3)
    plain, chosen = jit(lambda x: x * 2), jit(lambda x, mode: x * 2 if mode == "a" else x)
    named = jit(lambda x, n: x * n, static_argnames="n")
    for run, most in (
        (lambda: plain(x), 4), (lambda: chosen(x, "a"), 12), (lambda: named(x, n=3), 12)
    ):  # fmt: skip
        run(), run()
        assert events(run) <= most
