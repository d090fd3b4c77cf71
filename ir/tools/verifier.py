"""The verifier checks, op by op, the conditions that every program must satisfy.

Values are defined once and before they are read; recorded types are those that the declarations
infer; parameters are those that the declarations name, and static.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autojit.ir.core.host import HostFunction
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import Type, TypeMismatch

from .text import program_lines

#: Lines of text that an error shows before and after the fault.
_CONTEXT = 5

_STATIC = (bool, int, float, complex, str, type(None))


class VerificationError(Exception):
    """A program that breaks a rule; the message shows the lines around the fault."""


class _Fault(Exception):
    """A fault of the op that is being checked."""


def verify(program: Program) -> None:
    """Raise :class:`VerificationError` unless the program is well formed."""
    defined: set[Value] = set()
    where = 0  # 0 is the line of the inputs, k that of op k, counted from 1
    try:
        _define(program.inputs, defined)
        if len(program.captured) > len(program.inputs):
            raise _Fault("there are more captured arrays than inputs")
        for where, op in enumerate(program.ops, 1):  # noqa: B007
            _check_operands(op, defined)
            _check_params(op)
            _check_types(op)
            _define(op.results, defined)
        where = len(program.ops) + 1
        for position, value in enumerate(program.outputs):
            if value not in defined:
                raise _Fault(f"output {position} is not defined")
    except _Fault as fault:
        raise VerificationError(_report(program, where, str(fault))) from None


def _define(values: Iterable[Value], defined: set[Value]) -> None:
    for value in values:
        if value in defined:
            raise _Fault(f"a value of type {value.type} is defined twice")
        defined.add(value)


def _check_operands(op: Op, defined: set[Value]) -> None:
    for position, value in enumerate(op.operands):
        if value not in defined:
            raise _Fault(f"operand {position} of {op.kind.name} is not defined before it is read")


def _check_params(op: Op) -> None:
    try:
        op.kind.check_signature(len(op.operands), op.params)
    except TypeMismatch as error:
        raise _Fault(str(error)) from None
    for name, value in op.params.items():
        _check_static(op, name, value)


def _check_static(op: Op, name: str, value: Any) -> None:
    if type(value) is tuple:
        for item in value:
            _check_static(op, name, item)
    elif isinstance(value, Program):
        verify(value)
    elif type(value) not in _STATIC and not isinstance(value, (str, np.dtype, Type, HostFunction)):
        raise _Fault(
            f"parameter {name} of {op.kind.name} holds a {type(value).__name__}; parameters are "
            f"Python numbers, strings, None, dtypes, types, programs, functions of the process and "
            "tuples of those"
        )


def _check_types(op: Op) -> None:
    try:
        inferred = op.kind.infer(*[v.type for v in op.operands], **op.params)
    except Exception as error:  # whatever an op makes of operands that do not fit
        raise _Fault(f"{op.kind.name}: {error}") from error
    recorded = tuple(v.type for v in op.results)
    if recorded != inferred:
        raise _Fault(f"{op.kind.name} gives {_listed(inferred)}, recorded is {_listed(recorded)}")


def _listed(items: Iterable[Any]) -> str:
    return ", ".join(map(str, items)) or "nothing"


def _report(program: Program, where: int, fault: str) -> str:
    lines = program_lines(program)
    shown = range(max(0, where - _CONTEXT), min(len(lines), where + _CONTEXT))
    numbered = [f"{'-->' if i == where else '   '} {lines[i]}" for i in shown]
    return "\n".join([f"program {program.name} is not well formed: {fault}", *numbered])
