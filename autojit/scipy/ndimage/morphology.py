"""Grey morphology, as in ``scipy.ndimage``: extremes of neighbourhoods.

The derivative is that of the chosen element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import known, refused
from autojit.scipy.registry import answers

from .correlation import array_of
from .ranks import maximum_filter, minimum_filter, ranked, selected

_FLAT = "a structure that is not flat is not covered; pass size= or footprint=."


def _neighbourhood(name: str, size: Any, footprint: Any, structure: Any) -> tuple[Any, Any]:
    """``(size, footprint)``; a flat structure becomes a footprint of all its elements."""
    if structure is None:
        return size, footprint
    heights = np.asarray(known(structure, "structure", name))
    if np.any(heights != 0):
        raise refused(f"scipy.ndimage.{name}", _FLAT)
    return None, np.ones(heights.shape, bool) if footprint is None else footprint


def _origins(origin: Any, size: Any, footprint: Any, ndim: int) -> list[int]:
    """The origins of a dilation, whose neighbourhood is mirrored."""
    sizes = np.broadcast_to(size, ndim) if footprint is None else np.shape(footprint)
    given = np.broadcast_to(origin, ndim)
    return [-int(o) - (1 if n % 2 == 0 else 0) for o, n in zip(given, sizes, strict=True)]


@answers("scipy.ndimage.grey_erosion")
def grey_erosion(
    input: Any, size: Any = None, footprint: Any = None, structure: Any = None,
    output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The least value of a neighbourhood.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import grey_erosion
    >>> grad(lambda x: grey_erosion(x, 3)[1])(np.array([3.0, 2.0, 1.0]))
    array([0., 0., 1.])
    """
    _all_axes("grey_erosion", axes)
    size, footprint = _neighbourhood("grey_erosion", size, footprint, structure)
    return minimum_filter(input, size, footprint, output, mode, cval, origin)


def _all_axes(name: str, axes: Any) -> None:
    if axes is not None:
        raise refused(
            f"scipy.ndimage.{name}",
            "axes= is not covered; apply the filter along one axis at a time.",
        )


@answers("scipy.ndimage.grey_dilation")
def grey_dilation(
    input: Any, size: Any = None, footprint: Any = None, structure: Any = None,
    output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The greatest value of a mirrored neighbourhood.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import grey_dilation
    >>> grad(lambda x: grey_dilation(x, 3)[1])(np.array([3.0, 2.0, 1.0]))
    array([1., 0., 0.])
    """
    _all_axes("grey_dilation", axes)
    size, footprint = _neighbourhood("grey_dilation", size, footprint, structure)
    x = as_tracer(input)
    if footprint is not None:
        footprint = np.flip(np.asarray(known(footprint, "footprint", "grey_dilation"), bool))
    origins = _origins(origin, size, footprint, x.ndim)
    return maximum_filter(x, size, footprint, output, mode, cval, origins)


def _both(
    first: Callable[..., Any], second: Callable[..., Any], x: Any, how: tuple[Any, ...]
) -> Any:
    return second(first(x, *how), *how)


def _opened(x: Any, how: tuple[Any, ...]) -> Any:
    return _both(grey_erosion, grey_dilation, x, how)


def _closed(x: Any, how: tuple[Any, ...]) -> Any:
    return _both(grey_dilation, grey_erosion, x, how)


def _made(name: str, doc: str, of: Callable[[Any, tuple[Any, ...]], Any]) -> Callable[..., Any]:
    def function(
        input: Any, size: Any = None, footprint: Any = None, structure: Any = None,
        output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
        axes: Any = None,
    ) -> Any:  # fmt: skip
        _all_axes(name, axes)
        x = array_of(name, input, output)
        return of(x, (size, footprint, structure, output, mode, cval, origin))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return answers(f"scipy.ndimage.{name}")(function)


grey_opening: Callable[..., Any] = _made("grey_opening", "A dilation of the erosion.", _opened)
grey_closing: Callable[..., Any] = _made("grey_closing", "An erosion of the dilation.", _closed)
white_tophat: Callable[..., Any] = _made(
    "white_tophat", "The image minus its opening.", lambda x, how: x - _opened(x, how)
)
black_tophat: Callable[..., Any] = _made(
    "black_tophat", "The closing minus the image.", lambda x, how: _closed(x, how) - x
)
morphological_gradient: Callable[..., Any] = _made(
    "morphological_gradient",
    "The dilation minus the erosion.",
    lambda x, how: grey_dilation(x, *how) - grey_erosion(x, *how),
)
morphological_laplace: Callable[..., Any] = _made(
    "morphological_laplace",
    "The dilation plus the erosion, minus twice the image.",
    lambda x, how: grey_dilation(x, *how) + grey_erosion(x, *how) - 2 * x,
)


@answers("scipy.ndimage.percentile_filter")
def percentile_filter(
    input: Any, percentile: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The element of a neighbourhood at a known percentile.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import percentile_filter
    >>> grad(lambda x: percentile_filter(x, 50, 3)[1])(np.array([3.0, 1.0, 2.0]))
    array([0., 0., 1.])
    """
    share = float(known(percentile, "percentile", "percentile_filter"))
    share = share + 100 if share < 0 else share
    if not 0 <= share <= 100:
        raise RuntimeError("invalid percentile")
    return selected("percentile_filter", _at(share), input, size, footprint, output, mode, cval,
                    origin, axes)  # fmt: skip


def _at(share: float) -> Callable[[Any], Any]:
    def element(w: Any) -> Any:
        count = w.shape[-1]
        rank = count - 1 if share == 100 else int(count * share / 100)
        return ranked(rank)(w)

    return element


@answers("scipy.ndimage.maximum_filter1d")
def maximum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The greatest of ``size`` elements along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import maximum_filter1d
    >>> grad(lambda x: maximum_filter1d(x, 3)[0])(np.array([1.0, 2.0, 3.0]))
    array([0., 1., 0.])
    """
    along = (normalize_axis(axis, np.ndim(input)),)
    return maximum_filter(input, size, None, output, mode, cval, origin, axes=along)


@answers("scipy.ndimage.minimum_filter1d")
def minimum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The least of ``size`` elements along an axis.

    >>> from autojit import grad
    >>> from autojit.scipy.ndimage import minimum_filter1d
    >>> grad(lambda x: minimum_filter1d(x, 3)[0])(np.array([1.0, 2.0, 3.0]))
    array([1., 0., 0.])
    """
    along = (normalize_axis(axis, np.ndim(input)),)
    return minimum_filter(input, size, None, output, mode, cval, origin, axes=along)
