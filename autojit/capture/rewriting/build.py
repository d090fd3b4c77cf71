"""Builders of small trees, each at the source position of a tree of the user's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from autojit.capture.groups.trees import is_path

RUNTIME = "__autojit__"
#: Builtins that look at the frame of their caller, or that Python compiles in a special way.
AS_THEY_ARE = frozenset(("super", "globals", "locals", "vars", "dir", "__import__", "breakpoint"))
LOAD, STORE = ast.Load(), ast.Store()
_MORE: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


class _Fields(dict[type, tuple[str, ...]]):
    """For each class of trees, the fields whose trees may compute something."""

    #: Fields that compute nothing: names, numbers, operators, whether a place is read or written.
    NONE = frozenset(("arg", "attr", "ctx", "id", "kind", "level", "op", "ops", "type_comment"))

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields: tuple[str, ...] = getattr(kind, "_fields", ())
        made = () if kind is ast.Constant else tuple(f for f in fields if f not in self.NONE)
        self[kind] = made
        return made


FIELDS = _Fields()


def nodes(*roots: Any) -> list[Any]:
    """Trees and all trees inside them, except operators and the like, in no order. ``ast.walk``
    takes several times as long."""
    found, left = list[Any](), list[Any](roots)
    while left:
        node = left.pop()
        found.append(node)
        for field in FIELDS[type(node)]:
            value = getattr(node, field, None)
            if type(value) is list:
                left += value
            elif isinstance(value, ast.AST):
                left.append(value)
    return found


def place(node: Any) -> dict[str, Any]:
    """The source position of a tree, for trees made from it. For a branch or a loop it is the first
    line, since Python shows the last line of a method that is called."""
    end = getattr(node, "iter", None) or getattr(node, "test", None) or node
    return {
        "lineno": node.lineno,
        "col_offset": node.col_offset,
        "end_lineno": end.end_lineno,
        "end_col_offset": end.end_col_offset,
    }


def load(name: str, at: ast.AST) -> ast.expr:
    return ast.Name(id=name, ctx=LOAD, **place(at))


def store(name: str, at: ast.AST) -> ast.Name:
    return ast.Name(id=name, ctx=STORE, **place(at))


def constant(value: Any, at: ast.AST) -> ast.expr:
    return ast.Constant(value=value, **place(at))


def assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    return ast.Assign(targets=[store(name, at)], value=value, type_comment=None, **place(at))


def runtime(name: str, at: ast.AST) -> ast.expr:
    """An attribute of the runtime."""
    return ast.Attribute(value=load(RUNTIME, at), attr=name, ctx=LOAD, **place(at))


def ask(name: str, arguments: list[Any], at: ast.AST) -> ast.expr:
    """A call of a method of the runtime."""
    return ast.Call(func=runtime(name, at), args=arguments, keywords=[], **place(at))


def do(value: ast.expr, at: ast.AST) -> ast.stmt:
    return ast.Expr(value=value, **place(at))


def _arguments(names: tuple[str, ...], at: ast.AST) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name, annotation=None, **place(at)) for name in names],
        vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[],
    )  # fmt: skip


def lazy(body: ast.expr, *names: str) -> ast.expr:
    """A lambda with the given parameters."""
    return ast.Lambda(args=_arguments(names, body), body=body, **place(body))


def function(name: str, body: list[ast.stmt], at: ast.AST, *names: str) -> ast.stmt:
    return ast.FunctionDef(
        name=name, args=_arguments(names, at), body=body or [ast.Pass(**place(at))],
        decorator_list=[], returns=None, type_comment=None, **_MORE, **place(at),
    )  # fmt: skip


def pair(items: list[ast.expr], at: ast.AST, *, stored: bool = False) -> ast.expr:
    return ast.Tuple(elts=items, ctx=STORE if stored else LOAD, **place(at))


def negation(value: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=value, **place(value))


def none_of(flags: list[str] | tuple[str, ...], at: ast.AST) -> ast.expr:
    """The test that no flag is set."""
    tests = [negation(load(flag, at)) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=tests, **place(at))


def branch(test: ast.expr, body: list[ast.stmt], at: ast.AST) -> ast.If:
    return ast.If(test=test, body=body, orelse=[], **place(at))


def is_runtimes(func: ast.expr) -> bool:
    """Whether a call is a call of the runtime that the rewriter has made."""
    owner = func.value if isinstance(func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id == RUNTIME


def assigns(node: ast.AST) -> bool:
    """Whether an expression assigns a name of the function around it."""
    if isinstance(node, ast.NamedExpr):
        return True
    if isinstance(node, ast.Lambda):
        return any(map(assigns, [*node.args.defaults, *filter(None, node.args.kw_defaults)]))
    return any(map(assigns, ast.iter_child_nodes(node)))


# -- questions about trees ------------------------------------------------------------------

#: Functions that run through all of an iterable at once.
EAGER = frozenset(("sum", "list", "tuple", "max", "min", "sorted"))


def is_text(node: Any) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def is_eager(node: Any) -> bool:
    """Whether a call runs through a generator expression at once."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EAGER
        and len(node.args) > 0 and isinstance(node.args[0], ast.GeneratorExp)
        and not any(isinstance(x, ast.Starred) for x in node.args)
    )  # fmt: skip


def comprehension_of(node: Any) -> Any:
    return node.args[0] if isinstance(node, ast.Call) else node


def is_within(node: Any, tree: Any) -> bool:
    return any(x is node for x in nodes(tree))


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """The places of an expression's parts, in the order in which Python evaluates them."""
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            yield node, field
        elif isinstance(value, list):
            for k, each in enumerate(value):
                if isinstance(each, ast.keyword | ast.Starred):
                    yield each, "value"
                elif isinstance(each, ast.expr):
                    yield value, k


def part(holder: Any, key: Any) -> Any:
    return holder[key] if isinstance(holder, list) else getattr(holder, key)


def set_part(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, list):
        holder[key] = value
    else:
        setattr(holder, key, value)


def loaded(target: Any) -> Any:
    """A target as an expression."""
    made = type(target)(**{**dict(ast.iter_fields(target)), "ctx": ast.Load()}, **place(target))
    return made


# -- statements in other forms, for recursive calls in them --------------------------------------


def _is(name: str, number: int, at: ast.AST) -> ast.expr:
    numbers = [constant(number, at)]
    return ast.Compare(left=load(name, at), ops=[ast.Eq()], comparators=numbers, **place(at))


def cases_apart(node: Any, name: str) -> list[Any]:
    """A ``match`` whose cases follow it, as branches on the number of the case, which has a
    name."""
    follows: list[Any] = []
    for k, case in reversed(list(enumerate(node.cases))):
        made = branch(_is(name, k, case.pattern), case.body, case.pattern)
        case.body, made.orelse, follows = [assign(name, constant(k, node), node)], follows, [made]
    return [assign(name, constant(-1, node), node), node, *follows]


def handlers_apart(node: Any, name: str, has: Callable[[Any], bool]) -> list[Any] | None:
    """A ``try`` after which its ``else`` and the handlers that have calls follow, as branches on
    the number of the handler that has begun. None if one of these handlers uses the exception."""
    chosen = [handler for handler in node.handlers if any(map(has, handler.body))]
    if any(map(handler_uses_exception, chosen)):
        return None
    follows: list[Any] = []
    if node.orelse:
        follows = [branch(_is(name, 0, node), node.orelse, node)]
    for k, handler in enumerate(node.handlers, 1):
        begun = assign(name, constant(k, handler), handler)
        if handler in chosen:
            made = branch(_is(name, k, handler), handler.body, handler)
            handler.body, made.orelse, follows = [], follows, [made]
        handler.body.insert(0, begun)
    body, last = [assign(name, constant(0, node), node), node, *follows], node.finalbody
    node.orelse, node.finalbody = [], []
    if not last:
        return body
    return [ast.Try(body=body, handlers=[], orelse=[], finalbody=last, **place(node))]


def handler_uses_exception(handler: Any) -> bool:
    """Whether a handler of a ``try`` uses its exception."""
    return any(
        (isinstance(x, ast.Raise) and x.exc is None)
        or (isinstance(x, ast.Name) and x.id == handler.name)
        or (isinstance(x, ast.Attribute) and x.attr in ("exc_info", "exception"))
        for x in nodes(*handler.body)
    )


def orelse_apart(node: Any, name: str) -> list[Any]:
    """A loop after which its ``else`` follows; the name says whether a ``break`` has ended it."""
    orelse, node.orelse = node.orelse, []
    if not _note_breaks(node.body, name):
        return [node, *orelse]
    begins = assign(name, constant(False, node), node)
    return [begins, node, branch(negation(load(name, node)), orelse, node)]


def _note_breaks(block: list[Any], name: str) -> bool:
    """Set a name before each ``break`` of a loop; whether there is one."""
    found = False
    for k, node in reversed(list(enumerate(block))):
        if isinstance(node, ast.Break):
            block.insert(k, assign(name, constant(True, node), node))
            found = True
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_loop = isinstance(node, ast.For | ast.While)
            inner: list[Any] = [
                getattr(node, field, []) for field in ("body", "orelse", "finalbody")
            ]
            parts = [*getattr(node, "handlers", []), *getattr(node, "cases", [])]
            blocks = [*inner[is_loop:], *(each.body for each in parts)]
            found |= any([_note_breaks(each, name) for each in blocks])
    return found


def may_run_again(item: ast.withitem) -> bool:
    """Whether the expression of a ``with`` has no effect, apart from those of the manager's
    class: a name, or a call of one with names and numbers."""
    made = item.context_expr
    if not isinstance(made, ast.Call):
        return is_path(made)
    given = [*made.args, *(keyword.value for keyword in made.keywords)]
    return is_path(made.func) and all(isinstance(x, ast.Constant) or is_path(x) for x in given)


def managed(item: ast.withitem) -> None:
    """Let the runtime see the manager of a ``with`` that may be entered again, and its class."""
    made: Any = item.context_expr
    kind = made.func if isinstance(made, ast.Call) else constant(None, made)
    item.context_expr = ask("managed", [kind, made], made)


# -- blocks of functions that are continued later (see `self_calls`) ------------------------------


class Block:
    """The statements of a block; those between calls are skipped where a run continues later."""

    def __init__(self) -> None:
        self._found: list[Any] = []
        self._pending: list[Any] = []

    def plain(self, node: Any) -> None:
        """Add a statement without calls. Functions are defined in every run."""
        if is_definition(node):
            node.is_in_each_run = True
            self.add(node)
        else:
            self._pending.append(node)

    def add(self, node: Any) -> None:
        """Add a statement that each run comes to."""
        if self._pending:
            self._found.append(guard(ask("live", [], self._pending[0]), self._pending))
            self._pending = []
        self._found.append(node)

    def choice(self, node: Any, other: Any) -> None:
        """Add a statement, in place of which runs that skip it execute another one."""
        at = self._pending[0] if self._pending else node
        self._found.append(guard(ask("live", [], at), [*self._pending, node], [other]))
        self._pending = []

    def end(self) -> list[Any]:
        if self._pending:
            self._found.append(guard(ask("live", [], self._pending[0]), self._pending))
        return self._found


def guard(test: ast.expr, body: list[Any], orelse: list[Any] | None = None) -> Any:
    """A branch that stays Python's own; for what is known about names, it takes its first way."""
    made = branch(test, body, test)
    made.orelse = orelse or []
    made.is_guard = made.is_plain = True  # type: ignore[attr-defined]
    return made


def is_definition(node: Any) -> bool:
    made = getattr(node, "value", None) if isinstance(node, ast.Assign) else node
    if isinstance(made, ast.Lambda | ast.FunctionDef):
        given = made.args
        return not (given.defaults or any(given.kw_defaults) or getattr(made, "decorator_list", []))
    return False


def first_parameter(arguments: ast.arguments) -> str | None:
    """The name of a function's first parameter."""
    every = [*arguments.posonlyargs, *arguments.args]
    return every[0].arg if every else None


def is_of_frame(node: ast.AST) -> bool:
    """Whether an expression has another meaning in a function of its own."""
    return any(
        isinstance(part, ast.Await | ast.Yield | ast.YieldFrom)
        or (isinstance(part, ast.Name) and part.id in AS_THEY_ARE)
        for part in ast.walk(node)
    )


# -- comprehensions -----------------------------------------------------------------------

#: The elements that do not change the result of a builtin on many values.
NEUTRAL = {"sum": 0, "any": False, "all": True}
#: Builtins whose result for a list is that for a generator, and those with a neutral element.
OF_MANY = {"sum", "max", "min", *NEUTRAL}


def prepare_elements(node: ast.Call, name: str) -> None:
    """Prepare the comprehension that one of these builtins is called with: no list is made, and a
    neutral value may replace an element that is left out."""
    given: Any = node.args[0] if len(node.args) == 1 else None
    if not isinstance(given, ast.GeneratorExp | ast.ListComp):
        return
    if name not in ("any", "all"):  # which do not ask a generator for all elements
        node.args[0] = made = ast.GeneratorExp(given.elt, given.generators)
        vars(made).update(vars(given))
        given = made
    *others, last = given.generators
    alone = not any(part.ifs for part in others) and not last.is_async
    if name in NEUTRAL and last.ifs and alone and not node.keywords:
        given.neutral = NEUTRAL[name]


def chosen(node: Any, test: ast.expr) -> ast.expr:
    """A set or dict whose conditions may be traced: its elements as functions, each with a test."""
    is_dict = isinstance(node, ast.DictComp)
    element = pair([node.key, node.value], node) if is_dict else node.elt
    node.generators[-1].ifs.clear()
    elements = ast.GeneratorExp(
        elt=pair([test, lazy(element)], node), generators=node.generators, **place(node)
    )
    return ask("chosen", [constant(is_dict, node), elements], node)
