"""The loops of a statement about whole matrices."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Loop
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
#: Those whose loops run over all elements at once: a thread an element, on the whole device.
OF_ELEMENTS = ("argsort", "sort", "fourier")


def batch_of(s: Factorization) -> tuple[list[Var], list[Any]]:
    """Variables of the batch, and what is done for one matrix."""
    writer = _WRITERS.get(s.name)
    if writer is None:
        ops = [op for origin in s.origins for op in origin.ops()]
        raise TargetError(
            f"{s.name} cannot be compiled for CUDA yet: use jit(f, device='cpu')",
            ops[0].source if ops else None,
        )
    if not s.is_some:
        return [], []
    batch = [Var(extent) for extent in s.batch]
    number, below = Affine(0), prod(s.batch)
    for var in batch:
        below //= var.extent
        number = number + affine.of(var) * below
    code, here = Code(prod(s.batch), number), [affine.of(v) for v in batch]
    elements = iter(s.elements)
    inputs = [Array.of(o, here, next(elements)) for o in s.inputs]
    outputs = [Array.of(o, here, next(elements)) for o in s.outputs]
    writer(code, s, inputs, outputs)
    return batch, code.body


def expanded(s: MatrixProduct | Factorization) -> list[Any]:
    """The loops over the batch, with the work on one matrix inside; no loop where there is none."""
    if isinstance(s, MatrixProduct):
        return as_loops(s)
    batch, body = batch_of(s)
    for var in reversed(batch):
        body = [Loop(var, 0, var.extent, body, "map")]
    return body


def steps_of_elements(s: Factorization) -> list[list[Any]]:
    """Each loop over all elements by itself, with the loops over the batch around it."""
    batch, body = batch_of(s)
    steps = []
    for each in body:
        step = [each]
        for var in reversed(batch):
            step = [Loop(var, 0, var.extent, step, "map")]
        steps.append(step)
    return steps
