"""Rows of ``scipy.signal``."""

from __future__ import annotations

import numpy as np
from scipy import fft, signal

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
    row("welch", lambda x, f: signal.welch(x, f, nperseg=8), LONG, 3.0, compiled=True),
    row("welch median", lambda x: signal.welch(x, window=("tukey", 0.3), nperseg=7, noverlap=2,
        nfft=10, detrend="linear", scaling="spectrum", average="median")[1], LONG),
    row("welch complex", lambda x: signal.welch(x + 1j * x[::-1] ** 2, nperseg=9, axis=0)[1],
        LONG.reshape(20, 2)),
    row("welch window", lambda x, w: signal.welch(x, window=w, detrend=False)[1], LONG, B + B),
    row("csd", lambda x, y: signal.csd(x, y, 2.0, nperseg=8)[1], LONG, LONG[:30] ** 2),
    row("periodogram", lambda x: signal.periodogram(x, nfft=15)[1], X),
    row("periodogram short", lambda x: signal.periodogram(x, window="hamming", nfft=9, axis=1)[1],
        X[None]),
    row("coherence", lambda x, y: signal.coherence(x, y, nperseg=8)[1], LONG, LONG ** 2),
    *(row(f"stft {b}", lambda x, b=b: signal.stft(x, 2.0, nperseg=8, boundary=b, scaling="psd"),
          LONG) for b in ("zeros", "even", "odd", "constant", None)),
    row("stft axis", lambda x: signal.stft(x, nperseg=5, padded=False, axis=0)[2], IMAGE),
    row("istft", lambda x, z: signal.istft(x + 1j * z, 2.0, nperseg=8), LONG.reshape(5, 8), LONG[
        ::-1].reshape(5, 8)),
    row("istft axes", lambda x: signal.istft(x, window="hamming", nperseg=5, noverlap=3,
        scaling="psd", boundary=False, time_axis=0, freq_axis=1)[1], LONG[:36].reshape(6, 3, 2)),
    *(row(f"spectrogram {m}", lambda x, m=m: signal.spectrogram(x, 2.0, nperseg=9, mode=m), LONG)
      for m in ("psd", "complex", "magnitude", "angle")),
    *(row(f"lombscargle {n} {f}", lambda t, y, w, n=n, f=f: signal.lombscargle(
        t, y, w, normalize=n, floating_mean=f), T, X[:7], [0.7, 1.9])
      for n in (False, True, "amplitude") for f in (False, True)),
    row("lombscargle weights", lambda t, y, w: signal.lombscargle(t, y, [0.7, 1.9], weights=w), T,
        X[:7], np.abs(X[:7])),
    row("zpk2tf", signal.zpk2tf, [0.3, 0.7], [0.1, -0.5, 0.4], 2.0),
    row("tf2zpk", lambda b, a: [np.sort(x) for x in map(np.real, signal.tf2zpk(b, a)[:2])],
        [2.0, 3.0, 1.0], [2.0, -1.0, -5.0]),
    row("sos2tf", _sections(signal.sos2tf), SOS),
    *(row(f"bilinear {len(b)}", lambda b, a: signal.bilinear(b, a, 1.3), b, a)
      for b, a in ((B, A[:2]), (A, B))),
    row("bilinear_zpk", lambda z, p, k: signal.bilinear_zpk(z, p, k, 1.3), [0.3],
        [0.1 + 0.5j, 0.1 - 0.5j], 2.0),
    row("tf2ss", signal.tf2ss, B, A), row("zpk2ss", signal.zpk2ss, [0.3], [0.1, -0.5, 0.4], 2.0),
    row("lp2lp_zpk", signal.lp2lp_zpk, [0.3], [0.1 + 0.5j, 0.1 - 0.5j], 2.0, 1.3),
    row("lp2hp_zpk", signal.lp2hp_zpk, [0.3], [0.1 + 0.5j, 0.1 - 0.5j], 2.0, 1.3),
    row("freqs", signal.freqs, B, A, T),
    row("freqs_zpk", signal.freqs_zpk, [0.3], [0.1 + 0.5j, 0.1 - 0.5j], 2.0, T),
    row("vectorstrength", signal.vectorstrength, T, 1.3),
    row("vectorstrength periods", signal.vectorstrength, T, [1.3, 2.0]),
    *(row(f"lsim {i}", lambda b, a, u, i=i: signal.lsim((b, a), u, 0.3 * np.arange(12), [
        0.1, 0.2, 0.3], interp=i), B, A, X) for i in (True, False)),
    row("lsim states", lambda a, u: signal.lsim((a, [[1.0, 0.0], [0.5, 2.0]], np.eye(2), np.ones(
        (2, 2))), u, 0.3 * np.arange(6) + 0.6, [0.1, 0.2])[1:], [[-1.0, 0.3], [0.2, -0.4]],
        X.reshape(6, 2)),
    row("impulse", lambda b, a: signal.impulse((b, a), T=0.3 * np.arange(5)), B, A),
    row("step", lambda b, a: signal.step((b, a), T=0.3 * np.arange(5)), B, A),
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

_REAL = [-1.1, -0.4, -2.3]
_GIVEN = [0.2, 0.9, 2.1]
_COMB = [[-1.0, 0.3], [0.2, -0.4]]


def _parts(f):
    """The real and imaginary parts of roots, in an order that does not depend on the algorithm."""
    return lambda *a: [np.poly(r).real if np.ndim(r) else r for r in f(*a)]


def _ends(w):
    return np.stack(w) if len(w) > 1 else w[0]


DESIGNS = [
    row("firwin_2d", lambda c: signal.firwin_2d((5, 4), ("hamming", ("kaiser", 3.0)), fc=c), 0.4),
    row("firwin_2d circular", lambda c: signal.firwin_2d((5, 3), "hamming", fc=c, circular=True),
        0.4),
    *(row(f"{f.__name__} {b} {a}", lambda *w, f=f, b=b, a=a, r=r: f(3, *r, _ends(w), b, a), *w)
      for f, r in ((signal.butter, ()), (signal.cheby1, (1.0,)), (signal.cheby2, (30.0,)),
                   (signal.ellip, (1.0, 30.0)), (signal.bessel, ()))
      for b, w in (("low", (0.3,)), ("bandpass", (0.2, 0.6))) for a in (False,)),
    row("butter high analog", lambda w: signal.butter(4, w, "high", analog=True), 0.7),
    row("butter bandstop", lambda w: signal.butter(2, w, "bandstop", fs=10.0), [1.0, 2.5]),
    row("butter zpk", lambda w: _parts(signal.butter)(3, w, "low", False, "zpk"), 0.3),
    *(row(f"{f.__name__} {n} {b} sos", lambda *w, f=f, n=n, b=b, r=r: f(n, *r, _ends(w), b,
                                                                       output="sos"), *w)
      for f, r in ((signal.butter, ()), (signal.cheby2, (30.0,)), (signal.ellip, (1.0, 30.0)))
      for n, b, w in ((1, "high", (0.3,)), (4, "low", (0.3,)), (5, "bandpass", (0.2, 0.6)),
                      (3, "bandstop", (0.02, 0.95)))),
    row("sosfilt of a design", lambda w: signal.sosfilt(signal.butter(3, w, output="sos"), LONG),
        0.3, compiled=True),
    row("tf2sos", signal.tf2sos, np.array([0.7, -1.1, 0.4, 0.9]),
        np.array([1.2, -0.6, 0.3, -0.2, 0.1])),
    row("zpk2sos", lambda r: signal.zpk2sos([-1.0, 0.7], [r + 0.5j, r - 0.5j, 0.3], r), 0.25),
    row("cheby1 ripple", lambda r, w: signal.cheby1(4, r, w), 1.2, 0.3, compiled=True),
    row("cheby2 ripple", lambda r, w: signal.cheby2(4, r, w), 25.0, 0.3),
    row("cheb1ap", lambda r: signal.cheb1ap(3, r)[1:], 1.2),
    row("cheb2ap", lambda r: signal.cheb2ap(4, r), 25.0),
    row("iirnotch", signal.iirnotch, 0.3, 4.0), row("iirpeak", signal.iirpeak, 0.3, 4.0),
    *(row(f"iircomb {f} {z}", lambda q, f=f, z=z: signal.iircomb(0.25, q, f, pass_zero=z), 4.0)
      for f in ("notch", "peak") for z in (False, True)),
    *(row(f.__name__, lambda *a, f=f: _parts(f)(np.zeros(0), *a), [0.1 + 0.5j, 0.1 - 0.5j], 2.0,
          1.3, 0.4) for f in (signal.lp2bp_zpk, signal.lp2bs_zpk)),
    *(row(f.__name__, f, B, A, 1.3) for f in (signal.lp2lp, signal.lp2hp)),
    *(row(f.__name__, f, B, A, 1.3, 0.4) for f in (signal.lp2bp, signal.lp2bs)),
    row("normalize", signal.normalize, B, A),
    *(row(f"firwin {p}", lambda *c, p=p: signal.firwin(9, _ends(c), pass_zero=p), *c)
      for p, c in ((True, (0.3,)), ("highpass", (0.3,)), ("bandpass", (0.2, 0.6)),
                   ("bandstop", (0.2, 0.6)))),
    row("firwin window", lambda c: signal.firwin(8, c, window=("kaiser", 3.0), fs=7.0, scale=False),
        1.3),
    row("firwin width", lambda c: signal.firwin(9, c, width=0.3), 0.4),
    row("firls", lambda d, w: signal.firls(9, [0, 0.3, 0.5, 1.0], d, weight=w),
        [1.0, 0.9, 0.2, 0.1], [1.0, 2.0]),
    row("firls bands", lambda b: signal.firls(7, b, [0, 1, 1, 0.5], fs=6.0), [0.1, 0.6, 1.1, 2.7]),
    row("firwin2", lambda g: signal.firwin2(9, [0, 0.3, 1.0], g), [1.0, 0.7, 0.3]),
    row("kaiser", lambda n, w: [signal.kaiser_beta(signal.kaiser_atten(n, x)) for x in (
        w, w / 3, w / 99)], 30.0, 0.4),
    row("gammatone fir", lambda f: signal.gammatone(f, "fir", fs=2000.0), 440.0),
    row("gammatone iir", lambda f: signal.gammatone(f, "iir", fs=2000.0), 440.0, dtol=1e-5),
    row("gauss_spline", lambda x: signal.gauss_spline(x, 3), X),
    row("sweep_poly", lambda t, p: signal.sweep_poly(t, p, 30.0), T, [0.3, -0.2, 0.7]),
    row("freqresp", lambda b, a, w: signal.freqresp((b, a), w), B, A, T, rtol=1e-7),
    row("freqresp states", lambda a, w: signal.freqresp((a, [[1.0], [0.5]], [[1.0, 2.0]], [[0.3]]),
        w)[1], _COMB, T, rtol=1e-7),
    row("bode", lambda b, a, w: signal.bode((b, a), w), B, A, T, rtol=1e-7),
    row("dfreqresp", lambda b, a, w: signal.dfreqresp((b, a, 0.3), w), B, A, _GIVEN),
    row("dfreqresp roots", lambda p, w: signal.dfreqresp(([0.3], p, 2.0, 0.3), w), _REAL, _GIVEN),
    row("dbode", lambda b, a, w: signal.dbode((b, a, 0.3), w), B, A, _GIVEN),
    row("freqz_zpk", lambda p, k: signal.freqz_zpk([0.3], p, k, 7), _REAL, 2.0),
    row("group_delay", lambda b, a: signal.group_delay((b, a), 7), B, A),
    row("abcd_normalize", lambda a, b: signal.abcd_normalize(a, b, None, [[1.0]]), _COMB,
        [[1.0], [0.5]]),
    row("ss2tf", lambda a, b: signal.ss2tf(a, b, [[1.0, 2.0], [0.0, 1.0]], [[0.3], [0.1]]), _COMB,
        [[1.0], [0.5]]),
    row("sos2zpk", lambda s: [np.poly(signal.sos2zpk(s)[i]).real for i in (0, 1)],
        [[0.2, 0.3, 0.5, 1.5, 0.2, 0.9]]),
    row("lfiltic", signal.lfiltic, B, A, [0.3, -0.2], [0.7]),
    *(row(f"cont2discrete {m}", lambda a, b, t, m=m: signal.cont2discrete(
        (a, b, np.array([[1.0, 2.0]]), np.zeros((1, 1))), t, m, 0.3), _COMB, [[1.0], [0.5]], 0.4)
      for m in ("zoh", "foh", "impulse", "gbt", "bilinear", "euler", "backward_diff")),
    row("cont2discrete fraction", lambda a, t: signal.cont2discrete((B, a), t), A, 0.4),
    row("dlsim", lambda a, u: signal.dlsim((B, a, 0.5), u), A, X),
    row("dlsim states", lambda a, u: signal.dlsim((a, np.eye(2), np.ones((1, 2)), np.zeros((1, 2)),
        0.5), u, x0=[0.3, 0.1]), _COMB, X.reshape(6, 2)),
    row("dimpulse", lambda a: signal.dimpulse((B, a, 0.5), n=6)[1], A),
    row("dstep", lambda a: signal.dstep((B, a, 0.5), t=np.arange(6) * 0.5)[1], A),
    row("cspline1d", signal.cspline1d, X), row("qspline1d", signal.qspline1d, X),
    row("cspline1d_eval", lambda c, x: signal.cspline1d_eval(c, x, 0.7, 0.2), K,
        [-3.1, 0.4, 1.1, 4.2, 9.3]),
    row("qspline1d_eval", lambda c, x: signal.qspline1d_eval(c, x), K, [-3.1, 0.4, 1.1, 2.9]),
    row("sepfir2d", lambda x, r, c: signal.sepfir2d(x, r, c), IMAGE, [0.3, -0.2, 0.7],
        [0.1, 0.5, 0.2]),
    row("order_filter", lambda x: signal.order_filter(x, np.ones((3, 3)), 2), IMAGE),
]  # fmt: skip

#: Functions that need ``np.fft``.
FOURIER = [
    *(row(f"{f.__name__} {n}", lambda a, d, m, o, b, f=f: f(a, d, m, o, b), X[:n], 0.13, 0.7, 0.1,
          0.2) for f in (fft.fht, fft.ifht) for n in (8, 9)),
    row("fhtoffset", fft.fhtoffset, 0.13, 0.7, 0.1, 0.2),
    row("fftfreq", lambda d: [fft.fftfreq(5, d), fft.rfftfreq(6, d)], 0.3),
    row("czt", lambda x: signal.czt(x, 7, axis=0), IMAGE),
    row("czt of a spiral", lambda x, w, a: signal.czt(x, 5, w, a), X, 0.9 - 0.3j, 1.1 + 0.2j),
    row("czt_points", lambda w, a: signal.czt_points(4, w, a), 0.9 - 0.3j, 1.1 + 0.2j),
    row("zoom_fft", lambda x, f: signal.zoom_fft(x, f, 7, fs=3.0), X, [0.3, 1.1]),
    row("zoom_fft ends", lambda x, f: signal.zoom_fft(x, f, 5, endpoint=True), X, 0.7),
    row("hilbert2", signal.hilbert2, IMAGE), row("hilbert2 cut", lambda x: signal.hilbert2(
        x, (4, 7), axes=(1, 0)), IMAGE),
    *(row(f"envelope {b} {r} {n}", lambda x, b=b, r=r: signal.envelope(x, b, residual=r), LONG[:n])
      for b in ((1, None), (2, 5), (None, 3), (-4, -1)) for r in ("lowpass", "all", None)
      for n in (12, 13)),
    row("envelope complex", lambda x: signal.envelope(x, (2, 5), squared=True, axis=0),
        LONG.reshape(20, 2) + 1j),
    *(row(f"minimum_phase {m} {h}", lambda x, m=m, h=h: signal.minimum_phase(
        np.concatenate([x, x[::-1]]), m, 64, half=h), [0.1, 0.3, 0.5])
      for m, h in (("homomorphic", True), ("homomorphic", False), ("hilbert", True))),
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
