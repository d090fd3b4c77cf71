"""The names by which a function may refer to other functions, from its bytecode.

A reference is a name with attributes, such as ``("helpers", "odd")``. Its first name is a global, a
variable of an outer function, or the first parameter, which is the object of a method.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any

#: The first name with attributes.
Reference = tuple[str, ...]

#: The most functions whose references are kept.
MOST = 4096
_names: dict[int, tuple[CodeType, tuple[str, ...]]] = {}
_references: dict[int, tuple[CodeType, tuple[Reference, ...]]] = {}
_HAS_PARAMETERS = 1


def names_of(code: CodeType) -> tuple[str, ...]:
    """All names that a function, and the functions inside it, do not bind as locals."""
    found: tuple[str, ...] = _kept(_names, code, lambda: dict.fromkeys(_all_names(code)))
    return found


def references_of(code: CodeType) -> tuple[Reference, ...]:
    """The references of a function, and of the functions inside it."""
    found: tuple[Reference, ...] = _kept(_references, code, lambda: dict.fromkeys(_read(code)))
    return found


def has_references(code: CodeType) -> bool:
    """Whether the references of a function have been found."""
    known = _references.get(id(code))
    return known is not None and known[0] is code


def first_of(code: CodeType) -> str | None:
    """The first parameter of a function."""
    return code.co_varnames[0] if code.co_argcount >= _HAS_PARAMETERS else None


def _kept(cache: dict[int, tuple[CodeType, Any]], code: CodeType, made: Any) -> Any:
    known = cache.get(id(code))
    if known is None or known[0] is not code:
        if len(cache) >= MOST:
            cache.clear()
        known = cache[id(code)] = code, tuple(made())
    return known[1]


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _all_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for inner in _inner(code):
        yield from _all_names(inner)


def _read(code: CodeType) -> Iterator[Reference]:
    outside = {first_of(code), *code.co_freevars} - {None}
    yield from _within(code, outside, code)


def _within(code: CodeType, outside: Any, root: CodeType) -> Iterator[Reference]:
    """The references in a function inside another one; ``outside`` are the names, beside globals,
    that references may begin with."""
    outside = outside if code is root else outside - set(code.co_cellvars)
    found: list[str] = []
    for step in dis.get_instructions(code):
        if found and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found.append(step.argval)
            continue
        if found:
            yield tuple(found)
        name = _first_name(step)
        is_local = step.opname.startswith("LOAD_FAST") and code is not root
        found = [name] if name is not None and not is_local and _begins(step, name, outside) else []
    if found:
        yield tuple(found)
    for inner in _inner(code):
        yield from _within(inner, outside, root)


def _first_name(step: dis.Instruction) -> str | None:
    if not step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST",
                                   "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")):  # fmt: skip
        return None
    name = step.argval[-1] if isinstance(step.argval, tuple) else step.argval
    return name if isinstance(name, str) else None


def _begins(step: dis.Instruction, name: str, outside: Any) -> bool:
    return step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")) or name in outside
