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
      share l from thread, below 500, by 256:
        together:
          s0 = in0[1000*k + 2*l]
          s1 = in0[1000*k + 2*l + 1]
        a0 maximum= s0
        a0 maximum= s1
      a0 = maximum of 256 threads
      s2 = a0
      a3 = 0.0
      share m from thread, below 500, by 256:
        together:
          s3 = in0[1000*k + 2*m]
          s4 = in0[1000*k + 2*m + 1]
        s5 = s3 - s2
        s6 = s4 - s2
        s7 = exp(s5)
        s8 = exp(s6)
        together:
          t0_rows[2*m] = s7
          t0_rows[2*m + 1] = s8
        a3 += s7
        a3 += s8
      a3 = add of 256 threads
      s9 = a3
      share n from thread, below 500, by 256:
        together:
          s10 = t0_rows[2*n]
          s11 = t0_rows[2*n + 1]
        s12 = s10 / s9
        s13 = s11 / s9
        together:
          out0[1000*k + 2*n] = s12
          out0[1000*k + 2*n + 1] = s13
      barrier of 256 threads
"""


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_rows_are_read_once_and_written_once() -> None:
    x = np.broadcast_to(np.float64(1), (100_000, 1000))
    assert print_device_program(mapped(trace(softmax)(x), Machine())) == SOFTMAX
