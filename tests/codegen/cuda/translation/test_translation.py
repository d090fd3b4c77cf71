"""Text to LLVM IR: programs run on the CPU, and each construct beside Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, parse, trace
from autojit.codegen.cuda.driver.compiler import ENTRY, Kernel, Parameter
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.translation import arithmetic
from autojit.codegen.cuda.translation.module import Module
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_text.interpreter import shaped
from autojit.ir.core.halves import converted
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret
from tests.codegen.cuda.executor.test_samples import is_refused
from tests.codegen.cuda.kernel_programs import PROGRAMS, arguments
from tests.codegen.cuda.running import SMALL, arguments_of, assert_same, mapped
from tests.codegen.cuda.translation.on_cpu import Native, Programs
from tests.samples import SAMPLES, Sample
from tests.test_programs import programs

pytestmark = pytest.mark.optimised

#: Whole warps exchange numbers in it.
MIDDLE = Machine(threads=64, processors=2, resident=128, row=40, few=60)
ON_CPU = Programs()
X = np.random.default_rng(0).uniform(-2, 2, (9, 18))


def check(program: Program, arrays: list[Any], machine: Machine = SMALL) -> None:
    """Check that the LLVM IR computes the interpreter's results."""
    given = arguments_of(program, arrays)
    found = ON_CPU.run(mapped(program, machine), machine, given)
    results = [shaped(x, t) for x, t in zip(found, program.out_types, strict=True)]
    assert_same(results, interpret(program, given))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_each_class(name: str) -> None:
    f, shapes, _ = PROGRAMS[name]
    x = arguments(shapes)
    check(trace(f)(*x), x)


@pytest.mark.parametrize("name", ["rows", "steps of all", "added"])
def test_programs_whose_threads_meet_and_exchange(name: str) -> None:
    f, shapes, _ = PROGRAMS[name]
    x = arguments(shapes)
    check(trace(f)(*x), x, MIDDLE)


@pytest.mark.sampled(120)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_samples(sample: Sample) -> None:
    for program in programs(sample):
        if not is_refused(program):
            check(program, sample.draw())


def test_a_wrong_instruction_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    program = trace(lambda x: np.sin(x) - x)(X)
    check(program, [X])
    monkeypatch.setitem(arithmetic._OF_FLOATS, "-", "fadd")
    monkeypatch.setattr(ON_CPU, "_known", {})
    with pytest.raises(AssertionError, match="Mismatched elements"):
        check(program, [X])


EDGES = [a.ravel() for a in np.meshgrid(*[[np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5]] * 2)]


def _of_edges(x: Any, y: Any) -> Any:
    return (np.fmin(x, y), np.logaddexp(x, y), np.copysign(x, y), x // y, x % y, np.sign(x),
            np.rint(x), np.hypot(x, y), np.arctan2(x, y), x**y)  # fmt: skip


def _of_integers(x: Any, y: Any) -> Any:
    return x // y, x % y, np.fmod(x, y), x << 3, x >> 1, -x, abs(x), ~x, np.maximum(x, y), x * x


INTEGERS = ([7, -7, 5, -128, 127], [2, 2, 0, -1, -3])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan_infinities_and_zeros(dtype: str) -> None:
    given = [np.asarray(a, dtype) for a in EDGES]
    with np.errstate(all="ignore"):
        check(trace(_of_edges)(*given), given)


def test_floats_beyond_the_range_of_integers() -> None:
    x = np.array([1e30, -1e30, 2.9, -2.9, np.nan])
    (found,) = ON_CPU.run(mapped(trace(lambda x: x.astype(np.int32))(x)), SMALL, [x])
    assert found.tolist() == [2**31 - 1, -(2**31), 2, -2, 0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_of_each_width(dtype: str) -> None:
    """Division by 0, the least number over -1, and numbers that wrap."""
    given = [np.array(a).astype(dtype) for a in INTEGERS]
    with np.errstate(all="ignore"):
        check(trace(_of_integers)(*given), given)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_floats(kind: str) -> None:
    program = parse(f"""program main(%0: {kind}[9,18], %1: {kind}[]) {{
      %2: {kind}[9,18] = broadcast %1 {{dims=(), shape=(9, 18)}}
      %3: {kind}[9,18] = mul %0, %2
      %4: {kind}[9] = sum %3 {{axes=(1,)}}
      return %3, %4
    }}""")
    dtypes = [t.dtype for t in program.in_types]
    given = [converted(np.asarray(x), d) for x, d in zip((X, 0.3), dtypes, strict=True)]
    found = ON_CPU.run(mapped(program), SMALL, given)
    for got, want in zip(found, program(*given), strict=True):
        a, b = (converted(np.asarray(v), np.dtype(float)) for v in (got, want))
        np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=2.0**-7)


def test_checks_in_kernels_fail() -> None:
    x = np.arange(5.0)
    program = trace(lambda x, i: x[i])(x, np.arange(3))
    with pytest.raises(IndexError, match="out of bounds"):
        check(program, [x, np.array([0, 99, 1])])


@pytest.mark.sampled(2)
def test_gradients_of_special_functions() -> None:
    from scipy.special import erfinv, gammaln, ndtri

    x = np.linspace(0.1, 0.9, 7)
    check(trace(grad(lambda x: np.sum(gammaln(x) * erfinv(x) + ndtri(x))))(x), [x])


# -- constructs, beside Python -----------------------------------------------------

TEXT = """
import math

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def first_of(x, y):
    if x > y:
        return x
    return 0


@cuda.jit(device=True)
def summed(n, y):
    total = np.int64(0)
    for k in range(2, 7):
        if k == n:
            break
        total += k * y
    return total


@cuda.jit
def kernel(out0, x, y, u):
    {}
"""
INT, UINT = Parameter("int64", 3, exchanged=True), Parameter("uint32", 1)


def computed(lines: str, x: int, y: int, u: int) -> list[int]:
    """What lines store in ``out0``, given ``x[0]``, ``y[0]`` and ``u[0]``."""
    text = TEXT.format("\n    ".join(lines.splitlines()))
    one = INT._replace(size=1, exchanged=False)
    native = Native(Kernel(text, (INT, one, one, UINT), ("out0", "x", "y", "u")))
    arrays = [
        np.zeros(3, np.int64),
        *(np.array([v], np.int64) for v in (x, y)),
        np.array([u], "u4"),
    ]
    native.run(1, 1, [a.ctypes.data for a in arrays])
    return [int(v) for v in arrays[0]]


def in_python(lines: str, x: int, y: int, u: int) -> list[int]:
    """What Python computes: integers here need no more than 64 bits."""
    text = TEXT.format("\n    ".join(lines.splitlines()))
    text = text.replace("@cuda.jit(device=True)", "").replace("@cuda.jit", "")
    names: dict[str, Any] = {}
    exec(text.replace("from numba import cuda", ""), names)
    out = [0, 0, 0]
    names["kernel"](out, [np.int64(x)], [np.int64(y)], [np.uint32(u)])
    return [int(v) for v in out]


@pytest.mark.parametrize(
    "lines",
    [
        "out0[0] = x[0] // y[0]\nout0[1] = x[0] % y[0]\nout0[2] = x[0] // 4 + x[0] % 4",
        "out0[0] = x[0] << 3 | 5 & y[0]\nout0[1] = x[0] >> 2 ^ ~y[0]\nout0[2] = -x[0] * y[0]",
        "out0[0] = np.int8(x[0] * y[0]) if abs(x[0] * y[0]) < 128 else 1",
        "out0[0] = np.int64(u[0] // np.uint32(3)) + u[0] % 7\nout0[1] = 1 - np.int64(u[0])",
        "out0[0] = np.int64(-2 <= x[0] < 5)\nout0[1] = np.int64(not x[0] == y[0])",
        "out0[0] = np.int64(u[0] > 3 and 6 // np.int64(u[0]) > 0 or x[0] != y[0])",
        "out0[0] = np.int64(np.float64(x[0]) / 2.0)\nout0[1] = np.int64(math.fabs(-2.0) == 2.0)",
        "out0[0] = first_of(x[0], y[0])\nout0[1] = summed(y[0], x[0])\nout0[2] = summed(99, 2)",
        "n = np.int64(0)\nwhile True:\n    n += 2\n    if n > y[0]:\n        break\nout0[0] = n",
        "n = np.int32(9)\nwhile n > 0:\n    n = np.int32(n - 4)\n    out0[1] = n",
        "if x[0] < 0:\n    out0[0] = 1\nelif x[0] < y[0]:\n    out0[0] = 2\nelse:\n    pass",
    ],
)  # fmt: skip
def test_constructs(lines: str) -> None:
    for x, y, u in ((-7, 3, 9), (7, -3, 1), (2, 2, 40)):
        assert computed(lines, x, y, u) == in_python(lines, x, y, u), (lines, x, y, u)


def test_arrays_that_change_places() -> None:
    lines = "x, y = y, x\nn = 0\nwhile n < 3:\n    x, y = y, x\n    out0[n] = x[0]\n    n += 1"
    assert computed(lines, 7, 3, 0) == in_python(lines, 7, 3, 0) == [7, 3, 7]


def test_sums_of_64_bits_wrap() -> None:
    """LLVM is told only of sums of smaller numbers that they do not wrap."""
    lines = "out0[0] = x[0] + y[0]\nout0[1] = -x[0] * y[0]\nout0[2] = np.int64(x[0] + 1 > x[0])"
    assert computed(lines, 2**63 - 1, 3, 0) == [-(2**63) + 2, -(2**63) + 3, 0]
    indices = "n = np.int32(4)\nout0[np.uint32(7 * n - 27)] = 2 - 3 * np.int64(n)"
    for text, marks in ((lines, 0), (indices, 4)):
        native = Native(
            Kernel(TEXT.format(text.replace("\n", "\n    ")), (INT, INT, INT, UINT), ())
        )
        assert native.text.count(" nsw ") == marks
    assert computed(indices, 0, 0, 0) == [0, -10, 0]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("out0[0] = x[0] + 1.5", r"i64 \+ f64"),
        ("out0[0] = np.uint64(u[0]) + x[0]", "u64 with i64"),
        ("n = np.int32(0)\nn = x[0]", "n is i32 and i64"),
        ("if x[0]:\n    out0[0] = 1", "as a condition"),
        ("out0[0] = [x[0]][0]", r"\[x\[0\]\]"),
        ("out0[0] = math.gcd(x[0], y[0])", "a function of i64"),
        ("out0[0] = unknown(x[0])", "unknown is not defined"),
        ("return x[0]", "a kernel returns a value"),
        ("out0[0] = n", "n is no scalar"),
        ("cuda.nanosleep(5)", "cuda.nanosleep"),
        ("z, w = x, y", "z, w = "),
        ("if x[0] > 0:\n    z = y", "the array z is bound in a branch"),
        ("out0[0] = -u[0]", "-u32"),
    ],
)  # fmt: skip
def test_other_text_is_refused(lines: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        computed(lines, 1, 2, 3)


def test_parameters_have_their_types_and_marks() -> None:
    text = TEXT.format("out0[0] = np.int64(x.size)")
    buffers = (INT, INT._replace(per_step=True, exchanged=False, aligned=16),
               Parameter("bool", 1, by_value=True), UINT)  # fmt: skip
    made = Module(text).kernel("kernel", ENTRY, buffers, (2, 0, 3, 2))
    declared = "i64* %a0, i64* noalias align 16 %a1, i64 %steps1, i8 %a2, i32* noalias %a3"
    assert f"define void @{ENTRY}({declared}) {{" in made
    assert "mul i64 3, %steps1" in made
