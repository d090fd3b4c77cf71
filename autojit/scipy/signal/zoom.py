"""Transforms of ``scipy.signal`` at points other than those of the discrete Fourier transform."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import floating, known_integer, last, refused, unlast
from autojit.scipy.registry import answers


def _chirped(x: Any, front: Any, chirp: Any, m: int) -> Any:
    """The chirp z-transform along the last axis.

    Rabiner, Schafer & Rader, "The chirp z-transform algorithm", IEEE Trans. Audio Electroacoust.
    17 (1969), 86-92.
    """
    n = x.shape[-1]
    size = 1 << (n + m - 2).bit_length()
    kernel = 1 / np.concatenate([chirp[n - 1 : 0 : -1], chirp[:m]])
    made = np.fft.ifft(np.fft.fft(x * front * chirp[:n], size) * np.fft.fft(kernel, size))
    return made[..., n - 1 : n + m - 1] * chirp[:m]


@answers("scipy.signal.czt")
def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1) -> Any:
    """The transform at ``a * w**-k`` for k from 0 to m - 1.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import czt
    >>> grad(lambda x: np.sum(np.abs(czt(x)) ** 2))(np.array([1.0, 3.0, 2.0])).round(9)
    array([ 6., 18., 12.])
    """
    rows = last(floating(x), axis)
    n = rows.shape[-1]
    m = n if m is None else known_integer(m, "m", "czt")
    k = np.arange(max(m, n))
    if w is None:
        chirp: Any = np.exp(-(1j * np.pi * ((k**2) % (2 * m))) / m)
    else:
        chirp = (floating(w) + 0j) ** (k**2 / 2.0)
    front = (floating(a) + 0j) ** -k[:n].astype(float)
    return unlast(_chirped(rows, front, chirp, m), axis)


@answers("scipy.signal.czt_points")
def czt_points(m: int, w: Any = None, a: Any = 1 + 0j) -> Any:
    """The points of :func:`czt`.

    >>> from autojit import jit
    >>> from autojit.scipy.signal import czt_points
    >>> jit(lambda a: czt_points(2, 1j, a))(2.0).round(9)
    array([2.+0.j, 0.-2.j])
    """
    m = known_integer(m, "m", "czt_points")
    k = np.arange(float(m))
    if w is None:
        return floating(a) * np.exp(2j * np.pi * k / m)
    return floating(a) * (floating(w) + 0j) ** -k


@answers("scipy.signal.zoom_fft")
def zoom_fft(
    x: Any, fn: Any, m: Any = None, *, fs: Any = 2, endpoint: bool = False, axis: int = -1
) -> Any:
    """The transform at m frequencies of a range ``fn``, whose ends may be traced.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import zoom_fft
    >>> power = lambda f: np.sum(np.abs(zoom_fft(np.ones(3), [0.0, f], 2)) ** 2)
    >>> round(float(grad(power)(0.5)), 6)
    -10.726068
    """
    rows = last(floating(x), axis)
    n = rows.shape[-1]
    m = n if m is None else known_integer(m, "m", "zoom_fft")
    ends = np.atleast_1d(floating(fn))
    if ends.shape not in ((1,), (2,)):
        raise ValueError("fn must be a scalar or 2-length sequence")
    low, high = (0.0 * ends[0], ends[0]) if ends.shape == (1,) else (ends[0], ends[1])
    scale = (high - low) / fs * (m / (m - 1) if endpoint else 1.0)
    k = np.arange(float(max(m, n)))
    chirp = np.exp(-1j * np.pi * scale * k**2 / m)
    front = np.exp(-2j * np.pi * low / fs * k[:n])
    return unlast(_chirped(rows, front, chirp, m), axis)


@answers("scipy.signal.hilbert2")
def hilbert2(x: Any, N: Any = None, axes: Any = (-2, -1)) -> Any:
    """The analytic signal of a real image."""
    x = np.atleast_2d(floating(x))
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    first, second = (normalize_axis(axis, x.ndim) for axis in axes)
    if N is None:
        N = (x.shape[first], x.shape[second])
    sizes = (N, N) if isinstance(N, int) else tuple(N)
    made = np.moveaxis(np.fft.fft2(x, sizes, axes=(first, second)), (first, second), (-2, -1))
    made = made * _one_sided(sizes[0])[:, None] * _one_sided(sizes[1])
    return np.fft.ifft2(np.moveaxis(made, (-2, -1), (first, second)), axes=(first, second))


def _one_sided(n: int) -> np.ndarray:
    """The factors of n frequencies: 1 at frequency 0, 2 above it, 0 below."""
    made = np.zeros(n)
    made[: (n + 1) // 2] = 2
    made[0] = 1
    return made


@answers("scipy.signal.envelope", tuples=("bp_in",))
def envelope(
    z: Any, bp_in: Any = (1, None), *, n_out: Any = None, squared: bool = False,
    residual: Any = "lowpass", axis: int = -1,
) -> Any:  # fmt: skip
    """The envelope of a band of frequencies, and the rest of the signal below or around the band.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import envelope
    >>> signal = np.cos(np.arange(8) * np.pi / 2)
    >>> f = lambda a: np.sum(envelope(a * signal, residual=None))
    >>> round(float(grad(f)(3.0)), 9)
    8.0
    """
    x = last(floating(z), axis)
    n = x.shape[-1]
    if n_out not in (None, n):
        raise refused("scipy.signal.envelope", "n_out= is not covered; resample the result.")
    low = -(n // 2) if bp_in[0] is None else bp_in[0]
    high = (n + 1) // 2 if bp_in[1] is None else bp_in[1]
    if not -(n // 2) <= low < high <= (n + 1) // 2:
        raise ValueError(f"-n//2 <= bp_in[0] < bp_in[1] <= (n+1)//2 does not hold for {n=}")
    if residual not in ("lowpass", "all", None):
        raise ValueError(f"residual={residual!r} not in ['lowpass', 'all', None]!")
    is_complex = x.dtype.kind == "c"
    frequencies = np.round(np.fft.fftfreq(n) * n).astype(int)
    inside = (frequencies >= low) & (frequencies < high)
    transform = np.fft.fft(x)
    factor = np.ones(n)
    if not is_complex:
        at_nyquist = (n % 2 == 0) & (np.arange(n) == n // 2)
        factor = np.where((frequencies >= 0) | at_nyquist, 1.0, 0.0)
        factor = np.where(inside & (frequencies > 0), 2.0, factor)
    found = np.fft.ifft(transform * factor * inside)
    size = np.real(found) ** 2 + np.imag(found) ** 2 if squared else np.abs(found)
    if residual is None:
        return unlast(size, axis)
    kept = ~inside if residual == "all" else ~inside & (frequencies < low)
    if is_complex:
        rest: Any = np.fft.ifft(transform * kept)
    else:
        rest = np.fft.irfft(np.fft.rfft(x) * kept[: n // 2 + 1], n)
    return np.stack([unlast(size, axis), unlast(rest, axis)])
