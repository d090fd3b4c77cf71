"""Legendre functions and spherical harmonics of known degrees and orders, by recurrence.

DLMF 14.10.3 (in the degree), 14.7.17 and 14.9.3 (for negative orders), 14.30.1 (spherical
harmonics). Like SciPy's defaults, they are for real arguments between -1 and 1, with the phase of
Condon and Shortley.
"""

from __future__ import annotations

from math import factorial, pi, sqrt
from typing import Any

import numpy as np

from autojit.protocols.registry import uncovered
from autojit.scipy.arguments import floating
from autojit.scipy.registry import answers

from .applying import known


def _whole(name: str, argument: str, value: Any) -> int:
    found = np.asarray(known(name, argument, value))
    if found.ndim or found != int(found):
        raise uncovered(f"scipy.special.{name}", f" with an array of {argument}")
    return int(found)


def _degree(name: str, n: Any, diff_n: int) -> int:
    degree = _whole(name, "n", n)
    if diff_n or degree < 0:
        raise uncovered(f"scipy.special.{name}", " with diff_n > 0 or of a negative degree")
    return degree


def _of_order(m: int, degree: int, z: Any, sine: Any) -> list[Any]:
    """``P_n^m`` for n up to the degree and an order m >= 0; ``sine`` is ``sqrt(1 - z**2)``."""
    rows: list[Any] = [0.0 * z] * min(m, degree + 1)
    for n in range(m, degree + 1):
        if n == m:
            start = (-1.0) ** m * float(np.prod(np.arange(1, 2 * m, 2)))
            rows.append(start * sine**m if m else 1.0 + 0.0 * z)
        elif n == m + 1:
            rows.append(z * (2 * m + 1) * rows[m])
        else:
            rows.append((z * (2 * n - 1) * rows[n - 1] - (n + m - 1) * rows[n - 2]) / (n - m))
    return rows


def _norm(n: int, m: int) -> float:
    """``sqrt((2 n + 1) / 2 (n - m)! / (n + m)!)``."""
    return sqrt((2 * n + 1) / 2 * (factorial(n - m) / factorial(n + m)))


def _scaled(rows: list[Any], n: int, m: int, kind: str) -> Any:
    """The function of degree n and an order of any sign, as it is or in one of two norms."""
    size = abs(m)
    if size > n:
        return rows[n] * 0.0
    turned = (-1.0) ** m if m < 0 else 1.0
    if kind == "plain":
        return rows[n] if m >= 0 else rows[n] * (turned * factorial(n - size) / factorial(n + size))
    return rows[n] * (turned * _norm(n, size) / (sqrt(2 * pi) if kind == "spherical" else 1.0))


def _one(n: int, m: int, z: Any, sine: Any, kind: str) -> Any:
    return _scaled(_of_order(abs(m), n, z, sine), n, m, kind)


def _table(n: int, m: int, z: Any, sine: Any, kind: str) -> Any:
    """The functions of all degrees up to n, and of orders from 0 to m, then from -m to -1.

    Degrees are along the first axis, orders along the second one.
    """
    columns = {k: _of_order(k, n, z, sine) for k in range(m + 1)}
    orders = [*range(m + 1), *range(-m, 0)]
    return np.stack(
        [np.stack([_scaled(columns[abs(k)], i, k, kind) for k in orders]) for i in range(n + 1)]
    )


def _sine(z: Any) -> Any:
    return np.sqrt((1 - z) * (1 + z))


def _kind(norm: bool) -> str:
    return "normal" if norm else "plain"


def _check_branch(name: str, branch_cut: Any) -> None:
    if branch_cut != 2:
        raise uncovered(f"scipy.special.{name}", f" with branch_cut={branch_cut!r}")


@answers("scipy.special.legendre_p")
def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Legendre's polynomial, with a first axis of length 1, as in SciPy.

    >>> from autojit import grad
    >>> from autojit.scipy.special import legendre_p
    >>> grad(lambda z: legendre_p(2, z)[0])(0.5)
    np.float64(1.5)
    """
    z = floating(z)
    return _of_order(0, _degree("legendre_p", n, diff_n), z, z)[-1][None]


@answers("scipy.special.legendre_p_all")
def legendre_p_all(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Legendre's polynomials of all degrees up to n, along the second axis."""
    z = floating(z)
    return np.stack(_of_order(0, _degree("legendre_p_all", n, diff_n), z, z))[None]


@answers("scipy.special.assoc_legendre_p")
def assoc_legendre_p(
    n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    """The associated Legendre function, with a first axis of length 1, as in SciPy.

    >>> from autojit import grad
    >>> from autojit.scipy.special import assoc_legendre_p
    >>> grad(lambda z: assoc_legendre_p(2, 2, z)[0])(0.5).round(9)
    np.float64(-3.0)
    """
    _check_branch("assoc_legendre_p", branch_cut)
    z = floating(z)
    degree, order = _degree("assoc_legendre_p", n, diff_n), _whole("assoc_legendre_p", "m", m)
    return _one(degree, order, z, _sine(z), _kind(norm))[None]


@answers("scipy.special.assoc_legendre_p_all")
def assoc_legendre_p_all(
    n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    """The associated Legendre functions of all degrees up to n and orders from -m to m.

    Negative orders come last.
    """
    _check_branch("assoc_legendre_p_all", branch_cut)
    z, degree = floating(z), _degree("assoc_legendre_p_all", n, diff_n)
    return _table(degree, abs(_whole("assoc_legendre_p_all", "m", m)), z, _sine(z), _kind(norm))[
        None
    ]


@answers("scipy.special.sph_legendre_p")
def sph_legendre_p(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """The factor of a spherical harmonic for the polar angle, with a first axis of length 1.

    >>> from autojit import grad
    >>> from autojit.scipy.special import sph_legendre_p
    >>> round(float(grad(lambda t: sph_legendre_p(1, 1, t)[0])(0.0)), 6)
    -0.345494
    """
    t = floating(theta)
    degree, order = _degree("sph_legendre_p", n, diff_n), _whole("sph_legendre_p", "m", m)
    return _one(degree, order, np.cos(t), np.sin(t), "spherical")[None]


@answers("scipy.special.sph_legendre_p_all")
def sph_legendre_p_all(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """The functions :func:`sph_legendre_p` of all degrees up to n and orders from -m to m.

    Negative orders come last.
    """
    t, degree = floating(theta), _degree("sph_legendre_p_all", n, diff_n)
    order = abs(_whole("sph_legendre_p_all", "m", m))
    return _table(degree, order, np.cos(t), np.sin(t), "spherical")[None]


@answers("scipy.special.sph_harm_y")
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """The spherical harmonic of a polar and an azimuthal angle.

    >>> from autojit import grad
    >>> from autojit.scipy.special import sph_harm_y
    >>> round(float(grad(lambda p: sph_harm_y(1, 1, np.pi / 2, p).imag)(0.0)), 6)
    -0.345494
    """
    order = _whole("sph_harm_y", "m", m)
    along = sph_legendre_p(_degree("sph_harm_y", n, diff_n), order, theta)[0]
    return along * np.exp(1j * order * floating(phi))


@answers("scipy.special.sph_harm_y_all")
def sph_harm_y_all(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """The spherical harmonics of all degrees up to n and orders from -m to m.

    Negative orders come last.
    """
    order = abs(_whole("sph_harm_y_all", "m", m))
    along = sph_legendre_p_all(_degree("sph_harm_y_all", n, diff_n), order, theta)[0]
    angle = floating(phi)
    orders = [*range(order + 1), *range(-order, 0)]
    return along * np.stack([np.exp(1j * k * angle) for k in orders])
