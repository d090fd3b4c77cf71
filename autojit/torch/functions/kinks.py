"""Derivatives at points where formulas give none (ties, origins, ends), as PyTorch defines them."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.torch.engine.rules import Operation
from autojit.transformations.custom import custom_jvp

#: The least denominator of the derivative of the binary cross-entropy.
_LEAST = 1e-12


@custom_jvp
def _arctan2(a: Any, b: Any) -> Any:
    return np.arctan2(a, b)


def _squares(a: Any, b: Any) -> Any:
    """``a**2 + b**2``, but 1 at the origin, so that the derivative is 0 there."""
    found = a * a + b * b
    return np.where(found == 0, 1, found)


_arctan2.defjvps(
    lambda t, out, a, b: t * (b / _squares(a, b)), lambda t, out, a, b: t * (-a / _squares(a, b))
)
ATAN2 = Operation("Atan2", _arctan2, eager=np.arctan2)


@custom_jvp
def _hypot(a: Any, b: Any) -> Any:
    return np.hypot(a, b)


_hypot.defjvps(
    lambda t, out, a, b: t * (a / np.hypot(a, b)), lambda t, out, a, b: t * (b / np.hypot(a, b))
)
HYPOT = Operation("Hypot", _hypot, eager=np.hypot)


def _scipy_xlogy(x: Any, y: Any) -> Any:
    from scipy.special import xlogy

    return xlogy(x, y)


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return _scipy_xlogy(x, y)


# The derivative with respect to x is log(y), but 0 at x = 0 if y <= 0.
_xlogy.defjvps(
    lambda t, out, x, y: t * np.log(np.where((x == 0) & (y <= 0), 1, y)),
    lambda t, out, x, y: t * (x / y),
)
XLOGY = Operation("Xlogy", _xlogy, eager=_scipy_xlogy)


def _one_of(name: str, compute: Any, first: Any) -> Operation:
    """An operation that picks the first operand where ``first`` holds or the second is NaN, else
    the second; the picked operand gets the whole gradient."""

    @custom_jvp
    def call(a: Any, b: Any) -> Any:
        return compute(a, b)

    def takes_first(a: Any, b: Any) -> Any:
        return first(a, b) | np.isnan(b)

    call.defjvps(
        lambda t, out, a, b: np.where(takes_first(a, b), t, 0),
        lambda t, out, a, b: np.where(takes_first(a, b), 0, t),
    )
    return Operation(name, call, eager=compute)


FMAX = _one_of("Fmax", np.fmax, np.greater_equal)
FMIN = _one_of("Fmin", np.fmin, np.less_equal)


@custom_jvp
def binary_cross_entropies(x: Any, target: Any) -> Any:
    """The cross-entropies of probabilities.

    Logarithms are clipped at -100; at the ends 0 and 1 the derivative with respect to a probability
    is large.
    """
    return (target - 1) * np.maximum(np.log1p(-x), -100) - target * np.maximum(np.log(x), -100)


binary_cross_entropies.defjvps(
    lambda t, out, x, target: t * ((x - target) / np.maximum((1 - x) * x, _LEAST)),
    lambda t, out, x, target: t * (np.log1p(-x) - np.log(x)),
)


def _middle(x: Any, axis: int) -> tuple[Any, Any]:
    """The lower median along an axis and its index, each of length 1; NaN if any element is NaN."""
    order = np.argsort(x, axis=axis, kind="stable")
    n = (x.shape[axis] - 1) // 2
    place = order[(slice(None),) * axis + (slice(n, n + 1),)]
    if np.dtype(x.dtype).kind == "f":
        unknown = np.isnan(x)
        first = np.argmax(unknown, axis=axis, keepdims=True)
        place = np.where(np.any(unknown, axis=axis, keepdims=True), first, place)
    return np.take_along_axis(x, place, axis), place


def _along(x: Any, axis: int, keepdims: bool) -> Any:
    found = _middle(x, axis)
    return found if keepdims else tuple(np.squeeze(f, axis) for f in found)


@custom_jvp
def _of_all(x: Any) -> Any:
    return _middle(np.reshape(x, (-1,)), 0)[0][0]


@_of_all.defjvp
def _shared(primals: Any, tangents: Any) -> Any:
    """The JVP of the median: elements equal to the median share its derivative equally."""
    (x,), (t,) = primals, tangents
    found = _of_all(x)
    ties = (x == found) | (np.isnan(x) & np.isnan(found))
    return found, np.sum(np.where(ties, t, 0)) / np.sum(ties)


MEDIAN = Operation("Median", _of_all)
MEDIAN_ALONG = Operation("Median", _along)
