"""A kernel is printed as a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from autojit.codegen.cuda.device_program.nodes import DeviceKernel, Let, Share
from autojit.codegen.loop_ir.names import BufferNames
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.sequences import Repeat
from autojit.codegen.loop_ir.traversal import walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine

from .helpers import numpy_type
from .statements import Statements
from .words import Words

#: The name of the array in which kernels set flags of failures.
STATUS = "status"
_SMALL = 1 << 31


def is_small(kernel: DeviceKernel) -> bool:
    """Whether indices and loop variables of a kernel fit into 32 bits, even one step past the
    end."""
    if any(b.size >= _SMALL for b in [*kernel.buffers, *kernel.locals, *kernel.shared]):
        return False
    return max([kernel.lanes, *_ends(kernel)]) < _SMALL


def _ends(kernel: DeviceKernel) -> Iterator[int]:
    """The greatest values of variables.

    The last block may count beyond the end of an array, where a test keeps it from the elements.
    """
    bounds = {kernel.block: (0, kernel.grid - 1), kernel.thread: (0, kernel.threads - 1)}
    for s in walk(kernel.body):
        if isinstance(s, Share | Loop):
            start = Affine(s.start) if isinstance(s, Loop) else s.first
            bounds[s.var] = start.range(bounds)[0], s.stop - 1
            yield s.stop + (1 if isinstance(s, Loop) else s.step)
        elif isinstance(s, Let):
            bounds[s.var] = s.value.range(bounds)
            yield bounds[s.var][1]


def function_text(
    kernel: DeviceKernel, name: str, words: Words, places: dict[str, int],
    buffer: Callable[[Buffer], str],
) -> tuple[str, bool]:  # fmt: skip
    """The text of the function, and whether the status is its last parameter."""
    lines = Statements(kernel, words, buffer, places, is_small(kernel))
    lines.line(f'"""{kernel.doc}"""')
    for where, buffers in (("local", kernel.locals), ("shared", kernel.shared)):
        for b in buffers:
            text = f"cuda.{where}.array({max(1, b.size)}, {numpy_type(b.dtype)})"
            lines.line(f"{buffer(b)} = {text}")
    if any(isinstance(s, Repeat) for s in walk(kernel.body)):
        _body_with_own_status(lines, len(places))
    else:
        lines.body(kernel.body)
    parameters = [*map(buffer, kernel.buffers), *([STATUS] if lines.can_fail else [])]
    header = f"@cuda.jit\ndef {name}({', '.join(parameters)}):"
    return "\n".join([header, *lines.lines]) + "\n", lines.can_fail


def _body_with_own_status(lines: Statements, count: int) -> None:
    """Print the statements of a kernel with a loop that ends after a failure.

    Each step of the loop reads the status, which is in host memory, about a microsecond away. So
    each block has its own copy until the end.
    """
    before = len(lines.lines)
    lines.body(lines.kernel.body)
    if not lines.can_fail:
        return
    body, lines.lines = lines.lines[before:], lines.lines[:before]
    each, wait = f"for n in range({count}):", "cuda.syncthreads()"
    lines.line("noted = status")
    lines.line(f"status = cuda.shared.array({count}, np.int32)")
    with lines.first_thread(), lines.block(each):
        lines.line("status[n] = 0")
    lines.line(wait)
    lines.lines += body
    lines.line(wait)
    with lines.first_thread(), lines.block(each), lines.block("if status[n] != 0:"):
        lines.line("noted[n] = 1")


def key_of(kernel: DeviceKernel, words: Words, places: dict[str, int]) -> str:
    """A key that is equal for kernels that differ only in names, and so can be one function."""
    names = BufferNames()
    for n, b in enumerate([*kernel.buffers, *kernel.locals, *kernel.shared]):
        names.names[b] = f"b{n}"
    text, _ = function_text(kernel, "", words, places, names)
    dtypes = " ".join(b.dtype for b in kernel.buffers)
    body = text.partition('"""')[2].partition('"""')[2]
    return f"{kernel.threads} {dtypes}\n{body}"
