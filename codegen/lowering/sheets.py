"""Very long programs of small elementwise operations become a sheet (see ``loop_ir/sheets.py``).

    %7 = mul %3, %5            # f64[]           [7] = mul_add [3], [5], [4]
    %8 = add %7, %4                              [5:+10] = tanh [12:]
    %9 = tanh %6               # f64[10]

As code, each operation would take 0.1 to 1.5 ms to lower and to compile.

Legal where each op computes elements separately, from numbers of one float type and bools, and
cannot fail; or moves elements to places that do not depend on values. An array that is written in
place keeps its cells if nothing else reads the old one. A product is fused with the sum that is
its only reader, as in LLVM (which may choose the other one of two products). Sums of arrays run
from the first element to the last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

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
from autojit.ir.ops.linear import Constant
from autojit.ir.ops.move import Pad, Reshape
from autojit.ir.ops.reduce import Sum
from autojit.ir.ops.update import Update

from .sheet_cells import At, Cells, Made, fused

#: The least work of making code for which a program becomes a sheet, 3 s, in operations on numbers.
#: A row takes 2 to 8 times as long as its code, 5 to 10 ns.
LEAST = 20_000
#: The work of an operation on several elements, which is a loop.
LOOP = 3
#: That of a window of an array, which every reader of the array repeats. Its code takes as long to
#: make as 60 operations on numbers; it counts as more, since rows are no slower here.
WINDOW = 150
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


def sheet_of(program: Program) -> LoopProgram | None:
    """Return a loop program whose only step is a sheet; None if code is better, or needed."""
    if sum(map(_work, program.ops)) < LEAST:
        return None
    if sum(v.type.size for op in program.ops for v in op.results) > MEAN * len(program.ops):
        return None
    try:
        with seldom_collected():
            return _Writer(program).loops()
    except _Refused:
        return None


def _work(op: Op) -> int:
    """Return the work of making code for an op."""
    if all(v.type.size == 1 for v in op.results):
        return 1
    return WINDOW if isinstance(op.kind, (Pad, Update)) else LOOP


class _Writer:
    """Writes the rows of a program; a call writes an operation of the vocabulary, as in kernels."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.dtype = _one_float(program)
        self.of: dict[Value, Scalar] = {}
        #: Constants and inputs, which no row computes, then rows.
        self.made: list[Made] = []
        self.constants: dict[Any, int] = {}
        self.values: list[float] = []
        self.inputs: list[int] = []
        self.places: list[At] = []  # of scalars, by their numbers
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

    def _at(self, v: Value) -> At:
        return self.places[self.of[v].number]

    # -- ops ----------------------------------------------------------------

    def _op(self, op: Op) -> Scalar:
        kind = op.kind
        if isinstance(kind, Elementwise):
            return self._elementwise(op, kind)
        if len(op.results) > 1:
            raise _Refused
        if isinstance(kind, Constant):
            made = self._constant(op.params["value"], dtype_name(op.result.dtype))
        elif 0 in op.result.shape:
            raise _Refused
        elif isinstance(kind, Sum):
            made = self.summed(op)
        elif kind.moves and hasattr(kind, "sources"):
            made = self.moved(op)
        else:
            raise _Refused
        return self._scalar(made, dtype_name(op.result.dtype))

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

    def moved(self, op: Op) -> At:
        """Return the elements of a move: a place if they lie side by side, or copies of runs."""
        size = op.result.type.size
        if isinstance(op.kind, Reshape):
            return self._at(op.operands[0])
        ats, first, numbered = [self._at(v) for v in op.operands], [], list[np.ndarray]()
        end = 2  # 0 is a zero of the margin, and no number is next to one of another operand
        for at, v in zip(ats, op.operands, strict=True):
            first.append(end)
            places = np.arange(v.type.size) if at.step else np.zeros(v.type.size, np.int64)
            numbered.append((places + end).reshape(v.shape))
            end += v.type.size + 1
        found = np.asarray(op.kind.evaluate(*numbered, **op.params)).ravel()
        pieces: list[tuple[At, int]] = []
        for number, n, step in runs(found.tolist()):
            if number:
                k = bisect_right(first, number) - 1
                at = At(ats[k].maker, ats[k].offset + number - first[k], step)
            else:
                at = self._constant(0.0, self.dtype)
            pieces.append((at, n))
        return pieces[0][0] if len(pieces) == 1 else self._joined(pieces, ats[0], size)

    def summed(self, op: Op) -> At:
        """Sum all elements."""
        (x,) = op.operands
        at = self._at(x)
        if op.result.type.size != 1 or x.type.size == 0 or x.dtype.kind != "f":
            raise _Refused
        return self._new("sum", 1, (at,), x.type.size)

    def _joined(self, pieces: list[tuple[At, int]], old: At, size: int) -> At:
        """Join elements: rows write parts of one result.

        Elements of ``old`` that stay where they are need no copy if nothing else reads ``old``.
        """
        whole = len(self.made)
        replaced = old.offset == 0 and old.step and self.made[old.maker].extent == size
        stays, at = [], 0
        for piece, n in pieces:
            stays.append(bool(replaced) and piece.maker == old.maker and piece.offset == at)
            at += n
        self.made.append(Made("join", size, (old,) * sum(stays)))
        at = 0
        for (piece, n), stay in zip(pieces, stays, strict=True):
            word = "stay" if stay else "copy"
            self.made.append(Made(word, n, (piece, At(whole, at, 1))))
            at += n
        return At(whole, 0, 1)

    def _whole(self, at: At, v: Value) -> At:
        """Return an output with all of its elements."""
        size = v.type.size
        if v.dtype.kind != "f":
            raise _Refused
        if at.step or size == 1:
            return at
        return self._joined([(at, size)], at, size)

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

    def _scalar(self, at: At, dtype: str) -> Scalar:
        self.places.append(at)
        return Scalar(len(self.places) - 1, dtype, 0, self)

    def _new(self, word: str, extent: int, operands: tuple[At, ...], read: int = 0) -> At:
        self.made.append(Made(word, read or extent, operands))
        return At(len(self.made) - 1, 0, int(extent > 1))

    def _constant(self, value: Any, dtype: str) -> At:
        if dtype not in (self.dtype, "bool"):
            raise _Refused
        key = param_key(float(value))
        found = self.constants.get(key)
        if found is None:
            found = self.constants[key] = len(self.made)
            self.made.append(Made("constant", 1, ()))
            self.values.append(float(value))
        return At(found, 0, 0)


def runs(numbers: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the runs of equal or consecutive numbers: the first, how many, and the step.

    >>> runs([7, 8, 9, 0, 0, 5])
    [(7, 3, 1), (0, 2, 0), (5, 1, 0)]
    """
    found: list[tuple[int, int, int]] = []
    for number in numbers:
        if found:
            first, n, step = found[-1]
            if n == 1 and number - first in (0, 1):
                step = number - first
            if number == first + n * step and (step or number == first):
                found[-1] = first, n + 1, step
                continue
        found.append((number, 1, 0))
    return found


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


def _finished(w: _Writer, results: list[At]) -> LoopProgram:
    """Return the rows, with products fused and cells shared by values with separate lifetimes."""
    made = fused(w.made, results) if has_fused() else w.made
    cells = Cells(made, [*w.constants.values(), *w.inputs], results)
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
