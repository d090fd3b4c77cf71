"""The cost model of loops: the work of statements, and the memory they touch.

The unit of work is an addition in a float64 loop, with its loads; ``Machine.additions`` converts
cycles to additions. The figures of operations are in ``Costs``.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from autojit.ir.core.affine import Affine
from autojit.ir.core.machine import Machine, current
from autojit.ir.special.external import external

from .matrices import MatrixProduct
from .nodes import Compute, Constant, Gather, IndexValue, InRange, Load, Loop
from .traversal import used
from .values import Buffer, Scalar

_SIZES = {"bool": 1, "bf16": 2, "f32": 4, "f64": 8}


def itemsize(dtype: str) -> int:
    """Bytes of one scalar."""
    return _SIZES.get(dtype) or int(dtype[1:]) // 8


#: Words that are one or two instructions; others call functions of many instructions.
CHEAP = {"add", "sub", "mul", "neg", "select", "convert", "abs", "maximum", "minimum", "div"}
#: Words that use the single division unit.
_DIVIDING = {"div", "sqrt"}
#: Statements whose result depends only on their operands.
_PURE = (Compute, Constant, IndexValue, InRange, Load, Gather)


def is_function(s: Any) -> bool:
    """Whether a statement calls a function of many instructions."""
    return isinstance(s, Compute) and s.name not in CHEAP and s.result.dtype != "bool"


def cost(s: Compute, machine: Machine) -> float:
    """The additions that a computation of one scalar amounts to."""
    if s.name in _DIVIDING:
        return machine.costs.division
    called = external(s.name)
    if called is not None:
        return called.cost
    return machine.costs.function if is_function(s) else 1


def work(body: list[Any]) -> int:
    """A rough number of additions that statements amount to."""
    return _work(body, current())


def _work(body: list[Any], machine: Machine) -> int:
    return sum([_work_of(s, machine) for s in body])


def _work_of(s: Any, machine: Machine) -> int:
    if isinstance(s, Compute):
        return int(cost(s, machine))
    if isinstance(s, Loop):
        return _work_of_loop(s, machine)
    return work_of_product(s) if isinstance(s, MatrixProduct) else 1


def _work_of_loop(loop: Loop, machine: Machine) -> int:
    """The work of a loop; loop-invariant statements count once."""
    once = each = 0
    changing: set[Scalar] = set()
    for s in loop.body:
        is_same = isinstance(s, _PURE) and changing.isdisjoint(used(s))
        if is_same and loop.var not in getattr(s, "index", Affine(0)).variables():
            once += _work_of(s, machine)
            continue
        each += _work_of(s, machine)
        if (result := getattr(s, "result", None)) is not None:
            changing.add(result)
    return once + (each if loop.only is not None else (loop.stop - loop.start) * each)


def multiplications(product: MatrixProduct) -> int:
    """The number of multiplications of a matrix product."""
    return prod(product.batch) * product.m * product.n * product.k


def work_of_product(product: MatrixProduct) -> int:
    """The additions that a matrix product amounts to."""
    return int(multiplications(product) // current().costs.product)


def footprint(buffers: Iterable[Buffer]) -> int:
    """The bytes of buffers, each of which is touched as a whole."""
    return sum(b.size * itemsize(b.dtype) for b in buffers)
