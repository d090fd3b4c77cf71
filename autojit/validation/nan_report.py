"""Reports about the operation that produced a NaN or an infinity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autojit.ir.core.program import DerivedSource, Op, Source
from autojit.ir.core.values import place_text
from autojit.staging.shown import Text

from .fixes import fix
from .origins import Frame, Origin, Place, outside, source_element, steps_of

#: The most lines through which a value is traced back, and the most operations named per line.
LONGEST, MOST_NAMES = 6, 4


@dataclass(frozen=True)
class Operand:
    """An operand of the operation: its type, the element that took part, and its history.

    ``way`` lists the previous places, the latest first, down to an argument: "line 3, sub: -1.0".
    """

    type: str
    element: tuple[int, ...] | None
    value: Any
    way: tuple[str, ...]

    def __str__(self) -> str:
        return f"{_shown(self.value)}{_at(self.element)} ({self.type})"


@dataclass(frozen=True)
class NanReport:
    """The origin of the first NaN or infinity of a call; falsy if there is none.

    Attributes:
        found: whether there is one.
        kind: "nan" or "inf" (of either sign); None without one.
        where: the result that holds it, such as "the value" or "the gradient by argument 0".
        op: the operation that produced it; None if an argument contains it.
        derivative_of: the operation whose derivative it belongs to; None in the function itself.
        value: the finite result of an operation whose derivative is not finite.
        source: file, line and function of the user's code; None if the line is not known.
        element: the index in the operation's result.
        operands: the operands of the operation.
        steps: the loops around it, from the outermost: ("loop at line 7", 12) is the 13th step.
        argument: the path of an argument that contains the number.
        fix: a suggested change.
        remark: what was not examined, and why.
    """

    found: bool
    kind: str | None = None
    where: str = ""
    op: str | None = None
    derivative_of: str | None = None
    value: Any = None
    source: Source | None = None
    element: tuple[int, ...] | None = None
    operands: tuple[Operand, ...] = ()
    steps: tuple[tuple[str, int], ...] = ()
    argument: str | None = None
    fix: str = ""
    remark: str = ""

    def __bool__(self) -> bool:
        return self.found

    @property
    def line(self) -> int | None:
        """The user's line."""
        return None if self.source is None else self.source.line

    def text(self) -> str:
        """The whole report as lines of text."""
        return "\n".join(self._lines())

    __str__ = text

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return Text(self.text(), "words")._repr_html_()

    def _lines(self) -> Iterator[str]:
        if not self.found:
            yield "There is no NaN and no infinity" + (f" {self.where}." if self.where else ".")
        else:
            yield self._headline()
            yield from self._place()
            yield from self._numbers()
            if self.fix:
                yield ""
                yield from self.fix.splitlines()
        if self.remark:
            yield self.remark

    def _headline(self) -> str:
        name = _NAMES[self.kind or "nan"]
        if self.argument is not None:
            return f"{self.where}: the first {name} is in {self.argument}{_at(self.element)}."
        if self.derivative_of is not None:
            own = (
                "" if self.value is None else f", where its value is finite ({_shown(self.value)})"
            )
            of = f"the derivative of {self.derivative_of}"
            return f"{self.where}: the first {name} is in {of}{own}."
        return f"{self.where}: {self.op} makes the first {name}."

    def _place(self) -> Iterator[str]:
        if self.source is not None:
            yield ""
            yield place_text(self.source.file, self.source.line, self.source.function)
            yield ""
        for what, step in self.steps:
            yield f"  in step {step} (from 0) of the {what}" if step >= 0 else f"  in the {what}"

    def _numbers(self) -> Iterator[str]:
        if self.op is None or self.argument is not None:
            return
        given = ", ".join(_shown(o.value) for o in self.operands)
        yield f"  {self.op}({given}) is {self.kind}{_at(self.element)}"
        for number, operand in enumerate(self.operands):
            yield f"  operand {number}: {operand}"
            for step in operand.way:
                yield f"    from {step}"


_NAMES = {"nan": "NaN", "inf": "infinity"}


def _shown(value: Any) -> str:
    if value is None:
        return "…"
    array = np.asarray(value)
    if array.shape:
        return f"{np.min(array):.6g} … {np.max(array):.6g}" if array.dtype.kind != "c" else "…"
    return repr(array.item())


def _at(element: tuple[int, ...] | None) -> str:
    return f" at [{', '.join(map(str, element))}]" if element else ""


# -- from an origin -------------------------------------------------------------------------


def report_of(origin: Origin, where: str, paths: Sequence[str]) -> NanReport:
    """The report of an origin in a program whose inputs have these paths."""
    place = origin.place
    kind = "nan" if np.isnan(place.number) else "inf"
    op = place.op
    steps = tuple(_described_step(*step) for step in steps_of(place.frame))
    if op is None or not op.operands:
        name = _path(place, paths) if op is None else "a constant of the function"
        return NanReport(
            True, kind, where, source=None if op is None else op.source, element=place.element,
            steps=steps, argument=name,
        )  # fmt: skip
    source = op.source
    of = source.of if isinstance(source, DerivedSource) else None
    return NanReport(
        True, kind, where, op.kind.name, of, _value(place, op, of), source, place.element,
        tuple(_operands(place, op, paths)), steps,
        fix=fix(of or op.kind.name, source, derivative=of is not None),
    )  # fmt: skip


def _described_step(op: Op, number: int) -> tuple[str, int]:
    words = {"scan": "loop", "while": "loop", "switch": "branch"}
    name = words.get(op.kind.name, "call")
    line = f" at line {op.source.line}" if op.source is not None else ""
    return name + line, number if name == "loop" else -1


def _value(place: Place, op: Op, of: str | None) -> Any:
    """The finite value of an operation whose derivative is not finite."""
    if of is None:
        return None
    for each in place.frame.program.ops:
        if each.kind.name != of or isinstance(each.source, DerivedSource):
            continue
        if _line_of(each) == _line_of(op):
            made = np.asarray(place.frame.values[each.results[0]])
            if place.element is not None and made.shape == _shape(place):
                made = made[place.element]
            if made.dtype.kind in "fc" and made.ndim == 0 and np.isfinite(made):
                return made[()]
    return None


def _line_of(op: Op) -> tuple[str, int, str] | None:
    """The user's line, and whether it is run forward or backward."""
    return None if op.source is None else op.source.place


def _shape(place: Place) -> tuple[int, ...]:
    return np.shape(place.frame.values[place.value])


def _operands(place: Place, op: Op, paths: Sequence[str]) -> Iterator[Operand]:
    arrays = place.frame.operands(op)
    for k, v in enumerate(op.operands):
        element = source_element(op, arrays, k, place.element)
        own = Place(place.frame, v, element if element is not None else () if not v.shape else None)
        value = own.number if own.element is not None else arrays[k]
        yield Operand(str(v.type), own.element, value, tuple(_way(own, paths)))


def _way(place: Place, paths: Sequence[str]) -> Iterator[str]:
    """Trace a value back, line by line: the operations, the last one first, and their result.

    The last entry is an argument.
    """
    for _ in range(LONGEST):
        op = place.op
        if op is None:
            outer = outside(place)
            if outer is None:
                yield f"{_path(place, paths)}{_at(place.element)}{_number(place)}"
                return
            if outer.frame.around is not None and outer.frame.program is place.frame.program:
                yield f"the step before{_number(place)}"
                return
            place = outer
            continue
        if not op.operands:
            return
        number, names, line, first = _number(place), [], op.source, _line_of(op)
        while op is not None and op.operands and _line_of(op) == first:
            names.append(op.kind.name)
            place = _before(place, op)
            op = place.op
        more = ", …" if len(names) > MOST_NAMES else ""
        where = "" if line is None else f"line {line.line}, "
        yield f"{where}{', '.join(names[:MOST_NAMES])}{more}{number}"


def _number(place: Place) -> str:
    return "" if place.number is None else f": {_shown(place.number)}"


def _before(place: Place, op: Op) -> Place:
    """The operand to trace further: the first one that is computed, else the first one."""
    arrays = place.frame.operands(op)
    inexact = [k for k, v in enumerate(op.operands) if v.type.is_inexact] or [0]
    makers = place.frame.makers

    def is_constant(k: int) -> bool:
        found = makers.get(op.operands[k])
        return found is not None and not place.frame.program.ops[found[0]].operands

    k = next((k for k in inexact if not is_constant(k)), inexact[0])
    value = op.operands[k]
    element = source_element(op, arrays, k, place.element)
    return Place(place.frame, value, () if not value.shape else element)


def _path(place: Place, paths: Sequence[str]) -> str:
    position = place.frame.program.inputs.index(place.value)
    return paths[position] if position < len(paths) else "an array that the function closes over"


def none_found(where: str, remark: str = "") -> NanReport:
    """The report if there is no NaN and no infinity."""
    return NanReport(False, where=where, remark=remark)


def better(a: tuple[NanReport, Any] | None, b: tuple[NanReport, Any]) -> tuple[NanReport, Any]:
    """The better of two reports: one about an operation rather than an argument, else the first."""
    if a is None:
        return b
    return min(a, b, key=lambda pair: (pair[0].argument is not None, pair[1]))


def frame_order(frame: Frame, place: Place) -> int:
    """The position, in the outermost frame, of the operation that contains an origin."""
    around = place.frame.around
    if around is None:
        found = place.frame.makers.get(place.value)
        return -1 if found is None else found[0]
    while around.frame.around is not None:
        around = around.frame.around
    return frame.program.ops.index(around.op)
