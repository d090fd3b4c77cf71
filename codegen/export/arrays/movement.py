"""Writes ops that move elements, constants and reductions in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autojit.codegen.export.text.expressions import ATOM, Expression, call
from autojit.ir.core.program import Op
from autojit.ir.ops.move import Pad, Reshape
from autojit.ir.ops.reduce import Extremum

from .writer import Writer, dtype_text, filled, number


def constant(w: Writer, op: Op) -> Expression:
    return number(op.params["value"], op.params["dtype"])


def iota(w: Writer, op: Op) -> Expression:
    shape, axis, dtype = op.params["shape"], op.params["axis"], op.params["dtype"]
    given = "" if dtype == np.int64 else f", dtype={dtype_text(dtype)}"
    made = f"np.arange({shape[axis]}{given})"
    return _with_axes(made, (shape[axis],), len(shape), (axis,))


def _with_axes(text: str, extents: Sequence[int], ndim: int, dims: Sequence[int]) -> Expression:
    """Return an array whose axes become axes ``dims`` of another one, in order; new leading axes
    are left to broadcasting."""
    if not dims:
        return Expression(text, shape=())
    axes = range(dims[0], ndim)
    shape = [1] * len(axes)
    for extent, dim in zip(extents, dims, strict=True):
        shape[dim - dims[0]] = extent
    if len(shape) > len(dims):
        marks = [":" if axis in dims else "None" for axis in axes]
        text += f"[{', '.join(marks)}]"
    return Expression(text, shape=tuple(shape))


def broadcast(w: Writer, op: Op) -> Expression:
    (x,), shape, dims = op.operands, op.params["shape"], op.params["dims"]
    found = w.expression(x)
    if found.literal:
        return found
    if not dims and found.text.isidentifier() is False:
        return Expression(found.text, found.level, shape=())
    if found.shape is not None:
        found = w.array(x)
    made = _with_axes(found.at(ATOM), x.shape, len(shape), dims)
    column = w.maker(x)
    if column is not None and isinstance(column.kind, Reshape):
        (whole,) = column.operands
        if whole.shape == made.shape and not w.array(x).is_name:  # x[:, 0][:, None]
            return replace(w.array(whole), shape=made.shape)
    if made.text == found.at(ATOM):
        return Expression(found.text, found.level, shape=made.shape)
    return made


def reshape(w: Writer, op: Op) -> Expression:
    (x,), shape = op.operands, op.params["shape"]
    found = w.array(x)
    indexed = _without_axes(found, x.shape, shape) or _with_new_axes(found, x.shape, shape)
    if indexed is not None:
        return indexed
    extents = ", ".join(map(str, shape)) or "()"
    return Expression(f"{found.at(ATOM)}.reshape({extents})")


def _without_axes(x: Expression, old: Sequence[int], new: Sequence[int]) -> Expression | None:
    """Return ``x[2]`` for ``x[2:3]`` without its axis, and ``x[0]`` for an x of one element."""
    dropped = _dropped(old, new)
    if dropped is None:
        return None
    text = x.at(ATOM)
    head, parts = _taken_apart(text, len(old))
    for axis in dropped:
        start = parts[axis].partition(":")[0] or "0"
        parts[axis] = start
    while parts and parts[-1] == ":":
        parts.pop()
    return Expression(f"{head}[{', '.join(parts)}]")


def _taken_apart(text: str, ndim: int) -> tuple[str, list[str]]:
    """Split ``x[1:2, :3]`` into ``x`` and its ranges; other expressions are one unit."""
    head, bracket, rest = text.partition("[")
    if bracket and head.isidentifier() and rest.count("]") == 1 and rest.endswith("]"):
        parts = rest[:-1].split(", ")
        if all(":" in part and part.count(":") == 1 for part in parts):
            return head, [*parts, *[":"] * (ndim - len(parts))]
    return text, [":"] * ndim


def _dropped(old: Sequence[int], new: Sequence[int]) -> list[int] | None:
    """Return the axes of extent 1 to remove from ``old`` to get ``new``; None if impossible."""
    found, rest = [], list(new)
    for axis, extent in enumerate(old):
        if rest and rest[0] == extent and (extent != 1 or len(old) - axis == len(rest)):
            rest.pop(0)
        elif extent == 1:
            found.append(axis)
        else:
            return None
    return found if found and not rest else None


def _with_new_axes(x: Expression, old: Sequence[int], new: Sequence[int]) -> Expression | None:
    """Return ``x[:, None]``; a leading axis of a vector is ``x[None]``."""
    added = _dropped(new, old)
    if added is None or not old:
        return None
    parts = ["None" if axis in added else ":" for axis in range(len(new))]
    while parts[-1] == ":":
        parts.pop()
    return Expression(f"{x.at(ATOM)}[{', '.join(parts)}]")


def transpose(w: Writer, op: Op) -> Expression:
    text, axes = w.text(op.operands[0], ATOM), op.params["axes"]
    if list(axes) == list(range(len(axes)))[::-1]:
        return turned(text)
    return Expression(f"{text}.transpose({', '.join(map(str, axes))})")


def turned(text: str) -> Expression:
    """Return ``x.T`` for x, and x for ``x.T``."""
    return Expression(text.removesuffix(".T") if text.endswith(".T") else f"{text}.T")


def slice_(w: Writer, op: Op) -> Expression:
    (x,) = op.operands
    ranges = zip(op.params["start"], op.params["stop"], op.params["stride"], x.shape, strict=True)
    parts = [range_text(*r) for r in ranges]
    while parts and parts[-1] == ":":
        parts.pop()
    text = w.text(x, ATOM)
    return Expression(f"{text}[{', '.join(parts)}]" if parts else text)


def range_text(start: int, stop: int, stride: int, extent: int) -> str:
    """Return a range of an axis such as ``1:-1``; ends near the axis's end are negative.

    >>> range_text(0, 9, 1, 9), range_text(1, 8, 1, 9), range_text(3, 9, 2, 9)
    (':', '1:-1', '3::2')
    """
    if start >= stop:
        return "0:0"
    last = start + (stop - start - 1) // stride * stride + 1
    first = str(start) if start else ""
    rest = extent - stop
    if stop == extent or last + stride > extent:
        end = ""
    elif 0 < rest <= 3 and stop - start > 3:
        end = f"-{rest}"
    else:
        end = str(stop)
    return f"{first}:{end}" + (f":{stride}" if stride > 1 else "")


def pad(w: Writer, op: Op) -> Expression | None:
    low, high, interior = op.params["low"], op.params["high"], op.params["interior"]
    (x,) = op.operands
    if any(interior):
        name = w.result(op)
        w.line(f"{name} = {filled(number(_zero(x.dtype), x.dtype).text, op.result.type).text}")
        ranges = zip(Pad.window(x.shape, low, interior), op.result.shape, strict=True)
        places = ", ".join(range_text(r.start, max(r.start, r.stop), r.step, n) for r, n in ranges)
        w.line(f"{name}[{places}] = {w.text(x, 0)}")
        return None
    widths = [f"({a}, {b})" for a, b in zip(low, high, strict=True)]
    text = widths[0] if len(set(widths)) == 1 else f"({', '.join(widths)})"
    return call("np.pad", w.text(x, 0), text)


def _zero(dtype: np.dtype) -> bool | int | float | complex:
    zero: bool | int | float | complex = dtype.type(0).item()
    return zero


def flip(w: Writer, op: Op) -> Expression:
    (x,), axes = op.operands, op.params["axes"]
    text = w.text(x, ATOM)
    if not axes:
        return Expression(text)
    parts = ["::-1" if axis in axes else ":" for axis in range(max(axes) + 1)]
    return Expression(f"{text}[{', '.join(parts)}]")


def concatenate(w: Writer, op: Op) -> Expression:
    axis = op.params["axis"]
    parts = [w.text(v, 0) for v in op.operands]
    mark = "[" + ":, " * axis + "None]"
    if all(p.endswith(mark) for p in parts):
        inner = ", ".join(p.removesuffix(mark) for p in parts)
        return call("np.stack", f"[{inner}]", *([f"axis={axis}"] if axis else []))
    makers = [w.maker(v) for v in op.operands]
    scalars = [m.operands[0] for m in makers if m is not None and _of_scalar(m)]
    if len(scalars) == len(parts) and not any(w.array(v).is_name for v in op.operands):
        inner = ", ".join(w.text(v, 0) for v in scalars)
        return call("np.array", f"[{inner}]", *_dtype_of(op))
    return call("np.concatenate", f"[{', '.join(parts)}]", *([f"axis={axis}"] if axis else []))


def _of_scalar(op: Op) -> bool:
    return isinstance(op.kind, Reshape) and not op.operands[0].shape and op.result.type.ndim == 1


def _dtype_of(op: Op) -> list[str]:
    dtype = op.result.dtype
    return [] if dtype.name in ("float64", "int64") else [f"dtype={dtype_text(dtype)}"]


# -- reductions ------------------------------------------------------------------------


def reduce(w: Writer, op: Op) -> Expression:
    (x,), axes = op.operands, op.params["axes"]
    if not axes:
        return w.array(x)
    given = [w.text(x, 0)]
    if len(axes) < x.type.ndim:
        given.append(f"axis={axes[0] if len(axes) == 1 else axes}")
    if op.kind.name in ("sum", "prod") and x.dtype.kind in "iu" and x.dtype.itemsize < 8:
        given.append(f"dtype={dtype_text(x.dtype)}")
    if isinstance(op.kind, Extremum) and not x.type.size:
        given.append(f"initial={number(op.kind.identity(x.dtype), x.dtype).text}")
    return call(f"np.{op.kind.name}", *given)


def windows(w: Writer, op: Op) -> Expression:
    return call(
        "np.lib.stride_tricks.sliding_window_view",
        w.text(op.operands[0], 0), str(op.params["size"]), str(op.params["axis"]),
    )  # fmt: skip


def shear(w: Writer, op: Op) -> Expression:
    given = [f"{name}={op.params[name]}" for name in ("axis", "along", "by", "start", "extent")]
    return call(w.need("_shear"), w.text(op.operands[0], 0), *given)
