"""``path/to/file.py:function`` or ``package.module:function``, and transformations of it."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from autojit.spelling import closest

from .calls import argument_names
from .failures import Failure
from .modules import SUFFIXES, functions_in, load_module

_autojit = importlib.import_module("autojit")

#: Transformations that turn a function into a function, by their public names.
TRANSFORMATIONS = (
    "jit", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "hvp", "vmap",
    "checkpoint", "stop_gradient",
)  # fmt: skip
_WITH_ARGNUMS = {"grad", "value_and_grad", "jacfwd", "jacrev", "hessian"}


def load(target: str) -> Callable[..., Any]:
    """The function that a target refers to."""
    place, colon, name = target.rpartition(":")
    if not (colon and place and name):
        raise Failure(
            "TARGET is path/to/file.py:function or package.module:function; "
            f"got {target!r}.{_meant(target.rstrip(':'))}"
        )
    module = load_module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise Failure(f"{place} has no function {name!r}.{_instead(module, found, name)}")
        found = getattr(found, part)
    if not callable(found):
        kind = type(found).__name__
        raise Failure(f"{target} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}, not a function.")
    return found


def _meant(text: str) -> str:
    """A hint for a file, a module or a function without the rest: the targets it may stand for."""
    place = Path(text if text.endswith(SUFFIXES) else text.replace(".", "/") + ".py")
    known = [f"{text}:{name}" for name, _ in functions_in(place)]
    if not known and text.isidentifier():  # only a few files are read
        files = sorted(path for end in SUFFIXES for path in Path().glob(f"*{end}"))[:40]
        known = [f"{p}:{text}" for p in files if text in dict(functions_in(p))]
    if not known:
        return ""
    return f" Did you mean {known[0]}?" if len(known) == 1 else f" Name one: {', '.join(known[:8])}"


def _instead(module: ModuleType, owner: Any, name: str) -> str:
    """A hint: similar names in the module, or in a class of it."""
    if owner is not module:
        prefix, _, method = name.rpartition(".")
        known = [n for n in dir(owner) if not n.startswith("_")]
        near = difflib.get_close_matches(method, known, n=1)
        return f" Did you mean {prefix}.{near[0]}?" if near else ""
    names = [
        n
        for n, v in vars(module).items()
        if callable(v) and not n.startswith("_") and getattr(v, "__module__", "") == module.__name__
    ]
    if close := closest(name, names):
        return close
    return f" It defines: {', '.join(names[:8])}." if names else " It defines no functions."


def transformed(
    f: Callable[..., Any], transform: str, argnums: int | tuple[int, ...]
) -> Callable[..., Any]:
    """``transform`` such as ``jit(grad)`` or ``value_and_grad`` applied to f, innermost first."""
    for name in reversed(transformation_names(transform)):
        apply = getattr(_autojit, name)
        f = apply(f, argnums=argnums) if name in _WITH_ARGNUMS else apply(f)
    return f


def transformation_names(transform: str) -> list[str]:
    """The names in ``jit(grad)``, outermost first.

    >>> transformation_names("jit(value_and_grad)")
    ['jit', 'value_and_grad']
    """
    if not re.fullmatch(r"\w+(\(\w+)*\)*", transform) or (
        transform.count("(") != transform.count(")")
    ):
        raise Failure(f'--transform must look like "grad" or "jit(grad)"; got {transform!r}')
    known = [name for name in TRANSFORMATIONS if hasattr(_autojit, name)]
    names = re.findall(r"\w+", transform)
    for name in names:
        if name not in known:
            raise Failure(
                f"--transform: there is no transformation {name!r}."
                f"{closest(name, known)} Transformations: {', '.join(known)}"
            )
    return names


def parse_argnums(text: str, f: Callable[..., Any] | None = None) -> int | tuple[int, ...]:
    """``0`` or ``0,1``; names of the function's arguments stand for their positions.

    >>> parse_argnums("0,1"), parse_argnums("x", lambda w, x: w * x)
    ((0, 1), 1)
    """
    names = [] if f is None else argument_names(f)
    parts = [part.strip() for part in text.split(",")]
    places = [str(names.index(part)) if part in names else part for part in parts]
    try:
        numbers = tuple(int(place) for place in places)
    except ValueError:
        known = f" or names: {', '.join(names)}" if names else ""
        raise Failure(
            f"--argnums takes positions such as 0 or 0,1{known}; got {text!r}"
            + "".join(closest(part, names) for part in parts[:1] if names)
        ) from None
    return numbers if "," in text else numbers[0]


def uses_argnums(transform: str) -> bool:
    """Whether one of the transformations uses ``--argnums``."""
    return bool(_WITH_ARGNUMS.intersection(transformation_names(transform)))


def check_argnums(argnums: int | tuple[int, ...], args: Sequence[Any]) -> None:
    """Raise unless the function has arguments at these positions."""
    for position in argnums if isinstance(argnums, tuple) else (argnums,):
        if not -len(args) <= position < len(args):
            known = f"0 to {len(args) - 1}" if args else "none"
            raise Failure(f"--argnums: there is no argument {position}; positions are {known}")
