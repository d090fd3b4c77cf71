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
