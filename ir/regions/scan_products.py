"""Matrix products of a loop that can move out of it.

One large product is faster than many small ones. If a step adds a product to a carry that is not
read before the last step, it is computed from the stacked factors after the loop (the gradient of a
recurrent network's weights). A product of a scanned row with a constant matrix is computed for all
rows before the loop.

Legal where a step reads the carry once, in the sum that becomes the next carry, and the product in
that sum alone: then it may follow the loop. It may precede the loop where one factor is a constant
of the loop and the other a row of an array that it runs over. Products do not fail, and a loop of
two or more steps runs each of them. Sums are rounded in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import (
    Builder,
    Op,
    Program,
    Value,
    building,
    current_builder,
    readers_of,
)
from autojit.ir.ops.arithmetic import add
from autojit.ir.ops.contract import Dot, free_axes

#: A product with at least this many multiplications is worth the memory of its stacked factors.
LARGE = 1 << 14


def multiplications(op: Op) -> int:
    """Return the number of multiplications of a product."""
    a, b = op.operands
    (_, cb), (_, bb) = op.params["contract"], op.params["batch"]
    return a.type.size * prod(b.shape[i] for i in free_axes(b.type.ndim, cb, bb))


def after(kind: Declaration, op: Op) -> tuple[Value, ...] | None:
    """Compute a scan's sums of products after it. Return the results; None if it has none."""
    body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
    found = _Sums(body, n, m)
    if not found.moved or op.params["length"] < 2:
        return None
    rows = {v: op.operands[i - 1] for i, v in enumerate(body.inputs) if i > n + m}
    factors = [v for _, product in found.moved for v in product.operands]
    stacked = [v for v in dict.fromkeys(factors) if v not in rows]
    outputs = [*found.carries(), *body.outputs[m:], *stacked]
    params = {**op.params, "body": body.with_body(found.ops, outputs)}
    made = current_builder().emit(kind, op.operands, params)
    results, extra = list(made[: len(op.results)]), made[len(op.results) :]
    rows.update(zip(stacked, extra, strict=True))
    for k, product in found.moved:
        total = over_rows(product, *(rows[v] for v in product.operands))
        results[k] = results[k] + total
    return tuple(results)


def over_rows(product: Op, a: Value, b: Value) -> Value:
    """Return the sum over all rows of a product of rows."""
    (ca, cb), (ba, bb) = product.params["contract"], product.params["batch"]
    shifted = [tuple(i + 1 for i in axes) for axes in (ca, cb, ba, bb)]
    kind = product.kind
    assert isinstance(kind, Dot)
    return kind(a, b, contract=((0, *shifted[0]), (0, *shifted[1])), batch=(shifted[2], shifted[3]))


def terms_of(v: Value, definer: Mapping[Value, Op], uses: Mapping[Value, int]) -> list[Value]:
    """Return the terms of a sum, in order; sums among them are read once."""
    terms, left = [], [v]
    while left:
        v = left.pop()
        op = definer.get(v)
        if op is None or op.kind is not add or uses[v] != 1:
            terms.append(v)
        else:
            left += reversed(op.operands)
    return terms


class _Sums:
    """The products of a step whose only use is to be added to carries."""

    def __init__(self, body: Program, n: int, m: int) -> None:
        self.body, self.n, self.m = body, n, m
        self.definer = {v: op for op in body.ops for v in op.results}
        self.uses = readers_of(body.ops, body.outputs)
        self.constants = set(body.inputs[: n + 1])
        self.ops = list(body.ops)
        self.replaced: dict[int, list[Value]] = {}
        self.moved: list[tuple[int, Op]] = []
        for k in range(m):
            self._carry(k)

    def _carry(self, k: int) -> None:
        own = self.body.inputs[self.n + 1 + k]
        terms = terms_of(self.body.outputs[k], self.definer, self.uses)
        if self.uses[own] != 1 or own not in terms or self.body.outputs[k] is own:
            return
        products = [t for t in terms if self._is_large(t)]
        if products:
            self.moved += [(k, self.definer[t]) for t in products]
            self.replaced[k] = [t for t in terms if t not in products]

    def _is_large(self, v: Value) -> bool:
        op = self.definer.get(v)
        if op is None or not isinstance(op.kind, Dot) or self.uses[v] != 1:
            return False
        both_vary = self.constants.isdisjoint(op.operands)
        return both_vary and v.type.is_inexact and multiplications(op) >= LARGE

    def carries(self) -> list[Value]:
        """Return the next carries without the products."""
        builder = Builder()
        result = []
        with building(builder):
            for k, v in enumerate(self.body.outputs[: self.m]):
                terms = self.replaced.get(k)
                if terms is None:
                    result.append(v)
                    continue
                total = terms[0]
                for term in terms[1:]:
                    total = total + term
                result.append(total)
        self.ops += builder.ops
        return result


def before(kind: Declaration, op: Op) -> tuple[Value, ...] | None:
    """Compute a scan's products of rows with constants before it; None if it has none."""
    body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
    fixed, rows = set(body.inputs[:n]), list(body.inputs[n + 1 + m :])
    found = [p for p in body.ops if _of_row(p, fixed, set(rows)) and op.params["length"] > 1]
    if not found:
        return None
    operands = dict(zip(body.inputs[:n], op.operands[:n], strict=True))
    operands.update(zip(rows, op.operands[n + m :], strict=True))
    made = {}
    for p in found:
        a, b = (operands[v] for v in p.operands)
        made[p] = all_rows(p, a, b, p.operands[0] in fixed)
    return with_rows(kind, op, made)


def with_rows(kind: Declaration, op: Op, made: Mapping[Op, Value]) -> tuple[Value, ...]:
    """The results of a scan that reads a row of an array in place of some ops of its body."""
    body = op.params["body"]
    ops = [p for p in body.ops if p not in made]
    new_body = Program([*body.inputs, *(p.result for p in made)], ops, body.outputs,
                       name=body.name)  # fmt: skip
    params = {**op.params, "body": new_body}
    return current_builder().emit(kind, [*op.operands, *made.values()], params)


def _of_row(p: Op, fixed: set[Value], rows: set[Value]) -> bool:
    """Whether an op is a large product of a row with a constant."""
    if not isinstance(p.kind, Dot) or p.params["batch"] != ((), ()):
        return False
    a, b = p.operands
    mixed = (a in fixed and b in rows) or (b in fixed and a in rows)
    return mixed and multiplications(p) >= LARGE


def all_rows(p: Op, a: Value, b: Value, first_is_fixed: bool) -> Value:
    """Return the products of all rows of one factor with the other factor."""
    from autojit.ir.core.batching import Batched

    operands = [Batched(a, not first_is_fixed), Batched(b, first_is_fixed)]
    made: Any = p.kind.batch(p, operands, (b if first_is_fixed else a).shape[0])
    assert isinstance(made, Value)
    return made
