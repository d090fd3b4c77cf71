"""One thread loads and stores several neighbours at once.

    share n from first, below 999:        share q from first, below 249:
      s0 = x[n]                             together:
      y[n] = s0 * 2                           s0 = x[4*q]; s1 = x[4*q + 1]; …
                                            together:
                                      ->      y[4*q] = s0 * 2; y[4*q + 1] = s1 * 2; …
                                          share n from first + 996, below 999:
                                            …

A load of 16 bytes is one instruction, and its address is computed once.  Teams that share a row do
the same with the iterations of its loops, also in shared memory.

Legal where iterations are independent, or only add to accumulators: the iterations of a thread are
interleaved, statement by statement. The accesses in ``Together`` begin at a multiple of their total
size: this is checked for the index, and ``packaged.py`` guarantees it for the memory.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from autojit.codegen.cuda.device_program.nodes import WIDEST, Together
from autojit.codegen.cuda.device_program.numbers import scalar
from autojit.codegen.loop_ir.cost import is_function, itemsize
from autojit.codegen.loop_ir.effects import indices_of
from autojit.codegen.loop_ir.errors import is_check
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    Compute,
    Constant,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.traversal import memory, substituted, used, with_indices
from autojit.codegen.loop_ir.values import Place, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .structure import Nest, Whole

#: Limits for an iteration. With more functions of many instructions, a thread computes longer than
#: it waits for memory; with more scalars, those of four iterations do not fit into its registers.
MOST_FUNCTIONS, MOST_SCALARS = 4, 24

_PLAIN = (Constant, IndexValue, InRange, Accumulate, Compute, Load, Gather, Store)


def in_vectors(nest: Nest, body: list[Any], threads: int) -> list[Nest]:
    """The nest with several iterations as one, and a nest of the iterations left over.

    If this is not legal, or does not pay, the result is the nest alone.

    Args:
        body: the statements of an iteration, with the scalars between the loops.
        threads: the number of threads that share the iterations.
    """
    as_it_is = [Nest(nest.loops, [], body)]
    if nest.count <= threads or not _is_plain(body):
        return as_it_is
    flat = _flat(nest, body)
    for found in (*([flat] if flat is not None else []), as_it_is[0]):
        *outer, last = found.loops
        count = _lanes(found.body, last.var)
        if count == 1 or last.start % count:
            continue
        left = (last.stop - last.start) % count
        if left and outer:
            continue
        return _widened(found, count, left)
    return as_it_is


def _is_plain(body: list[Any]) -> bool:
    """Whether a body has no loops or branches, and is short."""
    for s in body:
        if not isinstance(s, _PLAIN) or getattr(s, "guard", None) is not None:
            return False
        if hasattr(s, "buffer") and memory(s.buffer).kind == "local":  # private to the iteration
            return False
        if isinstance(s, Compute) and (is_check(s.name) or s.name == "pow"):
            return False
    scalars = sum(isinstance(s, Compute | Load | Gather) for s in body)
    return sum(map(is_function, body)) <= MOST_FUNCTIONS and scalars <= MOST_SCALARS


def _flat(nest: Nest, body: list[Any]) -> Nest | None:
    """The nest as one loop, if all indices are functions of the number of the iteration."""
    if len(nest.loops) == 1:
        return Nest(nest.loops, [], body)
    n = Var(nest.count)
    change = Whole(nest, n)
    made = [with_indices(s, change) for s in body]
    own = {loop.var for loop in nest.loops}
    if any(own & index.variables() for s in made for index in indices_of(s)):
        return None
    return Nest([Loop(n, 0, nest.count, [], "map")], [], made)


def _lanes(body: list[Any], var: Var) -> int:
    """The number of neighbours along a variable to load and store at once.

    It is 1 if any access along the variable is not contiguous and aligned.
    """
    touching = [s for s in body if isinstance(s, Load | Store)]
    along = [s for s in touching if s.index.stride(var) != 0]
    sizes = [itemsize(s.buffer.dtype) for s in along]
    if not sizes:
        return 1
    count = WIDEST // max(sizes)
    fine = all(_is_aligned(s, var, count) for s in along)
    return count if fine and count > 1 else 1


def _is_aligned(s: Load | Store, var: Var, count: int) -> bool:
    """Whether an access is contiguous along a variable, from a multiple of ``count`` on."""
    if memory(s.buffer).kind == "tape" or s.index.stride(var) != 1:
        return False
    rest = s.index.without(var)
    return rest.constant % count == 0 and all(c % count == 0 for _, c in rest.terms)


def _widened(nest: Nest, count: int, left: int) -> list[Nest]:
    *outer, last = nest.loops
    start, stop = last.start // count, last.stop // count
    q = Var(stop)
    body = _repeated(nest.body, last.var, [affine.of(q) * count + k for k in range(count)])
    made = [Nest([*outer, Loop(q, start, stop, [], last.role)], [], body, count)]
    if left:
        made.append(Nest([replace(last, start=last.stop - left, body=[])], [], nest.body))
    return made


def _repeated(body: list[Any], var: Var, places: list[Affine]) -> list[Any]:
    """The statements for each place of a variable, interleaved; once if equal for all places."""
    names: list[dict[int, Scalar]] = [{} for _ in places]
    made: list[Any] = []
    for s in body:
        moves = any(var in index.variables() for index in indices_of(s))
        if not moves and not isinstance(s, Accumulate) and _is_same(s, names[0]):
            made.append(s)
            continue
        copies = []
        for known, place in zip(names, places, strict=True):
            copies.append(_renamed(substituted(s, var, place), known))
        neighbours = isinstance(s, Load | Store) and s.index.stride(var) == 1
        made += [Together(copies)] if neighbours else copies
    return made


def _is_same(s: Any, changing: dict[int, Scalar]) -> bool:
    return not any(x.number in changing for x in used(s))


def _renamed(s: Any, known: dict[int, Scalar]) -> Any:
    """A statement with the scalars of one place; its result is new and noted in ``known``."""

    def change(x: Any) -> Any:
        if isinstance(x, Scalar):
            return known.get(x.number, x)
        if isinstance(x, Place):
            return replace(x, scalar=change(x.scalar))
        return tuple(map(change, x)) if type(x) is tuple else x  # a Source stays one

    made = replace(s, **{f.name: change(getattr(s, f.name)) for f in fields(s)})
    if hasattr(s, "result"):
        known[s.result.number] = new = scalar(s.result.dtype)
        made = replace(made, result=new)
    return made
