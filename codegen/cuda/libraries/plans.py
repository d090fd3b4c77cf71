"""A step of linear algebra becomes a sequence of our loops and library calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from autojit.codegen.cuda.device_program.calls import LibraryCall, Part, Routine
from autojit.codegen.cuda.matrices.builder import Array, Code
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct, parts_of
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.values import Buffer, Operand
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.shapes import row_major_strides

from .layouts import whole


@dataclass(frozen=True)
class Temp:
    """Memory for each matrix of a batch, row-major."""

    buffer: Buffer
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of scalars of one matrix."""
        return prod(self.shape) * parts_of(self.dtype)

    def at(self, number: Affine) -> Array:
        """The array of one matrix."""
        strides = row_major_strides(self.shape)
        return Array(self.buffer, number * prod(self.shape), strides, parts_of(self.dtype))

    def part(self, access: str) -> Part:
        """All memory as a part of a call, matrix by matrix."""
        return Part(self.buffer, 0, self.size, access, self.size)


@dataclass(frozen=True)
class Loops:
    """Loops over the elements of all matrices, with a thread for each; or, if ``serial``, the work
    on each matrix, such as checks."""

    batch: list[Var]
    body: list[Any]
    serial: bool = False


@dataclass
class View:
    """One matrix, as loops see it: the code, inputs, outputs, and temporaries."""

    code: Code
    number: Affine
    inputs: list[Array]
    outputs: list[Array]

    def of(self, temp: Temp) -> Array:
        """The array of a temporary for this matrix."""
        return temp.at(self.number)


Work = Loops | LibraryCall | MatrixProduct


@dataclass
class Plan:
    """The loops and calls of a step, appended one after the other."""

    step: Factorization
    name: str
    work: list[Work] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of matrices."""
        return prod(self.step.batch)

    def temp(self, dtype: str, *shape: int) -> Temp:
        """New memory for each matrix."""
        scalar = {"c64": "f32", "c128": "f64"}.get(dtype, dtype)
        size = self.count * prod(shape) * parts_of(dtype)
        return Temp(Buffer("work", scalar, size, "temp"), dtype, shape)

    def loops(self, write: Callable[[View], None], *, serial: bool = False) -> None:
        """Add loops; ``write`` writes them for one matrix."""
        s = self.step
        batch = [Var(extent) for extent in s.batch]
        number, below = Affine(0), self.count
        for var in batch:
            below //= var.extent
            number = number + affine.of(var) * below
        here, elements = [affine.of(v) for v in batch], iter(s.elements)
        inputs = [Array.of(o, here, next(elements)) for o in s.inputs]
        outputs = [Array.of(o, here, next(elements)) for o in s.outputs]
        view = View(Code(self.count, number), number, inputs, outputs)
        write(view)
        if serial:
            self.work.append(Loops(batch, view.code.body, serial=True))
            return
        for statement in view.code.body:
            body = [statement]
            for var in reversed(batch):
                body = [Loop(var, 0, var.extent, body, "map")]
            self.work.append(Loops([], body))

    def call(self, routine: Routine, doc: str, *parts: Part, count: int | None = None) -> None:
        """Add a call, made for each matrix, or ``count`` times."""
        doc = f"{doc} by {TITLES[routine.library]}."
        times = self.count if count is None else count
        made = LibraryCall(self.name, doc, routine, list(parts), times, self.step.origins)
        self.work.append(made)

    def product(self, a: Temp, b: Temp, c: Temp | int, *, turned: bool = False) -> None:
        """Add ``c = a b``, or ``c = aᵀ b`` if ``turned``; an integer ``c`` is the number of a
        result."""
        s = self.step
        (m, k), (_, n) = a.shape[::-1] if turned else a.shape, b.shape
        strides = (1, a.shape[1]) if turned else (a.shape[1], 1)
        left = Operand(a.buffer, Affine(0), (m * k, *strides))
        right = Operand(b.buffer, Affine(0), (k * n, n, 1))
        target, offset = (
            (s.outputs[c].buffer, s.outputs[c].offset)
            if isinstance(c, int)
            else (c.buffer, Affine(0))
        )
        self.work.append(
            MatrixProduct(
                s.dtype, (self.count,), m, n, k, left, right, target, offset, origins=s.origins
            )
        )

    def result(self, number: int, shape: Sequence[int], access: str) -> Part:
        """A result, with elements of this shape for each matrix, as a part of a call."""
        s = self.step
        dtype = s.elements[len(s.inputs) + number]
        return whole(s.outputs[number], dtype, prod(shape), access)


#: The names of the libraries.
TITLES = {
    "cublasLt": "cuBLASLt", "cublas": "cuBLAS", "cusolver": "cuSOLVER",
    "cusolverEig": "cuSOLVER (of CUDA 12.8 or later)", "cufft": "cuFFT",
}  # fmt: skip
