"""The readable text of device programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit import trace
from autojit.codegen.cuda.device_program.text import print_device_program
from autojit.codegen.cuda.mapping.machine import Machine
from tests.codegen.cuda.running import mapped

SOFTMAX = """\
device program softmax:
  kernel k0(in0, out0), 864 x 256 threads:
    shared t0_rows: f64[1000]
    share k from block, below 100000, by 864:
      a0 = -inf
      share l from thread, below 1000, by 256:
        s0 = in0[1000*k + l]
        a0 maximum= s0
      a0 = maximum of 256 threads
      s1 = a0
      a3 = 0.0
      share m from thread, below 1000, by 256:
        s2 = in0[1000*k + m]
        s3 = s2 - s1
        s4 = exp(s3)
        t0_rows[m] = s4
        a3 += s4
      a3 = add of 256 threads
      s5 = a3
      share n from thread, below 1000, by 256:
        s6 = t0_rows[n]
        s7 = s6 / s5
        out0[1000*k + n] = s7
      barrier of 256 threads
"""


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_rows_are_read_once_and_written_once() -> None:
    x = np.broadcast_to(np.float64(1), (100_000, 1000))
    assert print_device_program(mapped(trace(softmax)(x), Machine())) == SOFTMAX
