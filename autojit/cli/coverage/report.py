"""The table of ``autojit coverage``, as text, JSON or Markdown."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

import numpy as np

from autojit.cli.common.failures import Failure
from autojit.cli.common.machine import check_format
from autojit.cli.common.terminal import console
from autojit.session.progress import stage
from autojit.spelling import closest

from . import gpus
from .catalogue import NAMESPACES, Function, functions
from .evidence import by_function

FORMATS = ("text", "json", "markdown")

Evidence = dict[str, dict[str, str]]


def table(namespaces: Sequence[str], *, run: bool, compiled: bool, format: str) -> str:
    """The table of some namespaces, or of all; an unknown namespace is a failure."""
    check_format(format, FORMATS)
    for name in namespaces:
        if name not in NAMESPACES:
            raise Failure(
                f"there is no namespace {name!r}.{closest(name, NAMESPACES)} "
                f"Namespaces: {', '.join(NAMESPACES)}"
            )
    rows = [f for name in namespaces or NAMESPACES for f in functions(name)]
    with stage("running sample calls of", "NumPy and SciPy", lambda: 0):
        evidence: Evidence = dict(by_function(compiled=compiled)) if run or compiled else {}
    return {"text": as_text, "json": as_json, "markdown": as_markdown}[format](rows, evidence)


class Count:
    """The number of functions of a namespace in each state."""

    def __init__(self, rows: Sequence[Function]) -> None:
        states = [row.state for row in rows]
        self.covered, self.refused = states.count("covered"), states.count("refused")
        self.missing, self.other = states.count("missing"), states.count("other")

    @property
    def share(self) -> str:
        counted = self.covered + self.refused + self.missing
        return f"{100 * self.covered / counted:.0f} %" if counted else "-"


def by_namespace(rows: Sequence[Function]) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for row in rows:
        found.setdefault(row.namespace, []).append(row)
    return found


def as_text(rows: Sequence[Function], evidence: Evidence) -> str:
    """Counts, followed by functions that are missing or refused, and by samples that fail."""
    groups = by_namespace(rows)
    width = max(map(len, groups))
    lines = [f"{'':{width}}  covered  refused  missing  share"]
    for name, group in groups.items():
        count = Count(group)
        lines.append(
            f"{name:{width}}  {count.covered:7}  {count.refused:7}  {count.missing:7}"
            f"  {count.share:>5}"
        )
    for name, group in groups.items():
        for words, names in without(group).items():
            heading = textwrap.wrap(f"{name}, {words}:", _width(), break_long_words=False)
            lines += ["", *heading, *_wrapped(names)]
    failing = [f"  {name}: {_words(row)}" for name, row in evidence.items() if "no" in row.values()]
    return "\n".join([*lines, *(["", "sample calls that fail:", *failing] if failing else [])])


def without(group: Sequence[Function]) -> dict[str, list[str]]:
    """Functions that are not covered or not counted, by reason."""
    found: dict[str, list[str]] = {}
    for row in group:
        if row.state == "missing":
            found.setdefault(f"missing: {row.reason}", []).append(row.name)
        elif row.state == "refused":
            found.setdefault(f"refused: {row.reason}", []).append(row.name)
        elif row.state == "other":
            found.setdefault(f"not counted: {row.reason}", []).append(row.name)
    return found


def _wrapped(names: Sequence[str]) -> list[str]:
    indent = "  "
    return textwrap.wrap(
        ", ".join(names), _width(), initial_indent=indent, subsequent_indent=indent
    )


def _width() -> int:
    return min(console().width, 96)


def _words(row: dict[str, str]) -> str:
    return ", ".join(f"{column} {outcome}" for column, outcome in row.items())


def as_json(rows: Sequence[Function], evidence: Evidence) -> str:
    return json.dumps(
        [
            {
                "name": row.full_name,
                "state": row.state,
                **({"reason": row.reason} if row.reason else {}),
                **evidence.get(row.full_name.replace("numpy", "np", 1), {}),
            }
            for row in rows
        ],
        indent=1,
    )


def versions() -> str:
    import scipy

    return f"NumPy {np.__version__}, SciPy {scipy.__version__}"


def as_markdown(rows: Sequence[Function], evidence: Evidence) -> str:
    """A page with counts, and the covered and uncovered functions of each namespace."""
    groups = by_namespace(rows)
    lines = [
        "# Coverage",
        "",
        f"The public functions of {versions()}. `autojit coverage --format markdown` writes this",
        "page. Functions that take no array of numbers are not counted. GPU: the number of covered",
        "functions that compile for a GPU; a test prints a sample call of each.",
        "",
        "| | covered | refused | missing | share | GPU |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, group in groups.items():
        count = Count(group)
        lines.append(
            f"| `{name}` | {count.covered} | {count.refused} | {count.missing} | {count.share} "
            f"| {gpus.words(group)} |"
        )
    for name, group in groups.items():
        covered = [row.name for row in group if row.state == "covered"]
        lines += ["", f"## `{name}`"]
        for words, names in {
            "covered": covered, **gpus.remarks(name), **without(group),
        }.items():  # fmt: skip
            if names:
                lines += ["", f"**{words[0].upper()}{words[1:]}:** {_listed(names)}"]
    return "\n".join([*lines, ""])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."
