"""Programs as users write them; no pass was tuned for them (see README.md)."""

from __future__ import annotations

from importlib import import_module

from bench.programs.declare import DECLARED, Program

#: One file for each field.
FILES = (
    "regression",
    "time_series",
    "finance",
    "kernels",
    "learning",
    "networks",
    "geometry",
    "mechanics",
    "fields",
    "optics",
    "life_sciences",
    "transport",
)


def all_programs() -> dict[str, Program]:
    """Every program by name, in the order of the files."""
    for file in FILES:
        import_module(f"bench.programs.{file}")
    return dict(DECLARED)


def select(names: list[str]) -> list[Program]:
    """The named programs, or all."""
    table = all_programs()
    unknown = [name for name in names if name not in table]
    if unknown:
        raise SystemExit(f"no program {unknown[0]!r}; there are: {', '.join(table)}")
    return [table[name] for name in names] or list(table.values())
