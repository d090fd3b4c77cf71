"""Filters that choose an element of a neighbourhood, as in ``scipy.ndimage``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import known, known_integer
from autojit.scipy.registry import answers

from .correlation import axes_of, per_axis, same_type, windows_of


def selected(
    name: str, select: Callable[[Any], Any], input: Any, size: Any, footprint: Any, output: Any,
    mode: Any, cval: Any, origin: Any, axes: Any,
) -> Any:  # fmt: skip
    x = same_type(name, as_tracer(input), output)
    chosen = axes_of(axes, x.ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        sizes = [int(n) for n in per_axis(known(size, "size", name), len(chosen))]
        mask = np.ones(sizes, bool)
    else:
        mask = np.asarray(known(footprint, "footprint", name), bool)
    modes, origins = (per_axis(v, len(chosen)) for v in (mode, origin))
    windows = windows_of(x, mask.shape, modes, cval, origins, chosen)
    flat = np.reshape(windows, (*windows.shape[: x.ndim], math.prod(mask.shape)))
    return select(flat[..., np.flatnonzero(mask)])


@answers("scipy.ndimage.minimum_filter")
def minimum_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The least value of a neighbourhood.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import minimum_filter
    >>> grad(lambda x: minimum_filter(x, 3)[1])(np.array([3.0, 2.0, 1.0]))
    array([0., 0., 1.])
    """
    return selected("minimum_filter", lambda w: np.min(w, axis=-1), input, size, footprint,
                     output, mode, cval, origin, axes)  # fmt: skip


@answers("scipy.ndimage.maximum_filter")
def maximum_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The greatest value of a neighbourhood.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import maximum_filter
    >>> grad(lambda x: maximum_filter(x, 3)[0])(np.array([1.0, 2.0, 3.0]))
    array([0., 1., 0.])
    """
    return selected("maximum_filter", lambda w: np.max(w, axis=-1), input, size, footprint,
                     output, mode, cval, origin, axes)  # fmt: skip


def ranked(rank: int) -> Callable[[Any], Any]:
    return lambda w: np.sort(w, axis=-1)[..., rank if rank >= 0 else w.shape[-1] + rank]


@answers("scipy.ndimage.median_filter")
def median_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The median of a neighbourhood (the upper one if its size is even).

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import median_filter
    >>> grad(lambda x: median_filter(x, 3)[1])(np.array([1.0, 3.0, 2.0]))
    array([0., 0., 1.])
    """
    return selected("median_filter", lambda w: ranked(w.shape[-1] // 2)(w), input, size,
                     footprint, output, mode, cval, origin, axes)  # fmt: skip


@answers("scipy.ndimage.rank_filter")
def rank_filter(
    input: Any, rank: int, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The element of a known rank in a neighbourhood.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import rank_filter
    >>> grad(lambda x: rank_filter(x, 0, 3)[1])(np.array([3.0, 2.0, 1.0]))
    array([0., 0., 1.])
    """
    chosen = known_integer(rank, "rank", "rank_filter")
    return selected("rank_filter", ranked(chosen), input, size, footprint, output, mode, cval,
                     origin, axes)  # fmt: skip
