"""Matrix products are written as plain loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autojit.codegen.cuda.device_program.numbers import accumulator, computed, loaded, scalar
from autojit.codegen.loop_ir.matrices import MatrixProduct, parts_of
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Finish, Loop, Store
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Operand, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

PARTS = {"c64": "f32", "c128": "f64"}


def place_in(operand: Operand, batch: list[Affine], row: Affine, column: Affine) -> Affine:
    """The index of an element, in elements."""
    total = operand.offset
    for index, stride in zip([*batch, row, column], operand.strides, strict=True):
        total = total + index * stride
    return total


def _multiplied(a: list[Scalar], b: list[Scalar]) -> tuple[list[Any], list[Scalar]]:
    """The product of two numbers, by parts."""
    if len(a) == 1:
        made = computed("mul", a[0], b[0])
        return [made], [made.result]
    products = [computed("mul", x, y) for x in a for y in b]
    (rr, ri, ir, ii) = (p.result for p in products)
    real, imaginary = computed("sub", rr, ii), computed("add", ri, ir)
    return [*products, real, imaginary], [real.result, imaginary.result]


@dataclass
class ProductSum:
    """The accumulators of one element of the result, one for each part."""

    accumulators: list[Accumulator]

    @staticmethod
    def of(product: MatrixProduct) -> ProductSum:
        dtype = PARTS.get(product.dtype, product.dtype)
        zero = False if dtype == "bool" else 0 if dtype[0] in "iu" else 0.0
        count = parts_of(product.dtype)
        return ProductSum([accumulator(dtype, "add", zero) for _ in range(count)])

    def begin(self) -> list[Any]:
        return [Begin(a) for a in self.accumulators]

    def add(self, a: list[Scalar], b: list[Scalar]) -> list[Any]:
        statements, values = _multiplied(a, b)
        pairs = zip(self.accumulators, values, strict=True)
        return [*statements, *(Accumulate(total, v) for total, v in pairs)]

    def store(self, target: Buffer, index: Affine) -> list[Any]:
        made: list[Any] = []
        for part, a in enumerate(self.accumulators):
            total = scalar(a.dtype)
            made += [Finish(total, a), Store(target, index * len(self.accumulators) + part, total)]
        return made


def element(
    buffer: Buffer, index: Affine, parts: int, guard: Scalar | None = None
) -> tuple[list[Any], list[Scalar]]:
    """An element of a buffer, by parts."""
    made = [loaded(buffer, index * parts + part, guard) for part in range(parts)]
    return list(made), [load.result for load in made]


def as_loops(product: MatrixProduct) -> list[Any]:
    """A product as loops over batch, rows and columns, with a sum in each."""
    batch = [Var(extent) for extent in product.batch]
    i, j, k = Var(product.m), Var(product.n), Var(product.k)
    here = [affine.of(v) for v in batch]
    row, column, inner = affine.of(i), affine.of(j), affine.of(k)
    total, parts = ProductSum.of(product), product.parts
    load_a, a = element(product.a.buffer, place_in(product.a, here, row, inner), parts)
    load_b, b = element(product.b.buffer, place_in(product.b, here, inner, column), parts)
    result = Operand(product.c, product.c_offset, product.strides_of_results)
    body = total.begin()
    if product.k:
        body.append(Loop(k, 0, product.k, [*load_a, *load_b, *total.add(a, b)], "reduce"))
    body += total.store(product.c, place_in(result, here, row, column))
    for var in (j, i, *reversed(batch)):
        body = [Loop(var, 0, var.extent, body, "map")] if var.extent else []
    return body
