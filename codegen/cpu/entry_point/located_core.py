"""The core of a program whose code records where it comes from (see ``located``)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.emit.kernels import KernelEmitter
from autojit.codegen.cpu.emit.located import LocatedKernelEmitter, Locations
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.values import Buffer

from .core import Core


class LocatedCore(Core):
    """Writes a core in which each instruction has the location of a statement."""

    def __init__(self, locations: Locations, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.locations = locations
        #: The calls of kernels, by the number of the step.
        self._called: dict[int, ir.CallInstr] = {}

    def step(
        self, builder: ir.IRBuilder, step: Any, number: int, places: dict[Buffer, ir.Value]
    ) -> None:
        own = self.locations.number_of(step)
        assert own is not None
        builder.debug_metadata = self.locations.at(builder.function, own)
        self.locations.own(self.module, 0)
        super().step(builder, step, number, places)
        self.locations.own(self.module, own)
        if isinstance(step, Kernel) and step.body:
            self._called[number] = builder.block.instructions[-1]

    def emitter(self, kernel: Kernel, number: int) -> KernelEmitter:
        symbol, common = f"kernel{number}", self.common()
        made = LocatedKernelEmitter(self.module, kernel, symbol, **common)
        made.locations = self.locations
        return made

    def close(self) -> None:
        for function in self.module.functions:
            self.locations.finish(function)

    def alike(self) -> list[list[int]]:
        """Return groups of steps whose kernels are one function, which has the locations of the
        first."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, call in self._called.items():
            found[call.callee.name].append(number)
        return [numbers for numbers in found.values() if len(numbers) > 1]
