"""A kernel copies arrays of other libraries that are not contiguous.

Examples are PyTorch's ``x.t()``, ``x[::2]`` and broadcast arrays.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from autojit.codegen.loop_ir.nodes import Load, Loop, Store
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.locks import Lock

from .driver.extraction import Extraction
from .driver.launching import Launcher
from .mapping.machine import Machine
from .packaged import kernel_of, step_of
from .source import Launch, Source, print_source

if TYPE_CHECKING:
    from .driver.card import Card
    from .driver.memory import Memory

_lock = Lock()
_known: dict[tuple[Card, str, tuple[int, ...], tuple[int, ...]], Launcher] = {}


def lowest(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The number of elements that an array extends before its first element.

    >>> lowest((3, 4), (-4, 1))
    8
    """
    return sum(-s * (n - 1) for n, s in zip(shape, strides, strict=True) if s < 0)


def copying(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> LoopProgram:
    """The loops that copy an array to row-major order; strides are counted in elements."""
    start = lowest(shape, strides)
    span = start + 1 + sum(s * (n - 1) for n, s in zip(shape, strides, strict=True) if s > 0)
    source = Buffer("in0", dtype, span, "input")
    target = Buffer("out0", dtype, prod(shape), "output")
    there, here, below = Affine(start), Affine(0), prod(shape)
    variables = [Var(n) for n in shape]
    for v, stride in zip(variables, strides, strict=True):
        below //= v.extent
        there, here = there + affine.of(v) * stride, here + affine.of(v) * below
    value = Scalar(0, dtype, 0, None)
    body: list[Load | Store | Loop]
    body = [Load(value, source, there, None), Store(target, here, value)]
    for v in reversed(variables):
        body = [Loop(v, 0, v.extent, list(body), "map")]
    return LoopProgram("strided", [source], [target], [Kernel("k0", list(body), [source, target])])


def copied(
    card: Card, pointer: int, dtype: str, width: int, shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Memory:  # fmt: skip
    """New memory with the elements in row-major order; ``pointer`` is the address of the first."""
    size = prod(shape) * width
    made = card.memory(size)
    launcher = _launcher(card, dtype, shape, strides)
    with launcher.lock:
        launcher.run([pointer - lowest(shape, strides) * width, made.pointer])
    return made


def _launcher(card: Card, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> Launcher:
    key = card, dtype, shape, strides
    with _lock:
        if key not in _known:
            _known[key] = _made(card, copying(dtype, shape, strides))
        return _known[key]


def _made(card: Card, program: LoopProgram) -> Launcher:
    source: Source = print_source(
        program, Machine(processors=card.processors, resident=card.resident)
    )
    extraction = Extraction(source.text)
    slots = {b: i for i, b in enumerate([*program.inputs, *program.outputs])}
    steps = [
        step_of(launch, card.function(kernel_of(extraction, launch, is_aligned=False), None), slots)
        for launch in source.launches
        if isinstance(launch, Launch)
    ]
    return Launcher(card, steps, len(slots), [])
