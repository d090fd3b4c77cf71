"""Calls may read their arguments and write their results, and touch no other memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz import guarded
from tests.fuzz.case import autojit_names, leaves, mapped
from tests.fuzz.oracles import ROUNDING, Fault, Run, Skip, compare, faults, taken_by_numpy
from tests.thresholds import Thresholds


def same_bits(kind: str, got: list[Any], wanted: list[Any]) -> None:
    """Raise unless results have the same bits; all NaN are equal."""
    for position, (g, w) in enumerate(zip(got, wanted, strict=True)):
        g, w = np.asarray(g), np.asarray(w)
        same = g.dtype == w.dtype and g.shape == w.shape and _equal(g, w)
        if not same:
            raise Fault(kind, f"result {position}:\n{g!r}\n{w!r}")


def _equal(g: Any, w: Any) -> bool:
    if g.tobytes() == w.tobytes():
        return True
    with np.errstate(all="ignore"):
        signs = np.signbit(g.real) == np.signbit(w.real) if g.dtype.kind in "fc" else True
        return bool(np.all(((g == w) & signs) | ((g != g) & (w != w))))


def owned(results: list[Any]) -> list[Any]:
    return [np.array(r) for r in results]


# -- layouts --------------------------------------------------------------------


def _fortran(x: np.ndarray) -> np.ndarray:
    return np.asfortranarray(x)


def _strided(x: np.ndarray) -> np.ndarray:
    wide = np.full((*x.shape[:-1], 2 * x.shape[-1]), 99, x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


def _negative(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x[..., ::-1])[..., ::-1]


def _odd(x: np.ndarray) -> np.ndarray:
    return guarded.placed(x, shift=1)


def _read_only(x: np.ndarray) -> np.ndarray:
    made = guarded.placed(x)
    made.flags.writeable = False
    return made


def _swapped(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.T).T


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Fortran's order": _fortran, "every second element": _strided, "negative strides": _negative,
    "an odd address": _odd, "read-only": _read_only, "transposed": _swapped,
}  # fmt: skip


def laid_out(values: dict[str, Any], layout: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    def one(x: Any) -> Any:
        return layout(x) if isinstance(x, np.ndarray) and x.ndim and x.size else x

    return {name: mapped(one, value) for name, value in values.items()}


def check_memory(run: Run) -> None:
    """Guard pages around all memory, garbage in all uninitialised memory, and odd layouts."""
    if not guarded.SUPPORTED:
        raise Skip("guard pages are made on Linux only")
    with Thresholds({**guarded.THRESHOLDS, **run.case.thresholds}), guarded.installed() as fill:
        _check(run, fill)


def _check(run: Run, fill: Callable[[int], None]) -> None:
    function = run.case.function(autojit_names())

    def call(values: dict[str, Any]) -> list[Any]:
        with faults("compiled"):
            return leaves(function(*values.values()))

    given = laid_out(run.values, guarded.placed)
    before = owned(leaves(tuple(given.values())))
    first = call(given)
    kept = owned(first)
    run.compared += sum(r.size for r in kept)
    for byte in (0, 0x3F):
        fill(byte)
        same_bits("results depend on memory that is not initialised", call(given), kept)
    fill(255)
    for name, layout in LAYOUTS.items():
        moved = laid_out(run.values, layout)
        # NumPy itself computes parts that are not traced, in an order that follows the layout.
        compare(run, f"by layout, {name} and contiguous", call(moved), kept, ROUNDING)
    other = laid_out(run.values, lambda x: x * 0 + x[..., ::-1])
    if taken_by_numpy(run.case, other):
        call(other)
    same_bits("arguments are written to", owned(leaves(tuple(given.values()))), before)
    same_bits("a later call changes results", owned(first), kept)
