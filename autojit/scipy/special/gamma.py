"""Functions that SciPy computes from the gamma and zeta functions, and Lambert's W."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from autojit.ir.ops.arithmetic import make_complex
from autojit.ir.special import gamma as gammas
from autojit.ir.special import zeta as zetas
from autojit.ir.special.holomorphic import lambertw as lambertw_op
from autojit.protocols.lifting import (
    common_shape,
    dtype_of,
    operand,
    operand_type,
    tracer,
)
from autojit.scipy.arguments import floats
from autojit.scipy.registry import answers

from .applying import elementwise, known


@answers("scipy.special.zeta")
def zeta(x: Any, q: Any = None, out: None = None) -> Any:
    """Hurwitz's zeta function (DLMF 25.11.1), or Riemann's without ``q``.

    >>> from autojit import grad
    >>> from autojit.scipy.special import zeta
    >>> bool(np.isclose(grad(zeta, 1)(2.0, 1.0), -2 * zeta(3.0)))
    True
    """
    if q is None:
        return elementwise(zetas.riemann_zeta, x)
    return elementwise(zetas.zeta, x, q)


@answers("scipy.special.polygamma")
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma (DLMF 5.15), for known integers n.

    >>> from autojit import grad
    >>> from autojit.scipy.special import polygamma
    >>> float(grad(lambda x: polygamma(0, x))(1.0) - np.pi**2 / 6) < 1e-15
    True
    """
    order = floats(known("polygamma", "n", n))
    sign = np.where(order % 2, 1.0, -1.0)
    factor = sign * _factorial(order)
    higher = factor * elementwise(zetas.zeta, order + 1.0, x)
    if np.any(order == 0):
        return np.where(order == 0, elementwise(gammas.digamma, x), higher)
    return higher


def _factorial(order: np.ndarray) -> Any:
    import scipy.special

    return scipy.special.gamma(order + 1.0)


@answers("scipy.special.multigammaln")
def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of a known dimension (DLMF 35.3.4).

    If a traced a is not above (d - 1) / 2, there is no error; the result is NaN or a wrong branch.

    >>> from autojit import grad
    >>> from autojit.scipy.special import multigammaln
    >>> float(grad(multigammaln)(3.0, 1))
    0.9227843350984671
    """
    count = known("multigammaln", "d", d)
    if count != int(count) or count < 1:
        raise ValueError("d should be a positive integer (dimension)")
    total = np.asarray(count * (count - 1) * 0.25 * log(pi))
    for j in range(int(count)):
        total = total + elementwise(gammas.loggamma, a - j / 2)
    return total


@answers("scipy.special.lambertw")
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Branch k of Lambert's function, W exp(W) = z (DLMF 4.13): a complex number.

    >>> from autojit import grad
    >>> from autojit.scipy.special import lambertw
    >>> grad(lambda x: lambertw(x).real)(0.0)
    np.float64(1.0)
    """
    branch = known("lambertw", "k", k)
    shape = common_shape(z, branch, tol)
    type = operand_type(np.dtype(np.float64), shape)
    numbers = [operand(p, type) for p in (branch, tol)]
    if dtype_of(z).kind == "c":
        value = operand(z, operand_type(np.dtype(complex), shape))
    else:
        x = operand(z, type)
        value = make_complex(x, operand(0.0, type))
    return tracer(lambertw_op(value, *numbers))
