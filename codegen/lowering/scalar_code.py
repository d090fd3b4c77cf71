"""Scalar code: the statements that compute an element, placed where their operands are known.

A scalar is computed once, at the outermost loop level at which its operands are known: loop
invariants are hoisted and common subexpressions are shared while the nests are written.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.nodes import Compute, Constant, Gather, IndexValue, InRange, Load
from autojit.codegen.loop_ir.values import Buffer, Place, Scalar
from autojit.codegen.loop_ir.vocabulary import HALVES
from autojit.codegen.scheduling.bufferization import Placement, parts_of, scalar_dtype
from autojit.codegen.scheduling.element_walk import ElementWalk, Index
from autojit.codegen.scheduling.fusion import Schedule
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.halves import number_of
from autojit.ir.core.program import Op, Value, param_key
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.core.types import dtype_name
from autojit.ir.core.values import Source
from autojit.ir.ops.elementwise import Elementwise

_PREDICATES = {"eq", "ne", "lt", "le", "gt", "ge"}


class Pair(NamedTuple):
    """A complex scalar."""

    re: Scalar
    im: Scalar


def parts(element: Any) -> tuple[Scalar, ...]:
    """Return the scalars of an element."""
    return tuple(element) if isinstance(element, Pair) else (element,)


class Scope:
    """One loop level while it is written."""

    def __init__(self) -> None:
        self.body: list[Any] = []
        self.known: dict[Any, Any] = {}


class ScalarCode(ElementWalk):
    """Writes scalars into the open loop levels; a call writes an operation of the vocabulary."""

    def __init__(self, schedule: Schedule, placement: Placement) -> None:
        super().__init__(schedule.definers, schedule.stored)
        self.placement = placement
        self.scopes: list[Scope] = [Scope()]
        self.level: dict[Var, int] = {}
        self.numbers = count()
        #: Stored values that are currently in a register: the index, and the scalars.
        self.registers: dict[Value, tuple[Index, Any]] = {}
        #: Values that are the index of a surrounding loop.
        self.indices: dict[Value, Affine] = {}
        #: Integer scalars that are known to equal an index expression.
        self.known_index: dict[int, Affine] = {}
        #: Index comparisons with a known result.
        self.decided: dict[int, bool] = {}
        #: The user's line that is being written.
        self.source: Source | None = None

    # -- the vocabulary that kernels are written in -------------------------

    def __call__(self, name: str, *args: Any) -> Any:
        """Compute a scalar by an operation of the vocabulary."""
        model = [a for a in args if isinstance(a, Scalar)][-1]
        scalars = tuple(a if isinstance(a, Scalar) else self.like(a, model) for a in args)
        dtype = "bool" if name in _PREDICATES else scalars[-1].dtype
        return self.word(name, scalars, dtype)

    def like(self, value: Any, model: Scalar) -> Scalar:
        """Return a constant of another scalar's dtype."""
        return self.number(value, model.dtype)

    def pair(self, re: Scalar, im: Scalar) -> Pair:
        return Pair(re, im)

    def word(self, name: str, args: tuple[Scalar, ...], dtype: str) -> Scalar:
        if args[-1].dtype == "i64":
            known = self._known(name, args)
            if known is not None:
                return known
        depth = max(a.depth for a in args)
        key = (name, dtype, *(a.number for a in args))
        return self._once(key, depth, dtype, lambda s: Compute(s, name, args))

    def _known(self, name: str, args: tuple[Scalar, ...]) -> Scalar | None:
        """Return the result of integer arithmetic on loop indices, if it is an index too."""
        if name == "select":
            chosen = self.decided.get(args[0].number)
            return None if chosen is None else args[1] if chosen else args[2]
        if len(args) != 2:
            return None
        a, b = (self.known_index.get(x.number) for x in args)
        if a is None or b is None:
            return None
        if name in ("add", "sub"):
            return self._index_number(a + b if name == "add" else a - b, "i64")
        if name == "mul" and (product := a.times(b)) is not None:
            return self._index_number(product, "i64")
        if name in ("lt", "ge"):
            low, high = (a - b).range(self.bounds)
            if high < 0 or low >= 0:
                holds = (high < 0) == (name == "lt")
                result = self.number(holds, "bool")
                self.decided[result.number] = holds
                return result
        return None

    def number(self, value: Any, dtype: str) -> Scalar:
        key = ("constant", dtype, param_key(value))
        made = self._once(key, 0, dtype, lambda s: Constant(s, value))
        if dtype == "i64":
            self.known_index[made.number] = Affine(value)
        return made

    def _once(self, key: Any, depth: int, dtype: str, make: Callable[[Scalar], Any]) -> Scalar:
        """Return the scalar of this key if it is in scope, else write a statement at that depth."""
        scope = self.scopes[depth]
        found = scope.known.get(key)
        if found is None:
            found = Scalar(next(self.numbers), dtype, depth, self, self.source)
            scope.body.append(make(found))
            scope.known[key] = found
        result: Scalar = found
        return result

    def _depth(self, index: Affine) -> int:
        return max((self.level[v] for v in index.variables()), default=0)

    # -- the walk ---------------------------------------------------------

    def walk(self, value: Value, index: Index, guard: Any = None) -> Any:
        if value in self.indices:
            return self._index_number(self.indices[value], "i64")
        if guard is not None and self._inside(value, index):
            guard = None
        register = self.registers.get(value)
        if register is not None and register[0] == index:
            return register[1]
        if value in self.stored or value not in self.definers:
            return self.read(value, index, guard)
        key = ("element", value, index, guard)
        for scope in self.scopes:
            if key in scope.known:
                return scope.known[key]
        result = self.walk_op(self.definers[value], index, guard)
        # Conditions were decided for the current ranges of the index's variables, so the result is
        # valid only as long as these, even if it is a constant.
        depth = max(self._depth(i) for i in index) if index else 0
        depth = max(depth, *(s.depth for s in parts(result)))
        self.scopes[depth].known[key] = result
        return result

    def walk_op(self, op: Op, index: Index, guard: Any = None) -> Any:
        around = self.source
        self.source = op.source or around
        element = super().walk_op(op, index, guard)
        self.source = around
        return element

    def read(self, value: Value, index: Index, guard: Any) -> Any:
        buffer, offset = self.placement.of[value], self.placement.offset(value, index)
        if value.dtype.kind == "c":
            re = self.load(buffer, offset * 2, guard)
            return Pair(re, self.load(buffer, offset * 2 + 1, guard))
        return self.load(buffer, offset, guard)

    def load(self, buffer: Buffer, index: Affine, guard: Scalar | None) -> Scalar:
        depth = max(self._depth(index), guard.depth if guard is not None else 0)
        # A buffer for one iteration of some loops has other values in the next one.
        depth = max(depth, self.placement.floor.get(buffer, 0))
        key = ("load", buffer, index, guard.number if guard is not None else None)
        return self._once(key, depth, buffer.dtype, lambda s: Load(s, buffer, index, guard))

    def gather(self, op: Op, places: list[Any], index: Index, guard: Any) -> Any:
        x, axes = op.operands[0], op.params["axes"]
        rest = iter(index)
        full = tuple(Affine(0) if d in axes else next(rest) for d in range(x.type.ndim))
        count = parts_of(x.dtype)
        known = self._known_places(places, [x.shape[a] for a in axes])
        if known is not None:
            at = dict(zip(axes, known, strict=True))
            return self.read(x, tuple(at.get(d, i) for d, i in enumerate(full)), guard)
        buffer, offset = self.placement.of[x], self.placement.offset(x, full)
        found = [
            self._gather_scalar(
                buffer, offset * count + i, self.places(x, axes, places, count), guard
            )
            for i in range(count)
        ]
        return found[0] if count == 1 else Pair(*found)

    def _known_places(self, places: list[Any], extents: list[int]) -> list[Affine] | None:
        """Return places as index expressions, if they are known to be within bounds."""
        found = [self.known_index.get(p.number) for p in places]
        for index, extent in zip(found, extents, strict=True):
            if index is None:
                return None
            low, high = index.range(self.bounds)
            if low < 0 or high >= extent:
                return None
        return [index for index in found if index is not None]

    def places(
        self, value: Value, axes: tuple[int, ...], places: list[Any], count: int
    ) -> tuple[Place, ...]:
        strides = row_major_strides(value.shape)
        return tuple(
            Place(p, strides[a] * count, value.shape[a]) for p, a in zip(places, axes, strict=True)
        )

    def _gather_scalar(
        self, buffer: Buffer, index: Affine, places: tuple[Place, ...], guard: Scalar | None
    ) -> Scalar:
        inputs = [p.scalar for p in places] + ([guard] if guard is not None else [])
        depth = max(self._depth(index), *(s.depth for s in inputs))
        depth = max(depth, self.placement.floor.get(buffer, 0))
        key = ("gather", buffer, index, *((s.number) for s in inputs), guard is None)
        return self._once(
            key, depth, buffer.dtype, lambda s: Gather(s, buffer, index, places, guard)
        )

    def constant(self, op: Op) -> Any:
        value, dtype = op.params["value"], op.params["dtype"]
        if dtype.kind == "c":
            part = scalar_dtype(dtype)
            return Pair(self.number(value.real, part), self.number(value.imag, part))
        return self.number(value, dtype_name(dtype))

    def index_value(self, op: Op, index: Affine) -> Any:
        dtype = op.params["dtype"]
        name = scalar_dtype(dtype)
        number = self._index_number(index, name)
        return Pair(number, self.number(0.0, name)) if dtype.kind == "c" else number

    def _index_number(self, index: Affine, dtype: str) -> Scalar:
        key = ("index", dtype, index)
        number = self._once(key, self._depth(index), dtype, lambda s: IndexValue(s, index))
        if dtype == "i64":
            self.known_index[number.number] = index
        return number

    def compute(self, op: Op, operands: list[Any]) -> Any:
        kind = op.kind
        assert isinstance(kind, Elementwise)
        if "dtype" in op.params:
            return self._convert(operands[0], op.operands[0].dtype, op.params["dtype"])
        if any(isinstance(x, Pair) for x in operands):
            if kind.complex_kernel is None:
                raise TargetError(
                    f"{kind.name} of {op.operands[0].type} cannot be compiled: there is no "
                    "formula for complex operands. autojit.disable_jit() runs it in NumPy.",
                    op.source,
                )
            result = kind.complex_kernel(self, *operands, **op.params)
            return result if isinstance(result, (Scalar, Pair)) else Pair(*result)
        return kind.kernel(self, *operands, **op.params)

    def _convert(self, x: Any, old: np.dtype, new: np.dtype) -> Any:
        part = scalar_dtype(new)
        if new.kind == "c":
            re, im = x if isinstance(x, Pair) else (x, self.number(0.0, part))
            return Pair(self.cast(re, part), self.cast(im, part))
        if isinstance(x, Pair):
            if new.kind == "b":
                return self("or", self("ne", x.re, 0.0), self("ne", x.im, 0.0))
            x = x.re
        return self.cast(x, part)

    def cast(self, x: Scalar, dtype: str) -> Scalar:
        if x.dtype == dtype:
            return x
        if dtype == "bool":
            result: Scalar = self("ne", self.cast(x, "f32") if x.dtype in HALVES else x, 0)
            return result
        direct = ("f32", "f64") if dtype == "f16" else ("f32",)
        if (dtype in HALVES and x.dtype not in direct) or (x.dtype in HALVES and dtype != "f32"):
            return self.cast(self.word("convert", (x,), "f32"), dtype)
        return self.word("convert", (x,), dtype)

    def choose(self, op: Op, cases: list[tuple[Any, Any]]) -> Any:
        if cases and cases[-1][0] is None:
            *cases, (_, result) = cases
        else:
            is_pair = op.result.dtype.kind == "c"
            like = np.empty(0, op.result.dtype).real.dtype if is_pair else op.result.dtype
            zero = self.number(number_of(0, like), scalar_dtype(like))
            result = Pair(zero, zero) if is_pair else zero
        for condition, element in reversed(cases):
            result = self._select(condition, element, result)
        return result

    def _select(self, condition: Scalar, a: Any, b: Any) -> Any:
        if isinstance(a, Pair):
            return Pair(
                self("select", condition, a.re, b.re), self("select", condition, a.im, b.im)
            )
        return self("select", condition, a, b)

    def condition(self, conditions: list[Any], guard: Any) -> Any:
        result = guard
        for c in conditions:
            holds = self._in_range(c)
            result = holds if result is None else self("and", result, holds)
        return result

    def unless(self, guard: Scalar, holds: Scalar) -> Scalar:
        result: Scalar = self("or", holds, self("not", guard))
        return result

    def _in_range(self, c: Any) -> Scalar:
        key = ("in", c.index, c.low, c.high, c.step)
        return self._once(
            key,
            self._depth(c.index),
            "bool",
            lambda s: InRange(s, c.index, c.low, c.high, c.step),
        )
