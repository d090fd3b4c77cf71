"""Random functions whose arrays have several names give Python's answer, or an error."""

from __future__ import annotations

from collections import Counter

import pytest

from .random_arrays import faults


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(0, 160, 10))
def test_random_arrays(first: int) -> None:
    seen = Counter[str]()
    for seed in range(first, first + 10):
        assert not faults(seed, seen)
    assert seen["value"] > seen["refused"]
