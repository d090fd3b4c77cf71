"""Filters as second-order sections, whose roots are paired by their traced values.

The number of roots determines the number of sections. The compiled code chooses the roots of each
section as SciPy does: the pole nearest the unit circle goes into the last section, with the nearest
zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, refused
from autojit.scipy.registry import answers

from .systems import tf2zpk

#: A root counts as real if its imaginary part is at most this share of it, as in SciPy.
ROUNDING = 100 * np.finfo(float).eps


class _Roots:
    """The real roots and one of each conjugate pair; each can be taken once."""

    def __init__(self, roots: Any, length: int) -> None:
        padded = np.concatenate([roots, np.zeros(length - roots.shape[0])])
        is_real = np.abs(np.imag(padded)) <= ROUNDING * np.abs(padded)
        # SciPy's order, which decides between roots at the same distance.
        order = np.lexsort((np.abs(np.imag(padded)), np.real(padded), is_real))
        padded, self.is_real = padded[order], is_real[order]
        self.all = np.where(self.is_real, np.real(padded) + 0j, padded)
        self.left = np.logical_or(self.is_real, np.imag(padded) > 0)
        self.places = np.arange(length)

    def take(self, cost: Any, allowed: Any) -> tuple[Any, Any]:
        """Take the cheapest remaining root that is allowed, and say whether it is real."""
        at = np.argmin(np.where(np.logical_and(self.left, allowed), cost, np.inf))
        self.left = np.logical_and(self.left, self.places != at)
        return self.all[at], self.is_real[at]

    def pair(self, cost: Any, allowed: Any) -> tuple[Any, Any]:
        """Take the cheapest root with its conjugate, or a real one with the cheapest real root."""
        first, is_real = self.take(cost, allowed)
        before = self.left
        second, _ = self.take(cost, self.is_real)
        self.left = np.where(is_real, self.left, before)
        return first, np.where(is_real, second, np.conj(first))


@answers("scipy.signal.zpk2sos")
def zpk2sos(z: Any, p: Any, k: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """Second-order sections from zeros, poles and a gain; complex roots come in conjugate pairs.

    ``analog`` and the pairings ``"keep_odd"`` and ``"minimal"`` are refused.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import zpk2sos
    >>> first = lambda r: zpk2sos([-1.0, -1.0], np.stack([r + 0.5j, r - 0.5j]), 0.1)[0, 4]
    >>> grad(first)(0.25)
    np.float64(-2.0)
    """
    if analog or pairing not in (None, "nearest"):
        raise refused("scipy.signal.zpk2sos", "only digital filters with pairing='nearest' are "
                       "covered.")  # fmt: skip
    zeros, poles = (np.atleast_1d(floating(x)) + 0j for x in (z, p))
    longest = max(zeros.shape[0], poles.shape[0])
    if longest == 0:
        return floating(k) * np.array([[1.0, 0, 0, 0, 0, 0]]) + np.array([[0.0, 0, 0, 1, 0, 0]])
    sections = (longest + 1) // 2
    left_zeros, left_poles = _Roots(zeros, 2 * sections), _Roots(poles, 2 * sections)
    rows: list[Any] = []
    for _ in range(sections):
        unit = np.abs(1 - np.abs(left_poles.all))
        p1, p2 = left_poles.pair(unit, True)
        z1, z2 = left_zeros.pair(np.abs(p1 - left_zeros.all), True)
        rows.append(np.concatenate([_quadratic(z1, z2), _quadratic(p1, p2)]))
    first = rows[-1] * np.where(np.arange(6) < 3, floating(k), 1.0)
    return np.stack([first, *rows[-2::-1]])


@answers("scipy.signal.tf2sos")
def tf2sos(b: Any, a: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """Second-order sections of a fraction whose first coefficients are not 0.

    The derivative by a polynomial's coefficients exists if its roots are distinct. Repeated roots,
    such as the zeros of ``butter``, have infinite derivatives. In this case let the design make the
    sections (``butter(4, w, output="sos")``), or pass known coefficients.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import tf2sos
    >>> jit(lambda a: tf2sos(np.array([1.0, 0.5]), a))(np.array([1.0, -0.25])).round(12) + 0
    array([[ 1.  ,  0.5 ,  0.  ,  1.  , -0.25,  0.  ]])
    """
    return zpk2sos(*tf2zpk(b, a), pairing, analog=analog)


def _quadratic(a: Any, b: Any) -> Any:
    return np.stack([np.ones(()), -np.real(a + b), np.real(a * b)])
