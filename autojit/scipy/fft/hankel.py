"""The fast Hankel transform of ``scipy.fft``, and sample frequencies.

Hamilton, "Uncorrelated modes of the non-linear power spectrum", Mon. Not. R. Astron. Soc. 312
(2000), 257-284, appendix B.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from autojit.scipy.arguments import floating, known_integer
from autojit.scipy.registry import answers

_LOG_2 = float(np.log(2.0))


def _factors(n: int, dln: Any, mu: Any, offset: Any, bias: Any) -> Any:
    """The factors by which the Fourier transform of a series is multiplied."""
    y = np.pi * np.arange(n // 2 + 1) / (n * floating(dln))
    above = sc.loggamma((mu + 1 + bias) / 2 + 1j * y)
    below = sc.loggamma((mu + 1 - bias) / 2 + 1j * y)
    turns = np.imag(above) + np.imag(below) + 2 * (_LOG_2 - offset) * y
    sizes = np.exp(np.real(above) - np.real(below) + _LOG_2 * bias)
    made = sizes * np.exp(1j * turns)
    alone = np.arange(n // 2 + 1) == n // 2
    return np.where(alone, np.real(made) + 0j, made) if n % 2 == 0 else made


def _places(n: int, dln: Any) -> Any:
    return (np.arange(n) - (n - 1) / 2) * floating(dln)


@answers("scipy.fft.fht")
def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """The Hankel transform of order mu of a logarithmically spaced series.

    >>> from autojit import grad
    >>> from autojit.scipy.fft import fht, ifht
    >>> there_and_back = lambda a: ifht(fht(a, 0.1, 0.5), 0.1, 0.5)[1]
    >>> grad(there_and_back)(np.ones(4)).round(9) + 0.0
    array([0., 1., 0., 0.])
    """
    a, mu, offset, bias = floating(a), floating(mu), floating(offset), floating(bias)
    n = a.shape[-1]
    places = _places(n, dln)
    made = np.fft.rfft(a * np.exp(-bias * places)) * _factors(n, dln, mu, offset, bias)
    return np.fft.irfft(made, n)[..., ::-1] * np.exp(-bias * (places + offset))


@answers("scipy.fft.ifht")
def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """The inverse of :func:`fht`."""
    a, mu, offset, bias = floating(A), floating(mu), floating(offset), floating(bias)
    n = a.shape[-1]
    places = _places(n, dln)
    made = np.fft.rfft(a * np.exp(bias * (places + offset)))
    factors = np.conj(_factors(n, dln, mu, offset, bias))
    return np.fft.irfft(made / factors, n)[..., ::-1] * np.exp(bias * places)


@answers("scipy.fft.fftfreq")
def fftfreq(n: int, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> Any:
    """The frequencies of :func:`fft` for samples at a distance d.

    >>> from autojit import grad
    >>> from autojit.scipy.fft import fftfreq
    >>> grad(lambda d: fftfreq(2, d)[1])(1.0)
    np.float64(0.5)
    """
    return np.fft.fftfreq(known_integer(n, "n", "fftfreq")) / floating(d)


@answers("scipy.fft.rfftfreq")
def rfftfreq(n: int, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> Any:
    """The frequencies of :func:`rfft` for samples at a distance d."""
    return np.fft.rfftfreq(known_integer(n, "n", "rfftfreq")) / floating(d)


@answers("scipy.fft.fhtoffset")
def fhtoffset(dln: Any, mu: Any, initial: Any = 0.0, bias: Any = 0.0) -> Any:
    """The offset nearest to ``initial`` at which :func:`fht` of a series has no ringing."""
    dln, mu, initial, bias = (floating(x) for x in (dln, mu, initial, bias))
    y = np.pi / (2 * dln)
    above, below = (sc.loggamma((mu + 1 + s * bias) / 2 + 1j * y) for s in (1, -1))
    turns = (_LOG_2 - initial) / dln + (np.imag(above) + np.imag(below)) / np.pi
    return initial + (turns - np.round(turns)) * dln
