"""Assignments and ``del``; subscripts in them become calls of the runtime."""

from __future__ import annotations

import ast
import builtins
import copy
from typing import Any

from .build import ask, assign, constant, do, lazy, load, nodes, pair, place, runtime, store
from .expressions import Checks, Expressions

#: Expressions that may make an array.
_MAKING = (ast.BinOp, ast.Call, ast.Compare, ast.IfExp, ast.Subscript, ast.UnaryOp)
_OPERATORS = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv",
    ast.FloorDiv: "ifloordiv", ast.Mod: "imod", ast.Pow: "ipow", ast.MatMult: "imatmul",
    ast.LShift: "ilshift", ast.RShift: "irshift", ast.BitAnd: "iand", ast.BitOr: "ior",
    ast.BitXor: "ixor",
}  # fmt: skip


#: Names of functions and methods that change an array.
WRITERS = frozenset((
    "at", "copyto", "fill", "fill_diagonal", "partition", "place", "put", "put_along_axis",
    "putmask", "sort",
))  # fmt: skip


class Assignments(Expressions):
    """Rewrites the statements that assign."""

    #: Whether the function may change an array in place, or calls a function that may.
    writes = False

    def assign(self, node: ast.Assign) -> list[ast.stmt]:
        if isinstance(node.value, ast.GeneratorExp):  # its elements may be asked for one by one
            node.value.is_kept = True  # type: ignore[attr-defined]
        value = self._own(node.value)
        apart = [t for t in node.targets if isinstance(t, ast.Tuple | ast.List)]
        if apart and not isinstance(node.value, ast.Tuple | ast.List):
            count = len(apart[0].elts)
            if any(isinstance(part, ast.Starred) for t in apart for part in t.elts):
                count = -1
            value = self.ask("unpacked", [value, constant(count, node)], node)
        if not any(map(_has_item, node.targets)):
            node.targets = [self.target(target) for target in node.targets]
            node.value = value
            return [node, *self._noticed(*node.targets)]
        if len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Subscript) and self._in_any_order(target, node.value):
                return [self._set_item(target, value)]
            return self._from(target, value)
        name = self.context.temporary("u")
        found = [assign(name, value, node)]
        for target in node.targets:
            found += self.stored(target, load(name, node))
        return found

    def _own(self, node: ast.expr) -> ast.expr:
        """A value that gets a name and that the function may change afterwards."""
        if isinstance(node, ast.Tuple | ast.List):
            node.elts = [self._own(item) for item in node.elts]
            return node
        value = self.expression(node)
        return (
            self.ask("own", [value], node) if self.writes and isinstance(node, _MAKING) else value
        )

    def comprehension(self, node: Any) -> ast.expr:
        makes = self.writes and isinstance(node, ast.ListComp) and isinstance(node.elt, _MAKING)
        if makes and not hasattr(node, "neutral"):  # else one of Python's functions consumes it
            node.elt = self.ask("own", [node.elt], node)
        return super().comprehension(node)

    def _in_any_order(self, target: ast.Subscript, value: ast.expr) -> bool:
        """Whether it makes no difference that the target's parts are evaluated before the value."""
        if isinstance(value, ast.Constant) or self._is_sure(value):
            return True
        index = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        sure = all(map(self._is_sure, [target.value, *index]))
        return sure and not self.keeps_walrus(value)

    def _is_sure(self, node: ast.expr | None) -> bool:
        """Whether an expression neither fails nor changes while another one is evaluated."""
        if isinstance(node, ast.Slice):
            return all(map(self._is_sure, (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Name):
            return self._is_simple(node) and node.id in self.definite
        return node is None or isinstance(node, ast.Constant)

    def _from(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Assign a value that is evaluated before the parts of its target."""
        if not isinstance(target, ast.Subscript):
            return self.stored(target, value)
        name = self.context.temporary("u")
        return [assign(name, value, target), self._set_item(target, load(name, target))]

    def stored(self, target: Any, value: ast.expr) -> list[ast.stmt]:
        """Assign a value that has been evaluated to any target."""
        if isinstance(target, ast.Subscript):
            return [self._set_item(target, value)]
        if not _has_item(target):
            made = self.target(target)
            stored = ast.Assign(targets=[made], value=value, type_comment=None, **place(target))
            return [stored, *self._noticed(target)]
        held: list[ast.expr] = []
        after: list[ast.stmt] = []
        for item in target.elts:
            starred = isinstance(item, ast.Starred)
            name = self.context.temporary("u")
            made = store(name, item)
            held.append(
                ast.Starred(value=made, ctx=ast.Store(), **place(item)) if starred else made
            )
            after += self.stored(item.value if starred else item, load(name, item))
        unpacked = pair(held, target, stored=True)
        first = ast.Assign(targets=[unpacked], value=value, type_comment=None, **place(target))
        return [first, *after]

    def _noticed(self, *targets: ast.expr) -> list[ast.stmt]:
        """The statement that follows the assignment of an attribute: the object may have several
        names. An object that ``__init__`` sets up has no others yet."""
        is_new = getattr(self.context.found.node, "name", "") == "__init__"
        if is_new or not any(map(_has_attribute, targets)):
            return []
        return [do(self.ask("notice", [], targets[0]), targets[0])]

    def _set_item(self, target: ast.Subscript, value: ast.expr) -> ast.stmt:
        array, index = self.expression(target.value), self.index(target.slice)
        return do(self.ask("set_item", [array, index, value], target), target)

    def target(self, node: Any) -> Any:
        """Rewrite the expressions in a target: of attributes, and of items left to Python."""
        if isinstance(node, ast.Name):
            return node
        return self.generic(node)

    def aug_assign(self, node: ast.AugAssign) -> list[ast.stmt]:
        target = node.target
        if isinstance(target, ast.Name):
            node.value = self.expression(node.value)
            checked = self.checked(load(target.id, target), target.id)
            before = [] if isinstance(checked, ast.Name) else [assign(target.id, checked, target)]
            return [*before, *self._both_whole(node), node, *_noticing(node)]
        if isinstance(target, ast.Attribute):
            noticed = self._noticed(target)
            return [*self._both_whole(self.generic(node)), node, *noticed]
        if self.keeps_walrus(node.value):
            return self._in_steps(node, target)
        array, index = self.expression(target.value), self.index(target.slice)
        value = lazy(self.expression(node.value))
        name = constant(_OPERATORS[type(node.op)], node)
        return [do(self.ask("update_item", [array, index, name, value], node), node)]

    def _both_whole(self, node: ast.AugAssign) -> list[ast.stmt]:
        """The statement that checks the dict in ``d |= e``; e is checked as well."""
        if not isinstance(node.op, ast.BitOr) or isinstance(node.value, ast.Constant):
            return []
        target = copy.deepcopy(node.target)
        target.ctx = ast.Load()
        node.value = self.ask("whole", [node.value], node)
        return [do(self.ask("whole", [target], node), node)]

    def _in_steps(self, node: ast.AugAssign, target: ast.Subscript) -> list[ast.stmt]:
        array, index, item = (self.context.temporary("u") for _ in range(3))
        place_ = [load(array, node), load(index, node)]
        return [
            assign(array, self.expression(target.value), node),
            assign(index, self.index(target.slice), node),
            assign(item, self.ask("item", place_, node), node),
            ast.AugAssign(
                target=store(item, node), op=node.op, value=self.expression(node.value),
                **place(node),
            ),
            do(self.ask("set_item", [*place_, load(item, node)], node), node),
        ]  # fmt: skip

    def delete(self, node: ast.Delete) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for target in node.targets:
            found += self._deleted(target)
        return found

    def _deleted(self, target: Any) -> list[ast.stmt]:
        if isinstance(target, ast.Tuple | ast.List):
            return [part for item in target.elts for part in self._deleted(item)]
        if isinstance(target, ast.Name):
            owner = self.scope.owner(target.id)
            if owner is not None and target.id in owner.unbound:
                self.context.changed = True
                checked = self.checked(load(target.id, target), target.id)
                before = [] if isinstance(checked, ast.Name) else [do(checked, target)]
                self.definite = self.definite - {target.id}
                return [*before, assign(target.id, runtime("unbound", target), target)]
            return [ast.Delete(targets=[target], **place(target))]
        if isinstance(target, ast.Subscript):
            array, index = self.expression(target.value), self.index(target.slice)
            return [do(self.ask("delete_item", [array, index], target), target)]
        return [ast.Delete(targets=[self.target(target)], **place(target)), _notice(target)]

    # -- names that a construct sets

    def put(self, names: tuple[str, ...], at: ast.AST) -> list[ast.stmt]:
        """Set names of the function, of outer ones and of the module to ``__aj_values``."""
        if not names:
            return []
        found = self.declarations(set(names), at)
        given = [n if n in self.scope.locals else f"__aj_v{k}" for k, n in enumerate(names)]
        target = pair([store(name, at) for name in given], at, stored=True)
        values = load("__aj_values", at)
        found.append(ast.Assign(targets=[target], value=values, type_comment=None, **place(at)))
        for name, held in zip(names, given, strict=True):
            if name != held:
                found.append(self._outer_put(name, held, at))
        return found

    def _outer_put(self, name: str, held: str, at: ast.AST) -> ast.stmt:
        """Set a name of an outer function or of the module, or unbind it."""
        test = ast.Compare(
            left=load(held, at), ops=[ast.Is()], comparators=[runtime("unbound", at)], **place(at)
        )
        owner = self.scope.owner(name)
        is_set = assign(name, load(held, at), at)
        if owner is not None and name in owner.unbound:
            return is_set
        removed = ast.Delete(targets=[ast.Name(id=name, ctx=ast.Del(), **place(at))], **place(at))
        handler = ast.ExceptHandler(
            type=load("NameError", at), name=None, body=[ast.Pass(**place(at))], **place(at)
        )
        tried = ast.Try(body=[removed], handlers=[handler], orelse=[], finalbody=[], **place(at))
        return ast.If(test=test, body=[tried], orelse=[is_set], **place(at))

    def declarations(self, writes: set[str], at: ast.AST) -> list[ast.stmt]:
        """The declarations of names that a function inside this one sets."""
        found: list[ast.stmt] = []
        shared = sorted(writes & self.scope.globals)
        own = sorted(writes - self.scope.globals)
        if shared:
            found.append(ast.Global(names=shared, **place(at)))
        if own:
            found.append(ast.Nonlocal(names=own, **place(at)))
        return found


#: Operators that change a list or dict in place.
_GROWING = (ast.Add, ast.Mult, ast.BitOr)


def _noticing(node: ast.AugAssign) -> list[ast.stmt]:
    """The statement that follows ``x += y`` if that may change a list or dict in place."""
    numbers = isinstance(node.op, _GROWING) and not isinstance(node.value, ast.Constant)
    return [_notice(node)] if numbers else []


def _notice(at: ast.AST) -> ast.stmt:
    return do(ask("notice", [], at), at)


def may_write(node: ast.AST) -> bool:
    """Whether a function may change an array in place, or calls a function that may."""
    return any(map(_may_write, nodes(node)))


def _may_write(node: Any) -> bool:
    if isinstance(node, ast.AugAssign):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store)
    if not isinstance(node, ast.Call):
        return False
    f = node.func
    if isinstance(f, ast.Name):
        return not hasattr(builtins, f.id)
    by_name = isinstance(f, ast.Attribute) and f.attr in WRITERS
    return by_name or any(k.arg == "out" for k in node.keywords)


def _has_item(target: ast.expr) -> bool:
    """Whether a target assigns an item: ``x[i]``, or a tuple with one."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(map(_has_item, target.elts))
    if isinstance(target, ast.Starred):
        return _has_item(target.value)
    return isinstance(target, ast.Subscript)


def _has_attribute(target: ast.expr) -> bool:
    """Whether a target assigns an attribute."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(map(_has_attribute, target.elts))
    return isinstance(target, ast.Attribute)


class StatementChecks(Checks):
    """Leaves statements as they are, except that names that may be unbound are checked."""

    def statement(self, node: Any) -> None:
        if type(node) in _DEFINITIONS:
            inner = StatementChecks(self.context, node.scope)
            for part in node.body:
                inner.statement(part)
            return
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                setattr(node, field, [self._inside(item) for item in value])
            elif isinstance(value, ast.AST):
                setattr(node, field, self._inside(value))

    def _inside(self, value: Any) -> Any:
        if isinstance(value, ast.expr):
            return self.expression(value)
        if isinstance(value, ast.AST):
            self.statement(value)
        return value


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
