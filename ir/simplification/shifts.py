"""Cancelling shifts: the contribution of the largest element of ``exp(x - max(x))``.

The gradient of a softmax, or of a log-sum-exp, as users write it goes through the maximum too::

    %7: f64[3] = div %4, %6                 # the share of each largest element
    %17: f64[] = add %11, %16               # 1 - sum(e) / sum(e), with e = exp(x - max(x))
    %18: f64[3] = broadcast %17 {dims=(), shape=(3,)}
    %19: f64[3] = mul %18, %7
    %20: f64[3] = add %14, %19              # -> %14

The cotangent of the maximum is zero in exact arithmetic, for all operands; in floating point it
consists of rounding errors. The rule finds this by multiplying out: values are sums of products of
powers of other values, and factors that do not change along an axis leave a sum along it.

Legal where the omitted value is a sum of products that all cancel, up to four roundings of their
coefficients. The results lose rounding errors, and NaN where infinities, or 0 divided by 0, would
have cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import add, convert, div, mul, neg, sub
from autojit.ir.ops.linear import constant, iota
from autojit.ir.ops.move import broadcast, reshape, transpose
from autojit.ir.ops.reduce import sum_
from autojit.ir.ops.update import add_at
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()

#: A factor: a value, or a product that is summed; and for each of its axes the axis of the whole,
#: or None if it has one element.
Factor = tuple[Any, tuple[int | None, ...]]
#: Factors with their powers.
Product = frozenset[tuple[Factor, int]]
#: Products with their coefficients; the empty dict is zero.
Form = dict[Product, float]

#: Values with longer forms are kept as they are. The limits are tried in order: a cancellation may
#: be visible only in products that are multiplied out, or only in products that are not (the
#: derivative of a function applied to softmax has many, which are not needed).
MOST_PRODUCTS = (2, 6, 24)
#: The depth to which definitions are followed.
DEPTH = 30
#: Coefficients that cancel to this fraction of the largest are rounding errors of constants: four
#: roundings of a float64. More would be a number that the program means.
ROUNDING = 2.0**-50


@rules(add)
def add_share_of_nothing(op: Op, at: Rewriter) -> Value | None:
    """x + 0 * share → x, where the 0 is one in exact arithmetic"""
    for x, y in (op.operands, op.operands[::-1]):
        made = at.definition(y, mul)
        if made is None:
            continue
        for factor, share in (made.operands, made.operands[::-1]):
            if _is_share(share, at) and is_zero(factor, at):
                return x
    return None


def is_zero(v: Value, at: Rewriter) -> bool:
    """Whether multiplying out shows that a value is zero in exact arithmetic."""
    return any(not Follow(at, DEPTH, most, {})(v) for most in MOST_PRODUCTS)


def _is_share(v: Value, at: Rewriter) -> bool:
    """Whether a value is a condition (0 or 1) divided by a number, like the share of a largest
    element.
    """
    while made := at.definition(v, broadcast) or at.definition(v, reshape):
        (v,) = made.operands
    quotient = at.definition(v, div)
    truth = at.definition(quotient.operands[0], convert) if quotient else None
    return truth is not None and truth.operands[0].dtype == np.dtype(np.bool_)


# -- multiplying out ----------------------------------------------------------


def _itself(v: Value) -> Form:
    dims = tuple(None if extent == 1 else axis for axis, extent in enumerate(v.shape))
    return {frozenset({((v, dims), 1)}): 1.0}


def _collected(terms: Iterable[tuple[Product, float]]) -> Form:
    """Add equal products; those that cancel are omitted."""
    form: Form = {}
    largest: dict[Product, float] = {}
    for product, coefficient in terms:
        form[product] = form.get(product, 0.0) + coefficient
        largest[product] = max(largest.get(product, 0.0), abs(coefficient))
    return {p: c for p, c in form.items() if abs(c) > ROUNDING * largest[p]}


def _times(a: Product, b: Product) -> Product:
    powers = dict(a)
    for factor, power in b:
        powers[factor] = powers.get(factor, 0) + power
    return frozenset((factor, power) for factor, power in powers.items() if power)


def _product(a: Form, b: Form) -> Form:
    return _collected((_times(p, q), c * d) for p, c in a.items() for q, d in b.items())


def _moved(form: Form, axis: Callable[[int], int | None]) -> Form:
    """Return the form with its axes where a move puts them."""

    def place(factor: Factor) -> Factor:
        value, dims = factor
        return value, tuple(None if d is None else axis(d) for d in dims)

    return {frozenset((place(f), power) for f, power in p): c for p, c in form.items()}


class Follow:
    """Computes the forms of operands, for rules."""

    def __init__(self, at: Rewriter, depth: int, most: int, known: dict[Value, Form]) -> None:
        self.at, self.depth, self.most, self.known = at, depth, most, known

    def __call__(self, v: Value) -> Form:
        """Return a value as a sum of products, or as itself."""
        if v not in self.known:
            op = self.at.maker(v)
            rule = _RULES.get(op.kind) if op is not None and self.depth else None
            inner = Follow(self.at, self.depth - 1, self.most, self.known)
            form = rule(op, inner) if op is not None and rule is not None else None
            self.known[v] = _itself(v) if form is None or len(form) > self.most else form
        return self.known[v]

    def counts(self, v: Value) -> bool:
        """Whether a value is the sequence 0, 1, 2, …"""
        return v.type.ndim == 1 and self.at.definition(v, iota) is not None


def _constant(op: Op, follow: Follow) -> Form | None:
    value = op.params["value"]
    if isinstance(value, complex) or not np.isfinite(value):
        return None
    return {frozenset(): float(value)} if value else {}


def _quotient(op: Op, follow: Follow) -> Form | None:
    a, b = map(follow, op.operands)
    if len(b) != 1:
        return None
    ((product, coefficient),) = b.items()
    inverse = frozenset((factor, -power) for factor, power in product)
    return _product(a, {inverse: 1.0 / coefficient})


def _add(op: Op, follow: Follow) -> Form:
    a, b = map(follow, op.operands)
    return _collected([*a.items(), *b.items()])


def _sub(op: Op, follow: Follow) -> Form:
    a, b = map(follow, op.operands)
    return _collected([*a.items(), *((p, -c) for p, c in b.items())])


def _reshape(op: Op, follow: Follow) -> Form | None:
    """Return the form if only axes of one element are added or removed."""
    before, after = (
        [axis for axis, extent in enumerate(v.shape) if extent != 1]
        for v in (op.operands[0], op.result)
    )
    if [op.operands[0].shape[i] for i in before] != [op.result.shape[i] for i in after]:
        return None
    places = dict(zip(before, after, strict=True))
    return _moved(follow(op.operands[0]), places.__getitem__)


def _sum(op: Op, follow: Follow) -> Form:
    return _summed(op.operands[0], op.params["axes"], follow)


def _summed(x: Value, along: Sequence[int], follow: Follow) -> Form:
    """Move factors that do not change along the axes out of the sum; the rest is one factor."""
    axes = sorted(along)
    kept = [axis for axis in range(x.type.ndim) if axis not in axes]
    terms: list[tuple[Product, float]] = []
    for product, coefficient in follow(x).items():
        inside = frozenset(f for f in product if not set(f[0][1]).isdisjoint(axes))
        outside = frozenset(
            ((value, tuple(None if d is None else kept.index(d) for d in dims)), power)
            for (value, dims), power in product - inside
        )
        if (alone := _update_of(inside, axes)) is not None:
            updates, row = alone
            form = _moved(follow(updates), {0: kept.index(row)}.__getitem__)
            terms += _product(form, {outside: coefficient}).items()
            continue
        summed = {d for (_, dims), _ in inside for d in dims if d in axes}
        times = prod(x.shape[axis] for axis in axes if axis not in summed)
        if inside:
            outside = _times(outside, frozenset({(_sum_of(inside, axes, kept), 1)}))
        terms.append((outside, coefficient * times))
    return _collected(terms)


class _Placed(NamedTuple):
    """The contribution of an ``add_at``: one number in each row along an axis, zeros elsewhere."""

    op: Op
    axis: int


def _add_at(op: Op, follow: Follow) -> Form | None:
    base, updates, *indices = op.operands
    axes = op.params["axes"]
    if len(axes) != base.type.ndim or 1 in base.shape or updates.type.ndim != 1:
        return None
    rows = [axis for axis, index in zip(axes, indices, strict=True) if follow.counts(index)]
    if len(rows) != 1 or updates.shape != (base.shape[rows[0]],):
        return None
    factor: Factor = (_Placed(op, rows[0]), tuple(range(base.type.ndim)))
    return _collected([*follow(base).items(), (frozenset({(factor, 1)}), 1.0)])


def _update_of(inside: Product, axes: list[int]) -> tuple[Value, int] | None:
    """Return the updates whose sum over all axes except the row axis this is, and that axis."""
    if len(inside) != 1:
        return None
    (((value, dims), power),) = inside
    if not isinstance(value, _Placed) or power != 1 or None in dims:
        return None
    row = dims[value.axis]
    if row is None or {*dims} - {row} != {*axes}:
        return None
    return value.op.operands[1], row


def _sum_of(inside: Product, axes: list[int], kept: list[int]) -> Factor:
    """Return the sum of a product as a factor, equal for equal sums wherever they are computed."""
    free = sorted({d for (_, dims), _ in inside for d in dims if d is not None and d not in axes})
    names = {axis: n for n, axis in enumerate(free)} | {a: -1 - n for n, a in enumerate(axes)}
    key = frozenset(
        ((value, tuple(None if d is None else names[d] for d in dims)), power)
        for (value, dims), power in inside
    )
    return key, tuple(kept.index(axis) for axis in free)


_RULES: dict[Any, Callable[[Op, Follow], Form | None]] = {
    constant: _constant,
    add: _add,
    sub: _sub,
    mul: lambda op, follow: _product(*map(follow, op.operands)),
    neg: lambda op, follow: {p: -c for p, c in follow(op.operands[0]).items()},
    div: _quotient,
    broadcast: lambda op, follow: _moved(
        follow(op.operands[0]), lambda axis: op.params["dims"][axis]
    ),
    transpose: lambda op, follow: _moved(follow(op.operands[0]), op.params["axes"].index),
    reshape: _reshape,
    sum_: _sum,
    add_at: _add_at,
}
