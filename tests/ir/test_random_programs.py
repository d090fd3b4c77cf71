"""The random programs themselves: each is well formed, and every op takes part."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from autojit.ir.ops import REGISTRY, Declaration
from autojit.ir.program import Program, building
from autojit.ir.verify import verify
from tests.ir.random_programs import DTYPES, Grower, programs, sampler


@settings(max_examples=100, derandomize=True, deadline=None)
@given(programs())
def test_programs_are_well_formed(program: Program) -> None:
    verify(program)
    assert program.outputs


#: Their derivatives are programs of the user's, and not of every order or mode.
WITH_RULES = {"custom_vjp", "custom_linear", "linear_solve", "root"}


def test_every_op_is_sampled() -> None:
    missing = [k.name for k in REGISTRY.values() if sampler(k) is None and k.name not in WITH_RULES]
    assert missing == [], "say in SAMPLERS how the parameters of these are drawn"


SAMPLED = [kind for kind in REGISTRY.values() if sampler(kind)]


@pytest.mark.parametrize("kind", SAMPLED, ids=lambda kind: kind.name)
@settings(max_examples=3, derandomize=True, deadline=None, phases=[Phase.generate])
@given(data=st.data())
def test_every_op_can_be_drawn(kind: Declaration, data: st.DataObject) -> None:
    grow, draw_op = Grower(data.draw, DTYPES, min_extent=1, kinds=SAMPLED), sampler(kind)
    assert draw_op is not None
    with building(grow.builder):
        values = [draw_op(grow, kind) for _ in range(8)]
    assert any(value is not None for value in values)
    verify(grow.builder.finish(grow.inputs, [v for v in values if v is not None]))
