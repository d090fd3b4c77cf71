"""Values that are passed on if a condition holds, and raise otherwise.

Python's integers have no bound and no division by zero; the int64 that stands for one does.  The
operations on them are NumPy's, and what they give passes through `ensure`.  A check belongs to its
result: where nothing reads that, nothing is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import require
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type

from .arithmetic import bitwise_not, bitwise_or
from .elementwise import Elementwise
from .move import broadcast

#: What may fail: the error, and its words.
FAILURES: dict[str, tuple[type[Exception], str]] = {
    "overflow": (
        OverflowError,
        "the result of arithmetic between Python integers does not fit into 64 bits, in which "
        "traced integers are kept: make one of the operands a float, float(n)",
    ),
    "zero_division": (ZeroDivisionError, "integer division or modulo by zero"),
    "negative_shift": (ValueError, "negative shift count"),
    "unequal_lengths": (
        ValueError,
        "operands could not be broadcast together: slices with traced bounds differ in length "
        "(a single element is not stretched; write x[i] for x[i:j])",
    ),
    "empty_maximum": (
        ValueError,
        "zero-size array to reduction operation maximum which has no identity",
    ),
    "empty_minimum": (
        ValueError,
        "zero-size array to reduction operation minimum which has no identity",
    ),
    "empty_argument": (ValueError, "attempt to get argmax or argmin of an empty sequence"),
    "part_out_of_range": (
        IndexError,
        "an index, or a slice such as x[i:i + 3], is out of range of a part with traced bounds; "
        "traced slices of known length are not made shorter at the ends",
    ),
}


class Ensure(Elementwise):
    """``ensure(x, holds, failure=name)``: x; raises where ``holds`` is false for any element."""

    parameters = ("failure",)
    fallible = True

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        x, holds = types
        require(
            holds == x.with_dtype(bool) and params["failure"] in FAILURES,
            f"ensure takes a value and a bool of its shape, and a failure that is one of "
            f"{', '.join(FAILURES)}; got {x}, {holds}, {params['failure']!r}",
        )
        return (x,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        x, holds = arrays
        if not np.all(holds):
            error, words = FAILURES[params["failure"]]
            raise error(words)
        return x

    def may_fail(self, op: Op) -> bool:
        return True

    def harmless(self, op: Op, operands: Sequence[Value], wanted: Value) -> Sequence[Value] | None:
        x, holds = operands
        unwanted = broadcast(bitwise_not(wanted), shape=holds.shape, dims=())
        return [x, bitwise_or(holds, unwanted)]

    def raises(self, op: Op) -> frozenset[type[Exception]]:
        return frozenset({FAILURES[op.params["failure"]][0]})


def _kernel(k: Any, x: Any, holds: Any, *, failure: str) -> Any:
    return k(f"ensure_{failure}", holds, x)


ensure = Ensure("ensure", np.asarray, [None, None], kinds="?iu", kernel=_kernel)
