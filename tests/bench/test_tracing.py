"""The page of long traces."""

from __future__ import annotations

import pytest

from autojit import grad, jit
from bench import tracing, tracing_programs


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", tracing.PROGRAMS)
def test_every_program_has_a_gradient_at_a_small_size(name: str) -> None:
    function, arguments = getattr(tracing_programs, name)(6)
    jit(grad(function)).lower(*arguments)


def test_sizes_double_up_to_the_largest() -> None:
    assert tracing.sizes(400) == (100, 200, 400)


def test_a_row_says_how_times_grow() -> None:
    linear, square = (0.5, 1.0), (1.0, 4.0)
    cells = tracing.row("what", (1, 2, 4), [linear, square, (2.0, 16.0)])
    assert cells == ("what", "1, 2, 4", "0.500, 1.00, 2.00", "1.0", "1.00, 4.00, 16.0", "2.0")


def test_a_row_without_the_largest_size_has_no_growth() -> None:
    assert tracing.row("what", (1, 2, 4), [(0.5, 1.0)]) == (
        "what", "1, 2, 4", "0.500", "–", "1.00", "–",
    )  # fmt: skip


def test_seconds_are_measured() -> None:
    tracing_seconds, compiling = tracing.seconds("as_argument", 40)
    assert 0 < tracing_seconds < 60
    assert 0 < compiling < 60
