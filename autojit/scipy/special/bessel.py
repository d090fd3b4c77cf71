"""Spherical Bessel functions, and derivatives of Bessel functions."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
import scipy.special as sc

from autojit.ir.special import bessel
from autojit.protocols.registry import uncovered
from autojit.scipy.arguments import floating
from autojit.scipy.registry import answers

from .applying import elementwise, known


def _spherical(letter: str, op: Any, lower: float, upper: float) -> Callable[..., Any]:
    name = f"spherical_{letter}n"

    def function(n: Any, z: Any, derivative: bool = False) -> Any:
        whole = np.asarray(known(name, "n", n), float)  # SciPy's loop takes float64 as well
        if getattr(z, "dtype", np.dtype(float)).kind == "c":
            raise uncovered(f"scipy.special.{name}", " of complex numbers")
        if not derivative:
            return elementwise(op, whole, z)
        below = elementwise(op, np.maximum(whole - 1, 0), z) * (whole * lower)
        above = elementwise(op, whole + 1, z) * ((whole + 1) * upper)
        return (below + above) / (2 * whole + 1)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""A spherical Bessel function, or its derivative (DLMF 10.51).

    The order must be known when the function is traced.

    >>> from autojit import grad
    >>> from autojit.scipy.special import {name}
    >>> g = grad(lambda z: {name}(2, z))(1.5)
    >>> bool(np.isclose(g, {name}(2, 1.5, derivative=True), rtol=1e-12))
    True
    """
    return answers(f"scipy.special.{name}")(function)


spherical_jn: Callable[..., Any] = _spherical("j", bessel.spherical_jn, 1.0, -1.0)
spherical_yn: Callable[..., Any] = _spherical("y", bessel.spherical_yn, 1.0, -1.0)
spherical_in: Callable[..., Any] = _spherical("i", bessel.spherical_in, 1.0, 1.0)
spherical_kn: Callable[..., Any] = _spherical("k", bessel.spherical_kn, -1.0, -1.0)


def _derived(name: str, op: Any, sign: float, turn: float) -> Callable[..., Any]:
    """The n-th derivative of a function with f' = turn (f_(v-1) + sign f_(v+1)) / 2."""

    def function(v: Any, z: Any, n: int = 1) -> Any:
        order = known(name, "n", n)
        if order != int(order) or order < 0:
            raise ValueError(f"n must be an integer >= 0, got {order!r}")
        if getattr(z, "dtype", np.dtype(float)).kind == "c":
            raise uncovered(f"scipy.special.{name}", " of complex numbers")
        terms = [
            elementwise(op, v - order + 2 * k, z) * (sign**k * comb(order, k))
            for k in range(order + 1)
        ]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total * (turn / 2) ** order

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The n-th derivative of ``{name[:-1]}`` by z (DLMF 10.6.7, 10.29.5).

    >>> from autojit import grad
    >>> from autojit.scipy.special import {name}
    >>> g = grad(lambda z: {name}(0.5, z, 1))(1.5)
    >>> bool(np.isclose(g, {name}(0.5, 1.5, 2), rtol=1e-12))
    True
    """
    return answers(f"scipy.special.{name}")(function)


jvp: Callable[..., Any] = _derived("jvp", bessel.jv, -1.0, 1.0)
yvp: Callable[..., Any] = _derived("yvp", bessel.yv, -1.0, 1.0)
ivp: Callable[..., Any] = _derived("ivp", bessel.iv, 1.0, 1.0)
kvp: Callable[..., Any] = _derived("kvp", bessel.kv, 1.0, -1.0)


def _hankel(name: str, ufunc: Any) -> Callable[..., Any]:
    def function(v: Any, z: Any, n: int = 1) -> Any:
        order = known(name, "n", n)
        if order != int(order) or order < 0:
            raise ValueError(f"n must be an integer >= 0, got {order!r}")
        total: Any = 0.0
        for k in range(order + 1):
            total = total + ufunc(v - order + 2 * k, z) * ((-1) ** k * comb(order, k))
        return total * 0.5**order

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The n-th derivative of ``hankel{name[1]}`` by z (DLMF 10.6.7).

    >>> from autojit import grad
    >>> from autojit.scipy.special import {name}
    >>> g = grad(lambda z: {name}(0.5, z, 1).real)(1.5)
    >>> bool(np.isclose(g, {name}(0.5, 1.5, 2).real, rtol=1e-12))
    True
    """
    return answers(f"scipy.special.{name}")(function)


h1vp: Callable[..., Any] = _hankel("h1vp", sc.hankel1)
h2vp: Callable[..., Any] = _hankel("h2vp", sc.hankel2)


@answers("scipy.special.lmbda")
def lmbda(v: Any, x: Any) -> tuple[Any, Any]:
    """``Gamma(v + 1) (2 / x)**v J_v(x)`` and its derivatives, for v, v - 1, …, in ascending order.

    The order v must be known (DLMF 10.16.9).

    >>> from autojit import grad
    >>> from autojit.scipy.special import lmbda
    >>> bool(np.isclose(grad(lambda x: lmbda(0, x)[0][0])(1.5), lmbda(0, 1.5)[1][0]))
    True
    """
    order = float(known("lmbda", "v", v))
    if order < 0:
        raise ValueError("argument must be > 0.")
    orders = order - int(order) + np.arange(int(order) + 1)
    point = -(floating(x) ** 2) / 4
    values = sc.hyp0f1(orders + 1, point)
    return values, -(floating(x) / 2) * sc.hyp0f1(orders + 2, point) / (orders + 1)


def _riccati(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    def function(n: Any, x: Any) -> tuple[Any, Any]:
        orders, x = np.arange(int(known(name, "n", n)) + 1), floating(x)
        values = f(orders, x)
        return x * values, values + x * f(orders, x, True)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""``x`` times the spherical Bessel functions to a known order n, and their
    derivatives (DLMF 10.21.71).

    >>> from autojit import grad
    >>> from autojit.scipy.special import {name}
    >>> g = grad(lambda x: {name}(2, x)[0][2])(1.5)
    >>> bool(np.isclose(g, {name}(2, 1.5)[1][2], rtol=1e-12))
    True
    """
    return answers(f"scipy.special.{name}")(function)


riccati_jn: Callable[..., Any] = _riccati("riccati_jn", spherical_jn)
riccati_yn: Callable[..., Any] = _riccati("riccati_yn", spherical_yn)
