"""Looking inside: programs, stages, costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autojit.errors import SettingError
from autojit.ir.core.program import Program
from autojit.ir.tools.units import plural
from autojit.session.tracebacks import folded
from autojit.spelling import closest

from . import pytrees
from .execute import executable, target_errors
from .settings import TWICE, need_function
from .shown import Shown, Text
from .trace_function import argument_type, trace_function
from .transformed import P

#: The stages of a compilation, in order.
STAGES = ("trace", "optimized", "loops", "vectors", "llvm", "asm", "cuda", "ptx")


@folded
def trace(f: Callable[P, Any]) -> Callable[P, Program]:
    """A function of the same arguments that returns the program which they trace.

    Args:
        f: a function of arrays, numbers or trees of them.

    Returns:
        A function that returns a :class:`Program`. The inputs of the program are the leaves of
        the arguments, in order, and after them the arrays that ``f`` closes over, which are
        bound. ``print`` shows the program as text, which ``autojit.parse`` reads back; called
        with arrays, the program runs.

    Raises:
        NotArrayError: if a leaf of the arguments is neither an array nor a number.

    >>> import autojit, numpy as np
    >>> print(autojit.trace(lambda x: np.sum(np.sin(x)))(np.ones(3)))
    program main(%0: f64[3]) {
      %1: f64[3] = sin %0
      %2: f64[] = sum %1 {axes=(0,)}
      return %2
    }
    """

    need_function(f, "trace", TWICE)

    @folded
    def traced(*args: P.args, **kwargs: P.kwargs) -> Program:
        leaves, structure = pytrees.flatten((args, kwargs))

        def call(function: Callable[..., Any], values: Any) -> Any:
            positional, by_name = pytrees.arguments(structure, values)
            return function(*positional, **by_name)

        for leaf, path in zip(leaves, pytrees.call_paths(args, kwargs), strict=True):
            pytrees.check_argument(leaf, path, "autojit.trace(lambda x: f(x, setting))(x)")
        types = [argument_type(leaf) for leaf in leaves]
        return trace_function(f, types, call, lambda: pytrees.call_paths(args, kwargs)).program

    return traced


class Lowered(Shown):
    """A program on its way to code: the text of every stage."""

    def __init__(self, program: Program, device: str = "cpu") -> None:
        self.program = program
        self.device = device

    def __repr__(self) -> str:
        size = plural(len(self.program.ops), "operation")
        return f"<lowered {self.program.name} on {self.device}: {size}>"

    @folded
    def text(self, stage: str = "optimized") -> str:
        """The text of a stage: one of ``STAGES``."""
        if stage not in STAGES:
            close = closest(str(stage), STAGES)
            raise SettingError(f"stage must be one of {', '.join(STAGES)}; got {stage!r}.{close}")
        if stage == "trace":
            return Text(self.program.text(sources=True))
        from autojit.codegen.driver import stages

        with target_errors():
            return Text(stages.text(self.program, stage))

    @folded
    def compile(self) -> Any:
        """The executable: ``.call(arrays)`` runs it."""
        with target_errors():
            code = executable(self.program, self.device)
            if self.device == "cpu":
                code.prepare()
        return code

    @folded
    def cost(self) -> dict[str, int]:
        """Floating-point operations, bytes moved and bytes of temporaries, as scheduled."""
        from autojit.codegen.driver import stages

        with target_errors():
            cost: dict[str, int] = stages.cost(self.program)
        return cost
