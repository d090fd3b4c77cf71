"""Sheets: their text, the parser of it, and the computation of their rows.

sheet y, z = x in cells:
  constants 0.5, 1.0
  [4] = mul([2], [0])
  [5:+2] = tanh([2:])
  y = [5:]
  z = [4:]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.sheets import FUSED, OWN, ROW, TRUTHS, Sheet
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_ir.vocabulary import WORDS

from .tokens import Tokens
from .words import function_of

# -- text -------------------------------------------------------------------------------


def arity(word: str) -> int:
    """Return the number of operands of a row's word."""
    return OWN.get(word) or WORDS["f"].get(word) or 2


def print_sheet(s: Sheet, names: Any, indent: str, lines: list[str]) -> None:
    outputs, inputs = (", ".join(map(names.buffer, found)) for found in (s.outputs, s.inputs))
    lines.append(f"{indent}sheet {outputs} = {inputs} in {names.buffer(s.cells)}:")
    indent += "  "
    if s.constants:
        lines.append(f"{indent}constants {', '.join(map(repr, s.constants))}")
    for word, extent, result, *operands in s.table.tolist():
        name = s.words[word]
        read = ", ".join(_cells(o, extent) for o in operands[: arity(name)])
        to = f"[{result}:+{extent}]" if extent > 1 else f"[{result}]"
        lines.append(f"{indent}{to} = {name}({read})")
    for buffer, place in zip(s.outputs, s.places, strict=True):
        lines.append(f"{indent}{names.buffer(buffer)} = [{place}:]")


def _cells(operand: int, extent: int) -> str:
    return f"[{~operand}]" if operand < 0 else f"[{operand}{':' if extent > 1 else ''}]"


PRINTED: dict[type, Callable[[Any, Any, str, list[str]], None]] = {Sheet: print_sheet}


def parse_sheet(t: Tokens, buffer: Callable[[], Buffer]) -> Sheet:
    """Parse a sheet whose first word has been read."""
    outputs = _buffers(t, buffer, "=")
    inputs = _buffers(t, buffer, "in")
    made = Sheet(buffer(), tuple(inputs), tuple(outputs), (), (), (), b"")
    t.mark(":")
    t.end_line()
    t.take("indent", "the rows of the sheet")
    if t.has("constants"):
        made.constants = _numbers(t)
    rows, words = list[list[int]](), dict[str, int]()
    while t.next.kind == "mark":
        rows.append(_row(t, words))
    made.words, made.rows = tuple(words), np.array(rows, np.int32).tobytes()
    made.places = tuple(_place(t, buffer, b) for b in outputs)
    t.take("dedent", "the end of the sheet")
    return made


def _buffers(t: Tokens, buffer: Callable[[], Buffer], end: str) -> list[Buffer]:
    found: list[Buffer] = []
    while not t.has(end):
        if found:
            t.mark(",")
        found.append(buffer())
    return found


def _numbers(t: Tokens) -> tuple[float, ...]:
    found = [_number(t)]
    while t.has(","):
        found.append(_number(t))
    t.end_line()
    return tuple(found)


def _number(t: Tokens) -> float:
    sign = -1.0 if t.has("-") else 1.0
    kind = "word" if t.next.text in ("inf", "nan") else "number"
    return sign * float(t.take(kind, "a number").text)


def _row(t: Tokens, words: dict[str, int]) -> list[int]:
    t.mark("[")
    result, extent = t.integer("a cell"), 1
    if t.has(":"):
        t.mark("+")
        extent = t.integer("a number of cells")
    t.mark("]", "=")
    token = t.take("word", "a word")
    if token.text not in {**WORDS["f"], **OWN} and token.text not in TRUTHS:
        t.fail(f"rows have no word {token.text}", token)
    t.mark("(")
    operands: list[int] = []
    for k in range(arity(token.text)):
        if k:
            t.mark(",")
        operands.append(_operand(t, extent))
    t.mark(")")
    t.end_line()
    word = words.setdefault(token.text, len(words))
    return [word, extent, result, *operands, *[0] * (ROW - 3 - len(operands))]


def _operand(t: Tokens, extent: int) -> int:
    t.mark("[")
    cell = t.integer("a cell")
    steps = t.has(":")
    t.mark("]")
    return cell if steps or extent == 1 else ~cell


def _place(t: Tokens, buffer: Callable[[], Buffer], expected: Buffer) -> int:
    token = t.next
    if buffer() is not expected:
        t.fail(f"expected where {expected} is", token)
    t.mark("=", "[")
    place = t.integer("a cell")
    t.mark(":", "]")
    t.end_line()
    return place


# -- computation --------------------------------------------------------------------------


def run_sheet(s: Sheet, array: Callable[[Buffer], np.ndarray]) -> None:
    """Compute the cells and the outputs; products and sums are rounded separately."""
    cells = array(s.cells)
    cells[: len(s.constants)] = s.constants
    for buffer, start in zip(s.inputs, s.starts, strict=True):
        cells[start : start + buffer.size] = array(buffer)
    for word, extent, result, *operands in s.table.tolist():
        name = s.words[word]
        read = [
            cells[~o : ~o + 1] if o < 0 else cells[o : o + extent] for o in operands[: arity(name)]
        ]
        made = _computed(name, read)
        cells[result : result + (1 if name == "sum" else extent)] = made
    for buffer, place in zip(s.outputs, s.places, strict=True):
        array(buffer)[:] = cells[place : place + buffer.size]


def _computed(word: str, args: list[np.ndarray]) -> Any:
    if word == "copy":
        return args[0]
    if word == "sum":  # NumPy itself sums in another order
        return np.add.accumulate(args[0])[-1]
    if word == "select":
        return np.where(args[0] != 0, *args[1:])
    if word in FUSED:
        product = args[0] * args[1]
        if word == "mul_add":
            return product + args[2]
        return product - args[2] if word == "mul_sub" else args[2] - product
    if word in OWN:
        return function_of(word)(*(x != 0 for x in args))
    return function_of(word)(*args)
