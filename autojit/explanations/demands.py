"""What users' tests demand of compiled code."""

from __future__ import annotations

from .as_text import size
from .facts import Facts, Part, Step, Vectors


def check_fused(e: Facts, at_most: int, inside: int | None = None) -> None:
    """Raise AssertionError unless there are so few steps, with why they are several; and so few
    nests ``inside`` of each step, in loops whose steps run in turn."""
    if inside is not None:
        _check_bodies(e, inside)
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


def _check_bodies(e: Facts, inside: int) -> None:
    words = []
    for step in e.steps:
        nests = [part for part in step.inside if part.is_nest]
        if len(nests) > inside:
            words += [_step(step), *(f"  {_step(part)}" for part in nests)]
    if words:
        title = f"{e.name} has more than {inside} loop nests and library calls inside of a step:"
        raise AssertionError("\n".join([title, *words]))


def check_vectorized(e: Facts) -> None:
    """Raise AssertionError with the inner loops that are scalar code, and why they are."""
    words = []
    for step in e.steps:
        inside = [part for part in step.inside if part.vectors]
        known = {each.loop for part in inside for each in part.vectors}
        rest = [each for each in step.vectors if each.loop not in known]
        found = [(_step(step), rest), *((_step(part), part.vectors) for part in inside)]
        for title, vectors in found:
            for each in vectors:
                if each.lanes == 1:
                    words += [title, f"    {each.loop}: {_why(each)}"]
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


def _why(each: Vectors) -> str:
    if each.reason is None:
        return "LLVM does not say why"
    way_out = f". {each.reason.way_out}" if each.reason.way_out else ""
    return f"{each.reason.reason}{way_out}"


def _because(step: Step) -> str:
    reasons = [f"step {r.about}: {r.reason}" for r in step.not_fused]
    return f", since it is not one with {'; '.join(reasons)}" if reasons else ""


def _step(step: Step | Part) -> str:
    texts = [f"{line.file}:{line.number}: {line.text}" for line in step.lines if line.text]
    first = next(iter(dict.fromkeys(texts)), "no line of yours")
    return f"  step {step.number}, {step.title}, {first}"
