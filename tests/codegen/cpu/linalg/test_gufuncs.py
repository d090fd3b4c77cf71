"""NumPy's loops in compiled code: every layout, surrounding loops, and matrices that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.codegen.cpu.abi import abi
from autojit.codegen.loop_ir.errors import TargetError
from autojit.codegen.lowering.lower import lower

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 5, 4))

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: np.fft.fft(x.transpose(2, 0, 1)),
    "reversed": lambda x: np.fft.rfft(x[::-1, :, ::-1], axis=1),
    "steps": lambda x: np.fft.fft(x[:, ::2], axis=0),
    "repeated": lambda x: np.fft.rfft(np.broadcast_to(x[0], (2, 5, 4)), axis=2),
    "collapsed": lambda x: np.fft.irfft(x + 2j * x, axis=0),
    "two axes": lambda x: np.fft.ifft2(x, axes=(0, 2)),
    "nothing": lambda x: np.fft.fft(x[:0]),
    "one point": lambda x: np.fft.rfft(x[..., :1]),
}


def test_layouts() -> None:
    found = jit(lambda x: [f(x) for f in LAYOUTS.values()])(X)
    for name, got in zip(LAYOUTS, found, strict=True):
        want = LAYOUTS[name](X)
        assert got.dtype == want.dtype, name
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13, err_msg=name)


def test_the_longest_other_axis_is_the_outer_loop() -> None:
    program = autojit.trace(lambda x: np.fft.rfft(x, axis=1))(np.ones((2, 6, 30)))
    (step,) = lower(program).steps
    assert str((step.batch, step.m, step.n)) == "((2,), 30, 6)"
    program = autojit.trace(np.fft.rfft)(np.ones((2, 6, 30)))
    (step,) = lower(program).steps
    assert str((step.batch, step.m, step.n)) == "((), 12, 30)"


def test_in_a_loop() -> None:
    def filtered(x: Any) -> Any:
        for _ in range(30):
            half = np.fft.rfft(x)
            x = x + np.fft.irfft(half * np.exp(-np.arange(half.shape[0])), x.shape[0])
        return np.sum(x**2) * 1e-18

    x = X[0, 0]
    assert np.isclose(jit(filtered)(x), filtered(x), rtol=1e-12)
    step = 1e-6 * np.cos(np.arange(x.size))
    slope = (filtered(x + step) - filtered(x - step)) / 2
    assert np.isclose(jit(grad(filtered))(x) @ step, slope, rtol=1e-6)


def test_a_gradient_is_one_transform_more() -> None:
    gradient = grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2))
    names = [op.kind.name for op in autojit.trace(gradient)(X[0, 0]).ops]
    assert names.count("fourier") == 2


FAILING: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cholesky": ("Matrix is not positive definite", np.linalg.cholesky),
    "solve": ("Singular matrix", lambda a: np.linalg.solve(a * 0, a)),
    "eigh": ("Eigenvalues did not converge", lambda a: np.linalg.eigh(a * np.nan)[0]),
    "eig": ("Eigenvalues did not converge", lambda a: np.linalg.eig(a.real * np.nan)[0]),
    "svd": ("SVD did not converge", lambda a: np.linalg.svd(a * np.nan)[1]),
}


@pytest.mark.parametrize("name", FAILING)
def test_failures_of_complex_matrices(name: str) -> None:
    words, f = FAILING[name]
    with pytest.raises(np.linalg.LinAlgError, match=words):
        jit(f)(-np.eye(3) * (1 + 0j))


def test_a_missing_loop_is_named() -> None:
    with pytest.raises(TargetError, match=r"has no numpy\.fft\._pocketfft_umath\.fft of types X"):
        abi.library_function(f"{abi.GUFUNC}numpy.fft._pocketfft_umath fft X")
