"""LLVM IR and assembly, with the loop statement that each line was written for.

The code is compiled once more with debug locations (``cpu/emit/located.py``), and displayed without
them: line by line it is the code that runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .executable import Executable

if TYPE_CHECKING:
    from autojit.codegen.cpu.entry_point.core import Core
    from autojit.codegen.cpu.entry_point.located_core import LocatedCore
    from autojit.codegen.loop_ir.program import LoopProgram
    from autojit.ir.core.program import Program


class Located(NamedTuple):
    """A line of LLVM IR or of assembly, and the numbers of its statements."""

    text: str
    numbers: tuple[int, ...] = ()


class LocatedExecutable(Executable):
    """A program compiled with the locations of its code; it is never run."""

    def __init__(self, plain: Executable) -> None:
        super().__init__(plain.source)
        self.plain = plain
        self._core: LocatedCore | None = None

    @property
    def optimized(self) -> Program:
        return self.plain.optimized

    @property
    def loops(self) -> LoopProgram:
        return self.plain.loops

    def _writer(self) -> Callable[..., Core]:
        from autojit.codegen.cpu.emit.located import Locations
        from autojit.codegen.cpu.entry_point.located_core import LocatedCore

        self.locations = Locations(self.loops)

        def made(*args: Any, **kwargs: Any) -> Core:
            self._core = LocatedCore(self.locations, *args, **kwargs)
            return self._core

        return made

    @property
    def statements(self) -> list[Any]:
        """The kernels, library calls and statements; number n is at index n - 1."""
        self._any_compiled()
        return self.locations.statements

    def llvm_lines(self) -> list[Located]:
        """Return the lines of the optimised LLVM IR."""
        modules = [words for words in _MODULE.split(self.llvm()) if words]
        return [each for words in modules for each in _with_all(_llvm(words), self._twins())]

    def assembly_lines(self) -> list[Located]:
        """Return the lines of the assembly, without directives for unwinding the stack."""
        return list(_with_all(_assembly(self.assembly()), self._twins()))

    def _twins(self) -> dict[int, tuple[int, ...]]:
        """Return, by the number of a statement, its counterparts in kernels with the same function.

        Such kernels have the same statements except for indices and names.
        """
        assert self._core is not None
        number, steps = self.locations.number_of, self.loops.steps
        found = {}
        for group in self._core.alike():
            firsts = [number(steps[k]) or 0 for k in group]
            ends = [*(number(s) or 0 for s in steps[1:]), len(self.statements) + 1]
            for n in range(ends[group[0]] - firsts[0]):
                every = (first + n for first, k in zip(firsts, group, strict=True)
                         if first + n < ends[k])  # fmt: skip
                found[firsts[0] + n] = tuple(every)
        return found


def _with_all(lines: Iterable[Located], twins: dict[int, tuple[int, ...]]) -> Iterator[Located]:
    for line in lines:
        yield Located(line.text, tuple(t for n in line.numbers for t in twins.get(n, (n,))))


# -- LLVM IR ------------------------------------------------------------------------------

_MODULE = re.compile(r"(?m)^(?=; ModuleID)")
_NODE = re.compile(r"^!(\d+) = (.*)$")
_IS_DEBUG = re.compile(r"^(?:distinct )?!DI\w+\(|^!\{i32 2, !\"Debug Info Version\"")
_LINE = re.compile(r"!DILocation\(line: (\d+)")
_AROUND = re.compile(r"inlinedAt: !(\d+)")
_MARK = re.compile(r",? !dbg !(\d+)")
_NAMED = re.compile(r"^!llvm\.(?:dbg\.cu|module\.flags) = ")
_NUMBER = re.compile(r"(?<!\w)!(\d+)\b")


def _llvm(module: str) -> Iterator[Located]:
    """Yield the lines of a module, without debug locations."""
    lines = module.removesuffix("\n").split("\n")
    nodes = {m[1]: m[2] for line in lines if (m := _NODE.match(line))}
    debug = {n for n, words in nodes.items() if _IS_DEBUG.match(words) or words == "!{}"}
    # The remaining metadata is numbered as if there were no other.
    numbers = {n: str(k) for k, n in enumerate(n for n in nodes if n not in debug)}
    for line in lines:
        node = _NODE.match(line)
        if _NAMED.match(line) or (node and node[1] in debug):
            continue
        mark = _MARK.search(line)
        number = _line_of(nodes, mark[1]) if mark else 0
        words = _NUMBER.sub(lambda m: f"!{numbers.get(m[1], m[1])}", _MARK.sub("", line))
        yield Located(words, (number,) if number else ())


def _line_of(nodes: dict[str, str], location: str) -> int:
    """Return the line of a location; if it has none, that of the call it was inlined at."""
    while True:
        found, around = _LINE.search(nodes[location]), _AROUND.search(nodes[location])
        number = int(found[1]) if found else 0
        if number or not around:
            return number
        location = around[1]


# -- assembly -----------------------------------------------------------------------------

_LOC = re.compile(r"^\s+\.loc\s+\d+ (\d+)")
_HIDDEN = re.compile(r"^(?:\s+\.(?:file\s+\d|loc\s|cfi_)|\.?L(?:tmp|func_begin)\d+:)")
_DEBUG_SECTION = re.compile(r"^\s+\.section\s+\S*debug")
_SECTION = re.compile(r"^\s+\.(?:section|text|file\s+\")")
_CODE = re.compile(r"^\s+[a-z]")
_END = re.compile(r"^\.?Lfunc_end\d+:")


def _assembly(words: str) -> Iterator[Located]:
    """Yield the lines of assembly, without debug locations."""
    number, is_debug = 0, False
    for line in words.split("\n"):
        if _SECTION.match(line):
            is_debug = bool(_DEBUG_SECTION.match(line))
        found = _LOC.match(line)
        if found:
            number = int(found[1])
        if _END.match(line):
            number = 0
        if is_debug or _HIDDEN.match(line):
            continue
        is_code = bool(_CODE.match(line)) and number
        yield Located(line, (number,) if is_code else ())
