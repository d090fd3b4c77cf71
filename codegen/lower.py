"""Lowering: the tree of loops becomes loop nests over scalars.

A scalar is computed at the outermost loop level at which everything that it
needs is known, and once: loop invariants are hoisted and common subexpressions
shared as the nests are written.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import prod
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.program import Op, Program, Value, param_key
from autojit.ir.shapes import row_major_strides
from autojit.ir.types import dtype_name

from . import affine
from .affine import Affine, Var
from .errors import TargetError
from .loops import (
    Accumulate,
    AccumulateInto,
    Accumulator,
    Begin,
    Buffer,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Kernel,
    Load,
    Loop,
    LoopProgram,
    MatrixProduct,
    Operand,
    Place,
    Scalar,
    ScatterAdd,
    Store,
    buffers_of,
)
from .pull import Index, Puller
from .schedule import Node, Schedule
from .storage import LibraryCall, Stored
from .traits import CPU, Traits

#: Innermost loops of at most this extent are unrolled.
UNROLL = 4
#: A loop is split where conditions on its index change, if it is longer than this.
WORTH_SPLITTING = 8
MOST_SEGMENTS = 8
#: Buffers of one iteration with at most this many scalars live in registers or on the stack.
LOCAL = 16

_PREDICATES = {"eq", "ne", "lt", "le", "gt", "ge"}


class Pair(NamedTuple):
    """A complex scalar."""

    re: Scalar
    im: Scalar


class _Scope:
    """One loop level that is being written."""

    def __init__(self) -> None:
        self.body: list[Any] = []
        self.known: dict[Any, Any] = {}


class Lowering(Puller):
    """Writes the loop nests of one program."""

    def __init__(self, program: Program, traits: Traits) -> None:
        self.schedule = Schedule(program, traits)
        self.traits = traits
        super().__init__(self.schedule.definers, self.schedule.stored)
        self.program = program
        self.scopes: list[_Scope] = [_Scope()]
        self.level: dict[Var, int] = {}
        self.renamed: dict[Var, Var] = {}
        self._numbers = count()
        self._accumulators: dict[Value, list[Accumulator]] = {}
        self._registers: dict[Value, tuple[Index, Any]] = {}
        self._placebuffers_of()

    # -- buffers ----------------------------------------------------------

    def _placebuffers_of(self) -> None:
        self.buffers: dict[Value, Buffer] = {}
        self.contracted: dict[Value, int] = {}
        self._floor: dict[Buffer, int] = {}
        names = count()
        self.inputs = [
            self._buffer(v, f"in{i}", "input") for i, v in enumerate(self.program.inputs)
        ]
        self.buffers.update(zip(self.program.inputs, self.inputs, strict=True))
        self.outputs: list[Buffer] = []
        self.copies: list[tuple[Buffer, Value]] = []
        for i, value in enumerate(self.program.outputs):
            buffer = self._buffer(value, f"out{i}", "output")
            self.outputs.append(buffer)
            if value in self.buffers:  # an input, or an output that is returned twice
                self.copies.append((buffer, value))
            else:
                self.buffers[value] = buffer
        kernel_of, readers = self._readers()
        for value, item in self.schedule.stored.items():
            if value in self.buffers:
                continue
            shared = self._shared_loops(value, item, kernel_of, readers)
            if shared is None:
                continue
            self.contracted[value] = shared
            rest = self._kept_extents(value, shared)
            size = prod(rest) * (2 if value.dtype.kind == "c" else 1)
            if size > LOCAL and not self.traits.serial_rows:
                shared, size = 0, value.type.size * (2 if value.dtype.kind == "c" else 1)
                self.contracted[value] = shared
            kind = "local" if shared and size <= LOCAL else "temp"
            buffer = Buffer(f"t{next(names)}", _scalar_dtype(value.dtype), size, kind)
            self.buffers[value] = buffer
            self._floor[buffer] = shared

    def _buffer(self, value: Value, name: str, kind: str) -> Buffer:
        parts = 2 if value.dtype.kind == "c" else 1
        return Buffer(name, _scalar_dtype(value.dtype), value.type.size * parts, kind)

    def _readers(self) -> tuple[dict[Value, int], dict[Value, list[Any]]]:
        kernel_of: dict[Value, int] = {}
        readers: dict[Value, list[Any]] = {}
        for number, kernel in enumerate(self.schedule.kernels()):
            if isinstance(kernel, LibraryCall):
                kernel_of[kernel.value] = number
                for view in kernel.views:
                    readers.setdefault(view.base, []).append(kernel)
                continue
            for child in kernel:
                for leaf in child.leaves() if isinstance(child, Node) else (child,):
                    assert isinstance(leaf, Stored)
                    kernel_of[leaf.value] = number
                    for value in leaf.reads:
                        readers.setdefault(value, []).append(leaf)
        return kernel_of, readers

    def _shared_loops(self, value: Value, item: Any, kernel_of: Any, readers: Any) -> int | None:
        """How many outer loops all readers share with it; None if all read a register."""
        if isinstance(item, LibraryCall):
            return 0
        path = self.schedule.path[value]
        complete = item.first_reduced
        in_registers = item.in_register
        shared = complete
        for reader in readers.get(value, ()):
            if isinstance(reader, LibraryCall) or kernel_of[reader.value] != kernel_of[value]:
                return 0
            theirs = self.schedule.path[reader.value]
            common = 0
            while common < min(len(path), len(theirs)) and path[common] is theirs[common]:
                common += 1
            shared = min(shared, common)
            if common < complete or not self._reads_in_place(item, reader):
                in_registers = False
        return None if in_registers else shared

    @staticmethod
    def _reads_in_place(item: Stored, reader: Stored) -> bool:
        """Whether the reader reads just the element of its own outer iteration."""
        here = {
            d: affine.of(v)
            for d, v in zip(item.dims[: item.first_reduced], reader.vars, strict=False)
        }
        return all(
            index[d] == expected
            for index in reader.reads[item.value]
            for d, expected in here.items()
        )

    def _kept_extents(self, value: Value, shared: int) -> tuple[int, ...]:
        """Extents of the value's axes that are not run over by the shared loops."""
        return tuple(n for d, n in enumerate(value.shape) if d not in self._gone(value, shared))

    def _gone(self, value: Value, shared: int) -> set[int]:
        item = self.schedule.stored[value]
        assert isinstance(item, Stored) or not shared
        return {d for d in item.dims[:shared] if d is not None} if shared else set()  # type: ignore[union-attr]

    def _offset(self, value: Value, index: Index) -> Affine:
        """Where an element lies in the value's buffer."""
        shared = self.contracted.get(value, 0)
        gone = self._gone(value, shared) if shared else set()
        kept = [i for d, i in enumerate(index) if d not in gone]
        extents = [n for d, n in enumerate(value.shape) if d not in gone]
        return affine.flatten(kept, extents)

    # -- scalars: the vocabulary that kernels are written in ----------------

    def __call__(self, name: str, *args: Any) -> Any:
        """Compute a scalar by an operation of the vocabulary."""
        model = [a for a in args if isinstance(a, Scalar)][-1]
        scalars = tuple(a if isinstance(a, Scalar) else self.like(a, model) for a in args)
        if name in _PREDICATES:
            dtype = "bool"
        else:
            dtype = scalars[-1].dtype
        return self._compute(name, scalars, dtype)

    def like(self, value: Any, model: Scalar) -> Scalar:
        """A constant of another scalar's dtype."""
        return self._constant(value, model.dtype)

    def pair(self, re: Scalar, im: Scalar) -> Pair:
        return Pair(re, im)

    def _compute(self, name: str, args: tuple[Scalar, ...], dtype: str) -> Scalar:
        depth = max(a.depth for a in args)
        key = (name, dtype, *(a.number for a in args))
        return self._once(key, depth, dtype, lambda s: Compute(s, name, args))

    def _constant(self, value: Any, dtype: str) -> Scalar:
        key = ("constant", dtype, param_key(value))
        return self._once(key, 0, dtype, lambda s: Constant(s, value))

    def _once(self, key: Any, depth: int, dtype: str, make: Callable[[Scalar], Any]) -> Scalar:
        """The scalar of this key if one is in scope, else a new statement at that depth."""
        scope = self.scopes[depth]
        found = scope.known.get(key)
        if found is None:
            found = Scalar(next(self._numbers), dtype, depth, self)
            scope.body.append(make(found))
            scope.known[key] = found
        result: Scalar = found
        return result

    def _depth(self, index: Affine) -> int:
        return max((self.level[v] for v in index.variables()), default=0)

    # -- the walk ---------------------------------------------------------

    def pull(self, value: Value, index: Index, guard: Any = None) -> Any:
        register = self._registers.get(value)
        if register is not None and register[0] == index:
            return register[1]
        if value in self.stored or value not in self.definers:
            return self.read(value, index, guard)
        key = ("element", value, index, guard)
        for scope in self.scopes:
            if key in scope.known:
                return scope.known[key]
        result = self.pull_op(self.definers[value], index, guard)
        # Conditions were decided for the present ranges of the index's variables, so the
        # answer is good for as long as these, even where it is a constant.
        depth = max(self._depth(i) for i in index) if index else 0
        depth = max(depth, *(s.depth for s in _parts(result)))
        self.scopes[depth].known[key] = result
        return result

    def read(self, value: Value, index: Index, guard: Any) -> Any:
        buffer, offset = self.buffers[value], self._offset(value, index)
        if value.dtype.kind == "c":
            re = self._load(buffer, offset * 2, guard)
            return Pair(re, self._load(buffer, offset * 2 + 1, guard))
        return self._load(buffer, offset, guard)

    def _load(self, buffer: Buffer, index: Affine, guard: Scalar | None) -> Scalar:
        depth = max(self._depth(index), guard.depth if guard is not None else 0)
        # A buffer of one iteration of some loops holds other values in the next one.
        depth = max(depth, self._floor.get(buffer, 0))
        key = ("load", buffer, index, guard.number if guard is not None else None)
        return self._once(key, depth, buffer.dtype, lambda s: Load(s, buffer, index, guard))

    def gather(self, op: Op, places: list[Any], index: Index, guard: Any) -> Any:
        x, axes = op.operands[0], op.params["axes"]
        rest = iter(index)
        full = tuple(Affine(0) if d in axes else next(rest) for d in range(x.type.ndim))
        buffer, offset = self.buffers[x], self._offset(x, full)
        parts = 2 if x.dtype.kind == "c" else 1
        found = [
            self._gather_scalar(
                buffer, offset * parts + i, self._places(x, axes, places, parts), guard
            )
            for i in range(parts)
        ]
        return found[0] if parts == 1 else Pair(*found)

    def _places(
        self, value: Value, axes: tuple[int, ...], places: list[Any], parts: int
    ) -> tuple[Place, ...]:
        strides = row_major_strides(value.shape)
        return tuple(
            Place(p, strides[a] * parts, value.shape[a]) for p, a in zip(places, axes, strict=True)
        )

    def _gather_scalar(
        self, buffer: Buffer, index: Affine, places: tuple[Place, ...], guard: Scalar | None
    ) -> Scalar:
        inputs = [p.scalar for p in places] + ([guard] if guard is not None else [])
        depth = max(self._depth(index), *(s.depth for s in inputs))
        depth = max(depth, self._floor.get(buffer, 0))
        key = ("gather", buffer, index, *((s.number) for s in inputs), guard is None)
        return self._once(
            key, depth, buffer.dtype, lambda s: Gather(s, buffer, index, places, guard)
        )

    def constant(self, op: Op) -> Any:
        value, dtype = op.params["value"], op.params["dtype"]
        if dtype.kind == "c":
            part = _scalar_dtype(dtype)
            return Pair(self._constant(value.real, part), self._constant(value.imag, part))
        return self._constant(value, dtype_name(dtype))

    def index_value(self, op: Op, index: Affine) -> Any:
        dtype = op.params["dtype"]
        name = _scalar_dtype(dtype)
        key = ("index", name, index)
        number = self._once(key, self._depth(index), name, lambda s: IndexValue(s, index))
        return Pair(number, self._constant(0.0, name)) if dtype.kind == "c" else number

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
        part = _scalar_dtype(new)
        if new.kind == "c":
            re, im = x if isinstance(x, Pair) else (x, self._constant(0.0, part))
            return Pair(self._cast(re, part), self._cast(im, part))
        if isinstance(x, Pair):
            if new.kind == "b":
                return self("or", self("ne", x.re, 0.0), self("ne", x.im, 0.0))
            x = x.re
        return self._cast(x, part)

    def _cast(self, x: Scalar, dtype: str) -> Scalar:
        if x.dtype == dtype:
            return x
        if dtype == "bool":
            result: Scalar = self("ne", x, 0)
            return result
        return self._compute("convert", (x,), dtype)

    def choose(self, op: Op, cases: list[tuple[Any, Any]]) -> Any:
        if cases and cases[-1][0] is None:
            *cases, (_, result) = cases
        else:
            zero = self._constant(
                op.result.dtype.type(0).real.item(), _scalar_dtype(op.result.dtype)
            )
            result = Pair(zero, zero) if op.result.dtype.kind == "c" else zero
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
            key = ("in", c.index, c.low, c.high, c.step)
            depth = self._depth(c.index)
            holds = self._once(
                key, depth, "bool", lambda s, c=c: InRange(s, c.index, c.low, c.high, c.step)
            )
            result = holds if result is None else self("and", result, holds)
        return result

    # -- writing the nests ------------------------------------------------

    def run(self) -> LoopProgram:
        """The loop program."""
        from .arena import plan
        from .blocks import in_blocks
        from .parallel import parallelize

        steps: list[Any] = []
        for number, kernel in enumerate(self.schedule.kernels()):
            if isinstance(kernel, LibraryCall):
                steps.append(self._product(kernel))
            else:
                steps.append(self._kernel(f"k{number}", kernel))
        steps.extend(self._copy(i, *copy) for i, copy in enumerate(self.copies))
        if self.traits.tasks:
            steps = [parallelize(in_blocks(s)) if isinstance(s, Kernel) else s for s in steps]
        result = LoopProgram(self.program.name, self.inputs, self.outputs, steps)
        plan(result)
        return result

    def _kernel(self, name: str, children: list[Any]) -> Kernel:
        self.scopes = [_Scope()]
        self._registers.clear()
        self._accumulators.clear()
        for child in children:
            self._child(child)
        body = self.scopes[0].body
        return Kernel(name, body, buffers_of(body), next(self._numbers))

    def _child(self, child: Any) -> None:
        if isinstance(child, Node):
            self._loop(child)
        else:
            self._leaf(child)

    def _loop(self, node: Node) -> None:
        assert node.var is not None
        depth = len(self.scopes) - 1
        beginning = [
            leaf
            for leaf in node.leaves()
            if isinstance(leaf, Stored) and leaf.combine and leaf.first_reduced == depth
        ]
        for leaf in beginning:
            self._begin(leaf)
        if node.var.extent:
            for start, stop in self._segments(node):
                self._segment(node, start, stop)
        for leaf in beginning:
            self._finish(leaf)

    def _segment(self, node: Node, start: int, stop: int) -> None:
        assert node.var is not None
        self.level[node.var] = len(self.scopes)
        self.bounds[node.var] = (start, stop - 1)
        self.scopes.append(_Scope())
        registers = dict(self._registers)
        for child in node.children:
            self._child(child)
        body = self.scopes.pop().body
        self._registers = registers
        innermost = not any(isinstance(s, Loop) for s in body)
        unroll = innermost and stop - start <= UNROLL
        role = "reduce" if self._carries(node) else "map"
        self.scopes[-1].body.append(Loop(node.var, start, stop, body, role, unroll))
        del self.bounds[node.var], self.level[node.var]

    def _carries(self, node: Node) -> bool:
        """Whether the loop is reduced by a leaf below, at any depth."""
        for leaf in node.leaves():
            if isinstance(leaf, Stored) and leaf.combine:
                position = self.schedule.path[leaf.value].index(node)
                if leaf.dims[position] is None:
                    return True
        return False

    def _segments(self, node: Node) -> list[tuple[int, int]]:
        """Ranges of a loop in which the conditions on its variable do not change."""
        assert node.var is not None
        extent = node.var.extent
        cuts: set[int] = set()
        if extent > WORTH_SPLITTING:
            for leaf in node.leaves():
                if isinstance(leaf, Stored):
                    cuts |= self._cuts(leaf, node)
        points = sorted({0, extent} | {c for c in cuts if 0 < c < extent})
        if len(points) - 1 > MOST_SEGMENTS:
            points = [0, extent]
        return list(zip(points[:-1], points[1:], strict=True))

    def _cuts(self, leaf: Stored, node: Node) -> set[int]:
        own = leaf.vars[self.schedule.path[leaf.value].index(node)]
        cuts: set[int] = set()
        for condition in self.schedule.conditions[leaf.value]:
            terms = condition.index.terms
            if len(terms) == 1 and terms[0][0] is own and terms[0][1] in (1, -1):
                (_, sign), constant = terms[0], condition.index.constant
                for bound in (condition.low, condition.high):
                    # sign * v + constant crosses the bound
                    cuts.add((bound - constant) if sign == 1 else (constant - bound + 1))
        return cuts

    # -- leaves -----------------------------------------------------------

    def _leaf(self, leaf: Stored) -> None:
        path = self.schedule.path[leaf.value]
        indices = tuple(affine.of(node.var) for node in path if node.var is not None)
        element = leaf.element(self, indices)
        here = leaf.index([node.var for node in path])
        if leaf.combine is None:
            self._registers[leaf.value] = (here, element)
            self._store(leaf.value, here, element)
        elif leaf.value in self._accumulators:
            for accumulator, part in zip(
                self._accumulators[leaf.value], _parts(element), strict=True
            ):
                part = self._cast(part, accumulator.dtype)
                self.scopes[-1].body.append(Accumulate(accumulator, part))
        else:
            self._accumulate_into(leaf, here, indices, element)

    def _store(self, value: Value, index: Index, element: Any) -> None:
        buffer = self.buffers.get(value)
        if buffer is None:
            return
        parts = _parts(element)
        offset = self._offset(value, index) * len(parts)
        for i, part in enumerate(parts):
            self.scopes[-1].body.append(Store(buffer, offset + i, part))

    def _accumulate_into(self, leaf: Stored, index: Index, loops: Index, element: Any) -> None:
        buffer = self.buffers[leaf.value]
        parts = _parts(element)
        offset = self._offset(leaf.value, index) * len(parts)
        assert leaf.combine is not None
        for i, part in enumerate(parts):
            if leaf.places is not None:
                found = self._places(leaf.value, leaf.axes, leaf.places(self, loops), len(parts))
                self.scopes[-1].body.append(ScatterAdd(buffer, offset + i, found, part))
            else:
                self.scopes[-1].body.append(AccumulateInto(buffer, offset + i, leaf.combine, part))

    def _begin(self, leaf: Stored) -> None:
        """Before the first reduced loop: an accumulator, or a filled part of the buffer."""
        value = leaf.value
        parts = 2 if value.dtype.kind == "c" else 1
        dtype = _scalar_dtype(value.dtype)
        assert leaf.combine is not None
        identities = [leaf.identity, 0.0] if parts == 1 or leaf.combine == "mul" else [0.0, 0.0]
        if leaf.in_register:
            wide = "f64" if dtype == "f32" and leaf.combine == "add" else dtype
            self._accumulators[value] = [
                Accumulator(next(self._numbers), wide, leaf.combine, identities[i])
                for i in range(parts)
            ]
            if parts == 2 and leaf.combine != "add":
                raise TargetError(
                    f"{leaf.op.kind.name} of complex numbers cannot be compiled", leaf.op.source
                )
            self.scopes[-1].body.extend(map(Begin, self._accumulators[value]))
            return
        path = self.schedule.path[value][: leaf.first_reduced]
        fixed = {d: affine.of(n.var) for d, n in zip(leaf.dims, path, strict=False) if n.var}  # type: ignore[arg-type]
        start = tuple(fixed.get(d, Affine(0)) for d in range(value.type.ndim))
        gone = self._gone(value, self.contracted.get(value, 0)) | set(fixed)
        size = prod(n for d, n in enumerate(value.shape) if d not in gone)
        # The loops outside of the reduction run over leading axes, so the rest is contiguous.
        self.scopes[-1].body.append(
            Fill(
                self.buffers[value],
                self._offset(value, start) * parts,
                size * parts,
                leaf.identity if parts == 1 else 0.0,
            )
        )

    def _finish(self, leaf: Stored) -> None:
        value = leaf.value
        accumulators = self._accumulators.get(value)
        if accumulators is None:
            return
        depth = len(self.scopes) - 1
        parts = []
        for accumulator in accumulators:
            total = Scalar(next(self._numbers), accumulator.dtype, depth, self)
            self.scopes[-1].body.append(Finish(total, accumulator))
            parts.append(self._cast(total, _scalar_dtype(value.dtype)))
        element = parts[0] if len(parts) == 1 else Pair(*parts)
        index = leaf.index([node.var for node in self.schedule.path[value]])
        self._registers[value] = (index, element)
        self._store(value, index, element)

    # -- library calls and copies -----------------------------------------

    def _product(self, call: LibraryCall) -> MatrixProduct:
        op = call.op
        a, b = op.operands
        (ca, cb), (ba, bb) = op.params["contract"], op.params["batch"]
        batch = tuple(a.shape[i] for i in ba)
        k = prod(a.shape[i] for i in ca)
        m = a.type.size // max(1, k * prod(batch))
        n = b.type.size // max(1, k * prod(batch))
        left, right = (Operand(self.buffers[v.base], v.offset, v.strides) for v in call.views)
        name = dtype_name(op.result.dtype)
        return MatrixProduct(name, batch, m, n, k, left, right, self.buffers[op.result])

    def _copy(self, number: int, buffer: Buffer, value: Value) -> Kernel:
        self.scopes = [_Scope()]
        source = self.buffers[value]
        variable = Var(buffer.size)
        self.level[variable] = 1
        self.scopes.append(_Scope())
        here = affine.of(variable)
        element = self._load(source, here, None)
        self.scopes[-1].body.append(Store(buffer, here, element))
        body = self.scopes.pop().body
        loop = Loop(variable, 0, buffer.size, body, "map")
        outer = [loop] if buffer.size else []
        return Kernel(f"copy{number}", outer, buffers_of(outer))


def _parts(element: Any) -> tuple[Scalar, ...]:
    return tuple(element) if isinstance(element, Pair) else (element,)


def _scalar_dtype(dtype: np.dtype) -> str:
    """The dtype of the scalars that make up an element."""
    return {"c64": "f32", "c128": "f64"}.get(dtype_name(dtype), dtype_name(dtype))


def lower(program: Program, traits: Traits = CPU) -> LoopProgram:
    """Schedule a program and write its loop nests as a target wants them."""
    return Lowering(program, traits).run()
