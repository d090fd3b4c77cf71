"""The call that a command line describes: a function, and its positional arguments."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.types import DTYPE_NAMES, Type, canonical_dtype
from autojit.spelling import closest

from .failures import Failure

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def by_position(
    f: Callable[..., Any], target: str, args: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Bind the keyword arguments to the function; return it with the remaining arguments.

    Arrays move to their positions unless an argument before them is left out.  Other values, and
    keyword-only arguments, are settings: they become constants of the program.
    """
    values, settings = list(args), dict(keywords)
    names = [p.name for p in _parameters(f) if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    first = len(_parameters(f)) - len(names) if names else 0
    for name in names[max(0, len(values) - first) :]:
        if not holds_arrays(settings.get(name)):
            break
        values.append(settings.pop(name))
    check_call(f, target, values, settings)
    return (fixed(f, settings) if settings else f), values


def argument_names(f: Callable[..., Any]) -> list[str]:
    """The names of the arguments that can be given by position."""
    return [p.name for p in _parameters(f) if p.kind in _POSITIONAL]


def fixed(f: Callable[..., Any], settings: Mapping[str, Any]) -> Callable[..., Any]:
    """The function with some keyword arguments bound, under its own name."""
    made: Any = functools.partial(f, **settings)
    made.__name__ = getattr(f, "__name__", "main")
    return made


def holds_arrays(value: Any) -> bool:
    """Whether a tree contains an array."""
    if isinstance(value, dict):
        return any(map(holds_arrays, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_arrays, value))
    return isinstance(value, np.ndarray)


def _parameters(f: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # some builtins have no signature
        return []


def check_call(
    f: Callable[..., Any], target: str, args: Sequence[Any], keywords: Mapping[str, Any]
) -> None:
    """Raise unless the function can be called with these arguments."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return  # the call itself will raise
    try:
        signature.bind(*args, **keywords)
    except TypeError as error:
        parameters = list(signature.parameters.values())
        raise Failure(_refusal(target, parameters, args, keywords, str(error))) from None


def _refusal(
    target: str,
    parameters: Sequence[inspect.Parameter],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    reason: str,
) -> str:
    names = [p.name for p in parameters]
    unknown = [name for name in keywords if name not in names]
    takes = f"{target} takes ({_listed(parameters)})"
    if unknown:
        return f"{takes}: it has no argument {unknown[0]!r}.{closest(unknown[0], names)}"
    twice = [p.name for p in parameters[: len(args)] if p.name in keywords]
    if twice:
        return f"{takes}: {twice[0]} is given by position and by name"
    if names[:1] == ["self"] and "." in target.rpartition(":")[2]:
        place, _, name = target.rpartition(":")
        owner, _, method = name.rpartition(".")
        return (
            f"{takes}, so it needs an object. Give the file a line that makes one, "
            f"model = {owner}(...), and name its method: {place}:model.{method}"
        )
    given = f"{len(args) or 'none'} {'was' if len(args) == 1 else 'were'} given"
    needed = [p for p in parameters if p.default is p.empty]
    places = sum(p.kind in _POSITIONAL for p in needed)
    example = [*map(text_of, args), *["f64[3]"] * places][:places]
    example += [f"{p.name}=f64[3]" for p in needed if p.kind is p.KEYWORD_ONLY]
    missing = [p.name for p in needed if p.kind is p.KEYWORD_ONLY and p.name not in keywords]
    if missing and not reason.startswith("too many") and len(args) >= len(example) - len(missing):
        given = f"{missing[0]} is missing"
    if not example:
        return f"{takes}; {given}"
    words = " ".join(shlex.quote(w) if '"' in w else f'"{w}"' for w in example)
    return f"{takes}; {given}. Give a type or a value for each: {target} {words}"


def text_of(value: Any) -> str:
    """An argument as a user writes it; an array as its type."""
    if isinstance(value, np.ndarray) and value.dtype in DTYPE_NAMES:
        return str(Type(canonical_dtype(value.dtype), value.shape))
    return value if isinstance(value, str) else repr(value)


def _listed(parameters: Sequence[inspect.Parameter]) -> str:
    """The parameters as in a definition, without annotations."""
    shown: list[str] = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and "*" not in shown and not any(s[0] == "*" for s in shown):
            shown.append("*")
        mark = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(p.kind.name, "")
        default = "" if p.default is p.empty else f"={p.default!r:.20}"
        shown.append(f"{mark}{p.name}{default}")
    return ", ".join(shown)
