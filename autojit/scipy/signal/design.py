"""Designs of recursive filters, with derivatives by their frequencies, widths and ripples.

Orders and kinds must be known. The prototype of frequency 1 is SciPy's own, or comes from a formula
if its ripple is traced. It is then moved to the given frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions.checks import ensured
from autojit.scipy.arguments import floating, known, known_integer, refused
from autojit.scipy.registry import answers, original
from autojit.tracing.created_arrays import is_traced

from .sections import zpk2sos
from .systems import bilinear_zpk, lp2hp_zpk, lp2lp_zpk

Zpk = tuple[Any, Any, Any]

# -- prototypes ----------------------------------------------------------------------------


def _angles(n: int) -> np.ndarray:
    return np.pi * np.arange(1 - n, n, 2) / (2 * n)


def _ripple(decibels: Any) -> Any:
    return np.sqrt(10 ** (0.1 * decibels) - 1)


@answers("scipy.signal.cheb1ap")
def cheb1ap(N: int, rp: Any, *, xp: Any = None, device: Any = None) -> Zpk:
    """``(zeros, poles, gain)`` of a Chebyshev prototype of the first kind; ``rp`` is in decibels.

    Rabiner & Gold, "Theory and application of digital signal processing", 4.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import cheb1ap
    >>> round(float(grad(lambda rp: cheb1ap(1, rp)[2])(3.0)), 6)
    -0.231355
    """
    n, rp = known_integer(N, "N", "cheb1ap"), floating(rp)
    if n == 0:
        return np.zeros(0), np.zeros(0, complex), 10 ** (-rp / 20)
    ripple = _ripple(rp)
    poles = -np.sinh(np.arcsinh(1 / ripple) / n + 1j * _angles(n))
    gain = np.real(np.prod(-poles))
    return np.zeros(0), poles, gain if n % 2 else gain / np.sqrt(1 + ripple**2)


@answers("scipy.signal.cheb2ap")
def cheb2ap(N: int, rs: Any, *, xp: Any = None, device: Any = None) -> Zpk:
    """``(zeros, poles, gain)`` of a Chebyshev prototype of the second kind; ``rs`` is in decibels.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import cheb2ap
    >>> round(float(grad(lambda rs: cheb2ap(1, rs)[2])(3.0)), 6)
    -0.231355
    """
    n, rs = known_integer(N, "N", "cheb2ap"), floating(rs)
    if n == 0:
        return np.zeros(0), np.zeros(0, complex), 1.0 + 0.0 * rs
    steps = np.arange(1 - n, n, 2)
    steps = steps[steps != 0]
    zeros = -np.conj(1j / np.sin(steps * np.pi / (2 * n)))
    width = np.arcsinh(_ripple(rs)) / n
    circle = -np.exp(1j * _angles(n))
    poles = 1 / (np.sinh(width) * circle.real + 1j * np.cosh(width) * circle.imag)
    return zeros, poles, np.real(np.prod(-poles) / np.prod(-zeros))


def _prototype(n: int, ftype: str, rp: Any, rs: Any) -> Zpk:
    if is_traced((rp, rs)):
        if ftype in ("cheby1", "chebyshev1", "chebyshevi"):
            return cheb1ap(n, rp)
        if ftype in ("cheby2", "chebyshev2", "chebyshevii"):
            return cheb2ap(n, rs)
        raise refused("scipy.signal.iirfilter", f"traced ripples of {ftype!r} are not covered.")
    made = original("scipy.signal.iirfilter")(
        n, 1.0, rp, rs, "lowpass", analog=True, ftype=ftype, output="zpk"
    )
    return tuple(made)


# -- moving to other bands -----------------------------------------------------------------


def _pairs(roots: Any, wo: Any) -> Any:
    spread = np.sqrt(roots**2 - wo**2)
    return np.concatenate([roots + spread, roots - spread])


def _complex(roots: Any) -> Any:
    return np.atleast_1d(floating(roots)) + 0j


@answers("scipy.signal.lp2bp_zpk")
def lp2bp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0, bw: Any = 1.0) -> Zpk:
    """A low-pass filter of frequency 1 made a band-pass filter: ``s -> (s**2 + wo**2) / (s bw)``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lp2bp_zpk
    >>> jit(lp2bp_zpk)(np.zeros(0), np.array([-1.0]), 1.0, 0.5, 1.0)[1].real
    array([-0.5, -0.5])
    """
    z, p, wo, bw = _complex(z), _complex(p), floating(wo), floating(bw)
    degree = p.shape[0] - z.shape[0]
    zeros = np.concatenate([_pairs(z * bw / 2, wo), np.zeros(degree)])
    return zeros, _pairs(p * bw / 2, wo), floating(k) * bw**degree


@answers("scipy.signal.lp2bs_zpk")
def lp2bs_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0, bw: Any = 1.0) -> Zpk:
    """A low-pass filter of frequency 1 made a band-stop filter: ``s -> s bw / (s**2 + wo**2)``.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import lp2bs_zpk
    >>> jit(lp2bs_zpk)(np.zeros(0), np.array([-1.0]), 1.0, 0.5, 1.0)[0].imag
    array([ 0.5, -0.5])
    """
    z, p, wo, bw = _complex(z), _complex(p), floating(wo), floating(bw)
    stops = 1j * wo * np.ones(p.shape[0] - z.shape[0])
    zeros = np.concatenate([_pairs(bw / 2 / z, wo), stops, -stops])
    gain = floating(k) * np.real(np.prod(-z) / np.prod(-p))
    return zeros, _pairs(bw / 2 / p, wo), gain


_BANDS = {
    **dict.fromkeys(("band", "bandpass", "pass", "bp"), "bandpass"),
    **dict.fromkeys(("bs", "bandstop", "bands", "stop"), "bandstop"),
    **dict.fromkeys(("l", "low", "lowpass", "lp"), "lowpass"),
    **dict.fromkeys(("high", "highpass", "h", "hp"), "highpass"),
}


def _moved(prototype: Zpk, band: str, w: Any) -> Zpk:
    if band in ("lowpass", "highpass"):
        if np.size(w) != 1:
            raise ValueError(
                "Must specify a single critical frequency Wn for lowpass or highpass filter"
            )
        return (lp2lp_zpk if band == "lowpass" else lp2hp_zpk)(*prototype, np.reshape(w, ()))
    if np.size(w) != 2:
        raise ValueError(
            "Wn must specify start and stop frequencies for bandpass or bandstop filter"
        )
    middle, width = np.sqrt(w[0] * w[1]), w[1] - w[0]
    return (lp2bp_zpk if band == "bandpass" else lp2bs_zpk)(*prototype, middle, width)


def _polynomial(roots: Any) -> Any:
    """The real coefficients of a polynomial whose complex roots come in conjugate pairs."""
    made = np.ones(1, complex)
    for i in range(roots.shape[0]):
        made = np.convolve(made, np.stack([1.0 + 0.0 * roots[i], -roots[i]]))
    return np.real(made)


@answers("scipy.signal.iirfilter")
def iirfilter(
    N: int, Wn: Any, rp: Any = None, rs: Any = None, btype: str = "band", analog: bool = False,
    ftype: str = "butter", output: str = "ba", fs: Any = None,
) -> Any:  # fmt: skip
    """A recursive filter of a given kind, order and frequencies.

    ``output="sos"`` gives second-order sections, of digital filters only (see :func:`zpk2sos`).

    >>> from autojit import grad
    >>> from autojit.scipy.signal import iirfilter
    >>> gain = lambda w: iirfilter(1, w, btype="low")[0][0]
    >>> round(float(grad(gain)(0.5)), 6)
    0.785398
    """
    n, w = known_integer(N, "N", "iirfilter"), floating(Wn)
    if output not in ("ba", "zpk", "sos"):
        raise ValueError(f"'{output}' is not a valid output form.")
    if btype.lower() not in _BANDS:
        raise ValueError(f"'{btype}' is an invalid bandtype for filter.")
    if fs is not None:
        if analog:
            raise ValueError("fs cannot be specified for an analog filter")
        w = 2 * w / fs
    w = _in_order(w, analog)
    prototype = _prototype(n, ftype.lower(), rp, rs)
    made = _moved(prototype, _BANDS[btype.lower()], w if analog else 4 * np.tan(np.pi * w / 2))
    zeros, poles, gain = made if analog else bilinear_zpk(*made, 2.0)
    if output == "zpk":
        return zeros, poles, gain
    if output == "sos":
        return zpk2sos(zeros, poles, gain, analog=analog)
    return gain * _polynomial(zeros + 0j), _polynomial(poles + 0j)


def _in_order(w: Any, analog: bool) -> Any:
    """Check the frequencies, with SciPy's errors; the compiled code raises them for traced ones."""
    w = ensured(w, np.all(w > 0), ValueError("filter critical frequencies must be greater than 0"))
    if not analog:
        words = "Digital filter critical frequencies must be 0 < Wn < 1"
        w = ensured(w, np.all(w < 1), ValueError(words))
    if np.size(w) > 1:
        w = ensured(w, w[0] < w[1], ValueError("Wn[0] must be less than Wn[1]"))
    return w


@answers("scipy.signal.butter")
def butter(
    N: int, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """A Butterworth filter: see :func:`iirfilter`."""
    return iirfilter(N, Wn, None, None, btype, analog, "butter", output, fs)


@answers("scipy.signal.cheby1")
def cheby1(
    N: int, rp: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba",
    fs: Any = None,
) -> Any:  # fmt: skip
    """A Chebyshev filter of the first kind: see :func:`iirfilter`."""
    return iirfilter(N, Wn, rp, None, btype, analog, "cheby1", output, fs)


@answers("scipy.signal.cheby2")
def cheby2(
    N: int, rs: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba",
    fs: Any = None,
) -> Any:  # fmt: skip
    """A Chebyshev filter of the second kind: see :func:`iirfilter`."""
    return iirfilter(N, Wn, None, rs, btype, analog, "cheby2", output, fs)


@answers("scipy.signal.ellip")
def ellip(
    N: int, rp: Any, rs: Any, Wn: Any, btype: str = "low", analog: bool = False,
    output: str = "ba", fs: Any = None,
) -> Any:  # fmt: skip
    """An elliptic (Cauer) filter; its ripples must be known: see :func:`iirfilter`."""
    return iirfilter(N, Wn, rp, rs, btype, analog, "ellip", output, fs)


@answers("scipy.signal.bessel")
def bessel(
    N: int, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba",
    norm: str = "phase", fs: Any = None,
) -> Any:  # fmt: skip
    """A Bessel filter: see :func:`iirfilter`."""
    return iirfilter(N, Wn, None, None, btype, analog, f"bessel_{norm}", output, fs)


# -- second-order filters and combs --------------------------------------------------------


def _resonance(w0: Any, Q: Any, fs: Any) -> tuple[Any, Any]:
    """The cosine of the frequency, and the gain."""
    w = 2 * np.pi * floating(w0) / fs
    return np.cos(w), 1 / (1 + np.tan(w / floating(Q) / 2))


@answers("scipy.signal.iirnotch")
def iirnotch(w0: Any, Q: Any, fs: Any = 2.0, *, xp: Any = None, device: Any = None) -> Any:
    """``(b, a)`` of a filter that stops one frequency: Orfanidis, "Introduction to signal
    processing", 11.3.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import iirnotch
    >>> round(float(grad(lambda q: iirnotch(0.5, q)[0][0])(1.0)), 6)
    0.392699
    """
    cosine, gain = _resonance(w0, Q, fs)
    one = 1.0 + 0.0 * gain
    b = gain * np.stack([one, -2 * cosine * one, one])
    return b, np.stack([one, -2 * gain * cosine, 2 * gain - 1])


@answers("scipy.signal.iirpeak")
def iirpeak(w0: Any, Q: Any, fs: Any = 2.0, *, xp: Any = None, device: Any = None) -> Any:
    """``(b, a)`` of a filter that passes one frequency: see :func:`iirnotch`."""
    cosine, gain = _resonance(w0, Q, fs)
    one = 1.0 + 0.0 * gain
    b = (1 - gain) * np.array([1.0, 0.0, -1.0])
    return b, np.stack([one, -2 * gain * cosine, 2 * gain - 1])


@answers("scipy.signal.iircomb")
def iircomb(
    w0: Any, Q: Any, ftype: str = "notch", fs: Any = 2.0, *, pass_zero: bool = False,
    xp: Any = None, device: Any = None,
) -> Any:  # fmt: skip
    """``(b, a)`` of a comb filter of known frequency ``w0`` and quality factor ``Q``.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import iircomb
    >>> round(float(grad(lambda q: iircomb(0.5, q)[0][0])(2.0)), 6)
    0.19635
    """
    w0, fs = float(known(w0, "w0", "iircomb")), float(known(fs, "fs", "iircomb"))
    if ftype.lower() not in ("notch", "peak"):
        raise ValueError("ftype must be either notch or peak.")
    n, peak = round(fs / w0), ftype.lower() == "peak"
    if abs(w0 - fs / n) / fs > 1e-14:
        raise ValueError("fs must be divisible by w0.")
    beta = np.tan(n * 2 * np.pi * w0 / fs / floating(Q) / 4)
    sign = -1.0 if peak == bool(pass_zero) else 1.0
    first, final = (beta, -beta) if peak else (1.0 + 0.0 * beta, 1.0 + 0.0 * beta)
    middle = np.zeros(n - 1)

    def comb(start: Any, end: Any) -> Any:
        return np.concatenate([np.reshape(start, (1,)), middle, np.reshape(sign * end, (1,))])

    b = comb(first / (1 + beta), final / (1 + beta))
    return b, comb(1.0 + 0.0 * beta, (1 - beta) / (1 + beta))
