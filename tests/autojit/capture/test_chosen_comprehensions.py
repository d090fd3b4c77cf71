"""Comprehensions of dicts and sets whose conditions are traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import CaptureError

WEIGHTS = {"a": 1.0, "b": 2.0, "c": 7.0}


def above(weights: dict[str, Any], least: Any) -> Any:
    kept = {name: w * w for name, w in weights.items() if w > least}
    return sum(kept.values()) + len(kept) + kept.get("b", -1.0)


def two_conditions(weights: dict[str, Any], least: Any) -> Any:
    kept = {name: w for name, w in weights.items() if name != "a" if w > least and w < 5}
    return kept.get("a", 0.5) + kept.get("b", 3.0) * least


def two_loops(weights: dict[str, Any], least: Any) -> Any:
    kept = {(i, name): i * w for i in range(3) for name, w in weights.items() if i * w > least}
    return sum(kept.values()) if (1, "a") in kept else -sum(kept.values())


def of_a_later_name(weights: dict[str, Any], least: Any) -> Any:
    kept = {name: [w * k for k in range(2) if k] for name, w in weights.items() if w > least}
    return sum(ws[0] for ws in kept.values())


@pytest.mark.parametrize("least", [0.5, 1.5, 6.0, 9.0])
@pytest.mark.parametrize("f", [above, two_conditions, two_loops])
def test_dicts_have_the_keys_of_python(f: Any, least: float) -> None:
    assert jit(f)(WEIGHTS, least) == f(WEIGHTS, least)
    slopes = jit(grad(f))(WEIGHTS, least)
    for name in WEIGHTS:
        low, high = ({**WEIGHTS, name: WEIGHTS[name] + e} for e in (-1e-6, 1e-6))
        assert abs(slopes[name] - (f(high, least) - f(low, least)) / 2e-6) < 1e-6
    assert grad(f)(WEIGHTS, least) == slopes


def test_known_conditions() -> None:
    def f(x: float) -> float:
        names = {i for i in range(5) if i > 2}
        table = {i: [j for j in range(i) if j != 1] for i in range(4) if i % 2}
        return len(names) * x + table[3][1] + len({v for v in [] if v})

    assert jit(f)(2.0) == f(2.0) == 6.0


def test_an_exception_in_an_element() -> None:
    def f(x: float) -> Any:
        try:
            return sum({k: 1.0 / k for k in range(-1, 2) if k > x}.values())
        except ZeroDivisionError:
            return -x

    assert [jit(f)(x) for x in (-2.0, 0.5)] == [2.0, 1.0]


def test_a_set_of_traced_length_is_refused() -> None:
    with pytest.raises(CaptureError, match="A set gets or loses elements") as caught:
        jit(lambda xs: len({i for i, v in enumerate(xs) if v > 1}))(np.array([1.0, 2.0]))
    assert f'File "{__file__}"' in str(caught.value)


def test_lists_in_a_dict_of_optional_keys() -> None:
    assert jit(of_a_later_name)(WEIGHTS, 1.5) == of_a_later_name(WEIGHTS, 1.5)
