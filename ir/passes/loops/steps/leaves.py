"""The inputs from which a value of a step can be recomputed, so that it need not be stored.

Legal where ops may be repeated: they give the same values, and raise no new errors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from autojit.ir.autodiff.residuals import repeatable
from autojit.ir.core.program import Op, Value

from .changes import FEW


def leaves_of(
    value: Value, made: Mapping[Value, Op], undone: Collection[Value], free: Collection[Value]
) -> list[Value] | None:
    """The inputs of a value: one array whose changes can be undone, available values, and little
    else.

    None if there is not exactly one such array.
    """
    leaves, open_, seen = list[Value](), [value], {value}
    while open_:
        v = open_.pop()
        op = made.get(v)
        if op is not None and not op.operands:
            continue
        if v is not value and (op is None or v.type.size * FEW <= value.type.size):
            if v not in undone and v not in free and v.type.size * FEW > value.type.size:
                return None
            leaves.append(v)
            continue
        if op is None or not repeatable(op):
            return None
        open_ += [x for x in op.operands if x not in seen]
        seen.update(op.operands)
    return leaves if any(v in undone for v in leaves) else None
