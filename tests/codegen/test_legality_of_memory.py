"""Schedules, buffers and tapes: the effect of each choice, and the cases in which it would be
wrong.

A row is a function for which the choice is made, and one that breaks its condition in one point.
Compiled code of both agrees with the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit, scan, while_loop
from autojit.codegen.analysis import arena
from autojit.codegen.analysis.verifier import BrokenLoops, verify_kernel
from autojit.codegen.cpu.emit import tapes
from autojit.codegen.cpu.entry_point import alike
from autojit.codegen.cpu.entry_point.entry import Module
from autojit.codegen.driver import packing
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import MatrixProduct
from autojit.codegen.loop_ir.nodes import Load, Loop, Store
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sequences import Recall, Release, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import (
    buffers_named,
    loop_count,
    product_of,
    statements,
    walk,
)
from autojit.codegen.loop_ir.values import Buffer, Trips
from autojit.codegen.loop_passes import one_hot_rows, reuse_buffers, tile_rows
from autojit.codegen.lowering import carries
from autojit.codegen.scheduling import (
    bufferization,
    chains,
    fusion,
    in_place,
    kept_tapes,
    materialization,
)
from autojit.ir.core.affine import Affine, Var
from tests.codegen.loop_builder import at, copied, kernel, number, scalar
from tests.codegen.row_chains import agrees
from tests.thresholds import Thresholds

Loops = LoopProgram
RNG = np.random.default_rng(0)
X, W = RNG.uniform(0.5, 1.0, (24, 20)), RNG.uniform(0.5, 1.0, (20, 20))
LONG, WIDE = RNG.uniform(0.5, 1.0, 40), RNG.uniform(0.5, 1.0, (256, 20))
FLOATS = [0.5, -1.5, 2.0, 0.25]

#: With these, every choice is considered worthwhile.
EAGER = Thresholds(
    {
        "codegen.cpu.entry_point.alike.LEAST": 2,
        "codegen.loop_passes.one_hot_rows.LEAST": 2,
        "codegen.driver.packing.LEAST": 2,
        "codegen.loop_passes.rows.tile_cost.AGAIN": 1 << 40,
        "machine.caches": (1 << 10, 1 << 14, 1 << 16),
        "machine.last_level": 5,
        "codegen.loop_passes.rows.row_groups.LEAST": 1 / 256,
        "codegen.loop_passes.rows.tile_cost.ROOM": 1 << 40,
        "codegen.loop_passes.rows.tile_cost.TILE": 1 / 8,
        "codegen.loop_passes.reuse_buffers.LEAST": 0,
    }
)


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    with EAGER:
        yield


# -- what is asked of loops ---------------------------------------------------------------


def in_one_nest(loops: Loops) -> bool:
    return loop_count(loops) == 1


def has_room_for_an_iteration_only(loops: Loops) -> bool:
    named = {b for s in statements(loops) for b in buffers_named(s)}
    return all(b.size < X.size for b in named if b.kind in ("temp", "local"))


def copies_nothing(loops: Loops) -> bool:
    inner = [s for s in statements(loops) if isinstance(s, Loop)]
    return not any(list(map(type, s.body)) == [Load, Store] for s in inner)


def exchanges_no_buffers(loops: Loops) -> bool:
    return not any(isinstance(s, Swap) for s in statements(loops))


def shares_bytes(loops: Loops) -> bool:
    return loops.arena < sum(b.size * itemsize(b.dtype) for b in loops.temps)


def runs_one_loop(loops: Loops) -> bool:
    return sum(isinstance(s, Repeat) for s in statements(loops)) == 1


def runs_products_together(loops: Loops) -> bool:
    kernels = [s for s in loops.steps if isinstance(s, Kernel) and product_of(s) is None]
    counts = [sum(isinstance(s, MatrixProduct) for s in walk(k.body)) for k in kernels]
    return max(counts, default=0) > 1


def runs_for_only_one(loops: Loops) -> bool:
    return any(isinstance(s, Loop) and s.only is not None for s in statements(loops))


def reuses_memory(loops: Loops) -> bool:
    return bool(loops.taken)


# -- functions ------------------------------------------------------------------------------


def updated(*more: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = np.exp(x)
        before = [g(y) for g in more]
        y[np.array([3, 1])] += 1.0
        return y, *before

    return f


def stepped(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: scan(lambda c, _: (step(c), None), x, length=3)[0]


def kept(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """All old values are a result, as in a tape."""
    return lambda x: scan(lambda c, _: (step(c), c), x, length=3)


def stepped_in_pair(step: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda x: scan(lambda c, _: (step(*c), None), (x, 2.0 * x), length=3)[0]


def written_in_turn(*, read_between: bool) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        out, between = np.zeros(80), 0.0
        for k in range(24):
            if k == 12 and read_between:
                between = out.copy()
            out[3 * k : 3 * k + 2] = np.sin(x[k : k + 2]) * (k % 5 + 1.0)
        return out, between

    return f


def chain_of_products(*, read_later: bool) -> Callable[[Any, Any], Any]:
    def f(x: Any, w: Any) -> Any:
        first = x @ w
        last = first @ w @ w @ w
        return last + first if read_later else last

    return f


def until_large(x: Any, bound: float = 4.0) -> Any:
    return while_loop(lambda y: np.max(y) < bound, lambda y: y * np.exp(y), x)


def two_loops(bound: float) -> Callable[[Any], Any]:
    """The reverse runs the loop up to 4 again, unless another loop is equal to it."""
    return lambda x: (np.floor(until_large(x, bound)), grad(lambda x: np.sum(until_large(x)))(x))


def between_products(between: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, w: between(np.tanh(x @ w)) @ w


def nearest(x: Any, w: Any) -> Any:
    return np.sum(np.max(x @ w, axis=1))


def shares_too(x: Any, w: Any) -> Any:
    shares = grad(lambda scores: np.sum(np.max(scores, axis=1)))(x @ w)
    return shares, shares.T @ x


@dataclass(frozen=True)
class Row:
    module: ModuleType
    why: str
    legal: Callable[..., Any]
    illegal: Callable[..., Any]
    arguments: tuple[Any, ...]
    holds: Callable[[Loops], bool]


TABLE = [
    Row(fusion, "all rows are read", lambda x: x / np.sum(x, axis=1)[:, None],
        lambda x: x / np.sum(x, axis=0), (X,), in_one_nest),
    Row(fusion, "another iteration is read", lambda x: (np.exp(x), np.exp(x) + 1.0),
        lambda x: (np.exp(x), np.exp(x)[::-1] + 1.0), (LONG,), in_one_nest),
    Row(bufferization, "readers are in another loop",
        lambda x: np.exp(x) / np.sum(np.exp(x), axis=1)[:, None],
        lambda x: np.exp(x) / np.sum(np.exp(x), axis=0), (X,), has_room_for_an_iteration_only),
    Row(materialization, "the old array is a result", updated(), updated(lambda y: y), (LONG,),
        copies_nothing),
    Row(materialization, "an input is updated", updated(),
        lambda x: np.add.at(y := x.copy(), np.array([3, 1]), 1.0) or y, (LONG,), copies_nothing),
    Row(in_place, "other elements are read", stepped(lambda c: np.sin(c)),
        stepped(lambda c: np.sin(c[::-1])), (LONG,), exchanges_no_buffers),
    Row(in_place, "all of the old elements are read later",
        stepped(lambda c: np.sin(c) + np.sum(c)),
        stepped(lambda c: np.cos(c + np.sum(np.sin(c)) * c[0])), (LONG,), exchanges_no_buffers),
    Row(in_place, "a tape keeps it, and other elements are read", kept(lambda c: np.sin(c)),
        kept(lambda c: np.sin(c[::-1])), (LONG,), exchanges_no_buffers),
    Row(carries, "carries take each other's places", stepped_in_pair(lambda a, b: (a, b + 1.0)),
        stepped_in_pair(lambda a, b: (b, a)), (LONG,), exchanges_no_buffers),
    Row(arena, "the first is read by the last", chain_of_products(read_later=False),
        chain_of_products(read_later=True), (X, W), shares_bytes),
    Row(chains, "a link is read in between", written_in_turn(read_between=False),
        written_in_turn(read_between=True), (LONG,), copies_nothing),
    Row(kept_tapes, "the loops end differently", two_loops(4.0), two_loops(50.0), (LONG[:3],),
        runs_one_loop),
    Row(tile_rows, "all rows are needed",
        between_products(lambda h: h - np.max(h, 1, keepdims=True)),
        between_products(lambda h: h - np.max(h, 0)), (WIDE, W), runs_products_together),
    Row(tile_rows, "other rows are needed", between_products(lambda h: h * 2.0),
        between_products(lambda h: h[::-1] * 2.0), (WIDE, W), runs_products_together),
    Row(one_hot_rows, "the shares are a result", grad(nearest, argnums=1), shares_too, (WIDE, W),
        runs_for_only_one),
    Row(reuse_buffers, "rows move", lambda x, w: np.tanh(x @ w), lambda x, w: np.tanh(x @ w)[::-1],
        (X, W), reuses_memory),
    Row(reuse_buffers, "it is read later", lambda x, w: np.tanh(x @ w),
        lambda x, w: (np.tanh(y := x @ w), y), (X, W), reuses_memory),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.module.__name__}: {row.why}")
def test_choices_are_made_only_where_they_are_legal(row: Row) -> None:
    assert row.holds(agrees(row.legal, *row.arguments)), "the neighbour is not legal"
    assert not row.holds(agrees(row.illegal, *row.arguments))


def test_temporaries_that_live_together_have_bytes_of_their_own() -> None:
    loops = agrees(chain_of_products(read_later=True), X, W)
    used = [set(arena._used(step)) for step in loops.steps]
    for a, b in combinations(loops.temps, 2):
        steps = [[k for k, names in enumerate(used) if c in names] for c in (a, b)]
        if steps[0][0] <= steps[1][-1] and steps[1][0] <= steps[0][-1]:
            first, second = sorted((a, b), key=loops.temps.__getitem__)
            end = loops.temps[first] + first.size * itemsize(first.dtype)
            assert end <= loops.temps[second]


def test_what_is_compared_with_its_own_extreme_is_rounded_once() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y + x
        return np.sum(z == np.max(z, axis=1, keepdims=True), axis=1)

    x, y = RNG.normal(size=(2, 50, 40))
    assert np.all(jit(f)(x, y) == 1)


# -- numbers in arrays, kernels in functions ------------------------------------------------


def test_numbers_of_other_types_are_not_packed() -> None:
    def program(*numbers: Any) -> Any:
        return autojit.trace(lambda *p: np.array([v for v in p]))(*numbers)

    assert packing.packing(program(1.0, 2.0)) is not None
    assert packing.packing(program(1.0, np.float32(2.0))) is None
    assert packing.packing(program(np.ones(1), np.ones(1))) is None
    total = jit(lambda *p: sum(p))
    assert total(*FLOATS) == sum(FLOATS)
    assert total(*FLOATS[:3], 1) == sum(FLOATS[:3]) + 1  # the code for four floats must not take it


def shrinking(factor: Callable[[int], float]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for k in range(10):
            x = np.maximum(factor(k) * x[:-1], np.cumsum(x)[1:])
        return x

    return f


def test_kernels_with_other_numbers_are_other_functions() -> None:
    def merged(factor: Callable[[int], float]) -> bool:
        f = shrinking(factor)
        module = Module(
            agrees(f, LONG), (program := autojit.trace(f)(LONG)).in_types, program.out_types
        )
        return any(name.endswith("_of_any") for name in module.printed)

    assert merged(lambda k: 0.75)
    assert not merged(lambda k: 0.75 + 0.01 * k)


# -- tapes --------------------------------------------------------------------------------


MANY = Var(1 << 40)
TRIPS, OTHER = Trips(), Trips()
TAPE = Buffer("tape", "f64", 2, "tape")
ONE, OUT = Buffer("one", "f64", 4, "input"), Buffer("out", "f64", 4, "output")
NOTE = Buffer("note", "i64", 3, "temp")


def pushing(
    there: Affine | None = None,
    condition: list[Any] | None = None,
    after: list[Any] | None = None,
    end: list[Any] | None = None,
    read: Affine | None = None,
    swept: Trips = TRIPS,
) -> Kernel:
    """A loop that pushes a number at each step, and a sweep that reads them backwards."""
    test = scalar("bool")
    there = at((2, MANY), 1) if there is None else there
    read = at((2, MANY), 1) if read is None else read
    return kernel(
        Repeat(MANY, [*(condition or []), number(False, test)], test,
               copied(ONE, at(0), TAPE, there), [TAPE], TRIPS),
        Steps(MANY, swept, True, copied(TAPE, read, OUT, at(0))),
        *(after or []),
        *([Release([TAPE])] if end is None else end),
    )  # fmt: skip


def test_tapes_that_have_room() -> None:
    verify_kernel(pushing())


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: pushing(condition=copied(ONE, at(0), TAPE, at((2, MANY)))),
         "outside of the steps"),
        (lambda: pushing(after=copied(TAPE, at(0), OUT, at(0))), "outside of the steps"),
        (lambda: pushing(there=at((2, MANY), 2), read=at(0)), "at another step"),
        (lambda: pushing(there=at(1)), "at another step"),
        (lambda: pushing(end=[]), "never given back"),
        (lambda: pushing(end=[Release([TAPE]), Release([TAPE])]), "not there"),
        (lambda: pushing(after=[Recall([], OTHER, NOTE)], swept=OTHER), "did not run"),
    ],
)  # fmt: skip
def test_tapes_without_room(made: Callable[[], Kernel], words: str) -> None:
    with pytest.raises(BrokenLoops, match=words):
        verify_kernel(made())


def test_a_released_tape_is_not_swept() -> None:
    made = pushing()
    sweep = made.body.pop(1)
    with pytest.raises(BrokenLoops, match="outside of the steps"):
        verify_kernel(replace(made, body=[*made.body, sweep]))


# -- statements ---------------------------------------------------------------------------

TESTED = {*(row.module for row in TABLE), alike, packing, tapes}


@pytest.mark.parametrize(
    "module", sorted(TESTED, key=lambda m: m.__name__), ids=lambda m: m.__name__
)
def test_each_says_where_it_is_legal(module: ModuleType) -> None:
    assert "legal where" in (module.__doc__ or "").lower()
