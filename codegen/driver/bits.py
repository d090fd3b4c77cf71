"""Calls with arrays of bfloat16: native code takes and gives their bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.halves import BFLOAT16, held_as, is_bfloat16, shown
from autojit.ir.core.types import Type


class OfBits:
    """Calls native code with views of the bits, and returns views of the bits of results.

    Like native code it returns None if an argument does not have exactly the program's type.
    """

    def __init__(
        self, native: Callable[..., Any], in_types: Sequence[Type], out_types: Sequence[Type]
    ) -> None:
        self.native = native
        self.taken = [i for i, t in enumerate(in_types) if t.dtype is BFLOAT16]
        self.given = frozenset(i for i, t in enumerate(out_types) if t.dtype is BFLOAT16)

    def __call__(self, *leaves: Any) -> Any:
        held = list(leaves)
        for i in self.taken:
            x = held[i]
            if not isinstance(x, (np.ndarray, np.generic)) or not is_bfloat16(x.dtype):
                return None
            held[i] = np.asarray(x).view(held_as(BFLOAT16))
        result = self.native(*held)
        if not self.given or result is None:
            return result
        if not isinstance(result, tuple):
            return shown(result)
        return tuple([shown(x) if i in self.given else x for i, x in enumerate(result)])
