"""A function with an ``assert``, which pytest would write anew in the file of a test."""

from __future__ import annotations

from typing import Any


def asserted(x: Any) -> Any:
    assert x < 0, "x is positive"  # fails
    return x * x
