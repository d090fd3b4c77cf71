"""Functions whose result has as many elements as the values of their arguments say.

They answer where the values are at hand (see `autojit.tracing.known`): without ``jit``.  What they
pick is picked from the traced array, and keeps its derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer
from autojit.protocols.registry import implements, reject, uncovered
from autojit.tracing.created_arrays import fresh
from autojit.tracing.known import value_of


def _values(name: str, x: Any) -> np.ndarray:
    """The values that decide how many elements there are."""
    found = value_of(as_tracer(x))
    if found is None:
        raise uncovered(
            name, " of a traced array, on whose values the shape of the result depends,"
        )
    return np.asarray(found)


@implements(np.nonzero)
def nonzero(a: Any) -> Any:
    return fresh(np.nonzero(_values("np.nonzero", a)))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return fresh(np.flatnonzero(_values("np.flatnonzero", a)))


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    return fresh(np.argwhere(_values("np.argwhere", a)))


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return np.ravel(arr)[flatnonzero(as_tracer(condition))]


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    reject("np.compress", out=out)
    chosen = np.flatnonzero(_values("np.compress", condition))
    return np.take(np.ravel(a) if axis is None else a, chosen, axis=axis or 0)


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: int | None = None, *, equal_nan: bool = True,
) -> Any:  # fmt: skip
    settings = {"return_inverse": return_inverse, "return_counts": return_counts, "axis": axis}
    find: Any = np.unique
    found = find(_values("np.unique", ar), True, equal_nan=equal_nan, **settings)
    flat = np.ravel(ar) if axis is None else ar
    picked = np.take(flat, found[1], axis=0 if axis is None else axis)
    rest = found[1:] if return_index else found[2:]
    return (picked, *fresh(tuple(rest))) if rest else picked
