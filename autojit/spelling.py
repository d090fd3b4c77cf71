"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str:
    """``" Did you mean x?"``, or an empty string if no name is close.

    >>> closest("loops", ["trace", "loop"])
    ' Did you mean loop?'
    >>> closest("LLVM", ["asm", "llvm"])
    ' Did you mean llvm?'
    """
    names = list(known)
    found = [n for n in names if n.lower() == name.lower()]
    found = found or difflib.get_close_matches(name.lower(), names, n=1)
    return f" Did you mean {found[0]}?" if found else ""


class MissingName(AttributeError):
    """The error about an unknown name of a module, with the nearest names.

    They are searched for only when the message is read, which ``hasattr`` does not do.

    >>> print(MissingName("torch", "softmaxx", ["softmax", "sigmoid"]))
    autojit.torch has no attribute 'softmaxx'. Near it: softmax
    """

    def __init__(self, where: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"autojit.{where} has no attribute {name!r}.", name=name)
        self._known = known

    def __str__(self) -> str:
        known, name = [n for n in self._known if not n.startswith("_")], self.name or ""
        near = difflib.get_close_matches(name, known, 3, 0.6)
        near += [n for n in known if name.lower() in n.lower() and n not in near][:3]
        said = super().__str__()
        return f"{said} Similar names: {', '.join(near)}" if near else f"{said} It is not covered"
