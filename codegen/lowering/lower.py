"""Lowering: the tree of loops becomes loop nests over scalars."""

from __future__ import annotations

from typing import Any

from autojit.codegen.loop_ir.origins import Origin
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.scheduling.bufferization import Location
from autojit.codegen.scheduling.materialization import BodyCall, LibraryCall
from autojit.codegen.scheduling.selected import selected
from autojit.codegen.scheduling.traits import CPU, Traits
from autojit.codegen.scheduling.views import without_last_reshapes
from autojit.ir.core.program import Program
from autojit.ir.pass_manager.passes import is_verifying
from autojit.ir.pass_manager.records import phase
from autojit.ir.passes.algebra.sorted_places import by_places

from .nests import Nests
from .regions import lower_bodies
from .scalar_code import Scope
from .sheets import sheet_of


class Lowering(Nests):
    """Writes the loop nests of one program and of the bodies in it."""

    def run(self) -> LoopProgram:
        """Return the loop program."""
        from autojit.codegen.analysis.verifier import verify
        from autojit.codegen.loop_passes.pipeline import SHAPE

        result = SHAPE(self.unshaped(), self.traits)
        if is_verifying():
            verify(result)
        return result

    def unshaped(self) -> LoopProgram:
        """Return the loop program before the passes over loops."""
        from autojit.codegen.analysis.verifier import verify_kernel

        steps: list[Any] = []
        for number, kernel in enumerate(self.schedule.kernels()):
            if isinstance(kernel, LibraryCall):
                steps.append(self._library_call(kernel))
            else:
                steps.append(self._kernel(f"k{number}", kernel))
        for number, (place, value) in enumerate(self.placement.copies):
            self.scopes = [Scope()]
            self.copy(Location(self.placement.of[value]), place, value)
            body = self.scopes[0].body
            made_by = self.schedule.definers.get(value)
            origins = () if made_by is None else (Origin([made_by], {}, ()),)
            steps.append(Kernel(f"copy{number}", body, buffers_of(body), origins=origins))
        inputs, outputs = self.placement.inputs, self.placement.outputs
        result = LoopProgram(self.program.name, inputs, outputs, steps)
        if is_verifying():
            for step in steps:
                if isinstance(step, Kernel):
                    verify_kernel(step, "lowering")
        return result

    def bodies(self, call: BodyCall) -> None:
        lower_bodies(self, call)


def _placed(made: LoopProgram) -> LoopProgram:
    """Place the temporaries of a sheet's program."""
    from autojit.codegen.analysis.arena import plan
    from autojit.codegen.analysis.verifier import verify

    plan(made)
    if is_verifying():
        verify(made)
    return made


@phase("lower")
def lower(program: Program, traits: Traits = CPU) -> LoopProgram:
    """Schedule a program, and write its loop nests in the form that a target needs."""
    if traits.sheets and (made := sheet_of(program)) is not None:
        return _placed(made)
    if not traits.sorts_values:
        program = by_places(program)
    elif traits.selects:
        program = selected(program)
    return Lowering(without_last_reshapes(program), traits).run()
