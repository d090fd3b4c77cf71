"""Assertions about compiled code for users' tests."""

from __future__ import annotations

from .as_text import size
from .facts import Facts, Part, Step, Vectors


def check_fused(e: Facts, at_most: int, inside: int | None = None) -> None:
    """Raise AssertionError if there are more than ``at_most`` steps, or more than ``inside`` nests
    in the sequential loops of a step; the message tells why steps were not fused."""
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
            f"  step {step.number} is not fused with step {reason.about}: {reason.reason}"
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
        title = f"{e.name} has more than {inside} loop nests and library calls inside a step:"
        raise AssertionError("\n".join([title, *words]))


def check_vectorized(e: Facts) -> None:
    """Raise AssertionError if inner loops are scalar code; the message names them and tells why."""
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
        raise AssertionError("\n".join([f"{e.name} has loops that are not vector code:", *words]))


def check_no_temporaries(e: Facts) -> None:
    """Raise AssertionError if a call needs arrays besides arguments and results; the message names
    them."""
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
    return f", since it is not fused with {'; '.join(reasons)}" if reasons else ""


def _step(step: Step | Part) -> str:
    texts = [f"{line.file}:{line.number}: {line.text}" for line in step.lines if line.text]
    first = next(iter(dict.fromkeys(texts)), "no line of yours")
    return f"  step {step.number}, {step.title}, {first}"
