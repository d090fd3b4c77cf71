"""The parts of the check that need a source tree, and the page of results.

Samples are among the tests, and comparisons with other libraries among the benchmarks.  An
installed package has neither.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .supervised import Say

#: The source tree; the folder of an installed package has no `bench` in it.
ROOT = Path(__file__).resolve().parents[3]
#: The page's file in a source tree.
RESULTS = ROOT / "bench" / "RESULTS.md"


def has_sources() -> bool:
    """Whether there are tests and benchmarks."""
    return (ROOT / "bench" / "on_gpu").is_dir() and (ROOT / "tests" / "codegen").is_dir()


def run_module(module: str, arguments: Sequence[str], say: Say) -> int:
    """Run a module of the source tree; show its lines, and return its exit status."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        say(line.rstrip("\n"))
    return process.wait()


class Page:
    """Lines of parts, each with a title, which become Markdown."""

    def __init__(self) -> None:
        self._parts: list[tuple[str, list[str]]] = []

    def begin(self, title: str) -> None:
        """Begin a part."""
        self._parts.append((title, []))
        print(f"\n{title}\n", flush=True)

    def say(self, line: str) -> None:
        """Print a line, and keep it for the page."""
        self._parts[-1][1].append(line)
        print(line, flush=True)

    @property
    def card(self) -> str:
        """The card's model, as a line that begins with ``card:`` names it."""
        lines = (line for _, lines in self._parts for line in lines)
        return next((x.removeprefix("card: ") for x in lines if x.startswith("card: ")), "unknown")

    def markdown(self) -> str:
        """The body of the page.

        >>> page = Page()
        >>> page.begin("Items")
        <BLANKLINE>
        Items
        <BLANKLINE>
        >>> page.say("card: A100")
        card: A100
        >>> print(page.markdown().replace("`" * 3, "'''"))
        **Items**
        <BLANKLINE>
        '''text
        card: A100
        '''
        """
        return "\n\n".join(
            f"**{title}**\n\n" + (text if "\n| " in text else f"```text\n{text}\n```")
            for title, lines in self._parts
            if (text := "\n".join(lines).strip())
        )

    def write(self, file: Path) -> None:
        """Put the page into a file as the section of this card; its other sections stay."""
        heading = f"On a GPU: {self.card}"
        command = [sys.executable, "-m", "bench.page", heading, str(file)]
        subprocess.run(command, input=self.markdown(), text=True, cwd=ROOT, check=True)
        print(f"\n{file} has the section {heading!r}", flush=True)
