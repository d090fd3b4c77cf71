"""The lines of one LLVM function: temporaries, blocks, and variables in memory.

Variables are slots of the stack, which LLVM turns into registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .kinds import LLVM, STORED, Array, Value, refused


class Declarations:
    """The functions and shared arrays that a module declares, each once."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self._shared = 0

    def function(self, name: str, result: str, arguments: Sequence[str]) -> None:
        self.lines[name] = f"declare {result} @{name}({', '.join(arguments)})"

    def shared(self, element: str, count: int, aligned: int) -> str:
        """The name of a new array in the shared memory of a block."""
        name = f"shared{self._shared}"
        self._shared += 1
        self.lines[name] = (
            f"@{name} = internal addrspace(3) global [{count} x {element}] undef, align {aligned}"
        )
        return name


class Body:
    """The lines of a function as they are written."""

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self.lines: list[str] = []
        #: The lines before all others: the slots of variables, and arrays.
        self.first: list[str] = []
        self.label = "start"
        #: Whether the current block goes on; after a jump or a return it does not.
        self.is_open = True
        #: The variables: a kind for a scalar in a slot, or an array.
        self.names: dict[str, str | Array] = {}
        self._count = 0
        #: Whether threads wait for each other here, or exchange registers.
        self.waits = False

    # -- lines --------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def fresh(self, word: str = "v") -> str:
        self._count += 1
        return f"{word}{self._count}"

    def define(self, kind: str, text: str) -> Value:
        """Add a line that computes a value."""
        name = f"%{self.fresh()}"
        self.line(f"{name} = {text}")
        return Value(kind, name)

    def begin(self, label: str) -> None:
        """Begin a block; the block before goes on in it."""
        self.jump(label)
        self.lines.append(f"{label}:")
        self.label, self.is_open = label, True

    def jump(self, label: str) -> None:
        if self.is_open:
            self.line(f"br label %{label}")
        self.is_open = False

    def fork(self, test: Value, yes: str, no: str) -> None:
        self.line(f"br {test.typed}, label %{yes}, label %{no}")
        self.is_open = False

    @contextmanager
    def apart(self) -> Iterator[list[str]]:
        """Collect the lines of a block in a list of their own."""
        before, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = before

    # -- functions and memory -------------------------------------------------

    def call(self, kind: str, name: str, arguments: Sequence[Value]) -> Value:
        """Call a declared function of scalars."""
        types = [LLVM[a.kind] for a in arguments]
        self.declarations.function(name, LLVM[kind], types)
        return self.define(kind, self.calling(LLVM[kind], name, arguments))

    def do(self, name: str, arguments: Sequence[Value] = ()) -> None:
        """Call a declared function without a result."""
        self.declarations.function(name, "void", [LLVM[a.kind] for a in arguments])
        self.line(self.calling("void", name, arguments))

    def calling(self, result: str, name: str, arguments: Sequence[Value]) -> str:
        return f"call {result} @{name}({', '.join(a.typed for a in arguments)})"

    def slot(self, name: str, llvm: str) -> str:
        """A new slot of the stack."""
        place = f"%{self.fresh(name + '.')}"
        self.first.append(f"  {place} = alloca {llvm}")
        return place

    def bind(self, name: str, found: Array, *, is_swapped: bool) -> None:
        """Give an array a name; if it changes places with others, its pointer is in a slot."""
        if is_swapped:
            stored = STORED[found.kind]
            slot = self.slot(name, f"{stored}*")
            self.line(f"store {stored}* {found.pointer}, {stored}** {slot}")
            found = Array(found.kind, slot, found.count, is_swapped=True)
        self.names[name] = found

    def array(self, name: str) -> Array:
        """An array by its name."""
        found = self.names.get(name)
        if not isinstance(found, Array):
            raise refused(f"{name} is no array")
        if not found.is_swapped:
            return found
        pointer = f"%{self.fresh('p')}"
        stored = STORED[found.kind]
        self.line(f"{pointer} = load {stored}*, {stored}** {found.pointer}")
        return Array(found.kind, pointer, found.count)
