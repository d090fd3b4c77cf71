"""float16 from arrays to machine code: each value as NumPy rounds it.

NumPy computes an element of float16 in float32 and rounds once, as compiled code does, so that
results of arithmetic agree bit for bit; elementary functions may differ in the last place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.codegen.cpu.host import engine
from autojit.codegen.cpu.llvm import halves
from autojit.codegen.driver.executable import Executable
from autojit.errors import DtypeError
from autojit.ir.core import halves as short
from autojit.ir.tools.interpreter import interpret
from tests.codegen.cuda.running import mapped, run
from tests.samples.elementwise import ARITHMETIC, BINARY, CHOICES, UNARY
from tests.samples.kinds import Sample
from tests.samples.movement import INDEXING, MOVEMENT
from tests.samples.products import CONTRACTIONS
from tests.samples.reductions import REDUCTIONS
from tests.samples.sorting import SORTING

#: Every number, and as many others in another order.
EACH = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
OTHER = np.random.default_rng(0).permutation(EACH)
#: Half-way between two numbers, and next to that on both sides.
FINITE = np.sort(EACH[np.isfinite(EACH)].astype(float))
TIES = (FINITE[:-1] + FINITE[1:]) / 2
DOUBLES = np.concatenate([TIES, np.nextafter(TIES, np.inf), np.nextafter(TIES, -np.inf)])
FEW = np.array([0.5, -1.25, 3.0], np.float16)

Function = Callable[..., Any]

EXACT: list[Function] = [
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.fmin, np.remainder, np.fmod,
    np.floor_divide, np.copysign, np.less, np.equal, np.nextafter,
    *(lambda x, y, f=f: f(x) for f in (
        np.sqrt, np.square, np.reciprocal, np.negative, np.abs, np.floor, np.rint, np.sign,
        np.isnan, np.signbit, np.spacing, np.log2, np.exp2,
    )),
    lambda x, y: np.frexp(x)[0], lambda x, y: np.frexp(x)[1], lambda x, y: np.modf(x)[0],
    lambda x, y: np.ldexp(x, np.int32(-9)), lambda x, y: x.astype(bool),
    lambda x, y: x.astype(np.float32), lambda x, y: x.astype(np.float64),
    lambda x, y: x.astype(np.complex64), lambda x, y: np.where(x < y, x, y),
    lambda x, y: (x + y) * x - y / 3, lambda x, y: x * 1024 * 1024, lambda x, y: x * 2.5 + 1e-7,
]  # fmt: skip
CLOSE: list[Function] = [
    np.arctan2, np.hypot, np.logaddexp, np.power,
    *(lambda x, y, f=f: f(x) for f in (
        np.exp, np.log, np.sin, np.cos, np.tan, np.tanh, np.expm1, np.log1p, np.cbrt, np.arctan,
    )),
]  # fmt: skip


def together(functions: list[Function]) -> Function:
    """Many functions as one program."""
    return lambda *arguments: [f(*arguments) for f in functions]


def bits(x: Any) -> Any:
    """Integers in the order of the numbers; NaN is one number."""
    x = np.asarray(x)
    if x.dtype != np.float16:
        return np.nan_to_num(x) if x.dtype.kind in "fc" else x
    places = np.where(np.isnan(x), np.float16(np.nan), x).view(np.int16).astype(int)
    return np.where(places < 0, -(places & 0x7FFF), places)


def assert_within(got: Any, want: Any, units: int) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    apart = np.abs(bits(got).astype(complex) - bits(want))
    assert np.all(apart <= units), np.argwhere(apart > units)[:3]


def numpy_of(function: Function, *arguments: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*arguments)


@pytest.mark.parametrize(("functions", "units"), [(EXACT, 0), (CLOSE, 1)])
def test_every_number(functions: list[Function], units: int) -> None:
    f = together(functions)
    for got, want in zip(autojit.jit(f)(EACH, OTHER), numpy_of(f, EACH, OTHER), strict=True):
        assert_within(got, want, units)


@pytest.mark.parametrize("instructions", [True, False])
def test_conversions_round_once(instructions: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, y: Any, n: Any) -> Any:
        return x.astype(np.float32), y.astype(np.float16), y.astype(np.float32), n.astype(x.dtype)

    if not instructions:
        monkeypatch.setattr(halves, "has_halves", lambda: False)
    scales = np.ldexp(np.random.default_rng(1).normal(size=9000), np.arange(9000) % 54 - 34)
    doubles = np.concatenate([DOUBLES, scales, [np.inf, -np.inf, np.nan, 1e300, -1e-300]])
    whole = np.array([0, 2049, 2051, 65519, 65520, -(2**62), 2**63 - 1])
    assert_same_as_numpy(f, EACH, doubles, whole)
    assert_same_as_numpy(lambda y: [y.astype(np.float16)], DOUBLES.astype(np.float32))


def assert_same_as_numpy(function: Function, *arguments: Any) -> None:
    """In code that is compiled anew."""
    run = Executable(autojit.trace(function)(*arguments))
    for got, want in zip(run.call(arguments), numpy_of(function, *arguments), strict=True):
        assert_within(got, want, 0)


def test_no_arithmetic_in_half_precision() -> None:
    """A processor that has it would contract products and sums, and round elsewhere."""
    import llvmlite.binding as llvm

    if not llvm.get_process_triple().startswith("x86_64"):
        pytest.skip("the processor below is an x86-64")
    text = "define half @f(half %x, half %y) {\n %m = fmul contract half %x, %y\n"
    text += " %s = fadd contract half %m, %y\n ret half %s\n}"
    made = []
    for added in ("", engine.WIDE_HALVES):
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu="sapphirerapids", features="+sse2" + added
        )
        made.append(machine.emit_assembly(llvm.parse_assembly(text)))
    assert "vfmadd" in made[0]
    assert "vfmadd" not in made[1]
    assert made[1].count("vcvtps2ph") == 2


# -- the table of samples -----------------------------------------------------


def in_half(sample: Sample) -> list[Any]:
    arrays = map(np.asarray, sample.draw())
    return [x.astype(np.float16)[()] if x.dtype.kind == "f" else x[()] for x in arrays]


def takes_halves(sample: Sample) -> bool:
    if not any(np.asarray(x).dtype == np.float16 for x in in_half(sample)):
        return False
    return all(np.asarray(y).dtype != np.complex128 for y in sample.draw())


ELEMENTWISE = [s for s in (*UNARY, *BINARY, *ARITHMETIC, *CHOICES) if takes_halves(s)]
OTHERS = [
    s for s in (*REDUCTIONS, *MOVEMENT, *INDEXING, *CONTRACTIONS, *SORTING) if takes_halves(s)
]


def leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def test_elementwise_samples() -> None:
    """In one program: each value within a unit in the last place."""
    arguments = [in_half(s) for s in ELEMENTWISE]

    def every(arguments: Any) -> Any:
        return [s.function(*a) for s, a in zip(ELEMENTWISE, arguments, strict=True)]

    got = autojit.jit(every)(arguments)
    for sample, g, a in zip(ELEMENTWISE, got, arguments, strict=True):
        for one, want in zip(leaves(g), leaves(numpy_of(sample.function, *a)), strict=True):
            assert np.asarray(one).dtype == np.asarray(want).dtype, sample.name
            assert_within(one, want, 1 if "f" in np.asarray(want).dtype.kind else 0)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("sample", OTHERS, ids=lambda s: s.name)
def test_other_samples(sample: Sample) -> None:
    arguments = in_half(sample)
    got = leaves(autojit.jit(sample.function)(*arguments))
    for g, w in zip(got, leaves(numpy_of(sample.function, *arguments)), strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        if w.dtype.kind not in "fc":
            np.testing.assert_array_equal(g, w)
            continue
        size = float(np.max(np.abs(w), initial=0.0))  # NumPy rounds some sums at each step
        near = 4 * float(np.finfo(np.float16).eps)
        np.testing.assert_allclose(g.astype(complex), w.astype(complex), near, near * size)


def test_sums_and_products_are_rounded_once() -> None:
    x = np.random.default_rng(3).normal(size=(64, 5000)).astype(np.float16)
    wide = x.astype(np.float64)
    total, average, spread, product, one = autojit.jit(
        lambda x: (np.sum(x, axis=0), np.mean(x), np.std(x), x @ x.T, np.vecdot(x, x))
    )(x)
    assert_within(total, wide.sum(axis=0).astype(np.float16), 1)
    assert_within(average, np.mean(x), 1)
    assert_within(spread, np.float16(wide.std()), 1)
    assert_within(product, (x.astype("f4") @ x.astype("f4").T).astype(np.float16), 1)
    assert_within(one, (wide * wide).sum(axis=1).astype(np.float16), 1)
    many = np.full(70_000, 1, np.float16)
    assert autojit.jit(np.mean)(many) == 1
    assert np.isinf(autojit.jit(np.sum)(many))
    assert (
        autojit.jit(lambda x: np.sum(np.broadcast_to(x, (9, 70_000)), 1) * 0)(FEW[0]).dtype == "e"
    )


# -- derivatives --------------------------------------------------------------


def chain(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    return np.mean(np.exp(h - np.max(h, axis=1, keepdims=True)) * h) + np.sum(np.sqrt(h * h + 1))


@pytest.mark.parametrize("compiled", [True, False])
def test_derivatives_have_the_dtype_of_the_argument(compiled: bool) -> None:
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(6, 5)), rng.normal(size=(5, 3))
    narrow = x.astype(np.float16), w.astype(np.float16)
    wide = [a.astype(float) for a in narrow]
    g = autojit.grad(chain, (0, 1))
    want = g(*wide)
    got = autojit.jit(g)(*narrow) if compiled else g(*narrow)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == np.float16
        np.testing.assert_allclose(a.astype(float), b, atol=8e-3 * np.max(np.abs(b)))
    y, dy = autojit.jvp(chain, narrow, narrow)
    assert y.dtype == dy.dtype == np.float16
    np.testing.assert_allclose(dy, autojit.jvp(chain, wide, wide)[1], rtol=1e-2)
    rows = autojit.vmap(lambda r: np.sum(np.sin(r) * r))(narrow[0])
    assert_within(rows, np.sum(np.sin(narrow[0]) * narrow[0], axis=1), 1)


def test_derivatives_are_checked() -> None:
    autojit.testing.check_grads(lambda x: np.sum(np.sin(x) * x * x), (FEW,), order=2)

    @autojit.custom_jvp
    def wrong(x: Any) -> Any:
        return np.sin(x)

    wrong.defjvp(lambda p, t: (np.sin(p[0]), 1.5 * np.cos(p[0]) * t[0]))
    with pytest.raises(AssertionError):
        autojit.testing.check_grads(wrong, (FEW,), order=1)


# -- the interface ------------------------------------------------------------


def test_numbers_and_text() -> None:
    f = autojit.jit(lambda x: x * x + 0.5)
    assert type(f(np.float16(3))) is np.float16
    assert f(np.float16(3)) == 9.5
    program = autojit.trace(lambda x: np.sum(x) * 3e4 + x)(FEW)
    assert autojit.parse(program.text()) == program
    assert str(program.inputs[0].type) == "f16[3]"
    assert np.isinf(autojit.jit(lambda x: x * x * 6e4)(FEW[2]))
    assert autojit.jit(lambda x: x.astype("e").itemsize)(np.ones(2)) == 2


@pytest.mark.parametrize("call", ["solve(x, x)", "inv(x)", "svd(x)", "cholesky(x)", "eigh(x)"])
def test_linear_algebra_is_refused_as_in_numpy(call: str) -> None:
    f = eval(f"lambda x: np.linalg.{call}", {"np": np})
    with pytest.raises(DtypeError, match=r"np\.linalg\.\w+ does not take float16") as raised:
        autojit.jit(f)(np.eye(2, dtype=np.float16))
    fix = str(raised.value).splitlines()[1].strip()
    autojit.jit(eval(f"lambda x: {fix}", {"np": np}))(np.eye(2, dtype=np.float16))


def test_loops_carry_halves() -> None:
    @autojit.jit
    def decay(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x * np.float16(0.75) + np.float16(0.1)
        return x

    want = FEW
    for _ in range(40):
        want = want * np.float16(0.75) + np.float16(0.1)
    assert_within(decay(FEW, 40), want, 0)
    filled = autojit.jit(lambda x: autojit.scan(lambda c, v: (c + v, c * v), x[0], x))(EACH[:999])
    assert filled[1].dtype == np.float16


# -- bfloat16 -------------------------------------------------------------------


BF16 = """program main(%0: bf16[4], %1: bf16[4]) {
  %2: bf16[4] = add %0, %1
  %3: bf16[4] = mul %2, %1
  %4: bf16[] = sum %3 {axes=(0,)}
  %5: bf16[4] = flip %3 {axes=(0,)}
  %6: f32[4] = convert %5 {dtype=f32}
  %7: bf16[4] = constant {dtype=bf16, shape=(4,), value=0.10009765625}
  %8: bool[4] = lt %5, %7
  return %4, %5, %6, %7, %8
}"""


def test_bfloat16_without_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter and compiled code, by our own dtype; PyTorch is the witness."""
    pytorch = pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    program = autojit.parse(BF16)
    assert autojit.parse(program.text()) == program
    numbers = np.float32([[1.5, 2.25, -3, 3e38], [0.1, 1e-3, 7, 9]])
    a, b = (pytorch.tensor(x).bfloat16() for x in numbers)
    want = [((a + b) * b).sum(), ((a + b) * b).flip(0)]
    given = [short.to_bfloat16(x) for x in numbers]
    for results in (interpret(program, given), Executable(program).call(given)):
        assert [r.dtype for r in results[:2]] == [short.BFLOAT16] * 2
        for got, w in zip(results, [*want, want[1]], strict=False):
            wide = short.to_float32(got) if got.dtype == short.BFLOAT16 else got
            np.testing.assert_array_equal(wide, w.float().numpy())
        np.testing.assert_array_equal(short.to_float32(results[3]), np.float32(0.10009765625))
        np.testing.assert_array_equal(results[4], want[1].float().numpy() < 0.1)


def test_each_bfloat16_converts_as_in_pytorch() -> None:
    pytorch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    bits = np.concatenate([np.arange(1 << 16) << 16, rng.integers(0, 1 << 32, 50_000)])
    ties = (np.arange(1 << 16) << 16) + 0x8000
    x = np.concatenate([bits, ties, ties + 1, ties - 1]).astype(np.uint32).view(np.float32)
    want = pytorch.tensor(x).bfloat16()
    program = autojit.parse(f"""program main(%0: f32[{x.size}]) {{
      %1: bf16[{x.size}] = convert %0 {{dtype=bf16}}
      return %1
    }}""")
    for got in (short.to_bfloat16(x), Executable(program).call([x])[0], program(x)):
        wide = short.to_float32(got)
        np.testing.assert_array_equal(wide, want.float().numpy())
        kept = wide[~np.isnan(wide)].view(np.uint32)
        assert np.array_equal(kept, want.float().numpy()[~np.isnan(wide)].view(np.uint32))


def ml_dtypes_or_skip() -> Any:
    return pytest.importorskip("ml_dtypes").bfloat16


def test_arrays_of_ml_dtypes() -> None:
    kind = ml_dtypes_or_skip()
    rng = np.random.default_rng(5)
    x, y = (rng.normal(size=(4, 6)).astype(kind) for _ in range(2))

    def f(x: Any, y: Any) -> Any:
        z = x.copy()
        z[0] = 2.5
        z[1] = z[2]
        return [
            x + y, (x * y - x) / (y * y + 1), np.exp(x), x[1:, 2], x.T, x.astype(np.float32), z,
            np.where(x > y, x, y), x + y.astype(np.float32), x + np.arange(6), -x, np.sqrt(x * x),
            np.zeros(3, kind) + x[0, :3], np.maximum(x, 0), x * y[0, 0],
            x / 2, np.max(x, 1), np.min(x), np.sum(np.zeros_like(x)), x.T.reshape(-1), np.sort(x),
            np.argmax(x, 1), np.concatenate([x, y]), np.isnan(x), np.abs(x),
        ]  # fmt: skip

    for call in (autojit.jit(f), autojit.trace(f)(x, y)):
        for k, (got, want) in enumerate(zip(call(x, y), f(x, y), strict=True)):
            assert (got.dtype, got.shape) == (want.dtype, want.shape), k
            np.testing.assert_array_equal(got.astype(float), want.astype(float), str(k))
    total, product = autojit.jit(lambda x, y: (np.sum(x), x @ y.T))(x, y)
    a, b = x.astype(float), y.astype(float)
    assert total == a.sum().astype(np.float32).astype(kind)
    np.testing.assert_array_equal(product, (a @ b.T).astype(np.float32).astype(kind))
    assert autojit.jit(lambda x: np.clip(x * 2.5, -1, 1))(x).dtype == kind  # numbers are weak
    g = autojit.jit(autojit.grad(lambda x: np.sum(np.sin(x) * x)))(x)
    assert g.dtype == kind
    near = np.sin(a) + a * np.cos(a)
    np.testing.assert_allclose(g.astype(float), near, rtol=0.02, atol=0.02)
    rows = autojit.vmap(lambda r: np.sum(r * r))(x)
    assert rows.dtype == kind
    assert autojit.jit(lambda x: x + y)(x).dtype == kind  # captured
    branch = autojit.grad(lambda x: np.sum(x * x if np.sum(x) > 0 else -x))  # values at hand
    want = 2 * a if a.sum() > 0 else -np.ones_like(a)
    np.testing.assert_array_equal(branch(x).astype(float), want)
    compiled = autojit.jit(lambda x: np.sum(x * x))
    compiled(x)
    assert autojit.grad(compiled)(x).dtype == kind  # called with a traced array
    with pytest.raises(DtypeError, match="bfloat16 has only 8"):
        autojit.testing.check_grads(lambda x: np.sum(x * x), (x,))
    autojit.testing.check_grads(lambda x: np.sum(x * x), (x.astype(np.float32),))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_loops_without_a_card(kind: str) -> None:
    """Device programs, in the executor: loads and stores of 16 bits."""
    wide = np.random.default_rng(6).normal(size=(30, 40))
    dtype = np.dtype(np.float16) if kind == "f16" else short.BFLOAT16
    x = short.converted(wide, dtype)
    program = autojit.parse(f"""program main(%0: {kind}[30,40]) {{
      %1: {kind}[30,40] = mul %0, %0
      %2: {kind}[30,40] = sin %1
      %3: {kind}[30] = sum %2 {{axes=(1,)}}
      %4: {kind}[40,30] = transpose %2 {{axes=(1, 0)}}
      return %2, %3, %4
    }}""")
    for got, want in zip(run(mapped(program), program, [x]), interpret(program, [x]), strict=True):
        a, b = (short.converted(np.asarray(v), np.dtype(float)) for v in (got, want))
        np.testing.assert_allclose(a, b, rtol=2.0**-7 if kind == "bf16" else 2.0**-10)
