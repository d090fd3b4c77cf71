"""``scipy.signal`` for traced arrays; if no argument is traced, SciPy's own function runs."""

from .convolution import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from .design import (
    bessel,
    butter,
    cheb1ap,
    cheb2ap,
    cheby1,
    cheby2,
    ellip,
    iircomb,
    iirfilter,
    iirnotch,
    iirpeak,
    lp2bp_zpk,
    lp2bs_zpk,
)
from .filtering import (
    deconvolve,
    filtfilt,
    lfilter,
    lfilter_zi,
    sosfilt,
    sosfilt_zi,
    sosfiltfilt,
)
from .forms import (
    abcd_normalize,
    cont2discrete,
    dimpulse,
    dlsim,
    dstep,
    lfiltic,
    lp2bp,
    lp2bs,
    lp2hp,
    lp2lp,
    normalize,
    sos2zpk,
    ss2tf,
)
from .peaks import (
    argrelextrema,
    argrelmax,
    argrelmin,
    find_peaks,
    find_peaks_cwt,
    peak_prominences,
    peak_widths,
)
from .responses import bode, dbode, dfreqresp, freqresp, freqz_zpk, group_delay
from .sampling import decimate, hilbert, resample, resample_poly, upfirdn
from .sections import tf2sos, zpk2sos
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
from .splines import cspline1d, cspline1d_eval, order_filter, qspline1d, qspline1d_eval, sepfir2d
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
from .taps import (
    firls,
    firwin,
    firwin2,
    firwin_2d,
    gammatone,
    gauss_spline,
    kaiser_atten,
    kaiser_beta,
    minimum_phase,
)
from .uneven import lombscargle
from .waveforms import chirp, freqz, freqz_sos, gausspulse, sawtooth, sosfreqz, square, sweep_poly
from .zoom import czt, czt_points, envelope, hilbert2, zoom_fft

__all__ = [
    "abcd_normalize", "argrelextrema", "argrelmax", "argrelmin", "bessel", "bilinear",
    "bilinear_zpk", "bode", "butter", "cheb1ap", "cheb2ap", "cheby1", "cheby2", "chirp",
    "coherence", "cont2discrete", "convolve", "convolve2d", "correlate", "correlate2d", "csd",
    "cspline1d", "cspline1d_eval", "czt", "czt_points", "dbode", "decimate", "deconvolve",
    "detrend", "dfreqresp", "dimpulse", "dlsim", "dstep", "ellip", "envelope", "fftconvolve",
    "filtfilt", "find_peaks", "find_peaks_cwt", "firls", "firwin", "firwin2", "firwin_2d",
    "freqresp", "freqs", "freqs_zpk", "freqz", "freqz_sos", "freqz_zpk", "gammatone",
    "gauss_spline", "gausspulse", "group_delay", "hilbert", "hilbert2", "iircomb", "iirfilter",
    "iirnotch", "iirpeak", "impulse", "istft", "kaiser_atten", "kaiser_beta", "lfilter",
    "lfilter_zi", "lfiltic", "lombscargle", "lp2bp", "lp2bp_zpk", "lp2bs", "lp2bs_zpk", "lp2hp",
    "lp2hp_zpk", "lp2lp", "lp2lp_zpk", "lsim", "medfilt", "medfilt2d", "minimum_phase",
    "normalize", "oaconvolve", "order_filter", "peak_prominences", "peak_widths", "periodogram",
    "qspline1d", "qspline1d_eval", "resample", "resample_poly", "savgol_coeffs",
    "savgol_filter", "sawtooth", "sepfir2d", "sos2tf", "sos2zpk", "sosfilt", "sosfilt_zi",
    "sosfiltfilt", "sosfreqz", "spectrogram", "square", "ss2tf", "step", "stft", "sweep_poly",
    "tf2sos", "tf2ss", "tf2zpk", "upfirdn", "vectorstrength", "welch", "wiener", "zoom_fft",
    "zpk2sos", "zpk2ss", "zpk2tf",
]  # fmt: skip
