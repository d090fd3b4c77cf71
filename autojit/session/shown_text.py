"""Texts of traced values, which show a type in place of a number.

Such a text may be shown to people: printed, logged, or used as the message of an exception or a
warning. As a key, in a comparison or in a result it would be wrong without an error.

Legal where a call such as ``print`` in the same function surrounds the conversion, where the
statement raises an exception, or where it assigns the text to a name that only such statements
read. The constructor of an exception may pass it to another constructor or keep it. Python's
library and the packages named here show the texts that they make, such as ``logging`` and
debuggers.
"""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache
from itertools import islice
from types import FrameType
from typing import NamedTuple

from .frames import INNER, USERS, is_of_python, is_ours, kind_of

#: Functions and methods that show their arguments, by the last part of their names.
_SHOWING = frozenset({
    "print", "pprint", "display", "warn", "write", "debug", "info", "warning", "error", "critical",
    "exception", "log", "set_description", "set_postfix",
})  # fmt: skip
#: Packages that show the texts that they make.
_SHOWING_PACKAGES = frozenset({
    "IPython", "_pydevd_bundle", "_pytest", "debugpy", "icecream", "loguru", "pydevd", "rich",
    "tqdm",
})  # fmt: skip
#: Names of functions that make texts, for code without source.
_MAKING = frozenset({"str", "repr", "format", "join"})
#: Methods whose text is shown where their caller's is.
_TEXTS = frozenset({"__repr__", "__str__", "__format__"})
#: The module that makes the texts, and modules of ours that call functions for the user.
_TRACER = "autojit.tracing.tracer"
_CALLING = frozenset({"autojit.capture.calls.calling", "autojit.capture.runtime"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Use(Enum):
    """What becomes of a text."""

    #: It may be compared, measured or returned.
    ANY = 0
    #: It is only shown to people.
    SHOWN = 1
    #: It is only the message of an exception, or a part of one.
    RAISED = 2


def use_of_text() -> Use:
    """What becomes of the text that the caller makes of a traced value."""
    frame = _reader(sys._getframe(2))
    if frame is None:
        return Use.SHOWN
    nodes = _around(frame)
    if not nodes:
        return Use.SHOWN if _is_printed(frame) else Use.ANY
    error = _error_made_by(frame)
    use = _use(nodes, error)
    names = _assigned(nodes[-1].statement)
    if use is not Use.ANY or not names:
        return use
    uses = {_use_of_read(path, error) for path in _reads(names, nodes[-1].function)}
    return uses.pop() if len(uses) == 1 else Use.ANY if Use.ANY in uses else Use.SHOWN


def _reader(frame: FrameType | None) -> FrameType | None:
    """The user's frame that gets a text; None if a library gets it, or we do."""
    while frame is not None:
        name, module = frame.f_code.co_filename, frame.f_globals.get("__name__")
        if module == _TRACER:
            frame = frame.f_back
        elif is_ours(name):
            if module not in _CALLING:
                return None
            frame = _beyond_ours(frame)
        elif kind_of(name) == INNER or frame.f_code.co_name in _TEXTS:
            frame = frame.f_back
        else:
            return None if kind_of(name) != USERS or _shows_texts(frame) else frame
    return None


def _shows_texts(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return package in _SHOWING_PACKAGES or is_of_python(frame.f_code.co_filename)


def _beyond_ours(frame: FrameType) -> FrameType | None:
    found: FrameType | None = frame
    while found is not None and is_ours(found.f_code.co_filename):
        found = found.f_back
    return found


def _is_printed(frame: FrameType) -> bool:
    """Whether code without source prints what it makes a text of."""
    code = frame.f_code
    called = dis.opname[code.co_code[frame.f_lasti]].startswith("CALL")
    return called and "print" in code.co_names and _MAKING.isdisjoint(code.co_names)


# -- the source ----------------------------------------------------------------------------


class _Node(NamedTuple):
    """An expression or statement, with the innermost function around it, and the innermost
    statement in that; a lambda has none."""

    node: ast.AST
    statement: ast.stmt | None
    function: ast.AST


def _around(frame: FrameType) -> list[_Node]:
    """The nodes around the instruction that a frame runs, outermost first, within the innermost
    function."""
    code = frame.f_code
    first, last, begin, end = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    first, last = first or frame.f_lineno, last or first or frame.f_lineno
    place = (first, begin or 0), (last, end if end is not None else sys.maxsize)
    found = [x for x in _nodes("".join(linecache.getlines(code.co_filename))) if _holds(x, place)]
    if found and begin is None:
        found = [x for x in found if x.node is x.statement]
    return [x for x in found if x.function is found[-1].function]


_Span = tuple[tuple[int, int], tuple[int, int]]


def _holds(x: _Node, place: _Span) -> bool:
    n = x.node
    start, stop = (n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)  # type: ignore[attr-defined]
    return start <= place[0] and (stop >= place[1] or (x.node is x.statement and stop >= place[0]))


@lru_cache(maxsize=16)
def _nodes(text: str) -> tuple[_Node, ...]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    return tuple(_within(tree, None, tree))


def _within(node: ast.AST, statement: ast.stmt | None, function: ast.AST) -> Iterator[_Node]:
    for child in ast.iter_child_nodes(node):
        here = child if isinstance(child, ast.stmt) else statement
        if hasattr(child, "end_lineno"):
            yield _Node(child, here, function)
        if isinstance(child, _FUNCTIONS):
            yield from _within(child, None, child)
        else:
            yield from _within(child, here, function)


def _error_made_by(frame: FrameType) -> str | None:
    """The name of the exception whose constructor a frame runs."""
    code = frame.f_code
    if code.co_name != "__init__" or not code.co_argcount:
        return None
    name = code.co_varnames[0]
    return name if isinstance(frame.f_locals.get(name), BaseException) else None


def _use(nodes: Iterable[_Node], error: str | None) -> Use:
    """What the nodes around a text do with it. In the constructor of an exception, ``error`` is
    the exception's name."""
    uses = {_use_by(x, error) for x in nodes}
    return Use.SHOWN if Use.SHOWN in uses else Use.RAISED if Use.RAISED in uses else Use.ANY


def _use_by(x: _Node, error: str | None) -> Use:
    """What a node does with the texts in it."""
    if isinstance(x.node, ast.Call):
        name = x.node.func
        last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
        if error is not None and last == "__init__":
            return Use.RAISED
        return Use.SHOWN if last in _SHOWING else Use.ANY
    if isinstance(x.node, ast.Assign) and error is not None:
        is_kept = all(_is_attribute_of(target, error) for target in x.node.targets)
        return Use.RAISED if is_kept else Use.ANY
    is_message = isinstance(x.statement, ast.Assert) and x.node is x.statement.msg
    return Use.RAISED if is_message or isinstance(x.node, ast.Raise) else Use.ANY


def _is_attribute_of(target: ast.expr, name: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == name
    )


def _assigned(statement: ast.stmt | None) -> set[str]:
    """The names that a statement assigns to, if it assigns to nothing else."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    names = {x.id for x in targets if isinstance(x, ast.Name)}
    return names if len(names) == len(targets) else set()


def _reads(names: set[str], function: ast.AST) -> Iterator[list[ast.AST]]:
    """Each read of the names in a function, with the nodes around it."""
    waiting: list[list[ast.AST]] = [[function]]
    while waiting:
        path = waiting.pop()
        node = path[-1]
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            yield path
        waiting += [[*path, child] for child in ast.iter_child_nodes(node)]


def _use_of_read(path: list[ast.AST], error: str | None) -> Use:
    statement = next(x for x in reversed(path) if isinstance(x, ast.stmt))
    return _use((_Node(x, statement, statement) for x in path[1:]), error)
