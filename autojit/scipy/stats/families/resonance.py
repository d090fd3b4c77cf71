"""The relativistic Breit-Wigner distribution of the energies of a resonance."""

from __future__ import annotations

from typing import Any

import numpy as np

from .family import POSITIVE, Family, family, positive


def _resonance(rho: Any) -> Any:
    """``1 + 1 / rho**2``, and 1 plus its root."""
    return 1 + rho**-2, 1 + np.sqrt(1 + rho**-2)


def _breit_cdf(z: Any, rho: Any) -> Any:
    _, wide = _resonance(rho)
    turned = np.sqrt(-1 + 1j / rho) * np.arctan(z / np.sqrt(-rho * (rho + 1j)))
    return np.minimum(np.sqrt(2 / wide) / np.pi * 2 * np.imag(turned), 1.0)


def _breit_mean(rho: Any) -> Any:
    square, wide = _resonance(rho)
    return np.sqrt(2 * square / wide) / np.pi * rho * (np.pi / 2 + np.arctan(rho))


def _breit_second(rho: Any) -> Any:
    square, wide = _resonance(rho)
    moved = np.real((1 - 1j * rho) / np.sqrt(-1 - 1j / rho))
    return 2 * np.sqrt(square / (2 * wide)) * rho * moved


rel_breitwigner: Family = family(
    "rel_breitwigner", POSITIVE,
    lambda z, rho: (
        np.log(2 / np.pi) + np.log(2 * _resonance(rho)[0] / _resonance(rho)[1]) / 2
        - np.log1p(((z - rho) * (z + rho) / rho) ** 2)
    ),
    inside=1.0, is_finite=True, valid=positive,
    cdf=_breit_cdf,
    mean=_breit_mean, var=lambda rho: _breit_second(rho) - _breit_mean(rho) ** 2,
)  # fmt: skip
