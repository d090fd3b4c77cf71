"""Random programs in which ``eigh`` fails: compiled code must fail where the interpreter does.

The matrices on which LAPACK fails depend on the library. So in these tests it fails on all, and so
does NumPy's function, which the interpreter uses.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from autojit.codegen.cpu.abi import abi
from autojit.codegen.driver.executable import Executable
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Program
from autojit.ir.linalg.spectral import Eigh
from autojit.ir.ops.arithmetic import mul
from autojit.ir.passes import optimize
from autojit.ir.regions.scan import Scan
from autojit.ir.regions.switch import Switch
from autojit.ir.regions.while_ import While
from autojit.ir.tools.interpreter import interpret
from tests.ir.random_programs import arguments_for, programs
from tests.sampling import share

pytestmark = pytest.mark.optimised

_POINTERS = [ctypes.c_void_p] * 11


@ctypes.CFUNCTYPE(None, *_POINTERS)
def _syevd(*arguments: Any) -> None:
    """LAPACK's routine if its iteration does not converge; its last argument reports this."""
    ctypes.cast(arguments[-1], ctypes.POINTER(ctypes.c_int32))[0] = 1


@pytest.fixture(autouse=True)
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    found, address = abi.library_function, ctypes.cast(_syevd, ctypes.c_void_p).value or 0

    def library_function(name: str) -> int:
        return address if name.endswith("syevd") else found(name)

    def eigh(a: Any, *_: Any) -> Any:
        if a.size == 0:  # nothing is computed
            return np.zeros(a.shape[:-1], a.dtype), np.zeros(a.shape, a.dtype)
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(abi, "library_function", library_function)
    monkeypatch.setattr(np.linalg, "eigh", eigh)


def takes_part(kind: Declaration) -> bool:
    return isinstance(kind, (Eigh, Scan, Switch, While)) or kind is mul


FLOATS = tuple(map(np.dtype, ("f8", "f4")))
SETTINGS = settings(
    max_examples=share(40),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
MESSAGE = r"(?m)^Eigenvalues did not converge$"


def fails(program: Program, arguments: list[Any]) -> bool:
    """Whether a program fails, ignoring ops that no result depends on."""
    try:
        interpret(optimize(program), arguments)
    except np.linalg.LinAlgError:
        return True
    return False


@SETTINGS
@given(program=programs(kinds=takes_part, dtypes=FLOATS, min_extent=1), seed=st.integers(0, 1000))
def test_compiled_code_fails_where_the_interpreter_does(program: Program, seed: int) -> None:
    arguments = arguments_for(program, np.random.default_rng(seed))
    arrays = [np.asarray(a, t.dtype) for a, t in zip(arguments, program.in_types, strict=True)]
    executable, expected = Executable(program), fails(program, arguments)
    event(f"fails: {expected}")
    for _ in range(2):  # a call after a failure starts afresh
        if expected:
            with pytest.raises(np.linalg.LinAlgError, match=MESSAGE):
                executable.call(arrays)
        else:
            executable.call(arrays)
