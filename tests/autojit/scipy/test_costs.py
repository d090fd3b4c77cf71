"""Densities and transforms by SciPy's names cost what their formulas cost, in loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.special as sc
import scipy.stats as st

import autojit
from autojit import value_and_grad, vjp
from autojit.codegen.loop_ir.cost import work
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.lowering.lower import lower
from autojit.ir.passes import optimize

X = np.linspace(0.1, 3.0, 1000)
K = np.arange(1000) % 7


def _normal(z: Any) -> Any:
    return -(z**2) / 2 - np.log(2 * np.pi) / 2


#: A density by SciPy's name, the same by its formula, and the places and parameters.
DENSITIES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "norm": (st.norm.logpdf, lambda x, m, s: _normal((x - m) / s) - np.log(s), (X, 0.5, 2.0)),
    "laplace": (
        st.laplace.logpdf, lambda x, m, s: -np.abs((x - m) / s) - np.log(2) - np.log(s),
        (X, 0.5, 2.0),
    ),
    "cauchy": (
        st.cauchy.logpdf, lambda x, m, s: -np.log1p(((x - m) / s) ** 2) - np.log(np.pi * s),
        (X, 0.5, 2.0),
    ),
    "logistic": (
        st.logistic.logpdf,
        lambda x, m, s: -np.abs((x - m) / s) - 2 * np.log1p(np.exp(-np.abs((x - m) / s)))
        - np.log(s),
        (X, 0.5, 2.0),
    ),
    "gamma": (
        lambda x, a, s: st.gamma.logpdf(x, a, scale=s),
        lambda x, a, s: sc.xlogy(a - 1, x / s) - x / s - sc.gammaln(a) - np.log(s), (X, 2.3, 1.5),
    ),
    "poisson": (
        st.poisson.logpmf, lambda k, m: sc.xlogy(k, m) - sc.gammaln(k + 1) - m, (K, 2.5),
    ),
}  # fmt: skip


def additions(log_density: Callable[..., Any], x: Any, parameters: Any) -> int:
    """The work of the sum of a density and its gradient by all parameters, in additions."""

    def total(*p: Any) -> Any:
        return np.sum(log_density(x, *p))

    argnums = tuple(range(len(parameters)))
    program = optimize(autojit.trace(value_and_grad(total, argnums))(*parameters))
    return sum(work(step.body) for step in lower(program).steps if isinstance(step, Kernel))


@pytest.mark.parametrize("name", DENSITIES)
def test_a_density_costs_what_its_formula_costs(name: str) -> None:
    theirs, formula, (x, *parameters) = DENSITIES[name]
    np.testing.assert_allclose(theirs(x, *parameters), formula(x, *parameters), rtol=1e-12)
    got, wanted = additions(theirs, x, parameters), additions(formula, x, parameters)
    # A check of the parameters may cost some additions for all elements together.
    assert got <= wanted + len(x) / 10


def test_an_array_of_scales_costs_its_check_as_well() -> None:
    # A comparison, a choice and an addition, since SciPy's density is NaN where a scale is not
    # positive.
    theirs, formula, _ = DENSITIES["norm"]
    parameters = (1.2, X, X + 1)
    got, wanted = (additions(f, parameters[0], parameters[1:]) for f in (theirs, formula))
    assert got <= wanted + 3 * len(X) + 10


#: A transform, its argument, and the axes that it goes along.
TRANSFORMS: dict[str, tuple[Callable[..., Any], Any, int]] = {
    "np.fft.fft": (np.fft.fft, X + 0j, 1),
    "np.fft.ifft": (lambda z: np.fft.ifft(z, norm="ortho"), X + 0j, 1),
    "np.fft.rfft": (np.fft.rfft, X, 1),
    "np.fft.irfft": (np.fft.irfft, X + 0j, 1),
    "scipy.fft.fft2": (scipy.fft.fft2, X.reshape(20, 50) + 0j, 2),
    "scipy.fft.dct": (scipy.fft.dct, X, 1),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_gradient_of_a_transform_is_one_transform(name: str) -> None:
    transform, x, axes = TRANSFORMS[name]
    program = optimize(autojit.trace(lambda x, g: vjp(transform, x)[1](g))(x, transform(x)))
    assert [op.kind.name for op in program.ops].count("fourier") == axes
