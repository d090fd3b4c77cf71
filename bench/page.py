"""Put Markdown from standard input into a file of results, as the section with a heading:

    python -m bench.page HEADING [FILE]

The file's other sections stay.  FILE is bench/RESULTS.md if it is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench import machine
from bench.report import write_section

RESULTS = Path(__file__).parent / "RESULTS.md"


def main(arguments: list[str], body: str) -> None:
    heading, *file = arguments
    context = f"- {machine.today()}, {machine.description()}."
    write_section(Path(file[0]) if file else RESULTS, heading, f"{context}\n\n{body}")


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdin.read())
