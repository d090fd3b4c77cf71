"""DataArrays and Datasets of xarray as arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit
from autojit import errors, grad, jit

xarray = pytest.importorskip("xarray")

X = np.arange(6.0).reshape(2, 3) + 1
ARRAY = xarray.DataArray(X, dims=("a", "b"), coords={"b": [10, 20, 30]}, attrs={"units": "m"})
DATASET = xarray.Dataset({"u": ARRAY, "v": ARRAY.sum("a")})


def differences(x: Any) -> Any:
    return (x.diff("b") * x.isel(b=0)).where(x.isel(b=slice(1, None)) > 2, 0.0)


def moments(x: Any) -> Any:
    if x.sum() > 0:
        x = np.sin(x)
    return x.mean("a"), x.std("b"), x.max(), x.shift(b=1).fillna(0.5), x.transpose("b", "a") @ x


def of_two(data: Any) -> Any:
    return data.assign(w=data.u.sum("a") * data["v"])


@pytest.mark.parametrize(
    ("function", "argument"),
    [(differences, ARRAY), (moments, ARRAY), (of_two, DATASET)],
    ids=["differences", "moments", "two"],
)
def test_results_are_xarrays(function: Any, argument: Any) -> None:
    found, wanted = jit(function)(argument), function(argument)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for ours, theirs in pairs:
        xarray.testing.assert_allclose(ours, theirs)


def test_gradients_have_labels() -> None:
    found = jit(grad(lambda x: (x**2).sel(b=20).sum()))(ARRAY)
    xarray.testing.assert_allclose(found, (2 * ARRAY).where(ARRAY.b == 20, 0.0))
    found = grad(lambda data: (data.u.sum("a") * data.v).sum())(DATASET)
    xarray.testing.assert_allclose(found.v, DATASET.u.sum("a"))


def test_other_labels_are_another_call() -> None:
    function = jit(lambda x: x.sel(b=20) * 1.0)
    np.testing.assert_array_equal(function(ARRAY), X[:, 1])
    np.testing.assert_array_equal(function(ARRAY.assign_coords(b=[20, 30, 40])), X[:, 0])


def test_axes_without_a_name_are_refused() -> None:
    with pytest.raises(errors.ShapeError, match=r"vmap and Jacobians change axes[^$]*x\.values"):
        autojit.vmap(lambda x: x.sum())(ARRAY)
