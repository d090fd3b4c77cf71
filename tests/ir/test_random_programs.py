"""The random programs themselves: each is well formed, and every op takes part."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Program, building
from autojit.ir.core.registry import REGISTRY
from autojit.ir.ops.checks import whole_number
from autojit.ir.special.external import External
from autojit.ir.tools.verifier import verify
from tests.ir.random_programs import DTYPES, Grower, programs, sampler
from tests.sampling import share


@settings(max_examples=share(100), derandomize=True, deadline=None)
@given(programs())
def test_programs_are_well_formed(program: Program) -> None:
    verify(program)
    assert program.outputs


def test_every_op_is_sampled() -> None:
    missing = [
        kind.name
        for kind in REGISTRY.values()
        if sampler(kind) is None and not isinstance(kind, External) and kind is not whole_number
    ]
    # Ops without forward mode would fail most tests, and a callback calls Python.
    never = ["callback", "custom_linear", "custom_vjp"]
    assert sorted(missing) == never, "say in SAMPLERS how they are drawn"


SAMPLED = [kind for kind in REGISTRY.values() if sampler(kind)]


@pytest.mark.sampled(8)
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
