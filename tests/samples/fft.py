"""Fourier, cosine and sine transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy import fft
from tests.samples.kinds import Draw, Sample, complexes, real


def parts(z: Any) -> Any:
    """Complex numbers as real ones, for differences."""
    return z.real, z.imag


def power(z: Any) -> Any:
    return z.real**2 + z.imag**2


def _sample(name: str, function: Any, *draws: Draw, **kwargs: Any) -> Sample:
    return Sample(name, function, draws or (real(2, 5),), **kwargs)


def _halves(name: str, *shape: int, **functions: Any) -> Sample:
    """Functions with a real result, of a spectrum with both parts."""

    def several(a: Any, b: Any) -> Any:
        return tuple(f(a + 1j * b) for f in functions.values())

    return _sample(name, several, real(*shape), real(*shape))


def _real_transforms(x: Any) -> Any:
    made = np.fft.rfft(x, 5, 0, norm="forward"), np.fft.rfft(x, 6, 0), np.fft.ihfft(x)
    planes = np.fft.rfft2(x), np.fft.rfftn(x, (4, 2), (0, 1), norm="ortho")
    return sum(map(parts, (*made, *planes)), ())


def _complex_transforms(x: Any) -> Any:
    planes = np.fft.ifft2(x), np.fft.fftn(x, (3, 4), (0, 2)), np.fft.ifftn(x, axes=(0, 1))
    return (*sum(map(parts, planes), ()), power(np.fft.fft2(x)))


def _trigonometric(name: str, n: int, norm: Any) -> Sample:
    """All types of a cosine or sine transform."""
    function = getattr(fft, name)
    return _sample(f"scipy {name} of {n}",
                   lambda x: tuple(function(x, kind, norm=norm) for kind in (1, 2, 3, 4)),
                   real(n))  # fmt: skip


FOURIER = [
    _sample("fft power", lambda x: power(np.fft.fft(x)),
            torch=lambda t, x: t.fft.fft(x).abs() ** 2),
    _sample("fft of complex numbers", lambda x, y: parts(np.fft.fft(x + 1j * y, axis=0)),
            real(3, 2), real(3, 2)),
    _sample("fft filled", lambda x: parts(np.fft.fft(x, 6, norm="ortho"))),
    _sample("fft and ifft, complex",
            lambda z: (np.fft.fft(z, 3, 0), np.fft.ifft(z)), complexes(4, 2), holomorphic=True),
    _sample("rfft power", lambda x: power(np.fft.rfft(x)),
            torch=lambda t, x: t.fft.rfft(x).abs() ** 2),
    _sample("real transforms", _real_transforms, real(5, 2)),
    _sample("complex transforms", _complex_transforms, real(3, 2, 4)),
    _halves("irfft and hfft", 2, 4, even=lambda z: np.fft.irfft(z, 6),
            odd=lambda z: np.fft.hfft(z, 7)),
    _halves("irfft2 and irfftn", 3, 3, one=np.fft.irfft2,
            two=lambda z: np.fft.irfftn(z, (3, 5), (1, 0)), three=fft.hfft2),
    _sample("fftshift", lambda x: (np.fft.fftshift(x), np.fft.ifftshift(x, 0)), real(3, 4)),
    _sample("spectral derivative",
            lambda u: np.fft.irfft(1j * np.arange(4) * np.fft.rfft(np.sin(u)), 7), real(7)),
    _trigonometric("dct", 4, None), _trigonometric("idct", 5, "ortho"),
    _trigonometric("dst", 5, None), _trigonometric("idst", 4, "ortho"),
    _sample("scipy idctn", lambda x: fft.idctn(x, norm="ortho"), real(3, 4)),
]  # fmt: skip
