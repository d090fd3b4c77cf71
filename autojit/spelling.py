"""What somebody may have meant by a name that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str:
    """``" Did you mean x?"``, or nothing.

    >>> closest("loops", ["trace", "loop"])
    ' Did you mean loop?'
    >>> closest("LLVM", ["asm", "llvm"])
    ' Did you mean llvm?'
    """
    names = list(known)
    found = [n for n in names if n.lower() == name.lower()]
    found = found or difflib.get_close_matches(name.lower(), names, n=1)
    return f" Did you mean {found[0]}?" if found else ""


def missing(where: str, name: str, known: Iterable[str]) -> str:
    """That a module has no such name, and the nearest ones that it has.

    >>> missing("torch", "softmaxx", ["softmax", "sigmoid"])
    "autojit.torch has no attribute 'softmaxx'. Near it: softmax"
    """
    public = [n for n in known if not n.startswith("_")]
    near = difflib.get_close_matches(name, public, 3, 0.6)
    near += [n for n in public if name.lower() in n.lower() and n not in near][:3]
    said = f"autojit.{where} has no attribute {name!r}."
    return f"{said} Near it: {', '.join(near)}" if near else f"{said} It is not covered"
