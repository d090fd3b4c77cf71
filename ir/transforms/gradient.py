"""The gradient of a scalar output.

Legal where output 0 is one inexact number, which is checked. The outputs are bit-identical. If they
are not kept, operations that only they need are omitted, except those that may fail: the gradients
raise the errors of output 0 too.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.autodiff.kept_errors import with_errors
from autojit.ir.autodiff.linearize import linearize
from autojit.ir.autodiff.transpose import pulled_back
from autojit.ir.core.declaration import full, require
from autojit.ir.core.program import Builder, Program, building
from autojit.ir.pass_manager.records import phase


@phase("gradient")
def gradient(program: Program, wrt: Sequence[int], *, keep_outputs: bool) -> Program:
    """``inputs -> (outputs if kept, gradients of output 0 with respect to wrt)``.

    Output 0 is a scalar.  Other outputs (auxiliary ones) are not differentiated.
    """
    first = program.outputs[0].type
    require(
        first.is_inexact and not first.shape,
        f"a gradient needs a single inexact number; got {first}",
    )
    parts = linearize(program.with_body(program.ops, program.outputs[:1]), wrt)
    rest = program.outputs[1:]
    builder = Builder()
    # Both programs were built here, so their values can be used directly.
    inputs, made = parts.primal.inputs, parts.primal.outputs
    with building(builder):
        outputs = list(made[:1]) if keep_outputs else []
        if keep_outputs and rest:
            outputs = builder.inline(program, inputs)
        builder.ops += parts.primal.ops
        if parts.active:
            seed = full(1, made[0].type)
            gradients = pulled_back(parts.linear, made[1:], [seed])
        else:
            gradients = [full(0, program.inputs[i].type) for i in wrt]
        gradients = with_errors(parts.primal.ops, made[:1], gradients)
    return builder.finish(
        inputs, [*outputs, *gradients], name=program.name, captured=program.captured
    )
