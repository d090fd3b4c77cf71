"""Kernels that are equal up to extents and offsets become one function that takes these numbers.

A Python loop over shrinking arrays (a binomial tree) leaves a kernel for each step, and all differ
in some number. LLVM would compile each of them.

Legal where the texts are equal up to 64-bit integers in the instructions of ``_INSTRUCTION``: all
other numbers, words and metadata are equal, and no loop asks LLVM to unroll by a number that it
would not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from llvmlite import ir

#: Merging is worth it from this many kernels on, the number of steps of repetitions that are found
#: (``LEAST_STEPS`` of that search). Fewer stay separate: LLVM optimizes known numbers better.
LEAST = 8
#: The most numbers that a function may take.
MOST = 8

I64 = ir.IntType(64)

#: Instructions whose 64-bit numbers may differ: arithmetic, addresses, and starts of loops.
#: Divisors stay constants that LLVM knows, so that it can multiply instead.
_INSTRUCTION = re.compile(
    r"^  \S+ = (?:(?:add|sub|mul|icmp) [a-z ]*i64 |getelementptr inbounds \S+, ptr |phi  i64 ).*$",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(?<=[ \[])-?\d+(?= ?,|$)")
#: Requests that LLVM could not fulfil without knowing the numbers.
_ASKED = ("llvm.loop.unroll.full", "llvm.loop.interleave.count")
_METADATA = re.compile(r"!(\d+)\b")
_LOCATION = re.compile(r",? !dbg !\d+")
_LABELS = re.compile(r'!"(?:loop|group) \d+"|!"autojit\.loop", !"[^"]*"')


class Call(NamedTuple):
    """A call of a kernel in the core."""

    instruction: ir.CallInstr
    kernel: ir.Function


class _Group(NamedTuple):
    """Kernels whose texts are equal up to numbers, and the numbers of each."""

    kernels: list[ir.Function]
    numbers: list[list[str]]

    @property
    def varying(self) -> list[tuple[str, ...]]:
        """The distinct columns of numbers that differ between kernels."""
        return [c for c in dict.fromkeys(zip(*self.numbers, strict=True)) if len(set(c)) > 1]


def merged(module: ir.Module, calls: Sequence[Call], printed: dict[str, str]) -> None:
    """Replace kernels that are alike by one function, and let the calls call it.

    ``printed`` contains the LLVM IR of the kernels, by name.
    """
    kernels = {call.kernel.name: call.kernel for call in calls}
    if len(kernels) < LEAST:
        return
    described = _Described(module)
    groups: dict[str, _Group] = {}
    for name, kernel in kernels.items():
        words = printed[name].replace(f'@"{name}"', "@f", 1)
        skeleton = described.skeleton(words)
        if any(mark in skeleton for mark in _ASKED):
            continue
        group = groups.setdefault(skeleton, _Group([], []))
        group.kernels.append(kernel)
        group.numbers.append(_numbers(words))
    taken: dict[str, tuple[ir.Function, list[ir.Constant]]] = {}
    for group in groups.values():
        if len(group.kernels) >= LEAST and len(group.varying) <= MOST:
            function = _general(module, group, printed)
            for k, kernel in enumerate(group.kernels):
                numbers = [ir.Constant(I64, int(column[k])) for column in group.varying]
                taken[kernel.name] = function, numbers
                del module.globals[kernel.name], printed[kernel.name]
    for instruction, kernel in calls:
        if kernel.name in taken:
            function, numbers = taken[kernel.name]
            instruction.operands = [function, *instruction.args, *numbers]


def _general(module: ir.Module, group: _Group, printed: dict[str, str]) -> ir.Function:
    """Return the function of a group: the text of the first kernel, with numbers as arguments after
    its own."""
    first, varying = group.kernels[0], group.varying
    name = f"{first.name}_of_any"
    kinds = [*first.ftype.args, *[I64] * len(varying)]
    made = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    made.linkage = "internal"
    made.attributes.add("nounwind")
    places = {column: f'%"number.{k}"' for k, column in enumerate(varying)}
    columns = zip(*group.numbers, strict=True)
    head, body = printed[first.name].split("\n", 1)
    own = ", ".join(f"i64 {place}" for place in places.values())
    if first.ftype.args:
        own = f", {own}" if own else ""
    taken, _, attributes = head.replace(first.name, name, 1).rpartition(")")
    head = f"{taken}{own}){attributes}"
    body = _replaced(body, lambda number: places.get(next(columns), number))
    printed[name] = f"{head}\n{body}"
    return made


def _replaced(words: str, replacement: Callable[[str], str]) -> str:
    """Replace each number in LLVM IR that may differ."""

    def each(instruction: re.Match[str]) -> str:
        return _NUMBER.sub(lambda m: replacement(m[0]), instruction[0])

    return _INSTRUCTION.sub(each, words)


def _numbers(words: str) -> list[str]:
    found = (_NUMBER.findall(m[0]) for m in _INSTRUCTION.finditer(words))
    return [number for numbers in found for number in numbers]


class _Described:
    """Text with metadata replaced by its contents, without labels of loops and the locations of
    code that is displayed."""

    def __init__(self, module: ir.Module) -> None:
        self.nodes = [str(node) for node in module.metadata]

    def skeleton(self, words: str) -> str:
        numbers: dict[str, str] = {}

        def described(m: re.Match[str]) -> str:
            if m[1] not in numbers:
                numbers[m[1]] = f"!{len(numbers)}"
                node = self.nodes[int(m[1])].partition(" = ")[2]
                numbers[m[1]] += _METADATA.sub(described, _LABELS.sub("", node))
            return numbers[m[1]]

        words = _LOCATION.sub("", _replaced(words, lambda number: "#"))
        return _METADATA.sub(described, words)
