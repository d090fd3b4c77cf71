"""Programs as lines in which names are separate from the text, so that listings can be aligned."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from autojit.codegen.loop_ir.program import LoopProgram
from autojit.codegen.loop_text.printer import print_loops
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.tools.text import print_static


@dataclass(frozen=True)
class Line:
    """A line: ``parts`` of text around ``names``; the first ``defines`` names are defined here."""

    parts: tuple[str, ...]
    names: tuple[Hashable, ...]
    defines: int
    #: The names in the line's own listing.
    own: tuple[str, ...]

    def text(self, called: dict[Hashable, str]) -> str:
        """The line, with other names for some values."""
        names = [called.get(n, own) for n, own in zip(self.names, self.own, strict=True)]
        inner = "".join(f"{name}{part}" for name, part in zip(names, self.parts[1:], strict=True))
        return self.parts[0] + inner


#: Marks the position of a name.
_HERE = "\0"


def program_lines(program: Program, indent: str = "", title: str = "program") -> Iterator[Line]:
    """The lines of a program; the lines of bodies follow their op."""
    numbers: dict[Value, str] = {}

    def called(values: Sequence[Value]) -> list[str]:
        for v in values:
            numbers.setdefault(v, f"%{len(numbers)}")
        return [numbers[v] for v in values]

    inputs = ", ".join(f"{_HERE}: {v.type}" for v in program.inputs)
    head = f"{indent}{title}({inputs}) {{"
    yield _line(head, program.inputs, len(program.inputs), called(program.inputs))
    for op in program.ops:
        results = ", ".join(f"{_HERE}: {v.type}" for v in op.results)
        operands = ", ".join(_HERE for _ in op.operands)
        params = _params(op)
        text = " ".join(p for p in (f"{indent}  {results} = {op.kind.name}", operands, params) if p)
        own = called(op.operands)
        yield _line(text, (*op.results, *op.operands), len(op.results), [*called(op.results), *own])
        for name, body in _bodies(op):
            yield from program_lines(body, indent + "    ", name)
    outputs = ", ".join(_HERE for _ in program.outputs)
    yield _line(f"{indent}  return {outputs}".rstrip(), program.outputs, 0, called(program.outputs))
    yield _line(f"{indent}}}", (), 0, [])


def _line(text: str, names: Sequence[Hashable], defines: int, own: Sequence[str]) -> Line:
    """The line of a text in which a mark stands for each name."""
    return Line(tuple(text.split(_HERE)), tuple(names), defines, tuple(own))


def _bodies(op: Op) -> list[tuple[str, Program]]:
    found = []
    for name in sorted(op.params):
        value = op.params[name]
        items = value if isinstance(value, tuple) else (value,)
        found += [(name, item) for item in items if isinstance(item, Program)]
    return found


def _params(op: Op) -> str:
    bodies = {name for name, _ in _bodies(op)}
    pairs = [f"{n}={print_static(op.params[n])}" for n in sorted(op.params) if n not in bodies]
    return f"{{{', '.join(pairs)}}}" if pairs else ""


_SCALAR = re.compile(r"\b[sa]\d+\b")


def loop_lines(program: LoopProgram) -> Iterator[Line]:
    """The lines of a loop program; the names of scalars and accumulators are local to a kernel."""
    kernel = 0
    for text in print_loops(program).splitlines()[1:]:  # the first line has the program's name
        kernel += text.lstrip().startswith("kernel ")
        own = _SCALAR.findall(text)
        is_set = re.match(r"\s*[sa]\d+(: \w+)? = ", text) is not None
        names = tuple((kernel, name) for name in own)
        yield Line(tuple(_SCALAR.split(text)), names, int(is_set), tuple(own))


# -- comparison ------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A line of one listing, or a pair of lines.

    ``mark`` is as in a diff, or ``!`` if a pair differs in the values that it reads.
    """

    mark: str
    left: str | None
    right: str | None


def compared(a: Sequence[Line], b: Sequence[Line]) -> list[Row]:
    """Align the lines of two listings.

    Corresponding values have their names from the first listing; names of values that exist only in
    the second one end with ``'``.
    """
    same: dict[Hashable, Hashable] = {}
    called: dict[Hashable, str] = {}
    rows: list[Row] = []
    matcher = SequenceMatcher(None, [x.parts for x in a], [x.parts for x in b], autojunk=False)
    for tag, i, j, k, n in matcher.get_opcodes():
        if tag == "equal":
            rows += [_pair(x, y, same, called) for x, y in zip(a[i:j], b[k:n], strict=True)]
            continue
        rows += [Row("-", x.text({}), None) for x in a[i:j]]
        instead = dict(zip(range(k, n), a[i:j], strict=True)) if n - k == j - i else {}
        for number, y in enumerate(b[k:n], k):
            if number in instead and _gives_the_same(instead[number], y):
                rows.append(Row("+", None, _pair(instead[number], y, same, called).right))
                continue
            called.update((name, f"{own}'") for name, own in
                          zip(y.names[: y.defines], y.own, strict=False))  # fmt: skip
            rows.append(Row("+", None, y.text(called)))
    return rows


def _gives_the_same(x: Line, y: Line) -> bool:
    """Whether one line replaces the other: both define values of the same types."""
    first, second = (
        (*line.parts[: line.defines], line.parts[line.defines].partition(" = ")[0])
        for line in (x, y)
    )
    return 0 < x.defines == y.defines and first == second


def _pair(x: Line, y: Line, same: dict[Hashable, Hashable], called: dict[Hashable, str]) -> Row:
    count = x.defines
    uses = zip(x.names[count:], y.names[count:], strict=False)
    agrees = len(x.names) == len(y.names) and all(same.get(m) == theirs for theirs, m in uses)
    for theirs, mine, own in zip(x.names[:count], y.names[:count], x.own, strict=False):
        same[mine], called[mine] = theirs, own
    left, right = x.text({}), y.text(called)
    return Row(" " if agrees else "!", left, right)


def as_lines(unit: Any) -> list[Line]:
    """The lines of a program or of a loop program."""
    found = loop_lines(unit) if isinstance(unit, LoopProgram) else program_lines(unit)
    return list(found)
