"""``autojit source``: a function or its derivative as a module that does not need autojit."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from typing import Any

from autojit.cli.common.failures import Failure, running
from autojit.spelling import closest
from autojit.staging.exported import TARGETS, source


def check(target: str, name: str) -> None:
    """Raise unless the target exists and the name is valid."""
    if target not in TARGETS:
        raise Failure(
            f"--target: there is no target {target!r}.{closest(target, TARGETS)} "
            f"Targets: {', '.join(TARGETS)}"
        )
    if name and (not name.isidentifier() or keyword.iskeyword(name)):
        raise Failure(f"--name is the name of a function, such as loss_grad; got {name!r}")


def text(f: Callable[..., Any], args: Sequence[Any], target: str, name: str) -> str:
    """The source of the module."""
    with running(getattr(f, "__name__", "the function")):
        return source(f, *args, target=target, name=name)
