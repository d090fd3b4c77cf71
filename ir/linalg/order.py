"""The order of elements: the permutation that sorts them, which has no derivative itself.

Sorted values are the elements at those places, so their derivative is that of reading them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.declaration import require
from autojit.ir.core.types import Type

from .factorizations import Matrices


class Argsort(Matrices):
    """``argsort(x)``: the places (int64) of the elements along the last axis, in ascending order
    and NaN last; equal elements keep their order.
    """

    arity = 1
    core = 1

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,) = types
        require(
            x.ndim > 0 and x.dtype.kind in "iuf",
            f"argsort takes an array of real numbers of at least one axis; got {x}",
        )
        return (Type(np.dtype(np.int64), x.shape),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        x = np.asarray(arrays[0])
        return np.argsort(x, kind="stable").astype(np.int64, copy=False)


argsort = Argsort("argsort")
