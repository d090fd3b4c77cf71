"""Many numbers are passed to and from compiled code as one array.

Before, for the gradient of a function of a list of 100 floats::

    program main(%0: f64[], %1: f64[], …) {
      …
      return %300, %301, …
    }

After, with the numbers in the order of the arguments and of the results::

    program main(%0: f64[100]) {
      %1: f64[1] = slice %0 {start=(0,), stop=(1,), stride=(1,)}
      %2: f64[] = reshape %1 {shape=()}
      …
      %700: f64[100] = concatenate %500, %501, …
      return %700
    }

LLVM takes 1 to 2.5 ms for each number that is checked, read and made separately.

Legal where the numbers have no axes and one dtype, and a call passes numbers of exactly that type:
others are not converted (``_Taken.vector``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.halves import BFLOAT16
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.move import concatenate, reshape, slice_
from autojit.ir.pass_manager.records import phase

#: The fewest numbers of one dtype that are passed as an array. The code for 64 arguments and
#: results takes 0.2 s to compile; an array adds 3 us to a call of 3 to 5 us. At least two.
LEAST = 64


class Group(NamedTuple):
    """Numbers of one dtype: their indices among the arguments or the results."""

    dtype: np.dtype
    places: tuple[int, ...]

    @property
    def type(self) -> Type:
        return Type(self.dtype, (len(self.places),))


class Side(NamedTuple):
    """The arguments or the results of a program: the groups, and the indices of the others, which
    come after the arrays of the groups."""

    groups: tuple[Group, ...]
    rest: tuple[int, ...]

    def repacked(self, orders: Sequence[Any], count: int) -> tuple[Any, ...]:
        """Return the axis orders (of the first ``count``, or none at all) after packing: packed
        numbers have no axes."""
        if not orders:
            return ()
        return (*[None] * len(self.groups), *[orders[i] for i in self.rest if i < count])


class Packing(NamedTuple):
    """A program whose many number arguments or results were replaced by arrays."""

    program: Program
    inputs: Side
    outputs: Side


@phase("pack numbers")
def packing(program: Program) -> Packing | None:
    """Pack the numbers of a program; return None if there are few."""
    inputs, outputs = _side(program.in_types), _side(program.out_types)
    if not inputs.groups and not outputs.groups:
        return None
    builder = Builder()
    vectors = [Value(group.type) for group in inputs.groups]
    with building(builder):
        given = dict(zip(inputs.rest, map(Value, _picked(program.in_types, inputs.rest)),
                         strict=True))  # fmt: skip
        others = list(given.values())
        for group, vector in zip(inputs.groups, vectors, strict=True):
            given.update(zip(group.places, _numbers_in(vector), strict=True))
        made = builder.inline(program, [given[i] for i in range(len(program.inputs))])
        results = [_vector_of(_picked(made, group.places)) for group in outputs.groups]
    results += _picked(made, outputs.rest)
    whole = builder.finish([*vectors, *others], results, name=program.name)
    return Packing(whole, inputs, outputs)


def _side(types: Sequence[Type]) -> Side:
    places: dict[np.dtype, list[int]] = {}
    for i, type in enumerate(types):
        if not type.shape and type.dtype is not BFLOAT16:
            places.setdefault(type.dtype, []).append(i)
    groups = tuple([Group(d, tuple(p)) for d, p in places.items() if len(p) >= LEAST])
    packed = {i for group in groups for i in group.places}
    return Side(groups, tuple([i for i in range(len(types)) if i not in packed]))


def _numbers_in(vector: Value) -> list[Value]:
    parts = (slice_(vector, start=(i,), stop=(i + 1,), stride=(1,)) for i in range(vector.shape[0]))
    return [reshape(part, shape=()) for part in parts]


def _vector_of(numbers: Sequence[Value]) -> Value:
    return concatenate(*[reshape(v, shape=(1,)) for v in numbers], axis=0)


def _picked(things: Sequence[Any], places: Iterable[int]) -> list[Any]:
    return [things[i] for i in places]


# -- calls ------------------------------------------------------------------------------


class Caller:
    """Calls the code of a packed program with the arguments of the original program.

    Like native code it returns None if an argument does not have exactly the program's type.
    """

    def __init__(
        self, found: Packing, native: Callable[..., Any], weak: Sequence[type | None]
    ) -> None:
        self.native = native
        self.count = len(weak)
        self.weak = tuple(weak)
        self.groups = [_Taken(group, weak) for group in found.inputs.groups]
        self.rest = [i for i in found.inputs.rest if i < len(weak)]
        self.arrays = len(found.outputs.groups)
        order = [i for group in found.outputs.groups for i in group.places] + [*found.outputs.rest]
        #: The index of each result among the numbers of arrays followed by the others.
        self.order = None
        if order != list(range(len(order))):
            self.order = itemgetter(*sorted(range(len(order)), key=order.__getitem__))

    def __call__(self, *leaves: Any) -> Any:
        if len(leaves) != self.count:
            return None
        vectors = [group.vector(leaves) for group in self.groups]
        if any(vector is None for vector in vectors):
            return None
        results = self.native(*vectors, *[leaves[i] for i in self.rest])
        if results is None or not self.arrays:
            return results
        spread = [x for vector in results[: self.arrays] for x in vector]
        spread += results[self.arrays :]
        return tuple(spread) if self.order is None else self.order(spread)


class _Taken:
    """Arguments that are passed as one array."""

    def __init__(self, group: Group, weak: Sequence[type | None]) -> None:
        self.dtype = group.dtype
        self.pick = itemgetter(*group.places)
        kinds = [weak[i] for i in group.places]
        #: The Python type if all have the same; the types of each.
        self.all = kinds[0] if len({*kinds}) == 1 else None
        self.kinds = kinds

    def vector(self, leaves: Sequence[Any]) -> np.ndarray | None:
        """Return the array; None if an argument has another type."""
        numbers = self.pick(leaves)
        types = {*map(type, numbers)}
        if types != {self.all} and not all(map(self._fits, numbers, self.kinds)):
            return None
        try:
            return np.array(numbers, self.dtype)
        except OverflowError:  # a large integer
            return None

    def _fits(self, x: Any, weak: type | None) -> bool:
        if weak is not None:
            return type(x) is weak
        if type(x) is np.ndarray:
            return not x.ndim and x.dtype is self.dtype
        return type(x) is self.dtype.type
