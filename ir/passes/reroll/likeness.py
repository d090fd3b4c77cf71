"""Whether ops correspond in the steps of a loop, and how their parameters move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.program import Op, param_key
from autojit.ir.rewriting import in_order

#: Integers below this, and the differences of two of them, are exact in float64.
MOST = 1 << 43
#: The most ops of a sequence that must occur twice.
MOST_COMPARED = 32


def signatures(ops: Sequence[Op]) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers for each op.

    The first is equal for ops that correspond, whatever their sliding parameters. The second is
    equal only if these are equal too, which tells the steps of an inner loop apart.
    """
    numbers: dict[Any, int] = {}
    types: dict[Any, int] = {}
    #: The same by id, for faster lookup; and, for ops without parameters, by the ids of all types.
    known: dict[int, int] = {}
    plain: dict[tuple[Any, ...], int] = {}
    alike = np.empty(len(ops), np.int64)
    equal = np.empty(len(ops), np.int64)
    for i, op in enumerate(ops):
        if not op.kind.parameters:
            form = (op.kind, *[id(v.type) for v in op.operands], *[id(v.type) for v in op.results])
            found = plain.get(form)
            if found is not None:
                alike[i] = equal[i] = found
                continue
        key: list[Any] = [op.kind]
        for v in (*op.operands, *op.results):
            number = known.get(id(v.type))
            if number is None:
                number = known[id(v.type)] = types.setdefault(v.type, len(types))
            key.append(number)
        slides: list[Any] = []
        for name in op.kind.parameters:
            (slides if name in op.kind.sliding else key).append(param_key(op.params[name]))
        fixed = tuple(key)
        alike[i] = equal[i] = numbers.setdefault(fixed, len(numbers))
        if not op.kind.parameters:
            plain[form] = numbers[fixed]
        if slides:
            equal[i] = numbers.setdefault((fixed, *slides), len(numbers))
    return alike, equal


def may_repeat(alike: np.ndarray, least: int, steps: int) -> bool:
    """Whether corresponding ops may repeat often enough for a stretch of so many ops and steps.

    Each op of a stretch, except in its last step, is followed one period later by a corresponding
    op. So sequences inside the stretch occur twice.  Programs without such sequences are not
    searched.
    """
    inside = least - least // steps
    window = min(MOST_COMPARED, inside // 2)
    twice = len(alike) - window + 1 - in_order.different(alike, window)
    return twice >= inside - window + 1


def sliding_numbers(ops: Sequence[Op]) -> np.ndarray:
    """The numbers in the ops' sliding parameters, one row per op; NaN for other parameters."""
    rows: dict[int, list[float]] = {}
    for i, op in enumerate(ops):
        if op.kind.sliding:
            found = [op.params[name] for name in op.kind.sliding]
            rows[i] = [_number(v) for x in found for v in (x if isinstance(x, tuple) else (x,))]
    made = np.zeros((len(ops), max(map(len, rows.values()), default=0)))
    for i, row in rows.items():
        made[i, : len(row)] = row
    return made


def _number(x: Any) -> float:
    return float(x) if type(x) is float or (type(x) is int and abs(x) < MOST) else np.nan


def compared(a: Op, b: Op) -> tuple[bool, bool]:
    """Whether two ops correspond, whatever their sliding parameters, and if these are equal."""
    kinds, params = signatures([a, b])
    return bool(kinds[0] == kinds[1]), bool(params[0] == params[1])


def slide_of(column: Sequence[Op]) -> Any:
    """How the parameters of corresponding ops move from step to step; None if they are equal."""
    first = _key(column[0].params)
    if not column[0].kind.sliding or all(_key(op.params) == first for op in column):
        return None
    return column[0].kind.slide([op.params for op in column])


def _key(params: dict[str, Any]) -> Any:
    return tuple([param_key(v) for v in params.values()])
