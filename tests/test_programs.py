"""Properties of all samples' programs: texts parse back, and names have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.codegen.loop_text.printer import print_loops
from autojit.codegen.lowering.lower import lower
from autojit.ir.core.program import Op, Program
from autojit.ir.passes import optimize
from autojit.ir.tools.text import parse
from autojit.ir.tools.verifier import verify
from tests.samples import SAMPLES, Sample
from tests.samples.kinds import unit


def long_loop(c: Any, v: Any) -> Any:
    """A user's linear loop: its derivative may be distributed, the loop itself may not."""

    def step(c: Any, v: Any) -> Any:
        return c * np.exp(v) * np.exp(-v) * np.exp(np.sin(v)) + np.cos(v), None

    return autojit.scan(step, c, v)[0]


LONG = Sample("long loop", long_loop, (unit(), unit(640)))
each = pytest.mark.parametrize("sample", [*SAMPLES, LONG], ids=lambda s: s.name)


def programs(sample: Sample) -> Iterator[Program]:
    """Return the traced programs of the function, and of its gradient if it has one."""
    arguments = sample.draw()
    yield autojit.trace(sample.function)(*arguments)
    if sample.order:
        wrt = tuple(i for i, x in enumerate(arguments) if np.asarray(x).dtype.kind in "fc")
        yield autojit.trace(autojit.grad(lambda *a: total(sample.function(*a)), wrt))(*arguments)


def total(results: Any) -> Any:
    parts = results if isinstance(results, (tuple, list)) else [results]
    return sum(np.sum(np.real(part)) for part in parts)


def renamed(value: Any, name: str) -> Any:
    """Rename a program, and the programs in the parameters of its ops."""
    if isinstance(value, tuple):
        return tuple(renamed(v, name) for v in value)
    if not isinstance(value, Program):
        return value
    ops = [
        Op(op.kind, op.operands, {k: renamed(v, name) for k, v in op.params.items()}, op.results)
        for op in value.ops
    ]
    return Program(value.inputs, ops, value.outputs, name=name)


@pytest.mark.sampled(40)
@each
def test_texts_read_back_and_names_mean_nothing(sample: Sample) -> None:
    for program in programs(sample):
        verify(program)
        assert parse(program.text()) == program
        optimized = optimize(program)
        assert parse(optimized.text()) == optimized
        other = optimize(renamed(program, "f_linear_transpose"))
        assert other == optimized
        loops, same = lower(optimized), lower(other)
        assert print_loops(replace(same, name=loops.name)) == print_loops(loops)
