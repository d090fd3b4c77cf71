"""Whether ops may stand for each other in the steps of a loop, and how their parameters move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.program import Op, param_key
from autojit.ir.rewriting import in_order

#: Integers below this are exact in float64, and so are the differences of two.
MOST = 1 << 43
#: The most ops of a sequence that has to be there twice.
MOST_COMPARED = 32


def signatures(ops: Sequence[Op]) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers for each op: equal for ops that may stand for each other whatever their
    sliding parameters are, and for those with equal parameters, which tells the steps of an inner
    loop apart."""
    numbers: dict[Any, int] = {}
    types: dict[Any, int] = {}
    #: The same by id, which is faster to look up; and of ops without parameters by all ids.
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
    """Whether ops that stand for each other may come again often enough for a stretch of so many
    ops and steps.

    Each op of a stretch but those of its last step is followed by one like it a period later, so
    sequences that lie in it are there twice.  Programs without any are not searched.
    """
    inside = least - least // steps
    window = min(MOST_COMPARED, inside // 2)
    twice = len(alike) - window + 1 - in_order.different(alike, window)
    return twice >= inside - window + 1


def sliding_numbers(ops: Sequence[Op]) -> np.ndarray:
    """The numbers in the sliding parameters of ops, a row for each; NaN for what is no number that
    could slide."""
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
    """Whether the ops may stand for each other whatever their sliding parameters are, and whether
    these are equal too."""
    kinds, params = signatures([a, b])
    return bool(kinds[0] == kinds[1]), bool(params[0] == params[1])


def slide_of(column: Sequence[Op]) -> Any:
    """How the parameters of ops of one place of the step slide; None if they are equal."""
    first = _key(column[0].params)
    if not column[0].kind.sliding or all(_key(op.params) == first for op in column):
        return None
    return column[0].kind.slide([op.params for op in column])


def _key(params: dict[str, Any]) -> Any:
    return tuple([param_key(v) for v in params.values()])
