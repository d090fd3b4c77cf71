"""Printing and parsing."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autojit.ir
from autojit.ir.core.declaration import Declaration, full
from autojit.ir.core.program import Builder, Program, Source, Value, building
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import DTYPE_NAMES, Type, parse_type
from autojit.ir.tools.text import ParseError, parse, print_static
from tests.ir.random_programs import programs
from tests.sampling import share

EXAMPLES = settings(max_examples=share(150), derandomize=True, deadline=None)


@EXAMPLES
@given(programs())
def test_text_reads_back(program: Program) -> None:
    text = program.text()
    again = parse(text)
    assert again == program
    assert again.text() == text


#: Drawing from all of Unicode first reads its tables, which takes four seconds.
CHARACTERS = [*map(chr, range(256)), "\u2028", "\u20ac", "\U0001f600"]

STATIC = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers(allow_nan=True)
    | st.text(st.sampled_from(CHARACTERS))
    | st.sampled_from(list(DTYPE_NAMES)),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


class Anything(Declaration):
    """An op with one parameter of any kind."""

    parameters = ("body",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        return types


@pytest.fixture(scope="module")
def anything() -> Any:
    kind = Anything("test_any")
    yield kind
    del REGISTRY["test_any"]


def program_with(kind: Declaration, *params: Any) -> Program:
    builder, x, y = Builder(), Value(parse_type("f64[]")), Value(parse_type("i64[2]"))
    results: tuple[Value, ...] = (x, y)
    for param in params:
        results = builder.emit(kind, results, {"body": param})
    return builder.finish([x, y], results)


@EXAMPLES
@given(value=STATIC)
def test_parameters_read_back(anything: Declaration, value: Any) -> None:
    program = program_with(anything, value)
    assert parse(program.text()) == program


def test_programs_as_parameters_read_back(anything: Declaration) -> None:
    body = program_with(anything, 1, "two")
    program = program_with(anything, body, 3, program_with(anything, body))
    text = program.text()
    assert parse(text) == program
    assert parse(text).text() == text
    assert text.splitlines()[1:5] == [
        "  %2: f64[], %3: i64[2] = test_any %0, %1 {body=program main(%0: f64[], %1: i64[2]) {",
        "    %2: f64[], %3: i64[2] = test_any %0, %1 {body=1}",
        "    %4: f64[], %5: i64[2] = test_any %2, %3 {body='two'}",
        "    return %4, %5",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2j, "(0+2j)"),
        (-2j, "(-0-2j)"),
        (complex(0.0, -2.0), "(0-2j)"),
        (complex(np.nan, -np.inf), "(nan-infj)"),
        (complex(-0.0, np.nan), "(-0+nanj)"),
        (-0.0, "-0.0"),
        (float("-inf"), "-inf"),
        (1e300, "1e+300"),
        ((1,), "(1,)"),
        ((), "()"),
        ((True, (None, "a\n")), "(True, (None, 'a\\n'))"),
        (np.dtype("c8"), "c64"),
    ],
)
def test_parameters_as_text(value: Any, text: str) -> None:
    assert print_static(value) == text


def test_names() -> None:
    for name in ("f", "<lambda>", "it's", "naïve"):
        assert parse(Program([], [], [], name=name).text()).name == name


def test_sources() -> None:
    builder, x = Builder(lambda: Source("model.py", 12)), Value(parse_type("f64[]"))
    with building(builder):
        y = x + 1.0
    program = builder.finish([x], [y])
    assert program.text(sources=True).splitlines()[2] == "  %2: f64[] = add %0, %1  # model.py:12"
    assert parse(program.text(sources=True)) == program
    assert "#" not in program.text()


def test_comments_blank_lines_and_names_of_values() -> None:
    program = parse(
        "\n# A comment\nprogram main(%in: f64[3]) {  # another\n\n"
        "  %out_1: f64[3]=sin %in\n   # more\n\n  return %out_1\n\n}\n# the end\n"
    )
    assert program.text().splitlines()[1] == "  %1: f64[3] = sin %0"


def test_windows_line_ends() -> None:
    assert parse("program main() {\r\n  return\r\n}\r\n") == Program([], [], [])


BODY = "program main(%x: f64[3], %i: i64[]) {{\n  {}\n  return %x\n}}"


@pytest.mark.parametrize(
    ("line", "words", "caret"),
    [
        ("%y: f64[3] = sinus %x", "there is no op named 'sinus'", "sinus"),
        ("%y: f64[3] = sin %z", "%z is not defined before this line", "%z"),
        ("%y: f64[3] = sin %y", "%y is not defined", "%y\n"),
        ("%x: f64[3] = sin %x", "%x is defined twice", "%x:"),
        ("%y: f64[4] = sin %x", r"%y is f64\[3\], not f64\[4\]", "%y"),
        ("%y: f64 = sin %x", r"expected a type like f64\[3,4\] or f64\[\], got f64", "f64 "),
        ("%y: f65[3] = sin %x", "unknown dtype 'f65'", "f65"),
        ("%y: f64[3] = sin %x, %x", "sin takes 1 operands, got 2", "sin"),
        ("%y: f64[3] = sin %x,", r"expected a value \(%name\), got the end of the line", "\n"),
        ("%y: f64[3] = add %x, %i", "operands of one shape and dtype", "add"),
        ("%y: f64[3] = sin %x {a=1}", r"sin takes parameters \{\}, got \{a\}", "sin"),
        ("%y: f64[] = sum %x", r"sum takes parameters \{axes\}, got \{\}", "sum"),
        ("%y: f64[] = sum %x {axes=(1,)}", "sum of", "sum"),
        ("%y: f64[] = sum %x {axes=0}", "does not take parameters like these", "sum"),
        ("%y: f64[] = sum %x {axes=(0,), axes=(0,)}", "axes is given twice", "axes=(0,)}"),
        ("%y: f64[] = sum %x {axes=f65}", "expected a number, True, False, None", "f65"),
        ("%y: f64[] = sum %x {axes=(0 1)}", "expected ','", "1)"),
        ("%y: f64[] = sum %x {axes=(0,)", "expected '}', got the end of the line", "\n"),
        ("%y: f64[] sum %x", "expected '=', got sum", "sum"),
        ("%y: f64[3], %z: f64[3] = sin %x", "sin has 1 results, not 2", "sin"),
        ("%y: f64[3] = sin %x exp", "expected the end of the line, got exp", "exp"),
        ("sin %x", r"expected an op \(%name: type = …\) or 'return', got sin", "sin"),
        ("%y: f64[3] = sin %x;", "unexpected character ';'", ";"),
        ("%y: f64[] = constant {dtype=f64, shape=(), value=1}", "takes a Python float", "constant"),
    ],
)
def test_malformed_lines(line: str, words: str, caret: str) -> None:
    with pytest.raises(ParseError, match=words) as caught:
        parse(BODY.format(line))
    error = caught.value
    assert error.line == 2
    _, shown, mark = str(error).split("\n")
    assert shown == f"    {line}"
    # The caret marks the last occurrence of the text.
    assert mark.index("^") == (shown + "\n").rindex(caret)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("", "expected 'program', got the end of the text", 1),
        ("module main() {\n}", "expected 'program', got module", 1),
        ("program (", "expected the name of the program", 1),
        ("program main(%x) {\n  return\n}", "expected ':'", 1),
        ("program main(%x: f64[], %x: f64[]) {\n  return\n}", "%x is defined twice", 1),
        ("program main() {\n}", "or 'return', got }", 2),
        ("program main() {\n  return\n", "expected '}', got the end of the text", 3),
        ("program main() {\n  return\n}\nmore", "expected the end of the text, got more", 4),
        ("program main() { return }", "expected the end of the line", 1),
    ],
)
def test_malformed_programs(text: str, words: str, line: int) -> None:
    with pytest.raises(ParseError, match=f"line {line}: .*{re.escape(words)}"):
        parse(text)


def test_parse_error_is_a_value_error() -> None:
    assert issubclass(ParseError, ValueError)


def test_example_of_the_grammar() -> None:
    grammar = (Path(autojit.ir.__file__).parent / "GRAMMAR.md").read_text(encoding="utf-8")
    written, printed = re.findall(r"```text\n(.*?)```", grammar, re.DOTALL)[:2]
    program = parse(written)
    assert program.text() == printed.strip()
    mean, large = program(np.array([1.0, 2.0, 3.0, 4.0]))
    assert mean == 7.5
    assert large


def test_grammar_names_every_dtype() -> None:
    grammar = (Path(autojit.ir.__file__).parent / "GRAMMAR.md").read_text(encoding="utf-8")
    rule = grammar[grammar.index("dtype      =") : grammar.index("value      =")]
    assert re.findall(r'"(\w+)"', rule) == list(DTYPE_NAMES.values())


def test_time_to_print_grows_in_proportion() -> None:
    def seconds(length: int) -> float:
        builder, x = Builder(), Value(parse_type("f64[3]"))
        with building(builder):
            y = x
            for _ in range(length):
                y = y + full(1, x.type)
        program = builder.finish([x], [y])
        best = np.inf
        for _ in range(3):
            start = time.process_time()  # independent of the load of the machine
            program.text()
            best = min(best, time.process_time() - start)
        return float(best)

    assert seconds(1600) < 40 * seconds(200)  # 8 if linear, 64 if quadratic
