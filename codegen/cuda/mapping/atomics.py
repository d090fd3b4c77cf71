"""Combining into memory where several threads may do so at the same place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Atomic
from autojit.codegen.loop_ir.nodes import AccumulateInto, Loop, ScatterInto


def made_atomic(body: list[Any]) -> list[Any]:
    """Statements whose combining is atomic."""
    return [_made(s) for s in body]


def _made(s: Any) -> Any:
    if isinstance(s, Loop):
        return replace(s, body=made_atomic(s.body))
    if isinstance(s, ScatterInto):
        return Atomic(s.buffer, s.index, s.places, s.combine, s.value)
    if isinstance(s, AccumulateInto):
        return Atomic(s.buffer, s.index, (), s.combine, s.value)
    return s
