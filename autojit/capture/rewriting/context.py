"""State that the parts of one twin share: its sites, its globals, its file."""

from __future__ import annotations

import ast
import builtins
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from .scopes import Scope
from .source import Found

#: Modules whose functions look at the frame of their caller.
_LOOK_AT_FRAMES = ("warnings", "logging", "inspect", "sys")
#: The functions of `warnings` that do not.
_FILTERS = frozenset({"filterwarnings", "simplefilter"})
_EMPTY: frozenset[str] = frozenset()


class Site(NamedTuple):
    """A construct of the user's source, as the runtime of its twin sees it."""

    #: The line of the construct.
    line: int
    #: "if", "while", "for", "try", "ifexp", "assert" or, for recursive functions, "begin" and
    #: "call".
    kind: str
    #: The names that ``get`` returns and ``put`` sets: all that the construct may assign.
    names: tuple[str, ...]
    #: The names that may be read in the construct before it has assigned them.
    live_in: frozenset[str]
    #: The names that may be read after the construct.
    live_out: frozenset[str]
    #: The names that the rewriter made: flags and results.
    internal: frozenset[str]
    #: The local and closure names that the construct reads; ``seen`` returns their values.
    reads: tuple[str, ...]
    #: The source of the test, or of the iterable.
    text: str
    #: The user's file.
    file: str
    #: How deep the loops in it are nested, up to 2.
    depth: int = 0
    #: The names that are certainly bound after the construct.
    definite: frozenset[str] = frozenset()
    #: For "if": the way that is traced first, since it may raise an exception; 1 is ``then``.
    first: int = 1
    #: The names of ``names`` that are variables of outer functions, or globals.
    outer: frozenset[str] = frozenset()
    #: For a recursive call, its number; for it and for a loop with such calls, the number of the
    #: function around it (see `self_calls`).
    number: int = -1
    function: int = -1
    #: Whether such a loop is a comprehension's, whose number of steps has to be known.
    is_unrolled: bool = False
    #: Whether each step of such a loop leaves the function.
    is_left: bool = False
    #: For "for": whether something in the loop, other than the consumer of a generator, may end it,
    #: and something else may hold what it runs through.
    may_stop: bool = False


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _loops_in(node: ast.AST) -> Iterator[ast.AST]:
    return (x for x in ast.walk(node) if isinstance(x, _LOOPS) and x is not node)


def _depth(node: ast.AST, most: int = 2) -> int:
    """How deep the loops in a node are nested, up to ``most``."""
    if not most:
        return 0
    return max((1 + _depth(x, most - 1) for x in _loops_in(node)), default=0)


class Context:
    """State of the rewriting of one function and of everything inside it."""

    def __init__(
        self, found: Found, file: str, free: tuple[str, ...], namespace: dict[str, Any],
        numpy_names: frozenset[str],
    ) -> None:  # fmt: skip
        self.found = found
        self.file = file
        self.globals = namespace
        self.numpy_names = numpy_names
        self.free = {self.plain(name) for name in free} | set(free)
        self.sites: list[Site] = []
        self.has_walrus = False
        #: Whether the function is a method that asks for its class.
        self.has_class = False
        #: Whether anything has become a call of the runtime.
        self.changed = False
        #: The globals that were taken to be modules, by name, and their values at that time.
        self.modules: dict[str, Any] = {}
        self._temporaries = self._functions = 0

    # -- names

    def plain(self, name: str) -> str:
        """A private name as it is spelt inside its class."""
        start = f"_{self._owner()}__"
        return name[len(start) - 2 :] if self._owner() and name.startswith(start) else name

    def mangled(self, name: str) -> str:
        """A name as Python stores it, mangled if it is private."""
        private = name.startswith("__") and not name.endswith("__") and bool(self._owner())
        return f"_{self._owner()}{name}" if private else name

    def _owner(self) -> str:
        return (self.found.owner or "").lstrip("_")

    def temporary(self, word: str) -> str:
        self._temporaries += 1
        return f"__aj_{word}_{self._temporaries}"

    def number(self) -> int:
        """The number of a function."""
        self._functions += 1
        return self._functions

    def is_outside(self, name: str, scope: Scope) -> bool:
        """Whether a name is a global or a builtin."""
        return scope.owner(name) is None and name not in self.free

    def is_builtin(self, name: str, scope: Scope) -> bool:
        return self.is_outside(name, scope) and name not in self.globals and hasattr(builtins, name)

    def is_native(self, func: ast.expr, scope: Scope) -> bool:
        """Whether a callee is a NumPy function, or a function that looks at its caller's frame."""
        last = func.attr if isinstance(func, ast.Attribute) else None
        while isinstance(func, ast.Attribute):
            if func.attr in self.numpy_names:
                return False
            func = func.value
        if not isinstance(func, ast.Name) or not self.is_outside(func.id, scope):
            return False
        value = self.globals.get(func.id)
        if last is None:
            return value is not None and value is warnings.warn
        numpy = sys.modules.get("numpy")
        if value is warnings and last in _FILTERS:
            return False
        native = value is not None and value is numpy and last not in self.numpy_names
        if native or any(value is sys.modules.get(m, self) for m in _LOOK_AT_FRAMES):
            self.modules[func.id] = value
            return True
        return False

    def inlines(self, inner: list[Scope]) -> bool:
        """Whether comprehensions are part of the code of the function around them."""
        return sys.version_info >= (3, 12) and all(s.kind == "comprehension" for s in inner)

    # -- sites

    def expression_site(self, kind: str, node: ast.AST, test: ast.expr) -> int:
        return self.site(kind, node, test, (), _EMPTY, _EMPTY, _EMPTY, ())

    def site(
        self, kind: str, node: Any, test: ast.expr | None, names: tuple[str, ...],
        live_in: frozenset[str], live_out: frozenset[str], internal: frozenset[str],
        reads: tuple[str, ...], first: int = 1, outer: frozenset[str] = frozenset(),
    ) -> int:  # fmt: skip
        text = "" if test is None else self.found.text(test)
        self.sites.append(
            Site(node.lineno, kind, names, live_in, live_out, internal, reads, text, self.file,
                 _depth(node), frozenset(getattr(node, "definite_after", ())), first, outer,
                 getattr(node, "number", -1), getattr(node, "function", -1),
                 hasattr(node, "is_unrolled"), getattr(node, "is_left", False),
                 getattr(node, "may_stop", False))
        )  # fmt: skip
        self.changed = True
        return len(self.sites) - 1


def note_call(node: Any, context: Context, scope: Scope) -> None:
    """Make the site of a recursive call, or of a ``yield``: the names that are read after it."""
    node.value.definite_after = node.definite
    live = frozenset(scope.locals & (node.live_out | node.value.again)) - {node.targets[0].id}
    nothing: frozenset[str] = frozenset()
    node.value.site = context.site(
        "call", node.value, None, tuple(sorted(live)), nothing, live, nothing, ()
    )


def begin_site(node: Any, context: Context, scope: Scope, names: tuple[str, ...]) -> int:
    """The site of a function that calls itself, with the names that are read after such a call."""
    every = frozenset(names)
    return context.site("begin", node, None, names, every, every, every & scope.internal, ())
