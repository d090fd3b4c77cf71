"""Counts the operations and bytes of a step of a loop program, statement by statement.

Operations are those on floats: a sum, a product, a comparison or an elementary function counts as
one, and a matrix product as two per multiplication. ``slots`` are the operations in the unit of the
cost model, additions of float64: a division or a function takes as long as several (``cost.cost``).
Bytes are those of the arrays that the step reads and writes; each element counts once, however
often it is touched. Private memory (tiles, copies of tasks) is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from math import log2, prod
from types import MappingProxyType
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.cost import cost, is_function, itemsize, multiplications
from autojit.codegen.loop_ir.effects import Access, effects_of
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Accumulate, AccumulateInto, Compute, Loop, ScatterInto
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Branch, Repeat, Steps
from autojit.codegen.loop_ir.sheets import FUSED, OWN, Sheet
from autojit.codegen.loop_ir.traversal import bodies_of, buffers_named, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core.affine import Affine, Bounds, Quotient, Var, of
from autojit.ir.core.machine import current

#: Words that only move or convert a number; they count as no operations.
_FREE = {"convert", "select"}


@dataclass
class Operations:
    """Counts of a step. ``is_open`` if they are those of one iteration of a loop of unknown length,
    or of the longest of several branches."""

    flops: int = 0
    slots: float = 0.0
    #: Elementary functions, by their names.
    functions: dict[str, int] = field(default_factory=dict)
    is_open: bool = False

    def add(self, other: Operations, times: int = 1) -> None:
        """Add the counts of statements that run ``times`` times."""
        self.flops += times * other.flops
        self.slots += times * other.slots
        self.is_open = self.is_open or other.is_open
        for name, count in other.functions.items():
            self.functions[name] = self.functions.get(name, 0) + times * count


def operations(body: list[Any]) -> Operations:
    """Count the operations of statements."""
    total = Operations()
    for s in body:
        total.add(*_of_statement(s))
    return total


def _of_statement(s: Any) -> tuple[Operations, int]:
    """Count the operations of a statement, and how often it runs."""
    if isinstance(s, Loop):
        # A task's share of a loop is written with the whole range. Of a loop that may skip most
        # iterations, one is counted.
        return operations(s.body), 1 if s.only is not None else s.stop - s.start
    if isinstance(s, (Repeat, Steps)):
        made = operations([x for inner in bodies_of(s) for x in inner])
        made.is_open = True
        return made, 1
    if isinstance(s, Branch):
        made = max(map(operations, s.bodies), key=lambda found: found.slots)
        made.is_open = True
        return made, 1
    if bodies_of(s):
        return operations([x for inner in bodies_of(s) for x in inner]), 1
    return _alone(s), 1


def _alone(s: Any) -> Operations:
    if isinstance(s, Compute) and s.name not in _FREE:
        dtype = s.operand_dtype if s.args else s.result.dtype
        if dtype[0] == "f":
            named = {s.name: 1} if is_function(s) else {}
            return Operations(1, cost(s, current()) * _wide(dtype), named)
    elif isinstance(s, (Accumulate, AccumulateInto, ScatterInto)):
        combine = s.accumulator.combine if isinstance(s, Accumulate) else s.combine
        if combine != "set" and s.value.dtype[0] == "f":
            return Operations(1, _wide(s.value.dtype))
    elif isinstance(s, MatrixProduct):
        # A complex product takes four products and two sums, and two sums to add it.
        count, parts = multiplications(s), 4 if s.parts == 2 else 1
        dtype = "f64" if s.dtype in ("f64", "c128") else "f32"
        return Operations(2 * parts * count, parts * count * _wide(dtype))
    elif isinstance(s, Sheet):
        return _of_sheet(s)
    elif isinstance(s, Factorization):
        count = prod(s.batch) * _of_matrix(s)
        return Operations(count, count / 2 * (0.5 if s.dtype in ("f32", "c64") else 1))
    return Operations()


#: The operations on a matrix of ``m`` rows and ``n`` columns, with ``k`` right-hand sides: exact
#: for ``cholesky``, else the leading terms of Golub and Van Loan, "Matrix Computations" (2013).
_OF_MATRICES: dict[str, Callable[[int, int, int], float]] = {
    "cholesky": lambda m, n, k: n * (n + 1) * (2 * n + 1) / 6,
    "lu": lambda m, n, k: 2 * m * n * min(m, n) - (m + n) * min(m, n) ** 2 + 2 * min(m, n) ** 3 / 3,
    "triangular_solve": lambda m, n, k: n * n * k,
    "solve": lambda m, n, k: 2 * n * n * k,
    "qr": lambda m, n, k: 4 * m * n * n - 4 * n**3 / 3,
    "eigh": lambda m, n, k: 9 * n**3,
    "eig": lambda m, n, k: 25 * n**3,
    "svd": lambda m, n, k: 4 * m * m * n + 22 * n**3,
    "pinv": lambda m, n, k: 4 * m * m * n + 22 * n**3,
    "fourier": lambda m, n, k: 5 * m * n * log2(max(n, 2)),
    # These ops compare or move; they do not compute with numbers.
    "argsort": lambda m, n, k: 0,
    "sort": lambda m, n, k: 0,
    "order_statistics": lambda m, n, k: 0,
    "permutation": lambda m, n, k: 0,
}


def _of_sheet(s: Sheet) -> Operations:
    total, extents = Operations(), s.table[:, 1]
    for k, name in enumerate(s.words):
        stands_for = Compute(Scalar(0, s.dtype, 0, None), name, ())
        count = int(extents[s.table[:, 0] == k].sum())
        if name in FUSED:
            total.add(Operations(2 * count, count))
        elif name not in OWN or name == "sum":
            named = {name: count} if name not in OWN and is_function(stands_for) else {}
            slots = cost(stands_for, current()) if named else 1
            total.add(Operations(count, count * slots * _wide(s.dtype), named))
    return total


def _of_matrix(s: Factorization) -> int:
    counted = _OF_MATRICES.get(s.name)
    return s.m * s.n * (s.k or s.n) if counted is None else round(counted(s.m, s.n, s.k))


def _wide(dtype: str) -> float:
    """Return the fraction of a float64 vector lane that a scalar takes."""
    return itemsize(dtype) / 8


def of_step(step: Any) -> Operations:
    """Count the operations of a step of a program."""
    return operations(step.body if isinstance(step, Kernel) else [step])


# -- bytes -------------------------------------------------------------------------------


class Traffic:
    """The elements that a step touches, as marks by buffer. Elements that the step has written
    itself are not read from memory.

    ``at_most`` says that there may be fewer, because of computed places or guards.
    """

    def __init__(self, step: Any) -> None:
        self.read: dict[Buffer, np.ndarray] = {}
        self.written: dict[Buffer, np.ndarray] = {}
        self.at_most = False
        self._done: set[Any] = set()
        for s, bounds in _with_ranges(step.body if isinstance(step, Kernel) else [step], {}):
            self._add(s, bounds)

    def bytes(self, own: Container[Buffer] = ()) -> tuple[int, int]:
        """Return the bytes read and written, without those of some buffers."""
        return _bytes(self.read, own), _bytes(self.written, own)

    def _add(self, s: Any, bounds: Bounds) -> None:
        if isinstance(s, MatrixProduct):
            self._add_product(s, bounds)
            return
        effects = effects_of(s)
        self.at_most = self.at_most or getattr(s, "guard", None) is not None
        for access in (*effects.reads(s), *effects.updates(s)):
            self._mark(self.read, access, bounds, but=self.written)
        for access in (*effects.updates(s), *effects.writes(s)):
            self._mark(self.written, access, bounds)

    def _add_product(self, s: MatrixProduct, bounds: Bounds) -> None:
        shapes = (s.a, (*s.batch, s.m, s.k)), (s.b, (*s.batch, s.k, s.n))
        for operand, shape in shapes:
            # The positions along the axes are variables of the index.
            axes = [Var(extent) for extent in shape]
            index = operand.offset * s.parts
            for axis, stride in zip(axes, operand.strides, strict=True):
                index = index + of(axis) * (stride * s.parts)
            inner = {**bounds, **{axis: (0, axis.extent - 1) for axis in axes}}
            access = Access(operand.buffer, index, 0, s.parts - 1)
            if 0 not in shape:
                self._mark(self.read, access, inner, but=self.written)
        self._mark(self.written, s.written, bounds)

    def _mark(
        self,
        marks: dict[Buffer, np.ndarray],
        access: Access,
        bounds: Bounds,
        but: Mapping[Buffer, np.ndarray] = MappingProxyType({}),
    ) -> None:
        buffer = access.buffer
        ranges = {v: bounds[v] for v in access.index.variables()}
        key = (id(marks), buffer, access.index, access.low, access.high, tuple(ranges.items()))
        if buffer.kind in ("local", "tape") or key in self._done:
            return
        self._done.add(key)
        self.at_most = self.at_most or not access.is_exact or access.is_rest
        found = marks.setdefault(buffer, np.zeros(buffer.size, bool))
        places = np.zeros(buffer.size, bool)
        _set(places, access, ranges)
        if buffer in but:
            places &= ~but[buffer]
        found |= places


def _bytes(marks: Mapping[Buffer, np.ndarray], own: Container[Buffer]) -> int:
    found = (int(m.sum()) * itemsize(b.dtype) for b, m in marks.items() if b not in own)
    return sum(found)


def _set(places: np.ndarray, access: Access, ranges: Bounds) -> None:
    """Mark the elements of an access; a guard omits those outside of the buffer."""
    index = access.index
    low, high = index.range(ranges)
    count = prod(last - first + 1 for first, last in ranges.values())
    high = len(places) if access.is_rest else high + access.high + 1
    if access.is_rest or high - low - access.high == count or count > _MOST:
        places[max(0, low + access.low) : max(0, high)] = True
        return
    found = np.unique(_values(index, ranges))
    for k in range(access.low, access.high + 1):
        at = found + k
        places[at[(at >= 0) & (at < len(places))]] = True


#: The most iterations whose places are enumerated; beyond, all places between the first and the
#: last one count.
_MOST = 20_000_000


def _values(index: Affine, ranges: Bounds) -> np.ndarray:
    """Return the index in each iteration."""
    variables = list(ranges)
    grids = np.ogrid[tuple(slice(low, high + 1) for low, high in ranges.values())]
    return np.asarray(_value(index, dict(zip(variables, grids, strict=True)))).ravel()


def _value(index: Affine, grids: Mapping[Var, Any]) -> Any:
    total: Any = index.constant
    for atom, c in index.terms:
        if isinstance(atom, Quotient):
            pair = np.divmod(_value(atom.operand, grids), atom.divisor)
            total = total + c * pair[atom.remainder]
        else:
            total = total + c * grids[atom]
    return total


def _with_ranges(body: list[Any], bounds: Bounds) -> Iterator[tuple[Any, Bounds]]:
    """Yield the statements that contain no others, with the ranges of surrounding variables."""
    for s in body:
        bodies = bodies_of(s)
        inner = {**bounds, **effects_of(s).variables(s)} if bodies else bounds
        for each in bodies:
            yield from _with_ranges(each, inner)
        if not bodies:
            yield s, bounds


def own_buffers(program: LoopProgram) -> list[set[Buffer]]:
    """Return, for each step, the temporaries that no other step touches."""
    touched = [set(_named(step)) for step in program.steps]
    times = Counter(buffer for buffers in touched for buffer in buffers)
    return [{b for b in found if b.kind == "temp" and times[b] == 1} for found in touched]


def _named(step: Any) -> Iterator[Buffer]:
    for s in walk(step.body if isinstance(step, Kernel) else [step]):
        yield from buffers_named(s)
