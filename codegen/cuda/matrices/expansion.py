"""Statements about whole matrices are expanded to loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from . import cholesky, fourier, ordering, orthogonal, spectral, triangular
from .builder import Array, Code
from .products import as_loops

Writer = Callable[[Code, Factorization, list[Array], list[Array]], None]
_WRITERS: dict[str, Writer] = {
    "lu": triangular.lu,
    "permutation": triangular.permutation,
    "solve": triangular.solve,
    "triangular_solve": triangular.triangular_solve,
    "cholesky": triangular.cholesky,
    "cholesky_tangent": cholesky.cholesky_tangent,
    "cholesky_cotangent": cholesky.cholesky_cotangent,
    "qr": orthogonal.qr,
    "eigh": spectral.eigh,
    "svd": spectral.svd,
    "pinv": spectral.pseudo_inverse,
    "argsort": ordering.argsort,
    "sort": ordering.sort,
    "fourier": fourier.fourier,
}
#: The factorizations that work on their first result in place, by rows or columns.
_IN_PLACE = ("lu", "solve", "triangular_solve", "cholesky", "qr")
#: The operations whose loops run over all elements: one thread per element, on the whole device.
OF_ELEMENTS = ("argsort", "sort", "fourier")


class Written(NamedTuple):
    """The loops of a statement.

    ``once`` runs once for all matrices, and ``body`` for each matrix; ``batch`` has the variables
    of the batch, ``in_block`` the buffers of ``body`` in a block's shared memory.
    """

    once: list[Any]
    batch: list[Var]
    body: list[Any]
    in_block: Sequence[Buffer] = ()

    def around(self, body: list[Any]) -> list[Any]:
        """Put a part of the work on one matrix into the loops over the batch."""
        for var in reversed(self.batch):
            body = [Loop(var, 0, var.extent, body, "map")]
        return body


def written(s: Factorization, shared: int = 0, near: int = 0) -> Written:
    """The work on a batch of matrices.

    Args:
        shared: the bytes of shared memory that the rows of an iteration may take.
        near: the bytes of shared memory for a block that works on a matrix.
    """
    writer = _WRITERS.get(s.name)
    if writer is None:
        ops = [op for origin in s.origins for op in origin.ops()]
        raise TargetError(
            f"{s.name} cannot be compiled for CUDA",
            ops[0].source if ops else None,
        )
    if not s.is_some:
        return Written([], [], [])
    if s.name == "fourier":
        s = fourier.with_near_lines(s)
    batch = [Var(extent) for extent in s.batch]
    number, below = Affine(0), prod(s.batch)
    for var in batch:
        below //= var.extent
        number = number + affine.of(var) * below
    code, here = Code(prod(s.batch), number), [affine.of(v) for v in batch]
    code.shared, code.near = shared, near
    elements = iter(s.elements)
    inputs = [Array.of(o, here, next(elements)) for o in s.inputs]
    outputs = [Array.of(o, here, next(elements)) for o in s.outputs]
    _write(writer, code, s, inputs, outputs)
    return Written(code.before, batch, code.body, code.in_block)


def _write(
    writer: Writer, code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]
) -> None:
    """Write the work on one matrix; a result changed in place lies in shared memory meanwhile, if
    there is room."""
    columns = {"qr": s.m if "complete" in s.params else s.n, "cholesky": s.n, "lu": s.n}
    shape = s.m if s.name == "qr" else s.n, columns.get(s.name, s.k)
    given = outputs[0].buffer.dtype, outputs[0].parts
    room = code.room(*given, *shape) if s.name in _IN_PLACE else None
    if room is None:
        writer(code, s, inputs, outputs)
        return
    writer(code, s, inputs, [room, *outputs[1:]])
    code.copy(room, outputs[0], *shape)


def expanded(s: MatrixProduct | Factorization) -> list[Any]:
    """The loops over the batch, with the work on one matrix inside; no loops for an empty batch."""
    if isinstance(s, MatrixProduct):
        return as_loops(s)
    made = written(s)
    return [*made.once, *made.around(made.body)]


def steps_of_elements(s: Factorization, shared: int) -> list[list[Any]]:
    """Each loop over all elements separately, inside the loops over the batch."""
    made = written(s, shared)
    return [*([each] for each in made.once), *(made.around([each]) for each in made.body)]
