"""Arrays in which the steps of a captured loop set elements, as one change by all steps.

Before (``for k in range(n): out[k] = x[k] * s``, whose body was traced once)::

    %3: f64[n] = scan %0, %1, %2 {body=program loop(%0: f64[n], %1: f64[], %2: i64[], %3: f64[n]) {
      %4: f64[] = gather %0, %2 {axes=(0,)}
      %5: f64[] = mul %4, %1
      %6: f64[n] = scatter %3, %5, %2 {axes=(0,)}
      return %6
    }, …}

After::

    %3: f64[n] = broadcast %1 {dims=(), shape=(n,)}
    %4: f64[n] = mul %0, %3
    %5: f64[n] = update %2, %4 {start=(0,), stride=(1,)}

Legal where one of two things holds.  Either no two steps set the same element, and each read of the
array comes before the store to that element, or after it in the same step (``Stored``).  Both are
checked element by element, along the axes at which the number of the step decides all places,
whatever the places along the others are.  Or all steps read and set the same element, and only add
to it or subtract from it (``Element``), as in ``c[i, j] += a[i, k] * b[k, j]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.index import gather
from autojit.ir.ops.update import scatter

from .indices import Indices, Places

#: Ops that add to a value, and which of their operands the value is.
Links = tuple[tuple[Op, int], ...]


class Stored(NamedTuple):
    """An array in which each step sets elements of its own."""

    #: The value and the places of each store; of stores to the same places, the last one.
    ends: tuple[tuple[Value, Places], ...]
    #: What reads of elements that the step has set find.
    forwarded: dict[Op, Value]
    #: All stores.
    ops: tuple[Op, ...]


class Element(NamedTuple):
    """An array of which all steps add to the same element."""

    links: Links
    places: Places
    #: The ops that read or set the element.
    ops: tuple[Op, ...]


class Chain(NamedTuple):
    """The stores to an array in a step, and the reads by how many stores come before them."""

    stores: list[Op]
    reads: list[tuple[int, Op]]


def chain_of(
    first: Value, end: Value, users: Mapping[Value, list[Op]], readers: Mapping[Value, int]
) -> Chain | None:
    """The chain of stores from a carry to its end; None where anything else reads the array."""
    stores: list[Op] = []
    reads: list[tuple[int, Op]] = []
    value = first
    while True:
        found = users.get(value, [])
        following = [op for op in found if op.kind is scatter]
        mine = [op for op in found if op.kind is gather]
        others = len(found) - len(mine) - len(following)
        if others or readers.get(value, 0) != len(found) + (value is end):
            return None
        if any(value in op.operands[1:] for op in found) or len(following) != (value is not end):
            return None
        reads += [(len(stores), op) for op in mine]
        if value is end:
            return Chain(stores, reads) if stores else None
        stores.append(following[0])
        value = following[0].result


def element(
    chain: Chain, links: Callable[[Value, Value], Links | None],
    indices: Indices,
) -> Element | None:  # fmt: skip
    """The role of an array of which all steps add to one element.

    ``links`` has the sums between two values.
    """
    where = indices.places(chain.stores[0])
    reads = dict(chain.reads)
    if len(reads) != len(chain.reads) or sorted(reads) != list(range(len(chain.stores))):
        return None
    if any(indices.places(op) != where for op in (*chain.stores, *reads.values())):
        return None
    if not all(_is_one(indices(v)) for v in where[1]):
        return None
    found: list[tuple[Op, int]] = []
    for k, store in enumerate(chain.stores):
        between = links(reads[k].result, store.operands[1])
        if between is None:
            return None
        found += between
    return Element(tuple(found), where, (*chain.stores, *reads.values()))


def _is_one(place: np.ndarray | Value | None) -> bool:
    if isinstance(place, np.ndarray):
        return bool((place == place[:1]).all())
    return place is not None


def stored(chain: Chain, shape: Sequence[int], indices: Indices) -> Stored | None:
    """The role of an array of which each step sets elements of its own."""
    every = [indices.places(op) for op in (*chain.stores, *(op for _, op in chain.reads))]
    keys = _keys(every, shape, indices)
    if keys is None:
        return None
    last = {indices.places(op): op for op in chain.stores}
    began: dict[Places, int] = {}
    for k, op in enumerate(chain.stores):
        began.setdefault(indices.places(op), k)
    written = [keys[places] for places in last]
    flat = np.concatenate([k.ravel() for k in written])
    order = np.argsort(flat, kind="stable")
    found = flat[order]
    if (found[1:] == found[:-1]).any():
        return None
    times = np.concatenate([
        _times(keys[places], began[places], len(chain.stores)).ravel() for places in last
    ])[order]  # fmt: skip
    forwarded: dict[Op, Value] = {}
    for version, op in chain.reads:
        places = indices.places(op)
        if began.get(places, version) < version:
            forwarded[op] = next(
                store.operands[1]
                for store in reversed(chain.stores[:version])
                if indices.places(store) == places
            )
            continue
        read = keys[places]
        at = np.minimum(np.searchsorted(found, read.ravel()), len(found) - 1)
        hit = found[at] == read.ravel()
        mine = _times(read, version, len(chain.stores)).ravel()
        if (hit & (times[at] < mine)).any():
            return None
    ends = tuple((op.operands[1], places) for places, op in last.items())
    return Stored(ends, forwarded, tuple(chain.stores))


def _times(keys: np.ndarray, k: int, stores: int) -> np.ndarray:
    """When store k, or a read after k stores, comes at the places of each step."""
    steps = np.arange(len(keys)).reshape(-1, *[1] * (keys.ndim - 1))
    return np.broadcast_to(steps * (stores + 1) + k, keys.shape)


def _keys(
    every: Sequence[Places], shape: Sequence[int], index: Indices
) -> dict[Places, np.ndarray] | None:
    """A number for each place at each step; two places with different numbers are different.

    None where a place is out of range, or changes in a way that is not known, or where no axis has
    places that all are known.
    """
    known = {v: index(v) for _, indices in every for v in indices}
    if any(found is None for found in known.values()):
        return None
    common = [
        a for a in range(len(shape))
        if all(a in axes and isinstance(known[indices[axes.index(a)]], np.ndarray)
               for axes, indices in every)
    ]  # fmt: skip
    if not common:
        return None
    keys = {}
    for axes, indices in every:
        key: np.ndarray = np.int64(0)  # type: ignore[assignment]
        for a in common:
            rows = known[indices[axes.index(a)]]
            assert isinstance(rows, np.ndarray)
            if ((rows < 0) | (rows >= shape[a])).any():
                return None
            key = key * shape[a] + rows.astype(np.int64)
        keys[axes, indices] = key
    return keys
