"""Bounded arrays: parts of an array whose length is known only at run time.

A bounded array keeps the places of the array that it is a part of. ``A[k + 1:, k]`` is the whole
column k, of which the places from k + 1 on count. So ``A[k + 1:, k] * s`` is computed on the whole
column, and no element is moved. Only parts that begin at different places are aligned by a gather.

The places that do not count never affect a result:

* Values enter through a ``select`` that puts 1 at these places. So do scalars and other operands
  that are broadcast along the axis.  The derivative of the ``select`` is a ``select`` too, which
  stops any NaN and infinity that derivatives produce at these places.
* Elementwise operations combine parts of the same place and length (``closed``).
* Operations that combine elements (a sum, a matrix product, an assignment) begin with another
  ``select``.

Code that does not support bounded arrays asks for their value or type, which raises an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from autojit.errors import UncoveredFunctionError, with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.program import Source, Value
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic, move
from autojit.ir.ops.linear import iota
from autojit.protocols.lifting import as_value, tracer
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .integers import as_int, at_most, equal

_INT = np.dtype(np.int64)

#: A suggestion for error messages.
_REWRITE = (
    "Its length depends on a traced value. Keep the whole array, and choose by a mask:\n"
    "    np.where(np.arange(len(x)) < i, x, 0)      # not: x[:i]\n"
    "    np.where(m, x, 0)                          # not: x[m]\n"
    "    np.where(m, np.log(np.where(m, x, 1)), 0)  # not: np.log(x[m])"
)

_USE = "This use (a result, an argument of a function that is not covered)"


def refuse(what: str, source: Source | None = None) -> NoReturn:
    """Raise the error for an unsupported use of a bounded array, on the user's line."""
    raise UncoveredFunctionError(
        with_place(
            f"{what} is not covered by autojit for a slice with traced bounds or for elements "
            "that a traced mask selects.\n"
            f"{_REWRITE}",
            source or user_source(),
        )
    )


class Range(NamedTuple):
    """The places ``start + step * p`` of an axis, for each p below ``length``."""

    start: Any
    length: Any
    step: int
    #: Whether the length is bounded by one that has been checked. Masks then depend on the
    #: length, so that the check is not removed as dead code.
    is_checked: bool = False

    def of_length(self, length: Any) -> Range:
        """The same range with another length, whose check may raise as the code runs."""
        return self._replace(length=length, is_checked=self.is_checked or length is not self.length)

    def place(self, p: Any) -> Any:
        """The place of element p in the axis."""
        return self.start + self.step * p

    def is_at(self, other: Range) -> bool:
        """Whether each element p has the same place in both ranges."""
        is_range = isinstance(other, Range)
        return is_range and self.step == other.step and equal(self.start, other.start)

    def mask(self, extent: int) -> Value | None:
        """A mask of the places of an axis that are in the range; None if all of them are."""
        sign = 1 if self.step > 0 else -1
        low, high = self.start, self.start + sign * self.length  # high is exclusive
        if abs(self.step) > 1:
            return self._spaced(extent, sign)
        places = iota(dtype=_INT, shape=(extent,), axis=0)
        tests = []
        if sign > 0:
            if not at_most(low, 0):
                tests.append(arithmetic.ge(places, _along(low, extent)))
            if self.is_checked or not at_most(extent, high):
                tests.append(arithmetic.lt(places, _along(high, extent)))
        else:
            # The same tests as for a part that is read forwards, so that both masks are one value.
            if not at_most(extent - 1, low):
                tests.append(arithmetic.lt(places, _along(low + 1, extent)))
            if self.is_checked or not at_most(high, -1):
                tests.append(arithmetic.ge(places, _along(high + 1, extent)))
        return _all(tests)

    def _spaced(self, extent: int, sign: int) -> Value | None:
        size = abs(self.step)
        places = iota(dtype=_INT, shape=(extent,), axis=0)
        away = arithmetic.mul(places - _along(self.start, extent), sign)
        return _all(
            [
                arithmetic.ge(away, 0),
                arithmetic.lt(away, _along(size * self.length, extent)),
                arithmetic.eq(arithmetic.remainder(away, size), 0),
            ]
        )

    def numbers(self, extent: int) -> Value:
        """The number p of the element at each place of an axis; valid only inside the range."""
        places = iota(dtype=_INT, shape=(extent,), axis=0) - _along(self.start, extent)
        return arithmetic.floor_divide(places, self.step) if self.step != 1 else places


def _along(x: Any, extent: int) -> Value:
    return move.broadcast(as_int(x), shape=(extent,), dims=())


def _all(tests: list[Value]) -> Value | None:
    result = None
    for test in tests:
        result = test if result is None else arithmetic.bitwise_and(result, test)
    return result


#: One for each axis; None if the extent is known.
Ranges = tuple[Range | None, ...]


def mask_of(ranges: Ranges, shape: tuple[int, ...]) -> Value | None:
    """A mask of the places that count; None if all of them do."""
    tests = []
    for axis, found in enumerate(ranges):
        own = None if found is None else found.mask(shape[axis])
        if own is not None:
            tests.append(move.broadcast(own, shape=shape, dims=(axis,)))
    return _all(tests)


def masked(x: Value, ranges: Ranges, fill: Any) -> Value:
    """A value with ``fill`` at the places that do not count."""
    mask = mask_of(ranges, x.shape)
    return x if mask is None else arithmetic.select(mask, x, full(fill, x.type))


class Bounded(Tracer):
    """A part of an array, with traced bounds along at least one axis."""

    __slots__ = ("closed", "origin", "ranges", "storage")
    is_bounded = True

    def __init__(
        self, storage: Tracer, ranges: Ranges, *, closed: bool = False, origin: Any = None
    ) -> None:
        self.storage = storage
        self.ranges = ranges
        #: Whether it is an elementwise result of operands with safe values at all places.
        self.closed = closed
        #: The array and the index that it was read with, if it was.
        self.origin = origin
        self.owner, self.weak = storage.owner, None
        self.base = self.how = self.seen = None
        self.lost = self.ordered = False
        self.boxed = True
        self.viewed = storage.viewed = True

    # -- properties ---------------------------------------------------------

    @property  # type: ignore[misc]
    def shape(self) -> tuple[Any, ...]:
        pairs = zip(self.ranges, self.storage.shape, strict=True)
        return tuple([n if found is None else found.length for found, n in pairs])

    @property
    def ndim(self) -> int:
        return len(self.ranges)

    @property
    def size(self) -> Any:
        size: Any = 1
        for extent in self.shape:
            size = extent * size
        return size

    @property
    def dtype(self) -> np.dtype:
        return self.storage.dtype

    @property
    def is_scalar(self) -> bool:
        return False

    @property
    def is_number(self) -> bool:
        return False

    def __repr__(self) -> str:
        extents = [
            str(n) if r is None else f"<={n}"
            for r, n in zip(self.ranges, self.storage.shape, strict=True)
        ]
        return f"Tracer<{self.dtype}[{','.join(extents)}]>"

    def __len__(self) -> int:
        if self.ranges[0] is None:
            return self.storage.shape[0]
        refuse("len(x), which must be a known integer in Python (x.shape[0] may be traced),")

    def __iter__(self) -> Iterator[Any]:
        if self.ranges[0] is not None:
            refuse("Iteration")
        return (self[i] for i in range(self.storage.shape[0]))

    # -- unsupported uses ---------------------------------------------------

    def refuse_as(self, what: str, source: Source | None) -> NoReturn:
        """Refuse it as a result of a function, naming the line on which the function ends."""
        refuse(what, source)

    @property
    def own(self) -> Value:  # type: ignore[override]
        refuse(_USE)

    @property
    def value(self) -> Value:
        refuse(_USE)

    @property
    def type(self) -> Type:
        refuse(_USE)

    def __bool__(self) -> bool:
        refuse("bool(x), as `if`, `while`, `and` and `or` call it,")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        refuse("Making an ordinary array of it")

    # -- its contents ---------------------------------------------------------

    def outside(self, fill: Any) -> Value:
        """The whole storage, with ``fill`` at the places that do not count."""
        return masked(as_value(self.storage), self.ranges, fill)

    def replaced(self, storage: Value, *, closed: bool = False) -> Bounded:
        """Another array with the same ranges."""
        return Bounded(tracer(storage), self.ranges, closed=closed)

    # -- indexing and methods ---------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return hooks.get_bounded(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        hooks.set_bounded(self, index, value)

    def fill(self, value: Any) -> None:
        hooks.set_bounded(self, ..., value)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return self.replaced(as_value(self.storage.astype(dtype)), closed=self.closed)

    def copy(self, order: str = "C") -> Any:
        return self.replaced(as_value(self.storage), closed=self.closed)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        refuse("x.sort()")

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        return self[...] if dtype is None and type is None else refuse("x.view(dtype)")


def in_place(ufunc: Any) -> Any:
    """An in-place operator on a part of an array."""

    def operator(self: Bounded, other: Any) -> Any:
        result = hooks.call_operator(ufunc, self, other)
        if result is not NotImplemented:
            hooks.write_bounded(self, result)
            return self
        return result

    return operator


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift,
}.items():  # fmt: skip
    setattr(Bounded, f"__i{_name}__", in_place(_ufunc))
