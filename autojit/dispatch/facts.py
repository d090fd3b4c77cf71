"""Facts about a compiled function: its traces, their reasons, and their code."""

from __future__ import annotations

from typing import Any, NamedTuple

from autojit.ir.core.program import Program
from autojit.ir.tools.units import in_bytes, in_seconds, plural
from autojit.staging.execute import known_cost, loaded_entries
from autojit.staging.signatures import names_of, signature_text

from .specialization import Specialization


class TraceFacts(NamedTuple):
    """One signature of a compiled function."""

    #: The types of the arguments, as ``x: f64[3], n: a Python float``; static ones with values.
    types: str
    #: The argument that differed from an earlier signature, and how; None for the first.
    cause: str | None
    program: Program
    #: Seconds of tracing, and of compiling or loading the code (None before the first call).
    traced_in: float
    made_in: float | None
    #: Whether the code came from the cache on disk.
    is_loaded: bool
    #: As ``lower(...).cost()``; None if the loops are not in memory.
    cost: dict[str, int] | None
    #: Seconds of a call; None if ``explain`` has not measured it.
    measured: float | None = None


class Facts(NamedTuple):
    """All facts about a compiled function."""

    #: How the function was made: ``jit(grad(loss))``.
    written: str
    #: The names of its parameters in brackets, and the whole signature.
    names: str
    signature: str
    device: str
    tier: str
    traces: list[TraceFacts]

    def line(self) -> str:
        """The facts for a terminal, in a line or two."""
        head = f"<{self.written}{self.names} on {self.device}: "
        if not self.traces:
            return f"{head}not traced yet>"
        last = self.traces[-1]
        parts = [f"traced {_times(len(self.traces))}"]
        if last.cause is not None:
            parts[0] += f" (last: {last.cause})"
        if last.cost is not None:
            parts.append(f"{plural(last.cost['loops'], 'loop')}, {memory(last.cost)}")
        parts.append(made(last))
        return f"{head}{'; '.join(parts)}>"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def memory(cost: dict[str, int]) -> str:
    """The memory of temporaries, in words."""
    size = cost["temporaries"]
    return f"{in_bytes(size)} of temporaries" if size else "no temporaries"


def made(trace: TraceFacts) -> str:
    """Where the code comes from, in words."""
    if trace.made_in is None:
        return "no code yet"
    how = "loaded from disk" if trace.is_loaded else "compiled"
    return f"{how} in {in_seconds(trace.made_in)}"


def facts_of(f: Any, *, make: bool = False) -> Facts:
    """The facts about a CompiledFunction; with ``make``, loops that are not in memory are
    generated."""
    return Facts(
        f.written(), names_of(f), signature_text(f), f.device, f.tier,
        [_trace(found, found.device, make) for found in f.specializations()],
    )  # fmt: skip


def _trace(found: Specialization, device: str, make: bool) -> TraceFacts:
    program, signature = found.traced.program, found.signature
    words = [
        f"{path.removeprefix('argument ')}: "
        + (str(leaf.type) if leaf.weak is None else f"a Python {leaf.weak.__name__}")
        for path, leaf in zip(signature.paths, signature.leaves, strict=True)
    ]
    words += [f"{where}={value!r:.40}" for where, value in signature.static]
    family = found.family()
    is_loaded = any(loaded_entries(each.compiled, device) for each in family)
    made_in = next((each.made_in for each in family if each.made_in is not None), None)
    cost = known_cost(program, device, make=make)
    return TraceFacts(
        ", ".join(words), found.cause, program, found.traced_in, made_in, is_loaded, cost,
        found.measured,
    )  # fmt: skip
