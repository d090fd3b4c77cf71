"""Long loops inside loops over steps become functions of their own.

A loop whose steps run in order is one function, and the sweeps over arrays in each step are inlined
into it. LLVM compiles a function as a whole and on one thread, so long functions are taken apart:
each sweep becomes a function that is compiled in parallel with the others (see ``parts``).

Legal where the loop is whole, consists of plain statements without local buffers and tapes, and
updates no accumulator from outside (``_can_be_taken_out``). Nothing changes in the results.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Constant,
    Fill,
    Finish,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import buffers_of, in_sequence, used, walk
from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core.affine import Affine, Var

from .context import KernelContext

#: Kernels of at least LONG statements are taken apart, by loops of at least LEAST statements.
LONG, LEAST = 120, 25
#: The statements that such a loop may contain.
_PLAIN = (
    Accumulate, AccumulateInto, Begin, Compute, Constant, Fill, Finish, Gather, IndexValue, InRange,
    Load, Loop, ScatterInto, Store,
)  # fmt: skip
_VALUES = (Compute, Constant, IndexValue, InRange, Load, Gather, Finish)


def chosen(kernel: Kernel) -> dict[int, list[Constant]]:
    """Return the loops of a kernel to outline, by identity, with the constants they use."""
    statements = list(walk(kernel.body))
    long = in_sequence(kernel.body) and len(statements) >= LONG
    if not long and not any(isinstance(s, Loop) and s.outlined for s in statements):
        return {}
    constants = {s.result.number: s for s in statements if isinstance(s, Constant)}
    found: dict[int, list[Constant]] = {}
    inside: set[int] = set()
    for s in statements:
        if not isinstance(s, Loop) or id(s) in inside:
            continue
        if (long or s.outlined) and _can_be_taken_out(s):
            found[id(s)] = [constants[a.number] for a in _free(s) if a.number in constants]
            inside.update(id(x) for x in walk(s.body))
    return found


def _can_be_taken_out(loop: Loop) -> bool:
    statements = list(walk([loop]))
    if len(statements) < LEAST or loop.unroll or loop.share is not None:
        return False
    if not all(isinstance(s, _PLAIN) for s in statements) or in_sequence([loop]):
        return False
    begun = {s.accumulator.number for s in statements if isinstance(s, Begin)}
    if any(isinstance(s, Accumulate) and s.accumulator.number not in begun for s in statements):
        return False
    return all(buffer.kind not in ("local", "tape") for buffer in buffers_of([loop]))


def _free(loop: Loop) -> list[Scalar]:
    """Return the scalars that a loop uses and does not define."""
    own = {s.result.number for s in walk([loop]) if isinstance(s, _VALUES)}
    found = {a.number: a for s in walk([loop]) for a in used(s) if a.number not in own}
    return list(found.values())


def _indices(loop: Loop) -> list[Var]:
    """Return the variables of enclosing loops that a loop uses."""
    own = {s.var for s in walk([loop]) if isinstance(s, Loop)}
    found: dict[Var, None] = {}
    for s in walk([loop]):
        lines = [place.line for place in getattr(s, "places", ())]
        for index in (getattr(s, "index", None), getattr(s, "start", None), *lines):
            if isinstance(index, Affine):
                found.update(dict.fromkeys(index.variables() - own))
    return sorted(found, key=lambda v: v.serial)


def emit(emitter: KernelContext, loop: Loop, constants: list[Constant]) -> None:
    """Write the loop as a function, and call it."""
    known = {c.result.number for c in constants}
    given = [s for s in _free(loop) if s.number not in known]
    indices = _indices(loop)
    body: list[Any] = [*constants, replace(loop, outlined=False)]
    symbol = f"{emitter.function.name}_loop{len(emitter.module.functions)}"
    inner = emitter.nested(Kernel(symbol, body, buffers_of(body)), symbol, indices, given)
    inner.function.attributes.add("noinline")
    inner.labels, inner.looped = emitter.labels, emitter.looped
    function = inner.emit()
    arguments = [emitter.vars[v] for v in indices]
    arguments += [emitter.registers[s.number] for s in given]
    arguments += [emitter.pointer(b) for b in inner.arguments]
    if inner.checks:
        arguments.append(emitter.status)
    if inner.needs_table:
        arguments.append(emitter.table)
    emitter.builder.call(function, arguments)
