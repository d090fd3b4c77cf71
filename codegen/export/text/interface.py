"""The interface of a module's function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Arrays of the closure with more elements than this are arguments of the module's function.
MOST_WRITTEN = 200
#: Names that modules use themselves, which no parameter may have.
RESERVED = frozenset({"np", "linalg", "special", "math", "njit", "status"})


@dataclass(frozen=True)
class Interface:
    """The function that a module defines.

    ``name``        its name
    ``title``       the first line of its docstring
    ``parameters``  its parameters, in order
    ``inputs``      each input of the program as an expression of them: ``params[0]['w']``
    ``captured``    names for the arrays that the traced function closed over
    ``results``     the structure of tuples, lists and dicts around the numbers of outputs
    ``outputs``     a name for each output, if there is a good one
    """

    name: str
    title: str
    parameters: tuple[str, ...]
    inputs: tuple[str, ...]
    captured: tuple[str, ...]
    results: Any
    outputs: tuple[str, ...]


def result_text(results: Any, texts: list[str]) -> str:
    """Return the text of a nested structure of results.

    >>> result_text((0, {"b": 1}), ["x", "y"]), result_text((1,), ["x", "y"])
    ("(x, {'b': y})", '(y,)')
    """
    if isinstance(results, dict):
        pairs = (f"{k!r}: {result_text(v, texts)}" for k, v in results.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(results, (tuple, list)):
        inner = ", ".join(result_text(v, texts) for v in results)
        if isinstance(results, list):
            return f"[{inner}]"
        return f"({inner},)" if len(results) == 1 else f"({inner})"
    return "None" if results is None else texts[results]
