"""The rows of each stage, and the user's lines that each row comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from autojit.codegen.cpu.llvm.vectors import lanes
from autojit.codegen.driver.executable import Executable
from autojit.codegen.driver.located import Located, LocatedExecutable
from autojit.codegen.loop_ir.origins import sources_of
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import places_of
from autojit.codegen.loop_text.printer import placed_lines
from autojit.ir.core.program import Op, Program
from autojit.ir.core.values import Source
from autojit.ir.tools.text import program_lines

#: The most rows of a program or of loops in one part; longer texts are folded.
LONG = 200
#: The most rows of functions that are visible at first.
MOST = 400


@dataclass
class Row:
    """A line of a stage, and the places in the user's code that it comes from."""

    text: str
    places: tuple[Source, ...] = ()


@dataclass
class Section:
    """Rows that fold together; without a title they are always visible."""

    title: str
    rows: list[Row]
    opened: bool = True

    @property
    def places(self) -> tuple[Source, ...]:
        """The places of all rows."""
        return tuple(dict.fromkeys(p for row in self.rows for p in row.places))


@dataclass
class Stage:
    """A stage of a compilation: its name, a short description, and its sections."""

    name: str
    about: str
    #: The unit of its rows: ``operation``, ``statement`` or ``instruction``.
    unit: str
    sections: list[Section] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """The rows of all sections."""
        return [row for section in self.sections for row in section.rows]


def stages_of(program: Program, derived: Program | None, what: str = "adjoint") -> list[Stage]:
    """The stages of a program; with a derived program, which is called ``what``, later stages are
    those of the derived program."""
    made = [Stage("trace", "the operations that were traced", "operation", _program(program))]
    if derived is not None:
        about = "with its derivative" if what == "adjoint" else "after the transformation"
        made.append(Stage(what, about, "operation", _program(derived)))
    plain = Executable(derived or program)
    optimized = _program(plain.optimized)
    made.append(Stage("optimized", "after the passes over programs", "operation", optimized))
    located = LocatedExecutable(plain)
    made.append(Stage("loops", "fused", "statement", _loops(located)))
    llvm, assembly = located.llvm_lines(), located.assembly_lines()
    places = [_places(s) for s in located.statements]
    made.append(Stage("LLVM", "optimised", "instruction", _llvm(_rows(llvm, places))))
    code = _assembly(_rows(assembly, places))
    made.append(Stage("assembly", "of this processor", "instruction", code))
    return made


# -- programs -----------------------------------------------------------------------------

_MARK = re.compile(r" *#@(\d*)$")


def _program(program: Program) -> list[Section]:
    """The text of a program; a row that opens a body comes from the lines of all rows in it."""
    ops: list[Op] = []

    def remark(op: Op) -> str:
        ops.append(op)
        return f"#@{len(ops) - 1}"

    rows: list[Row] = []
    opened: list[int] = []
    for line in "\n".join(program_lines(program, remark)).split("\n"):
        text, places = line, tuple[Source, ...]()
        if mark := _MARK.search(line):
            source = ops[int(mark[1])].source
            text, places = line[: mark.start()], (source,) if source else ()
        shuts, opens = text.lstrip().startswith("}"), text.endswith("{")
        if opens and not shuts:
            opened.append(len(rows))
        elif shuts and not opens:
            begun = opened.pop()
            if begun:  # an op with bodies, not the program itself
                found = (p for row in rows[begun:] for p in row.places)
                rows[begun].places = tuple(dict.fromkeys((*places, *found)))
        rows.append(Row(text, places))
    return _folded(rows)


def _folded(rows: list[Row]) -> list[Section]:
    """The rows, split into parts if there are many."""
    if len(rows) <= LONG:
        return [Section("", rows)]
    parts = [rows[k : k + LONG] for k in range(0, len(rows), LONG)]
    return [
        Section(f"rows {k * LONG + 1:,} to {k * LONG + len(part):,}", part, opened=k == 0)
        for k, part in enumerate(parts)
    ]


# -- loops --------------------------------------------------------------------------------


def _places(statement: Any) -> tuple[Source, ...]:
    if isinstance(statement, Kernel):
        found = [p for s in statement.body for p in places_of(s)]
        return tuple(dict.fromkeys(found or sources_of(statement)))
    return tuple(places_of(statement))


def _loops(located: LocatedExecutable) -> list[Section]:
    statements, loops = located.statements, located.loops
    loops.captured = len(located.optimized.captured)
    lines, at = placed_lines(loops, lanes(loops, located.llvm()))
    rows = [Row(line) for line in lines]
    for s in statements:
        if id(s) in at:
            rows[at[id(s)]].places = _places(s)
    begins = [at[id(step)] for step in loops.steps if isinstance(step, Kernel)]
    if len(rows) <= LONG or not begins:
        return [Section("", rows)]
    found = [Section("memory", rows[: begins[0]], opened=False)]
    for first, last in zip(begins, [*begins[1:], len(rows)], strict=True):
        title = rows[first].text.strip().rstrip(":")
        found.append(Section(title, rows[first:last], opened=False))
    found[1].opened = len(found[1].rows) <= MOST
    return found


# -- LLVM IR and assembly -------------------------------------------------------------------


def _rows(lines: Sequence[Located], places: list[tuple[Source, ...]]) -> list[Row]:
    return [
        Row(line.text, tuple(dict.fromkeys(p for n in line.numbers for p in places[n - 1])))
        for line in lines
    ]


_DEFINE = re.compile(r"^define .*?@\"?([\w.$]+)")
_LABEL = re.compile(r"^\"?([A-Za-z_][\w.$]*)\"?:")
_NOTHING, _ENTRY = "declarations and constants", "autojit_entry"


def _llvm(rows: Iterable[Row]) -> list[Section]:
    """A section for each function, and one for the rows between functions."""
    found: list[Section] = []
    name = ""
    for row in rows:
        if define := _DEFINE.match(row.text):
            name = define[1]
            found.append(Section(name, []))
        elif not name and (not found or found[-1].title != _NOTHING):
            found.append(Section(_NOTHING, []))
        found[-1].rows.append(row)
        if row.text == "}":
            name = ""
    return list(_with_code(found))


def _assembly(rows: Iterable[Row]) -> list[Section]:
    """A section for each function, from its label to its end."""
    found = [Section(_NOTHING, [])]
    for row in rows:
        label = _LABEL.match(row.text)
        if label and not label[1].startswith(("L", "_L")):
            found.append(Section(label[1], []))
        found[-1].rows.append(row)
    return list(_with_code(found))


def _with_code(sections: list[Section]) -> Iterator[Section]:
    """The non-empty sections; those from the user's lines come first, and are open if not long.

    The entry function, which takes the arguments and allocates arrays, comes after the kernels.
    """
    sections = [s for s in sections if any(row.text.strip() for row in s.rows)]
    is_long = sum(len(s.rows) for s in sections if s.places) > MOST
    ordered = sorted(sections, key=lambda s: (not s.places, s.title.startswith(_ENTRY)))
    for k, section in enumerate(ordered):
        is_wanted = k == 0 or not is_long
        section.opened = bool(section.places) and is_wanted and len(section.rows) <= MOST
        yield section
