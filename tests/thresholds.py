"""The compiler's thresholds, for tests that draw them: small arrays then take every path.

    with thresholds.drawn(rng) as chosen:     # print `chosen` to see, or to repeat, what was drawn
        jit(f)(x)

A threshold decides how fast code is, never what it computes.  So a program has to give the same
results whatever is drawn.  ``THRESHOLDS`` names each one with the values to draw from, beside its
own; ``FIXED`` are the other numbers of the code generator, with the reason why each stays.

Inside of the block nothing compiled outside of it is used, neither from memory nor from disk, and
the other way round.  Memory that a program has not written yet holds NaN there.  A function made by
``jit`` keeps its code, so make it inside of the block.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import pytest

import autojit.codegen
from autojit import execute
from autojit.codegen import cache as disk
from autojit.codegen.cpu import engine, library

PACKAGE = "autojit.codegen"

#: By module and name: values to draw from.
THRESHOLDS: dict[str, tuple[Any, ...]] = {
    "blocks.BLOCK": (2, 3, 8),
    "blocks.WORTH_BLOCKS": (0,),
    "carries.SMALL": (0, 2, 64),
    "chains.LONGEST_CHOICE": (0, 2),
    "chunks.STATEMENTS": (5, 10, 50),
    "cpu.cholesky.BLOCK": (1, 2),
    "cpu.counted.MOST_EXPANDED": (0, 10),
    "cpu.counted.MOST_UNROLLED": (0, 2),
    "cpu.entry.STACK_ARENA": (0,),
    "cpu.matrices.ON_STACK": (0,),
    "cpu.neighbours.CACHED": (0,),
    "cpu.neighbours.LARGEST": (0,),
    "cpu.neighbours.MOST": (0, 1, 100),
    "cpu.neighbours.SHORTEST": (2,),
    "cpu.neighbours.WORTH": (1,),
    "cpu.nests.EVEN": (1, 2),
    "cpu.nests.FEW": (0,),
    "cpu.nests.GRAIN": (1, 4),
    "cpu.nests.MOST_INTERLEAVED": (0, 100),
    "cpu.outlined.LEAST": (1, 5),
    "cpu.outlined.LONG": (0, 20),
    "cpu.parts.LINES": (20,),
    "cpu.parts.MOST": (2,),
    "cpu.radix.FEW": (2,),
    "cpu.results.POOLED": (0, 64),
    "cpu.running.MOST": (0, 100),
    "cpu.small_matrices.COLUMNS": (1, 2),
    "cpu.small_matrices.LARGEST": (0, 2),
    "cpu.sorting.MANY": (1,),
    "cpu.tapes.FIRST_BYTES": (1,),
    "cpu.tapes.LARGEST_KEPT": (0,),
    "cpu.tile_functions.BLOCK": (4,),
    "cpu.tile_functions.LARGEST_SQUARE": (2,),
    "cpu.tiles.GROUP": (1, 2),
    "cpu.tiles.MOST_ROWS": (1, 2),
    "cpu.tiles.MOST_SLOWER": (100.0,),
    "cpu.tiles.MOST_VECTORS": (1, 2),
    "diagonals.WORTH": (0, 2),
    "lone.LEAST": (1, 2),
    "lone.MOST_APART": (0, 4),
    "lone.MOST_BESIDE": (0, 4),
    "lone_loops.UNROLL": (0,),
    "lower.FEW_SUMMED": (1,),
    "lower.MOST_AROUND": (1, 3),
    "lower.MOST_AT_BORDER": (1, 8),
    "lower.MOST_SEGMENTS": (1, 3),
    "lower.UNROLL": (0, 1, 16),
    "lower.WORTH_SPLITTING": (0, 1, 100),
    "op_loops.SMALL_PRODUCT": (0, 16),
    "parallel.AT_A_TIME": (1,),
    "parallel.FEW_TASKS": (2, 7),
    "parallel.MOST_PRIVATE": (0, 16),
    "parallel.MOST_TASKS": (2, 5),
    "parallel.WORK_OF_TASK": (1, 16),
    "parallel.WORTH_THREADS": (0,),
    "parallel.WORTH_TRYING": (0,),
    "pieces.BYTES": (8,),
    "pieces.LEAST": (1, 2),
    "pieces.LONG": (2, 8),
    "pieces.MOST": (1, 4),
    "pieces.OF_FUNCTION": (1,),
    "pieces.SIZE": (1, 4),
    "placement.LOCAL": (0, 1, 4, 64),
    "products.FAR": (16,),
    "products.FAR_BYTES": (64,),
    "products.FAR_STEPS": (4,),
    "products.LARGEST": (0, 256),
    "products.LEAST_COLUMNS": (1, 100),
    "products.LEAST_FAR": (2,),
    "products.MOST": (0, 64),
    "products.MOST_IN_STEPS": (0, 64),
    "products.ROWS": (1, 4),
    "products.FEW_ROWS": (0, 2),
    "rows.MOST_AT_ENDS": (0, 100),
    "rows.PART_AT_ENDS": (1,),
    "slabs.AGAIN": (0, 1 << 40),
    "slabs.AHEAD": (0, 2),
    "slabs.CACHE": (1,),
    "slabs.ENOUGH": (1, 2),
    "slabs.FEW": (1,),
    "slabs.LARGEST": (64, 1 << 30),
    "slabs.LAST_LEVEL": (0,),
    "slabs.LEAST": (0, 64),
    "slabs.LEAST_SLABS": (1, 2),
    "slabs.MEMORY": (1,),
    "slabs.NEAR": (1,),
    "slabs.ROOM": (0, 1 << 40),
    "slabs.SLAB": (8, 128),
    "storage.CHEAP_TO_REPEAT": (0, 100),
    "storage.DEEPEST": (2, 5),
    "storage.EXPENSIVE": (0, 2, 1000),
    "storage.MANY": (1, 2),
    "take_over.LEAST": (0,),
    "uncollapse.LEAST_COLUMNS": (1, 3),
    "uncollapse.LEAST_ROWS": (0, 1),
    "uncollapse.MOST_PARTS": (1, 8),
}

#: Numbers that are no choice between two ways that are both right, and why.
FIXED: dict[str, str] = {
    "arena.ALIGNMENT": "lines of caches, which vectors are aligned to",
    "cpu.apart.PROCESSORS": "the size of a structure of the C library",
    "cpu.nests.FOLDED": "a number of LLVM's, below which it makes wrong code for some loops",
    "cpu.radix.DIGIT": "goes with the shifts",
    "cpu.radix.DIGITS": "goes with the shifts",
    "cpu.radix.MOST": "a word has so many bits for a place",
    "cpu.results.MOST_KEPT": "taken as the process starts",
    "cpu.running.AT_A_TIME": "its code is written out for four",
    "cpu.stopwatch.EVERY": "decides when the code runs",
    "cpu.stopwatch.FORGET": "decides when the code runs",
    "cpu.stopwatch.TIMES": "the size of a structure",
    "cpu.stopwatch.TRIALS": "decides when the code runs",
    "cpu.tapes.HEADER": "the size of a structure",
    "cpu.tasks.MOST": "the bits of a word",
    "cpu.tile_functions.LINE": "lines of caches, for loads ahead",
    "lone.MOST": "places up to here are whole numbers of float32",
    "loops.NOTE": "the size of a structure",
    "products.BLOCK_BYTES": "goes with BLOCK_ROWS and LEAST_STEPS",
    "products.BLOCK_ROWS": "room for the rows of any tile",
    "products.LEAST_STEPS": "goes with BLOCK_BYTES",
    "products.PANEL_BYTES": "room for the columns of any tile",
    "regions.MANY": "more steps than any loop has",
}  # fmt: skip


class Thresholds:
    """A context in which thresholds have other values, by module and name."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        unknown = values.keys() - THRESHOLDS.keys()
        assert not unknown, f"no thresholds: {sorted(unknown)}; see THRESHOLDS"
        self.values = dict(values)
        self._patch: pytest.MonkeyPatch | None = None

    def __repr__(self) -> str:
        return f"Thresholds({self.values})"

    def __enter__(self) -> Thresholds:
        patch = self._patch = pytest.MonkeyPatch()
        for path, value in self.values.items():
            for module, name in _copies()[path]:
                patch.setattr(module, name, value)
        patch.setattr(engine, "POISON", True)
        # Compiled programs, and functions of the library, of other thresholds.
        patch.setattr(execute, "_executables", OrderedDict())
        patch.setattr(disk, "user_cache", lambda: None)
        for name in ("_texts", "_calls", "_forms", "_plain"):
            patch.setattr(library, name, {})
        library._together.cache_clear()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._patch is not None
        self._patch.undo()
        library._together.cache_clear()


def drawn(rng: Any) -> Thresholds:
    """Thresholds drawn by a generator of NumPy's: none of them, some, or nearly all are changed."""
    share = rng.choice([0.0, 0.1, 0.5, 0.9])
    values = {}
    for path, choices in THRESHOLDS.items():
        is_changed, choice = rng.random() < share, choices[rng.integers(len(choices))]
        if is_changed:
            values[path] = choice
    return Thresholds(values)


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The modules of the code generator that have a part in code for the CPU, parsed."""
    root = Path(autojit.codegen.__file__).parent
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] not in ("cuda", "vector_math") and parts[-1] != "__init__":
            yield ".".join(parts), ast.parse(path.read_text())


@cache
def _copies() -> dict[str, list[tuple[ModuleType, str]]]:
    """Where each threshold is: in its own module, and where it was imported by name."""
    found = {path: [_place(path)] for path in THRESHOLDS}
    for module, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                inside = f"{PACKAGE}.{module}".split(".")
                home = ".".join([*inside[: len(inside) - node.level], node.module or ""])
                for alias in node.names:
                    path = f"{home}.{alias.name}".removeprefix(f"{PACKAGE}.")
                    if path in found:
                        name = alias.asname or alias.name
                        found[path].append((import_module(f"{PACKAGE}.{module}"), name))
    return found


def _place(path: str) -> tuple[ModuleType, str]:
    module, name = path.rsplit(".", 1)
    home = import_module(f"{PACKAGE}.{module}")
    assert hasattr(home, name), path
    return home, name


#: Modules whose numbers are those of formats and of other programs.
_FORMATS = ("cache", "cpu.abi", "errors")


def numbers() -> Iterator[str]:
    """The public constants of the code generator that are numbers, by module and name."""
    for module, tree in modules():
        if module in _FORMATS:
            continue
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [n for t in targets for n in (t.elts if isinstance(t, ast.Tuple) else [t])]
            for name in names:
                if isinstance(name, ast.Name) and name.id.isupper() and name.id[0] != "_":
                    value = getattr(import_module(f"{PACKAGE}.{module}"), name.id)
                    if isinstance(value, (int, float)) and not isinstance(value, bool):
                        yield f"{module}.{name.id}"
