"""The owner of a frame's file: the user, autojit, or a library that autojit calls."""

from __future__ import annotations

import dis
import os
from functools import cache
from pathlib import Path

import numpy as np

_HERE = Path(__file__).resolve().parents[1]
_PACKAGES = Path(np.__file__).resolve().parents[1]


def _folders(*paths: Path) -> tuple[str, ...]:
    return tuple(f"{path}{os.sep}" for path in paths)


_OURS = _folders(_HERE, _HERE.parent / "ir", _HERE.parent / "codegen")
#: Libraries that work on traced arrays, and call autojit.
_NUMERIC = _folders(Path(np.__file__).resolve().parent, _PACKAGES / "scipy", _PACKAGES / "pandas")
#: The folder of the command `autojit`; no frame outside it is the user's.
_COMMAND = f"{_HERE / 'cli'}{os.sep}"
#: The kinds of files, by their names: the user's, internal, or the command's.
USERS, INNER, OUTERMOST = range(3)
#: The kinds found so far, by the names of files.
kinds: dict[str, int] = {}
_found_ours: dict[str, bool] = {}


def is_internal(filename: str) -> bool:
    """Whether a file is ours, NumPy's or SciPy's, by its name."""
    return kind_of(filename) != USERS


def kind_of(filename: str) -> int:
    """The kind of a file, by its name."""
    found = kinds.get(filename)
    if found is None:
        found = kinds[filename] = _find_kind(filename)
    return found


def _find_kind(filename: str) -> int:
    if filename.startswith("<"):  # exec and notebook cells are the user's; so are lambdas in them
        inner = filename.startswith("<frozen") or filename == "<__array_function__ internals>"
        return INNER if inner else USERS
    path = str(Path(filename).resolve())
    if path.startswith(_COMMAND):
        return OUTERMOST
    return INNER if path.startswith(_OURS + _NUMERIC) else USERS


def is_ours(filename: str) -> bool:
    """Whether a file is autojit's."""
    found = _found_ours.get(filename)
    if found is None:
        known = filename.startswith("<autojit") or (
            not filename.startswith("<") and str(Path(filename).resolve()).startswith(_OURS)
        )
        found = _found_ours[filename] = known
    return found


def is_installed(filename: str) -> bool:
    """Whether a file belongs to an installed package, or to autojit."""
    parts = Path(filename).parts
    return is_internal(filename) or "site-packages" in parts or "dist-packages" in parts


@cache
def is_of_python(name: str) -> bool:
    """Whether a file is part of Python itself."""
    import sysconfig

    path = Path(name).resolve()
    if {"site-packages", "dist-packages"} & set(path.parts):
        return False
    paths = sysconfig.get_paths()
    return any(path.is_relative_to(Path(paths[key]).resolve()) for key in ("stdlib", "platstdlib"))


#: Instructions that fail in our own code only if that is wrong, by the exceptions that they raise.
#: Other exceptions of our code may be Python's answer to the user's code.
_DEFECTS: tuple[tuple[type[Exception], tuple[str, ...]], ...] = (
    (AttributeError, ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR")),
    (NameError, ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")),
)


#: Functions of ours that raise exceptions of the user's code.
_RAISES_THE_USERS = ("assert_", "raise_the_users")


def is_defect(error: Exception) -> bool:
    """Whether an exception shows that autojit itself is wrong: one of its assertions fails, or its
    code uses a name or an attribute that does not exist."""
    step = error.__traceback__
    if step is None:
        return False
    while step.tb_next is not None:
        step = step.tb_next
    code = step.tb_frame.f_code
    if not is_ours(code.co_filename):
        return False
    if isinstance(error, AssertionError | NotImplementedError):
        return code.co_name not in _RAISES_THE_USERS
    name = dis.opname[code.co_code[step.tb_lasti]]
    return any(isinstance(error, kind) and name in names for kind, names in _DEFECTS)
