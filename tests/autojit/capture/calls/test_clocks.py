"""Clocks in traced functions: refused where the time would become a constant."""

from __future__ import annotations

import datetime
import time
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import FrozenTimeError

X = np.array([1.0, -2.0, 0.5])

READS = {
    "time.time": lambda x: x * time.time(),
    "time.perf_counter": lambda x: x * perf_counter(),
    "time.monotonic_ns": lambda x: x * time.monotonic_ns(),
    "time.localtime": lambda x: x * time.localtime().tm_year,
    "datetime.now": lambda x: x * datetime.datetime.now(datetime.UTC).timestamp(),
    "date.today": lambda x: x * datetime.date.today().year,
    r"np.datetime64\('now'\)": lambda x: x * np.datetime64("now").astype(int),
}


@pytest.mark.parametrize("name", READS)
def test_compiled_functions_refuse_to_read_a_clock(name: str) -> None:
    f = READS[name]
    with pytest.raises(FrozenTimeError, match=f"^{name} in a compiled function") as caught:
        jit(f)(X)
    assert "test_clocks.py" in str(caught.value)
    with pytest.raises(FrozenTimeError, match=r"not: time.time\(\) in f"):
        jit(grad(lambda x: np.sum(f(x))))(X)


@pytest.mark.parametrize("name", READS)
def test_without_jit_a_clock_is_read(name: str) -> None:
    assert np.all(grad(lambda x: np.sum(READS[name](x)))(X) > 0)


def stopped(x: Any, n: Any) -> Any:
    start = time.monotonic()
    for _ in range(n):
        x = x + time.monotonic() - start
    return x


def test_a_loop_that_is_traced_once_refuses_to_read_a_clock() -> None:
    with pytest.raises(FrozenTimeError, match=r"time\.monotonic in a"):
        jit(stopped)(0.5, 4)


def test_what_is_given_a_time_reads_no_clock() -> None:
    def year(x: Any) -> Any:
        return x * time.gmtime(0).tm_year + datetime.datetime(2000, 1, 1).year

    np.testing.assert_array_equal(jit(year)(X), year(X))
