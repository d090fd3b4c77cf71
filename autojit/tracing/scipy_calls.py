"""Finds the SciPy function that needs values, and suggests what to write instead."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import FrameType, MethodType
from typing import Any

from autojit import places

from .hooks import hooks

#: Frames in which a function of SciPy's is looked for.
NEAREST = 12

_BY_A_RULE = (
    "Write it with covered functions, or call SciPy's function as it is and define its "
    "derivative by a rule:\n"
    "    @autojit.custom_jvp                            # or custom_vjp\n"
    "    def f(x):\n"
    "        return autojit.pure_callback(g, y, x)      # g is SciPy's, y is like its result\n"
    "    @f.defjvp\n"
    "    def rule(primals, tangents):\n"
    "        return f(*primals), slope(*primals) * tangents[0]"
)
_OURS = (
    "autojit has one that can be traced:\n"
    "    from {place} import {name:<16} # not: from scipy.{package} import {name}"
)


_BY_THE_MODULE = (
    "autojit answers for it, but the source of the function that calls it is not known. Call it by "
    "the name in SciPy's module, which is followed while a function is traced:\n"
    "    import scipy.{package}\n"
    "    f = scipy.{package}.{name:<26} # not: from scipy.{package} import {name}"
)


def way_out(package: str, name: str) -> str:
    """What the user can write instead of a SciPy function."""
    if f"scipy.{package}.{name}" in hooks.scipys_functions:
        return _BY_THE_MODULE.format(package=package, name=name)
    place = places.SCIPY.get(package, f"autojit.scipy.{package}")
    ours = importlib.import_module(place) if _is_there(place) else None
    if not callable(getattr(ours, name, None)):
        return _BY_A_RULE
    return _OURS.format(place=place, name=name, package=package)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False


def public_name(f: Any) -> tuple[str, str]:
    """The public package of something of SciPy's, and its name there: ``stats``, ``norm.rvs``."""
    if isinstance(f, MethodType):
        owner = f.__self__
        package, name = public_name(owner if isinstance(owner, type) else type(owner))
        return package, f"{name}.{f.__name__}"
    named = f if hasattr(f, "__name__") else type(f)
    path = str(getattr(named, "__module__", "scipy")).split(".")[1:]
    public = [part for part in path if not part.startswith("_")]
    return ".".join(public), str(named.__name__).removesuffix("_gen")


def calling() -> tuple[str, str] | None:
    """Package and name of the function of SciPy's that the user's code has called, if it is among
    the nearest on the stack."""
    frame: FrameType | None = sys._getframe(2)
    found = None
    for _ in range(NEAREST):
        if frame is None:
            break
        path = frame.f_globals.get("__name__", "").split(".")
        if path[0] == "scipy":
            found = _named(frame, path) or found
        frame = frame.f_back
    return found


def _named(frame: FrameType, path: list[str]) -> tuple[str, str] | None:
    """Package and name of what a frame in a module of SciPy's runs: a function, a method or class,
    or what a decorator wraps."""
    name, known = frame.f_code.co_name, frame.f_locals
    if path[1:] and not path[1].startswith("_"):
        if "self" in known:
            own = type(known["self"]).__name__.removesuffix("_gen")
            name = own if name == "__init__" else f"{own}.{name}"
        return path[1], name
    for thing in known.values():
        module = str(getattr(thing, "__module__", "")).split(".")
        if callable(thing) and module[0] == "scipy" and module[1:] and module[1][0] != "_":
            return module[1], getattr(thing, "__name__", name)
    return None
