"""Derivatives of special functions compared with mpmath, if the declarations state an error."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as special

import autojit
from autojit.scipy.special import zeta

mpmath = pytest.importorskip("mpmath")

F = Callable[..., Any]


def derivative(f: F, position: int, *arguments: Any) -> Any:
    """The derivative with respect to one argument, in float64."""

    def total(x: Any) -> Any:
        given = list(arguments)
        given[position] = x
        return np.sum(f(*given))

    with autojit.disable_jit():
        return autojit.grad(total)(arguments[position])


def exact(f: F, position: int, rows: Any) -> list[float]:
    """The derivative by differences with 50 digits."""
    found = []
    with mpmath.workdps(50):
        for row in rows:
            numbers = [mpmath.mpf(float(x)) for x in row]

            def along(x: Any, numbers: Any = numbers) -> Any:
                return f(*numbers[:position], x, *numbers[position + 1 :])

            h = mpmath.mpf(10) ** -14 * max(abs(numbers[position]), mpmath.mpf(10) ** -3)
            x = numbers[position]
            found.append(float((along(x + h) - along(x - h)) / (2 * h)))
    return found


SHAPES = [(0.01, 1e-4), (0.01, 0.5), (0.1, 1e-9), (0.5, 3), (1, 0.01), (2, 6), (30, 20), (30, 31),
          (30, 60), (1e3, 950), (1e3, 1010), (1e4, 9900), (5, 1e-4), (0.3, 20)]  # fmt: skip
BETAS = [(0.5, 0.5, 0.3), (2, 3, 0.4), (2, 3, 0.9), (20, 5, 0.95), (0.1, 4, 0.01), (0.1, 0.2, 0.9),
         (0.01, 0.02, 0.5), (200, 300, 0.38), (200, 300, 0.45), (5, 0.5, 1e-3), (2e3, 3e3, 0.4),
         (0.05, 1, 1e-8)]  # fmt: skip
ORDERS = [(0.5, 1e-3), (0.0, 1.0), (2.5, 0.3), (-1.5, 4.0), (20, 3.0), (45, 40.0), (0.7, 900.0)]
WAVES = [(0.0, 1e-3), (0.3, 1.0), (-0.4, 5.0), (1.0, 0.1), (-3.0, 2.0), (2.5, 100.0),
         (10.3, 20.0), (99.5, 1.0), (-30.5, 20.0), (50.0, 45.0), (0.3, 290.0),
         (120.0, 170.0)]  # fmt: skip
PAIRS = [(0.5, 1.5, 20), (0.5, 1.5, -20), (3, 0.5, 100), (0.2, 0.1, -3), (2.5, 7, -100),
         (30, 20, 50), (-2.5, 0.7, 3), (-2, 1.5, 1), (2, 2, -3), (1e-3, 2, 1)]  # fmt: skip
TRIPLES = [(1, 2, 3, 0.5), (0.5, 0.5, 1, 0.9), (0.5, 1.5, 2, 0.95), (1, 1, 2, -1),
           (3, 5, 0.1, 0.3), (0.5, 2.5, 0.7, -10), (10, 0.3, 20, -3), (-2, 3, 1.5, 0.4),
           (3, 2, 2.5, -0.5)]  # fmt: skip
ZETAS = [(1.01, 1), (1.5, 0.1), (2, 3.5), (4, 30), (12, 0.7), (30, 2)]
TRICOMIS = [(0.5, 1.5, 0.01), (-0.9, 0.3, 2), (1, 1, 5), (30, -10, 0.3), (3, 10, 30), (2, 2, 0.01),
            (0.1, -4, 7), (12, 0.5, 30)]  # fmt: skip
#: SciPy's function, the argument, mpmath's function, the points, the relative error.
CASES: list[tuple[str, F, int, F, Any, float]] = [
    ("gammainc by a", special.gammainc, 0,
     lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), SHAPES, 1e-10),
    ("betainc by a", special.betainc, 0,
     lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True), BETAS, 1e-10),
    ("betainc by b", special.betainc, 1,
     lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True), BETAS, 1e-10),
    ("kve by order", special.kve, 0,
     lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x), ORDERS, 1e-12),
    ("ive by order", special.ive, 0,
     lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-x),
     [(0.5, 1e-3), (0.0, 1.0), (0.3, 0.02), (2.5, 0.3), (-0.3, 2.0), (-1.5, 4.0), (20, 3.0),
      (45, 40.0), (7.0, 150.0), (3.0, 900.0)], 1e-12),
    ("jv by order", special.jv, 0, mpmath.besselj, WAVES, 1e-11),
    ("yv by order", special.yv, 0, mpmath.bessely, WAVES, 1e-11),
    ("hyp0f1 by b", special.hyp0f1, 0, mpmath.hyp0f1,
     [(0.1, -20.0), (1.5, 0.0), (30.0, 5.0), (0.7, 1000.0)], 1e-10),
    *[(f"hyp1f1 by {'ab'[k]}", special.hyp1f1, k, mpmath.hyp1f1, PAIRS, 1e-10) for k in (0, 1)],
    *[(f"hyp2f1 by {'abc'[k]}", special.hyp2f1, k, mpmath.hyp2f1, TRIPLES, 1e-10)
      for k in (0, 1, 2)],
    *[(f"hyperu by {'ab'[k]}", special.hyperu, k, mpmath.hyperu, TRICOMIS, 1e-8) for k in (0, 1)],
    ("zeta by s", zeta, 0, mpmath.zeta, ZETAS, 1e-12),
    ("elliprd by x", special.elliprd, 0, mpmath.elliprd,
     [(1, 1, 1), (0.1, 2, 0.1), (1e-6, 3, 2), (1, 2, 1e-4)], 1e-11),
    ("elliprj by p", special.elliprj, 3, mpmath.elliprj,
     [(1, 1, 1, 1), (0.1, 2, 0.1, 5), (0, 3, 2, 1)], 1e-11),
    ("ellipk", special.ellipk, 0, mpmath.ellipk, [(0.0,), (1e-6,), (0.999,), (-5,)], 1e-13),
    ("stdtr by df", special.stdtr, 0,
     lambda v, t: mpmath.betainc(v / 2, 0.5, 0, v / (v + t * t), regularized=True) / 2
     if t < 0 else -mpmath.betainc(v / 2, 0.5, 0, v / (v + t * t), regularized=True) / 2,
     [(1, -1e-5), (2.5, 0.3), (30, -3), (4, 12)], 1e-10),
    ("kolmogorov", special.kolmogorov, 0,
     lambda x: 2 * mpmath.nsum(lambda k: (-1) ** (k - 1) * mpmath.exp(-2 * k * k * x * x),
                               [1, mpmath.inf]),
     [(0.3,), (0.9,), (1.0,), (2.0,)], 1e-11),
    ("rgamma at a pole", special.rgamma, 0, mpmath.rgamma, [(0,), (-1,), (-3,), (-2.5,)], 1e-12),
    ("spence near 1", special.spence, 0, lambda z: mpmath.polylog(2, 1 - z),
     [(1,), (1.001,), (0.97,), (1.03,)], 1e-13),
    ("inv_boxcox by lambda", special.inv_boxcox, 1,
     lambda y, p: mpmath.exp(mpmath.log1p(p * y) / p), [(0.7, 1e-7), (0.4, -0.6)], 1e-9),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_stated_errors(case: Any) -> None:
    _, f, position, of_mpmath, rows, tolerance = case
    arguments = [np.array(column, float) for column in zip(*rows, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = derivative(f, position, *arguments)
        np.testing.assert_allclose(got, exact(of_mpmath, position, rows), rtol=tolerance)


def test_second_derivatives_at_removable_singularities() -> None:
    def second(f: F, x: float) -> float:
        with autojit.disable_jit():
            return float(autojit.grad(autojit.grad(f))(x))

    assert second(special.spence, 1.0) == pytest.approx(0.5, rel=1e-14)
    assert second(lambda x: special.sici(x)[0], 0.0) == 0
    assert second(special.ellipk, 0.0) == pytest.approx(9 * np.pi / 64, rel=1e-12)
    assert second(special.exprel, 0.0) == pytest.approx(1 / 3, rel=1e-14)


def test_what_is_not_known_is_no_number() -> None:
    """Series that do not converge, too large arguments, and second derivatives at factors of 0 give
    NaN or infinity."""

    def slope(f: F, *given: float) -> Any:
        return derivative(f, 0, *given)

    assert np.isnan(slope(special.hyp2f1, 0.5, 1.5, 2.0, 0.999))
    assert np.isnan(slope(special.hyp0f1, 1.5, -500.0))
    assert np.isnan(slope(special.hyperu, -1.5, 0.5, 2.0))
    assert np.isnan(slope(special.jv, 1.0, -2.0))
    assert np.isnan(slope(special.yv, 100.0, 250.0))
    by_a = autojit.grad(special.hyp1f1)
    with autojit.disable_jit():
        assert not np.isfinite(autojit.grad(by_a)(-2.0, 1.5, 1.0))
        assert not np.isfinite(autojit.grad(autojit.grad(special.hyp1f1, 1))(-2.0, 1.5, 1.0))
        mixed = mpmath.diff(mpmath.hyp1f1, (-2, 1.5, 1), (1, 1, 0))
        assert autojit.grad(by_a, 1)(-2.0, 1.5, 1.0) == pytest.approx(float(mixed), rel=1e-8)
        assert autojit.grad(by_a)(-2.5, 1.5, 1.0) == pytest.approx(
            float(mpmath.diff(lambda a: mpmath.hyp1f1(a, 1.5, 1), -2.5, 2)), rel=1e-8
        )
