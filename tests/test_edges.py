"""The edges of functions: infinities, NaN, signed zeros, extreme integers, and kinks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as special
import scipy.stats as st

import autojit
from autojit import grad, jit

UNARY = [
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.sin,
    np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh,
    np.arccosh, np.arctanh, np.negative, np.absolute, np.sign, np.floor, np.ceil, np.trunc,
    np.rint, np.square, np.reciprocal, np.isnan, np.isinf, np.isfinite, np.deg2rad, np.sinc,
    special.erf, special.erfc, special.ndtr, special.expit, special.log_expit, np.nan_to_num,
]  # fmt: skip
BINARY = [
    np.add, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.fmod, np.power,
    np.maximum, np.minimum, np.fmax, np.fmin, np.arctan2, np.hypot, np.logaddexp, np.logaddexp2,
    np.heaviside, np.less, np.equal, np.not_equal, np.logical_and, special.xlogy, special.xlog1py,
]  # fmt: skip


def special_values(dtype: Any) -> np.ndarray:
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    positive = [0.0, tiny, 1e-30, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 88.9, 710.0, 1e30, huge, np.inf]
    return np.array([*positive, *(-x for x in positive), np.nan]).astype(dtype)


#: NumPy does not define which of 0 and -0 is the larger.
UNSIGNED = {np.maximum, np.minimum, np.fmax, np.fmin}


def assert_equal_everywhere(got: Any, want: Any, *arguments: Any, signed: bool = True) -> None:
    """The same infinities, NaN and signs of zero, and values to a few units in the last place."""
    assert got.dtype == want.dtype
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    eps = 16 * np.finfo(want.dtype).eps
    # Where results overflow or underflow, a single rounding decides.
    edge = np.finfo(want.dtype).smallest_normal * 4
    near = np.isclose(got, want, rtol=eps, atol=edge, equal_nan=True)
    signs = (np.signbit(got) == np.signbit(want)) | (not signed)
    wrong = ~(near & (signs | np.isnan(want) | (want != 0)))
    listed = [tuple(np.asarray(v)[wrong][:5] for v in (*arguments, got, want))]
    assert not wrong.any(), listed


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("ufunc", UNARY, ids=lambda f: f.__name__)
def test_special_values(ufunc: Any, dtype: Any) -> None:
    x = special_values(dtype)
    with np.errstate(all="ignore"):
        want = ufunc(x)
    with autojit.disable_jit():
        assert_equal_everywhere(jit(ufunc)(x), want, x)
    assert_equal_everywhere(jit(ufunc)(x), want, x)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
def test_special_pairs(ufunc: Any, dtype: Any) -> None:
    x = special_values(dtype)
    a, b = (v.ravel() for v in np.meshgrid(x, x))
    with np.errstate(all="ignore"):
        want = ufunc(a, b)
    assert_equal_everywhere(jit(ufunc)(a, b), want, a, b, signed=ufunc not in UNSIGNED)


@pytest.mark.parametrize("reduction", [np.sum, np.prod, np.max, np.min, np.mean, np.argmax,
                                       np.argmin, np.any, np.std, np.linalg.norm])  # fmt: skip
def test_reductions_of_special_values(reduction: Any) -> None:
    for number in (np.nan, np.inf, -np.inf, -0.0):
        for place in (0, 7, 20):
            x = np.arange(1.0, 22.0)
            x[place] = number
            with np.errstate(all="ignore"):
                want = np.asarray(reduction(x))
            got = np.asarray(jit(reduction)(x))
            np.testing.assert_allclose(got, want, rtol=1e-14)


INTEGERS = [np.int8, np.int64, np.uint8, np.uint64, np.int16, np.uint32]
INTEGER_OPERATIONS = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, np.fmod,
    operator.truediv, operator.and_, operator.or_, operator.xor, np.maximum, operator.lt,
    operator.le, operator.eq,
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("operation", INTEGER_OPERATIONS, ids=lambda f: f.__name__)
def test_extreme_integers(operation: Callable[..., Any]) -> None:
    @jit
    def compiled(*pairs: Any) -> Any:
        return [operation(a, b) for a, b in zip(pairs[::2], pairs[1::2], strict=True)]

    arguments = []
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        numbers = {info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max}
        numbers |= {-1, -2, -7} if info.min else set()
        x = np.array(sorted(numbers), dtype)
        arguments += [v.ravel() for v in np.meshgrid(x, x)]
    with np.errstate(all="ignore"):
        want = [operation(a, b) for a, b in zip(arguments[::2], arguments[1::2], strict=True)]
    for g, w in zip(compiled(*arguments), want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g, w)


def test_shifts() -> None:
    for dtype in (np.int8, np.uint8, np.int64, np.uint64):
        x = np.array([-128 if np.iinfo(dtype).min else 128, 1, 5, 127], dtype)
        by = np.array([0, 1, 7, np.dtype(dtype).itemsize * 8 - 1], dtype)
        a, b = (v.ravel() for v in np.meshgrid(x, by))
        left, right = jit(lambda a, b: (a << b, a >> b))(a, b)
        np.testing.assert_array_equal(left, a << b)
        np.testing.assert_array_equal(right, a >> b)


def test_conversions() -> None:
    x = np.array([0.0, -0.0, 0.5, -0.5, 1.9, -1.9, 100.4, -100.4])
    kinds = [np.int8, np.int32, np.int64, np.float32, np.complex64, np.bool_, np.complex128]
    for kind, got in zip(kinds, jit(lambda x: [x.astype(k) for k in kinds])(x), strict=True):
        np.testing.assert_array_equal(got, x.astype(kind))
    i = np.array([0, 1, -1, 127, -128, 300, -300, 2**40])
    kinds = [np.int8, np.uint8, np.uint64, np.float32, np.float64, np.bool_]
    for kind, got in zip(kinds, jit(lambda i: [i.astype(k) for k in kinds])(i), strict=True):
        np.testing.assert_array_equal(got, i.astype(kind))


def test_integers_to_negative_powers_raise_as_in_numpy() -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        np.arange(3) ** -1
    with pytest.raises(ValueError, match="negative integer powers"):
        jit(lambda i: i**-1)(np.arange(3))


# -- kinks: a finite subgradient where there is one ---------------------------

KINKS: list[tuple[str, Callable[..., Any], float, float]] = [
    ("abs at 0", np.abs, 0.0, 0.0),
    ("sign", np.sign, 0.0, 0.0),
    ("relu at 0", lambda x: np.maximum(x, 0), 0.0, 0.5),
    ("minimum with itself", lambda x: np.minimum(x, x), 3.0, 1.0),
    ("clip at its bound", lambda x: np.clip(x, -1, 1), 1.0, 0.5),
    ("clip outside", lambda x: np.clip(x, -1, 1), 2.0, 0.0),
    ("x**0", lambda x: x**0, 0.0, 0.0),
    ("x**0.0", lambda x: x**0.0, 0.0, 0.0),
    ("x**1", lambda x: x**1, 0.0, 1.0),
    ("x**2", lambda x: x**2, 0.0, 0.0),
    ("x**2.0", lambda x: x**2.0, 0.0, 0.0),
    ("2.0**x", lambda x: 2.0**x, 0.0, np.log(2)),
    ("0.0**x", lambda x: 0.0**x, 2.0, 0.0),
    ("norm at 0", lambda x: np.linalg.norm(np.stack([x, 0 * x])), 0.0, 0.0),
    ("hypot at 0", lambda x: np.hypot(x, 0.0), 0.0, 0.0),
    ("std of equal numbers", lambda x: np.std(np.stack([x, x])), 1.0, 0.0),
    ("max of equal numbers", lambda x: np.max(np.stack([x, x, x])), 1.0, 1.0),
    ("guarded log", lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1)), 0), 0.0, 0.0),
    ("unguarded log", lambda x: np.where(x > 0, np.log(x), x), -1.0, 1.0),
    ("unguarded sqrt", lambda x: np.where(x > 0, np.sqrt(x), 0), 0.0, 0.0),
    ("unguarded division", lambda x: np.where(x == 0, 1.0, np.sin(x) / x), 0.0, 0.0),
    ("sinc at 0", np.sinc, 0.0, 0.0),
    ("xlogy at 0", lambda x: special.xlogy(0.0 * x, x), 1.0, 0.0),
    ("xlogy by a factor of 0", lambda x: special.xlogy(x, 3.0), 0.0, np.log(3)),
    ("xlogy of zeros", lambda x: special.xlogy(x, 0.0), 0.0, 0.0),
    ("entr at 0", special.entr, 0.0, np.inf),
    ("entr at -0", special.entr, -0.0, np.inf),
    ("entr below 0", special.entr, -1.0, 0.0),
    ("rel_entr at 0", lambda x: special.rel_entr(x, 0.5), 0.0, -np.inf),
    ("rel_entr of 0", lambda y: special.rel_entr(0.0, y), 0.5, 0.0),
    ("rel_entr of zeros", lambda x: special.rel_entr(x, 0.0), 0.0, 0.0),
    ("kl_div at 0", lambda x: special.kl_div(x, 0.5), 0.0, -np.inf),
    ("kl_div of 0", lambda y: special.kl_div(0.0, y), 0.5, 1.0),
    ("xlog1py by a factor of 0", lambda x: special.xlog1py(x, 3.0), 0.0, np.log(4)),
    (
        "a density by a power of 0",
        lambda a: st.gamma.logpdf(0.7, a),
        1.0,
        np.log(0.7) + np.euler_gamma,
    ),
    ("0 by a negative exponent", lambda p: np.power(0.0, p), -2.0, -np.inf),
    ("0 by the exponent 0", lambda p: np.power(0.0, p), 0.0, 0.0),
    ("0 by a positive exponent", lambda p: np.power(0.0, p), 2.0, 0.0),
    ("prod with one zero", lambda x: np.prod(np.stack([x, 2 + 0 * x, 3 + 0 * x])), 0.0, 6.0),
    ("prod with two zeros", lambda x: np.prod(np.stack([x, x, 3 + 0 * x])), 0.0, 0.0),
    ("logaddexp far away", lambda x: np.logaddexp(x, -1000.0), 1000.0, 1.0),
    ("logsumexp of -inf", lambda x: np.logaddexp.reduce(np.stack([x, x - np.inf])), 1.0, 1.0),
    ("expit far away", special.expit, -1000.0, 0.0),
    ("softplus far away", lambda x: np.logaddexp(0, x), -1000.0, 0.0),
    ("arctan2 on the axis", lambda x: np.arctan2(x, 1.0), 0.0, 1.0),
    ("tanh far away", np.tanh, 1000.0, 0.0),
    ("floor", np.floor, 0.5, 0.0),
    ("x % 1", lambda x: x % 1, 0.25, 1.0),
    ("square of abs", lambda x: np.abs(x) ** 2, 0.0, 0.0),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "f", "x", "slope"), KINKS, ids=[k[0] for k in KINKS])
def test_kinks(name: str, f: Callable[..., Any], x: float, slope: float) -> None:
    for g in (grad(f), jit(grad(f))):
        assert g(x) == pytest.approx(slope, abs=1e-300), name


SECOND = [
    ("x**2", lambda x: x**2, 0.0, 2.0),
    ("x**2.0", lambda x: x**2.0, 0.0, 2.0),
    ("x**3", lambda x: x**3, 0.0, 0.0),
    ("prod", lambda x: np.prod(np.stack([x, x, 3 + 0 * x])), 0.0, 6.0),
    ("sinc", np.sinc, 0.0, -(np.pi**2) / 3),
    ("relu", lambda x: np.maximum(x, 0) ** 2, -1.0, 0.0),
    ("logaddexp", lambda x: np.logaddexp(x, 0.0), 0.0, 0.25),
    ("sqrt guarded", lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1)), 0), 0.0, 0.0),
]


@pytest.mark.parametrize(("name", "f", "x", "slope"), SECOND, ids=[k[0] for k in SECOND])
def test_second_derivatives_at_kinks(
    name: str, f: Callable[..., Any], x: float, slope: float
) -> None:
    for g in (grad(grad(f)), jit(grad(grad(f)))):
        assert g(x) == pytest.approx(slope, rel=1e-15, abs=1e-300), name


def test_ties_share_the_gradient() -> None:
    x = np.array([1.0, 3.0, 3.0, 2.0])
    np.testing.assert_array_equal(grad(np.max)(x), [0, 0.5, 0.5, 0])
    np.testing.assert_array_equal(grad(np.min)(np.ones(4)), [0.25] * 4)
    a, b = grad(lambda a, b: np.sum(np.maximum(a, b)), (0, 1))(np.ones(2), np.array([1.0, 2.0]))
    np.testing.assert_array_equal([a, b], [[0.5, 0], [0.5, 1]])


def test_nan_in_a_branch_not_taken_does_not_spread() -> None:
    x = np.array([-1.0, 0.0, 4.0])
    gradient = jit(grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0))))(x)
    np.testing.assert_array_equal(gradient, [0, 0, 0.25])
