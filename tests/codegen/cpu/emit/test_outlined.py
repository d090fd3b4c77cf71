"""Loops that become functions get the variables of the loops around them."""

from __future__ import annotations

from autojit.codegen.cpu.emit.outlined import _indices
from autojit.codegen.loop_ir.nodes import Gather, Store
from autojit.codegen.loop_ir.values import Place
from autojit.ir.core.affine import Var
from tests.codegen.loop_builder import at, buffer, loop, scalar


def test_variables_of_computed_places() -> None:
    """NPBench's scattering_self_energies at size M failed with a KeyError."""
    outer, other, inner = Var(4), Var(5), Var(8)
    x, y = buffer("x", 160), buffer("y", 8)
    taken = scalar()
    place = Place(scalar("i64"), 8, 4, line=at(outer))
    body = [Gather(taken, x, at((32, other), inner), (place,), None), Store(y, at(inner), taken)]
    assert _indices(loop(inner, body)) == [outer, other]
