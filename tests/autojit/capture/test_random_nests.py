"""Random nests of loops over elements, beside plain Python and the complex step."""

from __future__ import annotations

import pytest

from .random_nests import faults


@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(40))
def test_random_nests(seed: int) -> None:
    assert not faults(seed)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(40, 80))
def test_compiled_nests(seed: int) -> None:
    assert not faults(seed, compiled=True)
