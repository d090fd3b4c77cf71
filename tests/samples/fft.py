"""Fourier, cosine and sine transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy import fft
from tests.samples.kinds import Draw, Sample, complexes, real


def parts(z: Any) -> Any:
    """Complex numbers as real ones, which differences take."""
    return z.real, z.imag


def power(z: Any) -> Any:
    return z.real**2 + z.imag**2


def _sample(name: str, function: Any, *draws: Draw, **kwargs: Any) -> Sample:
    return Sample(name, function, draws or (real(2, 5),), **kwargs)


def _half(name: str, *shape: int, **options: Any) -> Sample:
    """A function with a real result, of a spectrum with both parts."""
    function = getattr(np.fft, name)
    words = "".join(f" {key}={value}" for key, value in options.items())
    return _sample(f"{name}{words} {shape}", lambda a, b: function(a + 1j * b, **options),
                   real(*shape), real(*shape))  # fmt: skip


FOURIER = [
    _sample("fft power", lambda x: power(np.fft.fft(x)),
            torch=lambda t, x: t.fft.fft(x).abs() ** 2),
    _sample("fft of complex numbers", lambda x, y: parts(np.fft.fft(x + 1j * y, axis=0)),
            real(3, 2), real(3, 2)),
    _sample("fft filled", lambda x: parts(np.fft.fft(x, 6, norm="ortho"))),
    _sample("ifft cut", lambda x: parts(np.fft.ifft(x, 4))),
    _sample("ifft, complex", np.fft.ifft, complexes(2, 4), holomorphic=True),
    _sample("fft, complex", lambda x: np.fft.fft(x, 3, 0), complexes(4, 2), holomorphic=True),
    *(_sample(f"rfft {n}", lambda x, n=n: parts(np.fft.rfft(x, n, 0, norm="forward")), real(5, 2))
      for n in (5, 6)),
    *(_half(name, 2, 4, n=n) for name in ("irfft", "hfft") for n in (6, 7)),
    _sample("rfft power", lambda x: power(np.fft.rfft(x)),
            torch=lambda t, x: t.fft.rfft(x).abs() ** 2),
    _sample("ihfft", lambda x: parts(np.fft.ihfft(x))),
    _sample("fft2", lambda x: power(np.fft.fft2(x)), real(3, 4)),
    _sample("ifft2", lambda x: parts(np.fft.ifft2(x)), real(3, 4)),
    _sample("rfft2", lambda x: parts(np.fft.rfft2(x)), real(3, 4)),
    _half("irfft2", 3, 3),
    _sample("fftn", lambda x: power(np.fft.fftn(x, (3, 4), (0, 2))), real(2, 2, 4)),
    _sample("ifftn", lambda x: parts(np.fft.ifftn(x, axes=(0, 1))), real(3, 2, 2)),
    _sample("rfftn", lambda x: parts(np.fft.rfftn(x, norm="ortho")), real(2, 3, 4)),
    _half("irfftn", 2, 3, s=(3, 5), axes=(1, 0)),
    _sample("fftshift", np.fft.fftshift, real(3, 4)),
    _sample("ifftshift", lambda x: np.fft.ifftshift(x, 0), real(3, 4)),
    _sample("spectral derivative",
            lambda u: np.fft.irfft(1j * np.arange(4) * np.fft.rfft(np.sin(u)), 7), real(7)),
    *(_sample(f"scipy {name} {kind} of {n}",
              lambda x, name=name, kind=kind, ortho=ortho:
              getattr(fft, name)(x, kind, norm="ortho" if ortho else None), real(2, n))
      for name, ortho in (("dct", False), ("dst", True)) for kind in (1, 2, 3, 4) for n in (4, 5)),
    _sample("scipy idctn", lambda x: fft.idctn(x, norm="ortho"), real(3, 4)),
    _sample("scipy hfft2", lambda a, b: fft.hfft2(a + 1j * b), real(3, 3), real(3, 3)),
]  # fmt: skip
