"""A loop program becomes a list of launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from autojit.codegen.analysis.arena import places
from autojit.codegen.cuda.device_program.calls import LibraryCall
from autojit.codegen.cuda.device_program.failures import failures_of
from autojit.codegen.cuda.device_program.nodes import DeviceKernel, DeviceProgram
from autojit.codegen.cuda.libraries.choice import for_factorization, for_product
from autojit.codegen.cuda.libraries.epilogues import with_bias
from autojit.codegen.cuda.libraries.plans import Loops, Work
from autojit.codegen.cuda.matrices import radix
from autojit.codegen.cuda.matrices.expansion import OF_ELEMENTS, steps_of_elements, written
from autojit.codegen.cuda.matrices.merging import stages, tile_of
from autojit.codegen.cuda.matrices.ordering import RUN
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import buffers_of, memory
from autojit.codegen.loop_ir.values import Buffer

from .cooperation import require_known
from .kernels import KernelMapper
from .machine import Machine
from .products import finishing, in_tiles
from .teams import block_for

#: The most bytes of shared memory for combining, besides the kernel's own buffers: each of a few
#: words has one number of 8 bytes for each of at most 32 warps, and the status takes some.
OF_COMBINING = 2 << 10


def device_program(loops: LoopProgram, machine: Machine | None = None) -> DeviceProgram:
    """The device program of a loop program that was lowered with the traits of CUDA."""
    machine = machine or Machine()
    launches: list[DeviceKernel | LibraryCall] = []
    every = [step.body if isinstance(step, Kernel) else [step] for step in loops.steps]
    for body in every:
        require_known(body)
    steps = Counter(b for body in every for b in buffers_of(body))
    is_joined = False
    done = -1  # steps up to this one are part of a launch
    for number, step in enumerate(loops.steps):
        if number <= done:
            continue
        if isinstance(step, MatrixProduct):
            after = loops.steps[number + 1] if number + 1 < len(loops.steps) else None
            made, is_both = _product_and(step, f"product{number}", machine, after, loops, steps)
            launches += made
            done = number + 1 if is_both else done
            is_joined |= is_both
        elif isinstance(step, Factorization):
            launches += _matrices(step, f"{step.name}{number}", machine)
        else:
            assert isinstance(step, Kernel)
            private = [b for b in steps if steps[b] == 1 and b in loops.temps]
            launches += KernelMapper(step, machine, private).launch()
    loops = _placed_again(loops, launches) if is_joined else loops
    used = (memory(b) for kernel in launches for b in kernel.buffers)
    known = {*loops.inputs, *loops.outputs, *loops.temps}
    more = [b for b in dict.fromkeys(used) if b not in known]
    tapes = [b for b in more if b.kind == "tape"]
    partials = [b for b in more if b.kind != "tape"]
    for position, buffer in enumerate(partials):
        buffer.name = f"p{position}"
    return DeviceProgram(loops, launches, partials, tapes, failures_of(launches))


def _placed_again(
    loops: LoopProgram, launches: Sequence[DeviceKernel | LibraryCall]
) -> LoopProgram:
    """The loop program with a new placement of temporaries, by the launches that touch them."""
    temps, arena = places(
        [[b for b in map(memory, k.buffers) if b in loops.temps] for k in launches]
    )
    return replace(loops, temps=temps, arena=arena)


def _product_and(
    step: MatrixProduct, name: str, machine: Machine, after: Any, loops: LoopProgram,
    uses: Mapping[Buffer, int],
) -> tuple[Sequence[DeviceKernel | LibraryCall], bool]:  # fmt: skip
    """The launches of a product, and whether they include the next step."""
    made = _product(step, name, machine)
    if made and isinstance(made[0], LibraryCall):
        call = with_bias(made[0], step, after, loops, uses)
        return (made, False) if call is None else ([call], True)
    then = finishing(step, after, loops, uses) if made else None
    return (made, False) if then is None else (in_tiles(step, name, machine, then), True)


def _product(
    step: MatrixProduct, name: str, machine: Machine
) -> Sequence[DeviceKernel | LibraryCall]:
    """The launches of a product: a call of a library if that is faster, else our own kernel."""
    call = for_product(step, name, machine.libraries, machine.processors, machine.tile)
    return in_tiles(step, name, machine) if call is None else [call]


def _matrices(
    step: Factorization, name: str, machine: Machine
) -> Sequence[DeviceKernel | LibraryCall]:
    """The launches of linear algebra on a batch: by libraries, or by our own kernels."""
    given = machine.libraries, machine.processors, machine.threads
    work = for_factorization(step, name, *given)
    if work is None:
        return _alone(step, name, machine)
    launches: list[DeviceKernel | LibraryCall] = []
    for number, each in enumerate(work):
        launches += _mapped(each, f"{name}_{number}", machine)
    return launches


def _mapped(work: Work, name: str, machine: Machine) -> Sequence[DeviceKernel | LibraryCall]:
    """The launches of one part of a step that a library does in part."""
    if isinstance(work, LibraryCall):
        return [work]
    if isinstance(work, MatrixProduct):
        return _product(work, name, machine)
    assert isinstance(work, Loops)
    mapper = KernelMapper(Kernel(name, work.body, []), machine)
    return mapper.matrices(work.batch, work.body) if work.serial else mapper.launch()


def _alone(step: Factorization, name: str, machine: Machine) -> list[DeviceKernel]:
    """The launches of our own kernels: a block or thread per matrix, a block per tile of a sort, or
    a thread per element."""
    near = machine.shared - OF_COMBINING
    if step.name in ("sort", "argsort") and step.is_some and _has_tiles(step, near, machine):
        return _sorted(step, name, near, machine)
    if step.name not in OF_ELEMENTS:
        made, mapper = written(step), KernelMapper(Kernel(name, [], []), machine)
        if mapper.width_of_matrix(prod(step.batch), made.body) > machine.warp:
            made = written(step, near=near)
        return mapper.matrices(made.batch, made.body, made.in_block)
    launches: list[DeviceKernel] = []
    bodies = steps_of_elements(step, machine.shared)
    touched = Counter(b for body in bodies for b in buffers_of(body))
    own = [b for b in touched if touched[b] == 1 and b not in step.buffers]
    for number, body in enumerate(bodies):
        kernel = Kernel(f"{name}_{number}" if number else name, body, [])
        launches += KernelMapper(kernel, machine, own, machine.shared).launch()
    return launches


def _has_tiles(step: Factorization, near: int, machine: Machine) -> bool:
    """Whether rows are long enough for blocks to sort tiles of them."""
    tile = tile_of(step, near)
    return tile > RUN and block_for(tile, machine) > machine.warp


def _sorted(step: Factorization, name: str, near: int, machine: Machine) -> list[DeviceKernel]:
    launches: list[DeviceKernel] = []
    by_digits = radix.pays(step, near, machine.processors)
    made = radix.stages(step, near, machine.most_blocks) if by_digits else stages(step, near)
    for number, stage in enumerate(made):
        mapper = KernelMapper(Kernel(f"{name}_{number}" if number else name, [], []), machine)
        launches += mapper.matrices(*stage)
    return launches
