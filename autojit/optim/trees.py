"""Trees of parameters: their leaves, with checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.errors import DtypeError, ShapeError, StructureError, with_place
from autojit.ir.core.halves import kind_of
from autojit.protocols.lifting import dtype_of
from autojit.staging import pytrees
from autojit.tracing.source import user_source


def leaves_of(params: Any) -> list[Any]:
    """The arrays of a tree of parameters; raise DtypeError unless all are real floating point.

    >>> leaves_of({"w": np.ones(2), "rate": 1.0})
    [1.0, array([1., 1.])]
    """
    leaves, _ = pytrees.flatten(params)
    for k, leaf in enumerate(leaves):
        if not pytrees.is_array(leaf) or kind_of(dtype_of(leaf)) != "f":
            kind = dtype_of(leaf) if pytrees.is_array(leaf) else type(leaf).__name__
            raise DtypeError(
                with_place(
                    f"{pytrees.paths(params, 'params')[k]} is {kind}; an optimiser needs real "
                    "floating-point parameters: x.astype(float)",
                    user_source(),
                )
            )
    return leaves


def same_leaves(tree: Any, params: Any, name: str, numbers: bool = False) -> list[Any]:
    """The arrays of a tree, after a check of its structure and shapes.

    They must be those of the parameters; with ``numbers``, each leaf must be a single number.

    >>> same_leaves([np.zeros(2)], [np.ones(2)], "grads")
    [array([0., 0.])]
    """
    leaves, structure = pytrees.flatten(tree)
    like, expected = pytrees.flatten(params)
    if structure != expected:
        raise StructureError(
            with_place(
                f"{name} has the structure {structure}, but params has {expected}; they must be "
                "equal",
                user_source(),
            )
        )
    for k, (leaf, parameter) in enumerate(zip(leaves, like, strict=True)):
        if np.shape(leaf) != (() if numbers else np.shape(parameter)):
            of = "must be a number" if numbers else f"the parameter {np.shape(parameter)}"
            raise ShapeError(
                with_place(
                    f"{pytrees.paths(tree, name)[k]} has shape {np.shape(leaf)}, and {of}",
                    user_source(),
                )
            )
    return leaves


def like(params: Any, leaves: list[Any]) -> Any:
    """The leaves as a tree with the structure of the parameters.

    >>> like({"w": 1.0}, [2.0])
    {'w': 2.0}
    """
    return pytrees.unflatten(pytrees.flatten(params)[1], leaves)


def cast(number: Any, dtype: Any) -> Any:
    """A number cast so that it does not widen arrays of a dtype.

    >>> (np.ones(1, np.float32) * cast(np.float64(0.5), np.float32)).dtype
    dtype('float32')
    """
    return number.astype(dtype) if hasattr(number, "astype") else number
