"""Splits the bodies of sequential loops, and branches, into parts: each loop nest by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from autojit.codegen.analysis.amounts import operations
from autojit.codegen.analysis.measured import parts_of
from autojit.codegen.loop_ir.nodes import Loop, RunTasks
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.sequences import Branch
from autojit.codegen.loop_ir.traversal import bodies_of, in_sequence, places_of, walk

from .facts import Part, Step
from .lines import line_of
from .steps import Lowering, library_of, title_of, title_of_loops, vectors_of


class _Piece(NamedTuple):
    """Statements of a body that belong together, and how often they run."""

    body: list[Any]
    runs: int | None
    at_most: bool


def add_bodies(
    steps: list[Step], found: Lowering, seconds: Mapping[tuple[int, ...], float]
) -> None:
    """Add to each step the parts in its sequential loops; ``seconds`` are the times of all runs of
    a part in the fastest call, by its number."""
    numbers = {id(part.node): part.number for part in parts_of(found.loops)}
    for made, step in zip(steps, found.loops.steps, strict=True):
        if not isinstance(step, Kernel) or not in_sequence(step.body):
            continue
        for piece in _pieces(step.body, _Piece([], 1, False), inside=False):
            number = f"{made.number}.{len(made.inside) + 1}"
            part = _part(number, piece, step, found)
            if part is not None:
                part.seconds = seconds.get(numbers.get(id(piece.body[0]), ()))
                made.inside.append(part)
        if not any(part.is_nest for part in made.inside):
            made.inside.clear()  # they tell no more than the step does


def _pieces(body: list[Any], around: _Piece, *, inside: bool) -> Iterator[_Piece]:
    """The pieces of a body; statements that compute single numbers come last, as one piece."""
    plain = []
    for s in body:
        if in_sequence([s]) and not isinstance(s, RunTasks) and not (inside and _is_plain(s)):
            for inner in bodies_of(s):
                yield from _pieces(inner, _within(s, around), inside=True)
        elif inside and (bodies_of(s) or library_of(s)):
            yield around._replace(body=[s])
        elif inside:
            plain.append(s)
    if plain:
        yield around._replace(body=plain)


def _is_plain(s: Any) -> bool:
    """Whether a loop or a branch contains no loop nests or library calls."""
    held = (x for inner in bodies_of(s) for x in walk(inner))
    return not any(bodies_of(x) or library_of(x) for x in held)


def _within(s: Any, around: _Piece) -> _Piece:
    """A piece that tells how often the body of a statement runs."""
    if isinstance(s, Branch):
        return around._replace(at_most=True)
    if isinstance(s, Loop) and around.runs is not None:
        return around._replace(runs=around.runs * (s.stop - s.start))
    return around._replace(runs=None)


def _part(number: str, piece: _Piece, kernel: Kernel, found: Lowering) -> Part | None:
    first = piece.body[0]
    counted = operations(piece.body)
    is_plain = not (bodies_of(first) or library_of(first))
    if is_plain and not counted.flops:
        return None
    named = [s for s in piece.body if not is_plain or operations([s]).flops]
    places = dict.fromkeys(p for s in named for p in places_of(s))
    return Part(
        number,
        title_of_loops(piece.body) if is_plain else title_of(first),
        lines=[line_of(place) for place in places],
        runs=piece.runs,
        runs_at_most=piece.at_most,
        flops=counted.flops,
        functions=counted.functions,
        vectors=vectors_of(piece.body, kernel.body, found),
        library=library_of(first),
    )
