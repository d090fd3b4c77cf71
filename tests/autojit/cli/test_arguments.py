"""Arguments on the command line: types, literals, trees."""

from __future__ import annotations

import numpy as np
import pytest

from autojit.cli.common.arguments import fill, parse_argument
from autojit.cli.common.failures import Failure
from autojit.ir.core.types import Type


def test_arguments() -> None:
    assert parse_argument(" f64[2, 3] ") == Type(np.dtype(float), (2, 3))
    assert parse_argument("(f32[], 1+2j)") == (Type(np.dtype("f4")), 1 + 2j)
    assert parse_argument("-inf") == -np.inf
    assert parse_argument("[]").shape == (0,)
    assert parse_argument("[f64[2], (1, 2)]") == [Type(np.dtype(float), (2,)), (1, 2)]
    rng = np.random.default_rng(0)
    filled = fill(
        parse_argument("{'x': f32[100], 'n': (i64[5], bool[2]), 'z': c64[3]}"), rng, -1, 1
    )
    assert filled["x"].dtype == np.float32
    assert -1 <= filled["x"].min() < -0.5
    assert 0.5 < filled["x"].max() < 1
    assert [a.dtype.name for a in filled["n"]] == ["int64", "bool"]
    assert filled["z"].dtype == np.complex64


@pytest.mark.parametrize(
    "text",
    ["[[1], [1, 2]]", "__import__('os')", "x + 1", "x+1", "{f64[2]: 1}", "", "range('a')", "a b"],
)
def test_arguments_that_are_refused(text: str) -> None:
    with pytest.raises(Failure, match="is not understood"):
        parse_argument(text)
