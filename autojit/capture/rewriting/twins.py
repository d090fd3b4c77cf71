"""Twins of functions: the same function, with its constructs as calls of a runtime.

A twin shares the globals, the cells of the closure, the defaults and the attributes of its
function. The code is made once for each code object of the user's.
"""

from __future__ import annotations

import ast
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

from autojit.capture.groups.trees import WithoutLambdas, as_function, inner_groups
from autojit.ir.core.locks import Lock

from .attributes import with_asked_attributes
from .build import RUNTIME, nodes
from .context import Context
from .expressions import first_parameter
from .generators import pushed, resumed, with_forms
from .normal_forms import escapes_of
from .scopes import Scopes
from .source import Found, NoSource, compiled, find
from .statements import Statements

#: The most twins of function objects, and the most codes, that are kept.
MOST = 1024
#: The flag of generator functions.
GENERATOR = 0x20
_COROUTINE = 0x80 | 0x100 | 0x200  # coroutines of both kinds, and asynchronous generators
_OPTIMIZED = 0x1  # set for all code except that of classes and modules
_LOCALS = frozenset(("locals", "eval", "exec"))
_LOCALS_ALONE = frozenset(("vars", "dir"))
_FRAMES = frozenset(("_getframe", "currentframe"))
_NOTHING = "there is nothing to rewrite in it"
_LAMBDA = "<lambda>"
#: The reason why a generator function has no other forms.
CLOSED_GENERATOR = "it is a generator with a yield in with, or in a try with finally"
#: The names, with attributes, by which a function may lead back to itself: see `runs.groups`.
Leaving = frozenset[str]
_NONE: Leaving = frozenset()
#: Makes the form of a generator function that its twin has.
Form = Callable[[ast.FunctionDef], ast.FunctionDef | None]


@dataclass
class _Recipe:
    """The way to make twins of functions that share a code object, or the reason against them."""

    code: weakref.ref[CodeType]
    leaving: Leaving
    twin: CodeType | None = None
    runtime: Any = None
    reason: str = ""
    #: The globals that were modules when the code was made.
    modules: tuple[tuple[str, Any], ...] = ()

    def fits(self, function: FunctionType) -> bool:
        if self.code() is not function.__code__:
            return False
        namespace = function.__globals__
        return all(namespace.get(name) is value for name, value in self.modules)


class _NoRuntime:
    """Stands for a runtime if only the reason is wanted."""

    def __init__(self, sites: tuple[Any, ...]) -> None:
        self.sites = sites


_lock = Lock()
#: Recipes by code object, class of the runtime, calls that may lead back, and form.
_recipes: OrderedDict[tuple[int, type, Leaving, Form], _Recipe] = OrderedDict()
#: By function, and the same: the function, its parts at that time, and its twin.
_twins: OrderedDict[tuple[int, type, Leaving, Form], tuple[Any, ...]] = OrderedDict()
_twin_codes: dict[int, weakref.ref[CodeType]] = {}


def _known_twin(
    function: FunctionType, key: tuple[int, type, Leaving, Form]
) -> FunctionType | None:
    """The twin of a function, if it has been made and still fits."""
    known = _twins.get(key)
    if (
        known is not None
        and known[0]() is function
        and known[1] is function.__code__
        and known[2] is function.__defaults__
        and known[3] is function.__kwdefaults__
    ):
        twin: FunctionType | None = known[4]
        return twin
    return None


def twin_of(
    function: FunctionType, runtime_class: type, leaving: Leaving = _NONE, form: Form = pushed
) -> FunctionType | None:
    """The twin of a function, or None; then ``reason_against`` says why. The twin of a generator
    function has the given form.

    The same function object keeps its twin as long as its code and its defaults stay. ``leaving``
    are the names, with attributes, by which it may lead back to itself.
    """
    key = id(function), runtime_class, leaving, form
    twin = _known_twin(function, key)
    if twin is not None:
        return twin
    recipe = _recipe(function, runtime_class, leaving, form)
    if recipe.twin is None:
        return None
    twin = _made(function, recipe)
    entry = (
        weakref.ref(function, lambda _: _twins.pop(key, None)),
        function.__code__, function.__defaults__, function.__kwdefaults__, twin,
    )  # fmt: skip
    _keep(_twins, key, entry)
    return twin


def reason_against(function: FunctionType, runtime_class: type | None = None) -> str | None:
    """The reason why a function has no twin, in words; None if it has one."""
    runtime = runtime_class or _NoRuntime
    reason = _recipe(function, runtime, _NONE, pushed).reason
    if reason and function.__code__.co_flags & GENERATOR:
        return _recipe(function, runtime, _NONE, resumed).reason or None
    return reason or None


def known_reason(code: CodeType) -> str | None:
    """The reason why the functions with a code object have no twin. None if no twin was wanted, or
    if a twin would have been the same function."""
    for (number, *_), known in list(_recipes.items()):
        if number == id(code) and known.code() is code and known.reason not in ("", _NOTHING):
            return known.reason
    return None


def is_twin_code(code: CodeType) -> bool:
    """Whether a code object is that of a twin, or of a function inside a twin."""
    known = _twin_codes.get(id(code))
    return known is not None and known() is code


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    with _lock:
        cache[key] = value
        while len(cache) > MOST:
            cache.popitem(last=False)


def _recipe(function: FunctionType, runtime_class: type, leaving: Leaving, form: Form) -> _Recipe:
    key = id(function.__code__), runtime_class, leaving, form
    known = _recipes.get(key)
    if known is not None and known.fits(function):
        return known
    made = _Recipe(weakref.ref(function.__code__, lambda _: _recipes.pop(key, None)), leaving)
    try:
        _fill(made, function, runtime_class, form)
    except NoSource as error:
        made.reason = str(error)
    except RecursionError:
        made.reason = "it is nested too deeply"
    _keep(_recipes, key, made)
    return made


def _made(function: FunctionType, recipe: _Recipe) -> FunctionType:
    """The twin of one function object."""
    code = recipe.twin
    assert code is not None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = CellType(recipe.runtime)
    closure = tuple(cells[name] for name in code.co_freevars)
    twin = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__qualname__ = function.__qualname__
    twin.__module__ = function.__module__
    twin.__doc__ = function.__doc__
    twin.__annotations__ = function.__annotations__
    twin.__dict__ = function.__dict__
    if sys.version_info >= (3, 12):
        twin.__type_params__ = function.__type_params__
    return twin


# -- the code -----------------------------------------------------------------------------


def _fill(recipe: _Recipe, function: FunctionType, runtime_class: type, form: Form) -> None:
    """Find, rewrite and compile the code of a twin; raises ``NoSource``."""
    code = function.__code__
    if code.co_flags & _COROUTINE:
        raise NoSource("it is a coroutine")
    if RUNTIME in code.co_freevars:
        raise NoSource("it is a twin")
    found = find(function)
    _refuse(found.node)
    if code.co_flags & GENERATOR:
        made = form(found.node) if isinstance(found.node, ast.FunctionDef) else None
        if made is None:
            raise NoSource(CLOSED_GENERATOR)
        found.node = made
    with_forms(found.node)
    everywhere = getattr(runtime_class, "asks_attributes", False)
    with_asked_attributes(found.node, code.co_freevars, everywhere)
    if isinstance(found.node, ast.Lambda) and recipe.leaving:
        found.node = as_function(found.node, "__aj_lambda")
    names: frozenset[str] = getattr(runtime_class, "numpy_names", frozenset())
    context = Context(found, code.co_filename, code.co_freevars, function.__globals__, names)
    scopes, lambdas = _scopes(found, recipe.leaving | _own_names(found, code, context.mangled),
                              context.mangled)  # fmt: skip
    context.has_walrus = scopes.has_walrus
    root = Statements(context, found.node.scope)  # type: ignore[union-attr]
    context.has_class = "__class__" in code.co_freevars
    root.function(found.node)
    if not context.changed:
        raise NoSource(_NOTHING)
    recipe.twin = _compiled(found, code, lambdas)
    recipe.runtime = runtime_class(tuple(context.sites))
    recipe.modules = tuple(context.modules.items())
    _remember(recipe.twin)


def _scopes(
    found: Found, leaving: Leaving, mangled: Callable[[str], str]
) -> tuple[Scopes, frozenset[tuple[str, int]]]:
    """The scopes of a tree; and the names and lines of the lambdas in it that have become
    definitions, as they call themselves or each other."""
    scopes = Scopes(found.node)
    chosen = inner_groups(found.node, scopes.all, leaving, mangled)
    if not chosen:
        return scopes, frozenset()
    without = WithoutLambdas(chosen)
    found.node = without.visit(found.node)
    scopes = Scopes(found.node)
    inner_groups(found.node, scopes.all, leaving, mangled)
    return scopes, frozenset(without.found)


def _own_names(found: Found, code: CodeType, mangled: Callable[[str], str]) -> Leaving:
    """The names by which a function calls itself, whatever they stand for."""
    node = found.node
    if isinstance(node, ast.Lambda):
        return frozenset()
    around = code.co_qualname.rpartition(".")[0]
    if not around or around.endswith("<locals>"):
        return frozenset({node.name})
    return frozenset({f"{first_parameter(node.args)}.{mangled(node.name)}"})


def _compiled(found: Found, code: CodeType, lambdas: frozenset[tuple[str, int]]) -> CodeType:
    free = (*code.co_freevars, RUNTIME)
    try:
        made = compiled(found.node, code, found.owner, free)
    except SyntaxError as error:
        raise NoSource(f"its twin does not compile: {error}") from error
    return _renamed(made, made.co_qualname, code.co_qualname, code.co_name, lambdas)


def _renamed(
    made: CodeType, start: str, qualname: str, name: str, lambdas: frozenset[tuple[str, int]]
) -> CodeType:  # fmt: skip
    """A code object, and the ones inside it, with the names that Python would give them.

    Functions made by the rewriter bear the name of the user's function around them, for tracebacks.
    """
    own = name if "__aj_" in made.co_name else made.co_name
    spelt = _spelt(made.co_qualname, start, qualname)
    if (own, made.co_firstlineno) in lambdas and own != name:
        own, spelt = _LAMBDA, spelt.removesuffix(own) + _LAMBDA
    constants = []
    for constant in made.co_consts:
        if isinstance(constant, CodeType):
            constant = _renamed(constant, start, qualname, own, lambdas)
        elif constant == made.co_qualname and not made.co_flags & _OPTIMIZED:
            constant = spelt  # the qualified name of a class
        constants.append(constant)
    return made.replace(co_name=own, co_qualname=spelt, co_consts=tuple(constants))


def _spelt(made: str, start: str, qualname: str) -> str:
    """A qualified name without the functions that the rewriter has made."""
    if not made.startswith(start):
        return made
    inner = made[len(start) :].split(".<locals>.")
    return qualname + ".<locals>.".join(part for part in inner if "__aj_" not in part)


def _remember(code: CodeType) -> None:
    """Mark a code object, and the ones inside it, as a twin's. The functions in the body of a class
    stay as they are written, and get twins of their own."""
    key = id(code)
    _twin_codes[key] = weakref.ref(code, lambda _: _twin_codes.pop(key, None))
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_flags & _OPTIMIZED:
            _remember(constant)


# -- functions without a twin -------------------------------------------------------------


def _refuse(root: Any) -> None:
    """Raise ``NoSource`` for functions that a twin would change."""
    for node in nodes(*(root.body if isinstance(root.body, list) else [root.body])):
        if isinstance(node, ast.Call):
            _refuse_call(node)
        elif isinstance(node, ast.Try | ast.TryStar):
            _refuse_finally(node)
        elif getattr(node, "type_params", None):
            raise NoSource(f"line {node.lineno} has type parameters")
        elif isinstance(node, ast.Name) and node.id == RUNTIME:
            raise NoSource("it is a twin")


def _refuse_call(node: ast.Call) -> None:
    func = node.func
    if isinstance(func, ast.Name):
        alone = func.id in _LOCALS_ALONE and not node.args
        if func.id in _LOCALS or alone:
            raise NoSource(f"line {node.lineno} calls {func.id}()")
    elif isinstance(func, ast.Attribute) and func.attr in _FRAMES:
        raise NoSource(f"line {node.lineno} looks at its own frame")


def _refuse_finally(node: Any) -> None:
    leaving = escapes_of(node.finalbody)
    if leaving:
        words = " or ".join(sorted(leaving))
        raise NoSource(f"line {node.finalbody[0].lineno} has {words} in a finally")
