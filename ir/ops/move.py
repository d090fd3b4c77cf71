"""The movement family: elements change place, not value.

All are linear; each states how cotangents move back. Backends turn them into index arithmetic of
the loop that reads them: ``sources`` gives the operand elements that an element of the result comes
from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core import shapes
from autojit.ir.core.batching import Batched, along, later
from autojit.ir.core.declaration import MaybeValue, Scalar, SingleResult, full, require
from autojit.ir.core.halves import number_of
from autojit.ir.core.program import Op, Value
from autojit.ir.core.registry import declared
from autojit.ir.core.types import Type, TypeMismatch

from .linear import Linear
from .sources import Condition, Source
from .windows import slice_windows, window_places


class Move(Linear):
    """Every element of the result is one of the operand."""

    moves = True

    def uniform(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        element: Scalar = scalars[0]
        return element


class Broadcast(Move):
    """``broadcast(x, shape=s, dims=d)``: axis k of x becomes axis d[k]; the other axes repeat x."""

    parameters = ("dims", "shape")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,), shape, dims = types, params["shape"], params["dims"]
        if not (
            list(dims) == sorted(set(dims))
            and all(0 <= d < len(shape) for d in dims)
            and x.shape == tuple([shape[d] for d in dims])
        ):
            raise TypeMismatch(
                f"broadcast of {x} to shape {shape} with dims {dims}: the dims must be increasing "
                f"and the extents equal"
            )
        return (Type(x.dtype, tuple(shape)),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        shape, dims = params["shape"], params["dims"]
        aligned = [shape[i] if i in dims else 1 for i in range(len(shape))]
        return np.broadcast_to(np.reshape(arrays[0], aligned), shape)

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        return [Source(0, tuple(index[d] for d in params["dims"]))]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        shape, dims = op.params["shape"], op.params["dims"]
        return self(operands[0].value, shape=(size, *shape), dims=(0, *later(dims)))

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        axes = tuple(i for i in range(len(params["shape"])) if i not in params["dims"])
        return declared.sum(cotangent, axes=axes) if axes else cotangent


class Reshape(Move):
    """``reshape(x, shape=s)``: the same elements in row-major order."""

    parameters = ("shape",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,) = types
        result = x.with_shape(params["shape"])
        if result.size != x.size:
            raise TypeMismatch(f"cannot reshape {x} into shape {params['shape']}")
        return (result,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return np.reshape(arrays[0], params["shape"])

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        return [Source(0, arithmetic.reshape(index, params["shape"], operands[0].shape))]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        return self(operands[0].value, shape=(size, *op.params["shape"]))

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        return reshape(cotangent, shape=operand.shape)


class Transpose(Move):
    """``transpose(x, axes=p)``: axis k of the result is axis p[k] of x."""

    parameters = ("axes",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,), axes = types, params["axes"]
        require(
            sorted(axes) == list(range(x.ndim)),
            f"transpose axes {axes} do not permute those of {x}",
        )
        return (x.with_shape(tuple(x.shape[a] for a in axes)),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return np.transpose(arrays[0], params["axes"])

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        axes = params["axes"]
        return [Source(0, tuple(index[axes.index(i)] for i in range(len(axes))))]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        return self(operands[0].value, axes=(0, *later(op.params["axes"])))

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        axes = params["axes"]
        return transpose(cotangent, axes=tuple(axes.index(i) for i in range(len(axes))))


class Slice(Move):
    """``slice(x, start=a, stop=b, stride=s)``: one range an axis; strides are positive."""

    parameters = ("start", "stop", "stride")
    sliding = ("start", "stop")

    def slide(self, params: Sequence[dict[str, Any]]) -> Any:
        start = shapes.even_steps([p["start"] for p in params])
        return start if start == shapes.even_steps([p["stop"] for p in params]) else None

    def at_step(self, operands: Sequence[Value], op: Op, slide: Any, step: Value) -> Value:
        (x,), shape = operands, op.result.shape
        start, stride = op.params["start"], op.params["stride"]
        places, axes, _ = window_places(shape, start, stride, slide, step)
        picked = declared.gather(x, *places, axes=axes)
        others = [a for a in range(x.type.ndim) if a not in axes]
        order = [*axes, *others]
        moved = transpose(picked, axes=tuple(order.index(a) for a in range(x.type.ndim)))
        return slice_(
            moved,
            start=tuple(0 if a in axes else start[a] for a in range(x.type.ndim)),
            stop=tuple(shape[a] if a in axes else op.params["stop"][a]
                       for a in range(x.type.ndim)),
            stride=tuple(1 if a in axes else stride[a] for a in range(x.type.ndim)),
        )  # fmt: skip

    def at_all_steps(
        self, operands: Sequence[Batched], op: Op, slide: Any, steps: int
    ) -> Value | None:
        (x,), start, stride = operands, op.params["start"], op.params["stride"]
        if x.batched:
            return None
        return slice_windows(x.value, op.result.shape, start, stride, slide, steps)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,) = types
        start, stop, stride = params["start"], params["stop"], params["stride"]
        if not (
            len(start) == len(stop) == len(stride) == x.ndim
            and all(
                0 <= a <= b <= n and s > 0
                for a, b, s, n in zip(start, stop, stride, x.shape, strict=True)
            )
        ):
            raise TypeMismatch(f"slice {start}:{stop}:{stride} does not fit {x}")
        return (Type(x.dtype, tuple(map(shapes.slice_extent, start, stop, stride))),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        ranges = zip(params["start"], params["stop"], params["stride"], strict=True)
        return np.asarray(arrays[0])[tuple(slice(*r) for r in ranges)]

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        ranges = zip(index, params["start"], params["stride"], strict=True)
        return [Source(0, tuple(i * step + start for i, start, step in ranges))]

    def leaves_out(self, op: Op, operand: int) -> bool:
        return op.result.type.size < op.operands[0].type.size

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        start, stop, stride = (op.params[k] for k in ("start", "stop", "stride"))
        return self(operands[0].value, start=(0, *start), stop=(size, *stop), stride=(1, *stride))

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        low, interior, high = params["start"], [s - 1 for s in params["stride"]], []
        for n, m, a, gap in zip(operand.shape, cotangent.shape, low, interior, strict=True):
            high.append(n - shapes.padded_extent(m, a, 0, gap))
        return pad(cotangent, low=low, high=tuple(high), interior=tuple(interior))


class Pad(Linear):
    """``pad(x, low=a, high=b, interior=i)``: zeros before, after and between, for each axis."""

    moves = True
    parameters = ("high", "interior", "low")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,) = types
        low, high, interior = params["low"], params["high"], params["interior"]
        require(
            len(low) == len(high) == len(interior) == x.ndim
            and min((*low, *high, *interior), default=0) >= 0,
            f"pad {low}, {high}, {interior} does not fit {x}",
        )
        return (x.with_shape(tuple(map(shapes.padded_extent, x.shape, low, high, interior))),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        x = np.asarray(arrays[0])
        low, high, interior = params["low"], params["high"], params["interior"]
        result = np.zeros(tuple(map(shapes.padded_extent, x.shape, low, high, interior)), x.dtype)
        result[self.window(x.shape, low, interior)] = x
        return result

    def uniform(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        zero = number_of(0, op.result.dtype)
        return zero if repr(scalars[0]) == repr(zero) else None  # -0.0 is not the padding

    @staticmethod
    def window(shape: shapes.Shape, low: Any, interior: Any) -> tuple[slice, ...]:
        """The window of the operand's elements in the result."""
        return tuple(
            slice(a, shapes.padded_extent(n, a, 0, gap), gap + 1)
            for n, a, gap in zip(shape, low, interior, strict=True)
        )

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        inner, conditions = [], []
        (x,), low, interior = operands, params["low"], params["interior"]
        for i, n, m, a, gap in zip(
            index, x.shape, self.padded(x, params), low, interior, strict=True
        ):
            inner.append(arithmetic.quotient(i - a, gap + 1))
            if n != m:
                conditions.append(Condition(i, a, shapes.padded_extent(n, a, 0, gap), gap + 1))
        return [Source(0, tuple(inner), tuple(conditions))]

    @staticmethod
    def padded(x: Type, params: dict[str, Any]) -> shapes.Shape:
        """The shape of the result."""
        widths = params["low"], params["high"], params["interior"]
        return tuple(map(shapes.padded_extent, x.shape, *widths))

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        widths = {k: (0, *op.params[k]) for k in ("low", "high", "interior")}
        return self(operands[0].value, **widths)

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        ranges = self.window(operand.shape, params["low"], params["interior"])
        return slice_(
            cotangent,
            start=tuple(r.start for r in ranges),
            stop=tuple(r.stop for r in ranges),
            stride=tuple(r.step for r in ranges),
        )


class Flip(Move):
    """``flip(x, axes=a)``: the order along some axes reversed."""

    parameters = ("axes",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,), axes = types, params["axes"]
        require(
            list(axes) == sorted(set(axes)) and all(0 <= a < x.ndim for a in axes),
            f"flip of {x} over axes {axes}",
        )
        return (x,)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return np.flip(arrays[0], params["axes"])

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        extents, axes = operands[0].shape, params["axes"]
        flipped = [
            i * -1 + (n - 1) if k in axes else i
            for k, (i, n) in enumerate(zip(index, extents, strict=True))
        ]
        return [Source(0, tuple(flipped))]

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        return self(operands[0].value, axes=later(op.params["axes"]))

    def pull_back(self, cotangent: Value, operand: Type, **params: Any) -> Value:
        return flip(cotangent, **params)


class Concatenate(SingleResult):
    """``concatenate(x, …, axis=k)``: operands one after the other along an axis."""

    moves = True
    parameters = ("axis",)

    def work(self, op: Op) -> float:
        return 0

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        require(len(types) > 0, "concatenate needs at least one operand")
        require(
            all(t.dtype == types[0].dtype for t in types),
            f"concatenate takes one dtype; got {', '.join(map(str, types))}",
        )
        require(0 <= params["axis"] < types[0].ndim, f"axis {params['axis']} of {types[0]}")
        shape = shapes.concatenated([t.shape for t in types], params["axis"])
        return (types[0].with_shape(shape),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return np.concatenate(arrays, axis=params["axis"])

    def uniform(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        element: Scalar = scalars[0]
        return element if all(repr(s) == repr(element) for s in scalars) else None

    def sources(
        self, index: tuple[Any, ...], operands: Sequence[Type], arithmetic: Any, **params: Any
    ) -> list[Source]:
        result, axis, position = [], params["axis"], 0
        for number, operand in enumerate(operands):
            extent = operand.shape[axis]
            place = index[axis]
            inner = (*index[:axis], place - position, *index[axis + 1 :])
            result.append(Source(number, inner, (Condition(place, position, position + extent),)))
            position += extent
        return result

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        return self(*[along(o, size) for o in operands], axis=op.params["axis"] + 1)

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        pairs = zip(tangents, op.operands, strict=True)
        return (self(*[full(0, x.type) if t is None else t for t, x in pairs], **op.params),)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        (cotangent,), axis = cotangents, op.params["axis"]
        if cotangent is None:
            return (None,) * len(op.operands)
        result: list[MaybeValue] = []
        position = 0
        for operand, is_linear in zip(op.operands, linear, strict=True):
            extent = operand.shape[axis]
            part = slice_axis(cotangent, axis, position, position + extent) if is_linear else None
            result.append(part)
            position += extent
        return result


broadcast = Broadcast("broadcast")
reshape = Reshape("reshape")
transpose = Transpose("transpose")
slice_ = Slice("slice")
pad = Pad("pad")
flip = Flip("flip")
concatenate = Concatenate("concatenate")


def slice_axis(x: Value, axis: int, start: int, stop: int, stride: int = 1) -> Value:
    """A range of one axis and all of the others."""
    ranges = [(0, n, 1) for n in x.shape]
    ranges[axis] = (start, stop, stride)
    starts, stops, strides = zip(*ranges, strict=True)
    return slice_(x, start=starts, stop=stops, stride=strides)


def broadcast_to(x: Value, shape: shapes.Shape) -> Value:
    """Broadcast by NumPy's rule, as a reshape (dropping 1s that stretch) and a broadcast."""
    if x.shape == shape:
        return x
    if not x.shape:
        return broadcast(x, shape=shape, dims=())
    common = shapes.broadcast_shapes(x.shape, shape)
    require(common == shape, f"an array of shape {x.shape} does not broadcast to {shape}")
    offset = len(shape) - x.type.ndim
    kept = [i for i, n in enumerate(x.shape) if n == shape[i + offset]]
    if len(kept) < x.type.ndim:
        x = reshape(x, shape=tuple(x.shape[i] for i in kept))
    return broadcast(x, shape=shape, dims=tuple(i + offset for i in kept))
