"""The compiler's thresholds, for tests that draw them: small arrays then take every path.

    with thresholds.drawn(rng) as chosen:     # print `chosen` to see, or to repeat, what was drawn
        jit(f)(x)

A threshold decides how fast code is, never what it computes.  So a program has to give the same
results whatever is drawn.  ``threshold_values.py`` names each one, with values to draw from beside
its own, and the other numbers of the compiler, with the reason why each stays.

Names that begin with ``machine.`` are facts and costs of the machine that code is made for.

Inside of the block nothing made outside of it is used, neither from memory nor from disk, and
the other way round.  But a function made by ``jit`` keeps its code: make it inside of the block.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import pytest

import autojit
from autojit.codegen.cpu.host import engine
from autojit.codegen.cpu.llvm import library
from autojit.codegen.driver import cache as disk
from autojit.ir.autodiff import zero_cotangents
from autojit.ir.core import machine
from autojit.ir.core.machine import Costs, Machine, current, using
from autojit.session import transform_cache
from autojit.staging import execute
from tests.threshold_values import CODEGEN, FIXED, MACHINE, PASSES

__all__ = [
    "CODEGEN", "FIXED", "MACHINE", "PASSES", "THRESHOLDS", "Thresholds", "drawn", "far_matrices",
    "numbers", "share",
]  # fmt: skip

THRESHOLDS = CODEGEN | PASSES
#: All thresholds that tests may draw.
_DRAWN = THRESHOLDS | MACHINE


class Thresholds:
    """Set thresholds, given by module and name, to other values within the context."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        unknown = values.keys() - _DRAWN.keys()
        assert not unknown, f"no thresholds: {sorted(unknown)}; see threshold_values.py"
        self.values = dict(values)
        self._patch: pytest.MonkeyPatch | None = None
        self._machine = ExitStack()

    def __repr__(self) -> str:
        return f"Thresholds({self.values})"

    def __enter__(self) -> Thresholds:
        patch = self._patch = pytest.MonkeyPatch()
        for path, value in self.values.items():
            for module, name in copies().get(path, ()):
                patch.setattr(module, name, value)
        told = {path: value for path, value in self.values.items() if path in MACHINE}
        if told:
            self._machine.enter_context(using(other_machine(told)))
        patch.setattr(engine, "POISON", True)
        # Forget programs and library functions that were compiled with other thresholds.
        patch.setattr(execute, "_executables", OrderedDict())
        patch.setattr(disk, "user_cache", lambda: None)
        for name in ("_texts", "_calls", "_forms", "_plain"):
            patch.setattr(library, name, {})
        _forget()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._patch is not None
        self._patch.undo()
        self._machine.close()
        _forget()


def other_machine(values: Mapping[str, Any]) -> Machine:
    """This machine with other facts and costs, by their names after ``machine.``."""
    named = {path.removeprefix("machine."): value for path, value in values.items()}
    costs = {f.name: named.pop(f.name) for f in fields(Costs) if f.name in named}
    if "caches" in named:
        named["caches"] = tuple(named["caches"])
    return replace(current(), costs=replace(current().costs, **costs), **named)


def far_matrices(patch: pytest.MonkeyPatch) -> None:
    """Return the level of main memory for matrices of any size."""
    patch.setattr(machine, "_told", [other_machine({"machine.last_level": 5})])


def share(level: int, size: int) -> float:
    """The part of this machine's cache of a level that so many bytes are."""
    return size / current().cache(level)


def _forget() -> None:
    library._groups.clear()
    zero_cotangents._made.cache_clear()
    transform_cache.clear()


def drawn(rng: Any, among: Mapping[str, tuple[Any, ...]] = CODEGEN | MACHINE) -> Thresholds:
    """Thresholds drawn by a generator of NumPy's: none of them, some, or nearly all are changed."""
    share = rng.choice([0.0, 0.1, 0.5, 0.9])
    values = {}
    for path, choices in among.items():
        is_changed, choice = rng.random() < share, choices[rng.integers(len(choices))]
        if is_changed:
            values[path] = choice
    return Thresholds(values)


def _has_part(module: str) -> bool:
    """Whether a module has a part in programs, or in code for the CPU."""
    without = ("autojit.codegen.cuda.", "autojit.codegen.vector_math.", "autojit.ir.core.")
    parts = (
        "autojit.codegen.",
        "autojit.ir.",
        "autojit.staging.unrolled",
        "autojit.tracing.source",
    )
    return module.startswith(parts) and not module.startswith(without)


@cache
def modules() -> dict[str, ast.Module]:
    """Return the parsed modules of the compiler."""
    root = Path(autojit.__file__).parent
    folders = (root, root / "ir", root / "codegen")  # the search does not follow links
    paths = {p for folder in folders for p in folder.rglob("*.py") if p.stem != "__init__"}
    names = {".".join(("autojit", *p.relative_to(root).with_suffix("").parts)): p for p in paths}
    return {
        name: ast.parse(names[name].read_text(encoding="utf-8"))
        for name in sorted(filter(_has_part, names))
    }


def _below(module: str) -> str:
    """Return a module's path below ``autojit``."""
    return module.removeprefix("autojit.")


@cache
def copies() -> dict[str, list[tuple[ModuleType, str]]]:
    """Where each threshold is: in its own module, and where it was imported by name."""
    homes = {_below(module): import_module(module) for module in modules()}
    found = {}
    for path in THRESHOLDS:
        module, name = path.rsplit(".", 1)
        assert hasattr(homes[module], name), path
        found[path] = [(homes[module], name)]
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.level or "autojit" in str(node.module)):
                package = module.split(".")[: -node.level] if node.level else []
                home = _below(".".join([*package, *([node.module] if node.module else [])]))
                for alias in node.names:
                    path = f"{home}.{alias.name}"
                    if path in found:
                        found[path].append((import_module(module), alias.asname or alias.name))
    return found


def home(path: str) -> tuple[ModuleType, str]:
    """Return the module of a number, and its name there."""
    module = next(m for m in modules() if _below(m) == path.rpartition(".")[0])
    return import_module(module), path.rpartition(".")[2]


#: Modules whose numbers are those of formats and of other programs, and of texts for readers.
_FORMATS = (
    "codegen.driver.cache", "codegen.cpu.abi.abi", "codegen.loop_ir.errors",
    "codegen.export.arrays.writer", "codegen.export.loops.folding",
    "codegen.export.text.expressions", "codegen.export.text.interface",
)  # fmt: skip


def numbers() -> Iterator[str]:
    """The public constants of the compiler that are numbers, by module and name."""
    for module, tree in modules().items():
        if _below(module) in _FORMATS:
            continue
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [n for t in targets for n in (t.elts if isinstance(t, ast.Tuple) else [t])]
            for name in names:
                if isinstance(name, ast.Name) and name.id.isupper() and name.id[0] != "_":
                    value = getattr(import_module(module), name.id)
                    if isinstance(value, (int, float)) and not isinstance(value, bool):
                        yield f"{_below(module)}.{name.id}"
