"""SciPy's BLAS and Numba's threads, found without importing either package as a whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autojit.codegen.cpu.host import extensions, threads

#: Runs a product and a threaded loop in a new process; then compares with Numba and SciPy.
PROGRAM = """
import json, sys
import numpy as np
from autojit import jit

x = np.random.default_rng(0).normal(size=(20_000, 200))
both = jit(lambda x: np.sum(np.exp(np.sin(x) * np.cos(x))) + np.sum(x.T @ x))
want = np.sum(np.exp(np.sin(x) * np.cos(x))) + np.sum(x.T @ x)
assert abs(both(x) / want - 1) < 1e-12
before = [name for name in ("numba", "scipy.linalg") if name in sys.modules]

from autojit.codegen.cpu.host import threads
mine = threads.layer()

import numba
import scipy.linalg.cython_blas

@numba.njit(parallel=True)
def total(x):
    s = 0.0
    for i in numba.prange(x.shape[0]):
        s += x[i, 0]
    return s

@numba.njit
def product(x):
    return np.dot(x.T, x)

assert abs(total(x) - x[:, 0].sum()) < 1e-9
assert np.allclose(product(x), x.T @ x)
assert np.allclose(scipy.linalg.solve(x.T @ x, x[0]), np.linalg.solve(x.T @ x, x[0]))
assert scipy.linalg.cython_blas.__pyx_capi__
assert abs(both(x) / want - 1) < 1e-12
count = numba.get_num_threads()
print(json.dumps([before, mine.name, numba.threading_layer(), count, bool(mine.parallel_for)]))
"""


def run(**environment: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[4],
        env={**os.environ, "AUTOJIT_CACHE_DIR": os.devnull, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
def test_neither_package_is_imported_and_both_work_later() -> None:
    before, mine, numbas, count, used = run(NUMBA_NUM_THREADS="2")
    if not threads._has_tbb() and mine == "omp":
        assert before == []
    assert (mine, used) == (numbas, mine in ("omp", "tbb"))
    assert count == 2


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_what_numba_is_told_holds(layer: str) -> None:
    before, mine, numbas, _, used = run(NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    assert "numba" in before  # Numba decides then
    assert mine == numbas == layer
    assert used == (layer == "omp")


@pytest.mark.slow
def test_one_thread() -> None:
    _, mine, _, count, used = run(NUMBA_NUM_THREADS="1")
    assert (mine, count, used) == ("none", 1, False)


def test_as_many_threads_as_numba_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    from numba.core import config

    assert threads.thread_count() == config.NUMBA_DEFAULT_NUM_THREADS
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert threads.thread_count() == 3


def test_what_lies_elsewhere_is_imported() -> None:
    assert extensions._file("scipy.linalg.nothing_of_the_kind") is None
    assert extensions._file("no_such_package.part") is None
    assert extensions.extension("json.decoder").JSONDecoder
    with pytest.raises(ImportError):
        extensions.extension("scipy.linalg.nothing_of_the_kind")
