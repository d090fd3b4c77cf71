"""Operations on numbers, whose derivatives are taken from equivalent programs.

Each operation names a NumPy function.  When a gradient first passes through the operation, its
program is traced, differentiated in reverse by ``ir/autodiff``, and optimised like any other. It is
then printed as a Python function of the nodes; nothing is differentiated here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.autodiff.linearize import vjp
from autojit.ir.core.program import Op, Program, Value, readers_of
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.passes.pipeline import optimize
from autojit.session.transform_cache import cached_transform
from autojit.staging.inspection import trace

from .words import NAMES, Expression, Words


class Operation:
    """The operation that created a node.

    ``name``      the node's ``_op``
    ``function``  the same operation on arrays, in NumPy's terms
    ``arity``     the number of operands: one or two
    ``pull``      ``pull(node, cotangent)`` adds to the gradients of the node's operands
    """

    __slots__ = ("arity", "function", "name", "pull")
    #: The operands besides the node's own.
    more: tuple[Any, ...] = ()

    def __init__(self, name: str, function: Callable[..., Any], arity: int = 1) -> None:
        self.name = name
        self.function = function
        self.arity = arity

    def __getattr__(self, name: str) -> Any:
        if name != "pull":  # made when it is first needed
            raise AttributeError(name)
        self.pull = made = _function_of(pull_source(self.function, self.arity))
        return made

    def unfold(self, node: Any) -> None:
        """Do nothing: a node of one operation has no hidden operands."""


def pull_source(function: Callable[..., Any], arity: int) -> str:
    """The Python source of the function that carries a cotangent back through an operation.

    >>> print(pull_source(np.multiply, 2))
    def pull(v, g):
        a = v._a
        b = v._b
        x = a.data
        z = b.data
        a.grad += g * z
        b.grad += x * g
    """
    program = trace(function)(*[np.float64(0.5)] * arity)
    derivative = optimize(cached_transform(vjp, program, tuple(range(arity))))
    result, *gradients = derivative.outputs
    env: dict[Value, Any] = dict(
        zip(derivative.inputs, map(Expression, (*"xz"[:arity], "g")), strict=True)
    )
    if result not in env:
        env[result] = Expression("y")
    lines: list[str] = []
    needed = _needed(derivative, gradients, set(env))
    readers = readers_of(needed, gradients)
    for op in needed:
        made = _expression(op, env)
        env[op.result] = made if readers[op.result] == 1 else _name(made, lines)
    uses = "".join(lines) + "".join(str(env[v]) for v in gradients)
    header = [
        f"{name} = {source}"
        for name, source, used in (
            ("a", "v._a", True), ("b", "v._b", arity > 1),
            ("x", "a.data", "x" in uses), ("z", "b.data", "z" in uses),
            ("y", "v.data", "y" in uses),
        )
        if used
    ]  # fmt: skip
    sums = [f"{name}.grad += {env[v]}" for name, v in zip("ab", gradients, strict=False)]
    return "\n    ".join(["def pull(v, g):", *header, *lines, *sums])


def _needed(program: Program, outputs: Sequence[Value], known: set[Value]) -> list[Op]:
    """The ops that compute outputs from known values."""
    wanted, found = set(outputs) - known, []
    for op in reversed(program.ops):
        if op.result in wanted:
            found.append(op)
            wanted.update(v for v in op.operands if v not in known)
    return found[::-1]


def _expression(op: Op, env: dict[Value, Any]) -> Any:
    operands = [env[v] for v in op.operands]
    if isinstance(op.kind, Elementwise):
        return op.kind.kernel(Words(), *operands, **op.params)
    return Expression(repr(op.kind.evaluate(*operands, **op.params).item()))


def _name(made: Any, lines: list[str]) -> Any:
    """The expression, or a short name for it unless it is a name or a number itself."""
    if made.is_atom:
        return made
    name = f"t{len(lines)}"
    lines.append(f"{name} = {made}")
    return Expression(name)


def _function_of(source: str, name: str = "pull", **given: Any) -> Callable[..., None]:
    scope: dict[str, Any] = {**NAMES, **given}
    exec(compile(source, "<autojit.scalar>", "exec"), scope)
    made: Callable[..., None] = scope[name]
    return made


def sweep(inlined: Sequence[Operation], untouched: float) -> Callable[..., None]:
    """A function that pulls cotangents through the nodes of a tape, the last one first.

    The code of the given, frequent operations is inlined into its loop. Nodes whose gradient is the
    object ``untouched`` are skipped.
    """
    lines = ["def sweep(tape):", "    for v in reversed(tape):", "        g = v.grad"]
    lines += ["        if g is untouched:", "            continue", "        o = v._operation"]
    for k, operation in enumerate(inlined):
        body = pull_source(operation.function, operation.arity).splitlines()[1:]
        lines.append(f"        {'elif' if k else 'if'} o is o{k}:")
        lines += [f"        {line}" for line in body]
    lines += ["        else:", "            o.pull(v, g)"]
    given = {f"o{k}": operation for k, operation in enumerate(inlined)}
    return _function_of("\n".join(lines), "sweep", untouched=untouched, **given)


def sum_pull(product: Operation) -> Callable[..., None]:
    """A function that pulls a cotangent through a sum of products, the last one first.

    The node's operation has the lists ``weights`` and ``inputs``, and the node's first operand is
    added to their products.
    """
    lines = ["def pull(v, g):", "    o = v._operation"]
    lines += ["    for a, b in zip(reversed(o.weights), reversed(o.inputs)):"]
    body = pull_source(product.function, product.arity).splitlines()
    assert body[1:3] == ["    a = v._a", "    b = v._b"]
    lines += [f"    {line}" for line in body[3:]]
    return _function_of("\n".join([*lines, "    v._a.grad += g"]))
