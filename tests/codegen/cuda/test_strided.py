"""Copies of arrays that are not contiguous, run by the executor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit.codegen.cuda.executor.run import execute
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.program import device_program
from autojit.codegen.cuda.strided import copying, lowest

WHOLE = np.arange(40 * 48.0).reshape(40, 48)
VIEWS: dict[str, Any] = {
    "a transpose": WHOLE.T,
    "a part": WHOLE[3:30, 5:9],
    "every other one": WHOLE[::3, 1::2],
    "backwards": WHOLE[::-1, ::-2].T,
    "one row for all": np.broadcast_to(WHOLE[7], (5, 48)),
    "axes": WHOLE.reshape(4, 10, 6, 8).transpose(2, 0, 3, 1)[:, ::-1],
    "one number": WHOLE[2:3, 4],
}


@pytest.mark.parametrize("name", VIEWS)
def test_elements_in_the_order_of_rows(name: str) -> None:
    view = VIEWS[name]
    strides = tuple(s // 8 for s in view.strides)
    program = copying("f64", view.shape, strides)
    first = (view.__array_interface__["data"][0] - WHOLE.ctypes.data) // 8
    begin = first - lowest(view.shape, strides)
    memory = WHOLE.ravel()[begin : begin + program.inputs[0].size]
    (found,) = execute(device_program(program, Machine()), [memory])
    np.testing.assert_array_equal(found.reshape(view.shape), view)


def test_transposes_are_copied_in_tiles() -> None:
    (kernel,) = device_program(copying("f32", (40, 50), (1, 40)), Machine()).launches
    assert kernel.shared
