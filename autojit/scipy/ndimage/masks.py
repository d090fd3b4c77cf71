"""Binary morphology, as ``scipy.ndimage`` has it: masks of images, which have no derivative.

>>> from autojit import grad
>>> from scipy.ndimage import binary_dilation
>>> grad(lambda x: np.sum(x * binary_dilation(x > 0)))(np.array([0.0, 0.0, 1.0, 0.0]))
array([0., 1., 1., 1.])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import known, known_integer, refused
from autojit.scipy.registry import answers, original

from .correlation import axes_of, per_axis, windows_of


def _mask_of(name: str, input: Any, output: Any) -> Any:
    x = as_tracer(input)
    if output is not None and not (isinstance(output, (type, np.dtype)) and output == np.bool_):
        raise refused(f"scipy.ndimage.{name}", "output= is not covered; use the result, of bools.")
    return x if x.dtype.kind == "b" else x != 0


def _structure(name: str, structure: Any, ndim: int) -> np.ndarray:
    if structure is None:
        made: np.ndarray = original("scipy.ndimage.generate_binary_structure")(ndim, 1)
        return made
    return np.asarray(known(structure, "structure", name), bool)


def _mirrored(structure: np.ndarray, origin: Any) -> tuple[np.ndarray, list[int]]:
    """The neighbourhood of a dilation, and its origins."""
    given = per_axis(origin, structure.ndim)
    origins = [-int(o) - (n % 2 == 0) for o, n in zip(given, structure.shape, strict=True)]
    return np.flip(structure), origins


def _neighbours(x: Any, structure: np.ndarray, border: bool, origin: Any, axes: list[int]) -> Any:
    """The elements of each neighbourhood, on the last axis."""
    count = structure.ndim
    origins = [int(o) for o in per_axis(origin, count)]
    windows = windows_of(x, structure.shape, ["constant"] * count, border, origins, axes)
    flat = np.reshape(windows, (*x.shape, structure.size))
    return flat[..., np.flatnonzero(structure)]


def _repeated(
    name: str, x: Any, structure: Any, iterations: Any, mask: Any, border_value: Any, origin: Any,
    axes: Any, dilates: bool,
) -> Any:  # fmt: skip
    """Erosions or dilations; until nothing changes if there are fewer than one."""
    chosen = axes_of(axes, x.ndim)
    structure = _structure(name, structure, len(chosen))
    if structure.ndim != len(chosen):
        raise RuntimeError("structure and input must have same dimensionality")
    if dilates:
        structure, origin = _mirrored(structure, origin)
    border = bool(known(border_value, "border_value", name))
    among = np.any if dilates else np.all
    inside = None if mask is None else as_tracer(mask) != 0

    def step(x: Any) -> Any:
        made = among(_neighbours(x, structure, border, origin, chosen), axis=-1)
        return made if inside is None else np.where(inside, made, x)

    times = known_integer(iterations, "iterations", name)
    if times < 1:
        first = x, step(x)
        return while_loop(lambda s: np.any(s[0] != s[1]), lambda s: (s[1], step(s[1])), first)[1]
    for _ in range(times):
        x = step(x)
    return x


@answers("scipy.ndimage.binary_erosion")
def binary_erosion(
    input: Any, structure: Any = None, iterations: int = 1, mask: Any = None, output: Any = None,
    border_value: int = 0, origin: Any = 0, brute_force: bool = False, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The elements whose whole neighbourhood is in the mask.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import binary_erosion
    >>> jit(binary_erosion)(np.array([True, True, True, False]))
    array([False,  True, False, False])
    """
    x = _mask_of("binary_erosion", input, output)
    return _repeated("binary_erosion", x, structure, iterations, mask, border_value, origin, axes,
                     False)  # fmt: skip


@answers("scipy.ndimage.binary_dilation")
def binary_dilation(
    input: Any, structure: Any = None, iterations: int = 1, mask: Any = None, output: Any = None,
    border_value: int = 0, origin: Any = 0, brute_force: bool = False, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The elements with a neighbour in the mask.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import binary_dilation
    >>> jit(binary_dilation)(np.array([False, False, True, False]))
    array([False,  True,  True,  True])
    """
    x = _mask_of("binary_dilation", input, output)
    return _repeated("binary_dilation", x, structure, iterations, mask, border_value, origin, axes,
                     True)  # fmt: skip


@answers("scipy.ndimage.binary_opening")
def binary_opening(
    input: Any, structure: Any = None, iterations: int = 1, output: Any = None, origin: Any = 0,
    mask: Any = None, border_value: int = 0, brute_force: bool = False, *, axes: Any = None,
) -> Any:  # fmt: skip
    """A dilation of the erosion.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import binary_opening
    >>> jit(binary_opening)(np.array([True, False, True, True, True]))
    array([False, False,  True,  True,  True])
    """
    x = _mask_of("binary_opening", input, output)
    how = (structure, iterations, mask, None, border_value, origin)
    return binary_dilation(binary_erosion(x, *how, axes=axes), *how, axes=axes)


@answers("scipy.ndimage.binary_closing")
def binary_closing(
    input: Any, structure: Any = None, iterations: int = 1, output: Any = None, origin: Any = 0,
    mask: Any = None, border_value: int = 0, brute_force: bool = False, *, axes: Any = None,
) -> Any:  # fmt: skip
    """An erosion of the dilation.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import binary_closing
    >>> jit(binary_closing)(np.array([False, True, False, True, False]))
    array([False,  True,  True,  True, False])
    """
    x = _mask_of("binary_closing", input, output)
    how = (structure, iterations, mask, None, border_value, origin)
    return binary_erosion(binary_dilation(x, *how, axes=axes), *how, axes=axes)


@answers("scipy.ndimage.binary_hit_or_miss")
def binary_hit_or_miss(
    input: Any, structure1: Any = None, structure2: Any = None, output: Any = None,
    origin1: Any = 0, origin2: Any = None, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Where the first structure is in the mask, and the second one outside it.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import binary_hit_or_miss
    >>> jit(lambda x: binary_hit_or_miss(x, [0, 1, 1]))(np.array([True, False, True, True]))
    array([False, False,  True, False])
    """
    x = _mask_of("binary_hit_or_miss", input, output)
    chosen = axes_of(axes, x.ndim)
    hit = _structure("binary_hit_or_miss", structure1, len(chosen))
    miss = ~hit if structure2 is None else _structure("binary_hit_or_miss", structure2, 0)
    origin2 = origin1 if origin2 is None else origin2
    inside = _neighbours(x, hit, False, origin1, chosen)
    outside = _neighbours(x, miss, False, origin2, chosen)
    return np.all(inside, axis=-1) & ~np.any(outside, axis=-1)


@answers("scipy.ndimage.binary_propagation")
def binary_propagation(
    input: Any, structure: Any = None, mask: Any = None, output: Any = None,
    border_value: int = 0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Dilations inside ``mask`` until nothing changes.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import binary_propagation
    >>> seed, mask = np.array([False, True, False, False]), np.array([True, True, False, True])
    >>> jit(lambda x, m: binary_propagation(x, mask=m))(seed, mask)
    array([ True,  True, False, False])
    """
    x = _mask_of("binary_propagation", input, output)
    return binary_dilation(x, structure, -1, mask, None, border_value, origin, axes=axes)


@answers("scipy.ndimage.binary_fill_holes")
def binary_fill_holes(
    input: Any, structure: Any = None, output: Any = None, origin: Any = 0, *, axes: Any = None
) -> Any:
    """The mask with its holes: what cannot be reached from the border.

    >>> from autojit import jit
    >>> from autojit.scipy.ndimage import binary_fill_holes
    >>> jit(binary_fill_holes)(np.array([False, True, False, True, False]))
    array([False,  True,  True,  True, False])
    """
    x = _mask_of("binary_fill_holes", input, output)
    empty = np.zeros(x.shape, bool)
    return ~binary_dilation(as_tracer(empty), structure, -1, ~x, None, 1, origin, axes=axes)
