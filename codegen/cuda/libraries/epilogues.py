"""cuBLASLt adds a bias to a product before it stores the result.

    t0 = in0 @ in1                       out0 = in0 @ in1 + in2, by one call
    for i in 0..300:               ->
      for j in 0..200:
        out0[200*i + j] = t0[200*i + j] + in2[j]

Its activations are not used: ``cublasLt.h`` does not say what they return for NaN, nor which
formula of GELU they use (record 0117).  If an activation follows, our loop for it also adds the
bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autojit.codegen.cuda.device_program.calls import LibraryCall, Part
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import Compute, Load, Loop, Store
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import memory
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine

from .gemm import Gemm

#: The dtypes with a bias by cuBLASLt; PyTorch uses it for them, too (``gemm_and_bias``).
_BIASED = ("f32", "f64")


def with_bias(
    call: LibraryCall, product: MatrixProduct, after: Any, loops: LoopProgram,
    uses: Mapping[Buffer, int],
) -> LibraryCall | None:  # fmt: skip
    """The call that includes the next step; None if that step does not just add a bias.

    ``uses`` has the number of steps that touch each buffer.  Temporaries must be placed again: the
    target may share memory with an operand, which other tiles still read.
    """
    routine, c = call.routine, product.c
    assert isinstance(routine, Gemm)
    if routine.batch != 1 or product.dtype not in _BIASED or not isinstance(after, Kernel):
        return None
    if c not in loops.temps or uses[c] != 2:
        return None
    found = _bias_and_target(after.body, product)
    if found is None:
        return None
    bias, target = found
    size, before = product.m * product.n, (product.a.buffer, product.b.buffer, bias.buffer)
    if memory(target.buffer) in map(memory, before):
        return None
    parts = [
        *call.parts[:2],
        Part(target.buffer, target.index.constant, size, "w"),
        Part(bias.buffer, bias.index.constant, product.n, "r"),
    ]
    doc = call.doc.replace("] by", "] and a bias by")
    origins = (*call.origins, *after.origins)
    return LibraryCall(call.name, doc, replace(routine, has_bias=True), parts, origins=origins)


def _bias_and_target(body: list[Any], product: MatrixProduct) -> tuple[Load, Store] | None:
    """The load of the bias and the store, if the loops only add a bias; else None."""
    if len(body) != 1 or not _is_map(body[0], product.m) or len(body[0].body) != 1:
        return None
    rows, inner = body[0], body[0].body[0]
    if not _is_map(inner, product.n) or len(inner.body) != 4:
        return None
    first, second, total, store = inner.body
    if not _is_sum(first, second, total, store):
        return None
    i, j = affine.of(rows.var), affine.of(inner.var)
    whole = i * product.n + j
    bias, c = (first, second) if second.buffer is product.c else (second, first)
    matches = (
        c.buffer is product.c
        and bias.buffer is not product.c
        and c.index == whole + product.c_offset
        and bias.index == j + bias.index.constant
        and store.index == whole + store.index.constant
    )
    return (bias, store) if matches else None


def _is_map(s: Any, extent: int) -> bool:
    if not isinstance(s, Loop) or s.role != "map" or s.share is not None:
        return False
    return (s.start, s.stop) == (0, extent) and s.only is s.lower is s.upper is None


def _is_sum(first: Any, second: Any, total: Any, store: Any) -> bool:
    if not isinstance(first, Load) or not isinstance(second, Load):
        return False
    if not isinstance(total, Compute) or type(store) is not Store:
        return False
    adds = total.name == "add" and {*total.args} == {first.result, second.result}
    one_type = first.buffer.dtype == second.buffer.dtype == store.buffer.dtype
    return adds and one_type and store.value is total.result and first.guard is second.guard is None
