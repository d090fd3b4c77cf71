"""Checks gradients against NumPy's values, and their central differences along directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

#: The step relative to the largest entry of a leaf. At 1e-5 the directions cross kinks of thousands
#: of `maximum` (measured: off by 1e-3); at 1e-6 differences and gradient of the same program agree
#: to 1e-9.
STEP = 1e-6
#: A tolerance between the error of such differences and that of a wrong formula.
TOLERANCE = 1e-5
#: The tolerance for the values, which are summed in different orders.
VALUE_TOLERANCE = 1e-9


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Yield the paths and arrays of nested dicts, tuples and lists."""
    if isinstance(tree, dict):
        for key in tree:
            yield from leaves(tree[key], f"{path}[{key!r}]")
    elif isinstance(tree, (tuple, list)):
        for k, item in enumerate(tree):
            yield from leaves(item, f"{path}[{k}]")
    else:
        yield path, np.asarray(tree)


def moved(tree: Any, at: str, by: np.ndarray, path: str = "") -> Any:
    """The same nest with one leaf moved."""
    if isinstance(tree, dict):
        return {key: moved(tree[key], at, by, f"{path}[{key!r}]") for key in tree}
    if isinstance(tree, (tuple, list)):
        return type(tree)(moved(item, at, by, f"{path}[{k}]") for k, item in enumerate(tree))
    return tree + by if path == at else tree


def wrong(
    function: Callable[..., Any], arguments: tuple[Any, ...], value: Any, gradient: Any
) -> str | None:
    """Describe an error in a value, or in a gradient by the first argument; None if both hold."""
    expected = float(function(*arguments))
    if not abs(value - expected) <= VALUE_TOLERANCE * max(abs(expected), 1e-3):  # or NaN
        return f"the value is {value!r}, NumPy's {expected!r}"
    first, *others = arguments
    rng = np.random.default_rng(1)
    found = dict(leaves(gradient))
    for path, leaf in leaves(first):
        size = max(float(np.max(np.abs(leaf))), 1e-2)
        direction = rng.choice([-1.0, 1.0], leaf.shape)
        step = STEP * size
        above, below = (
            float(function(moved(first, path, sign * step * direction), *others))
            for sign in (1.0, -1.0)
        )
        numeric = (above - below) / (2 * step)
        slope = float(np.sum(found[path] * direction))
        allowed = TOLERANCE * np.linalg.norm(found[path]) + 1e-14 * abs(expected) / step
        if not abs(slope - numeric) <= allowed:
            return (
                f"along a direction of {path or 'the argument'}: {slope!r}, differences {numeric!r}"
            )
        if not allowed < np.linalg.norm(found[path]):
            return f"the gradient by {path or 'the argument'} is too small for differences"
    return None
