"""The memory of a program, computed from its types before it runs.

Legal where it is read only: nothing is rewritten here, and nothing runs.
"""

from __future__ import annotations

from typing import Any

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.bodies import groups
from autojit.ir.regions.scan import scan
from autojit.ir.regions.scan_finals import residuals_of, stored_bytes


def peak_bytes(program: Program) -> int:
    """The peak number of bytes of values, without the inputs.

    Every result counts from its op to its last reader, and the bodies of an op while it runs.
    Constants and values that only move elements of others take nothing. Compiled code needs less,
    because it fuses operations. A loop counts once, with its stacked results. The tape of a
    ``while`` loop has unknown length and is not counted.
    """
    stored: dict[Value, frozenset[Value]] = {v: frozenset() for v in program.inputs}
    last: dict[Value, int] = {}
    for number, op in enumerate(program.ops):
        _place(op, stored)
        last.update((v, number) for operand in op.operands for v in stored[operand])
    for v in program.outputs:
        last.update((root, len(program.ops)) for root in stored[v])
    live = peak = 0
    for number, op in enumerate(program.ops):
        made = [v for v in op.results if stored[v] == {v}]
        live += sum(v.type.nbytes for v in made)
        peak = max(peak, live + max(map(_inside, op.params.values()), default=0))
        gone = [v for v in {r for o in op.operands for r in stored[o]} if last[v] == number]
        unread = [v for v in made if v not in last]
        live -= sum(v.type.nbytes for v in [*gone, *unread])
    return peak


def _place(op: Op, stored: dict[Value, frozenset[Value]]) -> None:
    """The values whose memory the results of an op use: their own, or those that they move."""
    moves = not op.operands or hasattr(op.kind, "sources")
    roots = frozenset().union(*(stored[v] for v in op.operands))
    stored.update((v, roots if moves else frozenset({v})) for v in op.results)


def _inside(value: Any) -> int:
    """The memory of the bodies in a parameter while the op runs: one at a time."""
    if isinstance(value, Program):
        return peak_bytes(value)
    return max(map(_inside, value), default=0) if isinstance(value, tuple) else 0


def stacked_bytes(params: dict[str, Any], *, constants: bool = True) -> int:
    """The values that reverse mode stores in each step of a scan with these parameters.

    All floating-point inputs are differentiated by, and the scan's constants on request.
    """
    body, n, m = params["body"], params["constants"], params["carries"]
    places = [i for i in range(len(body.inputs)) if constants or i > n]
    wrt = [i for i in places if body.in_types[i].is_inexact]
    types = groups(body.in_types, n, 1, m)
    rows = [t.with_shape((params["length"], *t.shape)) for t in types[3]]
    operands = [Value(t) for t in (*types[0], *types[2], *rows)]
    parts, _ = residuals_of(scan, operands, params, wrt)
    return stored_bytes(parts, params)
