"""The verifier of loops finds each kind of mistake, and reports it with the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autojit import jit
from autojit.codegen.analysis.exposed import exposed
from autojit.codegen.analysis.loop_level import pass_of
from autojit.codegen.analysis.verifier import BrokenLoops, verify, verify_kernel
from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Begin,
    Fill,
    Finish,
    Load,
    Loop,
    RunTasks,
    Store,
    Tasks,
)
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Branch, Repeat
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Buffer, Trips
from autojit.codegen.loop_passes import pipeline
from autojit.codegen.loop_passes.strip_mine import strip_mined
from autojit.ir.core.affine import Var
from autojit.ir.pass_manager.passes import BrokenPass, verify_each
from tests.codegen.loop_builder import (
    at,
    buffer,
    copied,
    kernel,
    loop,
    mapped,
    number,
    scalar,
    summed,
)

ROW, COLUMN = Var(8), Var(4)
X, Y = buffer("x", 32, "input"), buffer("y", 32, "output")
LOCAL = buffer("t", 4, "local")


def tasks(body: list[Any], count: int = 2, var: Var | None = None) -> RunTasks:
    return RunTasks(Tasks(var or Var(count), count, body, buffers_of(body)))


def unknown_scalar() -> Kernel:
    return kernel(Store(Y, at(0), scalar()))


def scalar_of_another_loop() -> Kernel:
    x = scalar()
    return kernel(loop(ROW, [Load(x, X, at(ROW), None)]), Store(Y, at(0), x))


def computed_twice() -> Kernel:
    x = scalar()
    return kernel(number(1.0, x), number(2.0, x))


def scalar_from_outside_of_tasks() -> Kernel:
    x, task = scalar(), Var(2)
    return kernel(number(1.0, x), tasks([Store(Y, at(task), x)], var=task))


def never_begun() -> Kernel:
    _, inner, end = summed(ROW, X, at(ROW), scalar())
    return kernel(inner, end)


def never_finished() -> Kernel:
    return kernel(*summed(ROW, X, at(ROW), scalar())[:2])


def added_to_after_its_end() -> Kernel:
    begin, inner, end = summed(ROW, X, at(ROW), scalar())
    return kernel(begin, inner, end, replace(inner, var=(k := Var(8)), body=[
        Load(x := scalar(), X, at(k), None), replace(inner.body[1], value=x)]))  # fmt: skip


def finished_in_a_loop() -> Kernel:
    begin, inner, end = summed(ROW, X, at(ROW), scalar())
    return kernel(begin, inner, loop(COLUMN, [end]))


def summed_by_a_map() -> Kernel:
    begin, inner, end = summed(ROW, X, at(ROW), scalar())
    return kernel(begin, replace(inner, role="map"), end)


def added_to_memory_by_a_map() -> Kernel:
    x = scalar()
    add = AccumulateInto(Y, at(0), "add", x)
    return kernel(Fill(Y, at(0), 32, 0.0), loop(ROW, [Load(x, X, at(ROW), None), add]))


def no_iterations() -> Kernel:
    return kernel(Loop(ROW, 3, 3, copied(X, at(ROW), Y, at(ROW)), "map"))


def same_variable() -> Kernel:
    return kernel(loop(ROW, [loop(ROW, copied(X, at(ROW), Y, at(ROW)))]))


def variable_of_no_loop() -> Kernel:
    return kernel(*copied(X, at(ROW), Y, at(0)))


def shared_and_unrolled() -> Kernel:
    task = Var(2)
    inner = loop(ROW, copied(X, at(ROW), Y, at(ROW)), share=task, unroll=True)
    return kernel(tasks([inner], var=task))


def shared_twice() -> Kernel:
    task = Var(2)
    inner = loop(COLUMN, copied(X, at((4, ROW), COLUMN), Y, at((4, ROW), COLUMN)), share=task)
    return kernel(tasks([loop(ROW, [inner], share=task)], var=task))


def shared_without_tasks() -> Kernel:
    return kernel(loop(ROW, copied(X, at(ROW), Y, at(ROW)), share=Var(2)))


def local_never_written() -> Kernel:
    return kernel(loop(ROW, copied(LOCAL, at(0), Y, at(ROW))))


def local_written_in_part() -> Kernel:
    write = loop(COLUMN, copied(X, at(COLUMN), LOCAL, at(COLUMN)))
    return kernel(replace(write, stop=3), loop(Var(4), copied(LOCAL, at(3), Y, at(0))))


def local_from_outside_of_tasks() -> Kernel:
    task = Var(2)
    inner = loop(ROW, copied(LOCAL, at(0), Y, at(ROW)), share=task)
    return kernel(*copied(X, at(0), LOCAL, at(0)), tasks([inner], var=task))


def local_from_tasks() -> Kernel:
    task = Var(2)
    inner = loop(COLUMN, copied(X, at(COLUMN), LOCAL, at(COLUMN)), share=task)
    return kernel(tasks([inner], var=task), *copied(LOCAL, at(0), Y, at(0)))


def written_by_each_task() -> Kernel:
    return kernel(tasks(copied(X, at(0), Y, at(0))))


def iterations_that_meet() -> Kernel:
    return kernel(Fill(Y, at(0), 32, 0.0), loop(ROW, copied(Y, at(ROW), Y, at(ROW, 1))))


def behind_the_end() -> Kernel:
    return kernel(loop(ROW, copied(X, at((5, ROW)), Y, at(ROW))))


def before_the_start() -> Kernel:
    return kernel(loop(ROW, copied(X, at(ROW), Y, at((-1, ROW), 6))))


def not_named() -> Kernel:
    return replace(kernel(loop(ROW, copied(X, at(ROW), Y, at(ROW)))), buffers=[X])


BROKEN = [
    (unknown_scalar, r"s\d+ is not known here"),
    (scalar_of_another_loop, r"s\d+ is not known here"),
    (computed_twice, r"s\d+ is computed twice"),
    (scalar_from_outside_of_tasks, r"s\d+ is not known here"),
    (never_begun, r"a\d+ is not begun here"),
    (never_finished, r"a\d+ is never finished"),
    (added_to_after_its_end, r"a\d+ is not begun here"),
    (finished_in_a_loop, r"a\d+ is finished in another scope"),
    (summed_by_a_map, r"a\d+ is added to in a loop that adds nothing up"),
    (added_to_memory_by_a_map, "a sum in a loop that adds nothing up"),
    (no_iterations, "a loop without iterations"),
    (same_variable, "a loop with the variable of one around"),
    (variable_of_no_loop, "an index names a variable of no loop around"),
    (shared_and_unrolled, "a loop that is shared and unrolled"),
    (shared_twice, "a shared loop inside of another"),
    (shared_without_tasks, "a shared loop outside of its tasks"),
    (local_never_written, "t is read before it is written"),
    (local_written_in_part, "t is read before it is written"),
    (local_from_outside_of_tasks, "t is read before it is written"),
    (local_from_tasks, "t is read before it is written"),
    (written_by_each_task, "each task writes to y"),
    (iterations_that_meet, "iterations touch the same elements of y"),
    (behind_the_end, r"0 to 35 of x\[32\]"),
    (before_the_start, r"-1 to 6 of y\[32\]"),
    (not_named, "a buffer that its function does not name"),
]


@pytest.mark.parametrize(("make", "words"), BROKEN, ids=lambda x: getattr(x, "__name__", ""))
def test_mistakes_are_found(make: Callable[[], Kernel], words: str) -> None:
    with pytest.raises(BrokenLoops, match=f"^{words} after a_pass:\n"):
        verify_kernel(make(), "a_pass")


def test_the_message_has_the_statement_and_the_text() -> None:
    with pytest.raises(BrokenLoops) as caught:
        verify_kernel(behind_the_end())
    assert str(caught.value) == (
        "0 to 35 of x[32]:\n  s0 = x[5*i]\n\n  for i in 0..8:\n    s0 = x[5*i]\n    y[i] = s0"
    )


def test_what_is_right_passes() -> None:
    total, task = scalar(), Var(2)
    verify_kernel(kernel(*summed(ROW, X, at(ROW), total), Store(Y, at(0), total)))
    body = [
        loop(COLUMN, copied(X, at(COLUMN), LOCAL, at(COLUMN))),
        *copied(LOCAL, at(2), Y, at((4, ROW), 2)),
    ]
    verify_kernel(kernel(loop(ROW, body)))
    verify_kernel(kernel(tasks([loop(ROW, body, share=task)], var=task)))
    verify_kernel(kernel(loop(ROW, mapped("sin", X, at((2, ROW)), Y, at((-1, ROW), 7)))))


def test_temporaries_are_written_by_an_earlier_step() -> None:
    t = buffer("t", 8)
    writes = kernel(loop(ROW, copied(X, at(ROW), t, at(ROW))))
    reads = kernel(loop(ROW, copied(t, at(ROW), Y, at(ROW))))
    verify(LoopProgram("main", [X], [Y], [writes, reads]))
    with pytest.raises(BrokenLoops, match="t is read before it is written"):
        verify(LoopProgram("main", [X], [Y], [reads, writes]))


def guarded(source: Buffer) -> list[Any]:
    """Read the first element under a condition whose value is unknown."""
    test, x = scalar("bool"), scalar()
    return [number(True, test), Load(x, source, at(0), test), Store(Y, at(0), x)]


def test_guarded_reads_of_what_is_written_in_the_same_step_of_a_loop_are_right() -> None:
    """A loop with a condition may run no step, so its writes do not count as writes after the
    loop."""

    def repeated(body: list[Any]) -> Kernel:
        test = scalar("bool")
        return kernel(Repeat(Var(1 << 40), [number(False, test)], test, body, [], Trips()))

    reads = guarded(LOCAL)
    verify_kernel(repeated([*copied(X, at(0), LOCAL, at(1)), *reads]))
    with pytest.raises(BrokenLoops, match="t is read before it is written"):
        verify_kernel(repeated(reads))


def test_a_guarded_read_hides_no_other_read() -> None:
    reads = guarded(LOCAL)
    verify_kernel(kernel(*copied(X, at(0), LOCAL, at(1)), *reads))
    with pytest.raises(BrokenLoops, match="t is read before it is written"):
        verify_kernel(
            kernel(*copied(X, at(0), LOCAL, at(1)), *reads, *copied(LOCAL, at(2), Y, at(1)))
        )


def test_locals_are_those_of_one_kernel() -> None:
    writes = kernel(loop(COLUMN, copied(X, at(COLUMN), LOCAL, at(COLUMN))))
    reads = kernel(loop(COLUMN, copied(LOCAL, at(COLUMN), Y, at(COLUMN))))
    verify(LoopProgram("main", [X], [Y], [kernel(*writes.body, *reads.body)]))
    with pytest.raises(BrokenLoops, match="t is read before it is written"):
        verify(LoopProgram("main", [X], [Y], [writes, reads]))


def test_a_broken_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(program: LoopProgram) -> LoopProgram:
        for made in program.steps:
            assert isinstance(made, Kernel)
            made.body = [s for s in made.body if not isinstance(s, (Begin, Finish))]
        return program

    blocks = pass_of(strip_mined)
    broken = replace(blocks, function=careless)
    places = [p if p.run is not blocks else replace(p, run=broken) for p in pipeline.SHAPE.places]
    monkeypatch.setattr(pipeline.SHAPE, "places", places)
    with pytest.raises(BrokenPass, match="after the pass strip_mine: a0 is not begun here"):
        jit(lambda x: np.sum(np.exp(x)))(np.ones(20))
    with verify_each(False), pytest.raises(KeyError):
        jit(lambda x: np.sum(np.cos(x)))(np.ones(20))


def test_elements_that_are_written_are_found_in_any_form() -> None:
    """The diagonal of rows, every other element, and elements that several loops write together."""
    t = buffer("t", 32)
    row = loop(COLUMN, copied(X, at(COLUMN), t, at((4, ROW), COLUMN)))
    diagonal = loop(Var(4), [])
    diagonal.body[:] = copied(t, at((5, diagonal.var)), Y, at(0))
    inside = loop(Var(4), [])
    inner = loop(COLUMN, copied(X, at(COLUMN), t, at((4, inside.var), COLUMN)))
    inside.body[:] = [inner, *copied(t, at((5, inside.var)), Y, at(0))]
    k = Var(8)
    spread = loop(ROW, copied(X, at(ROW), t, at((4, ROW))))
    both = [*copied(X, at(k), t, at((2, k))), *copied(X, at(k), t, at((2, k), 1))]

    def exposes(*body: Any) -> bool:
        return t in exposed(body)

    assert not exposes(loop(ROW, [row]), diagonal)
    assert not exposes(inside)
    assert not exposes(spread, loop(k, copied(t, at((4, k)), Y, at(k))))
    assert exposes(spread, loop(k, copied(t, at((2, k)), Y, at(k))))
    assert not exposes(loop(k, both), loop(ROW, copied(t, at(ROW, 8), Y, at(ROW))))
    assert exposes(loop(k, both), loop(ROW, copied(t, at(ROW, 9), Y, at(ROW))))
    assert exposes(diagonal)


def test_what_all_branches_have_written_is_written() -> None:
    t, k, choice = buffer("t", 8), Var(4), scalar("i64")

    def written(first: int, extent: int) -> list[Any]:
        var = Var(extent)
        return [loop(var, copied(X, at(var), t, at((2, k), first, var)))]

    def exposes(choices: list[list[Any]], *reads: Any) -> bool:
        return t in exposed([loop(k, [Branch(choice, choices), *reads])])

    whole = [Fill(t, at(), 8, 0.0)]
    both = copied(t, at((2, k), 1), Y, at(k))
    assert not exposes([written(0, 2), written(1, 3)], *both)
    assert not exposes([whole, written(1, 1)], *both)
    assert not exposes([written(1, 1), whole], *both)
    assert exposes([whole, written(0, 1)], *both)
    assert exposes([written(0, 2), []], *both)
    assert exposes([[], whole], *both)
