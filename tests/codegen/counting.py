"""A loop that counts to a bound, in text, and changes after which it does not."""

from __future__ import annotations

from typing import Any

from autojit.codegen.loop_text.parse import parse_loops

TEXT = """loops counts:
  input x: f64[60]
  input m: i64[1]
  output y: f64[60]
  output z: f64[60]
  kernel k0:
    local n: i64[1]
    local c: i64[1]
    local t: f64[1]
    for i in 0..60:
      s1 = x[i]
      y[i] = s1
      z[i] = s1
    t[0 : +1] = 0.0
    n[0 : +1] = 9
    s2 = m[0]
    s14 = x[3]
    c[0 : +1] = 0
    {before}
    repeat, steps k:
      s5 = {left}[0]
      s6 = {right}
      s7 = s5 {test} s6
      while s7:
        s8 = c[0]
        {body}
        s9 = {by}
        s10 = s8 + s9
        c[0] = s10
        {after}
"""
LEGAL = {
    "before": "n[0 : +1] = 9", "left": "c", "right": "n[0]", "test": "<", "body": "s11 = 0.0",
    "by": "1", "after": "s12 = 0.0",
}  # fmt: skip


def counting(**changes: str) -> Any:
    """The kernel, with some lines changed."""
    return parse_loops(TEXT.format(**{**LEGAL, **changes})).steps[0]


NOT_COUNTING = {
    "a bound that depends on the counter": {"right": "s2 - s5", "before": "s2 = 9"},
    "a check": {"body": "s15 = s8 < s8\n        s16 = ensure_overflow(s15, s8)"},
    "another step": {"by": "2"},
    "away from the bound": {"by": "-1"},
    "a bound that changes": {"body": "n[0] = s8"},
    "a bound of unknown range": {"before": "n[0] = s2"},
    "a first number of unknown range": {"before": "c[0] = s2"},
    "a counter that is set twice": {"body": "c[0] = s8"},
    "a counter that is read after the step": {"after": "s12 = c[0]"},
    "a counter that is added to elsewhere": {"after": "c[0] += s9"},
    "no comparison by order": {"test": "!="},
    "never": {"before": "n[0 : +1] = -9"},
}
