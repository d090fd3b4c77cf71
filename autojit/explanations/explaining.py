"""Makes an :class:`Explanation`: compiles a function again, collecting remarks, and runs it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from autojit.codegen.driver.cache import user_cache
from autojit.codegen.driver.executable import Executable, signature
from autojit.codegen.driver.timed import TimedExecutable
from autojit.codegen.loop_ir.cost import footprint
from autojit.errors import UnsupportedTargetError
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Program
from autojit.ir.pass_manager.remarks import Remarks, collecting
from autojit.session import transform_cache
from autojit.session.devices import CPU
from autojit.session.progress import shown, stage
from autojit.staging.execute import executable, target_errors

from .bodies import add_bodies
from .explanation import Explanation
from .facts import TOO_GOOD, Reason
from .lines import short
from .on_gpu import GpuExplanation, explain_on_gpu
from .steps import Lowering, steps_of

#: The seconds for which calls are timed, and the fewest and the most calls.
SECONDS, LEAST_CALLS, MOST_CALLS = 0.3, 3, 2000


def explain_anywhere(
    compiled: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, run: bool = True
) -> Explanation | GpuExplanation:
    """The explanation of a call; of its kernel launches if it is compiled for a GPU."""
    _, found = compiled.specialize(args, kwargs)
    if found.device == CPU:
        return explain(compiled, args, kwargs, run=run)
    with target_errors():
        return explain_on_gpu(found.traced.program, found.device)


def explain(
    compiled: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, run: bool = True
) -> Explanation:
    """The explanation of a call of a compiled function (a ``CompiledFunction`` of a higher layer).

    The function is traced and compiled again, so that each pass can report its work; if ``run`` is
    set, it is then called several times.

    Raises UnsupportedTargetError for other devices than the CPU.
    """
    times: dict[str, float] = {}
    with collecting() as notes, transform_cache.unused():
        with _timed(times, "trace"):
            leaves, found = compiled.anew().specialize(args, kwargs)
        _check_device(found.device)
        program = found.traced.program
        code = TimedExecutable(Executable(program.bound_to(())))
        with target_errors(), stage("compiling", program.name, lambda: len(program.ops)):
            with _timed(times, "passes"):
                optimized = code.optimized
            with _timed(times, "lowering"):
                loops = code.loops
            with _timed(times, "compilation"):
                code.prepare()
            lowering = Lowering(optimized, loops, code.llvm(), notes)
    cache = _cache_state(compiled, found, program)
    seconds, calls, by_part = None, 0, {}
    if run:
        with shown("timing", program.name):
            seconds, calls = _measured(lambda: compiled(*args, **kwargs))
            by_part = _times_of_parts(code, program, leaves)
        compiled.specialize(args, kwargs)[1].measured = seconds
    of_steps = {number[0]: t for number, t in by_part.items() if len(number) == 1}
    steps = steps_of(lowering, of_steps)
    if any(step.share and step.share > TOO_GOOD for step in steps):
        lowering.measure_again()
        steps = steps_of(lowering, of_steps)
    add_bodies(steps, lowering, by_part)
    return Explanation(
        name=program.name,
        signature=_signature(program),
        steps=steps,
        traced=len(program.ops),
        optimized=len(optimized.ops),
        bytes_in_out=footprint([*loops.inputs, *loops.outputs]),
        temporaries=loops.arena,
        cache=cache,
        times=times,
        seconds=seconds,
        calls=calls,
        machine=lowering.machine_words(),
        python_loops=_python_loops(notes),
    )


@contextmanager
def _timed(times: dict[str, float], name: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    times[name] = time.perf_counter() - begun


def _signature(program: Program) -> str:
    """The types of arguments and results, without captured arrays."""
    given = len(program.inputs) - len(program.captured)
    return signature(Program(program.inputs[:given], (), program.outputs))


def _cache_state(compiled: Any, found: Any, program: Program) -> str:
    """The source of the next call's code: ``memory``, ``disk`` or ``compiled anew``."""
    if compiled.is_ready(found.signature):
        return "memory"
    key = _key(found, program)
    kept = user_cache()
    return "disk" if kept and key is not None and kept.has(key) else "compiled anew"


def _key(found: Any, program: Program) -> dict[str, Any] | None:
    bare = found.traced.structure.is_leaf()
    code = executable(program)
    key: dict[str, Any] | None = code.key(found.weak, len(program.captured), as_tuple=not bare)
    return key


def _check_device(device: str) -> None:
    if device != CPU:
        raise UnsupportedTargetError(
            f"loops and vectors are those of code for the CPU; this function is compiled for "
            f"{device}. Ask about the same function without device=:\n"
            "    jit(f).explain(autojit.device_get(x))"
        )


# -- times -------------------------------------------------------------------------------


def _measured(call: Any) -> tuple[float, int]:
    """The seconds of the fastest call, and the number of calls."""
    call()  # the first call loads code, with cold caches
    best, calls, begun = float("inf"), 0, time.perf_counter()
    while calls < LEAST_CALLS or (calls < MOST_CALLS and time.perf_counter() - begun < SECONDS):
        before = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - before)
        calls += 1
    return best, calls


def _times_of_parts(
    code: TimedExecutable, program: Program, leaves: Sequence[Any]
) -> dict[tuple[int, ...], float]:
    """The least seconds that each part took in several calls, by its number."""
    everything = [*leaves, *program.captured]
    if code.packing is not None:
        return {}
    pairs = zip(everything, program.in_types, strict=True)
    arrays = [in_dtype(leaf, t.dtype) for leaf, t in pairs]

    best: dict[tuple[int, ...], float] = {}
    begun, runs = time.perf_counter(), 0
    while runs <= LEAST_CALLS or (runs < MOST_CALLS and time.perf_counter() - begun < SECONDS):
        run = code.run(arrays)
        if runs:
            for each in code.times(run.counts, run.ticks):
                best[each.number] = min(best.get(each.number, float("inf")), each.seconds)
        runs += 1
    return best


def _python_loops(notes: Remarks) -> list[Reason]:
    return [
        Reason(short(each.place), short(each.reason), each.way_out)
        for each in notes
        if each.by in ("capture", "roll")
    ]
