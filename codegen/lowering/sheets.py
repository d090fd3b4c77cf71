"""Very long programs of small elementwise operations become a sheet (see ``loop_ir/sheets.py``).

    %7 = mul %3, %5            # f64[]           [7] = mul_add [3], [5], [4]
    %8 = add %7, %4                              [5:+10] = tanh [12:]
    %9 = tanh %6               # f64[10]

As code, each operation would take 0.1 to 1.5 ms to lower and to compile.

Legal where each op computes elements separately, from numbers of one float type and bools, and
cannot fail; or moves elements without changing their order. A product is fused with the sum that is
its only reader, as in LLVM (which may choose the other one of two products). Sums of arrays run
from the first element to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.machine import has_fused
from autojit.codegen.loop_ir.origins import Origin
from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_ir.sheets import OWN, TRUTHS, Sheet
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.codegen.loop_ir.vocabulary import WORDS
from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.program import Op, Program, Value, param_key
from autojit.ir.core.types import dtype_name
from autojit.ir.ops.elementwise import Convert, Elementwise

#: The fewest operations for which a program becomes a sheet: code for so many takes 3 s to make,
#: and 10 s if they are on arrays. A row takes 2 to 8 times as long as its code, 5 to 10 ns.
LEAST = 20_000
#: The largest mean number of elements of results: loops over longer arrays are worth their code.
MEAN = 64

#: Operations on bools, by those of rows.
_OF_TRUTHS = {
    "and": "and", "mul": "and", "minimum": "and", "fmin": "and",
    "or": "or", "add": "or", "maximum": "or", "fmax": "or",
    "xor": "xor", "not": "not", "eq": "eq", "ne": "ne", "select": "select",
}  # fmt: skip
_OF_FLOATS = {*WORDS["f"], *OWN, *TRUTHS}


class _Refused(Exception):
    """The program has an op that rows cannot compute."""


class _Made(NamedTuple):
    """Cells that are computed together."""

    word: str
    extent: int
    operands: tuple[_At, ...]


class _At(NamedTuple):
    """Elements of a row, constant or input: the first one, and whether they differ (step 1)."""

    maker: int
    offset: int
    step: int


def sheet_of(program: Program) -> LoopProgram | None:
    """Return a loop program whose only step is a sheet; None if code is better, or needed."""
    if len(program.ops) < LEAST:
        return None
    if sum(v.type.size for op in program.ops for v in op.results) > MEAN * len(program.ops):
        return None
    try:
        with seldom_collected():
            return _Writer(program).loops()
    except _Refused:
        return None


class _Writer:
    """Writes the rows of a program; a call writes an operation of the vocabulary, as in kernels."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.dtype = _one_float(program)
        self.of: dict[Value, Scalar] = {}
        #: Constants and inputs, which no row computes, then rows.
        self.made: list[_Made] = []
        self.constants: dict[Any, int] = {}
        self.values: list[float] = []
        self.inputs: list[int] = []
        self.places: list[_At] = []  # of scalars, by their numbers
        self.extent = 1

    def loops(self) -> LoopProgram:
        p = self.program
        if any(v.type.size == 0 for v in (*p.inputs, *p.outputs)):
            raise _Refused
        for v in p.inputs:
            self.inputs.append(len(self.made))
            self.of[v] = self._scalar(self._new("input", v.type.size, ()), self.dtype)
        for op in p.ops:
            self.of[op.results[0]] = self._op(op)
        results = [self._whole(self._at(v), v) for v in p.outputs]
        return _finished(self, results)

    def _at(self, v: Value) -> _At:
        return self.places[self.of[v].number]

    # -- ops ----------------------------------------------------------------

    def _op(self, op: Op) -> Scalar:
        kind = op.kind
        if isinstance(kind, Elementwise):
            return self._elementwise(op, kind)
        write = _MOVES.get(kind.name)
        if write is None or 0 in op.result.shape:
            raise _Refused
        return self._scalar(write(self, op), dtype_name(op.result.dtype))

    def _elementwise(self, op: Op, kind: Elementwise) -> Scalar:
        if kind.fails and kind.may_fail(op):
            raise _Refused
        scalars = [self.of[v] for v in op.operands]
        # A value that is the same for all elements is computed once.
        several = any([self.places[s.number].step for s in scalars])
        self.extent = op.results[0].type.size if several else 1
        if isinstance(kind, Convert):
            return self.cast(scalars[0], dtype_name(op.result.dtype))
        made: Scalar = kind.kernel(self, *scalars, **op.params)
        return made

    def constant(self, op: Op) -> _At:
        return self._constant(op.params["value"], dtype_name(op.result.dtype))

    def reshaped(self, op: Op) -> _At:
        return self._at(op.operands[0])

    def broadcast(self, op: Op) -> _At:
        at, n = self._at(op.operands[0]), op.operands[0].type.size
        if n == op.result.type.size or not at.step:
            return at
        if n > 1:
            raise _Refused
        return _At(at.maker, at.offset, 0)

    def slice(self, op: Op) -> _At:
        """Slice one axis, without gaps."""
        at, (x,), shape = self._at(op.operands[0]), op.operands, op.result.shape
        if not at.step:
            return at
        start, stride = op.params["start"], op.params["stride"]
        if any(n != 1 for n in stride) or shape[1:] != x.shape[1:]:
            raise _Refused
        step = 1 if prod(shape) > 1 else 0
        return _At(at.maker, at.offset + start[0] * prod(x.shape[1:]), step)

    def concatenated(self, op: Op) -> _At:
        """Concatenate along the first axis that has more than one element."""
        axis = op.params["axis"]
        if any(n != 1 for n in op.result.shape[:axis]):
            raise _Refused
        pieces = [(self._at(v), v.type.size) for v in op.operands if v.type.size]
        return self._joined([(at, n) for at, n in pieces])

    def padded(self, op: Op) -> _At:
        """Pad the first axis, without gaps."""
        (x,), low, high = op.operands, op.params["low"], op.params["high"]
        rest = prod(x.shape[1:])
        if any(op.params["interior"]) or any(low[1:]) or any(high[1:]) or low[0] < 0 or high[0] < 0:
            raise _Refused
        zero = self._constant(0.0, self.dtype)
        pieces = [(zero, low[0] * rest), (self._at(x), x.type.size), (zero, high[0] * rest)]
        return self._joined([(at, n) for at, n in pieces if n])

    def summed(self, op: Op) -> _At:
        """Sum all elements."""
        (x,) = op.operands
        at = self._at(x)
        if op.result.type.size != 1 or x.type.size == 0 or x.dtype.kind != "f":
            raise _Refused
        return self._new("sum", 1, (at,), x.type.size)

    def _joined(self, pieces: list[tuple[_At, int]]) -> _At:
        """Join elements: rows write parts of one result."""
        whole = len(self.made)
        self.made.append(_Made("join", sum(n for _, n in pieces), ()))
        at = 0
        for piece, n in pieces:
            self.made.append(_Made("copy", n, (piece, _At(whole, at, 1))))
            at += n
        return _At(whole, 0, int(at > 1))

    def _whole(self, at: _At, v: Value) -> _At:
        """Return an output with all of its elements."""
        size = v.type.size
        if v.dtype.kind != "f":
            raise _Refused
        if at.step or size == 1:
            return at
        return self._joined([(at, size)])

    # -- the vocabulary -------------------------------------------------------

    def __call__(self, name: str, *args: Any) -> Scalar:
        if not all([isinstance(a, Scalar) for a in args]):
            model = next(a for a in reversed(args) if isinstance(a, Scalar))
            args = tuple([a if isinstance(a, Scalar) else self.like(a, model) for a in args])
        return self.word(name, args, "bool" if name in TRUTHS else args[-1].dtype)

    def like(self, value: Any, model: Scalar) -> Scalar:
        return self.number(value, model.dtype)

    def number(self, value: Any, dtype: str) -> Scalar:
        return self._scalar(self._constant(value, dtype), dtype)

    def cast(self, x: Scalar, dtype: str) -> Scalar:
        """Convert a number. Bools are already numbers; converting to bool compares with 0."""
        if dtype == "bool" and x.dtype != "bool":
            return self("ne", x, 0.0)
        return x if x.dtype == dtype else self._scalar(self.places[x.number], dtype)

    def word(self, name: str, args: Sequence[Scalar], dtype: str) -> Scalar:
        if args[-1].dtype == "bool":
            if name not in _OF_TRUTHS:
                raise _Refused
            name = _OF_TRUTHS[name]
        elif name not in _OF_FLOATS:
            raise _Refused
        operands = tuple([self.places[a.number] for a in args])
        return self._scalar(self._new(name, self.extent, operands), dtype)

    # -- cells ----------------------------------------------------------------

    def _scalar(self, at: _At, dtype: str) -> Scalar:
        self.places.append(at)
        return Scalar(len(self.places) - 1, dtype, 0, self)

    def _new(self, word: str, extent: int, operands: tuple[_At, ...], read: int = 0) -> _At:
        self.made.append(_Made(word, read or extent, operands))
        return _At(len(self.made) - 1, 0, int(extent > 1))

    def _constant(self, value: Any, dtype: str) -> _At:
        if dtype not in (self.dtype, "bool"):
            raise _Refused
        key = param_key(float(value))
        found = self.constants.get(key)
        if found is None:
            found = self.constants[key] = len(self.made)
            self.made.append(_Made("constant", 1, ()))
            self.values.append(float(value))
        return _At(found, 0, 0)


_MOVES: dict[str, Callable[[_Writer, Op], _At]] = {
    "constant": _Writer.constant,
    "reshape": _Writer.reshaped,
    "broadcast": _Writer.broadcast,
    "slice": _Writer.slice,
    "concatenate": _Writer.concatenated,
    "pad": _Writer.padded,
    "sum": _Writer.summed,
}


def _one_float(program: Program) -> str:
    """Return the only float type of the numbers of a program."""
    types = {v.dtype for v in program.inputs}
    types.update(v.dtype for op in program.ops for v in op.results)
    names = {dtype_name(t) for t in types} - {"bool"}
    if len(names) != 1 or any(v.dtype.kind == "b" for v in program.inputs):
        raise _Refused
    (name,) = names
    if name not in ("f32", "f64"):
        raise _Refused
    return name


# -- rows -------------------------------------------------------------------------------


def _finished(w: _Writer, results: list[_At]) -> LoopProgram:
    """Return the rows, with products fused and cells shared by values with separate lifetimes."""
    made = _fused(w.made, results) if has_fused() else w.made
    cells = _Cells(w, made, results)
    rows = np.array(cells.rows, np.int32)
    program = w.program
    inputs, outputs = (
        tuple([Buffer(f"{kind[:-3]}{i}", w.dtype, v.type.size, kind) for i, v in enumerate(values)])
        for kind, values in (("input", program.inputs), ("output", program.outputs))
    )
    definers = {v: op for op in program.ops for v in op.results}
    roots = [definers[v] for v in dict.fromkeys(program.outputs) if v in definers]
    sheet = Sheet(
        Buffer("cells", w.dtype, cells.end, "temp"), inputs, outputs,
        tuple([cells.at[at.maker] + at.offset for at in results]), tuple(w.values),
        tuple(cells.words), rows.tobytes(), (Origin(roots, definers, ()),),
    )  # fmt: skip
    return LoopProgram(program.name, list(inputs), list(outputs), [sheet])


def _fused(made: list[_Made], results: list[_At]) -> list[_Made]:
    """Fuse sums with products that nothing else reads into one row."""
    uses = [0] * len(made)
    for row in made:
        for at in row.operands:
            uses[at.maker] += 1
    for at in results:
        uses[at.maker] += 1
    done = list(made)
    for i, row in enumerate(made):
        if row.word not in ("add", "sub"):
            continue
        for k, at in enumerate(row.operands):
            product = made[at.maker]
            if product.word == "mul" and uses[at.maker] == 1 and product.extent == row.extent:
                word = "mul_add" if row.word == "add" else "sub_mul" if k else "mul_sub"
                done[i] = _Made(word, row.extent, (*product.operands, row.operands[1 - k]))
                done[at.maker] = _Made("nothing", 1, ())
                break
    return done


class _Cells:
    """The cells of all values, and the rows as numbers."""

    def __init__(self, w: _Writer, made: list[_Made], results: list[_At]) -> None:
        self.made = made
        #: The first cell of each value; free cells by their number; and the end.
        self.at: list[int] = [-1] * len(made)
        self.free: dict[int, list[int]] = {}
        self.end = 0
        self.words: dict[str, int] = {}
        self.rows: list[tuple[int, ...]] = []
        self.left = [0] * len(made)
        for row in made:
            for at in row.operands:
                self.left[at.maker] += 1
        for i in (*w.constants.values(), *w.inputs, *(at.maker for at in results)):
            self.left[i] = 4 * len(made)  # more than three reads per row, so they stay
        for i in (*w.constants.values(), *w.inputs):
            self.at[i] = self.end
            self.end += made[i].extent
        for i, row in enumerate(made):
            self._row(i, row)

    def _row(self, i: int, row: _Made) -> None:
        if row.word in ("constant", "input", "nothing"):
            return
        if row.word == "join":
            self.at[i] = self._taken(row.extent)
            return
        operands, extent = row.operands, row.extent
        if row.word == "copy":
            operands, part = operands[:1], operands[1]
            to = self.at[part.maker] + part.offset
        else:
            to = self.at[i] = self._taken(1 if row.word == "sum" else extent)
        word = self.words.setdefault(row.word, len(self.words))
        places = [self._place(at, extent) for at in operands]
        self.rows.append((word, extent, to, *places, *[0] * (3 - len(places))))
        for at in row.operands:
            self._read(at.maker)
        if not self.left[i] and row.word != "copy":
            self._release(i)

    def _place(self, at: _At, extent: int) -> int:
        cell = self.at[at.maker] + at.offset
        return cell if at.step or extent == 1 else ~cell

    def _taken(self, extent: int) -> int:
        free = self.free.get(extent)
        if free:
            return free.pop()
        self.end += extent
        return self.end - extent

    def _read(self, i: int) -> None:
        self.left[i] -= 1
        if not self.left[i]:
            self._release(i)

    def _release(self, i: int) -> None:
        extent = 1 if self.made[i].word == "sum" else self.made[i].extent
        self.free.setdefault(extent, []).append(self.at[i])
