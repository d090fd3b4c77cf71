"""The syntax tree of a code object, found in the source and confirmed by the bytecode.

The source may have changed since the code was compiled, and other tools change bytecode. So a tree
that is found is compiled again, and is accepted only if that gives the function's own code.
"""

from __future__ import annotations
import __future__

import ast
import itertools
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .build import nodes

FunctionNode = ast.FunctionDef | ast.Lambda

#: The function around a compiled tree; its parameters are the free variables.
FACTORY = "__aj_factory"
#: The flags of a code object that `from __future__` sets.
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag
_NESTED = 0x10


class NoSource(Exception):
    """A function has no twin; the message says why."""


@dataclass
class Found:
    """The tree of a function, and the facts that are needed to compile it as Python did."""

    node: FunctionNode
    lines: list[str]
    #: The class whose name is part of private names, or None.
    owner: str | None

    def text(self, node: ast.expr) -> str:
        """The source of an expression."""
        first, last = node.lineno, node.end_lineno or node.lineno
        chosen = [line.encode() for line in self.lines[first - 1 : last]]
        if not chosen:
            return ""
        chosen[-1] = chosen[-1][: node.end_col_offset]
        chosen[0] = chosen[0][node.col_offset :]
        return b"".join(chosen).decode(errors="replace")


def find(function: FunctionType) -> Found:
    """The tree of a function; raises ``NoSource`` if there is none."""
    code = function.__code__
    owner = owner_of(code.co_qualname)
    for fresh in (False, True):
        if fresh:
            linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__) or _of_command(function)
        if not lines:
            raise NoSource("its source is not available")
        for node in _candidates(code, lines):
            bare(node)
            for names in _imports(node, function.__globals__):
                if same_code(compiled(node, code, owner, code.co_freevars, names), code):
                    return Found(node, lines, owner)
    raise NoSource(
        f"the source in {code.co_filename} is not the source that it was compiled from "
        "(the file has changed, or a tool has changed the function)"
    )


def _of_command(function: FunctionType) -> list[str]:
    """The lines of ``python -c``, which Python itself keeps from 3.13 on."""
    is_main = function.__globals__.get("__name__") == "__main__"
    if function.__code__.co_filename != "<string>" or not is_main or "-c" not in sys.orig_argv:
        return []
    text = sys.orig_argv[sys.orig_argv.index("-c") + 1]
    return text.splitlines(keepends=True)


def owner_of(qualname: str) -> str | None:
    """The class around a function, by its qualified name."""
    parts = qualname.split(".")
    classes = [
        part
        for part, after in itertools.pairwise(parts)
        if part != "<locals>" and after != "<locals>"
    ]
    return classes[-1] if classes else None


def bare(node: FunctionNode) -> None:
    """Remove the parts that are not in the code: decorators, annotations, values of defaults."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in (*every, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    none = ast.Constant(
        None, lineno=node.lineno, col_offset=0, end_lineno=node.lineno, end_col_offset=0
    )
    arguments.defaults = [none for _ in arguments.defaults]
    arguments.kw_defaults = [None if d is None else none for d in arguments.kw_defaults]
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
        node.returns = None
        if hasattr(node, "type_params"):
            node.type_params = []


def compiled(
    node: FunctionNode, code: CodeType, owner: str | None, free: tuple[str, ...],
    imports: tuple[str, ...] = (),
) -> CodeType:  # fmt: skip
    """The code object of a tree with the given free variables, in a class of the given name.

    Python compiles ``a.b()`` in another way if the module imports ``a``.
    """
    at: dict[str, Any] = {
        "lineno": node.lineno, "col_offset": 0, "end_lineno": node.lineno, "end_col_offset": 0,
    }  # fmt: skip
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name, **at) for name in free], vararg=None,
        kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[],
    )  # fmt: skip
    inner: list[ast.stmt] = []
    if isinstance(node, ast.FunctionDef):
        if node.name not in free:  # its own name is not one of the factory's
            inner.append(ast.Global(names=[node.name], **at))
        inner.append(node)
    else:
        inner.append(ast.Return(value=node, **at))
    outer: ast.stmt = _definition(FACTORY, arguments, inner, at)
    if owner is not None:
        more: Any = {"type_params": []} if "type_params" in ast.ClassDef._fields else {}
        outer = ast.ClassDef(
            name=owner, bases=[], keywords=[], body=[outer], decorator_list=[], **more, **at
        )
    names = [ast.alias(name=name, asname=None, **at) for name in imports]
    head: list[ast.stmt] = [ast.Import(names=names, **at)] if names else []
    module = ast.Module(body=[*head, outer], type_ignores=[])
    flags = code.co_flags & _FUTURES
    found = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    for _ in range(2 if owner is None else 3):
        found = next(c for c in found.co_consts if isinstance(c, CodeType))
    return found


def _definition(name: str, arguments: ast.arguments, body: list[ast.stmt], at: Any) -> ast.stmt:
    more: Any = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    return ast.FunctionDef(
        name=name, args=arguments, body=body, decorator_list=[], returns=None, **more, **at
    )


def _imports(node: FunctionNode, namespace: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The sets of names that the module may have imported, the likeliest first."""
    names = sorted({
        call.func.value.id
        for call in nodes(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
    })  # fmt: skip
    here = namespace.get("__name__")
    likely = tuple(
        name
        for name in names
        if name in namespace
        and (
            isinstance(namespace[name], ModuleType)
            or getattr(namespace[name], "__module__", here) != here
        )
    )
    yield likely
    # An object may be imported without looking like it. All choices of a few names are tried.
    known = sorted(names, key=lambda name: name not in namespace)[:5]
    for count in range(len(known) + 1):
        for chosen in itertools.combinations(known, count):
            if chosen != likely:
                yield chosen


# -- the same code ------------------------------------------------------------------------


def same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects do the same, wherever they were compiled."""
    return (
        a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
        and a.co_cellvars == b.co_cellvars
        and a.co_name == b.co_name
        and (a.co_flags ^ b.co_flags) & ~_NESTED == 0
        and a.co_argcount == b.co_argcount
        and a.co_posonlyargcount == b.co_posonlyargcount
        and a.co_kwonlyargcount == b.co_kwonlyargcount
        and a.co_exceptiontable == b.co_exceptiontable
        and _same_constants(a.co_consts, b.co_consts)
    )


def _same_constants(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(map(_same_constant, a, b))


def _same_constant(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, CodeType):
        return same_code(a, b)
    if isinstance(a, tuple):
        return _same_constants(a, b)
    if isinstance(a, str) and "<locals>" in a:
        return True  # a class's qualified name
    return (
        a == b or repr(a) == repr(b) if not isinstance(a, float | complex) else repr(a) == repr(b)
    )


# -- the place in the source --------------------------------------------------------------


def _candidates(code: CodeType, lines: list[str]) -> Iterator[FunctionNode]:
    if code.co_name == "<lambda>":
        yield from _lambdas(code, lines)
    else:
        yield from _definitions(code, lines)


def _last_line(code: CodeType) -> int:
    """The last line with code of a function, or of a function inside it."""
    last = max((line for _, _, line in code.co_lines() if line is not None), default=0)
    inner = (_last_line(c) for c in code.co_consts if isinstance(c, CodeType))
    return max(last, code.co_firstlineno, *inner) if code.co_consts else last


def _block(lines: list[str], first: int, last: int) -> ast.Module | None:
    """The tree of a block that ends at the line ``last``, or at the first line after it at which it
    can end."""
    start = lines[first - 1] if first <= len(lines) else ""
    indented = start[:1].isspace()
    #: Brackets, and clauses without code, extend statements beyond the last line with code.
    for end in range(last, min(len(lines), last + 200) + 1):
        text = "".join(lines[first - 1 : end])
        try:
            tree = ast.parse("if 1:\n" + text if indented else text)
        except SyntaxError:
            continue
        ahead = first - (2 if indented else 1)
        for node in nodes(tree):
            if hasattr(node, "lineno"):
                node.lineno += ahead
                node.end_lineno += ahead
        return tree
    return None


def _definitions(code: CodeType, lines: list[str]) -> Iterator[FunctionNode]:
    start, last = code.co_firstlineno, _last_line(code)
    # Code that is never reached has left no lines, but may have left constants.
    for end in dict.fromkeys((last, _end_of_block(lines, start, last))):
        tree = _block(lines, start, end)
        if tree is None:
            return
        first = tree.body[0]
        if isinstance(first, ast.If) and lines[start - 1][:1].isspace():
            first = first.body[0]
        if isinstance(first, ast.FunctionDef) and first.name == code.co_name:
            yield first


def _end_of_block(lines: list[str], first: int, last: int) -> int:
    """The last line of a block by indentation; the block is known to go as far as `last`."""
    indent = _indent(lines[first - 1]) if first <= len(lines) else 0
    end = last
    for number in range(last + 1, len(lines) + 1):
        line = lines[number - 1].strip()
        if line and line[0] != "#":
            if _indent(lines[number - 1]) <= indent:
                break
            end = number
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lambdas(code: CodeType, lines: list[str]) -> Iterator[FunctionNode]:
    tree = _block(lines, code.co_firstlineno, _last_line(code))
    found = _fitting(code, tree) if tree is not None else []
    if not found:  # the lambda begins in the middle of a statement
        try:
            found = _fitting(code, ast.parse("".join(lines)))
        except SyntaxError:
            return
    places = set(code.co_positions())

    def elsewhere(node: ast.Lambda) -> bool:
        body = node.body
        at = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
        return at not in places

    yield from sorted(found, key=elsewhere)


def _fitting(code: CodeType, tree: ast.Module) -> list[ast.Lambda]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
    ]
