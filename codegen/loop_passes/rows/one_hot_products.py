"""The products that read one-hot rows, as sums with one term for each element."""

from __future__ import annotations

from math import prod
from typing import Any

from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import Loop, Store
from autojit.codegen.loop_ir.traversal import buffers_named, memory, walk
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine

from .one_hot import Product
from .row_steps import conflict, touched

#: Products of more columns stay, because rows with ties would take long: the limits for adding to
#: one row of a result, and to distant numbers of it.
MOST_BESIDE, MOST_APART = 1024, 64


def products_of(
    steps: list[Any], position: int, row: Loop, loop: Loop, store: Store
) -> list[Product] | None:
    """The products that read a stored row, as sums with one term for each element; None unless only
    products read it."""
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
