"""``path/to/file.py:function`` or ``package.module:function``, and what is applied to it."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from autojit.spelling import closest

from .failures import FAULT, Failure, running

_autojit = importlib.import_module("autojit")

#: Transformations that make a function of a function, by their public names.
TRANSFORMATIONS = (
    "jit", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "hvp", "vmap",
    "checkpoint", "stop_gradient",
)  # fmt: skip
_WITH_ARGNUMS = {"grad", "value_and_grad", "jacfwd", "jacrev", "hessian"}


def load(target: str) -> Callable[..., Any]:
    """The function that a target names."""
    place, colon, name = target.rpartition(":")
    if not (colon and place and name):
        raise Failure(
            f"TARGET is path/to/file.py:function or package.module:function; got {target!r}"
        )
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise Failure(f"{place} has no function {name!r}.{_instead(module, found, name)}")
        found = getattr(found, part)
    if not callable(found):
        raise Failure(f"{target} is {type(found).__name__}, not a function.")
    return found


def _instead(module: ModuleType, owner: Any, name: str) -> str:
    """What the module offers instead, or a class in it."""
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
    return f" It has: {', '.join(names[:8])}." if names else " It defines no functions."


def _load_file(path: Path) -> ModuleType:
    if path.is_dir():
        raise Failure(f"{path} is a folder. TARGET is path/to/file.py:function")
    if not path.is_file():
        raise Failure(f"there is no file {path}. TARGET is path/to/file.py:function")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Failure(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))  # as `python file.py` does
    with running(f"importing {path}"):
        spec.loader.exec_module(module)
    return module


def _load_module(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise Failure(
                f"there is no module {error.name!r}. For a file write {_as_file(name)}:function"
            ) from None
        raise Failure(f"importing {name}: {error}", FAULT) from None
    except Exception:
        with running(f"importing {name}"):
            raise
        raise


def _as_file(name: str) -> str:
    return name if "/" in name else name.replace(".", "/") + ".py"


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
        raise Failure(f'--transform is written "grad" or "jit(grad)"; got {transform!r}')
    known = [name for name in TRANSFORMATIONS if hasattr(_autojit, name)]
    names = re.findall(r"\w+", transform)
    for name in names:
        if name not in known:
            raise Failure(
                f"--transform: there is no transformation {name!r}."
                f"{closest(name, known)} There are: {', '.join(known)}"
            )
    return names


def parse_argnums(text: str) -> int | tuple[int, ...]:
    """``0`` or ``0,1``.

    >>> parse_argnums("0,1")
    (0, 1)
    """
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise Failure(f"--argnums are positions such as 0 or 0,1; got {text!r}") from None
    return numbers if "," in text else numbers[0]


def uses_argnums(transform: str) -> bool:
    """Whether one of the transformations differentiates by ``--argnums``."""
    return bool(_WITH_ARGNUMS.intersection(transformation_names(transform)))


def check_argnums(argnums: int | tuple[int, ...], args: Sequence[Any]) -> None:
    """Raise unless there are such positions."""
    for position in argnums if isinstance(argnums, tuple) else (argnums,):
        if not -len(args) <= position < len(args):
            known = f"0 to {len(args) - 1}" if args else "none"
            raise Failure(f"--argnums: there is no argument {position}; positions are {known}")
