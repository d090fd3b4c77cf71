"""Loop nests written by hand, for tests of passes and of the verifier."""

from __future__ import annotations

from itertools import count
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    Begin,
    Compute,
    Constant,
    Finish,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

_numbers = count(1000)


def scalar(dtype: str = "f64") -> Scalar:
    return Scalar(next(_numbers), dtype, 0, None)


def buffer(name: str, size: int, kind: str = "temp") -> Buffer:
    return Buffer(name, "f64", size, kind)


def at(*terms: Any) -> Affine:
    """An index: the sum of variables, of pairs of a factor and a variable, and of numbers."""
    total = Affine(0)
    for t in terms:
        total = total + (affine.of(t[1]) * t[0] if isinstance(t, tuple) else affine.of(t))
    return total


def copied(source: Buffer, here: Affine, target: Buffer, there: Affine) -> list[Any]:
    x = scalar()
    return [Load(x, source, here, None), Store(target, there, x)]


def mapped(name: str, source: Buffer, here: Affine, target: Buffer, there: Affine) -> list[Any]:
    """Load a number, apply an elementary function, and store the result."""
    x, y = scalar(), scalar()
    return [Load(x, source, here, None), Compute(y, name, (x,)), Store(target, there, y)]


def loop(var: Var, body: list[Any], role: str = "map", **settings: Any) -> Loop:
    return Loop(var, 0, var.extent, body, role, **settings)


def summed(var: Var, source: Buffer, here: Affine, result: Scalar) -> list[Any]:
    """The sum over a loop."""
    total, x = Accumulator(next(_numbers), "f64", "add", 0.0), scalar()
    body = [Load(x, source, here, None), Accumulate(total, x)]
    return [Begin(total), loop(var, body, "reduce"), Finish(result, total)]


def number(value: float, result: Scalar) -> Constant:
    return Constant(result, value)


def kernel(*body: Any) -> Kernel:
    return Kernel("k0", list(body), buffers_of(list(body)), next(_numbers))
