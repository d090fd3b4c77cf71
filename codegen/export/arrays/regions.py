"""Writes loops, branches and calls in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from autojit.codegen.export.text.expressions import ATOM, Expression
from autojit.codegen.export.text.statements import is_backward
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.bodies import groups
from autojit.ir.ops.index import Gather

from .writer import Writer, dtype_text, shape_text


def _given(w: Writer, value: Value) -> Expression:
    """Return a body's operand as a name or a number."""
    found = w.expression(value)
    return found if found.literal else Expression(w.named(value))


def _bind(w: Writer, inputs: Iterable[Value], values: Iterable[Expression]) -> None:
    for v, expression in zip(inputs, values, strict=True):
        w.bind(v, expression)


def _carry_names(w: Writer, body: Program, count: int, *, backward: bool) -> list[str]:
    """Return names for carries, derived from the user's statements that compute them."""
    makers = {v: op for op in body.ops for v in op.results}
    found = []
    for v in body.outputs[:count]:
        op = makers.get(v)
        name = w.suggestion(op) if op is not None else ""
        found.append(w.names.fresh(name or ("d" if backward else "carry"), numbered=not name))
    return found


def _set(w: Writer, names: Sequence[str], made: Sequence[str]) -> None:
    """Write ``a, b = x, y``, without variables that do not change."""
    pairs = [(n, m) for n, m in zip(names, made, strict=True) if n != m]
    if pairs:
        left, right = zip(*pairs, strict=True)
        w.line(f"{', '.join(left)} = {', '.join(right)}")


def _started(
    w: Writer, op: Op, names: Sequence[str], values: Sequence[Value], *, forward: bool = False
) -> None:
    for name, value in zip(names, values, strict=True):
        w.write(op, f"{name} = {w.text(value, 0)}", forward=forward)


# -- loops -----------------------------------------------------------------------------


def scan(w: Writer, op: Op) -> None:
    p = op.params
    body, n, m, length = p["body"], p["constants"], p["carries"], p["length"]
    constants, carries, xs = groups(op.operands, n, m)
    _bind(w, body.inputs[:n], [_given(w, v) for v in constants])
    rows = [w.named(v) for v in xs]
    names = _carry_names(w, body, m, backward=is_backward(op.source))
    w.write(op)
    _started(w, op, names, carries)
    stacks = _stacks(w, op, body, names)
    index = w.names.fresh("i")
    with w.block(f"for {index} in {_steps(body, n, length, p['reverse'])}:"):
        w.bind(body.inputs[n], Expression(index))
        w.ranges[body.inputs[n]] = 0, length - 1
        _bind(w, body.inputs[n + 1 : n + 1 + m], map(Expression, names))
        _rows(w, op, body.inputs[n + 1 + m :], rows, index)
        outputs = w.body(body, [f"next_{name}" for name in names])
        for stack, made in zip(stacks, outputs[m:], strict=True):
            w.line(f"{stack}[{index}] = {made.text}")
        _set(w, names, [made.text for made in outputs[:m]])
    _bind(w, op.results, map(Expression, [*names, *stacks]))


def _steps(body: Program, n: int, length: int, reverse: bool) -> str:
    """Return the range of a loop; of NumPy integers if the body computes with the index."""
    index = body.inputs[n]
    computes = any(
        index in (op.operands[:1] if isinstance(op.kind, Gather) else op.operands)
        for op in body.ops
    ) or index in body.outputs  # fmt: skip
    if computes:
        return f"np.arange({length})" + ("[::-1]" if reverse else "")
    return f"reversed(range({length}))" if reverse else f"range({length})"


def _stacks(w: Writer, op: Op, body: Program, carries: Sequence[str]) -> list[str]:
    """Create the arrays that collect rows."""
    makers = {v: made for made in body.ops for v in made.results}
    m, first = len(carries), op.params["constants"] + 1
    known = dict(zip(body.inputs[first:], carries, strict=False))
    found = []
    for v, result in zip(body.outputs[m:], op.results[m:], strict=True):
        name = w.suggestion(makers[v]) if v in makers else known.get(v, "")
        found.append(w.names.fresh(f"{name}_rows" if name else "rows"))
        given = "" if result.dtype.name == "float64" else f", {dtype_text(result.dtype)}"
        w.line(f"{found[-1]} = np.empty({shape_text(result.shape)}{given})")
    return found


def _rows(w: Writer, op: Op, inputs: Sequence[Value], rows: Sequence[str], index: str) -> None:
    """Write ``z = observations[i]``, named like the target of the user's loop if it is a name."""
    target = w.target_of(op.source) if len(rows) == 1 and not is_backward(op.source) else ""
    for v, row in zip(inputs, rows, strict=True):
        name = w.names.fresh(target or f"{row.removesuffix('_rows')}_i")
        w.line(f"{name} = {row}[{index}]")
        w.bind(v, Expression(name))


def while_(w: Writer, op: Op) -> None:
    """Write the loop, then a loop over its steps for each further sweep."""
    p = op.params
    sweeps, counts = p["sweeps"], p["carries"]
    constants, *carries, _ = groups(op.operands, p["constants"], *counts)
    given = [_given(w, v) for v in constants]
    streams = [len(b.outputs) - c for b, c in zip(sweeps, counts, strict=True)]
    steps = w.names.fresh("steps") if any(streams[:-1]) else ""
    names = [
        _carry_names(w, b, c, backward=back)
        for b, c, back in zip(sweeps, counts, p["backward"], strict=True)
    ]
    w.write(op, forward=True)
    _started(w, op, names[0], carries[0], forward=True)
    if steps:
        w.line(f"{steps} = []")
    _bind(w, p["condition"].inputs, [*given, *map(Expression, names[0])])
    with _while(w, p["condition"]):
        _sweep(w, sweeps[0], [*given, *map(Expression, names[0])], names[0], steps, "append")
    known = streams[0]
    for k in range(1, len(sweeps)):
        _started(w, op, names[k], carries[k])
        order = f"reversed({steps})" if p["backward"][k] else steps
        step = w.names.fresh("step")
        with w.block(f"for {step} in {order}:"):
            kept = [Expression(f"{step}[{j}]") for j in range(known)]
            inputs = [*given, *kept, *map(Expression, names[k])]
            _sweep(w, sweeps[k], inputs, names[k], step, "extend")
        known += streams[k]
    _bind(w, op.results, map(Expression, [n for each in names for n in each]))


@contextmanager
def _while(w: Writer, condition: Program) -> Iterator[None]:
    """Write a loop around the lines of its body; its condition may need statements."""
    start = len(w.lines)
    test = w.body(condition)[0]
    before = w.taken(start)
    if not before:
        with w.block(f"while {test.text}:"):
            yield
        return
    with w.block_after("while True:", before):
        with w.block(f"if not {test.at(ATOM)}:"):
            w.line("break")
        yield


def _sweep(
    w: Writer, body: Program, inputs: Sequence[Expression], names: Sequence[str], steps: str,
    method: str,
) -> None:  # fmt: skip
    """Write one step of a sweep; values kept for other sweeps go into the list of steps."""
    _bind(w, body.inputs, inputs)
    outputs = w.body(body, [f"next_{name}" for name in names])
    kept = [made.text for made in outputs[len(names) :]]
    if kept or (method == "append" and steps):
        w.line(f"{steps}.{method}([{', '.join(kept)}])")
    _set(w, names, [made.text for made in outputs[: len(names)]])


# -- branches and calls ----------------------------------------------------------------


def switch(w: Writer, op: Op) -> None:
    index, *operands = op.operands
    branches = op.params["branches"]
    given = [_given(w, v) for v in operands]
    names = _result_names(w, op, branches)
    w.write(op)
    tests = _tests(w, index, len(branches))
    for test, number in tests:
        body = branches[number]
        with w.block(f"{test}:"):
            _bind(w, body.inputs, given)
            made = zip(names, w.body(body, names, exact=True), body.outputs, strict=True)
            for name, each, v in made:
                if each.text != name:
                    w.write(w.maker(v), f"{name} = {each.text}")
    _bind(w, op.results, map(Expression, names))


def _tests(w: Writer, index: Value, count: int) -> list[tuple[str, int]]:
    """Return the heads of the branches, and the number of the branch below each."""
    condition = w.condition_of(index)
    if condition is not None and count == 2:
        return [(f"if {condition.text}", 1), ("else", 0)]
    text = w.text(index)
    found = [(f"{'elif' if k else 'if'} {text} {'==' if k else '<='} {k}", k)
             for k in range(count - 1)]  # fmt: skip
    return [*found, ("else" if found else "if True", count - 1)]


def _result_names(w: Writer, op: Op, branches: Sequence[Program]) -> list[str]:
    found = []
    for k, _ in enumerate(op.results):
        names = []
        for body in branches:
            made = next((o for o in body.ops if body.outputs[k] in o.results), None)
            names.append(w.suggestion(made) if made is not None else "")
        name = next(filter(None, names), "")
        found.append(w.names.fresh(name or "chosen"))
    return found


def called(w: Writer, op: Op) -> None:
    """Write the body of a call in its place."""
    body = op.params["body"] if "body" in op.params else op.params["solve"]
    _bind(w, body.inputs, [_given(w, v) for v in op.operands])
    for result, made in zip(op.results, w.body(body), strict=True):
        if made.is_name:
            w.bind(result, made)
        else:
            name = w.names.fresh("x")
            w.line(f"{name} = {made.text}")
            w.bind(result, Expression(name))
