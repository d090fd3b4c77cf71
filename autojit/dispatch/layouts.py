"""Arrays whose axes lie in memory in another order: Fortran's, or that of a transpose.

Code for them is made of the same trace, with their transposes as inputs
(``ir/transforms/layouts.py``), so that nothing is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.types import DTYPE_NAMES
from autojit.ir.transforms.layouts import Order, Orders

#: Bytes of an array from which on code of its own is made for its order: below, a copy takes as
#: long as to see that none is needed, 2 us.
WORTH = 4096

#: For how many orders code is made for one signature; arrays in others are copied.
MOST = 4

#: Native code asks for just these objects.
DTYPES = {dtype: dtype for dtype in DTYPE_NAMES}


def order_of(leaf: Any) -> Order | None:
    """The order of axes by which the transpose of an array is in C order; None where it is so
    itself, is small, or has gaps, repetitions or reversed axes.

    >>> order_of(np.ones((20, 30, 40)).transpose(2, 0, 1))
    (1, 2, 0)
    >>> order_of(np.ones((100, 100))[::2])
    """
    if type(leaf) is not np.ndarray or leaf.nbytes < WORTH or leaf.flags.c_contiguous:
        return None
    if DTYPES.get(leaf.dtype) is not leaf.dtype or not leaf.flags.aligned:
        return None
    shape, strides = leaf.shape, leaf.strides
    # The strides of axes of one element mean nothing: they come first, in order.
    order = sorted(range(leaf.ndim), key=lambda a: (shape[a] > 1, -strides[a]))
    step = leaf.itemsize
    for axis in reversed(order):
        if shape[axis] > 1 and strides[axis] != step:
            return None
        step *= shape[axis]
    return tuple(order)


def orders_of(leaves: Sequence[Any]) -> Orders | None:
    """Those of arrays among the leaves; None where there are none."""
    found = tuple(map(order_of, leaves))
    return found if any(found) else None
