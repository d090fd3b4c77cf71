"""Rows of ``scipy.signal``."""

from __future__ import annotations

import numpy as np
from scipy import signal

from tests.samples.scipy_rows import row

_rng = np.random.default_rng(2)
X, K, LONG = (_rng.standard_normal(n) for n in (12, 4, 40))
IMAGE, KERNEL = _rng.standard_normal((5, 6)), _rng.standard_normal((3, 2))
B, A = [0.2, 0.3, 0.1], [1.5, -0.4, 0.2, 0.1]
SOS = signal.butter(5, 0.3, output="sos")
#: The fourth column of second-order sections is 1.
_ONE = np.arange(6) == 3
T = np.linspace(0.1, 3, 7)
MODES = ("full", "same", "valid")


def _sections(f):
    return lambda sos, *more: f(np.where(_ONE, 1.0, sos), *more)


SIGNAL = [
    *(row(f"{f.__name__} {m} {name}", lambda a, b, f=f, m=m: f(a, b, m), a, b)
      for f in (signal.convolve, signal.correlate) for m in MODES
      for name, a, b in (("long", X, K), ("short", K, X), ("2-D", IMAGE, KERNEL),
                         ("complex", X + 1j, K * 1j))),
    *(row(f"{f.__name__} {m} {edge}", lambda a, b, f=f, m=m, e=edge: f(a, b, m, e), IMAGE, b)
      for f in (signal.convolve2d, signal.correlate2d) for m in MODES
      for edge in ("fill", "wrap", "symm") for b in (KERNEL,)),
    row("correlate2d swapped", lambda a, b: signal.correlate2d(a, b, "valid"), KERNEL, IMAGE),
    row("convolve2d fill", lambda a, b: signal.convolve2d(a, b, fillvalue=0.3), IMAGE, KERNEL),
    row("lfilter", signal.lfilter, B, A, X, compiled=True),
    row("lfilter axis", lambda b, a, x: signal.lfilter(b, a, x, axis=0), B, A, IMAGE),
    row("lfilter zi", lambda b, a, x, z: signal.lfilter(b, a, x, zi=z), B, A, X, [0.1, 0.2, 0.3]),
    row("lfilter fir", lambda x: signal.lfilter(B, [2.0], x), X),
    row("lfilter gain", lambda x: signal.lfilter([3.0], [2.0], x), X),
    row("lfilter complex", lambda b, x: signal.lfilter(b, A, x), np.array(B) * 1j, X),
    row("lfilter_zi", signal.lfilter_zi, B, A), row("deconvolve", signal.deconvolve, X, K),
    *(row(f"filtfilt {p}", lambda b, a, x, p=p: signal.filtfilt(b, a, x, padtype=p), B, A, LONG)
      for p in ("odd", "even", "constant", None)),
    row("sosfilt", _sections(signal.sosfilt), SOS, LONG),
    row("sosfilt zi", _sections(lambda s, x, z: signal.sosfilt(s, x, 0, z)), SOS, IMAGE,
        _rng.standard_normal((3, 2, 6))),
    row("sosfiltfilt", lambda x: signal.sosfiltfilt(SOS, x), LONG),
    row("sosfiltfilt padlen", _sections(lambda s, x: signal.sosfiltfilt(s, x, padlen=5)), SOS,
        LONG),
    *(row(f"savgol_filter {m} {n}",
          lambda x, m=m, n=n: signal.savgol_filter(x, n, 2, mode=m, deriv=1, delta=0.3, cval=0.4),
          X) for m in ("mirror", "nearest", "wrap", "constant", "interp") for n in (4, 5)),
    row("savgol_coeffs", lambda d: signal.savgol_coeffs(5, 3, 1, d), 0.3),
    row("detrend", signal.detrend, X),
    row("detrend bp", lambda x: signal.detrend(x, bp=[5], axis=0), LONG.reshape(20, 2)),
    row("detrend constant", lambda x: signal.detrend(x, type="constant"), IMAGE),
    row("medfilt", lambda x: signal.medfilt(x, 5), X),
    row("wiener", lambda x: signal.wiener(x, (3, 2), 0.4), IMAGE),
    *(row(f"upfirdn {m}", lambda h, x, m=m: signal.upfirdn(h, x, 3, 2, mode=m), K, X)
      for m in ("constant", "symmetric", "edge", "wrap", "reflect")),
    row("upfirdn cval", lambda h, x: signal.upfirdn(h, x, 2, 3, cval=0.3), LONG[:9], IMAGE),
    *(row(f"resample_poly {p}", lambda x, p=p: signal.resample_poly(x, 3, 4, padtype=p), LONG)
      for p in ("constant", "mean", "median", "maximum", "symmetric")),
    *(row(f"decimate {t} {z}", lambda x, t=t, z=z: signal.decimate(x, 3, ftype=t, zero_phase=z),
          np.tile(LONG, 2)) for t in ("iir", "fir") for z in (True, False)),
    *(row(f"chirp {m}", lambda t, m=m: signal.chirp(t, 0.3, 2.0, 0.7, m, 30.0), T)
      for m in ("linear", "quadratic", "logarithmic", "hyperbolic")),
    row("chirp vertex", lambda t: signal.chirp(t, 0.3, 2.0, 0.7, "quadratic", 0, False), T),
    row("sawtooth", lambda t: signal.sawtooth(t, 0.3), T), row("square", signal.square, T),
    row("gausspulse", lambda t: signal.gausspulse(t, 0.3, 0.4, retquad=True, retenv=True), T),
    row("freqz", lambda b, a: signal.freqz(b, a, 16, whole=True, fs=3.0), B, A),
    row("freqz places", lambda b, w: signal.freqz(b, 1, w)[1], B, [0.1, 0.2]),
    row("freqz_sos", _sections(lambda s: signal.freqz_sos(s, 16)), SOS),
]  # fmt: skip

#: What needs ``np.fft``.
FOURIER = [
    *(row(f"fftconvolve {m}", lambda a, b, m=m: signal.fftconvolve(a, b, m), a, b)
      for m in MODES for a, b in ((X, K), (IMAGE, KERNEL), (X + 1j, K * 1j))),
    row("fftconvolve axes", lambda a, b: signal.fftconvolve(a, b, "same", axes=1), IMAGE,
        IMAGE[:1, :3]),
    row("oaconvolve", signal.oaconvolve, X, K),
    row("convolve by transforms", lambda a, b: signal.convolve(a, b, method="fft"), X, K),
    row("hilbert", signal.hilbert, X),
    row("hilbert of nine", lambda x: signal.hilbert(x, 9, axis=0), IMAGE),
    *(row(f"resample {n}", lambda x, n=n: signal.resample(x, n, axis=1), IMAGE)
      for n in (3, 4, 6, 7, 12)),
]  # fmt: skip
