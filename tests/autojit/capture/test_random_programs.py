"""Random programs with control flow on traced values, beside plain Python."""

from __future__ import annotations

from collections import Counter

import pytest

from .outcomes import check_program
from .random_aliases import Aliases
from .random_dicts import Dicts
from .random_gaps import Gaps
from .random_generators import Generators
from .random_memos import Memos
from .random_nones import Nones
from .random_objects import Objects
from .random_programs import Program
from .random_recursion import Group, Recursive
from .random_rows import Rows
from .random_tries import Tries


@pytest.mark.sampled(8)
@pytest.mark.parametrize("group", range(4))
@pytest.mark.parametrize(
    ("writer", "count"),
    [
        (Program, 6), (Aliases, 8), (Nones, 5), (Rows, 3), (Tries, 3), (Dicts, 6), (Memos, 4),
        (Recursive, 2), (Objects, 6), (Gaps, 6), (Group, 2), (Generators, 3),
    ],
)  # fmt: skip
def test_random_programs(group, writer, count):
    found = Counter()
    for seed in range(100 * group, 100 * group + count):
        for kind, words in check_program(seed, writer):
            assert kind in ("same", "refused"), f"program {seed}: {words}"
            found[kind] += 1
    assert found["same"] > found["refused"] or writer in (Rows, Tries)
