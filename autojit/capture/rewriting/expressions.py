"""Expressions of a function as calls of the runtime."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import build
from .build import (
    AS_THEY_ARE,
    ask,
    assigns,
    constant,
    first_parameter,
    is_runtimes,
    lazy,
    load,
    pair,
    place,
    runtime,
)
from .normal_forms import as_tuple, is_plain
from .scopes import COMPREHENSIONS, Scope

if TYPE_CHECKING:
    from .context import Context

#: The functions in `operator` that order tuples.
_ORDERS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
#: The parameter of a comprehension that has become a function of its iterable.
_ITERABLE = "__aj_iterable"
#: Builtins that return a Python bool, whatever their arguments are.
_KNOWN = frozenset(("callable", "hasattr", "issubclass"))


class Expressions:
    """Rewrites the expressions of one function; subclasses rewrite its statements."""

    scope: Scope
    context: Context
    #: The names that are certainly assigned at the expression.
    definite: set[str]
    #: The method's first parameter, for ``super()``.
    first: str | None

    def __init__(self, context: Context, scope: Scope) -> None:
        self.context = context
        self.scope = scope
        self.definite = set()
        self.first = None
        #: The comprehensions around the expression.
        self.inner: list[Scope] = []

    def expression(self, node: Any) -> Any:
        method = _REWRITE.get(type(node))
        return self.generic(node) if method is None else method(self, node)

    def expressions(self, nodes: list[Any]) -> list[Any]:
        return [self.expression(node) for node in nodes]

    def generic(self, node: Any) -> Any:
        """Rewrite the parts of a node."""
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                setattr(node, field, [self._part(item) for item in value])
            elif isinstance(value, ast.AST):
                setattr(node, field, self._part(value))
        return node

    def _part(self, value: Any) -> Any:
        if isinstance(value, ast.expr):
            return self.expression(value)
        if isinstance(value, ast.keyword):
            return self.keyword(value)
        return self.generic(value) if isinstance(value, ast.withitem) else value

    def name(self, node: ast.Name) -> ast.expr:
        is_inner = any(node.id in scope.bound for scope in self.inner)
        is_read = isinstance(node.ctx, ast.Load) and not is_inner
        return self.checked(node, node.id) if is_read else node

    def attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic(node)
        is_class = node.attr == "__class__" and isinstance(node.ctx, ast.Load)
        return self.ask("class_of", [node.value], node) if is_class else node

    def checked(self, node: ast.expr, name: str) -> ast.expr:
        """A load of a name, which raises Python's error if the name is unbound."""
        owner = self.scope.owner(name)
        if owner is None or name not in owner.unbound:
            return node
        free = owner is not self.scope or bool(self.inner)
        if owner is self.scope and (name in self.definite or name in self.scope.internal):
            return node
        spelt = [constant(self.context.mangled(name), node)]
        if free and not (owner is self.scope and self.context.inlines(self.inner)):
            spelt.append(constant(True, node))
        return ask("bound", [node, *spelt], node)

    # -- dicts, lists and texts put together

    def bin_op(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.BitOr):
            name = "joined"
        elif isinstance(node.op, ast.Mult) and ast.List in map(type, (node.left, node.right)):
            name = "repeated"
        elif isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr):
            name = "formatted"
        else:
            return self.generic(node)
        return self.ask(name, self.expressions([node.left, node.right]), node)

    def starred(self, node: ast.Starred) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            node.value = self.whole(node.value)
            return node
        return self.generic(node)

    def dict_(self, node: ast.Dict) -> ast.expr:
        pairs = list(zip(node.keys, node.values, strict=True))
        node.keys = [key and self.expression(key) for key, _ in pairs]
        node.values = [self.whole(x) if key is None else self.expression(x) for key, x in pairs]
        return node

    def keyword(self, node: ast.keyword) -> ast.keyword:
        node.value = self.whole(node.value) if node.arg is None else self.expression(node.value)
        return node

    def whole(self, node: ast.expr) -> ast.expr:
        """An expression whose elements, or keys, are taken out."""
        return self.ask("whole", [self.expression(node)], node)

    # -- lazy operators

    def keeps_walrus(self, *nodes: ast.AST) -> bool:
        """Whether an assignment in these nodes would belong to a lambda around them."""
        return self.context.has_walrus and any(map(assigns, nodes))

    def bool_op(self, node: ast.BoolOp) -> ast.expr:
        if self.keeps_walrus(*node.values[1:]):
            return self.generic(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        first, *others = self.expressions(node.values)
        return self.ask(name, [first, *map(lazy, others)], node)

    def unary_op(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return self.ask("not_", [self.expression(node.operand)], node)
        return self.generic(node)

    def if_exp(self, node: ast.IfExp) -> ast.expr:
        if self.known(node.test) or self.keeps_walrus(node.body, node.orelse):
            return self.generic(node)
        site = self.context.expression_site("ifexp", node, node.test)
        test, body, orelse = self.expressions([node.test, node.body, node.orelse])
        return self.ask("choose", [constant(site, node), test, lazy(body), lazy(orelse)], node)

    def compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1:
            left, right = self.expressions([node.left, node.comparators[0]])
            return self._pairwise(left, node.ops[0], right, node)
        if self.keeps_walrus(*node.comparators[1:]):
            return self.generic(node)
        return self._chain(self.expression(node.left), node.ops, node.comparators, node)

    def _chain(
        self, left: ast.expr, ops: list[Any], others: list[ast.expr], at: ast.expr
    ) -> ast.expr:
        if len(ops) == 1:
            return self._pairwise(left, ops[0], self.expression(others[0]), at)
        middle = others[0]
        value = self.expression(middle)
        if self._is_simple(middle):
            again, rest_of = value, None
        elif self.inner:  # a comprehension, where Python may refuse an assignment
            rest_of = self.context.temporary("t")
            value, given = load(rest_of, middle), value
            again = load(rest_of, middle)
        else:
            name = self.context.temporary("t")
            again = load(name, middle)
            value = ast.NamedExpr(target=build.store(name, middle), value=value, **place(middle))
            rest_of = None
        if rest_of is not None:
            before = self.context.temporary("t")
            test = self._pairwise(load(before, left), ops[0], value, at)
            rest = self._chain(again, ops[1:], others[1:], at)
            body = self.ask("and_", [test, lazy(rest)], at)
            both = lazy(body, before, rest_of)
            return ast.Call(func=both, args=[left, given], keywords=[], **place(at))
        test = self._pairwise(left, ops[0], value, at)
        rest = self._chain(again, ops[1:], others[1:], at)
        return self.ask("and_", [test, lazy(rest)], at)

    def _is_simple(self, node: ast.expr) -> bool:
        """Whether a second evaluation of an expression gives the same value."""
        if isinstance(node, ast.Constant):
            return True
        if not isinstance(node, ast.Name):
            return False
        name = node.id
        return self.scope.owner(name) is self.scope and name not in self.scope.changed

    def _pairwise(self, left: ast.expr, op: Any, right: ast.expr, at: ast.expr) -> ast.expr:
        if isinstance(op, ast.In | ast.NotIn):
            found = self.ask("in_", [left, as_tuple(right)], at)
            return found if isinstance(op, ast.In) else self.ask("not_", [found], at)
        if isinstance(op, ast.Is | ast.IsNot) and not (is_plain(left) or is_plain(right)):
            same = self.ask("is_", [left, right], at)
            return same if isinstance(op, ast.Is) else self.ask("not_", [same], at)
        if isinstance(op, ast.Eq | ast.NotEq) and not (is_plain(left) or is_plain(right)):
            name = "equal" if isinstance(op, ast.Eq) else "unequal"
            return self.ask(name, [left, right], at)
        if type(op) in _ORDERS and not (is_plain(left) or is_plain(right)):
            return self.ask("ordered", [runtime(_ORDERS[type(op)], at), left, right], at)
        return ast.Compare(left=left, ops=[op], comparators=[right], **place(at))

    def ask(self, name: str, arguments: list[Any], at: ast.AST) -> ast.expr:
        self.context.changed = True
        return ask(name, arguments, at)

    def known(self, test: ast.expr) -> bool:
        """Whether the value of a test is never traced, whatever the values in it are."""
        if isinstance(test, ast.Constant):
            return True
        if isinstance(test, ast.UnaryOp):
            return isinstance(test.op, ast.Not) and self.known(test.operand)
        if isinstance(test, ast.BoolOp):
            return all(map(self.known, test.values))
        if isinstance(test, ast.Compare):
            named = isinstance(test.left, ast.Name) and test.left.id == "__name__"
            plain = any(map(is_plain, (test.left, *test.comparators)))
            return named or (plain and all(isinstance(op, ast.Is | ast.IsNot) for op in test.ops))
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
            return test.func.id in _KNOWN and self.context.is_builtin(test.func.id, self.where())
        return False

    def where(self) -> Scope:
        return self.inner[-1] if self.inner else self.scope

    # -- calls and items

    def call(self, node: ast.Call) -> ast.expr:
        func = node.func
        if isinstance(func, ast.Name) and func.id in AS_THEY_ARE:
            if self.context.is_builtin(func.id, self.where()):
                return self._as_it_is(node)
        elif self.context.is_native(func, self.where()):
            return self.generic(node)
        elif is_runtimes(func):
            self.context.changed = True
            node.args[:0] = [constant(node.site, node)] if hasattr(node, "site") else []  # `yield`
            return self.generic(node)
        name = getattr(func, "id", "")
        if name in build.OF_MANY and self.context.is_builtin(name, self.where()):
            build.prepare_elements(node, name)
        inner = self.generic(node)
        self.context.changed = True
        sites = [constant(node.site, node)] if hasattr(node, "site") else []  # of recursive calls
        func = runtime("call_self" if sites else "call", node)
        given = [*sites, inner.func, *inner.args]
        return ast.Call(func=func, args=given, keywords=inner.keywords, **place(node))

    def _as_it_is(self, node: ast.Call) -> ast.expr:
        node = self.generic(node)
        is_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        alone = not node.args and not node.keywords and not self.inner
        if is_super and alone and self.first and self.context.has_class:
            node.args = [load("__class__", node), load(self.first, node)]
        return node

    def subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return self.generic(node)
        value = self.expression(node.value)
        return self.ask("item", [value, self.index(node.slice)], node)

    def index(self, node: ast.expr) -> ast.expr:
        """An index as a value: slices become objects."""
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            values = [constant(None, node) if p is None else self.expression(p) for p in parts]
            return ask("slice", values, node)
        if isinstance(node, ast.Tuple):
            return pair([self.index(item) for item in node.elts], node)
        return self.expression(node)

    # -- functions inside

    def lambda_(self, node: Any) -> ast.expr:
        arguments = node.args
        arguments.defaults = self.expressions(arguments.defaults)
        arguments.kw_defaults = [d and self.expression(d) for d in arguments.kw_defaults]
        if not hasattr(node, "scope"):
            return node
        inner = Expressions(self.context, node.scope)
        inner.first = first_parameter(arguments)
        inner.definite = set(node.scope.params)
        if node.scope.untouched:
            inner = Checks(self.context, node.scope)
        inner.around(self)
        node.body = inner.expression(node.body)
        return node

    def around(self, outer: Expressions) -> None:
        """Take over state from the function around this one: there is none."""

    def comprehension(self, node: Any) -> ast.expr:
        first, *others = node.generators
        scope = node.scope
        # The first iterable is evaluated in the function, but may not assign either.
        self.inner.append(Scope("comprehension", scope.parent))
        first.iter = self.expression(first.iter)
        self.inner[-1] = scope
        for part in others:
            part.iter = self.ask("iterable", [self.expression(part.iter)], part.iter)
        for part in node.generators:
            part.target = self.expression(part.target)
            part.ifs = self.expressions(part.ifs)
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, self.expression(getattr(node, field)))
        self.inner.pop()
        is_async = any(part.is_async for part in node.generators) or build.is_of_frame(node)
        is_list, in_class = isinstance(node, ast.ListComp), self.where().kind == "class"
        has_form = (is_list or isinstance(node, ast.GeneratorExp)) and not (is_async or in_class)
        if not has_form or self.keeps_walrus(node):
            first.iter = self.ask("iterable", [first.iter], first.iter)
            is_plain = is_async or in_class or isinstance(node, ast.ListComp | ast.GeneratorExp)
            return node if is_plain else self._chosen(node)
        return self._elements_of(node, first, others, is_list=is_list)

    def _all_of(self, conditions: list[Any], at: ast.AST) -> ast.expr:
        first, *others = conditions
        return self.ask("and_", [first, *map(lazy, others)], at) if others else first

    def _chosen(self, node: Any) -> ast.expr:
        """A set or dict whose conditions may be traced: its elements with a test for each."""
        conditions = node.generators[-1].ifs
        if not conditions or self.keeps_walrus(node):
            return node
        self.context.changed = True
        return build.chosen(node, self._all_of(conditions, node))

    def _elements_of(self, node: Any, first: Any, others: list[Any], *, is_list: bool) -> ast.expr:
        """Rewrite a comprehension that may run through a list of traced length, or whose conditions
        may be traced."""
        conditions = others[-1].ifs if others else first.ifs
        is_filter = bool(conditions) and not any(part.ifs for part in [first, *others][:-1])
        if is_filter:
            test = self._all_of(conditions, node)
            neutral = getattr(node, "neutral", None)
            given = [] if neutral is None else [constant(neutral, node)]
            name = "perhaps" if neutral is None else "kept"
            node.elt = self.ask(name, [test, lazy(node.elt), *given], node)
            conditions.clear()
        site = self.context.expression_site("comprehension", node, first.iter)
        given, first.iter = first.iter, load(_ITERABLE, first.iter)
        flags = [constant(is_list, node), constant(is_filter or hasattr(node, "is_kept"), node)]
        return self.ask(
            "elements", [constant(site, node), lazy(node, _ITERABLE), given, *flags], node
        )


class Checks(Expressions):
    """Leaves expressions as they are, except that names that may be unbound are checked."""

    def expression(self, node: Any) -> Any:
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Lambda):
            return self.lambda_(node)
        if isinstance(node, COMPREHENSIONS):
            return self.comprehension(node)
        return self.generic(node)

    def lambda_(self, node: Any) -> ast.expr:
        node.scope.untouched = True
        return super().lambda_(node)


_REWRITE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Constant: lambda self, node: node,
    ast.Name: lambda self, node: self.name(node),
    ast.BoolOp: Expressions.bool_op,
    ast.BinOp: Expressions.bin_op,
    ast.Starred: Expressions.starred,
    ast.Dict: Expressions.dict_,
    ast.UnaryOp: Expressions.unary_op,
    ast.IfExp: Expressions.if_exp,
    ast.Compare: Expressions.compare,
    ast.Attribute: Expressions.attribute,
    ast.Call: Expressions.call,
    ast.Subscript: Expressions.subscript,
    ast.Lambda: Expressions.lambda_,
    **dict.fromkeys(COMPREHENSIONS, lambda self, node: self.comprehension(node)),
}
