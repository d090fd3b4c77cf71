"""Arrays with axes in another memory order: Fortran order, or that of a transpose.

Code for them is made of the same trace, with their transposes as inputs
(``ir/transforms/layouts.py``), so that nothing is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.types import DTYPE_NAMES
from autojit.ir.transforms.layouts import Order, Orders

#: The size in bytes from which an array gets code for its order. Below it, copying takes no longer
#: than checking the order, 2 us.
WORTH = 4096

#: The most orders per signature that get their own code; arrays in other orders are copied.
MOST = 4

#: Native code accepts exactly these objects.
DTYPES = {dtype: dtype for dtype in DTYPE_NAMES}


def order_of(leaf: Any) -> Order | None:
    """The order of axes in which the transpose of an array is in C order. None if the array itself
    is in C order, is small, or has gaps, repetitions or reversed axes.

    >>> order_of(np.ones((20, 30, 40)).transpose(2, 0, 1))
    (1, 2, 0)
    >>> order_of(np.ones((100, 100))[::2])
    """
    if type(leaf) is not np.ndarray or leaf.nbytes < WORTH or leaf.flags.c_contiguous:
        return None
    if DTYPES.get(leaf.dtype) is not leaf.dtype or not leaf.flags.aligned:
        return None
    shape, strides = leaf.shape, leaf.strides
    # The strides of axes of length 1 are meaningless: these axes come first, in order.
    order = sorted(range(leaf.ndim), key=lambda a: (shape[a] > 1, -strides[a]))
    step = leaf.itemsize
    for axis in reversed(order):
        if shape[axis] > 1 and strides[axis] != step:
            return None
        step *= shape[axis]
    return tuple(order)


def orders_of(leaves: Sequence[Any]) -> Orders | None:
    """The orders of the arrays among the leaves; None if all are in C order."""
    found = tuple(map(order_of, leaves))
    return found if any(found) else None
