"""What the processes have found: a table, and whether each demand holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.on_gpu.libraries import LIBRARIES
from bench.on_gpu.programs import DEMANDS, PROGRAMS, Program
from bench.report import NOTHING, Table, number
from bench.workload import disagreement

REFERENCE, OURS, *OTHERS = LIBRARIES
TITLES = {"autojit": "autojit", "jax": "JAX", "torch": "torch.compile", "cupy": "CuPy"}
COLUMNS = (
    "program", *(f"{title}, ms" for title in TITLES.values()), "JAX / ours", "of a copy", "holds",
)  # fmt: skip


class Found(NamedTuple):
    """One library's figures of a program: the seconds of a call, the bytes of arguments and
    results, and parts of the results."""

    seconds: float
    nbytes: float
    parts: tuple[np.ndarray, ...]


def read(folder: Path) -> dict[str, dict[str, Found]]:
    """All figures by program and library."""
    return {
        p.name: {
            name: _read(folder / f"{name}-{i}.npz")
            for name in LIBRARIES
            if (folder / f"{name}-{i}.npz").exists()
        }
        for i, p in enumerate(PROGRAMS)
    }


def _read(file: Path) -> Found:
    with np.load(file) as found:
        parts = tuple(found[f"part{i}"] for i in range(sum("part" in key for key in found)))
        return Found(float(found["seconds"]), float(found["nbytes"]), parts)


def wrong(program: Program, found: Mapping[str, Found]) -> dict[str, str]:
    """The libraries whose results differ from the reference, with the difference."""
    if REFERENCE not in found:
        return dict.fromkeys(found, "no reference")
    want, differing = found[REFERENCE].parts, {}
    for name, each in found.items():
        dtype = str(want[0].dtype)
        words = disagreement(each.parts, want, dtype)
        if words is not None:
            differing[name] = words
    return differing


class Row(NamedTuple):
    """A row of the table; `holds` is None if nothing is demanded, or a figure is missing."""

    cells: tuple[str, ...]
    holds: bool | None
    remarks: tuple[str, ...]


def row(
    program: Program, found: Mapping[str, Found], copied: float | None, *, demands: bool = True
) -> Row:
    """``copied`` is the bandwidth of a copy in bytes read and written in a second."""
    bad = wrong(program, found)
    good = {name: each for name, each in found.items() if name not in bad}

    def cell(name: str) -> str:
        if name in bad:
            return "WRONG"
        return number(1e3 * good[name].seconds) if name in good else NOTHING

    ours, jax = good.get(OURS), good.get("jax")
    over = jax.seconds / ours.seconds if ours and jax else None
    share = ours.nbytes / ours.seconds / copied if ours and copied else None
    demand = DEMANDS[program.group]
    if demand.bandwidth is None:
        share = None
    pairs = (over, demand.over_jax), (share, demand.bandwidth)
    demanded = [(figure, least) for figure, least in pairs if least is not None]
    holds: bool | None = None
    if OURS in bad:
        holds = False
    elif demands and demanded and all(figure is not None for figure, _ in demanded):
        holds = all(figure >= least for figure, least in demanded if figure is not None)
    cells = (program.name, *map(cell, TITLES), number(over), number(share), _WORDS[holds])
    return Row(cells, holds, tuple(f"{program.name}, {TITLES[n]}: {w}" for n, w in bad.items()
                                   if n in TITLES))  # fmt: skip


_WORDS = {True: "yes", False: "no", None: NOTHING}


def table(title: str, rows: Sequence[Row]) -> Table:
    return Table(title, COLUMNS, tuple(row.cells for row in rows))
