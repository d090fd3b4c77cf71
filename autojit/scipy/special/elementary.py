"""Functions of ``scipy.special`` that are elementary formulas, or other names of functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from autojit.scipy.arguments import floating
from autojit.scipy.registry import answers

from .applying import known

#: If a sine is below this, the quotient of two sines is its limit, as in SciPy for float64.
_NEAR = 1e-7


@answers("scipy.special.diric")
def diric(x: Any, n: Any) -> Any:
    """Dirichlet's kernel, ``sin(n x / 2) / (n sin(x / 2))``, for a known integer n.

    >>> from autojit import grad
    >>> from autojit.scipy.special import diric
    >>> round(float(grad(lambda x: diric(x, 2))(1.0)), 6)                # of cos(x / 2)
    -0.239713
    """
    count = np.asarray(known("diric", "n", n), float)
    half = floating(x) / 2
    sine = np.sin(half)
    near = np.abs(sine) < _NEAR
    turns = np.round(half / np.pi)
    sign = np.where(turns % 2 == 0, 1.0, np.where(count % 2 == 0, -1.0, 1.0))
    away = np.sin(count * half) / (count * np.where(near, 1.0, sine))
    # Near the limit, a parabola replaces the quotient, so that the derivatives are right.
    moved = half - turns * np.pi
    limit = sign * (1 - (count**2 - 1) / 6 * moved * moved)
    valid = (count > 0) & (count == np.floor(count))
    return np.where(valid, np.where(near, limit, away), np.nan)


@answers("scipy.special.assoc_laguerre")
def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Any:
    """The generalised Laguerre polynomial of degree n at x.

    >>> from autojit import grad
    >>> from autojit.scipy.special import assoc_laguerre
    >>> grad(lambda x: assoc_laguerre(x, 1))(0.5)
    np.float64(-1.0)
    """
    return sc.eval_genlaguerre(n, k, x)
