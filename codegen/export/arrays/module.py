"""A whole module: its imports, the helper functions that it needs, and the function."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from autojit.codegen.export.text.expressions import Expression
from autojit.codegen.export.text.interface import MOST_WRITTEN, Interface, result_text
from autojit.codegen.export.text.names import Names
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import Type
from autojit.ir.ops.checks import Ensure
from autojit.ir.ops.elementwise import Convert, RealPart
from autojit.ir.ops.move import Move

from . import helpers
from .elementwise import THEMSELVES
from .forms import FORMS, REFUSED
from .writer import Writer, dtype_text, shape_text

_MODULES = {"special": "from scipy import special", "linalg": "from scipy import linalg"}
_LOCAL = {name for name, f in vars(helpers).items() if inspect.isfunction(f)}


def numpy_module(program: Program, interface: Interface) -> str:
    """Return the module of an optimized program.

    Raises TargetError if an op has no form in NumPy.
    """
    names = Names([*interface.parameters, interface.name, "np", *_MODULES, *_LOCAL])
    w = Writer(FORMS, REFUSED, names)
    extra = _arguments(w, program, interface)
    results = w.body(program, interface.outputs)
    if w.lines and w.lines[-1]:
        w.line("")
    texts = [_own(w, v, program, made) for v, made in zip(program.outputs, results, strict=True)]
    w.line(f"return {result_text(interface.results, texts)}")
    parameters = ", ".join([*interface.parameters, *extra])
    return "\n".join([
        *_head(w), "", "",
        '@np.errstate(all="ignore")  # infinities and NaN are results',
        f"def {interface.name}({parameters}):",
        *_docstring(program, interface, extra),
        *w.lines, "",
    ])  # fmt: skip


def _arguments(w: Writer, program: Program, interface: Interface) -> list[str]:
    """Bind the inputs. Return the parameters for large arrays of the closure."""
    own = len(program.inputs) - len(program.captured)
    read = {v for op in program.ops for v in op.operands} | set(program.outputs)
    check = w.need("_array")
    for v, path in zip(program.inputs[:own], interface.inputs, strict=True):
        name = path if path in interface.parameters else w.names.fresh(path)
        w.bind(v, Expression(name))
        if v in read:
            dtype, shape = dtype_text(v.dtype), v.shape
            w.line(f"{name} = {check}({path}, {dtype}, {shape})")
    extra = []
    given = zip(program.inputs[own:], program.captured, interface.captured, strict=True)
    for v, array, wanted in given:
        if v not in read:
            continue
        name = w.names.fresh(wanted)
        w.bind(v, Expression(name))
        text = array_text(np.asarray(array))
        if text is None:
            extra.append(name)
            w.line(f"{name} = {check}({name}, {dtype_text(v.dtype)}, {v.shape})")
        else:
            w.line(f"{name} = {text}")
    w.line("")
    return extra


def array_text(array: np.ndarray) -> str | None:
    """Return an expression that makes an array; None if it is too long.

    >>> array_text(np.eye(3)), array_text(np.arange(2, 30)), array_text(np.zeros((2, 3)))
    ('np.eye(3)', 'np.arange(2, 30)', 'np.zeros((2, 3))')
    """
    dtype = dtype_text(array.dtype)
    given = "" if array.dtype in (np.float64, np.int64) else f", dtype={dtype}"
    if array.ndim == 2 and array.size and _same(array, np.eye(*array.shape, dtype=array.dtype)):
        extents = dict.fromkeys(array.shape)
        own = "" if array.dtype == np.float64 else f", dtype={dtype}"
        return f"np.eye({', '.join(map(str, extents))}{own})"
    if array.ndim == 1 and array.size > 2 and array.dtype.kind == "i":
        first, step = int(array[0]), int(array[1] - array[0])
        if step and _same(array, first + step * np.arange(array.size, dtype=array.dtype)):
            stop = first + step * array.size
            ends = [str(first), str(stop)] if first or step != 1 else [str(stop)]
            return f"np.arange({', '.join(ends + ([str(step)] if step != 1 else []))}{given})"
    if array.size > 4 and _same(array, np.zeros_like(array)):
        own = "" if array.dtype == np.float64 else f", dtype={dtype}"
        return f"np.zeros({shape_text(array.shape)}{own})"
    if array.size > MOST_WRITTEN:
        return None
    if array.dtype.kind == "c" and not np.isfinite(array).all():
        return None
    inner = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(array.tolist()))
    shaped = "" if array.size else f".reshape({array.shape})"
    return f"np.array({inner}, dtype={dtype}){shaped}"


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.tobytes() == b.tobytes()


def _own(w: Writer, value: Value, program: Program, made: Expression) -> str:
    """Return a result that shares no memory with an argument or another result."""
    op = w.maker(value)
    shares = op is None or _may_be_operand(op) or program.outputs.count(value) > 1
    return f"np.array({made.text})" if value.shape and shares else made.text


def _may_be_operand(op: Op) -> bool:
    """Whether the written form of an op may be an operand, or a view of one."""
    if op.programs or isinstance(op.kind, (Move, RealPart, Convert, Ensure)):
        return True
    return op.kind in THEMSELVES or not op.params.get("axes", True)


def _docstring(program: Program, interface: Interface, extra: Sequence[str]) -> list[str]:
    own = len(program.inputs) - len(program.captured)
    pairs = zip(interface.inputs, program.inputs[:own], strict=True)
    lines = [f'    """{interface.title}', ""]
    lines += [f"    {path}: {_described(v.type)}" for path, v in pairs]
    captured = dict(zip(interface.captured, program.inputs[own:], strict=False))
    lines += [
        f"    {name}: {_described(captured[name].type)}, which the function closed over"
        for name in extra if name in captured
    ]  # fmt: skip
    texts = [_described(t) for t in program.out_types]
    lines.append(f"    Returns {result_text(interface.results, texts)}.")
    return [*lines, '    """']


def _described(type: Type) -> str:
    return f"{type.dtype.name}{list(type.shape)}" if type.shape else type.dtype.name


def _head(w: Writer) -> list[str]:
    """Return imports and helper functions, with the helpers that these call."""
    needed: dict[str, str] = {}
    modules: set[str] = set()
    waiting = list(w.needs)
    while waiting:
        name = waiting.pop(0)
        if name in _MODULES:
            modules.add(name)
        elif name not in needed:
            needed[name], used = _helper(name)
            waiting += used
    lines = ["import numpy as np", *(_MODULES[m] for m in sorted(modules))]
    for name in sorted(needed):
        lines += ["", "", needed[name]]
    return lines


@cache
def _helper(name: str) -> tuple[str, list[str]]:
    """Return the text of a helper function, and the names that it uses itself."""
    text = inspect.getsource(getattr(helpers, name)).rstrip()
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return text, sorted(used & (_LOCAL | set(_MODULES)))
