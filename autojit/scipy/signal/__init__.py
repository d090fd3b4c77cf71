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
from .waveforms import chirp, freqz, freqz_sos, gausspulse, sawtooth, sosfreqz, square

__all__ = [
    "chirp", "convolve", "convolve2d", "correlate", "correlate2d", "decimate", "deconvolve",
    "detrend", "fftconvolve", "filtfilt", "freqz", "freqz_sos", "gausspulse", "hilbert", "lfilter",
    "lfilter_zi", "medfilt", "medfilt2d", "oaconvolve", "resample", "resample_poly",
    "savgol_coeffs", "savgol_filter", "sawtooth", "sosfilt", "sosfilt_zi", "sosfiltfilt",
    "sosfreqz", "square", "upfirdn", "wiener",
]  # fmt: skip
