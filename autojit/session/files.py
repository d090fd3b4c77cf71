"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(file: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that is written under another name and renamed at the end: readers see the old bytes
    or all of the new ones, and an error leaves the file unchanged.

    Raises:
        OSError: if the folder or the file cannot be written.
    """
    path = Path(file)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.chmod(aside, _permissions(path))
        os.replace(aside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(aside)
        raise


def write_whole(file: str | os.PathLike[str], text: str) -> None:
    """Write a text like :func:`whole_file`, in UTF-8."""
    with whole_file(file) as out:
        out.write(text.encode())


def _permissions(path: Path) -> int:
    """The permissions of the file that is replaced, or those of a new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
