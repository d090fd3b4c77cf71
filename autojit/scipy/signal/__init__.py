"""``scipy.signal`` for traced arrays: with plain ones only, each function is SciPy's own."""

from .convolution import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from .filtering import (
    deconvolve,
    filtfilt,
    lfilter,
    lfilter_zi,
    sosfilt,
    sosfilt_zi,
    sosfiltfilt,
)
from .sampling import decimate, hilbert, resample, resample_poly, upfirdn
from .smoothing import detrend, medfilt, medfilt2d, savgol_coeffs, savgol_filter, wiener
from .spectra import (
    coherence,
    csd,
    istft,
    periodogram,
    spectrogram,
    stft,
    welch,
)
from .systems import (
    bilinear,
    bilinear_zpk,
    freqs,
    freqs_zpk,
    impulse,
    lp2hp_zpk,
    lp2lp_zpk,
    lsim,
    sos2tf,
    step,
    tf2ss,
    tf2zpk,
    vectorstrength,
    zpk2ss,
    zpk2tf,
)  # fmt: skip
from .uneven import lombscargle
from .waveforms import chirp, freqz, freqz_sos, gausspulse, sawtooth, sosfreqz, square

__all__ = [
    "bilinear", "bilinear_zpk", "chirp", "coherence", "convolve", "convolve2d", "correlate",
    "correlate2d", "csd", "decimate", "deconvolve", "detrend", "fftconvolve", "filtfilt", "freqs",
    "freqs_zpk", "freqz", "freqz_sos", "gausspulse", "hilbert", "impulse", "istft", "lfilter",
    "lfilter_zi", "lombscargle", "lp2hp_zpk", "lp2lp_zpk", "lsim", "medfilt", "medfilt2d",
    "oaconvolve", "periodogram", "resample", "resample_poly", "savgol_coeffs", "savgol_filter",
    "sawtooth", "sos2tf", "sosfilt", "sosfilt_zi", "sosfiltfilt", "sosfreqz", "spectrogram",
    "square", "step", "stft", "tf2ss", "tf2zpk", "upfirdn", "vectorstrength", "welch", "wiener",
    "zpk2ss", "zpk2tf",
]  # fmt: skip
