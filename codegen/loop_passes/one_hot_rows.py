"""Exploit one-hot rows: elements that are zero are neither stored nor multiplied.

    for k in rows:                              for k in rows:
      least = <the minimum of row k>              least = <the minimum of row k>
      n = <how many are equal to it>              n, place = <how many, and the sum of their places>
      for j: t[k, j] = (x[k, j] == least) / n     hot = place if n == 1 and <all finite> else -1
      for j: sums[j] += t[k, j]              ->   for j, or only for hot:
    c = a.T @ t                                     sums[j] += (x[k, j] == least) / n
                                                    for p: c[p, j] += a[k, p] * (…)

The cotangent of a minimum is such a row: equal elements share it, and usually there is only one. If
the row is summed or multiplied with matrices, its other elements add zeros and are skipped. They
are not skipped if 0 times an infinity or NaN would be NaN, nor in rows with ties.

A product of ``t`` with a matrix of ``m`` columns takes ``m`` multiplications a row, not ``m`` for
each element.  The loop does it, and ``t`` needs no memory.  For ``t @ b``, one check before the
loop finds whether all of ``b`` is finite.

Legal where the loop only sums or stores products with one comparison with an extreme, an earlier
loop has counted the equal elements, and only products read the stored row (``_found``,
``products_of``).  The other conditions are checked for each row at run time.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from autojit.codegen.analysis.loop_level import EVERYTHING, NESTS, NO_TASKS, OWN_MEMORY, steps_pass
from autojit.codegen.loop_ir.nodes import Accumulate, AccumulateInto, Compute, Constant, Loop, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import is_whole
from autojit.codegen.loop_ir.values import Scalar
from autojit.codegen.loop_passes.rows.one_hot import PLAIN, Found, counted, mask_of
from autojit.codegen.loop_passes.rows.one_hot_loops import Writer
from autojit.codegen.loop_passes.rows.one_hot_products import products_of

#: Shorter rows gain nothing.
LEAST = 16
#: Indices below this are exact in float32.
MOST = 1 << 24


@steps_pass(
    "Runs loops over one-hot rows for their only element that is not zero.",
    needs=[NESTS, NO_TASKS, OWN_MEMORY],
    keeps=EVERYTHING,
)
def one_hot_reduced(steps: list[Any]) -> list[Any]:
    """The steps of a program; loops over one-hot rows run for the one element that is not zero."""
    for position, step in enumerate(steps):
        if isinstance(step, Kernel):
            for row in [s for s in step.body if isinstance(s, Loop)]:
                for loop in [s for s in row.body if isinstance(s, Loop)]:
                    found = _found(steps, position, row, loop)
                    if found is not None:
                        done = {id(s.product) for s in found.products}
                        unused = max(s.values for s in steps if isinstance(s, Kernel))
                        made = Writer(step, row, found, unused).written()
                        rest = [s for s in steps[position + 1 :] if id(s) not in done]
                        return [*steps[:position], *one_hot_reduced([*made, *rest])]
    return steps


def _found(steps: list[Any], position: int, row: Loop, loop: Loop) -> Found | None:
    if not _may_be(loop) or row.role not in ("map", "reduce") or row.share is not None:
        return None
    made = {s.result.number: s for s in loop.body if hasattr(s, "result")}
    picked: set[int] = set()
    factors: dict[int, Scalar] = {}
    for s in loop.body:
        if isinstance(s, (Accumulate, AccumulateInto, Store)):
            mask = mask_of(s.value, made, factors)
            if mask is None or _combine(s) != "add":
                return None
            picked.add(mask)
    if len(picked) != 1 or not all(isinstance(made[a], Compute) for a in picked):
        return None
    count = counted(row, loop, made[picked.pop()], made)
    if count is None:
        return None
    finite = {s.result.number for s in steps[position].body if _is_finite_constant(s)}
    finite |= {s.result.number for s in (*row.body, *loop.body) if _is_finite_constant(s)}
    found = Found(loop, *count, {n: f for n, f in factors.items() if n not in finite})
    for s in loop.body:
        if isinstance(s, Store):
            products = products_of(steps, position, row, loop, s)
            if products is None:
                return None
            found.products += products
    return found


def _combine(s: Accumulate | AccumulateInto | Store) -> str:
    """How a statement combines its value with others."""
    if isinstance(s, Accumulate):
        return s.accumulator.combine
    return s.combine if isinstance(s, AccumulateInto) else "add"


def _is_finite_constant(s: Any) -> bool:
    return isinstance(s, Constant) and isfinite(s.value)


def _may_be(loop: Loop) -> bool:
    extent = loop.stop - loop.start
    return (
        not loop.start
        and LEAST <= extent < MOST
        and loop.role in ("map", "reduce")
        and is_whole(loop)
        and all(isinstance(s, PLAIN) for s in loop.body)
    )
