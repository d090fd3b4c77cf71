"""Which steps libraries compute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autojit import trace
from autojit.codegen.cuda.device_program.calls import LibraryCall
from autojit.codegen.cuda.libraries.prototypes import PROTOTYPES
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.ir.pass_manager import remarks
from tests.codegen.cuda.running import mapped


def test_without_a_library_our_kernels_run_and_a_remark_says_so() -> None:
    with remarks.collecting() as notes:
        mapped(trace(lambda a: a @ a.T)(np.ones((1024, 1024))), Machine())
    (note,) = [n for n in notes if n.by == "libraries"]
    assert "cuBLASLt is not installed" in note.reason
    assert note.way_out == "pip install nvidia-cublas"


@pytest.mark.parametrize(
    ("f", "small", "large"),
    [
        (lambda a: a @ a, 32, 1024),
        (np.linalg.cholesky, 8, 512),
        (np.linalg.eigvalsh, 8, 256),
        (lambda a: np.fft.fft(a + 0j), 8, 1024),
    ],
)
def test_small_matrices_stay_with_our_kernels(f: Any, small: int, large: int) -> None:
    machine = replace(Machine(), libraries=frozenset(PROTOTYPES))
    for n, is_called in ((small, False), (large, True)):
        device = mapped(trace(f)(np.eye(n)), machine)
        assert any(isinstance(x, LibraryCall) for x in device.launches) == is_called
