"""What users' tests demand of compiled code."""

from __future__ import annotations

from .as_text import size
from .facts import Facts, Step


def check_fused(e: Facts, at_most: int) -> None:
    """Raise AssertionError unless there are so few steps, with why they are several."""
    if len(e.steps) <= at_most:
        return
    words = [
        f"{e.name} is {len(e.steps)} loop nests and library calls, more than {at_most}:",
        *(_step(step) for step in e.steps),
    ]
    for step in e.steps:
        words += [
            f"  step {step.number} is not one with step {reason.about}: {reason.reason}"
            for reason in step.not_fused
        ]
    raise AssertionError("\n".join(words))


def check_vectorized(e: Facts) -> None:
    """Raise AssertionError with the inner loops that are scalar code, and why they are."""
    words = []
    for step in e.steps:
        for each in step.vectors:
            if each.lanes == 1:
                reason = each.reason
                why = reason.reason if reason else "LLVM does not say why"
                way_out = f". {reason.way_out}" if reason and reason.way_out else ""
                words += [_step(step), f"    {each.loop}: {why}{way_out}"]
    if words:
        raise AssertionError("\n".join([f"{e.name} has loops that are no vector code:", *words]))


def check_no_temporaries(e: Facts) -> None:
    """Raise AssertionError with the arrays that a call needs besides arguments and results."""
    if not e.temporaries:
        return
    words = [f"{e.name} takes {size(e.temporaries)} of temporaries:"]
    for step in e.steps:
        if step.temporaries:
            found = ", ".join(f"{name} ({size(n)})" for name, n in step.temporaries.items())
            words += [_step(step), f"    makes {found}{_because(step)}"]
    raise AssertionError("\n".join(words))


def _because(step: Step) -> str:
    reasons = [f"step {r.about}: {r.reason}" for r in step.not_fused]
    return f", since it is not one with {'; '.join(reasons)}" if reasons else ""


def _step(step: Step) -> str:
    texts = [f"{line.file}:{line.number}: {line.text}" for line in step.lines if line.text]
    first = next(iter(dict.fromkeys(texts)), step.place)
    return f"  step {step.number}, {step.title}, {first}"
