"""Python's bools count as 0 and 1 under its operators; NumPy's are bools."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit


def key_of_a_dict(x: Any) -> Any:
    d = {}
    if x > 1:
        d["a"] = 1
    return ("a" in d) + ("a" in d)


def none_or_not(x: Any) -> Any:
    y = None
    if x > 1:
        y = x
    return (y is None) + (y is None) + (y is not None)


def equal_texts(x: Any) -> Any:
    kind = "a" if x > 1 else "b"
    return (kind == "a") + (kind == "a")


def carried(x: Any) -> Any:
    found, last, i = False, False, 0
    while i < x * 10:
        last = x > 2 if i > 3 else found
        i += 1
    return last + last


def counted(x: Any) -> Any:
    n = False
    for i in range(20):
        n = n + (x > i)
    return n


def in_a_list(x: Any) -> Any:
    found = []
    for i in range(int(x) + 10):
        found.append(x > i)
    return sum(found) + found[0] + found[1]


def at_an_index(x: Any) -> Any:
    found = [x > 1, x > 2]
    return found[int(x) - 2] + found[1]


def negated_on_one_way(x: Any) -> Any:
    found = x > 1
    if x > 2:
        found = not found
    return found + found + (~found)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: (x > 1) + (x > 2),
    "difference": lambda x: (x > 1) - (x > 2),
    "product": lambda x: ((x > 1) * (x > 0)) + True,
    "quotient": lambda x: (x > 1) / True + (x > 1) // True + (x > 1) % True,
    "power": lambda x: (x > 1) ** 2 + (x > 1) ** (x > 2),
    "shift": lambda x: (x > 1) << (x > 2),
    "negative": lambda x: -(x > 1),
    "positive": lambda x: +(x > 1) + +(x > 1),
    "inverse": lambda x: ~(x > 1),
    "absolute": lambda x: abs(x > 1) + abs(x > 2),
    "and, or, xor": lambda x: ((x > 1) & (x > 2)) + ((x > 1) | (x > 2)) + ((x > 1) ^ (x > 2)),
    "not": lambda x: (not x > 1) + (not x > 2),
    "chain": lambda x: (0 < x < 5) + (0 < x < 6),
    "in": lambda x: (x in (3.0, 1.0)) + (x in (3.0, 2.0)),
    "bool": lambda x: bool(x) + bool(x),
    "any and all": lambda x: any([x > 1, x > 2]) + any([x > 1]) + all([x > 0]),
    "math": lambda x: math.isnan(x) + math.isfinite(x) + math.isclose(x, x),
    "and": lambda x: (x > 1 and x > 2) + (x > 0 or x > 1),
    "max": lambda x: max(x > 0, x > 1) + min(x > 0, True),
    "of NumPy": lambda x: 1.0 * ((np.array([x, x])[0] > 1) + (np.array([x, x])[1] > 1)),
    "mixed": lambda x: 1.0 * ((np.array([x])[0] > 1) + (x > 1)),
    "ufunc": lambda x: 1.0 * np.add(x > 1, x > 1),
    "float32": lambda x: np.float32(1.5) * (x > 0) + (x > 0),
    "dict": key_of_a_dict, "None": none_or_not, "texts": equal_texts, "carried": carried,
    "counted": counted, "list": in_a_list, "index": at_an_index, "way": negated_on_one_way,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_bools_of_python(name: str) -> None:
    f = PROGRAMS[name]
    compiled = jit(f)
    for x in (3.0, 1.5, 0.0):
        assert compiled(x) == f(x)
        assert grad(lambda x: 1.0 * f(x) + x * x)(x) == 2 * x


def test_arguments() -> None:
    f = jit(lambda b: b + b)
    for b in (True, False, np.True_, np.False_, True):
        assert f(b) == b + b
        assert np.asarray(f(b)).dtype == np.asarray(b + b).dtype
    assert jit(lambda b: ~b)(True) == -2  # as in Python before 3.16
    assert jit(lambda a: a + a)(np.array([True, False])).dtype == bool
