"""Computes products after a loop that stacks their factors, for ``masked_products``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.partition import needed as needed_for
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Builder, Op, Program, Value, building, current_builder
from autojit.ir.ops.arithmetic import convert, isfinite
from autojit.ir.ops.bodies import INDEX
from autojit.ir.ops.reduce import all_
from autojit.ir.regions.scan import scan
from autojit.ir.regions.scan_products import all_rows, over_rows, terms_of
from autojit.ir.regions.switch import switch

from .late_terms import Late, LateTerms
from .step_masks import Mask, kept
from .step_products import places_of


def moved_after(products: LateTerms, found: Sequence[Late]) -> tuple[Value, ...]:
    """The results of a scan, with some of its products computed after it."""
    op, body, m = products.op, products.body, len(products.carries)
    arrays = dict(products.operands)
    after = products.following(late.product for late in found if late.carry is None)
    made_after = {v for op in after for v in op.results}
    made_after.update(late.term for late in found if late.carry is None)
    builder = Builder()
    with building(builder):
        factors = [_factors(late) for late in found]
        carries = _without(products, found)
    read = [v for op in after for v in op.operands if v not in made_after]
    needed = dict.fromkeys([*(v for pair in factors for v in pair), *read])
    stacked = [v for v in needed if v not in arrays]
    ys = [v for v in body.outputs[m:] if v not in made_after]
    outputs = [*carries, *ys, *stacked]
    may_fail = [v for each in body.ops if each.kind.fallible or each.programs for v in each.results]
    ops = needed_for([*body.ops, *builder.ops], [*outputs, *may_fail])
    new_body = body.with_body(ops, outputs)
    made = current_builder().emit(scan, op.operands, {**op.params, "body": new_body})
    arrays.update(zip(ys, made[m:], strict=False))
    arrays.update(zip(stacked, made[m + len(ys) :], strict=True))
    sums = list(made[:m])
    for late, pair in zip(found, factors, strict=True):
        value = _computed(products, late, [arrays[v] for v in pair])
        if late.carry is None:
            arrays[late.term] = value
        else:
            sums[late.carry] = sums[late.carry] + value
    _follow(products, after, arrays)
    return (*sums, *(arrays[v] for v in body.outputs[m:]))


def _follow(products: LateTerms, ops: list[Op], arrays: dict[Value, Value]) -> None:
    """Compute what depends on the products, for all steps at once."""
    made = [v for op in ops for v in op.results]
    inputs = list(dict.fromkeys(v for op in ops for v in op.operands if v not in made))
    varies = [v not in products.fixed for v in inputs]
    wanted = [v for v in made if v in products.body.outputs]
    if wanted:
        program = batch(Program(inputs, ops, wanted), products.masks.length, varies)
        results = current_builder().inline(program, [arrays[v] for v in inputs])
        arrays.update(zip(wanted, results, strict=True))


def _factors(late: Late) -> list[Value]:
    """The factors in a step; what the mask drops of the one that it cuts is zero."""
    factors = list(late.factors)
    if late.mask is not None:
        factors[late.side] = kept(late.mask, factors[late.side])
    return factors


def _without(products: LateTerms, found: Sequence[Late]) -> list[Value]:
    """The next carries without the products."""
    gone = {late.term for late in found}
    carries = []
    for v in products.body.outputs[: len(products.carries)]:
        terms = terms_of(v, products.definer, products.uses)
        if gone.isdisjoint(terms):
            carries.append(v)
            continue
        total, *others = [t for t in terms if t not in gone]
        for term in others:
            total = total + term
        carries.append(total)
    return carries


def _computed(products: LateTerms, late: Late, arrays: list[Value]) -> Value:
    """The sum, or the stack, of a product over all steps, from the stacks of its factors."""
    if late.mask is None:
        return _at_once(products, late, arrays)
    other = arrays[1 - late.side]
    finite = all_(isfinite(other), axes=tuple(range(other.type.ndim)))
    branches = tuple(_program(compute, products, late, arrays) for compute in (_in_steps, _at_once))
    index = convert(finite, dtype=INDEX.dtype)
    (result,) = current_builder().emit(switch, [index, *arrays], {"branches": branches})
    return result


_Compute = Callable[[LateTerms, Late, Sequence[Value]], Value]


def _program(
    compute: _Compute, products: LateTerms, late: Late, arrays: Sequence[Value]
) -> Program:
    builder = Builder()
    inputs = [Value(v.type) for v in arrays]
    with building(builder):
        result = compute(products, late, inputs)
    return builder.finish(inputs, [result], name="products")


def _at_once(products: LateTerms, late: Late, arrays: Sequence[Value]) -> Value:
    a, b = arrays
    if late.carry is not None:
        return over_rows(late.product, a, b)
    return all_rows(late.product, a, b, late.side == 1)


def _in_steps(products: LateTerms, late: Late, arrays: Sequence[Value]) -> Value:
    """The same by a loop, whose steps leave out the terms that the mask drops."""
    length, reverse = products.masks.length, products.op.params["reverse"]
    p, is_sum, other = late.product, late.carry is not None, 1 - late.side
    assert late.mask is not None
    masks = products.masks.all_steps(late.mask)
    row_of_masks, index = Value(masks.type.with_shape(masks.shape[1:])), Value(INDEX)
    builder = Builder()
    factors = [Value(v.type) for v in late.factors]
    total = Value(p.result.type)
    with building(builder):
        given = list(factors)
        if not is_sum:
            mask = Mask(row_of_masks, late.mask.along(_summed(p, late.side)).dims)
            given[other] = kept(mask, given[other])
        result = p.kind(*given, **p.params)
        if is_sum:
            mask = Mask(row_of_masks, late.mask.along(places_of(p, late.side)).dims)
            result = total + kept(mask, result)
    constants, carries, rows = [], [], [masks, *arrays]
    inputs = [index, row_of_masks, *factors]
    if is_sum:
        carries = [full(0, total.type)]
        inputs.insert(1, total)
    else:
        constants.append(rows.pop(1 + other))
        inputs.insert(0, inputs.pop(2 + other))
    params = {
        "body": builder.finish(inputs, [result], name="product"), "carries": len(carries),
        "constants": len(constants), "length": length, "reverse": reverse,
    }  # fmt: skip
    (made,) = current_builder().emit(scan, [*constants, *carries, *rows], params)
    return made


def _summed(p: Op, side: int) -> dict[int, int]:
    """For each summed axis of a factor, that of the other factor."""
    contract = p.params["contract"]
    return dict(zip(contract[side], contract[1 - side], strict=True))
