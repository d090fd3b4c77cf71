"""``autojit explain``: explains the compiled code of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autojit import jit
from autojit.cli.common.failures import running
from autojit.cli.common.terminal import EXPLANATION, colour, console, give
from autojit.dispatch.compiled import CompiledFunction
from autojit.explanations.as_text import NARROW, WIDE

FORMATS = ("text", "html", "json")


def explain(f: Callable[..., Any], args: Sequence[Any], format: str, output: Path | None) -> None:
    """Print the explanation of a call, or write it to a file."""
    with running(getattr(f, "__name__", "the function")):
        compiled = f if isinstance(f, CompiledFunction) else jit(f)
        found = compiled.explain(*args)
    if format == "json":
        give(found.json(), output)
    elif format == "html":
        give(found.page(), output)
    else:
        to = console()
        width = WIDE if output is not None else min(WIDE, max(NARROW, to.width))
        if output is None:
            colour(found.text(width), EXPLANATION, to)
        else:
            give(found.text(width), output)
