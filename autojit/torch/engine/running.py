"""Runs the program of a rule as a Python function with one line per operation.

Programs of derivatives have few operations and run on small arrays, so a loop over the operations
would take longer than NumPy.  For complex numbers, PyTorch's cotangents are the conjugates of
autojit's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import is_half
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.move import Broadcast

#: An array that a rule reads: ("in", i), ("out", j), ("cotangent", j) or ("residual", k).
Source = tuple[str, int]


def straight(
    program: Program, evaluation: Callable[[Op], Callable[..., Any]]
) -> Callable[..., list[Any]]:
    """A function from the arrays of a program's inputs to the list of its outputs' arrays.

    ``evaluation``  returns the function that computes an operation; its results have the
                    operation's types, except that results without axes may be NumPy scalars
    """
    scope: dict[str, Any] = {"array": np.ndarray, "in_dtype": in_dtype}
    names = {v: f"x{k}" for k, v in enumerate(program.inputs)}
    lines = [f"def straight({', '.join(names.values())}):"]
    left = _implied(program)
    for k, op in enumerate(program.ops):
        if op in left:
            names[op.result] = names[op.operands[0]]
            continue
        made = [f"y{k}_{j}" for j in range(len(op.results))]
        names.update(zip(op.results, made, strict=True))
        scope[f"f{k}"] = evaluation(op)
        given = ", ".join(names[v] for v in op.operands)
        end = "" if len(made) == 1 else ","
        lines.append(f"    {', '.join(made)}{end} = f{k}({given})")
    results = []
    for k, v in enumerate(program.outputs):
        scope[f"d{k}"], name = v.dtype, names[v]
        is_ready = f"{name}.__class__ is array and {name}.dtype is d{k}"
        results.append(f"{name} if {is_ready} else in_dtype({name}, d{k})")
    lines.append(f"    return [{', '.join(results)}]")
    exec(compile("\n".join(lines), "<autojit.torch>", "exec"), scope)
    made_function: Callable[..., list[Any]] = scope["straight"]
    return made_function


def _implied(program: Program) -> set[Op]:
    """The broadcasts that NumPy's functions do implicitly.

    Legal where the operand's axes are the last ones of the result, so that NumPy aligns them in the
    same way, and where all readers of the result are elementwise NumPy functions that have another
    operand of the result's shape, which is not itself an omitted broadcast.
    """
    readers: dict[Value, list[Op]] = {}
    for op in program.ops:
        for v in op.operands:
            readers.setdefault(v, []).append(op)
    outputs = set(program.outputs)
    found: set[Op] = set()
    gone: set[Value] = set()
    for op in program.ops:
        if not isinstance(op.kind, Broadcast) or op.result in outputs:
            continue
        shape, dims = op.params["shape"], tuple(op.params["dims"])
        at_end = dims == tuple(range(len(shape) - len(dims), len(shape)))
        if at_end and all(_broadcasts(r, op.result, gone) for r in readers.get(op.result, ())):
            found.add(op)
            gone.add(op.result)
    return found


def _broadcasts(op: Op, value: Value, gone: set[Value]) -> bool:
    """Whether NumPy computes the same result if an operand of the op is not broadcast before."""
    kind = op.kind
    if not (isinstance(kind, Elementwise) and isinstance(kind.numpy, np.ufunc)) or op.params:
        return False
    if any(is_half(v.dtype) for v in (*op.operands, *op.results)):
        return False
    others: Sequence[Value] = [v for v in op.operands if v is not value and v not in gone]
    return any(v.type.shape == op.result.type.shape for v in others)


def is_complex(program: Program) -> bool:
    """Whether inputs or results are complex."""
    return any(t.dtype.kind == "c" for t in (*program.in_types, *program.out_types))


def conjugated(
    run: Callable[[Sequence[Any]], list[Any]], sources: Sequence[Source]
) -> Callable[[Sequence[Any]], list[Any]]:
    """``run``, with PyTorch's convention: complex cotangents are conjugated before and after."""
    given = _with_conjugates(sources)
    return lambda arrays: [_conjugate(r) for r in run(given(arrays))]


def conjugated_call(call: Callable[..., Any], sources: Sequence[Source]) -> Callable[..., Any]:
    """The same for a function of the arrays of tensors."""
    given = _with_conjugates(sources)

    def called(*arrays: Any) -> Any:
        made = call(*given(arrays))
        return tuple(map(_conjugate, made)) if made.__class__ is tuple else _conjugate(made)

    return called


def _with_conjugates(sources: Sequence[Source]) -> Callable[[Sequence[Any]], list[Any]]:
    cotangents = {k for k, (kind, _) in enumerate(sources) if kind == "cotangent"}
    return lambda arrays: [_conjugate(a) if k in cotangents else a for k, a in enumerate(arrays)]


def _conjugate(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x
