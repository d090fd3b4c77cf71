"""Locations in LLVM IR record the loop statement that an instruction was written for.

They are debug locations whose line is the number of a statement. LLVM carries them through its
passes to the assembly, and generates the same code as without them. Only code that is displayed has
them; code that runs is written without.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from llvmlite import ir

from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import defined, walk

from .kernels import KernelEmitter


class Locations:
    """The numbers of a program's statements, from 1 on, and the locations of a module."""

    def __init__(self, program: LoopProgram) -> None:
        #: The kernels, library calls and statements in order: number n is at index n - 1.
        self.statements = list(_statements(program))
        self._numbers: dict[int, int] = {}
        for number, s in enumerate(self.statements, 1):
            self._numbers[id(s)] = number
            made = None if isinstance(s, Kernel) else defined(s)
            if made is not None:
                self._numbers.setdefault(id(made), number)
        #: The statement that a function was written for, if it does not belong to one kernel.
        self._owners: dict[str, int] = {}
        self._known = 0
        self._scopes: dict[str, ir.DIValue] = {}
        self._made: dict[tuple[str, int], ir.DIValue] = {}
        self._unit: ir.DIValue | None = None

    def number_of(self, statement: Any) -> int | None:
        """Return the number of a statement, or of the one that computes the same scalar."""
        number = self._numbers.get(id(statement))
        if number is None and not isinstance(statement, Kernel):
            number = self._numbers.get(id(defined(statement)))
        return number

    def at(self, function: ir.Function, number: int) -> ir.DIValue:
        """Return the location of a statement's instructions in a function; 0 means nowhere."""
        key = function.name, number
        if key not in self._made:
            words = {"line": number, "column": 0, "scope": self._scope(function)}
            self._made[key] = function.module.add_debug_info("DILocation", words)
        return self._made[key]

    def own(self, module: ir.Module, number: int | None) -> None:
        """Assign all functions without an owner to a statement."""
        if len(module.globals) != self._known:
            self._known = len(module.globals)
            for function in module.functions:
                self._owners.setdefault(function.name, number or 0)

    def finish(self, function: ir.Function) -> None:
        """Give a location to each instruction that has none.

        Instructions of functions that are always inlined take the location of the call.
        """
        if function.is_declaration or "alwaysinline" in function.attributes:
            return
        function.metadata.setdefault("dbg", self._scope(function))
        nowhere = self.at(function, self._owners.get(function.name, 0))
        for block in function.blocks:
            for instruction in block.instructions:
                instruction.metadata.setdefault("dbg", nowhere)

    def _scope(self, function: ir.Function) -> ir.DIValue:
        module = function.module
        if self._unit is None:
            self._unit = _unit(module)
        if function.name not in self._scopes:
            file = self._unit.operands[1][1]
            kind = module.add_debug_info("DISubroutineType", {"types": None})
            words = {
                "name": function.name, "file": file, "line": 0, "type": kind, "unit": self._unit,
                "spFlags": ir.DIToken("DISPFlagDefinition"),
            }  # fmt: skip
            made = module.add_debug_info("DISubprogram", words, is_distinct=True)
            self._scopes[function.name] = made
        return self._scopes[function.name]


def _statements(program: LoopProgram) -> Iterator[Any]:
    for step in program.steps:
        if isinstance(step, Kernel):
            yield step
            yield from walk(step.body)
        else:
            yield step


def _unit(module: ir.Module) -> ir.DIValue:
    file = module.add_debug_info("DIFile", {"filename": "loops", "directory": ""})
    words = {
        "language": ir.DIToken("DW_LANG_C99"), "file": file, "producer": "autojit",
        "isOptimized": True, "runtimeVersion": 0,
        "emissionKind": ir.DIToken("LineTablesOnly"),
    }  # fmt: skip
    unit = module.add_debug_info("DICompileUnit", words, is_distinct=True)
    module.add_named_metadata("llvm.dbg.cu", unit)
    number = ir.IntType(32)
    flag = [ir.Constant(number, 2), "Debug Info Version", ir.Constant(number, 3)]
    module.add_named_metadata("llvm.module.flags", flag)
    return unit


class LocatedKernelEmitter(KernelEmitter):
    """Writes a kernel, with the location of each statement."""

    locations: Locations

    def nested(self, *args: Any, **kwargs: Any) -> Self:
        made = super().nested(*args, **kwargs)
        made.locations = self.locations
        return made

    def emit(self) -> ir.Function:
        number = self.locations.number_of(self.kernel) or 0
        self.locations.own(self.module, number)
        self.builder.debug_metadata = self.locations.at(self.function, number)
        function = super().emit()
        self.locations.finish(function)
        return function

    def body(self, statements: list[Any]) -> None:
        around = self.builder.debug_metadata
        for statement in statements:
            number = self.locations.number_of(statement)
            if number is not None:
                self.builder.debug_metadata = self.locations.at(self.function, number)
            super().body([statement])
            self.locations.own(self.module, number)
            self.builder.debug_metadata = around
