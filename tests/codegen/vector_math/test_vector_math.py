"""Vector math is accurate, right at every special value, and vectorised."""

from __future__ import annotations

import ctypes
import functools
import math
import platform
import re
from importlib import import_module

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir
from mpmath import mp, mpf

from autojit.codegen import vector_math
from autojit.codegen.cpu.llvm import library
from autojit.codegen.loop_ir.machine import has_fused
from autojit.codegen.vector_math import constants
from autojit.codegen.vector_math.coefficients import COEFFICIENTS
from autojit.codegen.vector_math.scalar import FORMATS
from autojit.codegen.vector_math.table import MODULES, TABLE
from bench.vector_math import accuracy, measure, remez, remez_targets

NAMES = sorted(vector_math.NAMES)
WIDTHS = (64, 32)
COUNT = 120
X86 = platform.machine().lower() in ("x86_64", "amd64")
INF, NAN = math.inf, math.nan

each_function = pytest.mark.parametrize(
    ("name", "bits"), [(name, bits) for name in NAMES for bits in WIDTHS]
)


@functools.cache
def compiled(name: str, bits: int) -> measure.Loop:
    return measure.compile_loop(name, bits)


@functools.cache
def compiled_without_fma(name: str, bits: int) -> measure.Loop:
    """The same for the oldest x86-64 processors with rounding instructions and without fused
    ones."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    written = measure.loop_module(name, bits, "loop")
    module = llvm.parse_assembly(library.with_forms(str(written)))
    for words in library.used(written):
        module.link_in(llvm.parse_assembly(words))
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu="x86-64-v2", opt=3, jit=True
    )
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    arity = TABLE[name].arity
    address = engine.get_function_address("loop")
    return measure.Loop(address, arity, measure.DTYPES[bits], engine)


def test_functions_are_where_the_table_says() -> None:
    for module, names in MODULES.items():
        path = f"autojit.codegen.vector_math.{module}"
        import_module(path)
        defined = [name for name, entry in TABLE.items() if entry.formula.__module__ == path]
        assert set(defined) == set(names)
    assert {name for name, entry in TABLE.items() if entry.moderate} == vector_math.CALLED


def test_every_function_has_a_case_with_samples() -> None:
    assert set(accuracy.CASES) == vector_math.NAMES
    for name, case in accuracy.CASES.items():
        assert set(case.bound) == set(WIDTHS)
        for operands in accuracy.samples(name, np.dtype(np.float64), 4):
            assert len(operands) == TABLE[name].arity


@pytest.mark.parametrize("name", NAMES)
def test_docstring_states_the_bound(name: str) -> None:
    bound = max(accuracy.CASES[name].bound.values())
    assert f"Within {bound:g} ulp" in (TABLE[name].formula.__doc__ or "")


@pytest.mark.sampled(4)
@each_function
def test_error_is_within_the_bound(name: str, bits: int) -> None:
    loop = compiled(name, bits)
    bound = accuracy.CASES[name].bound[bits]
    assert accuracy.largest_error(name, loop, measure.DTYPES[bits], COUNT) <= bound


@pytest.mark.sampled(4)
@pytest.mark.skipif(not X86, reason="chooses an x86 processor")
@each_function
def test_error_is_within_the_bound_without_fused_instructions(name: str, bits: int) -> None:
    loop = compiled_without_fma(name, bits)
    bound = accuracy.CASES[name].bound[bits]
    # Without fused instructions, each product in a polynomial is rounded once more.
    assert accuracy.largest_error(name, loop, measure.DTYPES[bits], COUNT) <= bound + 0.5


@pytest.mark.sampled(3)
@pytest.mark.skipif(not X86, reason="reads x86 assembly")
@each_function
def test_loop_is_packed_and_calls_nothing_but_packed_code(name: str, bits: int) -> None:
    assembly = compiled(name, bits).code.assembly()
    suffix = "d" if bits == 64 or name in ("hypot",) else "s"
    assert re.search(rf"\bv?(add|mul|sub|fmadd\d+|fnmadd\d+)p{suffix}\b", assembly)
    if name in vector_math.CALLED:
        loop = assembly[: assembly.index(f"aj.{name}.f{bits}:")]
        assert "\tcall" in loop
        assert re.search(rf"\baj\.{name}\.f{bits}\.v\d+\b", loop)
    else:
        assert not re.search(r"\tcall", assembly)


@pytest.mark.sampled(8)
@pytest.mark.skipif(not has_fused(), reason="has no fused instruction")
@each_function
def test_fused_products_are_the_same_as_halves(name: str, bits: int) -> None:
    """In both cases a product and its rounding error are exact."""
    fused, halves = (measure.compile_loop(name, bits, fused=is_fused) for is_fused in (True, False))
    rng = np.random.default_rng(7)
    dtype = measure.DTYPES[bits]
    for operands in accuracy.samples(name, dtype, 500):
        arrays = [np.asarray(operand, dtype) for operand in operands]
        np.testing.assert_array_equal(fused(*arrays), halves(*arrays))
    operands = [rng.uniform(0.1, 2, 3000).astype(dtype) for _ in range(TABLE[name].arity)]
    np.testing.assert_array_equal(fused(*operands), halves(*operands))


def test_ulp_error_sees_errors() -> None:
    info = np.finfo(np.float64)
    assert accuracy.ulp_error(1.0, mpf(1), mpf(1), info) == 0
    assert accuracy.ulp_error(1 + info.eps, mpf(1), mpf(1), info) == 1
    assert accuracy.ulp_error(5e-324, mpf(0), mpf(0), info) == INF
    assert accuracy.ulp_error(NAN, mpf(1), mpf(1), info) == INF
    assert accuracy.ulp_error(INF, mpf(10) ** 308, mpf(10) ** 308, info) == INF
    assert accuracy.ulp_error(INF, mpf(10) ** 309, mpf(10) ** 309, info) == 0
    assert accuracy.ulp_error(-INF, mpf(10) ** 309, mpf(10) ** 309, info) == INF
    assert accuracy.ulp_error(0.0, mpf(2) ** -1074, mpf(2) ** -1074, info) == 1


# Exact values, including the sign of zero. For odd, or continuous and monotone functions, the
# values at the ends of their range; functions that NumPy has are also compared further down.
HALF_PI, PI = math.pi / 2, math.pi
ODD = ("expm1", "log1p", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt")
SPECIAL: list[tuple[str, tuple[float, ...], float]] = [
    *((name, (zero,), zero) for name in (*ODD, "erf") for zero in (0.0, -0.0)),
    *((name, (tiny,), tiny) for name in ODD[:-1] for tiny in (1e-40, -1e-40)),
    *((name, (-INF,), 0.0) for name in ("exp", "exp2", "sigmoid", "softplus", "ndtr")),
    *((name, (INF,), INF) for name in ("exp", "exp2", "expm1", "softplus", "log", "log2")),
    *((name, (INF,), INF) for name in ("log10", "log1p", "sinh", "cosh", "asinh", "acosh", "cbrt")),
    *((name, (-INF,), -INF) for name in ("sinh", "asinh", "cbrt")),
    *((name, (INF,), 1.0) for name in ("tanh", "sigmoid", "erf", "ndtr")),
    *((name, (sign * INF,), NAN) for name in ("sin", "cos", "tan") for sign in (1, -1)),
    *((name, (zero,), -INF) for name in ("log", "log2", "log10") for zero in (0.0, -0.0)),
    *((name, (x,), NAN) for name in ("log", "log2", "log10") for x in (-1.0, -1e-40, -INF)),
    *((name, (1.0,), 0.0) for name in ("log", "log2", "log10", "acosh", "acos")),
    *((name, (0.0,), 1.0) for name in ("exp", "exp2", "cos", "cosh", "erfc")),
    *((name, (0.0,), 0.5) for name in ("sigmoid", "ndtr")),
    *((name, (x,), NAN) for name in ("asin", "acos", "atanh") for x in (1.5, -1.5, INF, -INF)),
    ("expm1", (-INF,), -1.0),
    ("expm1", (-100.0,), -1.0),
    ("tanh", (-INF,), -1.0),
    ("erf", (-INF,), -1.0),
    ("erfc", (INF,), 0.0),
    ("erfc", (-INF,), 2.0),
    ("cosh", (-INF,), INF),
    ("log1p", (-1.0,), -INF),
    ("log1p", (-1.5,), NAN),
    ("log1p", (-INF,), NAN),
    ("log2", (8.0,), 3.0),
    ("log2", (0.125,), -3.0),
    ("log10", (1000.0,), 3.0),
    ("exp2", (10.0,), 1024.0),
    ("acosh", (0.5,), NAN),
    ("acosh", (-INF,), NAN),
    ("acosh", (-3.0,), NAN),
    ("atanh", (1.0,), INF),
    ("atanh", (-1.0,), -INF),
    ("asin", (1.0,), HALF_PI),
    ("acos", (-1.0,), PI),
    ("atan", (INF,), HALF_PI),
    ("atan", (-INF,), -HALF_PI),
    ("cbrt", (27.0,), 3.0),
    ("hypot", (3.0, 4.0), 5.0),
    ("hypot", (INF, NAN), INF),
    ("hypot", (NAN, -INF), INF),
    ("hypot", (0.0, -0.0), 0.0),
    ("logaddexp", (INF, INF), INF),
    ("logaddexp", (-INF, -INF), -INF),
    ("logaddexp", (-INF, 2.0), 2.0),
    ("logaddexp", (-INF, INF), INF),
    ("pow", (NAN, 0.0), 1.0),
    ("pow", (1.0, NAN), 1.0),
    ("pow", (-1.0, INF), 1.0),
    ("pow", (-1.0, -INF), 1.0),
    ("pow", (0.5, INF), 0.0),
    ("pow", (0.5, -INF), INF),
    ("pow", (-0.0, -3.0), -INF),
    ("pow", (-0.0, -2.0), INF),
    ("pow", (-0.0, 3.0), -0.0),
    ("pow", (0.0, 0.5), 0.0),
    ("pow", (-INF, 3.0), -INF),
    ("pow", (-INF, 2.5), INF),
    ("pow", (-INF, -3.0), -0.0),
    ("pow", (-8.0, 1 / 3), NAN),
    ("pow", (-2.0, 3.0), -8.0),
    ("pow", (10.0, 2.0), 100.0),
    ("pow", (0.0, NAN), NAN),
]
SINGLE_ARGUMENT = [name for name in NAMES if TABLE[name].arity == 1]


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [*SPECIAL, *((name, (NAN,), NAN) for name in SINGLE_ARGUMENT)],
)
def test_special_value(name: str, operands: tuple[float, ...], expected: float, bits: int) -> None:
    loop = compiled(name, bits)
    dtype = measure.DTYPES[bits]
    # Twenty copies, so that the vectorised part of the loop runs.
    got = loop(*(np.full(20, operand, dtype) for operand in operands))
    np.testing.assert_array_equal(got, np.full(20, expected, dtype))
    if expected == 0:
        assert (np.signbit(got) == np.signbit(expected)).all()


EDGES = (
    *(0.0, 1.0, 0.5, 2.0, 3.0, 1.5, 1e-30, 1e30, 1 / 3, INF, NAN),
    *("max", "tiny", "smallest_subnormal", "eps"),
)


def edges(dtype: np.dtype) -> np.ndarray:
    info = np.finfo(dtype)
    numbers = [float(getattr(info, edge)) if isinstance(edge, str) else edge for edge in EDGES]
    around_1 = [1 - float(info.epsneg), 1 + float(info.eps)]
    return np.array([sign * number for number in numbers + around_1 for sign in (1, -1)], dtype)


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", ["atan2", "hypot", "logaddexp", "pow"])
def test_pairs_of_edges_are_as_in_numpy(name: str, bits: int) -> None:
    loop = compiled(name, bits)
    numbers = edges(measure.DTYPES[bits])
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        expected = {"pow": np.power}.get(name, getattr(np, name))(x, y)
    got = loop(x, y)
    np.testing.assert_array_max_ulp(got, expected, maxulp=3, dtype=measure.DTYPES[bits])
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


# The ends of the ranges, to within one float: x is exact or nearly so.
ENDS = [
    ("exp", 64, 709.782712893384, 1.7976931348622732e308),
    ("exp", 64, 709.7827128933841, INF),
    ("exp", 64, -745.1332191019411, 5e-324),
    ("exp", 64, -745.1332191019412, 0.0),
    ("exp", 32, 88.72283172607422, 3.4027984e38),
    ("exp", 32, 88.7228469848633, INF),
    ("exp", 32, -103.9720764, 1e-45),
    ("exp", 32, -103.97209, 0.0),
    ("sinh", 64, 710.4758600739439, 1.7976931348621744e308),
    ("sinh", 64, 710.475860073944, INF),
    ("cosh", 64, -710.4758600739439, 1.7976931348621744e308),
    ("log", 64, 5e-324, -744.4400719213812),
    ("log2", 64, 5e-324, -1074.0),
    ("log2", 32, 1e-45, -149.0),
    ("erfc", 64, 27.2, 5.4e-324),
]


@pytest.mark.parametrize(("name", "bits", "x", "expected"), ENDS)
def test_end_of_range(name: str, bits: int, x: float, expected: float) -> None:
    dtype = measure.DTYPES[bits]
    got = compiled(name, bits)(np.full(20, x, dtype))
    np.testing.assert_array_max_ulp(got, np.full(20, expected, dtype), maxulp=2)


# The doubles and floats nearest to a multiple of pi/2 (relative to their size).
CLOSEST_TO_A_MULTIPLE = {64: 6381956970095103 * 2.0**797, 32: 16367173 * 2.0**72}


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_reduction_where_it_cancels_most(name: str, bits: int) -> None:
    x = CLOSEST_TO_A_MULTIPLE[bits]
    got = float(compiled(name, bits)(np.full(20, x, measure.DTYPES[bits]))[0])
    with mp.workprec(2500):
        exact = getattr(mp, name)(mpf(x))
    info = np.finfo(measure.DTYPES[bits])
    bound = accuracy.CASES[name].bound[bits]
    right = accuracy.ulp_error(got, exact, exact, info) <= bound
    # Beyond 2**52 the reduced argument is known only to 2**-98, which matters for these arguments.
    assert right or abs(got - exact) < 2.0**-98 or abs(1 / got - 1 / exact) < 2.0**-98


@each_function
def test_definition(name: str, bits: int) -> None:
    module = ir.Module()
    defined = vector_math.function(module, name, bits)
    assert vector_math.function(module, name, bits) is defined
    assert defined.name == f"aj.{name}.f{bits}"
    assert defined.linkage == "internal"
    assert {"alwaysinline", "nounwind", "readnone"} <= set(defined.attributes)
    assert len(defined.blocks) == 1
    llvm.parse_assembly(str(module)).verify()


@pytest.mark.parametrize(("name", "bits"), [("no_such_function", 64), ("exp", 16)])
def test_unknown_function_is_refused(name: str, bits: int) -> None:
    with pytest.raises(KeyError):
        vector_math.function(ir.Module(), name, bits)


def test_constants_are_right() -> None:
    with mp.workprec(1500):
        for fraction, exact, bits in (
            (constants.PI, mp.pi, 1395),
            (constants.LN2, mp.log(2), 250),
            (constants.LN10, mp.log(10), 250),
        ):
            error = abs(mpf(fraction.numerator) / fraction.denominator - exact)
            assert error < mpf(2) ** -bits


def test_parts_of_a_constant_add_up() -> None:
    parts = constants.split(constants.PI, FORMATS[64], 20, 20)
    assert [float(part).as_integer_ratio()[0].bit_length() <= 20 for part in parts[:2]] == [
        True
    ] * 2
    assert abs(sum(map(constants.Fraction, parts)) - constants.PI) < 2.0**-90


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bits"), [("exp", 64), ("log", 32), ("atan", 64)])
def test_coefficients_are_what_remez_finds(name: str, bits: int) -> None:
    target = remez_targets.TARGETS[name]
    with mp.workdps(60):
        fit = remez.minimax(target, target.degrees[bits])
    assert tuple(remez.rounded(c, bits) for c in fit.coefficients) == COEFFICIENTS[name, bits]


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", sorted(vector_math.CALLED))
def test_a_large_argument_says_nothing_about_its_neighbours(name: str, bits: int) -> None:
    """Each element of a vector is the same as if computed alone, though vectors take one of two
    paths."""
    dtype, rng = measure.DTYPES[bits], np.random.default_rng(5)
    x = rng.uniform(-5, 5, 3000).astype(dtype)
    large = rng.random(3000) < 0.1
    mixed = np.where(large, x * dtype.type(1e7), x)
    loop = compiled(name, bits)
    np.testing.assert_array_equal(loop(mixed)[~large], loop(x)[~large])
    np.testing.assert_array_equal(loop(mixed)[large], loop(mixed[large]))


@pytest.mark.parametrize("register", [16, 32, 64])
@pytest.mark.parametrize("bits", WIDTHS)
def test_forms_for_vectors_of_all_widths_agree(bits: int, register: int) -> None:
    """From two lanes up to two registers, whichever variant is written from the formula."""
    from autojit.codegen.cpu.host.engine import AS_WRITTEN, Compiled
    from autojit.codegen.vector_math import called

    module = ir.Module("forms")
    called.define(module, "sin", bits, register)
    number = FORMATS[bits].float_type
    declared, forms = called.declarations("sin", bits, register)
    assert all(f'@"{form}"' in declared for form in forms)
    widths = [1, *(int(form.rsplit(".v")[1]) for form in forms)]
    assert widths[-1] == 2 * register * 8 // bits
    for lanes in widths:  # void of_LANES(pointer), which works in place
        vector = FORMATS[bits].in_vectors(lanes).float_type
        kind = ir.FunctionType(ir.VoidType(), [number.as_pointer()])
        function = ir.Function(module, kind, f"of_{lanes}")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        place = builder.bitcast(function.args[0], vector.as_pointer())
        given = builder.load(place, align=bits // 8)
        result = builder.call(called.declare(module, "sin", bits, lanes), [given])
        builder.store(result, place, align=bits // 8)
        builder.ret_void()
    code = Compiled([AS_WRITTEN + str(module)])
    x = np.array([0.1, -2.0, 3e9, 1.0, -0.0, 7e5, 2e7, 1e-3] * 4, measure.DTYPES[bits])
    results = []
    for lanes in widths:
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(f"of_{lanes}"))
        y = x.copy()
        for start in range(0, x.size, lanes):
            run(y[start : start + lanes].ctypes.data)
        results.append(y)
    np.testing.assert_array_max_ulp(results[0], np.sin(x.astype(np.float64)).astype(x.dtype), 2)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
