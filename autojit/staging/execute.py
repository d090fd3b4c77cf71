"""Running programs: inlined into the active trace, compiled, or interpreted."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit.codegen.cuda.arrays import to_host
from autojit.codegen.cuda.foreign import is_foreign, taken
from autojit.codegen.loop_ir.errors import TargetError
from autojit.errors import UnsupportedTargetError, with_place
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Program
from autojit.ir.ops.bodies import BodyOp
from autojit.session.devices import CPU, chosen, device_of, is_on_card, numbered, ordinal, placed
from autojit.session.progress import stage
from autojit.session.watching import results_of, timed_ops
from autojit.session.watching import state as watching
from autojit.tracing.context import require
from autojit.tracing.hooks import hooks
from autojit.tracing.values import inline, is_tracer
from autojit.version import VERSION

from .failing_lines import FAILURES, with_line


class _Settings:
    #: The number of open blocks without compiled code.
    interpret = 0
    #: The number of requests to check results (``debug_nans``), minus the number of withdrawals.
    checks_results = 0
    #: The number of requests to check closed-over values (``debug_stale``), minus the number of
    #: withdrawals.
    checks_outside = 0
    #: The number of open profiles, which observe each call.
    profiles = 0
    #: Whether a call may go straight to native code.
    direct = True

    def __init__(self) -> None:
        self._lock = Lock()

    def add(self, name: str, number: int) -> None:
        """Count one observer of calls more or less. (A count, because contexts of threads
        overlap.)"""
        with self._lock:
            setattr(self, name, getattr(self, name) + number)
            looks = self.checks_results > 0 or self.checks_outside > 0 or self.profiles
            self.direct = not (self.interpret or looks)


settings = _Settings()


@contextmanager
def disable_jit() -> Iterator[None]:
    """A context in which nothing is compiled: operations run one by one in NumPy.

    Compiled and transformed functions are still traced. Results agree up to rounding.

    >>> import autojit
    >>> with autojit.disable_jit():
    ...     float(autojit.jit(lambda x: 2 * x)(21.0))
    42.0
    """
    settings.add("interpret", 1)
    try:
        yield
    finally:
        settings.add("interpret", -1)


@contextmanager
def target_errors() -> Iterator[None]:
    """Turn errors about unsupported operations of a target into user errors with the line."""
    try:
        yield
    except TargetError as error:
        raise UnsupportedTargetError(with_place(str(error), error.source)) from None


#: Compiled programs by structure, least recently used first.
_executables: OrderedDict[Any, Any] = OrderedDict()
_MOST = 1024
_lock = Lock()
_ARRAYS = {np.ndarray}


def executable(program: Program, device: str = CPU) -> Any:
    """The compiled code of a program; programs of equal structure share the code, but no arrays.

    It is compiled, or loaded from disk, when it is first called.
    """
    device = numbered(device)
    with _lock:
        found = _executables.get((device, program))
        if found is not None:
            _executables.move_to_end((device, program))
            return found
    from autojit.codegen.driver.cache import user_cache
    from autojit.codegen.driver.executable import compile_program

    bare = program.bound_to(())
    with target_errors():
        made = compile_program(bare, device, user_cache(), VERSION)
    with _lock:
        found = _executables.setdefault((device, bare), made)
        while len(_executables) > _MOST:
            _executables.popitem(last=False)
    return found


def clear() -> None:
    """Drop all compiled code, for tests."""
    with _lock:
        _executables.clear()


def bound_inputs(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """The arrays of a program's inputs: the arguments, then the captured values."""
    everything = [*arguments, *program.captured]
    pairs = zip(everything, program.in_types, strict=True)
    return [in_dtype(_own(a), t.dtype) for a, t in pairs]


def _own(x: Any) -> Any:
    """Another library's GPU array as one of ours, which NumPy can read."""
    if not is_foreign(x):
        return x
    from autojit.codegen.cuda.driver.cards import card

    with target_errors():
        return taken(x, card(ordinal(device_of(x) or "")))[0]


def device_for(program: Program, arguments: Sequence[Any]) -> str:
    """The device of a program: the requested one, or that of its arrays; else the CPU.

    Raises:
        MixedDevicesError: if that is more than one device.
    """
    return chosen([*program.devices, *placed(arguments)]) or CPU


def apply(
    program: Program,
    arguments: Sequence[Any],
    *,
    once: bool = False,
    ours: int = 0,
    resident: bool | None = None,
) -> list[Any]:
    """The outputs of a program, run on its device; captured values are bound here.

    Args:
        once: whether each call traces the function anew, so that it may be interpreted
            (:func:`is_dear`).
        ours: the number of results at the end that are internal, and stay on their device.
        resident: whether the other results stay on a GPU; by default, if an argument is there.
    """
    if any(map(is_tracer, (*arguments, *program.captured))):
        require(program.devices)
        return list(inline(program, arguments))
    device = device_for(program, arguments)
    if device != CPU and not settings.interpret:
        resident = is_resident(program, arguments) if resident is None else resident
        return _on_card(program, arguments, device, ours, resident=resident)
    arrays = bound_inputs(program, arguments)
    if settings.interpret or (once and is_dear(program)):
        results = interpreted(program, arrays)
    else:
        with target_errors(), failing_lines(program, arrays):
            results = _compiled(program, arrays)
    if settings.checks_results > 0:
        hooks.check_results(program, arrays, results, [f"input {i}" for i in range(len(arguments))])
    return results


def caller(program: Program) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that applies a program without captured values again and again.

    Its results are those of :func:`apply`. What does not change between calls is found only once:
    arrays of the program's types go straight to its code for the CPU. Captured values, if any, are
    bound by :func:`apply`.
    """
    code: Any = None

    def run(arrays: Sequence[Any]) -> list[Any]:
        nonlocal code
        is_usual = settings.direct and not watching.watchers
        if code is None or not is_usual or not _ARRAYS.issuperset(map(type, arrays)):
            results = apply(program, arrays)
            if is_usual and not (program.devices or program.captured):
                found = executable(program)
                code = found if found.is_ready and not found.unverified else None
            return results
        try:
            found_results: list[Any] = code.call(arrays)
        except Exception as error:
            found_error = with_line(error, program, arrays)
            if found_error is not error:
                raise found_error from None
            raise
        return found_results

    return run


def is_resident(program: Program, arguments: Sequence[Any]) -> bool:
    """Whether results of a program on a GPU stay there, because an argument or an array that the
    function closes over is there."""
    return any(map(is_on_card, (*arguments, *program.captured)))


def _on_card(
    program: Program, arguments: Sequence[Any], device: str, ours: int, *, resident: bool
) -> list[Any]:
    """The outputs of a program on a GPU."""
    with target_errors():
        code = executable(program, device)
        if not code.is_ready:
            with stage("compiling", program.name, lambda: len(program.ops)):
                code.prepare()
        results = code.call([*arguments, *program.captured], explain_late(program))
        shown = len(results) - ours
        if not resident:
            results = [*to_host(results[:shown]), *results[shown:]]
    if settings.checks_results > 0:
        names = [f"input {i}" for i in range(len(arguments))]
        arrays = bound_inputs(program, arguments)
        hooks.check_results(program, arrays, [np.asarray(r) for r in results], names)
    return results


def explain_late(
    program: Program,
) -> Callable[[BaseException, Sequence[Any] | None], BaseException]:
    """A function that adds the user's line to an error raised when results arrive from a GPU, and
    returns the error as the user's code raises it.

    It takes the arrays of the program's inputs, or None if several calls may have failed.
    """

    def explain(error: BaseException, arrays: Sequence[Any] | None) -> BaseException:
        return with_line(error, program, arrays)

    return explain


def _compiled(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """The outputs of the program compiled for the CPU."""
    code = executable(program)
    if not getattr(code, "is_ready", True):
        code.unverified = verifies()
        with stage("compiling", program.name, lambda: len(program.ops)):
            code.prepare()
    results = results_of(program, code, arrays)
    if getattr(code, "unverified", False):
        hooks.verify(program, arrays, code.call)
        code.unverified = False
    return results


def verifies() -> bool:
    """Whether the environment asks to compare compiled programs with the interpreter."""
    if not os.environ.get("AUTOJIT_VERIFY"):
        return False
    hooks.load_check("compilation")
    return True


@contextmanager
def failing_lines(program: Program, arrays: Sequence[Any]) -> Iterator[None]:
    """Add the user's line to errors that the program's code raises in the block for these
    inputs, and raise them as the user's code does."""
    try:
        yield
    except FAILURES as error:
        found = with_line(error, program, arrays)
        if found is not error:
            raise found from None
        raise


def interpreted(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """The outputs of a program by NumPy, op by op."""
    from autojit.ir.tools.interpreter import interpret

    return timed_ops(program, interpret, arrays)


#: The interpreter may answer while code is being compiled if a program computes at most this many
#: elements, which takes about ten milliseconds.
QUICK = 5_000_000


def is_quick(program: Program) -> bool:
    """Whether interpreting takes no longer than compiling. False for loops of unknown length."""
    total = 0
    for op in program.ops:
        if isinstance(op.kind, BodyOp):
            return False
        total += sum(v.type.size for v in (*op.operands, *op.results))
    return total <= QUICK


def loaded_entries(program: Program, device: str = "cpu") -> int:
    """The number of a program's entries loaded from the disk cache, if it is in memory."""
    with _lock:
        return getattr(_executables.get((numbered(device), program)), "loaded", 0)


def known_cost(program: Program, device: str, *, make: bool = False) -> dict[str, int] | None:
    """The cost of a program's code, if its loops are in memory; with ``make`` they are
    generated."""
    if device != "cpu":
        return None
    with _lock:
        found = _executables.get((device, program))
    if found is None or not (make or found.is_lowered):
        return None
    from autojit.codegen.driver.stages import cost_of

    with target_errors():
        cost: dict[str, int] = cost_of(found)
    return cost


#: The number of operations above which generating code takes more than a second: 0.3 ms each,
#: measured on the gradient of 10,000 operations drawn at random.
DEAR = 3_000
#: Elements of a mean result up to which the interpreter takes at most 4 us an operation: 2 us to
#: call NumPy, and 2 ns an element.  Tracing and differentiating take 30 us an operation.
MEAN = 1_000


def is_dear(program: Program) -> bool:
    """Whether code for a program would not pay where each call traces the function anew.

    Generating code takes as long as about ten calls, and interpreted operations take at most a
    seventh of each call's time. The answer depends only on the program, so equal calls have equal
    results. Programs with loops of unknown length are always compiled.
    """
    if len(program.ops) < DEAR or program.has(BodyOp):
        return False
    return sum(v.type.size for op in program.ops for v in op.results) <= MEAN * len(program.ops)
