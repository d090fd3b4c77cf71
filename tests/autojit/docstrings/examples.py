"""The examples of NumPy's and SciPy's docstrings, as functions of the arrays in them.

``>>> np.clip(a, 1, 8)`` becomes a function of ``a``, whose value the lines before give. Lists of
floats in a call become arguments too.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import linecache
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy

MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.fft",
    "scipy.signal", "scipy.interpolate", "scipy.ndimage", "scipy.integrate",
)  # fmt: skip
#: Examples that plot, print, draw, measure or write files, or are about how arrays are stored.
_LEFT_OUT = (
    "plt.", "print", "random", "rng", "timeit", "memory", "isfortran", ".base", ".flags", "save",
    "tofile", "dump", "open", "memmap",
)  # fmt: skip
#: The largest array that becomes an argument.
_LARGEST = 3000


class Example(NamedTuple):
    """A statement of a docstring; ``function(*arguments)`` is its value."""

    text: str
    function: Callable[..., Any]
    arguments: list[Any]
    value: Any


def functions() -> dict[str, Any]:
    """The public functions with a docstring, by their names."""
    found = {}
    for module in MODULES:
        space = importlib.import_module(module)
        for name in getattr(space, "__all__", None) or dir(space):
            f = getattr(space, name, None)
            if callable(f) and not isinstance(f, type) and ">>>" in (f.__doc__ or ""):
                found[f"{module}.{name}"] = f
    return found


def examples(name: str, f: Any) -> Iterator[Example]:
    """The examples in the docstring of a function that call it with arrays or floats."""
    space: dict[str, Any] = {"np": np, "scipy": scipy, "__name__": name}
    called = name.rpartition(".")[2]
    for each in doctest.DocTestParser().get_examples(f.__doc__):
        with contextlib.suppress(SyntaxError):
            for statement in ast.parse(each.source).body:
                text = ast.unparse(statement)
                if not any(word in text for word in _LEFT_OUT):
                    if called in text and isinstance(statement, (ast.Expr, ast.Assign)):
                        yield from _example(statement.value, text, space)
                    _run(compile(text, name, "exec"), space)


def _run(code: types.CodeType, space: dict[str, Any]) -> Any:
    """Execute or evaluate code; None if it raises an exception."""
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        return eval(code, space)


def _example(value: ast.expr, text: str, space: dict[str, Any]) -> Iterator[Example]:
    given = {
        n.id: np.copy(space[n.id])[()] if isinstance(space[n.id], np.ndarray) else space[n.id]
        for n in ast.walk(value)
        if isinstance(n, ast.Name) and _is_argument(space.get(n.id))
    }
    lists = _Lists()
    body = ast.unparse(lists.visit(ast.parse(ast.unparse(value), mode="eval").body))
    want = _run(compile(ast.Expression(value), text, "eval"), dict(space))
    if not (given or lists.found) or not all(map(_is_result, leaves(want))):
        return
    given |= lists.found
    yield Example(text, _function(text, list(given), body, space), list(given.values()), want)


def _function(text: str, names: list[str], body: str, space: dict[str, Any]) -> Any:
    """A function with source, as in a notebook."""
    code = f"def example({', '.join(names)}):\n    return {body}\n"
    file = f"<example {text}>"
    linecache.cache[file] = len(code), None, code.splitlines(True), file
    found = dict(space)
    exec(compile(code, file, "exec"), found)
    return found["example"]


class _Lists(ast.NodeTransformer):
    """Replaces lists of floats by names."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def visit_List(self, node: ast.List) -> ast.expr:
        try:
            items = ast.literal_eval(node)
            is_floats = np.asarray(items).dtype.kind == "f" and len(items) > 0
        except ValueError:
            is_floats = False
        if not is_floats:
            self.generic_visit(node)
            return node
        self.found[f"list{len(self.found)}"] = items
        return ast.Name(f"list{len(self.found) - 1}", ast.Load())


def leaves(x: Any) -> list[Any]:
    """The parts of a result: the items of a tuple or list, or the result itself."""
    return list(x) if isinstance(x, (tuple, list)) else [x]


def _is_argument(x: Any) -> bool:
    if type(x) is np.ndarray:
        return x.dtype.kind in "fciub" and x.size <= _LARGEST
    return type(x) in (float, complex) or isinstance(x, (np.floating, np.complexfloating))


def _is_result(x: Any) -> bool:
    number = isinstance(x, (np.ndarray, np.generic, int, float, complex))
    return number and np.asarray(x).dtype.kind in "fciub"
