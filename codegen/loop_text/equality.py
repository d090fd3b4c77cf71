"""Compares loop programs up to names and numbers."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Scalar, Trips
from autojit.ir.core.affine import Affine, Quotient, Var

#: Fields that do not change the meaning of a program, or are compared separately. Origins and the
#: user's lines are fields that are not compared either.
_IGNORED = {(Kernel, "buffers"), (Kernel, "values")}


def difference(first: LoopProgram, second: LoopProgram) -> str | None:
    """Describe where two programs differ; None if they are the same.

    Buffers, scalars, accumulators, loop variables and counts of steps may have any names, as long
    as each name of one program corresponds to one name of the other: for scalars and variables
    within each kernel, for buffers everywhere.
    """
    return _Matching().of(first, second, "program")


class _Matching:
    """Pairs the names of the two programs."""

    def __init__(self) -> None:
        self.pairs: dict[Any, Any] = {}
        self.buffers: dict[Any, Any] = {}

    def of(self, a: Any, b: Any, where: str) -> str | None:
        if type(a) is not type(b):
            return f"{where}: {a!r} and {b!r}"
        if isinstance(a, Kernel):
            return self.kernel(a, b, where)
        if isinstance(a, Buffer):
            of_buffer = ("dtype", "kind", "over", "size")
            return self.named(self.buffers, a, b, a, b, of_buffer, where)
        if isinstance(a, Scalar):
            return self.named(self.pairs, ("s", a.number), ("s", b.number), a, b, ("dtype",), where)
        if isinstance(a, Var):
            return self.named(self.pairs, a, b, a, b, ("extent",), where)
        if isinstance(a, Trips):
            return self.named(self.pairs, a, b, a, b, (), where)
        if isinstance(a, Accumulator):
            keys = ("dtype", "combine", "identity")
            one, other = ("a", a.number), ("a", b.number)
            return self.named(self.pairs, one, other, a, b, keys, where)
        return self.parts(a, b, where)

    def kernel(self, a: Kernel, b: Kernel, where: str) -> str | None:
        """Compare kernels, which have their own names; the buffers may be in any order."""
        self.pairs = {}
        found = self.parts(a, b, where)
        if found is None and {self.buffers.get(x) for x in a.buffers} != set(b.buffers):
            return f"{where}.buffers: {a.buffers} and {b.buffers}"
        return found

    def named(
        self, pairs: dict[Any, Any], one: Any, other: Any, a: Any, b: Any, keys: Any, where: str
    ) -> str | None:
        known, back = pairs.get(one), pairs.get(("back", other))
        if known is None and back is None:
            pairs[one], pairs["back", other] = other, one
        elif known != other or back != one:
            return f"{where}: {a!r} and {b!r} stand for different things"
        found = (self.of(getattr(a, k), getattr(b, k), f"{where}.{k}") for k in keys)
        return next((words for words in found if words), None)

    def parts(self, a: Any, b: Any, where: str) -> str | None:
        if isinstance(a, dict):
            return self.parts(list(a.items()), list(b.items()), where)
        if isinstance(a, (list, tuple)):
            if len(a) != len(b):
                return f"{where}: {len(a)} and {len(b)} of them"
            items = ((x, y, f"{where}[{n}]") for n, (x, y) in enumerate(zip(a, b, strict=True)))
        elif is_dataclass(a) or isinstance(a, (Affine, Quotient)):
            items = (
                (getattr(a, f.name), getattr(b, f.name), f"{where}.{f.name}")
                for f in fields(a)
                if f.compare and (type(a), f.name) not in _IGNORED
            )
        else:
            return None if repr(a) == repr(b) else f"{where}: {a!r} and {b!r}"
        return next((words for x, y, at in items if (words := self.of(x, y, at))), None)
