"""Programs as JSON: an object with typed inputs, a list of ops, and outputs.

Values are numbered in the order of their definition, as in the text.  Dtypes, complex numbers,
infinities and NaN are strings in the text's notation.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.text import print_static
from autojit.staging.inspection import Lowered


def as_json(lowered: Lowered, stage: str) -> str:
    """The JSON text of the traced or optimised program."""
    program = lowered.program if stage == "trace" else optimize(lowered.program)
    return json.dumps(program_object(program), indent=2)


def program_object(program: Program) -> dict[str, Any]:
    """A program as an object that JSON can represent.

    >>> p = autojit.parse('''program p(%0: f64[3]) {
    ...   %1: f64[3] = sin %0
    ...   return %1
    ... }''')
    >>> program_object(p)["ops"][0]
    {'op': 'sin', 'operands': [0], 'params': {}, 'results': [{'id': 1, 'type': 'f64[3]'}]}
    """
    numbers: dict[Value, int] = {}

    def define(value: Value) -> dict[str, Any]:
        numbers[value] = len(numbers)
        return {"id": numbers[value], "type": str(value.type)}

    def op_object(op: Op) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "op": op.kind.name,
            "operands": [numbers[v] for v in op.operands],
            "params": {name: _param(value) for name, value in sorted(op.params.items())},
            "results": [define(v) for v in op.results],
        }
        if op.source:
            shown["source"] = str(op.source)
        return shown

    return {
        "name": program.name,
        "inputs": [define(v) for v in program.inputs],
        "ops": [op_object(op) for op in program.ops],
        "outputs": [numbers[v] for v in program.outputs],
    }


def _param(value: Any) -> Any:
    if isinstance(value, Program):
        return program_object(value)
    if isinstance(value, tuple):
        return [_param(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return print_static(value)
    if isinstance(value, (np.dtype, complex)):
        return print_static(value)
    return value
