"""A kernel and its device functions become a module of LLVM IR.

The types are those of NVVM IR, in which pointers have the types of their elements
(https://docs.nvidia.com/cuda/nvvm-ir-spec).  A device function is translated once for each list of
the kinds of its arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from .arithmetic import binary
from .body import Body, Declarations
from .kinds import LLVM, OF_NUMPY, STORED, Array, Value, constant, refused
from .statements import Statements

#: The first lines of every module.
HEADER = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-\
f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
"""


class Parameter(Protocol):
    """A buffer of a kernel (``driver/compiler.py:Parameter``)."""

    @property
    def dtype(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def by_value(self) -> bool: ...
    @property
    def per_step(self) -> bool: ...
    @property
    def aligned(self) -> int: ...
    @property
    def exchanged(self) -> bool: ...


class _Function(NamedTuple):
    """A translated device function."""

    name: str
    #: The kind of its value; empty if it has none.
    kind: str
    waits: bool


class Module:
    """Translates one text."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        self._given = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
        self._declarations = Declarations()
        self._functions: dict[tuple[str, tuple[str, ...]], _Function] = {}
        self._texts: list[str] = []

    def kernel(
        self, name: str, entry: str, parameters: Sequence[Parameter], version: Sequence[int]
    ) -> str:  # fmt: skip
        """The LLVM IR of a kernel, which is named ``entry`` in it.

        ``version`` is that of NVVM IR and of its debug information.
        """
        function = self._given[name]
        body = Body(self._declarations)
        statements = Statements(body, self._called, function.body)
        declared: list[str] = []
        for n, (argument, p) in enumerate(zip(function.args.args, parameters, strict=True)):
            declared += _declared(n, p)
            array = _array(body, n, p)
            body.bind(argument.arg, array, is_swapped=argument.arg in statements.swapped)
        statements.translate()
        if statements.finish():
            raise refused("a kernel returns a value")
        self._texts.append(_text("define void", entry, declared, body))
        types = ", ".join(d.split()[0] for d in declared)
        pointer = f"void ({types})* @{entry}"
        numbers = ", ".join(f"i32 {n}" for n in version)
        end = [
            f"@llvm.used = appending global [1 x i8*] [i8* bitcast ({pointer} to i8*)], "
            'section "llvm.metadata"',
            "!nvvmir.version = !{!0}",
            "!nvvm.annotations = !{!1}",
            f"!0 = !{{{numbers}}}",
            f'!1 = !{{{pointer}, !"kernel", i32 1}}',
        ]
        return "\n".join([HEADER, *self._declarations.lines.values(), *self._texts, *end, ""])

    def _called(self, body: Body, name: str, arguments: list[Value | Array]) -> Value | None:
        """Call a device function."""
        kinds = tuple(a.kind if isinstance(a, Value) else f"{a.kind}*" for a in arguments)
        found = self._functions.get((name, kinds))
        if found is None:
            found = self._functions[name, kinds] = self._function(name, kinds)
        body.waits |= found.waits
        passed = ", ".join(_passed(a) for a in arguments)
        if found.kind:
            return body.define(found.kind, f"call {LLVM[found.kind]} @{found.name}({passed})")
        body.line(f"call void @{found.name}({passed})")
        return None

    def _function(self, name: str, kinds: Sequence[str]) -> _Function:
        function = self._given.get(name)
        if function is None:
            raise refused(f"{name} is not defined")
        body = Body(self._declarations)
        statements = Statements(body, self._called, function.body)
        declared = []
        for n, (argument, kind) in enumerate(zip(function.args.args, kinds, strict=True)):
            if kind.endswith("*"):
                stored = STORED[kind[:-1]]
                declared.append(f"{stored}* %a{n}")
                body.names[argument.arg] = Array(kind[:-1], f"%a{n}", None)
            else:
                declared.append(f"{LLVM[kind]} %a{n}")
                statements.set(argument.arg, Value(kind, f"%a{n}"))
        statements.translate()
        kind = statements.finish()
        own = f"{name}.{len(self._functions)}"
        result = LLVM[kind] if kind else "void"
        self._texts.append(_text(f"define internal {result}", own, declared, body))
        return _Function(own, kind, body.waits)


def _declared(n: int, p: Parameter) -> Iterator[str]:
    """The LLVM parameters of a buffer."""
    stored = STORED[OF_NUMPY[p.dtype]]
    if p.by_value:
        yield f"{stored} %a{n}"
        return
    apart = "" if p.exchanged else "noalias "
    aligned = f"align {p.aligned} " if p.aligned > 1 else ""
    yield f"{stored}* {apart}{aligned}%a{n}"
    if p.per_step:
        yield f"i64 %steps{n}"


def _array(body: Body, n: int, p: Parameter) -> Array:
    """The array of a buffer; a number that is passed by value is stored in one."""
    kind = OF_NUMPY[p.dtype]
    stored = STORED[kind]
    if p.by_value:
        slot = body.slot(f"number{n}", stored)
        body.line(f"store {stored} %a{n}, {stored}* {slot}")
        return Array(kind, slot, constant("i64", 1))
    count = constant("i64", max(1, p.size) if p.per_step else p.size)
    if p.per_step:
        count = binary(body, "*", count, Value("i64", f"%steps{n}"))
    return Array(kind, f"%a{n}", count)


def _passed(a: Value | Array) -> str:
    return a.typed if isinstance(a, Value) else f"{STORED[a.kind]}* {a.pointer}"


def _text(start: str, name: str, declared: Iterable[str], body: Body) -> str:
    """A function as text.

    A function in which threads wait for each other must not be called in more places than written.
    """
    marks = " alwaysinline convergent" if body.waits and "internal" in start else ""
    marks = " convergent" if body.waits and not marks else marks
    lines = [f"{start} @{name}({', '.join(declared)}){marks} {{", "start:", *body.first]
    return "\n".join([*lines, *body.lines, "}"])
