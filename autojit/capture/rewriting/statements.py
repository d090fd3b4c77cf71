"""Statements of a function as calls of the runtime."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import normal_forms
from .assignments import Assignments, StatementChecks, may_write
from .build import ask, assign, constant, do, function, lazy, load, pair, place, runtime, store
from .context import begin_site, note_call
from .dataflow import (
    Definite,
    Live,
    all_statements,
    heads,
    is_call,
    kept_names,
    without_declarations,
)
from .expressions import first_parameter
from .generators import is_pushed, is_resumed, is_yield
from .matching import needs_values
from .normal_forms import RESULT, RETURNED, NormalForms, is_captured, never_ends
from .scopes import Scope, effects
from .self_calls import SelfCalls, calls_of


class Statements(Assignments):
    """Rewrites one function."""

    # -- the function

    def function(self, node: Any) -> None:
        """Rewrite the body of a function in place."""
        if isinstance(node, ast.Lambda):
            self.first = first_parameter(node.args)
            node.body = self.expression(node.body)
            return
        self.first = first_parameter(node.args)
        self.writes = may_write(node)
        forms = NormalForms(self.scope, self.context)
        is_self = is_yield if is_resumed(node) else self._leads_back(node)
        self._is_pushed = is_pushed(node)
        calls = SelfCalls(
            self.scope, is_self, self._of_self,
            lambda name: self.context.is_builtin(name, self.scope), forms.spelt,
            self.context.number(),
        )  # fmt: skip
        body = forms.body(calls.body(without_declarations(node.body)))
        Definite(self.scope).block(body, set(self.scope.params))
        live = Live(self.scope)
        live.block(body, set(), set())
        self.scope.unbound = self._unbound(body)
        names, unset = kept_names(body, self.scope) if calls.count else (set(), set())
        names -= {RESULT, RETURNED}  # where a call is made, nothing has been returned yet
        self.scope.unbound |= unset
        if forms.returned:
            self.scope.unbound.discard(RETURNED)
        documented = body[:1] if ast.get_docstring(node, clean=False) is not None else []
        inner = self.block(body[len(documented) :])
        node.function = calls.function
        begin = self._begin(node, names) if calls.count else []
        node.body = [*documented, *self._prologue(node, forms.returned), *begin, *inner]
        node.body = node.body or [ast.Pass(**place(node))]

    def _leads_back(self, node: Any) -> Callable[[ast.Call], bool]:
        """A test whether a call may lead back to this function."""
        names: frozenset[str] = getattr(node, "leads_to", frozenset())
        return calls_of(names, self.scope.locals, self.context.mangled)

    def _begin(self, node: Any, kept: set[str]) -> list[ast.stmt]:
        """The first statement of a function that calls itself."""
        names = tuple(sorted(kept))
        site = begin_site(node, self.context, self.scope, names)
        get = lazy(pair([load(name, node) for name in names], node))
        put = f"__aj_put_{site}"
        begins = do(ask("begin", [constant(site, node), get, load(put, node)], node), node)
        return [function(put, self.put(names, node), node, "__aj_values"), begins]

    def _of_self(self, word: str) -> str:
        """A name for a value that is computed before a recursive call, or for its result."""
        name = self.context.temporary(word)
        self.scope.bound.add(name)
        self.scope.internal.add(name)
        return name

    def _unbound(self, body: list[ast.stmt]) -> set[str]:
        """The local names that are accessed where they may be unbound."""
        mine = self.scope.locals
        found: set[str] = set()
        removed = self.scope.deleted & mine
        for part in all_statements(body):
            names = effects(*heads(part)).reads
            if isinstance(part, ast.If | ast.While | ast.For) or is_captured(part):
                every = effects(part)
                names = names | every.writes | every.reads
                found |= removed & names
            if isinstance(part, ast.Delete):
                names = names | removed
            found |= (names & mine) - part.definite
        return found | (removed & self.scope.changed)

    def _prologue(self, node: Any, returned: bool) -> list[ast.stmt]:
        """Declarations, and first values of names that may be accessed too early."""
        found: list[ast.stmt] = []
        scope = self.scope
        if scope.globals:
            found.append(ast.Global(names=sorted(scope.globals), **place(node)))
        if scope.nonlocals:
            found.append(ast.Nonlocal(names=sorted(scope.nonlocals), **place(node)))
        if returned:
            found.append(assign(RETURNED, constant(False, node), node))
        names = sorted(scope.unbound - scope.params)
        if names:
            targets: list[ast.expr] = [store(name, node) for name in names]
            found.append(
                ast.Assign(
                    targets=targets, value=runtime("unbound", node), type_comment=None,
                    **place(node),
                )
            )  # fmt: skip
        return found

    # -- statements

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for node in block:
            self.definite = node.definite  # type: ignore[attr-defined]
            if is_call(node):
                note_call(node, self.context, self.scope)
            method = _REWRITE.get(type(node))
            if method is None:
                found.append(self.generic(node))
            else:
                found += method(self, node)
        return found

    def inner_block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """A block inside a statement; the code after it sees the names from before the block."""
        before = self.definite
        found = self.block(block)
        self.definite = before
        return found or ([ast.Pass(**place(block[0]))] if block else [])

    def declared(self, nodes: list[Any], inner: list[ast.stmt], at: ast.AST) -> list[ast.stmt]:
        """The body of a function that stands for a part of this one, with its declarations."""
        writes = effects(nodes).writes
        return self.declarations(writes, at) + inner

    def if_(self, node: ast.If) -> list[ast.stmt]:
        if hasattr(node, "is_plain") or self.known(node.test):
            node.test = self.expression(node.test)
            node.body = self.inner_block(node.body) or [ast.Pass(**place(node))]
            node.orelse = self.inner_block(node.orelse)
            return [node]
        site = self._site("if", node, getattr(node, "text_of", node.test))
        writes = effects(node.body).writes, effects(node.orelse).writes
        test = self.expression(node.test)
        found = []
        branches = []
        for word, block, own in (("then", node.body, writes[0]), ("else", node.orelse, writes[1])):
            if not block and word == "else":
                branches.append(constant(None, node))
                continue
            name = f"__aj_{word}_{site}"
            body = self.declarations(own, node) + self.inner_block(block)
            found.append(function(name, body, node))
            branches.append(load(name, node))
        return found + self._asked("branch", site, [test, *branches], node)

    def while_(self, node: Any) -> list[ast.stmt]:
        site = self._site("while", node, getattr(node, "text_of", node.test))
        writes = effects(node.body).writes
        test = self.expression(node.test)
        if node.flags and isinstance(node.test, (ast.Name, ast.Attribute, ast.Subscript)):
            test = ask("not_", [ask("not_", [test], node)], node)  # a list counts by its truth
        test = self._guarded(node.flags, test, node)
        name = f"__aj_body_{site}"
        body = self.declarations(writes, node) + self.inner_block(node.body)
        found = [function(name, body, node)]
        return found + self._asked("loop_while", site, [lazy(test), load(name, node)], node)

    def for_(self, node: Any) -> list[ast.stmt]:
        stops = set(node.flags) - ({RETURNED} if self._is_pushed else set())
        node.may_stop = bool(stops) and self._is_held(getattr(node, "text_of", node.iter), node)
        site = self._site("for", node, getattr(node, "text_of", node.iter))
        iterable = self.expression(node.iter)
        writes = effects(node.body).writes
        targets = self.declarations(effects(node.target).writes, node)
        given = load("__aj_v", node)
        item = function(
            f"__aj_item_{site}", targets + self.stored(node.target, given), node, "__aj_v"
        )
        name = f"__aj_body_{site}"
        body = function(name, self.declarations(writes, node) + self.inner_block(node.body), node)
        go_on = constant(None, node)
        if node.flags:
            go_on = lazy(self._guarded(node.flags, None, node))
        parts = [iterable, load(f"__aj_item_{site}", node), go_on, load(name, node)]
        return [item, body, *self._asked("loop_for", site, parts, node)]

    def _is_held(self, iterable: ast.expr, node: Any) -> bool:
        """Whether something other than a loop may hold what the loop runs through."""
        if not isinstance(iterable, ast.Name):
            return isinstance(iterable, ast.Attribute | ast.Subscript)
        name, scope = iterable.id, self.scope
        is_own = name in scope.bound and name not in scope.params | scope.captured
        return not is_own or name in node.live_out

    def _guarded(self, flags: tuple[str, ...], test: ast.expr | None, at: ast.AST) -> ast.expr:
        """The test that no flag is set, followed by the given test."""
        parts = [ask("not_", [load(flag, at)], at) for flag in flags]
        every = parts if test is None else [*parts, test]
        return every[0] if len(every) == 1 else ask("and_", [every[0], *map(lazy, every[1:])], at)

    def assert_(self, node: ast.Assert) -> list[ast.stmt]:
        if not __debug__:
            return [ast.Pass(**place(node))]
        if self.known(node.test) or (node.msg and self.keeps_walrus(node.msg)):
            return [self.generic(node)]
        site = self.context.expression_site("assert", node, node.test)
        message = lazy(self.expression(node.msg)) if node.msg else constant(None, node)
        test = self.expression(node.test)
        return [do(ask("assert_", [constant(site, node), test, message], node), node)]

    # -- the state of a construct

    def _site(self, kind: str, node: Any, test: ast.expr | None) -> int:
        scope = self.scope
        is_loop = kind in ("while", "for")
        every = effects(node.body, getattr(node, "target", [])) if is_loop else effects(node)
        outer = {n for n in scope.free | scope.loads if self._is_free(n)}
        seen = every.reads | effects(node.test).reads if kind == "while" else every.reads
        reads = {n for n in seen if n in scope.locals or n in outer}
        names = {n for n in every.writes | scope.changed if n in scope.bound}
        chosen = frozenset(names)
        return self.context.site(
            kind, node, test, tuple(sorted(names)),
            chosen & (node.live_in | (scope.captured | scope.nonlocals | scope.globals)),
            chosen & node.live_out, chosen & scope.internal,
            tuple(sorted(reads - scope.internal)),
            0 if kind == "if" and never_ends(node.orelse) else 1,
            chosen & (scope.nonlocals | scope.globals),
        )  # fmt: skip

    def _is_free(self, name: str) -> bool:
        if name in self.scope.globals:
            return False
        owner = self.scope.owner(name)
        return owner is not self.scope and (owner is not None or name in self.context.free)

    def _asked(self, method: str, site: int, parts: list[Any], at: ast.AST) -> list[ast.stmt]:
        """The call of the runtime, with the functions that read and set the state."""
        known = self.context.sites[site]
        get = lazy(pair([self._peeked(name, at) for name in known.names], at))
        seen = lazy(pair([self._peeked(name, at) for name in known.reads], at))
        put = f"__aj_put_{site}"
        arguments = [constant(site, at), *parts, get, load(put, at), seen]
        return [
            function(put, self.put(known.names, at), at, "__aj_values"),
            do(ask(method, arguments, at), at),
        ]

    def _peeked(self, name: str, at: ast.AST) -> ast.expr:
        """The value of a name, or the runtime's ``unbound``."""
        if name in self.scope.locals:
            return load(name, at)
        return ask("peek", [lazy(load(name, at))], at)

    # -- statements that stay

    def with_(self, node: ast.With) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        for item in node.items:
            item.context_expr = self.expression(item.context_expr)
            if item.optional_vars is not None:
                item.optional_vars = self.target(item.optional_vars)
        notice = do(ask("notice", [], node), node)  # the manager may have changed something
        node.body = [notice, *self.inner_block(node.body)]
        return [*before, node, notice]

    def try_(self, node: Any) -> list[ast.stmt]:
        if not is_captured(node):
            return self._tried(node)
        site = self._site("try", node, None)
        writes = effects(node).writes
        name = f"__aj_try_{site}"
        inner = self._tried(node, f"__aj_part_{site}")
        body = function(name, self.declarations(writes, node) + inner, node)
        return [body, *self._asked("try_", site, [load(name, node)], node)]

    def _tried(self, node: Any, parts: str = "") -> list[ast.stmt]:
        """A ``try`` with its blocks rewritten. With ``parts``, each block is a function that the
        runtime calls, so that it can run the statement from the middle of a block on."""
        found: list[ast.stmt] = []

        def part(block: list[Any], number: int) -> list[ast.stmt]:
            written = effects(block)
            inner = self.inner_block(block) or [ast.Pass(**place(node))]
            if not parts:
                return inner
            name = f"{parts}_{number}"
            found.append(function(name, self.declarations(written.writes, node) + inner, node))
            return [do(ask("part", [constant(number, node), load(name, node)], node), node)]

        node.body = part(node.body, normal_forms.BODY)
        for number, handler in enumerate(node.handlers, normal_forms.FIRST_HANDLER):
            if handler.type is not None:
                handler.type = self.expression(handler.type)
            handler.body = part(handler.body, number)
            if handler.type is None or "BaseException" in ast.dump(handler.type):
                handler.body.insert(0, do(ask("passing", [], handler), handler))
            if handler.name is not None and handler.name in self._owned_unbound(handler.name):
                self._handler(handler)
        if node.orelse:
            node.orelse = part(node.orelse, normal_forms.ORELSE)
        if node.finalbody:
            node.finalbody = part(node.finalbody, normal_forms.FINALLY)
        return [*found, node]

    def _owned_unbound(self, name: str) -> set[str]:
        owner = self.scope.owner(name)
        return owner.unbound if owner is not None else set()

    def _handler(self, node: ast.ExceptHandler) -> None:
        """Rewrite ``except E as e`` so that ``e`` gets the value ``unbound`` afterwards."""
        name, held = node.name, self.context.temporary("error")
        assert name is not None
        node.name = held
        given = assign(name, load(held, node), node)
        unset = assign(name, runtime("unbound", node), node)
        inner = ast.Try(body=node.body, handlers=[], orelse=[], finalbody=[unset], **place(node))
        node.body = [given, inner]

    def match(self, node: ast.Match) -> list[ast.stmt]:
        node.subject = self.expression(node.subject)
        if needs_values(node):
            node.subject = self.ask("matched", [node.subject], node.subject)
        for case in node.cases:
            if case.guard is not None:
                case.guard = self.expression(case.guard)
            case.body = self.inner_block(case.body) or [ast.Pass(**place(node))]
        return [node]

    def definition(self, node: Any) -> list[ast.stmt]:
        node.decorator_list = self.expressions(node.decorator_list)
        arguments = node.args
        arguments.defaults = self.expressions(arguments.defaults)
        arguments.kw_defaults = [d and self.expression(d) for d in arguments.kw_defaults]
        if node.scope.untouched:
            self._check(node.body, node.scope)
        else:
            inner = Statements(self.context, node.scope)
            inner.function(node)
        return [node]

    def class_(self, node: Any) -> list[ast.stmt]:
        node.decorator_list = self.expressions(node.decorator_list)
        node.bases = self.expressions(node.bases)
        for keyword in node.keywords:
            keyword.value = self.expression(keyword.value)
        self._check(node.body, node.scope)
        return [node]

    def _check(self, body: list[Any], scope: Scope) -> None:
        """Check names that may be unbound, in code that stays as it is."""
        outer: Scope | None = scope
        while outer is not None and not outer.unbound:
            outer = outer.parent
        if outer is not None:
            checks = StatementChecks(self.context, scope)
            for node in body:
                checks.statement(node)


_REWRITE: dict[type, Callable[[Statements, Any], list[ast.stmt]]] = {
    ast.If: Statements.if_,
    ast.While: Statements.while_,
    ast.For: Statements.for_,
    ast.Assert: Statements.assert_,
    ast.With: Statements.with_,
    ast.Try: Statements.try_,
    ast.TryStar: Statements.try_,
    ast.Match: Statements.match,
    ast.FunctionDef: Statements.definition,
    ast.AsyncFunctionDef: Statements.definition,
    ast.ClassDef: Statements.class_,
    ast.Assign: Statements.assign,
    ast.AugAssign: Statements.aug_assign,
    ast.Delete: Statements.delete,
}
