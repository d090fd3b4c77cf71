"""Errors about what cannot be captured, with the user's line and a fix."""

from __future__ import annotations

from typing import NoReturn

from autojit.errors import ConcreteValueError, StructureError, with_place
from autojit.tracing.source import user_source


def refuse(what: str, fix: str) -> NoReturn:
    """Raise ConcreteValueError: something needs the value of a traced number."""
    raise ConcreteValueError(
        with_place(
            f"{what} needs a value that is not known while the function is traced.\n{fix}",
            user_source(),
        )
    )


def mismatch(words: str) -> NoReturn:
    """Raise StructureError: results that one variable cannot hold."""
    raise StructureError(with_place(words, user_source()))
