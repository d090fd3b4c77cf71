"""The text of the GPU stages: CUDA Python source, and PTX, both without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CUDA
from autojit.ir.core.program import Program
from autojit.ir.passes.pipeline import optimize

from .printing.helpers import numpy_type
from .source import Launch, Source, print_source

#: The compute capability that PTX is written for unless one is given: Ampere.
CAPABILITY = (8, 0)


def text(program: Program, stage: str, capability: tuple[int, int] = CAPABILITY) -> str:
    """The text of stage ``cuda`` or ``ptx``."""
    source = print_source(lower(optimize(program), CUDA))
    return source.text if stage == "cuda" else ptx(source, capability)


def ptx(source: Source, capability: tuple[int, int] = CAPABILITY) -> str:
    """The PTX of every kernel, one after another; raises TargetError without numba-cuda."""
    from .runtime import is_simulated, load_cuda, load_source, quiet

    cuda = load_cuda()
    if is_simulated():
        raise TargetError("The CUDA simulator does not compile to PTX: unset NUMBA_ENABLE_CUDASIM.")
    namespace = load_source(source.text, "ptx")
    texts = []
    for launch in source.launches:
        if not launch.text:  # an earlier one has the same function
            continue
        with quiet(), _device_of(capability):
            function = namespace[launch.name].py_func
            compiled, _ = cuda.compile_ptx(function, _signature(launch), cc=capability)
        texts.append(f"// {launch.name}\n{compiled}")
    return "\n".join(texts)


@contextmanager
def _device_of(capability: tuple[int, int]) -> Iterator[None]:
    """Device functions compile for this capability.

    Numba takes theirs from the present device, also in ``compile_ptx``, which needs none.
    """
    from unittest import mock

    from numba.cuda import dispatcher

    device = SimpleNamespace(compute_capability=capability)
    with mock.patch.object(dispatcher, "get_current_device", return_value=device):
        yield


def _signature(launch: Launch) -> tuple[Any, ...]:
    from numba import types

    names = [numpy_type(b.dtype).removeprefix("np.") for b in launch.buffers]
    return tuple(
        types.Array(types.boolean if n == "bool_" else getattr(types, n), 1, "C") for n in names
    )
