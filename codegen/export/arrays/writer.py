"""The statements of one function: which values get names, and which are parts of expressions.

A value is part of the expression that reads it if that is its only reader, comes from the same user
statement, and stays short. Views are written where they are read. All other values are assigned: to
the user's own name if the value is the target of the statement, or to `d_` and that name if it is
the target's cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit.codegen.export.text.expressions import ADD, UNARY, Expression, call
from autojit.codegen.export.text.names import Names
from autojit.codegen.export.text.python_lines import PythonLines
from autojit.codegen.export.text.statements import Statement, Statements, is_backward
from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.halves import is_bfloat16
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import Type
from autojit.ir.core.values import DerivedSource, Source

from .natural import natural
from .order import Plan, is_truth, is_view

#: The longest right-hand side if a part of it could be a statement of its own.
LONGEST = 72

Form = Callable[["Writer", Op], Expression | None]


class Writer(PythonLines):
    """The lines of a function, and the expressions of values."""

    def __init__(
        self, forms: Mapping[type, Form], reasons: Mapping[str, str], names: Names
    ) -> None:
        self.forms = forms
        #: Why ops without a form are rejected.
        self.reasons = reasons
        self.names = names
        self.lines: list[str] = []
        #: The helper functions and modules of SciPy that the module needs.
        self.needs: dict[str, None] = {}
        self._statements = Statements()
        self._indent = 1
        self._of: dict[Value, Expression] = {}
        #: The ops of values that are still expressions and may yet be assigned.
        self._pending: dict[Value, Op] = {}
        self._makers: dict[Value, Op] = {}
        #: Indices that NumPy may count from the end, with the extents of their axes; and the
        #: smallest and largest values of loop indices.
        self._natural: set[tuple[Value, int]] = set()
        self.ranges: dict[Value, tuple[int, int] | None] = {}
        self._commented: tuple[Statement, bool] | None = None
        self._wanted: dict[Value, tuple[str, bool]] = {}
        self.plan = Plan((), ())

    # -- lines ------------------------------------------------------------------

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        with super().block(header):
            yield
        self._commented = None

    def taken(self, start: int) -> list[str]:
        """Remove the lines from a position on, and return them as the lines of a block."""
        found = self.lines[start:]
        del self.lines[start:]
        return found[1:] if found and not found[0] else found

    @contextmanager
    def block_after(self, header: str, first: Sequence[str]) -> Iterator[None]:
        """Open a block that begins with lines taken from here; more lines follow them."""
        margin = "    " * self._indent
        with self.block(header):
            for text in first:
                self.line(text.removeprefix(margin))
            yield

    def _comment(self, source: Source | None) -> None:
        """Write the user's statement as a comment, if the line before came from another one."""
        statement = self._statements.of(source)
        if statement is None:
            return
        key = statement, is_backward(source)
        if key == self._commented:
            return
        if self.lines and self.lines[-1] and not self.lines[-1].endswith(":"):
            self.line("")
        self.line(statement.comment(backward=key[1]))
        self._commented = key

    # -- values -----------------------------------------------------------------

    def bind(self, value: Value, expression: Expression) -> None:
        self._of[value] = expression

    def expression(self, value: Value) -> Expression:
        """Return the value for an expression in which another operand has its shape: a number, or
        an array that broadcasts."""
        return self._of[value]

    def array(self, value: Value) -> Expression:
        """Return the value with its full shape and its dtype."""
        found = self._of[value]
        if found.literal:
            return filled(found.text, value.type)
        if found.shape is not None and found.shape != value.shape:
            return call("np.broadcast_to", found.text, shape_text(value.shape))
        return found

    def text(self, value: Value, level: int = ADD) -> str:
        return self.array(value).at(level)

    def named(self, value: Value) -> str:
        """Return a name of the value, which is assigned if it has none yet."""
        found = self.array(value)
        if found.is_name:
            return found.text
        if value in self._pending:
            self.assign(value, self._pending[value], found)
            return self._of[value].text
        name = self.names.fresh("x")
        self.line(f"{name} = {found.text}")
        return name

    def need(self, name: str) -> str:
        """Request a helper function or a module of SciPy. Return its name."""
        self.needs[name] = None
        return name

    # -- ops --------------------------------------------------------------------

    def body(
        self, program: Program, results: Sequence[str] = (), *, exact: bool = False
    ) -> list[Expression]:
        """Write the ops of a program whose inputs are bound. Return its outputs.

        ``results`` are names for outputs that are computed here: preferred names, or ``exact``
        ones, which nothing else has.
        """
        program, found = natural(program)
        self._natural |= found
        before, self.plan = self.plan, Plan(program.ops, program.outputs, self._statements.of)
        self._makers.update((v, op) for op in program.ops for v in op.results)
        wanted = zip(program.outputs, results, strict=False)
        outer, self._wanted = self._wanted, {v: (name, exact) for v, name in wanted if name}
        for op in self.plan.order:
            self._op(op)
        outputs = [self.array(v) for v in program.outputs]
        self.plan, self._wanted = before, outer
        return outputs

    def _op(self, op: Op) -> None:
        form = self.forms.get(type(op.kind))
        if form is None:
            reason = self.reasons.get(op.kind.name, "NumPy has no equivalent")
            raise TargetError(f"{op.kind.name} cannot be written in NumPy: {reason}", op.source)
        made = form(self, op)
        while made is not None and len(made.text) > LONGEST and self._assign_longest(op):
            made = form(self, op)
        if made is None:
            return
        (value,) = op.results
        self._of[value] = made
        self._pending[value] = op
        if value in self._wanted or (not made.literal and self.plan.is_statement(op, made)):
            self.assign(value, op, self.array(value))

    def _assign_longest(self, op: Op) -> bool:
        """Assign the longest part of a too long expression. Return whether there was one."""
        views = [self._viewed(v) for v in op.operands]
        parts = [(v, above) for v, above in views if v in self._pending and self._is_long(v)]
        if not parts:
            return False
        longest, above = max(parts, key=lambda part: len(self._of[part[0]].text))
        self.assign(longest, self._pending[longest], self.array(longest))
        for view in reversed(above):
            made = self.forms[type(view.kind)](self, view)
            assert made is not None
            self._of[view.result] = made
        return True

    def _viewed(self, value: Value) -> tuple[Value, list[Op]]:
        """Return the base of an unassigned view, and the views, outermost first."""
        above: list[Op] = []
        while value in self._pending and not self._of[value].is_name:
            op = self._pending[value]
            if not is_view(op) or op.operands[0] not in self._pending:
                break
            above.append(op)
            value = op.operands[0]
        return value, above

    def _is_long(self, value: Value) -> bool:
        found = self._of[value]
        return not found.literal and not found.is_name and len(found.text) > 12

    def assign(self, value: Value, op: Op, made: Expression) -> None:
        name = self.name_for(op)
        self.write(op, f"{name} = {made.text}")
        self._of[value] = Expression(name)
        self._pending.pop(value, None)

    def write(self, op: Op | None, *lines: str, forward: bool = False) -> None:
        """Write the lines of an op; ``forward`` marks the part before its backward pass."""
        source = op.source if op is not None else None
        self._comment(source._replace(backward=False) if forward and source else source)
        for line in lines:
            self.line(line)

    def result(self, op: Op) -> str:
        """Return the name of the result of an op that is written as statements."""
        (value,) = op.results
        self._comment(op.source)
        name = self.name_for(op)
        self._of[value] = Expression(name)
        return name

    # -- names ------------------------------------------------------------------

    def name_for(self, op: Op) -> str:
        """Return a new name for the result of an op."""
        wanted, exact = self._wanted.get(op.results[0], ("", False))
        if exact:
            return wanted
        if user := wanted or self.plan.user_name(op):
            return self.names.fresh(user)
        if is_backward(op.source):
            found = self._cotangent_name(op.source)
            return self.names.fresh(found) if found else self.names.fresh("d", numbered=True)
        target = self.target_of(op.source)
        if target:
            return self.names.fresh(f"{target}_part")
        return self.names.fresh(_word(op, [self._of[v] for v in op.operands if v in self._of]))

    def _cotangent_name(self, source: Source | None) -> str:
        """Return ``d_x`` for the cotangent of the target of another statement."""
        of = source.value if isinstance(source, DerivedSource) else None
        target = self._statements.target(of)
        same = self._statements.of(of) == self._statements.of(source)
        return f"d_{target}" if target and not same else ""

    def suggestion(self, op: Op) -> str:
        """Suggest a name for a value computed in another body; empty if there is none."""
        if is_backward(op.source):
            return self._cotangent_name(op.source)
        return self.target_of(op.source)

    def is_written(self, value: Value) -> bool:
        return value in self._of

    def maker(self, value: Value) -> Op | None:
        """Return the op that computes a value, if it is in a body written so far."""
        return self._makers.get(value)

    def is_natural(self, index: Value, extent: int) -> bool:
        """Whether an index may count from the end of an axis, as in NumPy."""
        return (index, extent) in self._natural

    def condition_of(self, index: Value) -> Expression | None:
        """Return the bool that is converted to the index of a branch."""
        op = self._makers.get(index)
        return self.array(op.operands[0]) if op is not None and is_truth(op) else None

    def target_of(self, source: Source | None) -> str:
        """Return the name that the user's statement at a place sets, if it sets one."""
        return self._statements.target(source)


_WORDS = {
    "dot": "product", "add": "total", "sub": "difference", "mul": "product", "div": "quotient",
    "integer_power": "power", "select": "chosen", "convert": "converted", "iota": "places",
    "gather": "picked", "reshape": "reshaped", "slice": "part", "concatenate": "joined",
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"), "mask"),
}  # fmt: skip


def _word(op: Op, operands: Sequence[Expression]) -> str:
    """Return a name from the op and its operand: ``exp_logits``."""
    name = op.kind.name.strip("_")
    if len(operands) == 1 and operands[0].is_name and name not in _WORDS:
        return f"{name}_{operands[0].text}"
    return _WORDS.get(name, name)


# -- types and numbers ------------------------------------------------------------


def dtype_text(dtype: np.dtype) -> str:
    """Return a dtype as text, such as ``np.float64``."""
    if is_bfloat16(dtype):
        raise TargetError("bfloat16 cannot be written in NumPy, which does not have it")
    return f"np.{'bool_' if dtype.kind == 'b' else dtype.name}"


def shape_text(shape: Iterable[int]) -> str:
    """Return a shape as text, such as ``(3, 4)``.

    >>> shape_text((3,)), shape_text((3, 4)), shape_text(())
    ('3', '(3, 4)', '()')
    """
    extents = tuple(int(n) for n in shape)
    return str(extents[0]) if len(extents) == 1 else str(extents)


def number(value: Any, dtype: np.dtype) -> Expression:
    """Return a Python number as short as the dtype allows."""
    if dtype.kind == "c":
        text = f"complex({_real(value.real, 'f8')}, {_real(value.imag, 'f8')})"
        return Expression(text, literal=True)
    text = _real(value, dtype) if dtype.kind == "f" else repr(value)
    return Expression(text, UNARY if text[0] == "-" else 10, literal=True)


def _real(value: float, dtype: Any) -> str:
    if np.isnan(value):
        return "np.nan"
    if np.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(float(value)) if np.dtype(dtype).itemsize == 8 else str(np.dtype(dtype).type(value))


def filled(text: str, type: Type) -> Expression:
    """Return an array filled with one number."""
    dtype, shape = dtype_text(type.dtype), shape_text(type.shape)
    if not type.shape:
        return call(dtype, text)
    given = [] if type.dtype == np.float64 else [f"dtype={dtype}"]
    if text in ("0.0", "0", "False", "complex(0.0, 0.0)"):
        return call("np.zeros", shape, *given)
    if text in ("1.0", "1", "True", "complex(1.0, 0.0)"):
        return call("np.ones", shape, *given)
    return call("np.full", shape, text, f"dtype={dtype}")
