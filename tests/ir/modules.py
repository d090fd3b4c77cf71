"""The modules of ir/ that rewrite programs, by the name after ``autojit.ir.``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import autojit.ir
from autojit.ir.core.program import Program

FOLDER = Path(autojit.ir.__file__).parent

#: Modules that rewrite nothing on their own.
MACHINERY = {
    "autodiff.preparing",
    "autodiff.scalar_ranges",
    "passes.pipeline",
    "passes.reroll.likeness",
    "passes.reroll.remarks",
    "rewriting.rewrite",
    "rewriting.update_chains",
    "simplification.simplified",
}
#: Packages with parts of passes.
PARTS = ("passes.loops.steps.",)


def in_folder(folder: str) -> set[str]:
    """The modules of a folder and its subfolders, without packages and machinery."""
    found = {
        ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        for path in (FOLDER / folder).rglob("*.py")
        if path.stem != "__init__"
    }
    return {name for name in found - MACHINERY if not name.startswith(PARTS)}


#: Passes and rules.
REWRITES = in_folder("rewriting") | in_folder("simplification") | in_folder("passes")
REWRITES |= {"autodiff.indexed_scans", "autodiff.zero_cotangents"}
REWRITES |= {"autodiff.branch_elements", "autodiff.branch_stores"}

#: Transformations of programs, and the ops whose bodies they transform.
TRANSFORMATIONS = in_folder("autodiff") | in_folder("transforms")
TRANSFORMATIONS |= in_folder("regions")


def documentation(module: str) -> str:
    """The docstring of a module."""
    return importlib.import_module(f"autojit.ir.{module}").__doc__ or ""


def _is_pass(module: str) -> bool:
    return "\ndef run(" in (FOLDER / (module.replace(".", "/") + ".py")).read_text("utf-8")


#: The passes that can run alone, by the last part of the module's name.
PASSES = {module.split(".")[-1]: module for module in sorted(REWRITES) if _is_pass(module)}


def pass_named(name: str) -> Callable[[Program], Program]:
    """The function of a pass."""
    run: Callable[[Program], Program]
    run = importlib.import_module(f"autojit.ir.{PASSES[name]}").run
    return run
