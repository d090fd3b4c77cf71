"""Binomial coefficients, permutations and factorials of real numbers (``exact=False``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.special import gamma as gammas
from autojit.protocols.registry import uncovered
from autojit.scipy.registry import answers

from .applying import elementwise


def _check(name: str, exact: bool) -> None:
    if exact:
        raise uncovered(f"scipy.special.{name}", " with exact=True")


@answers("scipy.special.comb")
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """The binomial coefficient, 0 unless 0 <= k <= N (SciPy's definition).

    >>> from autojit import jit
    >>> from autojit.scipy.special import comb
    >>> float(jit(comb)(5.0, 2.0))
    10.0
    """
    _check("comb", exact)
    if repetition:
        return comb(N + k - 1, k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), elementwise(gammas.binom, N, k), 0.0)


@answers("scipy.special.perm")
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """N! / (N - k)!, 0 unless 0 <= k <= N (SciPy's definition).

    >>> from autojit import jit
    >>> from autojit.scipy.special import perm
    >>> float(jit(perm)(5.0, 2.0))
    20.0
    """
    _check("perm", exact)
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(inside, elementwise(gammas.poch, N - k + 1, k), 0.0)


@answers("scipy.special.factorial")
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """gamma(n + 1), 0 below 0 (DLMF 5.4.1).

    >>> from autojit import jit
    >>> from autojit.scipy.special import factorial
    >>> float(jit(factorial)(4.0))
    24.0
    """
    _check("factorial", exact)
    if extend != "zero":
        raise uncovered("scipy.special.factorial", f" with extend={extend!r}")
    return np.where(n < 0, 0.0, elementwise(gammas.gamma, n + 1))
