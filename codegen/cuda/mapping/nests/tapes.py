"""Tapes that begin and end within an iteration of a loop: each thread has a part of its own.

    for i in 0..5000:                      share i from 256*block + thread, by 5120:
      repeat, steps k, tapes t:              repeat, steps k, tapes t:
        t[k] = …                    ->         t[5120*k + 256*block + thread] = …
      for each of the steps p:               for each of the steps p:
        … t[p] …                               … t[5120*p + 256*block + thread] …
      free t                                 free t

So neighbouring threads write neighbours.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from autojit.codegen.loop_ir.nodes import Load, Store
from autojit.codegen.loop_ir.sequences import Release, Repeat
from autojit.codegen.loop_ir.traversal import buffers_named, memory, walk, with_bodies
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine


def private(body: list[Any], tapes: Collection[Buffer]) -> bool:
    """Whether the statements begin and free each of the tapes, and no note keeps one."""
    begun, freed = set[Buffer](), set[Buffer]()
    for s in walk(body):
        named = {b for b in map(memory, buffers_named(s)) if b in tapes}
        if not named:
            continue
        if isinstance(s, Repeat):
            begun |= named
        elif isinstance(s, Release):
            freed |= named
        elif type(s) not in (Load, Store):
            return False
    return begun == freed == set(tapes)


def in_parts(body: list[Any], tapes: Collection[Buffer], part: Affine, count: int) -> list[Any]:
    """The statements with tapes that have ``count`` parts, of which they use one."""
    wide = {b: Buffer(b.name, b.dtype, b.size * count, "tape") for b in tapes}

    def moved(s: Any) -> Any:
        s = with_bodies(s, lambda inner: [moved(x) for x in inner])
        if isinstance(s, Load | Store) and memory(s.buffer) in wide:
            return replace(s, buffer=wide[memory(s.buffer)], index=s.index * count + part)
        if isinstance(s, Repeat | Release):
            return replace(s, tapes=[wide.get(memory(b), b) for b in s.tapes])
        return s

    return [moved(s) for s in body]
