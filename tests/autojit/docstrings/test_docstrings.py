"""The examples of NumPy's and SciPy's docstrings, traced: their values, or a refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import autojit
from autojit import jit
from autojit.errors import AutojitError

from .examples import examples, functions, leaves

FUNCTIONS = functions()
#: Functions of which an example has another value, and why.
OTHERS = {
    "numpy.partition": "the order within the parts is free",
    "numpy.poly": "complex: whether eigenvalues are real depends on values",
    "numpy.linalg.eigvals": "complex: whether eigenvalues are real depends on values",
    "numpy.linalg.eig": "complex: whether eigenvalues are real depends on values",
    "numpy.linalg.inv": "the matrix is singular",
    "scipy.linalg.cho_factor": "the other triangle is free",
    "scipy.linalg.eig": "the signs of vectors are free",
    "scipy.linalg.eigh": "the signs of vectors are free",
    "scipy.linalg.eig_banded": "the signs of vectors are free",
    "scipy.linalg.lstsq": "the rank is an int64",
    "scipy.linalg.orthogonal_procrustes": "the matrix has not full rank",
    "scipy.linalg.solve_discrete_are": "r is singular",
    "scipy.signal.group_delay": "badly conditioned at the edge of the band",
    "scipy.integrate.odeint": "other steps, within the tolerance",
    "scipy.ndimage.maximum": "a float64 for integers",
    "scipy.ndimage.minimum": "a float64 for integers",
}


@pytest.mark.sampled(60)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OTHERS.keys()))
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some examples write files
    for text, function, arguments, want in examples(name, FUNCTIONS[name]):
        try:
            with autojit.disable_jit():
                got = jit(function)(*arguments)
        except AutojitError:
            continue  # a refusal
        for g, w in zip(leaves(got), leaves(want), strict=True):
            assert (np.shape(g), np.asarray(g).dtype) == (np.shape(w), np.asarray(w).dtype), text
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-10, err_msg=text)
