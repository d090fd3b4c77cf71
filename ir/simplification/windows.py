"""Rules for the cotangents of sliding windows, which are windows themselves.

The gradient of a convolution, sum_j g[p - j] v[j], is a convolution. Written as the transpose of
windows it is a sum of sheared arrays, with a bounds check for each element; windows of a padded
array need none.

Legal where the shear is that of all windows, with none cut off. Sums are rounded in another order,
and zeros around the array are among their terms: an infinity or NaN in the other factor makes NaN
near the ends.
"""

from __future__ import annotations

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.contract import dot, free_axes
from autojit.ir.ops.move import broadcast, flip, pad
from autojit.ir.ops.reduce import sum_
from autojit.ir.ops.shear import shear, windows
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()


def _sheared(op: Op, at: Rewriter) -> Op | None:
    """Return the shear that transposes windows, if an op sums a shear along its windows."""
    found = at.definition(op.operands[0], shear)
    if found is None or op.params["axes"] != (found.params["along"],):
        return None
    p, shape = found.params, found.operands[0].shape
    is_whole = p["extent"] == shape[p["axis"]] + shape[p["along"]] - 1
    return found if p["by"] == -1 and p["start"] == 0 and is_whole else None


def _windows_around(x: Value, axis: int, size: int) -> Value:
    """Return the windows of a zero-padded array that contain any of its elements."""
    margin = tuple(size - 1 if k == axis else 0 for k in range(x.type.ndim))
    padded = pad(x, low=margin, high=margin, interior=(0,) * x.type.ndim)
    return windows(padded, axis=axis, size=size)


@rules(sum_)
def sum_of_sheared_product(op: Op, at: Rewriter) -> Value | None:
    """sum(shear(dot(a, b))) along a free axis of b → dot(windows(a), flip(b))"""
    found = _sheared(op, at)
    made = at.definition(found.operands[0], dot) if found is not None else None
    if found is None or made is None or not made.result.type.is_inexact:
        return None
    contract, batch = made.params["contract"], made.params["batch"]
    free = [
        free_axes(v.type.ndim, c, b) for v, c, b in zip(made.operands, contract, batch, strict=True)
    ]
    #: The operand and its axis for each axis of the product.
    places = [(-1, k) for k in batch[0]]
    places += [(side, k) for side in (0, 1) for k in free[side]]
    (side, axis), (other, along) = (places[found.params[name]] for name in ("axis", "along"))
    if {side, other} != {0, 1}:
        return None
    x, y = made.operands[side], made.operands[other]
    operands = [_windows_around(x, axis, y.shape[along]), flip(y, axes=(along,))]
    pairs = [(*contract[side], x.type.ndim), (*contract[other], along)]
    step = 1 if side == 0 else -1
    return dot(*operands[::step], batch=batch, contract=tuple(pairs[::step]))


@rules(sum_)
def sum_of_sheared_copies(op: Op, at: Rewriter) -> Value | None:
    """sum(shear(broadcast(x))) along the axis of the copies → sum(windows(x))"""
    found = _sheared(op, at)
    made = at.definition(found.operands[0], broadcast) if found is not None else None
    if found is None or made is None:
        return None
    axis, along, dims = found.params["axis"], found.params["along"], made.params["dims"]
    if sorted((*dims, along)) != list(range(made.result.type.ndim)):
        return None
    (x,) = made.operands
    return sum_(_windows_around(x, dims.index(axis), made.result.shape[along]), axes=(x.type.ndim,))
