"""Exploit one-hot rows: elements that are zero are neither stored nor multiplied.

    for k in rows:                              for k in rows:
      least = <the minimum of row k>              least = <the minimum of row k>
      n = <how many are equal to it>              n, place = <how many, and the sum of their places>
      for j: t[k, j] = (x[k, j] == least) / n     hot = place if n == 1 and <all finite> else -1
      for j: sums[j] += t[k, j]              ->   for j, or only for hot:
    c = a.T @ t                                     sums[j] += (x[k, j] == least) / n
                                                    for p: c[p, j] += a[k, p] * (…)

The cotangent of a minimum is such a row: equal elements share it, and mostly there is only one.
Where the row is summed and multiplied with matrices, its other elements add zeros and are skipped.
They are not skipped where 0 times an infinity or NaN would be NaN, nor in rows with ties.

A product of ``t`` with a matrix of ``m`` columns takes ``m`` multiplications a row, not ``m`` for
each element.  The loop does it, and ``t`` needs no memory.  Of ``t @ b``, one check ahead of the
loop finds whether all of ``b`` is finite.

Legal where the loop only sums or stores products with one comparison with an extreme, an earlier
loop has counted the equal elements, and only products read the stored row (``_found``,
``_products``).  The other conditions are checked for each row at run time.
"""

from __future__ import annotations

from math import isfinite, prod
from typing import Any

from autojit.codegen.analysis.dependences import written
from autojit.codegen.analysis.loop_level import EVERYTHING, NESTS, NO_TASKS, OWN_MEMORY, steps_pass
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
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_named, buffers_of, memory, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.codegen.loop_passes.rows.one_hot_loops import Found, Product, Writer
from autojit.codegen.loop_passes.rows.row_steps import conflict, touched
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

#: Shorter rows gain nothing.
LEAST = 16
#: Indices below this are exact in float32.
MOST = 1 << 24
#: Products of more columns stay, since rows with ties would take long: where they are added to one
#: row of a result, and to numbers of it that lie far apart.
MOST_BESIDE, MOST_APART = 1024, 64
_PLAIN = (Accumulate, AccumulateInto, Compute, Constant, IndexValue, Load, Store)


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
            mask = _mask(s.value, made, factors)
            if mask is None or _combine(s) != "add":
                return None
            picked.add(mask)
    if len(picked) != 1 or not all(isinstance(made[a], Compute) for a in picked):
        return None
    counted = _counted(row, loop, made[picked.pop()], made)
    if counted is None:
        return None
    finite = {s.result.number for s in steps[position].body if _is_finite_constant(s)}
    finite |= {s.result.number for s in (*row.body, *loop.body) if _is_finite_constant(s)}
    found = Found(loop, *counted, {n: f for n, f in factors.items() if n not in finite})
    for s in loop.body:
        if isinstance(s, Store):
            products = _products(steps, position, row, loop, s)
            if products is None:
                return None
            found.products += products
    return found


def _combine(s: Accumulate | AccumulateInto | Store) -> str:
    """How what a statement has to do with others is combined."""
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
        and loop.share is None
        and not loop.is_partial
        and not loop.unroll
        and all(isinstance(s, _PLAIN) for s in loop.body)
    )


def _mask(value: Scalar, made: dict[int, Any], factors: dict[int, Scalar]) -> int | None:
    """The comparison whose truth, as a number, is a factor of a value; and the other factors, which
    are the same for all of a row."""
    s = made.get(value.number)
    if not isinstance(s, Compute) or s.result.dtype not in ("f32", "f64"):
        return None
    if s.name == "neg":
        return _mask(s.args[0], made, factors)
    if s.name == "convert":
        (truth,) = s.args
        if truth.dtype == "bool":
            return truth.number if truth.number in made else None
        return _mask(truth, made, factors)
    if s.name != "mul":
        return None
    for share, other in (s.args, s.args[::-1]):
        if other.number in made and not isinstance(made[other.number], Constant):
            continue
        mask = _mask(share, made, factors)
        if mask is not None:
            factors[other.number] = other
            return mask
    return None


def _counted(
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
        if not all(isinstance(x, _PLAIN) for x in s.body) or _changed(
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
    """Whether statements write what is read."""
    return not written(body).isdisjoint(read)


def _formula(x: Scalar, made: dict[int, Any], var: Var) -> Any:
    """What a scalar of a loop's body is, told without the names of the loop."""
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


#: Stands for the variable of either of two loops.
_HERE = affine.of(Var(1))


def _products(
    steps: list[Any], position: int, row: Loop, loop: Loop, store: Store
) -> list[Product] | None:
    """The products that alone read what is stored, as sums of what each element adds."""
    width, target = loop.stop, store.buffer
    whole = affine.of(row.var) * width + affine.of(loop.var)
    if store.index != whole or target.kind != "temp" or target.size != row.stop * width:
        return None
    if row.start or target.over is not None:
        return None
    named = [s for s in walk(steps[position].body) if target in map(memory, buffers_named(s))]
    users = [i for i, s in enumerate(steps) if any(a.memory is target for a in touched(s))]
    if len(named) != 1 or len(users) < 2 or users[0] != position:
        return None
    made: list[Product] = []
    for user in users[1:]:
        product = steps[user]
        found = (
            _as_sum(product, store, row.stop, width) if isinstance(product, MatrixProduct) else None
        )
        if found is None:
            return None
        own = [a for a in touched(product) if a.memory is not target]
        if conflict(own, [a for s in steps[position:user] for a in touched(s)]):
            return None
        made.append(found)
    return made


def _as_sum(product: MatrixProduct, store: Store, rows: int, width: int) -> Product | None:
    if prod(product.batch) != 1 or product.c.size != product.m * product.n:
        return None
    if product.c_offset != Affine(0) or memory(product.c) is not product.c:
        return None
    a, b, m, n, k = product.a, product.b, product.m, product.n, product.k
    target, made = store.buffer, None
    if (a.buffer is target) == (b.buffer is target):
        return None
    share, other = (a, b) if a.buffer is target else (b, a)
    in_order = share.strides[-2:] == (width, 1)
    if share is b and in_order and (k, n) == (rows, width):
        made = Product(store, product, "left", other, m)
    elif share is a and share.strides[-2:] == (1, width) and (m, k) == (width, rows):
        made = Product(store, product, "right", other, n)
    elif share is a and in_order and (m, k) == (rows, width):
        made = Product(store, product, "rows", other, n)
    if made is None or share.offset != Affine(0) or other.offset.terms:
        return None
    return made if made.extent <= (MOST_APART if made.way == "left" else MOST_BESIDE) else None
