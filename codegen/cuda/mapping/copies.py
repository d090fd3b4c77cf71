"""If all threads update few places, each block updates its own copies, in shared memory.

    share n from …:                          share k from thread, below 100, by 256:
      y[p[n]] += 1    # atomic                 own[k] = 0
                                             barrier
                                      ->     share n from …:
                                               own[p[n]] += 1    # atomic, in shared memory
                                             barrier
                                             share k from thread, below 100, by 256:
                                               y[k] += own[k]    # atomic

Threads that update the same place wait for each other, and the threads of a card wait longer than
those of a block.  If there is room, neighbouring threads get separate copies, side by side, so that
they use different banks of shared memory.

Legal where only atomic updates of one kind touch the buffer in the kernel: their order and grouping
are free.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from autojit.codegen.cuda.device_program.nodes import Atomic, Barrier, DeviceKernel, Share
from autojit.codegen.cuda.device_program.numbers import (
    accumulator,
    computed,
    constant_scalar,
    loaded,
    scalar,
)
from autojit.codegen.cuda.mapping.nests.staging import MOST_BYTES
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Finish, Loop, Store
from autojit.codegen.loop_ir.sequences import Branch
from autojit.codegen.loop_ir.traversal import buffers_named, memory, with_bodies
from autojit.codegen.loop_ir.values import Buffer, Place
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.types import dtype_from_name

from .teams import power_below

#: The fewest updates by a block for each place of its copies.  With fewer, clearing and summing the
#: copies is as much work as the updates.
LEAST_OF_PLACE = 4


def with_copies(kernel: DeviceKernel) -> DeviceKernel:
    """The kernel with copies of its most updated buffers; the same kernel if there are none."""
    updates, found, left = _updates(kernel), dict[Buffer, tuple[Buffer, int]](), MOST_BYTES
    left -= sum(b.size * itemsize(b.dtype) for b in kernel.shared)
    for buffer, (_, count) in updates.items():
        of_block = count // kernel.grid // LEAST_OF_PLACE
        size = buffer.size * itemsize(buffer.dtype)
        if not 0 < size <= left or of_block < buffer.size:
            continue
        several = min(kernel.warp, left // size, of_block // buffer.size)
        several = power_below(several) if len(updates) == 1 else 1
        own = Buffer(f"own_{buffer.name}", buffer.dtype, buffer.size * several, "shared")
        found[buffer] = own, several
        left -= size * several
    return _rewritten(kernel, found, {b: combine for b, (combine, _) in updates.items()})


def _updates(kernel: DeviceKernel) -> dict[Buffer, tuple[str, int]]:
    """The buffers that only atomic updates of one kind touch, with the kind and the number of
    updates."""
    ways: dict[Buffer, set[str]] = {}
    counts: dict[Buffer, int] = {}

    def note(body: list[Any], times: int) -> None:
        for s in body:
            combine = s.combine if isinstance(s, Atomic) else ""
            for buffer in buffers_named(s):
                ways.setdefault(memory(buffer), set()).add(combine)
            if isinstance(s, Atomic) and not s.is_rare:
                counts[memory(s.buffer)] = counts.get(memory(s.buffer), 0) + times
            inside = EFFECTS[type(s)].variables(s) if isinstance(s, Share | Loop) else {}
            more = prod(high - low + 1 for low, high in inside.values())
            for inner in EFFECTS[type(s)].bodies(s):
                note(inner, times * more)

    note(kernel.body, 1)
    return {
        b: (min(ways[b]), n) for b, n in counts.items() if len(ways[b]) == 1 and "" not in ways[b]
    }


def _rewritten(
    kernel: DeviceKernel, found: dict[Buffer, tuple[Buffer, int]], ways: dict[Buffer, str]
) -> DeviceKernel:
    if not found:
        return kernel
    before, after = list[Any](), list[Any]()
    thread, threads = affine.of(kernel.thread), kernel.threads
    for buffer, (own, several) in found.items():
        identity = _identity(ways[buffer], buffer.dtype)
        n, value = Var(own.size), constant_scalar(identity, own.dtype)
        clearing = [value, Store(own, affine.of(n), value.result)]
        before.append(Share(n, thread, own.size, threads, clearing))
        k = Var(buffer.size)
        adding = _added(buffer, own, several, affine.of(k), ways[buffer], identity)
        after.append(Share(k, thread, buffer.size, threads, adding))
    lane = affine.divide(thread, kernel.warp, {})[1]

    def moved(body: list[Any]) -> list[Any]:
        return [
            _moved(s, found, lane) if isinstance(s, Atomic) else with_bodies(s, moved) for s in body
        ]

    waiting = Barrier(threads)
    return replace(
        kernel,
        doc=f"{kernel.doc} Blocks have copies of what they update.",
        body=[*before, waiting, *moved(kernel.body), waiting, *after],
        shared=[*kernel.shared, *(own for own, _ in found.values())],
    )


def _moved(s: Atomic, found: dict[Buffer, tuple[Buffer, int]], lane: Affine) -> Atomic:
    """The same update of the copy for this lane of a warp."""
    if memory(s.buffer) not in found:
        return s
    own, several = found[memory(s.buffer)]
    copy = affine.divide(lane, several, {})[1]
    places = tuple(Place(p.scalar, p.stride * several, p.extent) for p in s.places)
    return replace(s, buffer=own, index=s.index * several + copy, places=places)


def _added(
    buffer: Buffer, own: Buffer, several: int, at: Affine, combine: str, identity: Any
) -> list[Any]:
    """Statements that combine all copies of an element into it, unless they hold the identity."""
    r, total = Var(several), scalar(own.dtype)
    a = accumulator(own.dtype, combine, identity)
    load = loaded(own, at * several + affine.of(r))
    none = constant_scalar(identity, own.dtype)
    is_some = computed("ne", total, none.result, dtype="bool")
    number = computed("convert", is_some.result, dtype="i32")
    update = Atomic(buffer, at, (), combine, total)
    return [
        Begin(a), Loop(r, 0, several, [load, Accumulate(a, load.result)], "reduce"),
        Finish(total, a), none, is_some, number, Branch(number.result, [[], [update]]),
    ]  # fmt: skip


def _identity(combine: str, dtype: str) -> Any:
    """The identity of an update."""
    if combine == "add":
        return 0
    kind = dtype_from_name(dtype)
    return -np.inf if kind.kind == "f" else int(np.iinfo(kind).min)
