"""Recognises loops over one-hot rows.

Such a loop has an effect only where a comparison with an extreme of the row holds, and an earlier
loop counts the elements for which it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from autojit.codegen.analysis.dependences import written
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Compute,
    Constant,
    Finish,
    IndexValue,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Buffer, Operand, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

#: The statements that the loops may hold.
PLAIN = (Accumulate, AccumulateInto, Compute, Constant, IndexValue, Load, Store)
#: The index of an element, from its place in a row and the free index.
At = Callable[[Affine, Affine], Affine]


@dataclass
class Product:
    """A product with the rows of a stored share, as a sum with one term for each element.

    ``way``: "left" for ``c[f, j] += a[row, f] * t[row, j]``, "right" for ``c[j, f] += t[row, j] *
    b[row, f]``, and "rows" for ``c[row, f] += t[row, j] * b[j, f]``; ``f`` is below ``extent``.
    """

    store: Store
    product: MatrixProduct
    way: str
    other: Operand
    extent: int

    def factor(self, row: Affine) -> At:
        """The index, in the other operand, of the factor of an element of a row."""
        first, second = self.other.strides[-2:]
        offset = self.other.offset
        if self.way == "left":
            return lambda here, free: offset + row * second + free * first
        if self.way == "right":
            return lambda here, free: offset + row * first + free * second
        return lambda here, free: offset + here * first + free * second

    def result(self, row: Affine, width: int) -> At:
        """The index in the result that an element of a row of a given width adds to."""
        if self.way == "left":
            return lambda here, free: free * width + here
        if self.way == "right":
            return lambda here, free: here * self.extent + free
        return lambda here, free: row * self.extent + free


@dataclass
class Found:
    """A loop in which only the selected elements of a row have an effect."""

    loop: Loop
    #: The earlier loop that counts them: the number 1 for a selected element, and the count.
    counting: Loop
    one: Scalar
    count: Finish
    #: The factors of the shares, by their numbers.
    factors: dict[int, Scalar]
    products: list[Product] = field(default_factory=list)


def mask_of(value: Scalar, made: dict[int, Any], factors: dict[int, Scalar]) -> int | None:
    """The comparison that is, as a number, a factor of a value; and the other factors, which are
    the same for the whole row."""
    s = made.get(value.number)
    if not isinstance(s, Compute) or s.result.dtype not in ("f32", "f64"):
        return None
    if s.name == "neg":
        return mask_of(s.args[0], made, factors)
    if s.name == "convert":
        (truth,) = s.args
        if truth.dtype == "bool":
            return truth.number if truth.number in made else None
        return mask_of(truth, made, factors)
    if s.name != "mul":
        return None
    for share, other in (s.args, s.args[::-1]):
        if other.number in made and not isinstance(made[other.number], Constant):
            continue
        mask = mask_of(share, made, factors)
        if mask is not None:
            factors[other.number] = other
            return mask
    return None


def counted(
    row: Loop, loop: Loop, mask: Compute, made: dict[int, Any]
) -> tuple[Loop, Scalar, Finish] | None:
    """The loop ahead that counts the elements equal to an extreme, the number there, the count."""
    if mask.name != "eq" or mask.args[0].dtype not in ("f32", "f64"):
        return None
    extremes = {
        s.result.number
        for s in row.body
        if isinstance(s, Finish) and s.accumulator.combine in ("minimum", "maximum")
    }
    if not any(a.number in extremes for a in mask.args):
        return None
    wanted = _formula(mask.result, made, loop.var)
    place = next(i for i, s in enumerate(row.body) if s is loop)
    ends = {s.accumulator.number: s for s in row.body[:place] if isinstance(s, Finish)}
    for position, s in enumerate(row.body[:place]):
        if not isinstance(s, Loop) or (s.start, s.stop, s.unroll) != (0, loop.stop, False):
            continue
        if not all(isinstance(x, PLAIN) for x in s.body) or _changed(
            row.body[position:place], buffers_of(loop.body)
        ):
            continue
        inner = {x.result.number: x for x in s.body if hasattr(x, "result")}
        for x in s.body:
            if not isinstance(x, Accumulate) or x.accumulator.combine != "add":
                continue
            one, end = inner.get(x.value.number), ends.get(x.accumulator.number)
            if isinstance(one, Compute) and one.name == "convert" and end is not None:
                (truth,) = one.args
                if truth.dtype == "bool" and _formula(truth, inner, s.var) == wanted:
                    return s, one.result, end
    return None


def _changed(body: list[Any], read: list[Buffer]) -> bool:
    """Whether statements write buffers that are read."""
    return not written(body).isdisjoint(read)


def _formula(x: Scalar, made: dict[int, Any], var: Var) -> Any:
    """The formula of a scalar of a loop's body, without the names of the loop."""
    s = made.get(x.number)
    if isinstance(s, Compute):
        return s.name, x.dtype, *(_formula(a, made, var) for a in s.args)
    if isinstance(s, Constant):
        return "constant", x.dtype, repr(s.value)
    if isinstance(s, Load) and s.guard is None:
        return "load", s.buffer, s.index.substitute(var, _HERE), x.dtype
    if isinstance(s, IndexValue):
        return "index", s.index.substitute(var, _HERE), x.dtype
    return "scalar", x.number


#: Represents the variable of either of two loops.
_HERE = affine.of(Var(1))
