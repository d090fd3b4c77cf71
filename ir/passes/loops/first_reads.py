"""Lets a loop read the initial contents of an array, without writing it, if no final ones are
needed.

A step of a reverse loop repeats an inner loop to get the values that it reads::

    first sweep: push(A[k, j]); A[i, j] -= f * A[k, j]; j += 1   ->   push(A[k, j]); j += 1

Elements that no earlier step has replaced are still in the loop's initial array. If steps read no
others, the array is a constant of the loop, and their stores are not needed. Other readers of the
initial array then need no copy.

Legal where nothing reads the array after the loop or in its condition, and, by the forms of the
places, no step reads an element that an earlier step, or the same step before, has written. Nothing
changes in the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autojit.ir.autodiff.final.integers import Integers, Steps
from autojit.ir.autodiff.final.places import (
    NotKnown,
    Version,
    apart,
    read,
    versions_of,
    written,
)
from autojit.ir.autodiff.scalar_ranges import Known, rewrite_with_ranges
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import read_inputs
from autojit.ir.ops.update import AddAt, Scatter, Update
from autojit.ir.regions.while_ import While
from autojit.ir.rewriting.rewrite import Rewriter
from autojit.ir.tools.program_passes import CALLS_INLINED, FINAL, ROWS, SIMPLIFIED, program_pass


@program_pass(
    "Reads the initial array in a loop if nothing needs the final one.",
    needs=[CALLS_INLINED, SIMPLIFIED, ROWS],
    keeps=FINAL,
)
def run(program: Program) -> Program:
    """The program with these loops; the same object if there are none."""
    while True:
        unread = set(_unread(program))
        made = rewrite_with_ranges(program, _rule_for(unread)) if unread else program
        if made is program:
            return program
        program = made


def _unread(program: Program) -> Iterator[Value]:
    """Final arrays of first sweeps that nothing reads, in all bodies."""
    read = {v for op in program.ops for v in op.operands} | set(program.outputs)
    for op in program.ops:
        if isinstance(op.kind, While):
            yield from (
                v for v in op.results[: op.params["carries"][0]] if v.shape and v not in read
            )
        for body in op.programs:
            yield from _unread(body)


def _rule_for(
    unread: set[Value],
) -> Callable[[Op, Rewriter, Known], Sequence[Value] | None]:
    def rule(op: Op, at: Rewriter, of: Known) -> Sequence[Value] | None:
        if not isinstance(op.kind, While):
            return None
        for k, result in enumerate(op.results[: op.params["carries"][0]]):
            if result in unread:
                chain = _chain(op, k, of.integers)
                if chain:
                    return _without(op, k, chain, at)
        return None

    return rule


def _chain(op: Op, k: int, outer: Integers) -> Sequence[Version]:
    """The ops that change the array in a step, if no step reads their results; otherwise none."""
    n, body = op.params["constants"], op.params["sweeps"][0]
    first = body.inputs[n + k]
    chain = versions_of(body.ops, first, body.outputs[k])
    if not chain or read_inputs(op.params["condition"])[n + k]:
        return ()
    versions = [first, *(each.after for each in chain)]
    handed_on = [v for j, v in enumerate(body.outputs) if j != k]
    handed_on += [v for each in chain for v in each.op.operands[1:]]
    plain = all(isinstance(each.op.kind, (Scatter, AddAt, Update)) for each in chain)
    if not plain or any(v in versions for v in handed_on):
        return ()
    try:
        return chain if _reads_the_first(op, body, chain, versions, outer) else ()
    except NotKnown:
        return ()


def _reads_the_first(
    op: Op, body: Program, chain: Sequence[Version], versions: Sequence[Value], outer: Integers
) -> bool:
    alone, pair = Steps(op, outer).now, Steps(op, outer, later=True)
    assert pair.then is not None
    earlier = [p for each in chain for p in written(each, pair.now)]
    changing = {each.op for each in chain}
    for done, version in enumerate(versions):
        before = [p for each in chain[:done] for p in written(each, alone)]
        for reader in body.ops:
            if version not in reader.operands or reader in changing:
                continue
            later = read(reader, version, pair.then)
            if not all(apart(pair.bounds, p, q) for p in later for q in earlier):
                return False
            now = read(reader, version, alone)
            if not all(apart(alone.bounds, p, q) for p in now for q in before):
                return False
    return True


def _without(op: Op, k: int, chain: Sequence[Version], at: Rewriter) -> Sequence[Value]:
    """The results of the loop with the array as its last constant, with the array among them."""
    n, (m, *counts) = op.params["constants"], op.params["carries"]
    array = op.operands[n + k]
    first, *later = op.params["sweeps"]
    test: Program = op.params["condition"]
    params = {
        **op.params, "constants": n + 1, "carries": (m - 1, *counts),
        "condition": _given(test, n, array, n + k),
        "sweeps": (_reading(first, n, k, chain), *(_given(body, n, array) for body in later)),
    }  # fmt: skip
    kept = [v for j, v in enumerate(op.operands[n:]) if j != k]
    results = at.emit(op.kind, [*op.operands[:n], array, *kept], params)
    return [*results[:k], array, *results[k:]]


def _given(body: Program, n: int, array: Value, dropped: int | None = None) -> Program:
    """A body with an additional constant that it does not read, and optionally without a carry."""
    inputs = [v for j, v in enumerate(body.inputs) if j != dropped]
    more = Value(array.type)
    return Program([*inputs[:n], more, *inputs[n:]], body.ops, body.outputs, name=body.name)


def _reading(body: Program, n: int, k: int, chain: Sequence[Version]) -> Program:
    """A step that reads the initial array."""
    inputs = [Value(v.type) for v in body.inputs]
    env = dict(zip(body.inputs, inputs, strict=True))
    array = inputs.pop(n + k)
    changing = {each.op for each in chain}
    builder = Builder()
    with building(builder):
        for op in body.ops:
            made: Sequence[Value] = [array]
            if op not in changing:
                made = builder.repeat(op, [env[v] for v in op.operands])
            env.update(zip(op.results, made, strict=True))
    outputs = [env[v] for j, v in enumerate(body.outputs) if j != k]
    return builder.finish([*inputs[:n], array, *inputs[n:]], outputs, name=body.name)
