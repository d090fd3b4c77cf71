"""Files that reproduce a miscompilation: the program's text, with the inputs as comments."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autojit.codegen.driver.cache import user_cache
from autojit.ir.core.program import Program
from autojit.session.files import write_whole

#: The variable that names a folder for the files; by default, the cache of compiled code.
VARIABLE = "AUTOJIT_VERIFY_DIR"
#: Inputs with more elements are not written out.
MOST_ELEMENTS = 10_000


def write(program: Program, arrays: Sequence[Any], culprit: str) -> Path:
    """Write a program with its inputs, and return the file's path."""
    text = "\n".join([*_header(program, arrays, culprit), program.bound_to(()).text(), ""])
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"miscompiled-{program.name}-{zlib.crc32(text.encode()):08x}.ir"
    write_whole(path, text)
    return path


def _folder() -> Path:
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    cache = user_cache()
    return Path(tempfile.gettempdir()) if cache is None else cache.folder


def _header(program: Program, arrays: Sequence[Any], culprit: str) -> Iterator[str]:
    yield f"# Compiled code differs from the interpreter; the cause is {culprit}."
    yield "# Compare: autojit run FILE INPUT ...    and    autojit run FILE INPUT ... --interpret"
    for k, (array, value) in enumerate(zip(arrays, program.inputs, strict=True)):
        array = np.asarray(array)
        shown = repr(array.tolist())
        if array.size > MOST_ELEMENTS:
            shown = f"{array.size} elements, not written out"
        yield f"# input {k}, {value.type}: {shown}"
