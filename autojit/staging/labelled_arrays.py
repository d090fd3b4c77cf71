"""xarray's DataArray and Dataset as nodes of trees: their data are leaves, their labels are known.

Inside of a traced function an object of xarray's holds traced arrays, on which xarray computes by
itself.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import optree

from autojit.errors import ShapeError


def register(kind: type, namespace: str) -> bool:
    """Make nodes of xarray's classes, if it is one of them; whether it is."""
    xarray = sys.modules.get("xarray")
    if xarray is None or kind not in (xarray.DataArray, xarray.Dataset):
        return False
    with contextlib.suppress(ValueError):  # another thread was faster
        if kind is xarray.DataArray:
            optree.register_pytree_node(
                kind, _array_apart, _array, namespace=namespace,
                path_entry_type=optree.GetAttrEntry,
            )  # fmt: skip
        else:
            optree.register_pytree_node(
                kind, _dataset_apart, _dataset, namespace=namespace,
                path_entry_type=optree.GetItemEntry,
            )  # fmt: skip
    return True


class Labels:
    """The labels of an xarray object: dimensions, coordinates, attributes.

    Two are equal if all of these are equal, coordinates to the last bit.
    """

    def __init__(self, name: Any, dims: Any, coords: Any, attrs: Any) -> None:
        self.name, self.dims, self.attrs = name, dims, attrs
        self.coords = {key: coord.variable.copy(deep=True) for key, coord in coords.items()}
        self._key = (
            repr((name, dims, sorted(map(str, attrs)))),
            tuple(
                (str(key), c.dims, np.asarray(c.values).tobytes()) for key, c in self.coords.items()
            ),
        )

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Labels)
            and self._key == other._key
            and all(c.identical(other.coords[key]) for key, c in self.coords.items())
            and _same(self.attrs, other.attrs)
        )


def _same(ours: Any, theirs: Any) -> bool:
    """Whether attributes, which may be arrays, are equal."""
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[key], theirs[key]) for key in ours
    )


def _array_apart(x: Any) -> tuple[list[Any], Labels, list[str]]:
    return [x.data], Labels(x.name, x.dims, x.coords, dict(x.attrs)), ["data"]


def _array(labels: Any, children: Iterable[Any]) -> Any:
    (data,) = children
    _check(data, labels.dims, "DataArray")
    return sys.modules["xarray"].DataArray(
        data, labels.coords, labels.dims, labels.name, dict(labels.attrs)
    )


def _dataset_apart(x: Any) -> tuple[list[Any], Labels, list[Any]]:
    names = list(x.data_vars)
    dims = tuple((name, x[name].dims, tuple(x[name].attrs.items())) for name in names)
    return [x[name].data for name in names], Labels("", dims, x.coords, dict(x.attrs)), names


def _dataset(labels: Any, children: Iterable[Any]) -> Any:
    xarray = sys.modules["xarray"]
    variables = {}
    for (name, dims, attrs), data in zip(labels.dims, children, strict=True):
        _check(data, dims, "Dataset")
        variables[name] = xarray.Variable(dims, data, dict(attrs))
    return xarray.Dataset(variables, labels.coords, dict(labels.attrs))


def _check(data: Any, dims: Any, kind: str) -> None:
    """Refuse data of a batch, or of a Jacobian, whose additional axes have no name."""
    if np.ndim(data) != len(dims):
        raise ShapeError(
            f"a {kind} with dimensions {dims} would have to hold an array of shape "
            f"{np.shape(data)}: vmap and Jacobians change axes, but the labels cannot follow. "
            "Pass the numbers:\n"
            "    x.values                           # of a DataArray"
        )
