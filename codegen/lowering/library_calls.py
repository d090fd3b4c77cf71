"""Library calls of a schedule, with the locations of their operands."""

from __future__ import annotations

from math import prod

from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.values import Operand
from autojit.codegen.loop_passes.products import chosen
from autojit.codegen.scheduling.bufferization import Placement, parts_of
from autojit.codegen.scheduling.materialization import LibraryCall
from autojit.codegen.scheduling.traits import Traits
from autojit.codegen.scheduling.views import Strided
from autojit.ir.core.affine import Affine
from autojit.ir.core.program import Op, Value
from autojit.ir.core.shapes import row_major_strides
from autojit.ir.core.types import dtype_name
from autojit.ir.linalg.factorizations import Matrices
from autojit.ir.linalg.fourier import Fourier
from autojit.ir.ops.callback import Callback as CallbackOp
from autojit.ir.ops.callback import call_of
from autojit.ir.ops.contract import Dot


def library_call(
    call: LibraryCall, placement: Placement, traits: Traits, *, in_steps: bool
) -> MatrixProduct | Factorization | Callback:
    """Return the step of a call; ``in_steps`` if it is in the body of a loop or a branch."""
    if isinstance(call.op.kind, Dot):
        product = _product(call, placement)
        return chosen(product, in_steps=in_steps) if traits.tiles else product
    if isinstance(call.op.kind, CallbackOp) and traits.callbacks:
        return _callback(call, placement)
    if not traits.factorizations or isinstance(call.op.kind, CallbackOp):
        words = f"{call.op.kind.name} can be compiled for the CPU only"
        raise TargetError(words, call.op.source)
    if isinstance(call.op.kind, Fourier):
        return _transform(call, placement)
    return _factorization(call, placement)


def _product(call: LibraryCall, placement: Placement) -> MatrixProduct:
    op = call.op
    a, b = op.operands
    ca, ba = op.params["contract"][0], op.params["batch"][0]
    batch = tuple(a.shape[i] for i in ba)
    k = prod(a.shape[i] for i in ca)
    m = a.type.size // max(1, k * prod(batch))
    n = b.type.size // max(1, k * prod(batch))
    left, right = (_operand(v, placement) for v in call.views)
    name, result = dtype_name(op.result.dtype), op.result
    place = placement.base.get(result, Affine(0))
    return MatrixProduct(name, batch, m, n, k, left, right, placement.of[result], place)


def _factorization(call: LibraryCall, placement: Placement) -> Factorization:
    op = call.op
    first, last = op.operands[0], op.operands[-1]
    assert isinstance(op.kind, Matrices)
    outer = first.type.ndim - op.kind.core
    made = Factorization(
        op.kind.name,
        dtype_name(first.dtype),
        first.shape[:outer],
        first.shape[outer],
        first.shape[-1],
        last.shape[-1] if len(op.operands) > 1 else 0,
        op.params,
        tuple(_operand(v, placement) for v in call.views),
        tuple(_whole(v, placement) for v in op.results),
    )
    return _with_dtypes(made, op)


def _with_dtypes(made: Factorization, op: Op) -> Factorization:
    """Set the dtypes of the results if they are not those that the step assumes."""
    dtypes = tuple(dtype_name(v.dtype) for v in op.results)
    if made.elements[len(made.inputs) :] != dtypes:
        made.gives = dtypes
    return made


def _transform(call: LibraryCall, placement: Placement) -> Factorization:
    """Return a Fourier transform of the rows of matrices, wherever the axis is: n is the number of
    given points, m the number of rows, which run along the longest of the other axes."""
    op, (view,) = call.op, call.views
    (x,), result, axis = op.operands, op.result, op.params["axis"]
    source, target = _operand(view, placement), _whole(result, placement)
    others = _collapsed(x.shape, source.strides, target.strides, axis)
    rows = max(others, default=(1, 0, 0))
    if others:
        others.remove(rows)
    batch = tuple(extent for extent, _, _ in others)
    for operand, k in ((source, 1), (target, 2)):
        operand.strides = (*(o[k] for o in others), rows[k], operand.strides[axis])
    params = {**op.params, "axis": len(batch) + 1}
    made = Factorization(
        op.kind.name, dtype_name(x.dtype), batch, rows[0], x.shape[axis], 0, params, (source,),
        (target,),
    )  # fmt: skip
    return _with_dtypes(made, op)


def _collapsed(
    shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...], axis: int
) -> list[tuple[int, int, int]]:
    """Return the extent and both strides of all axes but one. Neighbouring axes are merged if both
    arrays are contiguous across them."""
    found: list[tuple[int, int, int]] = []
    for k, each in enumerate(zip(shape, source, target, strict=True)):
        if k == axis or each[0] == 1:
            continue
        extent, *strides = each
        if found and all(a == extent * b for a, b in zip(found[-1][1:], strides, strict=True)):
            found[-1] = (found[-1][0] * extent, *each[1:])
        else:
            found.append(each)
    return found


def _callback(call: LibraryCall, placement: Placement) -> Callback:
    op = call.op
    inputs = zip((_operand(view, placement) for view in call.views), op.operands, strict=True)
    outputs = zip((_whole(v, placement) for v in op.results), op.results, strict=True)
    return Callback(
        call_of(op),
        tuple(_scalars(o, v) for o, v in inputs),
        tuple(_scalars(o, v) for o, v in outputs),
        tuple(v.type.size * parts_of(v.dtype) for v in op.operands),
        tuple(v.type.size * parts_of(v.dtype) for v in op.results),
    )


def _scalars(o: Operand, value: Value) -> Operand:
    """Return a contiguous operand in units of scalars; a complex number has two."""
    return Operand(o.buffer, o.offset * parts_of(value.dtype), (1,))


def _operand(view: Strided, placement: Placement) -> Operand:
    base = placement.base.get(view.base, Affine(0))
    return Operand(placement.of[view.base], base + view.offset, view.strides)


def _whole(value: Value, placement: Placement) -> Operand:
    base = placement.base.get(value, Affine(0))
    return Operand(placement.of[value], base, row_major_strides(value.shape))
