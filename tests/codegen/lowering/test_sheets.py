"""Sheets compute the same results as code, read back as text, and are refused if impossible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad
from autojit.codegen.driver.executable import Executable, run_loops
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.sheets import OWN, ROW, Sheet
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_ir.vocabulary import PREDICATES, WORDS
from autojit.codegen.loop_text.equality import difference
from autojit.codegen.loop_text.interpreter import interpret_loops
from autojit.codegen.loop_text.parse import ParseError, parse_loops
from autojit.codegen.loop_text.printer import print_loops
from autojit.codegen.loop_text.sheets import arity
from autojit.codegen.lowering import sheets
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from tests.samples import SAMPLES, Sample
from tests.test_programs import total

pytestmark = pytest.mark.optimised

X = np.linspace(0.2, 0.9, 6)


@pytest.fixture(autouse=True)
def _sheets_from_one_operation_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "LEAST", 1)


def sheet(program: Program) -> LoopProgram:
    made = lower(optimize(program))
    assert [type(step) for step in made.steps] == [Sheet]
    return made


def put(prices: Any) -> Any:
    values = [max(1 - p, 0.0) for p in prices]
    while len(values) > 1:
        values = [max(0.9 * a + 0.1 * b, 0.2) for a, b in pairwise(values)]
    return values[0]


def pieces(x: Any) -> Any:
    y = np.concatenate([x[3:], np.tanh(x[:3]) * 2])
    return np.sum(y * x[0]) + np.sum(np.where((y > 0.5) & ~(x > 0.4), y, 1 - x))


def shared(x: Any) -> Any:
    """A number combined with an array, and cells that are reused."""
    s = x[1] * x[2]
    for k in range(4):
        x = np.sin(x * s) + k * x
    return np.sum(x)


def in_place(x: Any) -> Any:
    """Rows and columns of an array written in place, where each reads all before it."""
    a = np.reshape(np.concatenate([x, x * 2, x * 3]), (3, 6))[:, ::2].copy()
    for i, j in ((0, 1), (2, 0), (1, 1), (0, 2)):
        a[i] = np.tanh(a[i] + 0.1 * a[:, j])
        a[:, j] = a[:, j] * 0.9 + a[i, ::-1]
    return np.sum(a * a.T) + a[1, 2] * np.sum(np.pad(a, 1)[:2])


def old_rows(x: Any) -> Any:
    """An array is read after it was written to, so that the old one is a copy."""
    a = np.reshape(np.concatenate([x, np.sin(x), x * 3]), (6, 3))
    b = a.copy()
    b[2] = a[1] * a[2]
    b[:, 1] = b[:, 0] * a[:, 1]
    return np.sum(a * b) * b[3, 1]


FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "numbers": (lambda x: np.tanh(x * 0.3) * x - np.sin(x) * (1 - x * x), 0.4),
    "arrays": (lambda x: np.sum(np.tanh(x * 0.3) * x - np.sin(x) * (1 - x * x)), X),
    "float32": (lambda x: np.sum(np.exp(-x) * x / (1 + x)), X.astype(np.float32)),
    "lists": (lambda x: put([x * k for k in range(1, 7)]), 0.3),
    "pieces": (pieces, X),
    "shared": (shared, X),
    "in place": (in_place, X),
    "old rows": (old_rows, X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = FUNCTIONS[name]
    program = autojit.trace(autojit.value_and_grad(f))(x)
    loops = sheet(program)
    arrays = [np.asarray(x), *map(np.asarray, program.captured)]
    expected = [np.ravel(v) for v in interpret(program, arrays)]
    tolerance = 1e-5 if np.asarray(x).dtype == np.float32 else 1e-13
    for found in (run_loops(loops, [a.ravel() for a in arrays]), interpret_loops(loops, arrays)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.ravel(a), b, rtol=tolerance, atol=tolerance)
    again = parse_loops(print_loops(loops))
    assert difference(loops, again) is None
    assert print_loops(again) == print_loops(loops)
    assert_no_result_is_read_as_it_is_written(loops)
    monkeypatch.setattr(sheets, "LEAST", 10**9)
    for a, b in zip(Executable(program).call(arrays), expected, strict=True):
        np.testing.assert_allclose(np.ravel(a), b, rtol=tolerance, atol=tolerance)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_samples(sample: Sample) -> None:
    """The gradients of all functions that rows can compute."""
    arguments = sample.draw()
    floats = [i for i, a in enumerate(arguments) if np.asarray(a).dtype.kind == "f"]
    if not floats or not sample.order:
        pytest.skip("it has no gradient by real numbers")
    derived = grad(lambda *a: total(sample.function(*a)), argnums=tuple(floats))
    program = autojit.trace(derived)(*arguments)
    executable = Executable(program)
    if sheets.sheet_of(executable.optimized) is None:
        pytest.skip("it has an op that is no row")
    arrays = [np.asarray(a) for a in (*arguments, *program.captured)]
    for a, b in zip(executable.call(arrays), interpret(program, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def assert_no_result_is_read_as_it_is_written(loops: LoopProgram) -> None:
    (s,) = loops.steps
    assert isinstance(s, Sheet)
    for word, extent, result, *operands in s.table.tolist():
        name = s.words[word]
        written = range(result, result + (1 if name == "sum" else extent))
        assert written.stop <= s.cells.size
        for o in operands[: arity(name)]:
            read = range(~o, ~o + 1) if o < 0 else range(o, o + extent)
            assert not set(read) & set(written)
            assert read.stop <= s.cells.size


#: Numbers of all kinds, and points where functions change.
EDGES = [0.0, -0.0, 0.5, -1.5, 3.0, 1e300, -1e300, 1e-310, np.inf, -np.inf, np.nan]
ALL_WORDS = sorted({*WORDS["f"], *PREDICATES, *OWN} - {"sum"})


def rows_of(words: list[str], extents: tuple[int, ...]) -> LoopProgram:
    """A sheet of each word, with several extents; the operands run through the numbers."""
    pairs = [(word, n) for n in extents for word in words]
    given = Buffer("x", "f64", 3 * len(EDGES), "input")
    size = sum(n for _, n in pairs)
    result = Buffer("y", "f64", size, "output")
    rows, at = [], given.size
    for word, n in pairs:
        operands = [0, len(EDGES) + 3, ~(2 * len(EDGES) + 1)] if n > 1 else [2, 4, 3]
        rows.append([words.index(word), n, at, *operands])
        at += n
    cells = Buffer("cells", "f64", at, "temp")
    made = Sheet(
        cells, (given,), (result,), (given.size,), (), tuple(words),
        np.array(rows, np.int32).tobytes(),
    )  # fmt: skip
    return LoopProgram("words", [given], [result], [made], {cells: 0}, {}, 8 * at)


def test_each_word_at_the_edges() -> None:
    loops = rows_of(ALL_WORDS, (1, 9))
    x = np.array([*EDGES, *EDGES[::-1], *np.roll(EDGES, 4)])
    x[2 * len(EDGES) + 1] = 0.75
    (found,), (expected,) = run_loops(loops, [x]), interpret_loops(loops, [x])
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert not np.array_equal(found[: len(ALL_WORDS)], found[len(ALL_WORDS) :][: len(ALL_WORDS)])


def test_products_and_sums_are_fused_as_in_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y + z, z - x * y, x * y - z, (1 - y * y) * x, x * y + y * z

    program = autojit.trace(f)(0.1, 0.2, 0.3)
    by_sheet = Executable(program)
    (step,) = by_sheet.loops.steps
    assert isinstance(step, Sheet)
    by_sheet.prepare()
    monkeypatch.setattr(sheets, "LEAST", 10**9)
    by_code = Executable(program)
    for numbers in np.random.default_rng(0).normal(size=(50, 3)):
        arrays = [np.array(n) for n in numbers]
        assert by_sheet.call(arrays) == by_code.call(arrays)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(x * np.arange(3)), np.arange(3)),
        (lambda x: x * (1 + 2j), 1.0),
        (lambda x: x.astype(np.float32) * np.float32(2), X),
        (lambda x: x > 0.5, X),
        (lambda x: np.sum(x, axis=0) * 2, np.ones((2, 3))),
        (lambda x: np.cumsum(x) * 2, X),
        (lambda x: x[:0] * 2, X),
        (lambda x: x[np.argsort(x)] * 2, X),
        (lambda x: autojit.fori_loop(0, 9, lambda i, y: y * 2, x), X),
        (lambda x: autojit.scipy.special.j0(x) * 2, X),
    ],
)
def test_what_rows_do_not_compute_is_code(f: Callable[..., Any], x: Any) -> None:
    assert sheets.sheet_of(optimize(autojit.trace(f)(x))) is None


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x.T * 2, np.arange(6.0).reshape(2, 3)),
        (lambda x: x[::2] * 2, X),
        (lambda x: x[::-1, 1:] * 2, np.arange(6.0).reshape(2, 3)),
        (lambda x: np.concatenate([x, 2 * x], axis=1) * 2, np.arange(6.0).reshape(2, 3)),
        (lambda x: x[None, :] * x[:, None] + 1, X),
        (lambda x: np.pad(x, 2) + 1, X),
        (lambda x: np.where(np.pad(x > 1, 1), 2.0, 3.0), np.arange(6.0).reshape(2, 3)),
    ],
)
def test_moves_are_copies_of_runs(f: Callable[..., Any], x: np.ndarray) -> None:
    loops = sheet(autojit.trace(f)(x))
    for found in (run_loops(loops, [x.ravel()]), interpret_loops(loops, [x])):
        np.testing.assert_allclose(np.ravel(found[0]), np.ravel(f(x)), rtol=1e-15)


@pytest.mark.parametrize(("reads_old", "copies"), [(False, 0), (True, 1)])
def test_an_array_keeps_its_cells_if_nothing_reads_the_old_one(
    reads_old: bool, copies: int
) -> None:
    def f(x: Any) -> Any:
        a = np.sin(x)
        b = a.copy()
        b[1] = np.cos(x[0])
        return np.sum(b * a) if reads_old else np.sum(b)

    x = np.arange(12.0).reshape(3, 4)
    loops = sheet(autojit.trace(f)(x))
    (s,) = loops.steps
    assert isinstance(s, Sheet)
    names = [s.words[word] for word, *_ in s.table.tolist()]
    assert names.count("copy") == 1 + 2 * copies  # the row, and the rows before and after it
    np.testing.assert_allclose(run_loops(loops, [x.ravel()])[0], f(x), rtol=1e-13)


def test_work_of_windows_and_loops_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        y[1] = 0.5
        return y

    program = optimize(autojit.trace(f)(np.ones((3, 3))))
    work = sum(map(sheets._work, program.ops))
    assert work >= sheets.WINDOW + sheets.LOOP
    monkeypatch.setattr(sheets, "LEAST", work)
    assert sheets.sheet_of(program) is not None
    monkeypatch.setattr(sheets, "LEAST", work + 1)
    assert sheets.sheet_of(program) is None


def test_long_arrays_and_short_programs_are_code(monkeypatch: pytest.MonkeyPatch) -> None:
    short = optimize(autojit.trace(lambda x: np.sin(x) * 2)(0.5))
    assert (
        sheets.sheet_of(optimize(autojit.trace(lambda x: np.sin(x))(np.ones(sheets.MEAN + 1))))
        is None
    )
    assert sheets.sheet_of(short) is not None
    monkeypatch.setattr(sheets, "LEAST", len(short.ops) + 1)
    assert sheets.sheet_of(short) is None


def test_two_sheets_differ_by_their_rows() -> None:
    loops = rows_of(["add"], (1,))
    (s,) = loops.steps
    assert isinstance(s, Sheet)
    other = replace(s, rows=(s.table + 1).tobytes())
    assert len(s.rows) == 4 * ROW
    assert difference(loops, replace(loops, steps=[other])) is not None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[3] = nothing([0])", "rows have no word nothing"),
        ("[3] = add([0])", "expected ','"),
        ("[3:2] = neg([0])", "expected '\\+'"),
    ],
)
def test_text_that_is_wrong(line: str, problem: str) -> None:
    text = print_loops(rows_of(["add"], (1,)))
    words = text.replace(next(w for w in text.splitlines() if "add(" in w).strip(), line)
    with pytest.raises(ParseError, match=problem):
        parse_loops(words)


@pytest.mark.slow
def test_a_long_chain_compiles_at_once_and_agrees_with_numpy() -> None:
    from bench.latency_probe import operations

    f = operations(10_000)(np, None)
    x = np.linspace(0.1, 0.9, 10)
    value, gradient = autojit.jit(autojit.value_and_grad(f))(x)
    assert value == pytest.approx(f(x), rel=1e-10)
    np.testing.assert_allclose(gradient, grad(f)(x), rtol=1e-8)
