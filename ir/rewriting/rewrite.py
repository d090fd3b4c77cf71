"""The walk that passes share: it reads the ops in order, replaces some and keeps the others.

A pass that looks at one op at a time is a :data:`Rule`. The walk offers each op, with its operands
already replaced, to the rules in turn. The ops that a rule emits are offered to the rules too, so
that after one walk no rule that looks only at an op and at the definitions of its operands applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Builder, Op, Program, Value, building, check_arguments
from autojit.ir.core.types import Type
from autojit.ir.ops.linear import constant

#: ``rule(op, rewriter)`` returns the values that replace the op's results, or None to leave the op
#: alone. A rule emits ops by calling declarations.
Rule = Callable[[Op, "Rewriter"], Sequence[Value] | None]


_type = attrgetter("type")


class Rewriter(Builder):
    """A builder that applies rules to every op that is emitted into it."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__()
        self.rules = rules
        self._definition: dict[Value, Op] = {}
        #: The values that the first ``_looked_at`` ops read.
        self._read: set[Value] = set()
        self._looked_at = 0
        #: Facts that rules have found about an op, for reuse.
        self.notes: dict[Op, Any] = {}

    def definition(self, value: Value, kind: Declaration) -> Op | None:
        """Return the op that computes a value if it is of that kind, else None."""
        op = self._definition.get(value)
        return op if op is not None and op.kind is kind else None

    def maker(self, value: Value) -> Op | None:
        """Return the op that computes a value; None for inputs."""
        return self._definition.get(value)

    def is_read(self, value: Value) -> bool:
        """Whether any op emitted so far reads a value."""
        for op in self.ops[self._looked_at :]:
            self._read.update(op.operands)
        self._looked_at = len(self.ops)
        return value in self._read

    def scalar(self, value: Value) -> Any:
        """Return the element that a constant repeats; None if the value is not a constant."""
        op = self._definition.get(value)
        return op.params["value"] if op is not None and op.kind is constant else None

    def append(self, op: Op) -> None:
        self.ops.append(op)
        for value in op.results:
            self._definition[value] = op

    def add(
        self,
        kind: Declaration,
        operands: Sequence[Value],
        params: dict[str, Any],
        types: Iterable[Type],
    ) -> tuple[Value, ...]:
        results = tuple(map(Value, types))
        return self.offer(Op(kind, tuple(operands), params, results, self.source))

    def repeat(self, op: Op, operands: Sequence[Value]) -> tuple[Value, ...]:
        results = tuple(map(Value, map(_type, op.results)))
        with self.at(op.source):
            return self.offer(Op(op.kind, tuple(operands), op.params, results, self.source))

    def inline(self, program: Program, arguments: Sequence[Value]) -> list[Value]:
        check_arguments(program, [v.type for v in arguments])
        replaced = dict(zip(program.inputs, arguments, strict=True))
        for op in program.ops:
            results = self.repeat(op, [replaced[v] for v in op.operands])
            replaced.update(zip(op.results, results, strict=True))
        return [replaced[v] for v in program.outputs]

    def offer(self, op: Op) -> tuple[Value, ...]:
        """Append an op unless a rule replaces it; return the values of its results."""
        for rule in self.rules:
            replacement = rule(op, self)
            if replacement is not None:
                _check(op, replacement)
                return tuple(replacement)
        self.append(op)
        return op.results


def _check(op: Op, replacement: Sequence[Value]) -> None:
    if list(map(_type, replacement)) != list(map(_type, op.results)):
        raise AssertionError(f"{op!r} was replaced by values of other types: {replacement!r}")


def rewrite(program: Program, rules: Sequence[Rule]) -> Program:
    """Return the program after one walk; the same object if no rule applied."""
    rewriter = Rewriter(rules)
    replaced: dict[Value, Value] = {}
    with building(rewriter):
        for op in program.ops:
            rewriter.source = op.source
            old, new = op.results, rewriter.offer(_with_operands(op, replaced))
            if new is not old:
                replaced.update(zip(old, new, strict=True))
    if not replaced:
        return program
    return program.with_body(rewriter.ops, [replaced.get(v, v) for v in program.outputs])


def _with_operands(op: Op, replaced: dict[Value, Value]) -> Op:
    """Return the op itself, or the same op on other operands with the same results."""
    if replaced.keys().isdisjoint(op.operands):
        return op
    operands = tuple([replaced.get(v, v) for v in op.operands])
    return Op(op.kind, operands, op.params, op.results, op.source)


#: A rule for one kind of op: it returns the value that replaces the result, or None.
OpRule = Callable[[Op, Rewriter], Value | None]


class RuleTable:
    """Rules by the declaration of the op that they apply to; a call registers one."""

    def __init__(self) -> None:
        self.rules: dict[Declaration, list[OpRule]] = {}

    def __call__(self, *kinds: Declaration) -> Callable[[OpRule], OpRule]:
        def register(rule: OpRule) -> OpRule:
            for kind in kinds:
                self.rules.setdefault(kind, []).append(rule)
            return rule

        return register

    def rule(self, op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        """Apply the first rule that applies, as a single rule."""
        for rule in self.rules.get(op.kind, ()):
            value = rule(op, rewriter)
            if value is not None:
                return (value,)
        return None
