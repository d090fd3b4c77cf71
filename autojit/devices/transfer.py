"""``device_put`` and ``device_get``: trees of arrays to a GPU and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from autojit.codegen.cuda.arrays import DeviceArray, to_host, uploaded
from autojit.codegen.cuda.foreign import is_foreign, taken
from autojit.dispatch.jit_function import check_device
from autojit.session.devices import CPU, Request, device_of, is_on_card, numbered, ordinal
from autojit.session.tracebacks import folded
from autojit.staging import pytrees
from autojit.staging.execute import target_errors
from autojit.staging.trace_function import check_dtypes, leaf_type
from autojit.tracing.context import require
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

T = TypeVar("T")


@folded
def device_put(x: T, device: str = "cuda") -> T:
    """The arrays and numbers of a tree on a GPU.

    Functions that get such arrays run there, and their results stay there.

    Args:
        x: an array, a number, or a tree of these. Arrays already on that GPU are not copied, also
            those of CuPy, PyTorch or JAX.
        device: ``"cuda"``, or ``"cuda:1"`` for the second GPU; ``"cpu"`` copies to the host, like
            :func:`device_get`.

    Returns:
        The same tree with autojit's arrays, which are never written to. Later changes of a NumPy
        array ``x`` do not reach them.

    Raises:
        UnsupportedTargetError: if there is no GPU, or not the requested one.

    .. code-block:: python

        x = autojit.device_put(np.ones(1000))
        y = jit(lambda x: np.exp(x) * 2)(x)         # on the GPU, as is y
        autojit.device_get(y)                       # an array of NumPy's
    """
    check_device(device)
    return _mapped(x, lambda leaf, path: _put(leaf, numbered(device), path))


@folded
def device_get(x: T) -> T:
    """The arrays of a tree as NumPy arrays, and those without axes as numbers.

    It waits once for all computations of these arrays, and raises their errors. Arrays of CuPy,
    PyTorch and JAX on a GPU are copied too; other leaves are unchanged.

    >>> autojit.device_get({"w": np.ones(2), "rate": 0.1})
    {'w': array([1., 1.]), 'rate': 0.1}
    """
    leaves, structure = pytrees.flatten(x)
    with target_errors():
        there = {i: _on_card(leaf) for i, leaf in enumerate(leaves) if is_on_card(leaf)}
        brought = dict(zip(there, to_host(list(there.values())), strict=True))
    found = [brought.get(i, leaf) for i, leaf in enumerate(leaves)]
    tree: T = pytrees.unflatten(structure, found)
    return tree


def _mapped(tree: T, function: Callable[[Any, str], Any]) -> T:
    leaves, structure = pytrees.flatten(tree)
    paths = pytrees.paths(tree, "x")
    made: T = pytrees.unflatten(structure, list(map(function, leaves, paths)))
    return made


def _put(leaf: Any, device: str, path: str) -> Any:
    if is_tracer(leaf):
        require([Request(device, f"device_put(x, {device!r})", user_source())])
        return leaf
    pytrees.check_argument(leaf, path, "jit(f, static_argnums=...)")
    if device == CPU:
        return device_get(leaf)
    check_dtypes([leaf], [path])
    there = device_of(leaf)
    with target_errors():
        from autojit.codegen.cuda.driver.cards import card

        if there == device:
            return _on_card(leaf)
        host = device_get(leaf) if there is not None else leaf
        return uploaded(np.asarray(host, leaf_type(leaf).type.dtype), card(ordinal(device)))


def _on_card(x: Any) -> DeviceArray:
    """An array on a GPU as one of autojit's arrays."""
    if not is_foreign(x):
        made: DeviceArray = x
        return made
    from autojit.codegen.cuda.driver.cards import card

    return taken(x, card(ordinal(device_of(x) or "")))[0]


def restored(array: np.ndarray, device: str) -> Any:
    """A pickled array; it goes to the first GPU if there are now too few GPUs."""
    with target_errors():
        from autojit.codegen.cuda.driver.cards import count

        there = ordinal(device) < count()
    return device_put(array, device if there else "cuda")
