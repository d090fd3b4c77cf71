"""Loop programs as Python for Numba: a module with the loops as one function."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

from autojit.codegen.export.text.interface import Interface, result_text
from autojit.codegen.export.text.statements import Statements as UsersStatements
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.loop_ir.origins import sources_of
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import buffers_named, memory, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.program import Program
from autojit.ir.core.types import Type

from . import numba_helpers
from .c_source import buffer_names, checks_of, comments_of
from .numba_statements import NumbaStatements
from .numba_words import dtype_name

_HELPERS = {n for n, f in vars(numba_helpers).items() if inspect.isfunction(f)}


def numba_module(program: Program, loops: LoopProgram, interface: Interface) -> str:
    """Return the module of an optimized program and its loops."""
    taken = [*_HELPERS, "np", "math", "njit"]
    names, _ = buffer_names(program, loops, interface, taken)
    lines = NumbaStatements(checks_of(loops), names)
    comments = UsersStatements()
    for buffer in loops.temps:
        if memory(buffer) is buffer:
            lines.line(f"{lines.buffer(buffer)} = {_empty(buffer)}")
    for step in loops.steps:
        _step(lines, step, comments)
    kernel = f"_{interface.name}_loops"
    arguments = ", ".join(names[b] for b in (*loops.inputs, *loops.outputs))
    is_empty = all(not x or x.lstrip().startswith("#") for x in lines.lines)
    body = [*lines.lines, "    pass"] if is_empty else lines.lines
    text = "\n".join(['@njit(error_model="numpy")', f"def {kernel}({arguments}):", *body])
    return "\n".join([
        *_head(text), "", "", text, "", "",
        *_function(program, loops, interface, names, kernel), "",
    ])  # fmt: skip


def _empty(buffer: Buffer) -> str:
    return f"np.empty({max(1, buffer.size)}, {dtype_name(buffer.dtype)})"


def _step(lines: NumbaStatements, step: Any, comments: UsersStatements) -> None:
    found = comments_of(step, comments, "#")
    if lines.lines:
        lines.line("")
        lines.lines[-1] = ""
    for text in found:
        lines.line(text)
    body = step.body if isinstance(step, Kernel) else [step]
    every = list(walk(body))
    for buffer in dict.fromkeys(memory(b) for s in every for b in buffers_named(s)):
        if buffer.kind == "local":
            lines.line(f"{lines.buffer(buffer)} = {_empty(buffer)}")
        elif buffer.kind == "tape":
            lines.line(f"{lines.buffer(buffer)} = np.empty(0, {dtype_name(buffer.dtype)})")
    try:
        lines.kernel(body)
    except TargetError as error:
        sources = sources_of(step)
        raise TargetError(str(error), error.source or (sources[0] if sources else None)) from None


# -- the function around the loops -----------------------------------------------------


def _function(
    program: Program, loops: LoopProgram, interface: Interface, names: dict[Buffer, str],
    kernel: str,
) -> list[str]:  # fmt: skip
    own = len(program.inputs) - len(program.captured)
    extra = [names[b] for b in loops.inputs[own:]]
    paths = [*interface.inputs, *extra]
    lines = [f"def {interface.name}({', '.join([*interface.parameters, *extra])}):"]
    lines += [f'    """{interface.title}', ""]
    lines += [f"    {p}: {_described(t)}" for p, t in zip(paths, program.in_types, strict=True)]
    texts = [_described(t) for t in program.out_types]
    lines += [f"    Returns {result_text(interface.results, texts)}.", '    """']
    for path, buffer, type in zip(paths, loops.inputs, program.in_types, strict=True):
        made = f"_array({path}, np.{type.dtype.name}, {type.shape})"
        lines.append(f"    {names[buffer]} = {made}")
    results = []
    for buffer, type in zip(loops.outputs, program.out_types, strict=True):
        lines.append(f"    {names[buffer]} = np.empty({buffer.size}, {dtype_name(buffer.dtype)})")
        results.append(_shaped(names[buffer], type))
    arguments = ", ".join(names[b] for b in (*loops.inputs, *loops.outputs))
    lines.append(f"    {kernel}({arguments})")
    lines.append(f"    return {result_text(interface.results, results)}")
    return lines


def _shaped(name: str, type: Type) -> str:
    viewed = f"{name}.view(np.{type.dtype.name})" if type.dtype.kind == "c" else name
    if not type.shape:
        return f"{viewed}[0]"
    return viewed if type.ndim == 1 else f"{viewed}.reshape({type.shape})"


def _described(type: Type) -> str:
    return f"{type.dtype.name}{list(type.shape)}" if type.shape else type.dtype.name


_ARRAY = '''\
def _array(x, dtype, shape):
    """An argument as a flat array; complex numbers are pairs of real ones."""
    found = np.asarray(x)
    if found.shape != shape:
        raise ValueError(f"expected an array of shape {shape}, got one of shape {found.shape}")
    flat = np.ascontiguousarray(found.astype(dtype, casting="same_kind", copy=False)).ravel()
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat'''


def _head(text: str) -> list[str]:
    """Return imports and helper functions, each after the functions that it calls."""
    found: dict[str, str] = {}

    def add(part: str, skip: str = "") -> None:
        for name in dict.fromkeys(re.findall(r"\b_\w+\b", part)):
            if name in _HELPERS and name != skip and name not in found:
                own = _helper(name)
                add(own, name)
                found[name] = own

    add(text)
    every = "\n".join([text, *found.values()])
    lines = ["import math", ""] if "math." in every else []
    lines += ["import numpy as np", "from numba import njit", "", "", _ARRAY]
    for own in found.values():
        lines += ["", "", '@njit(error_model="numpy")', own]
    return lines


@cache
def _helper(name: str) -> str:
    return inspect.getsource(getattr(numba_helpers, name)).rstrip()
