"""Random programs with control flow on traced values, beside plain Python."""

from __future__ import annotations

from collections import Counter

import pytest

from .outcomes import check_program


@pytest.mark.parametrize("group", range(4))
def test_random_programs(group):
    found = Counter()
    for seed in range(100 * group, 100 * group + 6):
        for kind, words in check_program(seed):
            assert kind in ("same", "refused"), f"program {seed}: {words}"
            found[kind] += 1
    assert found["same"] > found["refused"]
