"""Run the examples of the pages about mistakes, and return their output.

``python -m tests.autojit.errors.examples`` writes what they print into the pages anew.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import traceback
import warnings
from typing import NamedTuple

from autojit.session.mistakes import FOLDER

#: The mistake and the fix: code, and a text with what it prints.
EXAMPLE = re.compile(
    r"```python (raises|warns|surprises|shows|runs)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?",
    re.DOTALL,
)
#: The line counts autojit's frames, whose number differs between versions of Python.
_HIDDEN = re.compile(r"^\(\d+ frames? of autojit (?:is|are) hidden: .*\)\n", re.MULTILINE)


class Example(NamedTuple):
    """A page's code, how it ends, and the output that the page shows."""

    kind: str
    code: str
    shown: str


def examples(text: str) -> list[Example]:
    return [Example(kind, code, shown or "") for kind, code, shown in EXAMPLE.findall(text)]


def printed(code: str, name: str) -> tuple[str, str]:
    """Run code as a script of this name; return how it ends, and its output."""
    file = f"{name}.py"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    out, ending = io.StringIO(), "runs"
    space = {"__name__": "__main__", "__file__": file}
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(code, file, "exec"), space)
        except Exception as error:
            ending = "raises"
            out.write("".join(traceback.format_exception_only(error)))
    for each in caught:
        ending = "warns"
        kind = each.category.__name__
        out.write(f"{each.filename}:{each.lineno}: {kind}: {each.message}\n")
    return ending, _HIDDEN.sub("", out.getvalue())


def _anew(text: str, name: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        _, words = printed(found[2], name)
        shown = f"\n```text\n{words}```\n" if words else ""
        return f"```python {found[1]}\n{found[2]}```\n{shown}"

    return EXAMPLE.sub(replaced, text)


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = _anew(before, path.stem)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(path.name)
