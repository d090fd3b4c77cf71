"""``vmap``: a function of one element becomes a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
import optree

from autojit.errors import SettingError, ShapeError
from autojit.ir.autodiff.batch import batch
from autojit.session.tracebacks import folded
from autojit.session.transform_cache import cached_transform
from autojit.staging import pytrees
from autojit.staging.execute import apply
from autojit.staging.settings import TWICE, need_function
from autojit.staging.signatures import other_types
from autojit.staging.trace_function import LeafType, argument_type, leaf_type, trace_function
from autojit.staging.transformed import Transformed
from autojit.tracing.known import BATCHED, Inputs


# The mapped function takes whole batches, so the parameter types of ``f`` do not apply to it.
@overload
def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Transformed[..., Any]: ...


@overload
def vmap(
    f: None = None, in_axes: Any = 0, out_axes: Any = 0
) -> Callable[[Callable[..., Any]], Transformed[..., Any]]: ...


@folded
def vmap(f: Callable[..., Any] | None = None, in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """Map a function over an axis of its arguments, as one program.

    Args:
        f: a function of single elements. Omitted in ``@vmap(in_axes=1)``.
        in_axes: for each positional argument the axis to map over, or None to pass it whole;
            one number for all, or a tuple whose members may be trees that match the argument
            or a prefix of it.
        out_axes: where the batch axis goes in the results, likewise.

    Raises:
        ShapeError: if the mapped axes have different extents, or there is no such axis.
        StructureError: if ``in_axes`` does not fit the arguments, or maps none.

    >>> import numpy as np
    >>> from autojit import grad, vmap
    >>> vmap(grad(lambda w, x: w * x ** 2), in_axes=(None, 0))(2.0, np.array([1.0, 3.0]))
    array([1., 9.])
    """
    if f is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes)
    need_function(f, "vmap", TWICE)
    _check_axes(in_axes, "in_axes")
    _check_axes(out_axes, "out_axes")
    function = f

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = pytrees.flatten(args)
        axes = _leaf_axes(in_axes, args, "in_axes")
        paths = pytrees.call_paths(args, {})
        alone = [len(leaves) == 1] * len(leaves)
        moved = list(map(_to_front, leaves, axes, paths, alone))
        size = _size(moved, axes, paths)
        types = [_element(leaf, axis) for leaf, axis in zip(moved, axes, strict=True)]
        known = [leaf if axis is None else BATCHED for leaf, axis in zip(moved, axes, strict=True)]
        traced = trace_function(
            function, types, lambda g, v: g(*pytrees.arguments(structure, v), **kwargs),
            lambda: pytrees.call_paths(args, {}), Inputs(known, False),
        )  # fmt: skip
        marked = [axis is not None for axis in axes]
        marked += [False] * len(traced.program.captured)
        program = cached_transform(batch, traced.program, size, tuple(marked))
        results = apply(program, moved, once=True)
        out = pytrees.unflatten(traced.structure, results)
        placed = [
            result if not axis else _placed(result, axis)
            for result, axis in zip(results, _leaf_axes(out_axes, out, "out_axes"), strict=True)
        ]
        return pytrees.unflatten(traced.structure, placed)

    settings = {"in_axes": in_axes, "out_axes": out_axes}
    return Transformed(vmap, function, settings, mapped, other_types)


def _check_axes(axes: Any, what: str) -> None:
    """Refuse anything that is not a tree of axes."""
    for axis in optree.tree_leaves(axes, namespace=pytrees.NAMESPACE):
        if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool):
            raise SettingError(
                f"{what} of vmap takes numbers of axes, and None, not {axis!r:.60}:\n"
                f"    vmap(f, {what}=0)\n    vmap(f, {what}=(0, None))"
            )


def _leaf_axes(axes: Any, tree: Any, what: str) -> list[int | None]:
    """One axis per leaf, from a tree of axes that is a prefix of the tree."""
    if isinstance(axes, list):
        axes = tuple(axes)
    try:
        spread = optree.broadcast_prefix(
            axes, tree, is_leaf=lambda x: x is None, namespace=pytrees.NAMESPACE
        )
    except ValueError as error:
        if isinstance(tree, tuple) and isinstance(axes, tuple) and len(axes) != len(tree):
            fit = ", ".join(["0", *["None"] * (len(tree) - 1)]) + ("," if len(tree) == 1 else "")
            entries = "1 entry" if len(axes) == 1 else f"{len(axes)} entries"
            one = "argument" if what == "in_axes" else "result"
            raise SettingError(
                f"{what} of vmap has {entries} for {len(tree)} "
                + (one if len(tree) == 1 else f"{one}s")
                + ". It needs one for each argument: an axis, or None to pass the argument "
                "whole:\n"
                f"    vmap(f, {what}=({fit}))"
            ) from None
        raise SettingError(f"{what} of vmap does not fit: {error}") from None
    _, structure = pytrees.flatten(tree)
    if len(spread) != structure.num_leaves:  # None in the tree itself is no leaf
        spread = [a for a in spread][: structure.num_leaves]
    return spread


def _to_front(leaf: Any, axis: int | None, path: str, alone: bool) -> Any:
    if axis is None:
        return leaf
    ndim = np.ndim(leaf)
    if not -ndim <= axis < ndim:
        raise ShapeError(
            f"vmap over axis {axis} of {path}, which has shape {np.shape(leaf)}: there is no such "
            "axis. "
            + (
                f"Axes are counted from 0, here to {ndim - 1}:\n    vmap(f, in_axes={ndim - 1})"
                if ndim
                else "Give it an array of them:\n"
                "    vmap(f)(np.array([1.0, 2.0]))      # not: vmap(f)(1.0)"
                if alone
                else "Pass it whole with in_axes=None for that argument:\n"
                "    vmap(f, in_axes=(0, None))(x, w)"
            )
        )
    return np.moveaxis(leaf, axis, 0) if axis % ndim else leaf


def _placed(result: Any, axis: int) -> Any:
    ndim = np.ndim(result)
    if not -ndim <= axis < ndim:
        raise SettingError(
            f"out_axes={axis} of vmap, but a result has {ndim} {'axis' if ndim == 1 else 'axes'} "
            f"with the mapped one. They are counted from 0:\n    vmap(f, out_axes={ndim - 1})"
        )
    return np.moveaxis(result, 0, axis)


def _element(leaf: Any, axis: int | None) -> LeafType:
    if axis is None:
        return argument_type(leaf)
    whole = leaf_type(leaf)
    return LeafType(whole.type.with_shape(whole.type.shape[1:]), None)


def _size(leaves: Sequence[Any], axes: Sequence[int | None], paths: Sequence[str]) -> int:
    sizes = {
        path: np.shape(leaf)[0]
        for leaf, axis, path in zip(leaves, axes, paths, strict=True)
        if axis is not None
    }
    if not sizes:
        raise SettingError(
            "vmap needs at least one argument with an axis in in_axes:\n"
            f"    vmap(f, in_axes={tuple([0, *[None] * (len(leaves) - 1)]) if leaves[1:] else 0})"
        )
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{path}: {n}" for path, n in sizes.items())
        raise ShapeError(
            f"vmap over axes of different extents ({listed}). Pass one of them whole, or map over "
            "each in turn for all pairs:\n"
            "    vmap(f, in_axes=(0, None))(x, y)\n"
            "    vmap(vmap(f, in_axes=(None, 0)), in_axes=(0, None))(x, y)"
        )
    return next(iter(sizes.values()))
