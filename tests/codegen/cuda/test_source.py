"""The text of the CUDA stages: exact source once, and PTX compiled without a GPU."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from autojit import grad, jit, trace, while_loop
from autojit.codegen.cuda import stages
from autojit.codegen.cuda.source import print_source
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CUDA
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import Type
from autojit.ir.ops.checks import Ensure
from autojit.ir.ops.elementwise import Convert, Elementwise, IntegerPower, Select
from autojit.ir.passes.pipeline import optimize
from autojit.ir.special.external import External
from tests.codegen.test_random_programs import ALL_ON_CUDA
from tests.sampling import share

ROOT = Path(__file__).resolve().parents[3]

STANDARDIZED = '''\
"""standardized: kernels by autojit."""

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def team_of_32():
    return np.uint32(4294967295) << np.uint32(cuda.threadIdx.x % 32 // 32 * 32)


@cuda.jit(device=True)
def team_add_f64_32(value):
    x = value
    distance = 16
    while distance > 0:
        y = np.float64(cuda.shfl_xor_sync(team_of_32(), np.float64(x), distance))
        x = x + y
        distance //= 2
    return x


@cuda.jit
def k0(in0, out0):
    """32 threads for each of 300 rows."""
    i = np.int32(8 * cuda.blockIdx.x + np.int32(np.uint32(cuda.threadIdx.x) // np.uint32(32)))
    if i < 300:
        a0 = np.float64(0.0)
        j = np.int32(np.uint32(cuda.threadIdx.x) % np.uint32(32))
        while j < 50:
            at0 = np.uint64(2) * np.uint64(np.int32(50 * i + j))
            s0 = in0[at0]
            s1 = in0[at0 + np.uint64(1)]
            a0 = a0 + s0
            a0 = a0 + s1
            j = np.int32(j + 32)
        a0 = team_add_f64_32(a0)
        s2 = a0
        s3 = s2 / np.float64(100.0)
        k = np.int32(np.uint32(cuda.threadIdx.x) % np.uint32(32))
        while k < 50:
            at1 = np.uint64(2) * np.uint64(np.int32(50 * i + k))
            s4 = in0[at1]
            s5 = in0[at1 + np.uint64(1)]
            s6 = s4 - s3
            s7 = s5 - s3
            at2 = np.uint64(2) * np.uint64(np.int32(50 * i + k))
            out0[at2] = s6
            out0[at2 + np.uint64(1)] = s7
            k = np.int32(k + 32)


def run(in0, out0):
    k0[38, 256](in0, out0)
'''


def standardized(x: Any) -> Any:
    return x - np.sum(x, axis=1, keepdims=True) / 100.0


def test_source_of_a_fused_row() -> None:
    assert jit(standardized).lower(np.ones((300, 100))).text("cuda") == STANDARDIZED


def test_equal_kernels_are_one_function() -> None:
    """A loop that Python unrolled: the kernels of its steps differ only in their arrays."""

    def f(a: Any, x: Any) -> Any:
        for _ in range(12):
            x = np.tanh(a @ x) / np.sum(x)
        return x

    source = print_source(lower(trace(f)(np.ones((200, 200)), np.ones(200)), CUDA))
    functions = source.text.count("@cuda.jit\n")
    assert len(source.launches) > 12
    assert functions < len(source.launches) / 2
    assert functions == sum(1 for launch in source.launches if launch.text)


def test_scatters_are_atomic() -> None:
    picked = np.array([1, 1, 4, 4, 2, 2])
    text = jit(grad(lambda x: np.sum(x[picked]))).lower(np.ones(9)).text("cuda")
    assert "cuda.atomic.add(out0, np.uint32(bounded(" in text
    assert "= out0[" not in text


def test_steps_of_a_loop_do_not_ask_the_hosts_memory() -> None:
    def f(x: Any, places: Any) -> Any:
        return while_loop(lambda c: c[0] < 50, lambda c: (c[0] + 1, c[1][places]), (0, x))[1]

    program = trace(f)(np.ones(100), np.zeros(100, int))
    text = print_source(lower(optimize(program), CUDA)).text
    begin, step = text.index("status = cuda.shared.array("), text.index("while True:")
    end = text.index("noted[n] = 1")
    assert begin < step < end
    assert "noted" not in text[step : text.index("cuda.syncthreads()", text.rindex("trips"))]


def test_an_unknown_statement_is_named() -> None:
    program = LoopProgram("f", [], [], [Kernel("k", ["surprise"], [])])
    with pytest.raises(TargetError, match="str statements cannot be compiled for CUDA"):
        print_source(program)


@pytest.mark.slow
def test_source_needs_no_numba_cuda() -> None:
    """Both stages without the optional dependency: the text, and an error with the remedy."""
    code = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba_cuda", "_numba_cuda_redirector"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
import numpy as np
from autojit import jit
from autojit.errors import UnsupportedTargetError
f = jit(lambda x: x + 1, device="cuda")
assert "@cuda.jit" in f.lower(np.ones(3)).text("cuda")
assert not any(m.startswith("numba.cuda") for m in sys.modules)
for use in (lambda: f(np.ones(3)), lambda: f.lower(np.ones(3)).text("ptx")):
    try:
        use()
    except UnsupportedTargetError as error:
        assert 'pip install "autojit[cuda]"' in str(error), error
        assert "NUMBA_ENABLE_CUDASIM=1" in str(error), error
    else:
        raise SystemExit("no error")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# -- PTX ------------------------------------------------------------------------


@pytest.fixture
def _numba_cuda() -> None:
    pytest.importorskip("numba_cuda", reason='pip install "autojit[cuda]"')


def loss(x: Any) -> Any:
    return np.sum(np.exp(x * 2.0 - 1.0)) + np.max(x)


@pytest.mark.usefixtures("_numba_cuda")
def test_ptx_of_a_gradient_with_reductions() -> None:
    text = jit(grad(loss)).lower(np.ones((1000, 50))).text("ptx")
    assert text.count(".visible .entry") == text.count("\n// k") + text.startswith("// k")
    assert ".target sm_80" in text
    assert "shfl.sync.bfly" in text


@pytest.mark.usefixtures("_numba_cuda")
def test_ptx_for_another_capability() -> None:
    program = trace(lambda x: x + 1)(np.ones(3))
    assert ".target sm_90" in stages.text(program, "ptx", (9, 0))


#: The reduction of large angles multiplies by 2**-64 in double precision.
ANGLES = ("sin", "cos", "tan")


@pytest.mark.slow
@pytest.mark.usefixtures("_numba_cuda")
def test_float32_has_no_float64_arithmetic() -> None:
    text = stages.text(elementwise_program("f4", leave_out=ANGLES), "ptx")
    assert ".f32" in text
    assert not re.findall(r"\.f64\b.*", re.sub(r"\.reg .f64.*", "", text))


@pytest.mark.slow
@pytest.mark.sampled(9)
@pytest.mark.usefixtures("_numba_cuda")
@pytest.mark.parametrize("dtype", ["f8", "i1", "i8", "u1", "u8", "?", "c8"])
def test_every_elementwise_op_compiles(dtype: str) -> None:
    assert ".entry" in stages.text(elementwise_program(dtype), "ptx")


def elementwise_program(dtype: str, leave_out: tuple[str, ...] = ()) -> Program:
    """Every elementwise op on operands of a dtype."""
    type = Type(np.dtype(dtype), (5,))
    builder, inputs, outputs = Builder(), [], []
    with building(builder):
        for name, kind in REGISTRY.items():
            letter = type.dtype.kind.replace("b", "?")
            if not isinstance(kind, Elementwise) or letter not in kind.kinds or name in leave_out:
                continue
            if isinstance(kind, (Ensure, External)):  # errors and refused functions
                continue
            first = [Value(type.with_dtype(bool))] if isinstance(kind, Select) else []
            operands = first + [Value(type) for _ in kind.rules[len(first) :]]
            inputs += operands
            for params in parameters(kind, type):
                outputs.append(kind(*operands, **params))
    return builder.finish(inputs, outputs)


def parameters(kind: Elementwise, type: Type) -> list[dict[str, Any]]:
    if isinstance(kind, Convert):
        others = ("i1", "u1", "i4", "i8", "u8", "f4", "?") + (("f8",) if type.dtype != "f4" else ())
        return [{"dtype": np.dtype(d)} for d in others]
    return [{"exponent": 3}] if isinstance(kind, IntegerPower) else [{}]


@pytest.mark.slow
@pytest.mark.usefixtures("_numba_cuda")
@settings(
    max_examples=share(8),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(ALL_ON_CUDA)
def test_random_programs_compile_to_ptx(program: Program) -> None:
    stages.text(program, "ptx")


def test_libraries_of_the_cpu_are_refused() -> None:
    program = trace(np.linalg.eig)(np.eye(3))
    with pytest.raises(
        TargetError, match="eig cannot be compiled for CUDA without cuSOLVER"
    ) as caught:
        stages.text(program, "cuda")
    assert caught.value.source is not None
