"""The thresholds of the passes, for tests that draw them: small programs then take every path.

    with thresholds.drawn(rng) as chosen:     # print `chosen` to see, or to repeat, what was drawn
        optimize(program)

A threshold decides how fast a program is, never what it computes.  ``THRESHOLDS`` names each one
with values to draw from, beside its own; ``FIXED`` are the other numbers, with the reason why each
stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import pytest

import autojit.ir

PACKAGE = "autojit.ir"

#: By module and name: values to draw from.
THRESHOLDS: dict[str, tuple[Any, ...]] = {
    "ops.scan_products.LARGE": (0, 4),
    "ops.update.SPARSE": (1, 2, 1000),
    "passes.idle_shifts.MOST": (0, 2),
    "passes.idle_shifts.MOST_OPS": (0, 5),
    "passes.pick_first.FEW": (0, 1, 5),
    "passes.recurrences.GAIN": (0,),
    "passes.recurrences.LATENCY": (1, 100),
    "passes.recurrences.LEAST_STEPS": (1, 2, 3),
    "passes.recurrences.MOST_CARRIED": (0, 1, 20),
    "passes.recurrences.MOST_STEPS": (1, 2, 3),
    "passes.recurrences.SCALAR_RATE": (1,),
    "passes.recurrences.VECTOR_RATE": (1, 1000),
    "passes.recurrences.WHOLE": (1, 2),
    "passes.recurrences.WORTH": (0, -1e12),
    "passes.repetitions.FARTHEST": (1, 2),
    "passes.repetitions.MOST_BACK": (1, 2),
    "passes.repetitions.LEAST_STEPS": (3, 4),
    "passes.repetitions.MOST_PARTS": (1, 2),
    "passes.repetitions.MOST_PERIODS": (1, 2),
    "passes.repetitions.MOST_RUNS": (1, 2),
    "passes.restore.FEW": (0, 1),
    "passes.roll.LEAST_ROWS": (2, 8),
    "passes.roll.MOST_FAILURES": (1, 2),
    "passes.roll_rows.LARGEST": (1, 50),
    "passes.roll_rows.LARGEST_ROW": (1, 5),
    "passes.roll_rows.MOST_MOVES": (0, 1),
    "passes.roll_rows.MOST_UNLIKE": (0, 2),
    "passes.roll_rows.MOST_WINDOWS": (0, 1),
    "passes.roll_tables.DEPTH": (0, 1),
    "passes.roll_tables.LARGEST": (0, 100),
    "passes.roll_tables.MOST_BEFORE": (0, 1),
    "passes.scalar_steps.MANY_PARTS": (0, 1, 2),
    "passes.scalar_steps.MOST_ELEMENTS": (1, 3),
    "passes.scalar_steps.MOST_OPS": (1, 20),
    "passes.scalar_steps.MOST_PRODUCTS": (1, 10),
    "passes.simplify_shifts.DEPTH": (1, 5),
    "passes.swap_products.LEAST_COLUMNS": (0, 2),
    "passes.tapes_in_segments.DEAR": (1,),
    "passes.tapes_in_segments.FEWEST": (1, 2),
    "passes.tapes_in_segments.LARGE": (0, 1),
    "passes.tapes_in_segments.TIMES_DEAR": (1,),
    "passes.tapes_in_segments.WORK_IN_PRODUCTS": (0,),
    "passes.tapes_in_segments.WORK_OF_A_BYTE": (1e9,),
    "passes.unroll.ENOUGH": (0, 100),
    "passes.unroll.MOST_OPS": (2, 1000),
    "passes.unroll.MOST_STEPS": (2, 3),
    "passes.unroll.SWEEP": (0, 1, 3),
    "transforms.residuals.DEAR": (0, 2, 1000),
}

#: Numbers that are no choice between two ways that are both right, and why.
FIXED: dict[str, str] = {
    "ops.cholesky.SMALL": "chooses between two derivatives that are rounded otherwise",
    "passes.recurrences.CANCELLED": "how much of a sum may cancel: part of what is legal",
    "passes.simplify_shifts.ROUNDING": "what counts as zero: part of what is legal",
}


class Thresholds:
    """A context in which thresholds have other values, by module and name."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        unknown = values.keys() - THRESHOLDS.keys()
        assert not unknown, f"no thresholds: {sorted(unknown)}; see THRESHOLDS"
        self.values = dict(values)
        self._patch = pytest.MonkeyPatch()

    def __repr__(self) -> str:
        return f"Thresholds({self.values})"

    def __enter__(self) -> Thresholds:
        for path, value in self.values.items():
            for module, name in _copies()[path]:
                self._patch.setattr(module, name, value)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._patch.undo()


def drawn(rng: Any) -> Thresholds:
    """Thresholds drawn by a generator of NumPy's: none of them, some, or nearly all are changed."""
    share = rng.choice([0.0, 0.1, 0.5, 0.9])
    values = {}
    for path, choices in THRESHOLDS.items():
        is_changed, choice = rng.random() < share, choices[rng.integers(len(choices))]
        if is_changed:
            values[path] = choice
    return Thresholds(values)


def modules() -> dict[str, ast.Module]:
    """The modules of the IR, parsed."""
    root = Path(autojit.ir.__file__).parent
    paths = [p for p in sorted(root.rglob("*.py")) if p.stem != "__init__"]
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
        for path in paths
    }


_MODULES = modules()


@cache
def _copies() -> dict[str, list[tuple[ModuleType, str]]]:
    """Where each threshold is: in its own module, and where it was imported by name."""
    found = {path: [_place(path)] for path in THRESHOLDS}
    for module, tree in _MODULES.items():
        inside = f"{PACKAGE}.{module}".split(".")
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.level:
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


def numbers() -> Iterator[str]:
    """The public constants of passes, transformations and ops that are numbers."""
    for module, tree in _MODULES.items():
        if module.split(".")[0] not in ("passes", "transforms", "ops"):
            continue
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [n for t in targets for n in (t.elts if isinstance(t, ast.Tuple) else [t])]
            for name in names:
                if isinstance(name, ast.Name) and name.id.isupper() and name.id[0] != "_":
                    value = getattr(import_module(f"{PACKAGE}.{module}"), name.id)
                    if isinstance(value, (int, float)) and not isinstance(value, bool):
                        yield f"{module}.{name.id}"
