"""Random programs, generated from the declarations: a hypothesis strategy.

`programs()` draws an op, finds or makes operands for it, draws its parameters, and repeats this.
The sampler of parameters is given once per family (`SAMPLERS`). So an op of a known family takes
part without being named here, and `test_every_op_is_sampled` finds missing families.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from autojit.ir.core.declaration import Declaration, full
from autojit.ir.core.program import Program, Value, building
from autojit.ir.core.registry import REGISTRY
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic
from autojit.ir.ops.checks import Ensure, Reported, whole_number
from autojit.ir.ops.contract import Dot, free_axes
from autojit.ir.ops.elementwise import Convert, Elementwise, IntegerPower, Select
from autojit.ir.ops.index import Gather, ScatterAdd
from autojit.ir.ops.linear import Constant, Iota
from autojit.ir.ops.linear import iota as iota_op
from autojit.ir.ops.move import Broadcast, Concatenate, Flip, Pad, Reshape, Slice, Transpose
from autojit.ir.ops.reduce import Reduce
from autojit.ir.ops.shear import Shear, Windows
from autojit.ir.ops.update import AddAt, Scatter, Update
from autojit.ir.special.external import External
from autojit.ir.tools.interpreter import interpret
from tests.ir.grower import DTYPES, MAX_NDIM, SPECIAL, Draw, Grower
from tests.ir.random_bodies import bodies, loop_index
from tests.ir.random_calls import calls
from tests.ir.random_linalg import LINALG
from tests.sampling import share

__all__ = ["DTYPES", "Grower", "arguments_for", "assert_same_results", "programs", "sampler"]

#: Ops that can turn a rounding difference into a different value: at a step, in the derivative at a
#: kink, and by the sign of a zero on a branch cut (of complex numbers, except for arctan2).
STEPS = {"floor", "ceil", "trunc", "rint", "sign", "floor_divide", "remainder", "fmod", "copysign"}
KINKS = {"abs", "maximum", "minimum", "fmax", "fmin", "max", "min"}
CUTS = {"arctan2", "sqrt", "log", "power"}

Sampler = Callable[[Grower, Any], Value | None]

#: The number of random programs per test, which are always the same, and other random choices.
EXAMPLES = settings(
    max_examples=share(150),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SEEDS = st.integers(0, 2**32 - 1)


def elementwise(grow: Grower, kind: Elementwise) -> Value | None:
    # Negative integer powers raise, and shifts by more than the width are undefined.
    kinds = kind.kinds if kind is not arithmetic.power else "fc"
    first = grow.value(kinds)
    if first is None:
        return None
    if kind in (arithmetic.shift_left, arithmetic.shift_right):
        return kind(first, full(grow.integer(0, 7), first.type))
    return kind(first, *[grow.like(first.type) for _ in kind.rules[1:]])


def select(grow: Grower, kind: Select) -> Value | None:
    x = grow.value()
    assert x is not None
    return kind(grow.like(x.type.with_dtype(bool)), x, grow.like(x.type))


def convert(grow: Grower, kind: Convert) -> Value | None:
    x = grow.value()
    assert x is not None
    # The conversion of a float outside of an integer's range depends on the machine.
    dtypes = [d for d in grow.dtypes if not x.type.is_inexact or d.kind not in "iu"]
    return kind(x, dtype=grow.pick(dtypes)) if dtypes else None


def integer_power(grow: Grower, kind: IntegerPower) -> Value | None:
    x = grow.value(kind.kinds)
    if x is None:
        return None
    return kind(x, exponent=grow.integer(-3 if x.type.is_inexact else 0, 6))


def ensure(grow: Grower, kind: Ensure) -> Value | None:
    x = grow.value(kind.kinds)
    if x is None:
        return None
    holds = arithmetic.bitwise_or(arithmetic.eq(x, x), arithmetic.ne(x, x))  # also for NaN
    return kind(x, holds, failure="overflow")


def reported(grow: Grower, kind: Reported) -> Value | None:
    x = grow.value()
    assert x is not None
    number = np.dtype(np.int64)
    axis = iota_op(axis=0, dtype=number, shape=x.shape) if x.shape else full(0, Type(number, ()))
    holds = arithmetic.ge(axis, 1)
    form = (("text", "x is ", (0, "scalar", ":")),)
    return kind(holds, x, failure=("ValueError", "x is Tracer"), form=form)


def constant(grow: Grower, kind: Constant) -> Value | None:
    dtype = grow.pick(grow.dtypes)
    return full(grow.element(dtype), Type(dtype, grow.shape()))


def iota(grow: Grower, kind: Iota) -> Value | None:
    dtypes, shape = [d for d in grow.dtypes if d.kind != "b"], (grow.integer(1, 3), *grow.shape())
    return kind(axis=grow.integer(0, len(shape) - 1), dtype=grow.pick(dtypes), shape=shape)


def broadcast(grow: Grower, kind: Broadcast) -> Value | None:
    x = grow.value()
    assert x is not None
    ndim = grow.integer(x.type.ndim, max(x.type.ndim, MAX_NDIM))
    dims = tuple(sorted(grow.permutation(range(ndim))[: x.type.ndim]))
    extents = iter(x.shape)
    shape = tuple(next(extents) if i in dims else grow.draw(grow.extents) for i in range(ndim))
    return kind(x, dims=dims, shape=shape)


def reshape(grow: Grower, kind: Reshape) -> Value | None:
    x = grow.value()
    assert x is not None
    size = x.type.size
    factors = [(d, size // d) for d in range(1, size + 1) if size % d == 0]
    return kind(x, shape=grow.pick([x.shape[::-1], (size,), (1, size), *factors]))


def transpose(grow: Grower, kind: Transpose) -> Value | None:
    x = grow.value()
    assert x is not None
    return kind(x, axes=grow.permutation(range(x.type.ndim)))


def slice_(grow: Grower, kind: Slice) -> Value | None:
    x = grow.value(min_ndim=1)
    assert x is not None
    start = tuple(grow.integer(0, n) for n in x.shape)
    stop = tuple(grow.integer(a, n) for a, n in zip(start, x.shape, strict=True))
    return kind(x, start=start, stop=stop, stride=tuple(grow.integer(1, 3) for _ in x.shape))


def pad(grow: Grower, kind: Pad) -> Value | None:
    x = grow.value()
    assert x is not None
    widths = {name: tuple(grow.integer(0, 2) for _ in x.shape) for name in kind.parameters}
    return kind(x, **widths)


def along_axes(grow: Grower, kind: Flip | Reduce) -> Value | None:
    x = grow.value(kind.kinds if isinstance(kind, Reduce) else "biufc")
    return None if x is None else kind(x, axes=grow.subset(range(x.type.ndim)))


def windows(grow: Grower, kind: Windows) -> Value | None:
    x = grow.value(min_ndim=1)
    assert x is not None
    axes = [axis for axis, n in enumerate(x.shape) if n]
    if not axes:
        return None
    axis = grow.pick(axes)
    return kind(x, axis=axis, size=grow.integer(1, x.shape[axis]))


def shear(grow: Grower, kind: Shear) -> Value | None:
    x = grow.value(min_ndim=2)
    if x is None:
        return None
    axis, along, *_ = grow.permutation(range(x.type.ndim))
    extent = x.shape[axis] + x.shape[along] - 1 if grow.flag() else grow.integer(0, 4)
    by, start = (-1, 0) if grow.flag() else (grow.pick([1, -1]), grow.integer(-3, 3))
    return kind(x, axis=axis, along=along, by=by, start=start, extent=max(0, extent))


def concatenate(grow: Grower, kind: Concatenate) -> Value | None:
    x = grow.value(min_ndim=1)
    assert x is not None
    axis = grow.integer(0, x.type.ndim - 1)
    parts = [x]
    for _ in range(grow.integer(0, 2)):
        extent = grow.draw(grow.extents)
        parts.append(grow.like(x.type.with_shape((*x.shape[:axis], extent, *x.shape[axis + 1 :]))))
    return kind(*parts, axis=axis)


def dot(grow: Grower, kind: Dot) -> Value | None:
    a = grow.value("iufc")
    if a is None:
        return None
    axes = grow.permutation(range(a.type.ndim))
    cut = sorted((grow.integer(0, len(axes)), grow.integer(0, len(axes))))
    ca, ba = axes[: cut[0]], axes[cut[0] : cut[1]]
    # The axes of b: the axes shared with a, and perhaps one more, in any order.
    shared: list[int | None] = [*ca, *ba, *([None] if grow.flag() else [])]
    order = [shared[i] for i in grow.permutation(range(len(shared)))]
    b = grow.like(a.type.with_shape(tuple(2 if i is None else a.shape[i] for i in order)))
    cb, bb = tuple(order.index(i) for i in ca), tuple(order.index(i) for i in ba)
    if len(free_axes(a.type.ndim, ca, ba)) + len(ba) + 1 > MAX_NDIM:
        return None
    return kind(a, b, contract=(ca, cb), batch=(ba, bb))


def indices(grow: Grower, extents: Sequence[int]) -> list[Value]:
    """Index arrays of one shape, one per extent, within bounds."""
    if grow.index is not None and grow.flag():
        return [loop_index(grow, n) for n in extents]
    shape = (grow.integer(0, 3), *([2] if grow.flag() else []))
    if not grow.integer(0, 3):
        place = Type(np.dtype(np.int64), ())
        return [full(grow.integer(0, n - 1), place) for n in extents]
    type = Type(np.dtype(np.int64), shape)
    numbers = iota_op(axis=0, dtype=type.dtype, shape=shape)
    return [
        arithmetic.remainder(numbers, full(n, type)) if grow.flag() else full(n - 1, type)
        for n in extents
    ]


def gather(grow: Grower, kind: Gather) -> Value | None:
    x = grow.value(min_ndim=1)
    assert x is not None
    axes = grow.subset(a for a in range(x.type.ndim) if x.shape[a]) or (0,)
    if 0 in (x.shape[a] for a in axes):
        return None
    return kind(x, *indices(grow, [x.shape[a] for a in axes]), axes=axes)


def scatter_add(grow: Grower, kind: ScatterAdd) -> Value | None:
    shape = (grow.integer(1, 3), *grow.shape()[:1])
    axes = grow.subset(a for a in range(len(shape)) if shape[a]) or (0,)
    places = indices(grow, [shape[a] for a in axes])
    rest = tuple(n for a, n in enumerate(shape) if a not in axes)
    dtype = grow.pick(d for d in grow.dtypes if d.kind != "b")
    updates = grow.like(Type(dtype, (*places[0].shape, *rest)))
    return kind(updates, *places, axes=axes, shape=shape)


def update(grow: Grower, kind: Update) -> Value | None:
    x = grow.value()
    assert x is not None
    start = tuple(grow.integer(0, n) for n in x.shape)
    stride = tuple(grow.integer(1, 3) for _ in x.shape)
    room = [-((a - n) // s) for a, n, s in zip(start, x.shape, stride, strict=True)]
    v = grow.like(x.type.with_shape(tuple(grow.integer(0, m) for m in room)))
    return kind(x, v, start=start, stride=stride)


def at_indices(grow: Grower, kind: Scatter | AddAt) -> Value | None:
    x = grow.value(kind.kinds, min_ndim=1)
    if x is None:
        return None
    axes = grow.subset(a for a in range(x.type.ndim) if x.shape[a]) or (0,)
    if 0 in (x.shape[a] for a in axes):
        return None
    places = indices(grow, [x.shape[a] for a in axes])
    rest = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    updates = grow.like(x.type.with_shape((*places[0].shape, *rest)))
    return kind(x, updates, *places, axes=axes)


#: The samplers of families; the nearest base class of a declaration counts.
SAMPLERS: dict[type[Declaration], Sampler] = {
    Elementwise: elementwise,
    Select: select,
    Convert: convert,
    IntegerPower: integer_power,
    Ensure: ensure,
    Reported: reported,
    Constant: constant,
    Iota: iota,
    Broadcast: broadcast,
    Reshape: reshape,
    Transpose: transpose,
    Slice: slice_,
    Pad: pad,
    Flip: along_axes,
    Reduce: along_axes,
    Windows: windows,
    Shear: shear,
    Concatenate: concatenate,
    Dot: dot,
    Gather: gather,
    ScatterAdd: scatter_add,
    Update: update,
    Scatter: at_indices,
    AddAt: at_indices,
    **LINALG,
}


def sampler(kind: Declaration) -> Sampler | None:
    """The sampler of an op. Special functions have none: they have rows in
    tests/samples/special.py, some of their derivatives are refused, and on a GPU all of them
    are."""
    if isinstance(kind, External) or kind is whole_number:
        return None
    return next((SAMPLERS[c] for c in type(kind).__mro__ if c in SAMPLERS), None)


SAMPLERS.update(bodies(sampler))
SAMPLERS.update(calls(sampler))


@st.composite
def programs(
    draw: Draw,
    *,
    dtypes: Sequence[np.dtype] = DTYPES,
    kinds: Callable[[Declaration], bool] = lambda kind: True,
    inside: Callable[[Declaration], bool] | None = None,
    max_ops: int = 10,
    min_extent: int = 0,
    inexact_outputs: bool = False,
) -> Program:
    """Programs of ops that `kinds` accepts, with inputs of the given dtypes and at least one
    output.

    The bodies of ops contain ops that `inside` accepts, by default the same ops.
    """
    sampled = [kind for kind in REGISTRY.values() if kinds(kind) and sampler(kind)]
    inner = [kind for kind in REGISTRY.values() if (inside or kinds)(kind) and sampler(kind)]
    grow = Grower(draw, dtypes, min_extent, inner)
    with building(grow.builder):
        grow.fresh(Type(grow.pick(dtypes), grow.shape()))
        for _ in range(grow.integer(1, max_ops)):
            kind = grow.pick(sampled)
            draw_op = sampler(kind)
            assert draw_op is not None
            grow.keep(draw_op(grow, kind))
    outputs = [v for v in grow.values if v.type.is_inexact or not inexact_outputs]
    return grow.builder.finish(grow.inputs, outputs[-3:])


def arguments_for(
    program: Program,
    rng: np.random.Generator,
    *,
    low: float = -2,
    high: float = 2,
    special: float = 0,
) -> list[Any]:
    """Random arrays for the inputs; a share of the floats are zeros, ones, infinities and NaN."""
    return [_array(type, rng, low, high, special) for type in program.in_types]


def _array(type: Type, rng: np.random.Generator, low: float, high: float, special: float) -> Any:
    if type.dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, type.shape), bool)
    if type.dtype.kind in "iu":
        return rng.integers(0 if type.dtype.kind == "u" else -9, 9, type.shape).astype(type.dtype)
    if type.dtype.kind == "c":
        part = Type(np.dtype(float), type.shape)
        pair = [_array(part, rng, low, high, special) for _ in range(2)]
        result = np.empty(type.shape, type.dtype)
        result.real, result.imag = pair
        return result
    # Multiples of 1/4, so that sums and products are exact.
    numbers = (
        np.round(rng.uniform(low, high, type.shape) * 4) / 4
        if special
        else rng.uniform(low, high, type.shape)
    )
    chosen = rng.random(type.shape) < special
    return np.where(chosen, rng.choice(SPECIAL, type.shape), numbers).astype(type.dtype)


def assert_same_results(before: Program, after: Program, arguments: Sequence[Any]) -> None:
    """Both programs give the same results up to rounding, with the same NaN and infinities."""
    assert after.out_types == before.out_types
    results = zip(interpret(before, arguments), interpret(after, arguments), strict=True)
    for position, (want, got) in enumerate(results):
        want, got = np.asarray(want), np.asarray(got)
        assert got.dtype == want.dtype
        if want.dtype.kind not in "fc":
            np.testing.assert_array_equal(got, want, f"output {position}")
        else:
            tolerance = 1e-4 if want.dtype.itemsize == 4 or want.dtype == "c8" else 1e-11
            np.testing.assert_allclose(got, want, tolerance, tolerance, True, f"output {position}")
