"""Loop programs as C: the text, and its results.

If there is a C compiler, functions are compiled together and compared with the interpreter.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special

import autojit
from autojit.codegen.analysis import verifier
from autojit.codegen.export.loops.c_helpers import helpers_of
from autojit.codegen.export.loops.c_source import INCLUDES, C, c_file, definitions, print_c
from autojit.codegen.export.loops.lines import PRINTERS
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.errors import (
    ENSURED,
    NEGATIVE_POWER,
    NOT_POSITIVE,
    OUT_OF_BOUNDS,
    SINGULAR,
    TargetError,
)
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.traversal import statements
from autojit.codegen.loop_ir.vocabulary import SYMBOLS, WORDS
from autojit.codegen.loop_text.interpreter import flat, interpret_loops, shaped
from autojit.codegen.loop_text.memory import poisoned
from autojit.codegen.loop_text.parse import parse_loops
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CPU
from autojit.ir.core.program import Program
from autojit.ir.core.types import dtype_from_name
from autojit.ir.pass_manager.passes import verify_each
from autojit.ir.passes import optimize
from autojit.ir.tools.interpreter import interpret
from tests.codegen.export.matrices import CASES, OF_C, WITHOUT_SIGNS
from tests.codegen.export.running import interface
from tests.codegen.loop_text.test_interpreter import EAGER, PROGRAMS
from tests.samples import SAMPLES, Sample
from tests.test_programs import programs

COMPILER = shutil.which("cc")
#: A function may have parameters that it does not use.
STRICT = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def compiled(texts: Sequence[str], folder: Path) -> ctypes.CDLL:
    """The functions of one compilation unit."""
    source, library = folder / "functions.c", folder / "functions.so"
    every = [INCLUDES, definitions(), *helpers_of("\n".join(texts)), *texts]
    source.write_text("\n".join(every), encoding="utf-8")
    command = [COMPILER, *STRICT, "-std=c99", "-shared", "-fPIC", "-o", library, source, "-lm"]
    made = subprocess.run(map(str, command), capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[:4000]
    return ctypes.CDLL(str(library))


def call(function: Any, loops: LoopProgram, arrays: Sequence[Any]) -> tuple[list[Any], int]:
    """The outputs, flat, and the status."""
    inputs = [
        np.ascontiguousarray(flat(a, b), dtype_from_name(b.dtype))
        for a, b in zip(arrays, loops.inputs, strict=True)
    ]
    outputs = [poisoned(b.dtype, b.size) for b in loops.outputs]
    status = np.zeros(1, np.int64)
    function.restype = None
    function(*(ctypes.c_void_p(a.ctypes.data) for a in (*inputs, *outputs, status)))
    return outputs, int(status[0])


# -- texts ----------------------------------------------------------------------


def loops(text: str) -> LoopProgram:
    """A loop program from the lines of its statements, which follow the declarations."""
    return parse_loops("loops f:\n" + textwrap.indent(textwrap.dedent(text).strip("\n"), "  "))


SUMS_OF_ROWS = """
    input in0: f64[12]
    output out0: f32[4]
    kernel k0:
      for i in 0..4:
        a0 = 0.0
        for j in 0..3:  # reduces
          s0 = in0[3*i + j]
          s1 = -1.5
          s2 = s0 * s1
          s3 = exp(s2)
          a0 += s3
        s4 = a0
        s5 = f32(s4)
        out0[i] = s5
"""
PLACES = """
    input in0: f64[6]
    input in1: i32[4]
    output out0: f64[5]
    temp t0: i64[4] at byte 0
    kernel k0:
      for i in 0..4:
        s0 = in1[i]
        s1 = i64(s0)
        s2 = 7
        s3 = s1 * s2
        t0[i] = s3
    kernel k1:
      out0[0 : +5] = 0.0
      for i in 0..4:  # reduces
        s0 = t0[i]
        s1 = i in 1..4 step 2
        s2 = in0[2*s0 of 3 + 1] if s1 else 0
        out0[s0 of 4 + 1] maximum= s2
"""
HALVED = """
    input in0: f64[1]
    output out0: f64[1]
    tape tape: f64[1]
    kernel k0:
      local carry: f64[1]
      s0 = in0[0]
      carry[0] = s0
      repeat, steps i, tapes tape:
        s1 = carry[0]
        s2 = 1.0
        s3 = s1 > s2
        while s3:
          s4 = carry[0]
          tape[i] = s4
          s5 = 0.5
          s6 = s4 * s5
          carry[0] = s6
      out0[0 : +1] = 0.0
      for each of the steps j, the last first:
        s7 = tape[j]
        out0[0] += s7
      free tape
"""
TEXTS = {
    SUMS_OF_ROWS: """
void f(const double *in0, float *out0, int64_t *status) {
  /* k0 */ {
    for (int64_t i = 0; i < 4; i++) {
      double sum0 = 0.0;
      for (int64_t j = 0; j < 3; j++) {
        sum0 += exp(in0[3 * i + j] * -1.5);
      }
      out0[i] = (float)sum0;
    }
  }
}
""",
    PLACES: """
void f(const double *in0, const int32_t *in1, double *out0, int64_t *status) {
  char *const arena = malloc(64);
  if (!arena) { *status |= 4; return; }
  int64_t *t0 = (int64_t *)(arena + 0);
  /* k0 */ {
    for (int64_t i = 0; i < 4; i++) {
      t0[i] = mul_i64((int64_t)in1[i], 7);
    }
  }
  /* k1 */ {
    for (int64_t n = 0; n < 5; n++) {
      out0[n] = 0.0;
    }
    for (int64_t i = 0; i < 4; i++) {
      const int64_t s0 = t0[i];
      double *const at1 = &out0[1 + bounded(s0, 4, status)];
      *at1 = maximum_f64(*at1, (1 <= i && i < 4 && (i - 1) % 2 == 0)"""
    """ ? in0[1 + 2 * bounded(s0, 3, status)] : 0);
    }
  }
  free(arena);
}
""",
    HALVED: """
void f(const double *in0, double *out0, int64_t *status) {
  /* k0 */ {
    double carry[1];
    double *tape = NULL;
    Tapes *tape_room = NULL;
    int64_t trips0 = 0;
    carry[0] = in0[0];
    for (int64_t i = 0;; i++) {
      trips0 = i;
      if (!(carry[0] > 1.0) || *status) break;
      if (!tape_room || i >= tape_room->room) {
        const int64_t sizes[] = {8};
        const bool fits = grown(&tape_room, i + 1, 1, sizes);
        tape = tape_room ? tape_room->memory[0] : NULL;
        if (!fits) { *status |= 4; break; }
      }
      const double s0 = carry[0];
      tape[i] = s0;
      carry[0] = s0 * 0.5;
    }
    out0[0] = 0.0;
    for (int64_t j = trips0 - 1; j >= 0; j--) {
      out0[0] += tape[j];
    }
    released(tape_room, 1);
    tape_room = NULL;
  }
}
""",
}


@pytest.mark.parametrize("text", TEXTS, ids=["sums of rows", "places", "tapes"])
def test_text(text: str) -> None:
    program = loops(text)
    verifier.verify(program)
    assert print_c(program, "f") == TEXTS[text].lstrip()


# -- the tables -------------------------------------------------------------------


#: The statements of loop programs; targets have further ones.
STATEMENTS = {kind for kind in EFFECTS if kind.__module__.startswith("autojit.codegen.loop_ir")}


def test_every_statement_is_written() -> None:
    assert set(PRINTERS) == STATEMENTS


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (
            lambda x: np.linalg.qr(x[:, :2], "complete"),
            "qr of f64 matrices cannot be written in C: it needs a library. target=",
        ),
        (
            lambda x: np.linalg.svd(x * 1j),
            "svd of c128 matrices cannot be written in C: it needs a library. target=",
        ),
        (
            lambda x: np.linalg.cholesky(x * (1 + 0j)),
            "cholesky of c128 matrices cannot be written in C: it needs a library. target=",
        ),
        (scipy.special.psi, r'psi of f64 operands cannot be written in C. target="numpy" calls'),
    ],
)
def test_what_needs_a_library_is_refused_with_its_line(f: Any, words: str) -> None:
    def main(x: Any) -> Any:
        return f(x)

    program = optimize(autojit.trace(main)(np.ones((3, 3))))
    with pytest.raises(TargetError, match=f"^{words}") as caught:
        print_c(lower(program, C), "f")
    assert caught.value.source is not None


# -- results ------------------------------------------------------------------------


class Case(NamedTuple):
    name: str
    program: Program
    loops: LoopProgram
    arguments: list[Any]

    def arrays(self) -> list[Any]:
        every = zip((*self.arguments, *self.program.captured), self.program.in_types, strict=True)
        return [np.asarray(a, t.dtype) for a, t in every]


def cases(sample: Sample) -> Iterator[Case]:
    """The function and its gradient, lowered as this target requires, also with tasks and tiles."""
    for program in programs(sample):
        optimized = optimize(program)
        for traits in (C, CPU):
            yield Case(sample.name, program, lower(optimized, traits), sample.draw())


def functions(every: Iterable[Case], folder: Path) -> list[tuple[Case, Any]]:
    """The cases that can be written in C, with their compiled functions."""
    written, texts = [], []
    for case in every:
        try:
            texts.append(print_c(case.loops, f"f{len(texts)}"))
        except TargetError:
            continue
        written.append(case)
    library = compiled(texts, folder)
    return [(case, getattr(library, f"f{n}")) for n, case in enumerate(written)]


def assert_same(case: Case, outputs: list[Any], want: Sequence[Any]) -> None:
    for got, expected, type in zip(outputs, want, case.program.out_types, strict=True):
        got, expected = shaped(got, type), np.asarray(expected)
        tolerance = 2e-4 if expected.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(got, expected, tolerance, tolerance, err_msg=case.name)


def programs_of_all_kinds() -> Iterator[Case]:
    """Tapes, branches, complex products, tasks, sequential rows: constructs that are rare in
    samples."""
    for name, (f, x) in PROGRAMS.items():
        program = autojit.trace(f)(x)
        for traits in (C, CPU):
            # The verifier cannot tell that loops over real and imaginary parts write the whole
            # array.
            with EAGER, verify_each(name != "complex products"):
                lowered = lower(optimize(program), traits)
            yield Case(name, program, lowered, [x])


@pytest.mark.slow
@needs_compiler
def test_results(tmp_path: Path) -> None:
    """A selection of samples, and programs of all kinds: every class of statements runs."""
    every = [case for sample in SAMPLES[5::11] for case in cases(sample)]
    every += programs_of_all_kinds()
    assert {type(s) for case in every for s in statements(case.loops)} == STATEMENTS - {Callback}
    found = functions(every, tmp_path)
    assert len(found) > 0.8 * len(every) > 200  # the others call functions of SciPy or LAPACK
    for case, function in found:
        arrays = case.arrays()
        outputs, status = call(function, case.loops, arrays)
        assert status == 0, case.name
        assert_same(case, outputs, interpret(case.program, arrays))


@pytest.mark.slow
@needs_compiler
def test_orders_transforms_and_factorizations(tmp_path: Path) -> None:
    every = []
    for name, (f, arguments) in {**CASES, **OF_C, **WITHOUT_SIGNS}.items():
        program = autojit.trace(f)(*arguments)
        with EAGER:
            every.append(Case(name, program, lower(optimize(program), C), arguments))
    found = functions(every, tmp_path)
    assert len(found) == len(every)
    for case, function in found:
        outputs, status = call(function, case.loops, case.arrays())
        assert status == 0, case.name
        assert_same(case, outputs, interpret(case.program, case.arrays()))


X = np.arange(4.0)
FAILING: dict[str, tuple[int, Callable[..., Any], list[Any]]] = {
    "a place": (OUT_OF_BOUNDS, lambda x, i: x[i], [X, np.array([1, 4])]),
    "a power": (NEGATIVE_POWER, lambda n: n**n, [np.array([2, -1])]),
    "a singular matrix": (SINGULAR, np.linalg.inv, [np.ones((3, 3))]),
    "not positive": (NOT_POSITIVE, np.linalg.cholesky, [-np.eye(3)]),
    "zero": (ENSURED["ensure_zero_division"], lambda n: 1 // n, [0]),
    "a loop without end": (
        OUT_OF_BOUNDS,
        lambda x, i: autojit.while_loop(lambda c: c >= 0, lambda c: c + x[i] * 0, 1.0),
        [X, 9],
    ),
}


@needs_compiler
def test_failures(tmp_path: Path) -> None:
    every = []
    for name, (_, f, arguments) in FAILING.items():
        program = autojit.trace(f)(*arguments)
        every.append(Case(name, program, lower(optimize(program), C), arguments))
    for case, function in functions(every, tmp_path):
        assert call(function, case.loops, case.arrays())[1] == FAILING[case.name][0], case.name


# -- the vocabulary -----------------------------------------------------------------

_INF, _NAN = np.inf, np.nan
FLOATS = [-_INF, -7.5, -2.0, -1.0, -0.4, -0.0, 0.0, 0.3, 1.0, 2.5, 8.0, _INF, _NAN]


def edges(dtype: str, word: str) -> Any:
    """Numbers that are edge cases for a word."""
    if dtype == "bool":
        return np.array([False, True])
    kind = dtype_from_name(dtype)
    if dtype[0] == "f":
        return np.array(FLOATS, kind)
    info = np.iinfo(kind)
    found = [info.min, info.min + 1, -9, -2, -1, 0, 1, 2, 3, 7, info.bits, info.max]
    least = 0 if word == "pow" else info.min  # a negative power is an error
    return np.array([n for n in found if n >= least], kind)


def of_words(dtype: str) -> tuple[LoopProgram, list[Any]]:
    """A program that applies each word of a dtype to pairs of numbers, with one output per word."""
    words = WORDS[dtype[0]]
    lines, outputs, inputs = [], [], []
    for n, (word, count) in enumerate(words.items()):
        numbers = edges(dtype, word)
        left, right = (np.ravel(a) for a in np.meshgrid(numbers, numbers))
        inputs += [left, right]
        operands = ", ".join(["s0", "s1"][:count])
        text = f"{word}({operands})"
        if word in SYMBOLS and count == 2:
            text = f"s0 {SYMBOLS[word]} s1"
        lines += [f"kernel k{n}:", f"  for i in 0..{left.size}:"]
        lines += [f"    s0 = in{2 * n}[i]", f"    s1 = in{2 * n + 1}[i]"]
        lines += [f"    s2 = {text}", f"    out{n}[i] = s2"]
        outputs.append(f"output out{n}: {dtype}[{left.size}]")
    declared = [f"input in{n}: {dtype}[{a.size}]" for n, a in enumerate(inputs)]
    return loops("\n".join([*declared, *outputs, *lines])), inputs


@needs_compiler
def test_every_word(tmp_path: Path) -> None:
    dtypes = ["f32", "f64", "i8", "i32", "i64", "u8", "u64", "bool"]
    every = [of_words(dtype) for dtype in dtypes]
    library = compiled([print_c(p, f"f_{d}") for d, (p, _) in zip(dtypes, every, strict=True)],
                       tmp_path)  # fmt: skip
    for dtype, (program, inputs) in zip(dtypes, every, strict=True):
        outputs, status = call(getattr(library, f"f_{dtype}"), program, inputs)
        assert status == 0
        want = interpret_loops(program, inputs)
        tolerance = {"f32": 1e-4, "f64": 1e-12}.get(dtype, 0)
        for word, got, expected in zip(WORDS[dtype[0]], outputs, want, strict=True):
            np.testing.assert_allclose(got, expected, tolerance, err_msg=f"{word} of {dtype}")


def test_a_file_stands_by_itself(tmp_path: Path) -> None:
    """The function with everything it calls, without warnings; its header documents the
    parameters."""

    def f(x: Any, i: Any) -> Any:
        return np.sum(np.maximum(x[i], 0.5) ** 2)

    program = optimize(autojit.trace(autojit.grad(f))(X, np.array([0, 1, 1])))
    text = c_file(program, lower(program, C), interface(program))
    for words in (
        " *   x0: 4, row by row\n",
        " *   r0: 4, row by row, written\n",
        "  1: IndexError",
    ):
        assert words in text
    assert "// backward of line" in text
    assert "maximum_f64" not in text or "static double maximum_f64" in text
    if COMPILER is not None:
        (tmp_path / "f.c").write_text(text, encoding="utf-8")
        command = [COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-c", "f.c", "-o", "f.o"]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr[:4000]
