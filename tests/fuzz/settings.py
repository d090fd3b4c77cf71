"""Thresholds of tracing and of passes over programs, beside those of the code generator.

Python's loops roll up from some hundred operations on, and other passes wait for large arrays.
With these drawn small functions take every pass. As with ``tests/thresholds.py``, whose names
may stand among these, results have to be the same whatever is drawn.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import autojit.ir.passes
from autojit import remembered
from tests.thresholds import THRESHOLDS, Thresholds

#: By module below ``autojit`` and name: values to draw from.
PASSES: dict[str, tuple[Any, ...]] = {
    "unrolled.LEAST_OPS": (2, 8, 30),
    "unrolled.LEAST_LOOP": (2, 8, 40),
    "ir.passes.roll.LEAST_ROWS": (2, 8),
    "ir.passes.repetitions.LEAST_STEPS": (3, 5),  # where steps begin is seen in three of them
    "ir.passes.repetitions.MOST_BACK": (1, 2, 8),
    "ir.passes.recurrences.GAIN": (0.0,),
    "ir.passes.recurrences.LEAST_STEPS": (2, 8),
    "ir.passes.recurrences.MOST_STEPS": (8, 32),
    "ir.passes.recurrences.WHOLE": (1, 4),
    "ir.passes.recurrences.WORTH": (0,),
    "ir.passes.tapes_in_segments.FEWEST": (1, 2),
    "ir.passes.tapes_in_segments.LARGE": (1, 64),
    "ir.passes.tapes_in_segments.WORK_OF_A_BYTE": (1e9,),
    "ir.passes.unroll.ENOUGH": (0,),
    "ir.passes.unroll.MOST_STEPS": (2, 3),
    "ir.passes.unroll.SWEEP": (0, 2),
    "ir.passes.scalar_steps.MANY_PARTS": (1, 100),
    "ir.passes.scalar_steps.MOST_ELEMENTS": (0, 1000),
    "ir.passes.roll_rows.LARGEST": (16,),
    "ir.passes.roll_rows.LARGEST_ROW": (1, 4),
    "ir.passes.roll_rows.MOST_MOVES": (0, 1),
    "ir.passes.roll_rows.MOST_UNLIKE": (0, 2),
    "ir.passes.roll_rows.MOST_WINDOWS": (0, 1),
    "ir.passes.pick_first.FEW": (1, 100),
    "ir.passes.restore.FEW": (1, 100),
    "ir.passes.swap_products.LEAST_COLUMNS": (1,),
    "ir.ops.cholesky.SMALL": (1, 2),
    "ir.ops.scan_products.LARGE": (0,),
    "ir.ops.update.SPARSE": (0, 100),
    "ir.transforms.residuals.DEAR": (0, 1000),
}


def drawn(rng: random.Random) -> dict[str, Any]:
    """Values for none of these names, some, or nearly all."""
    share = rng.choice([0.1, 0.3, 0.6, 0.9])
    return {path: rng.choice(values) for path, values in PASSES.items() if rng.random() < share}


@contextmanager
def changed(values: Mapping[str, Any]) -> Iterator[None]:
    """Names of either kind have these values; nothing made under others is used."""
    code = {path: value for path, value in values.items() if path in THRESHOLDS}
    with pytest.MonkeyPatch.context() as patch, Thresholds(code):
        for path in values.keys() - code.keys():
            assert path in PASSES, f"no threshold: {path}"
            for module, name in _places()[path]:
                patch.setattr(module, name, values[path])
        remembered.forget()
        yield
    remembered.forget()


@cache
def _places() -> dict[str, list[tuple[ModuleType, str]]]:
    """Where each of the names is: in its own module, and where passes import it by name."""
    found = {}
    for path in PASSES:
        module, name = path.rsplit(".", 1)
        found[path] = [(import_module(f"autojit.{module}"), name)]
    for file in Path(autojit.ir.passes.__file__).parent.glob("*.py"):
        module = import_module(f"autojit.ir.passes.{file.stem}")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                for alias in node.names:
                    path = f"ir.passes.{node.module}.{alias.name}"
                    if path in found:
                        found[path].append((module, alias.asname or alias.name))
    return found
