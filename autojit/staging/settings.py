"""Checks of the settings of transformations that select a function's arguments."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from autojit.errors import SettingError, StructureError
from autojit.spelling import closest

from .bodies import name_of


class Parameters(NamedTuple):
    """The parameters of a function."""

    #: The parameters that may be given by position, in order.
    positional: list[str]
    named: list[str]
    #: Whether it takes any number of arguments, by position and by name.
    more: bool
    any_name: bool


def parameters(f: Callable[..., Any]) -> Parameters | None:
    """The parameters of a function; None if Python does not know them."""
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = {p.kind for p in found}
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return Parameters(
        [p.name for p in found if p.kind in by_position],
        [p.name for p in found if p.kind in by_name],
        inspect.Parameter.VAR_POSITIONAL in kinds,
        inspect.Parameter.VAR_KEYWORD in kinds,
    )


def need_function(f: Any, of: str, right: str = "{}(f, x)", wrong: str = "{}(f(x))") -> None:
    """Raise StructureError unless a public function was given a function.

    Args:
        of: the name of the public function.
        right, wrong: a correct call, and a newcomer's wrong one, with ``{}`` for the name.

    >>> need_function(3.0, "trace", "{}(f)(x)")
    Traceback (most recent call last):
    autojit.errors.StructureError: trace takes a function, not 3.0. Give it the function itself:
        trace(f)(x)                        # not: trace(f(x))
    """
    if isinstance(f, (classmethod, staticmethod, property)):
        kind = type(f).__name__
        raise StructureError(
            f"{of} takes a function, not a {kind}. Decorate the function first:\n"
            f"    @{kind}\n    @{of:<33} # not: above @{kind}"
        )
    if callable(f):
        return
    setting = {"jit": "static_argnums", "vmap": "in_axes"}.get(of, "argnums")
    if type(f) in (int, tuple) and right == TWICE:
        raise StructureError(
            f"{of} takes a function, not {f!r:.60}. Name the setting:\n"
            + f"    @{of}({setting}={f!r})".ljust(38)
            + f" # not: @{of}({f!r})"
        )
    shown = re.sub(r" at 0x[0-9a-f]+", "", f"{f!r:.60}")
    raise StructureError(
        f"{of} takes a function, not {shown}. Give it the function itself:\n"
        + f"    {right.format(of)}".ljust(38)
        + f" # not: {wrong.format(of)}"
    )


#: How a function that returns a function is called.
TWICE = "{}(f)(x)"


def argument_numbers(f: Callable[..., Any], given: Any, setting: str, by: str) -> tuple[int, ...]:
    """The positions in a setting such as ``argnums``, or SettingError.

    Args:
        setting: its name.
        by: how the user gives it, with ``{}`` for the value: ``grad(f, argnums={})``.
    """
    single = not isinstance(given, (tuple, list, set, range))
    return tuple(_number(f, each, setting, by) for each in ([given] if single else given))


def _number(f: Callable[..., Any], given: Any, setting: str, by: str) -> int:
    known = parameters(f)
    if isinstance(given, str):
        words = f"{setting} takes positions, not names such as {given!r}."
        names = known.positional if known else []
        if given in names:
            at = names.index(given)
            raise SettingError(
                f"{words} {given!r} is argument {at} of {name_of(f)}:\n    {by.format(at)}"
            )
        raise SettingError(f"{words}{closest(given, names)}\n{_numbered(f, names)}")
    try:
        return operator.index(given)
    except TypeError:
        if hasattr(given, "shape") and setting == "argnums":
            raise SettingError(
                f"{setting} takes integers, not {given!r:.60} of type {type(given).__name__}. The "
                f"arguments of {name_of(f)} go into a second pair of brackets:\n"
                + f"    {by.partition('(')[0]}(f)(x)".ljust(39)
                + f"# not: {by.partition('(')[0]}(f, x)"
            ) from None
        at = int(given) if isinstance(given, float) and given.is_integer() else 0
        raise SettingError(
            f"{setting} takes integers, not {given!r:.60} of type {type(given).__name__}:\n"
            f"    {by.format(at)}"
        ) from None


def _numbered(f: Callable[..., Any], names: Iterable[str]) -> str:
    listed = ", ".join(f"{at} {name}" for at, name in enumerate(names))
    return f"The arguments of {name_of(f)} are: {listed or 'none'}"


def check_static(f: Callable[..., Any], numbers: Iterable[int], names: Iterable[str]) -> None:
    """Refuse positions and names of static arguments that a function does not have."""
    numbers, names = tuple(numbers), tuple(names)
    known = parameters(f) if numbers or names else None
    if known is None:
        return
    count = len(known.positional)
    for number in numbers:
        if not known.more and not -count <= number < count:
            raise SettingError(
                f"static_argnums={number}, but {name_of(f)} takes {count} positional "
                f"argument{'' if count == 1 else 's'}, which are counted from 0.\n"
                f"{_numbered(f, known.positional)}"
            )
    for name in names:
        if not known.any_name and name not in known.named:
            listed = ", ".join(known.named)
            raise SettingError(
                f"static_argnames={name!r}, but {name_of(f)} has no argument of this name."
                f"{closest(name, known.named)}\nIts arguments: {listed or 'none'}"
            )
