"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(file: str | os.PathLike[str], text: str) -> None:
    """Write a text aside and rename it: readers see the file as it was, or all of the text."""
    path = Path(file)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)
        os.chmod(aside, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found
