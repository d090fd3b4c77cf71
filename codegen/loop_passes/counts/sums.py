"""Sums in a counted loop that are cells become sums whose order is free.

      s1 = total[0]
      s2 = s1 + s3          ->    total[0] += s3
      total[0] = s2

Legal where the loop touches the cell only to add to it: one load, one addition, one store, in this
order, and no other use of the loaded number or of the sum.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from autojit.codegen.analysis.integer_facts import is_cell
from autojit.codegen.loop_ir.effects import accesses
from autojit.codegen.loop_ir.nodes import AccumulateInto, Compute, Load, Store
from autojit.codegen.loop_ir.traversal import memory, used, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core.affine import Affine

_FLOATS = ("f32", "f64")


def with_sums(body: list[Any], numbers: Iterator[int]) -> list[Any]:
    """The statements of a loop, with such sums."""
    touching: dict[Buffer, list[Any]] = defaultdict(list)
    uses = Counter[int]()
    for s in walk(body):
        uses.update(x.number for x in used(s))
        for buffer in {memory(a.buffer) for a in accesses(s)}:
            touching[buffer].append(s)
    made = {s.result.number: s for s in body if isinstance(s, Compute)}
    for cell, found in touching.items():
        if cell.dtype in _FLOATS and is_cell(cell) and len(found) == 2:
            load, store = found
            body = _summed(body, load, store, made, uses, numbers)
    return body


def _summed(
    body: list[Any], load: Any, store: Any, made: dict[int, Any], uses: Counter[int],
    numbers: Iterator[int],
) -> list[Any]:  # fmt: skip
    if not isinstance(load, Load) or not isinstance(store, Store) or load.guard is not None:
        return body
    total = made.get(store.value.number)
    if total is None or not any(s is store for s in body) or not any(s is load for s in body):
        return body
    term = _term(total, load.result)
    if term is None or uses[load.result.number] != 1 or uses[total.result.number] != 1:
        return body
    ahead: list[Any] = []
    if total.name == "sub":
        minus = Scalar(next(numbers), term.dtype, 0, None, term.source)
        ahead, term = [Compute(minus, "neg", (term,))], minus
    adds = [*ahead, AccumulateInto(store.buffer, Affine(0), "add", term, store.source)]
    return [
        x for s in body if s is not load and s is not total for x in (adds if s is store else [s])
    ]


def _term(total: Compute, old: Scalar) -> Scalar | None:
    """The number that is added to the old one."""
    left, right = total.args if total.name in ("add", "sub") else (None, None)
    if left is not None and left.number == old.number:
        return right
    is_second = right is not None and right.number == old.number
    return left if is_second and total.name == "add" else None
