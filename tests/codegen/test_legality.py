"""Passes over loops leave illegal cases unchanged, whatever the thresholds are."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from autojit import codegen
from autojit.codegen.analysis.verifier import verify_kernel
from autojit.codegen.cpu.emit import outlined
from autojit.codegen.cpu.emit.independent import is_independent
from autojit.codegen.cpu.emit.predictive_commoning import commoning
from autojit.codegen.cpu.emit.prefix_scans import prefix_scan
from autojit.codegen.cuda.mapping.kernels import KernelMapper
from autojit.codegen.cuda.mapping.machine import Machine
from autojit.codegen.cuda.mapping.nests.staging import rows_of
from autojit.codegen.cuda.mapping.nests.structure import Nest, nests
from autojit.codegen.cuda.mapping.passes import halves
from autojit.codegen.cuda.mapping.teams import first_reduction
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Compute,
    Fill,
    Finish,
    IndexValue,
    Load,
    Loop,
    RunTasks,
    ScatterInto,
    Store,
    Tasks,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.sequences import Swap
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Operand, Place
from autojit.codegen.loop_passes.coalesce import coalesced
from autojit.codegen.loop_passes.counted_loops import loops_counted
from autojit.codegen.loop_passes.delinearize import delinearized
from autojit.codegen.loop_passes.fission import fissioned
from autojit.codegen.loop_passes.masked_fixups import masks_fixed_up
from autojit.codegen.loop_passes.narrow_loops import loops_narrowed
from autojit.codegen.loop_passes.overrun_rows import overrun_rows
from autojit.codegen.loop_passes.parallelize import parallelize
from autojit.codegen.loop_passes.pipeline import SHAPE
from autojit.codegen.loop_passes.products import chosen, parallelize_product
from autojit.codegen.loop_passes.rows.block_stages import stages_of
from autojit.codegen.loop_passes.scatters import scatters_fissioned
from autojit.codegen.loop_passes.split_blocks import split_blocks
from autojit.codegen.loop_passes.strip_mine import strip_mined
from autojit.codegen.loop_text.printer import text_of
from autojit.ir.core.affine import Affine, Var
from tests.codegen import test_legality_of_memory
from tests.codegen.counting import NOT_COUNTING, counting
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
from tests.thresholds import Thresholds

ROW, COLUMN = Var(64), Var(20)
X, Y = buffer("x", 64 * 20, "input"), buffer("y", 64 * 20, "output")
T, LOCAL = buffer("t", 64 * 20), buffer("local", 16, "local")
#: Small enough that tasks get copies.
ONE, RESULT = buffer("one", 1), buffer("result", 1, "output")

#: With these, every pass is considered worthwhile.
EAGER = Thresholds(
    {
        "codegen.loop_passes.strip_mine.BLOCK": 2,
        "codegen.loop_passes.strip_mine.WORTH_BLOCKS": 0,
        "codegen.cpu.emit.predictive_commoning.SHORTEST": 2,
        "codegen.cpu.emit.outlined.LEAST": 1,
        "codegen.cpu.emit.outlined.LONG": 0,
        "codegen.loop_passes.masked_fixups.WORTH": 0,
        "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0,
        "codegen.loop_passes.fission.LEAST": 2,
        "codegen.loop_passes.fission.LONG": 2,
        "codegen.loop_passes.fission.MOST": 4,
        "codegen.loop_passes.fission.OF_FUNCTION": 1,
        "codegen.loop_passes.fission.SIZE": 1,
        "codegen.loop_passes.overrun_rows.MOST_AT_ENDS": 100,
        "codegen.loop_passes.overrun_rows.PART_AT_ENDS": 1,
        "codegen.loop_passes.delinearize.LEAST_COLUMNS": 1,
        "codegen.loop_passes.delinearize.LEAST_ROWS": 0,
    }
)


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    with EAGER:
        yield


# -- loops over rows, in blocks ---------------------------------------------------------


def rows(*more: Any, **settings: Any) -> Kernel:
    """A function between two loops of a row."""
    total, made = scalar(), scalar()
    first = summed(COLUMN, X, at((20, ROW), COLUMN), total)
    last = [Compute(made, "exp", (total,)), loop(Var(20), [Store(Y, at((20, ROW)), made)])]
    k = Var(20)
    last[1] = loop(k, [Store(Y, at((20, ROW), k), made)])
    return kernel(loop(ROW, [*first, *last, *more], **settings))


def product(c: Affine) -> MatrixProduct:
    a = Operand(X, Affine(0), (4, 1))
    return MatrixProduct("f64", (), 4, 4, 4, a, a, T, c, tiled=True)


def scattered(combine: str) -> list[Any]:
    place, value = scalar("i64"), scalar()
    return [
        IndexValue(place, at(ROW)), number(1.0, value),
        ScatterInto(T, Affine(0), (Place(place, 1, 64),), combine, value),
    ]  # fmt: skip


def sum_of_two(*between: Any) -> list[Any]:
    """A sum that two loops add to, with statements between the loops."""
    total = scalar()
    begin, first, finish = summed(COLUMN, X, at((20, ROW), COLUMN), total)
    add, k = first.body[-1], Var(20)
    x = scalar()
    more = [Load(x, Y, at((20, ROW), k), None), replace(add, value=x)]
    return [begin, first, *between, loop(k, more, "reduce"), finish, Store(T, at(ROW), total)]


ROWS = {
    "with a product": lambda: rows(product(Affine(0))),
    "with a local": lambda: rows(*copied(X, at(ROW), LOCAL, at(0))),
    "with a fill": lambda: rows(Fill(T, at((20, ROW)), 20, 0.0)),
    "that store at one place": lambda: rows(*copied(X, at(ROW), T, at(0))),
    "that set computed places": lambda: rows(*scattered("set")),
    "that read their neighbours' rows": lambda: rows(
        *copied(T, at((20, ROW)), T, at((20, ROW), 20)), role="reduce"
    ),
    "of a task": lambda: rows(share=Var(2)),
    "written out": lambda: rows(unroll=True),
    "run for one iteration": lambda: rows(only=scalar("i64")),
    "with a number between loops of one sum": lambda: kernel(
        loop(ROW, sum_of_two(*copied(X, at((20, ROW)), Y, at((20, ROW)))))
    ),
}


# -- loops that are cut into tasks ------------------------------------------------------


def before_and_after(before: list[Any], body: list[Any], *after: Any, **settings: Any) -> Kernel:
    return kernel(*before, loop(ROW, body, **settings), *after)


def factorization() -> Factorization:
    whole = Operand(T, Affine(0), (4, 1))
    return Factorization("cholesky", "f64", (), 4, 4, 0, {}, (whole,), (whole,))


def added(target: Any, index: Affine) -> list[Any]:
    x = scalar()
    return [Load(x, X, at(ROW), None), AccumulateInto(target, index, "add", x)]


TASKS = {
    "that set computed places": lambda: before_and_after([], scattered("set"), role="reduce"),
    "with linear algebra": lambda: before_and_after([], [factorization()]),
    "with a product of the BLAS": lambda: before_and_after(
        [], [replace(product(Affine(0)), tiled=False)]
    ),
    "that read what others write": lambda: before_and_after(
        [Fill(T, Affine(0), T.size, 0.0)], copied(T, at(ROW), T, at(ROW, 1)), role="reduce"
    ),
    "that add to what others add to": lambda: before_and_after(
        [Fill(T, Affine(0), T.size, 0.0)],
        [*added(T, at(ROW)), *added(T, at(ROW, 1))],
        role="reduce",
    ),
    "that read what they add to": lambda: before_and_after(
        [Fill(ONE, Affine(0), 1, 0.0)],
        [*added(ONE, at(0)), *copied(ONE, at(0), Y, at(ROW))],
        role="reduce",
    ),
    "that leave the last number": lambda: before_and_after(
        [], copied(X, at(ROW), ONE, at(0)), *copied(ONE, at(0), Y, at(0))
    ),
    "that leave the last result": lambda: before_and_after([], copied(X, at(ROW), RESULT, at(0))),
    "whose steps run in turn": lambda: before_and_after(
        [], copied(X, at(ROW), Y, at(ROW)), role="sequence"
    ),
    "run for one iteration": lambda: before_and_after(
        [number(1, only := scalar("i64"))], copied(X, at(ROW), Y, at(ROW)), only=only
    ),
}


# -- others -----------------------------------------------------------------------------


def nest(here: Affine, there: Affine, inner: dict[str, Any], **settings: Any) -> Kernel:
    return kernel(loop(ROW, [loop(COLUMN, copied(X, here, Y, there), **inner)], **settings))


def divided(**settings: Any) -> Kernel:
    from autojit.ir.core.affine import divide

    t = Var(64 * 20)
    row, column = divide(at(t), 20, {})
    settings.setdefault("role", "map")
    stop = settings.pop("stop", 1280)
    return kernel(Loop(t, 0, stop, copied(X, row + column * 64, Y, at(t)), **settings))


def parts(*ends: tuple[int, int], **settings: Any) -> Kernel:
    """A row in parts, with a different computation for each."""
    names = ("sin", "exp", "cos")
    settings.setdefault("role", "map")
    target = settings.pop("target", Y)
    return kernel(
        *(
            Loop(ROW, start, stop, mapped(name, X, at(ROW), target, at(ROW)), **settings)
            for name, (start, stop) in zip(names, ends, strict=False)
        )
    )


def parts_of_rows(row: int, first: int, second: int) -> Kernel:
    """Rows of T, each followed by a row of sums of two of its elements, at offsets ``first`` and
    ``second``. The ends of a row are copied; ``row`` is the first row."""
    k, x, y, z = Var(20), scalar(), scalar(), scalar()
    ends = [loop(k, copied(T, at((20, ROW), k), Y, at((20, ROW), k))) for _ in range(2)]
    ends = [replace(ends[0], start=0, stop=2), replace(ends[1], start=19, stop=20)]
    sums = [
        Load(x, T, at((20, ROW), k, first), None), Load(y, T, at((20, ROW), k, second), None),
        Compute(z, "add", (x, y)), Store(Y, at((20, ROW), k), z),
    ]  # fmt: skip
    middle = replace(loop(k, sums), start=2, stop=19)
    made = mapped("sin", X, at((20, ROW), COLUMN), T, at((20, ROW), COLUMN))
    return kernel(replace(loop(ROW, [loop(COLUMN, made), ends[0], middle, ends[1]]), start=row))


def masked(*more: Any, **settings: Any) -> Kernel:
    here, place, mask, one, zero, chosen = scalar("i64"), scalar("i64"), scalar("bool"), *(
        scalar() for _ in range(3)
    )  # fmt: skip
    body = [
        IndexValue(here, at(ROW)), number(3, place), Compute(mask, "eq", (here, place)),
        number(1.0, one), number(0.0, zero), Compute(chosen, "select", (mask, one, zero)),
        *more, Store(T, at(ROW), chosen),
    ]  # fmt: skip
    return kernel(loop(ROW, body, **settings))


def long(*more: Any, **settings: Any) -> Kernel:
    x, y, z = scalar(), scalar(), scalar()
    body = [Load(x, X, at(ROW), None), Compute(y, "exp", (x,)), Compute(z, "sin", (y,))]
    return kernel(loop(ROW, [*body, *more, Store(Y, at(ROW), z)], **settings))


def bounded(*more: Any, outside: float = 0.0, combine: str = "add", inner: bool = False,
            **settings: Any) -> Kernel:  # fmt: skip
    """A sum of the elements up to a bound."""
    here, end, mask, x, other, chosen = scalar("i64"), scalar("i64"), scalar("bool"), *(
        scalar() for _ in range(3)
    )  # fmt: skip
    bound = [number(3, end)]
    body = [
        *(bound if inner else ()), IndexValue(here, at(ROW)), Compute(mask, "lt", (here, end)),
        Load(x, X, at(ROW), None), number(outside, other),
        Compute(chosen, "select", (mask, x, other)),
        AccumulateInto(ONE, Affine(0), combine, chosen), *more,
    ]  # fmt: skip
    settings.setdefault("role", "reduce")
    return kernel(*(() if inner else bound), loop(ROW, body, **settings))


#: By pass: a kernel that it changes, and kernels that it leaves alone.
TABLE: dict[Callable[[Kernel], Kernel], tuple[Callable[[], Kernel], dict[str, Any]]] = {
    strip_mined: (rows, ROWS),
    parallelize: (lambda: before_and_after([], copied(X, at(ROW), Y, at(ROW))), TASKS),
    coalesced: (
        lambda: nest(at((20, ROW), COLUMN), at((20, ROW), COLUMN), {}),
        {
            "rows told from columns": lambda: nest(
                at((64, COLUMN), ROW), at((20, ROW), COLUMN), {}
            ),
            "shared rows": lambda: nest(
                at((20, ROW), COLUMN), at((20, ROW), COLUMN), {}, share=Var(2)
            ),
            "shared columns": lambda: nest(
                at((20, ROW), COLUMN), at((20, ROW), COLUMN), {"share": Var(2)}
            ),
            "one column": lambda: nest(
                at((20, ROW), COLUMN), at((20, ROW), COLUMN), {"only": scalar("i64")}
            ),
            "in turn": lambda: nest(
                at((20, ROW), COLUMN), at((20, ROW), COLUMN), {}, role="sequence"
            ),
        },
    ),
    delinearized: (
        divided,
        {
            "shared": lambda: divided(share=Var(2)),
            "one iteration": lambda: divided(only=scalar("i64")),
            "sums": lambda: divided(role="reduce"),
            "no whole row": lambda: divided(stop=19),
        },
    ),
    overrun_rows: (
        lambda: parts((0, 1), (1, 63), (63, 64)),
        {
            "a gap": lambda: parts((0, 1), (2, 63), (63, 64)),
            "shared": lambda: parts((0, 1), (1, 63), (63, 64), share=Var(2)),
            "one iteration": lambda: parts((0, 1), (1, 63), (63, 64), only=scalar("i64")),
            "in turn": lambda: parts((0, 1), (1, 63), (63, 64), role="sequence"),
            "in place": lambda: parts((0, 1), (1, 63), (63, 64), target=X),
            "another iteration's row": lambda: parts_of_rows(1, 0, -1),
            "another iteration's row, in its only one": lambda: parts_of_rows(63, 0, -2),
            "outside of the buffer": lambda: parts_of_rows(0, 0, -1),
        },
    ),
    masks_fixed_up: (
        masked,
        {
            "shared": lambda: masked(share=Var(2)),
            "one iteration": lambda: masked(only=scalar("i64")),
            "in turn": lambda: masked(role="sequence"),
            "in place": lambda: masked(*copied(T, at(ROW), Y, at(ROW))),
            "sums": lambda: masked(*added(Y, at(0)), role="reduce"),
        },
    ),
    loops_narrowed: (
        bounded,
        {
            "shared": lambda: bounded(share=Var(2)),
            "one iteration": lambda: bounded(only=scalar("i64")),
            "a number outside": lambda: bounded(outside=1.0),
            "a product": lambda: bounded(combine="mul"),
            "a bound of each iteration": lambda: bounded(inner=True),
            "with a store": lambda: bounded(*copied(X, at(ROW), Y, at(ROW))),
            "that set computed places": lambda: bounded(*scattered("set")),
            "with a fill": lambda: bounded(Fill(T, at((20, ROW)), 20, 0.0)),
            "with linear algebra": lambda: bounded(factorization()),
        },
    ),
    fissioned: (
        long,
        {
            "shared": lambda: long(share=Var(2)),
            "one iteration": lambda: long(only=scalar("i64")),
            "in turn": lambda: long(role="sequence"),
            "with a local": lambda: long(*copied(X, at(ROW), LOCAL, at(0))),
            "storing at one place": lambda: long(*copied(X, at(ROW), T, at(0))),
            "reading what others write": lambda: long(
                *copied(T, at(ROW), T, at(ROW, 1)), role="reduce"
            ),
        },
    ),
}


def regression(*more: Any, read: Any = X, **settings: Any) -> Kernel:
    """Functions of elements, added at computed indices."""
    place, x, value = scalar("i64"), scalar(), scalar()
    body = [
        IndexValue(place, at(ROW)), Load(x, read, at(ROW), None), Compute(value, "exp", (x,)),
        ScatterInto(T, Affine(0), (Place(place, 1, 64),), "add", value), *more,
    ]  # fmt: skip
    settings.setdefault("role", "reduce")
    return kernel(loop(ROW, body, **settings))


TABLE[scatters_fissioned] = (
    regression,
    {
        "shared": lambda: regression(share=Var(2)),
        "one iteration": lambda: regression(only=scalar("i64")),
        "in turn": lambda: regression(role="sequence"),
        "reading the sums": lambda: regression(read=T),
        "storing where it is added": lambda: regression(*copied(X, at(ROW), T, at(ROW))),
        "with linear algebra": lambda: regression(factorization()),
    },
)

TABLE[loops_counted] = (
    counting,
    {words: partial(counting, **changes) for words, changes in NOT_COUNTING.items()},
)


def text(made: Kernel) -> str:
    return text_of(made.body, None)[1]


@pytest.mark.parametrize("run", TABLE, ids=lambda run: run.__name__)
def test_a_pass_changes_what_it_may(run: Callable[[Kernel], Kernel]) -> None:
    legal = TABLE[run][0]
    before = text(legal())
    made = run(legal())
    assert text(made) != before
    verify_kernel(made)


CASES = [(run, words) for run, (_, cases) in TABLE.items() for words in cases]


@pytest.mark.parametrize(("run", "words"), CASES, ids=lambda x: getattr(x, "__name__", x))
def test_a_pass_leaves_alone(run: Callable[[Kernel], Kernel], words: str) -> None:
    made = TABLE[run][1][words]()
    before = text(made)
    assert text(run(made)) == before


def test_tasks_add_to_copies_of_what_they_sum_into() -> None:
    made = parallelize(
        before_and_after([Fill(ONE, Affine(0), 1, 0.0)], added(ONE, at(0)), role="reduce")
    )
    assert "one_of_task" in text(made)
    verify_kernel(made)


def test_what_other_steps_read_is_no_scratch_of_tasks() -> None:
    def stored() -> Kernel:
        body = [*copied(X, at(ROW), ONE, at(0)), *copied(ONE, at(0), Y, at(ROW))]
        return kernel(loop(ROW, body))

    assert "task" in text(parallelize(stored()))
    assert "task" not in text(parallelize(stored(), {ONE}))


# -- kernels in parts ------------------------------------------------------------------------


def straight(*middle: Any) -> Kernel:
    """Statements without a loop, with the given ones in the middle."""
    return kernel(*copied(X, at(0), Y, at(0)), *middle, *copied(X, at(1), Y, at(1)))


def summed_up() -> list[Any]:
    return summed(COLUMN, X, at(COLUMN), scalar())


def in_a_task(local: Any) -> list[Any]:
    task = Var(2)
    body = copied(local, at(0), Y, at(2))
    run = RunTasks(Tasks(task, 2, body, buffers_of(body)))
    return [*copied(X, at(0), local, at(0)), run]


@pytest.mark.parametrize(
    ("middle", "parts"),
    [
        (lambda: copied(X, at(2), Y, at(2)), 3),
        (summed_up, 3),  # two for copies, and one for the whole sum
        (lambda: copied(X, at(0), LOCAL, at(0)), 3),
        (lambda: in_a_task(buffer("own", 16, "local")), 1),
        (lambda: [Swap(T, buffer("other", 64 * 20))], 1),
    ],
    ids=["copies", "a sum", "a local", "a local of tasks", "state"],
)
def test_parts_end_where_nothing_is_open(middle: Callable[[], list[Any]], parts: int) -> None:
    with Thresholds({"codegen.loop_passes.split_blocks.STATEMENTS": 2}):
        made = split_blocks(straight(*middle()))
    assert len(made) == parts
    for part in made:
        begun = sum(isinstance(s, Begin) for s in part.body)
        assert begun == sum(isinstance(s, Finish) for s in part.body)


def test_tiles_are_of_real_numbers_in_rows_and_columns() -> None:
    a = Operand(X, Affine(0), (16, 1))
    legal = MatrixProduct("f64", (), 16, 16, 16, a, a, T, Affine(0))
    assert chosen(legal).tiled
    assert not chosen(replace(legal, dtype="c128")).tiled
    batched = Operand(X, Affine(0), (9, 7, 3, 16, 1))  # no two of three axes can be merged
    assert not chosen(replace(legal, batch=(2, 2, 2), a=batched, b=batched)).tiled
    left = parallelize_product(replace(chosen(legal), tiled=False))
    assert isinstance(left, MatrixProduct)


# -- what is decided as LLVM IR is written ------------------------------------------------


def prefix_sum(extent: int = 64, **settings: Any) -> Loop:
    carry, old, new = buffer("carry", 1, "local"), scalar(), scalar()
    x, i = scalar(), Var(extent)
    body = [
        Load(old, carry, Affine(0), None), Load(x, X, at(i), None),
        Compute(new, "add", (old, x)), Store(carry, Affine(0), new), Store(Y, at(i), new),
    ]  # fmt: skip
    return loop(i, body, "sequence", **settings)


def test_running_sums_are_whole_and_have_four_steps() -> None:
    with Thresholds({"codegen.cpu.llvm.counted.MOST_UNROLLED": 0}):
        assert prefix_scan(prefix_sum(5)) is not None
        assert prefix_scan(prefix_sum(3)) is None
        assert prefix_scan(prefix_sum(share=Var(2))) is None
        assert prefix_scan(prefix_sum(only=scalar("i64"))) is None
        assert prefix_scan(replace(prefix_sum(), role="map")) is None


def test_neighbours_are_read_only_where_nothing_is_written() -> None:
    def stencil(target: Any) -> Loop:
        x, y, z = scalar(), scalar(), scalar()
        i = Var(60)
        reads = [Load(x, X, at(i), None), Load(y, X, at(i, 1), None)]
        return loop(i, [*reads, Compute(z, "sub", (y, x)), Store(target, at(i), z)])

    assert commoning(stencil(Y)).carried
    assert not commoning(stencil(X)).carried


def test_functions_of_their_own_take_no_locals_and_no_sums_from_outside() -> None:
    def chosen(inner: list[Any], **settings: Any) -> int:
        around = loop(Var(3), [loop(ROW, inner, **settings)], "sequence")
        return len(outlined.chosen(kernel(around)))

    begin, sums, end = summed(COLUMN, X, at(COLUMN), scalar())
    assert chosen(copied(X, at(ROW), Y, at(ROW)))
    assert chosen([begin, sums, end])
    assert not chosen(copied(X, at(ROW), LOCAL, at(0)))
    assert not chosen([s for s in sums.body if isinstance(s, (Load, Accumulate))])
    assert not chosen(copied(X, at(ROW), Y, at(ROW)), share=Var(2))


def test_llvm_is_told_of_iterations_that_are_apart() -> None:
    """For a buffer whose memory changes from step to step."""
    moving, i = buffer("moving", 64), Var(32)

    def told(*body: Any, **settings: Any) -> bool:
        return is_independent(loop(i, [*body], **settings), [moving])

    reads, own = copied(X, at(i), moving, at(i)), copied(moving, at(i), Y, at(i))
    assert told(*reads)
    assert told(*own)
    assert told(*copied(moving, at(i, 32), moving, at(i)))  # its two halves
    assert not told(*copied(moving, at(i), moving, at(i, 1)))  # the next iteration writes it
    assert not told(*copied(X, at(i), moving, at(0)))  # all iterations write the same element
    assert not told(*reads, role="sequence")
    assert not told(*copied(X, at(i), Y, at(i)))  # LLVM checks arguments itself
    assert not told(*reads, loop(COLUMN, copied(X, at(COLUMN), T, at(COLUMN))))


def test_rows_of_one_team_lie_in_shared_memory() -> None:
    t, row, column = T, ROW, Var(20)

    def staged(body: list[Any], private: Any = (T,), start: int = 0) -> dict[Any, int]:
        nest = Nest([Loop(row, start, 64, body, "map")], [], body)
        return rows_of(nest, private)

    def at_rows(here: Any, *more: Any) -> list[Any]:
        return [loop(column, copied(X, at((20, row), column), t, here)), *more]

    legal = at((20, row), column)
    assert staged(at_rows(legal)) == {t: 20}
    assert not staged(at_rows(legal), private=())  # another kernel reads it
    assert not staged(at_rows(at((20, row), column, 1)))  # it reaches into the next row
    assert not staged(at_rows(at((10, row), column)))  # rows overlap
    assert not staged(at_rows(legal, loop(column, copied(t, at(column), Y, legal))))  # row 0
    assert not staged(at_rows(legal, *scattered("add")))  # at computed places
    assert not staged(at_rows(legal), start=1)


def test_stages_end_where_no_sum_is_open() -> None:
    between = copied(X, at((20, ROW)), Y, at((20, ROW)))
    (before,) = kernel(loop(ROW, [*between, *sum_of_two()])).body
    assert [stage.has_loop for stage in stages_of(before) or ()] == [False, True, False]
    (inside,) = kernel(loop(ROW, sum_of_two(*between))).body
    assert stages_of(inside) is None


def long_rows(*, target: Any = Y, role: str = "map", start: int = 0) -> Kernel:
    """Few long rows: each is summed, and its elements are stored, after one of ``T`` is read."""
    n, row = 100_000, Var(4)
    column, again = Var(n), Var(n)
    total, first, made, x = scalar(), scalar(), scalar(), scalar()
    begin, sums, finish = summed(column, X, at((n, row), column), total)
    sums.body += copied(X, at((n, row), column), target, at((n, row), column))
    body = [
        Load(first, T, at((n, row)), None), begin, sums, finish,
        loop(again, [Load(x, X, at((n, row), again), None), Compute(made, "add", (x, first)),
                     Store(RESULT, at((n, row), again), made)]),
        Store(ONE, at(row), total),
    ]  # fmt: skip
    return kernel(Loop(row, start, 4, body, role))  # type: ignore[arg-type]


LONG_ROWS: dict[str, Any] = {
    "that change what is read before them": {"target": T},
    "in turn": {"role": "sequence"},
    "that only combine": {"role": "reduce"},
}


@pytest.mark.parametrize("illegal", LONG_ROWS)
def test_blocks_share_rows_of_independent_iterations(illegal: str) -> None:
    def split(made: Kernel) -> bool:
        launches = KernelMapper(made, Machine()).launch()
        return any(re.search(r"\d+ blocks for each", launch.doc) for launch in launches)

    assert split(long_rows())
    assert not split(long_rows(**LONG_ROWS[illegal]))


def test_the_work_after_a_reduction_is_a_kernel_of_its_own_if_it_repeats_nothing_changed() -> None:
    def parts_of(made: Kernel) -> int:
        (nest,) = nests(made.body[0])
        first = first_reduction(nest)
        return 0 if first is None else len(halves(made, nest, first, []))

    assert parts_of(long_rows()) == 2
    assert parts_of(long_rows(start=1)) == 0
    for settings in LONG_ROWS.values():
        assert parts_of(long_rows(**settings)) == 0


# -- what the documents say -----------------------------------------------------------------

#: The modules that have an illegal case in this file.
HERE = {run.__module__ for run in TABLE} | {
    function.__module__
    for function in (
        split_blocks,
        chosen,
        outlined.chosen,
        commoning,
        prefix_scan,
        is_independent,
        rows_of,
        stages_of,
        halves,
    )
}


#: The modules whose illegal cases are in other files, and the tests there.
ELSEWHERE = {
    "analysis.integer_facts": "loop_passes/test_counted_loops.py:test_forms_and_ranges_of_integers",
    "analysis.separate_places": "loop_passes/test_counted_loops.py:"
    "test_iterations_are_separate_where_one_place_tells_them_apart",
    "analysis.task_border": "analysis/test_task_border.py:"
    "test_scalars_of_earlier_reductions_are_handed_to_tasks",
    "cuda.mapping.apart": "cuda/mapping/test_apart.py:test_rows",
    "cuda.mapping.copies": "cuda/mapping/test_copies.py:test_what_is_legal",
    "cuda.mapping.lanes": "cuda/mapping/test_kernels.py:"
    "test_elements_that_meet_are_not_one_threads_own",
    "cuda.mapping.prefix": "cuda/mapping/test_kernels.py:test_prefixes_are_for_all_blocks",
    "cuda.mapping.products": "cuda/mapping/test_finishing.py:test_what_is_legal",
    "cuda.mapping.scatters": "cuda/mapping/test_scatters.py:test_what_is_stored_is_not_read",
    "cuda.mapping.transposes": "cuda/mapping/test_transposes.py:test_what_is_read_in_tiles",
    "cuda.mapping.nests.contributions": "cuda/mapping/test_apart.py:test_gradients_of_rows",
    "cuda.mapping.nests.vectors": "cuda/mapping/test_vectors.py:test_results",
    "loop_passes.counts.additions": "loop_passes/test_counted_loops.py:"
    "test_additions_to_two_elements_become_two_loops",
    "loop_passes.counts.counters": "test_legality.py:test_a_pass_leaves_alone",
    "loop_passes.counts.order": "loop_passes/test_counted_loops.py:"
    "test_iterations_are_separate_where_one_place_tells_them_apart",
    "loop_passes.counts.sums": "loop_passes/test_counted_loops.py:"
    "test_numbers_that_are_only_added_to_are_sums",
    "loop_passes.rows.inside_bounds": "loop_passes/test_inside_bounds.py:"
    "test_a_place_is_known_where_the_bounds_keep_it_inside",
    "lowering.sheet_cells": "lowering/test_sheets.py:"
    "test_an_array_keeps_its_cells_if_nothing_reads_the_old_one",
    "lowering.sheets": "lowering/test_sheets.py:test_what_rows_do_not_compute_is_code",
    "scheduling.compared_extremes": "test_legality_of_memory.py:"
    "test_what_is_compared_with_its_own_extreme_is_rounded_once",
    "scheduling.rotate": "scheduling/test_rotate.py:"
    "test_what_only_looks_like_the_condition_s_is_left",
    "scheduling.selected": "scheduling/test_selected.py:test_otherwise_all_are_sorted",
}


def test_whatever_says_where_it_is_legal_has_an_illegal_case() -> None:
    folder, says = Path(codegen.__file__).parent, set()
    for path in folder.rglob("*.py"):
        words = path.read_text("utf-8").removeprefix('"""').split('"""')[0]
        if re.search(r"\blegal (where|for|in)\b|^legal,", words, re.MULTILINE | re.IGNORECASE):
            says.add(".".join(path.relative_to(folder).with_suffix("").parts))
    tested = HERE | {module.__name__ for module in test_legality_of_memory.TESTED}
    here = {name.removeprefix("autojit.codegen.") for name in tested}
    assert says == here | ELSEWHERE.keys()
    for test in ELSEWHERE.values():
        path, name = test.split(":")
        assert f"def {name}" in (Path(__file__).parent / path).read_text("utf-8")


def test_each_pass_over_loops_has_an_illegal_case() -> None:
    tested = HERE | {module.__name__ for module in test_legality_of_memory.TESTED}
    assert {place.run.name for place in SHAPE.places} <= {m.rpartition(".")[2] for m in tested}


@pytest.mark.parametrize("module", sorted(HERE))
def test_each_says_where_it_is_legal(module: str) -> None:
    assert "legal" in inspect.getsource(importlib.import_module(module)).lower()
