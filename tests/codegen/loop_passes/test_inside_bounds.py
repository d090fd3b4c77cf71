"""Facts that hold between the bounds of loops: indices that need no check, and empty loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_passes.narrow_loops import loops_narrowed
from autojit.codegen.loop_text.parse import parse_loops

#: Reads x backwards from j, in iterations ``{below}`` it, at the index ``{place}``.
TEXT = """loops backwards:
  input x: f64[20]
  output y: f64[20]
  kernel k0:
    s1 = 0.0
    s8 = 0
    for j in 0..20:
      s0 = i64(j)
      a0 = 0.0
      for i in 0..20:  # reduces
        s2 = i64(i)
        s3 = s2 {below} s0
        s4 = i64({place})
        s9 = s4 >= s8
        s6 = select(s9, s4, s8)
        s5 = x[s6 of 20]
        s7 = select(s3, s5, s1)
        a0 += s7
      s10 = a0
      y[j] = s10
"""


def line(below: str, place: str) -> Any:
    """The form of the index that is read, if it is known to be within the range."""
    kernel: Any = parse_loops(TEXT.format(below=below, place=place)).steps[0]
    loops_narrowed(kernel)
    (found,) = (s.places[0].line for s in walk(kernel.body) if hasattr(s, "places"))
    return found


@pytest.mark.parametrize(
    ("below", "place", "known"),
    [
        ("<=", "j - i", True), ("<", "j - i - 1", True), ("<=", "j - i - 1", False),
        ("<", "j - i", True), ("<=", "j - 2*i", False), ("<=", "i", True), (">=", "j - i", False),
        (">=", "i - j", True), (">", "i - j - 1", True), (">=", "i - j - 1", False),
    ],
)  # fmt: skip
def test_a_place_is_known_where_the_bounds_keep_it_inside(
    below: str, place: str, known: bool
) -> None:
    assert (line(below, place) is not None) == known


def both_ways(x, w):
    """Slices of every length from empty to whole, read and written forwards and backwards."""
    y = np.zeros_like(x)
    s = 0.0
    for k in range(x.shape[0] + 1):
        s = s + np.dot(x[:k], np.flip(y[:k])) + np.sum(x[k:] * w[k:])
        y[:k] += s * np.flip(x[:k])
        y[k:] -= w[k:] * s
    return s * 1e-3 + np.sum(np.sin(y))


def test_loops_between_bounds_compute_what_numpy_does() -> None:
    rng = np.random.default_rng(0)
    x, w, d = rng.normal(size=(3, 37)) * 0.1
    assert np.isclose(jit(both_ways)(x, w), both_ways(x, w), rtol=1e-12)
    slope = float(np.sum(jit(grad(both_ways))(x, w) * d))
    h = np.longdouble(1e-6)
    ends = [both_ways(x.astype(np.longdouble) + s * h * d, w) for s in (1, -1)]
    assert np.isclose(slope, float((ends[0] - ends[1]) / (2 * h)), rtol=1e-8)
