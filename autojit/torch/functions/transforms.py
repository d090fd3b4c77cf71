"""``torch.fft`` and ``torch.special``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.torch.engine.recording import wrap
from autojit.torch.engine.tensor import Tensor

from .factories import dtypes
from .making import function, unary
from .pointwise import FUNCTIONS as POINTWISE
from .reductions import FUNCTIONS as REDUCTIONS


def _along(name: str) -> Callable[..., Any]:
    compute = getattr(np.fft, name)
    call = function(f"Fft{name.title()}", lambda x, n, k, norm: compute(x, n, k, norm))

    def transform(input: Tensor, n: int | None = None, dim: int = -1,
                  norm: str | None = None) -> Any:  # fmt: skip
        return call((input,), n, dim, norm)

    transform.__name__, transform.__doc__ = name, f"``numpy.fft.{name}`` along an axis."
    return transform


def _over(name: str, usual: tuple[int, ...] | None) -> Callable[..., Any]:
    compute = getattr(np.fft, name)
    call = function(f"Fft{name.title()}", lambda x, s, k, norm: compute(x, s, k, norm))

    def transform(input: Tensor, s: Any = None, dim: Any = usual, norm: str | None = None) -> Any:
        axes = tuple(range(input.ndim)) if dim is None else tuple(dim)
        if dim is None and s is not None:
            axes = axes[-len(s) :]
        return call((input,), None if s is None else tuple(s), axes, norm)

    transform.__name__, transform.__doc__ = name, f"``numpy.fft.{name}`` over axes."
    return transform


def _frequencies(name: str) -> Callable[..., Any]:
    def call(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Any:  # fmt: skip
        kind = dtypes.default.float.numpy if dtype is None else dtypes.numpy_dtype(dtype)
        made: Tensor = wrap(getattr(np.fft, name)(n, d).astype(kind))
        return made.requires_grad_(requires_grad)

    call.__name__, call.__doc__ = name, f"``numpy.fft.{name}``."
    return call


def _shift(name: str) -> Callable[..., Any]:
    compute = getattr(np.fft, name)
    call = function("Roll", lambda x, k: compute(x, k))

    def shifted(input: Tensor, dim: Any = None) -> Any:
        return call((input,), tuple(dim) if isinstance(dim, (list, tuple)) else dim)

    shifted.__name__, shifted.__doc__ = name, f"``numpy.fft.{name}``."
    return shifted


_FFT: dict[str, Callable[..., Any]] = {
    **{n: _along(n) for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{n: _over(n, (-2, -1)) for n in ("fft2", "ifft2", "rfft2", "irfft2")},
    **{n: _over(n, None) for n in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{n: _frequencies(n) for n in ("fftfreq", "rfftfreq")},
    **{n: _shift(n) for n in ("fftshift", "ifftshift")},
}


def _scipy(name: str) -> Callable[..., Any]:
    def call(*x: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*x)

    return call


_SPECIAL: dict[str, Callable[..., Any]] = {
    **{n: POINTWISE[n] for n in ("digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p",
                                 "logit", "round", "sinc", "xlogy")},
    **{n: REDUCTIONS[n] for n in ("log_softmax", "logsumexp", "softmax")},
    **{n: unary(f"Special{n.title()}", _scipy(n))
       for n in ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri")},
    "expit": POINTWISE["sigmoid"], "gammaln": POINTWISE["lgamma"], "psi": POINTWISE["digamma"],
}  # fmt: skip
#: ``torch.fft`` and ``torch.special``.
fft: type = type("fft", (), {n: staticmethod(f) for n, f in _FFT.items()})
special: type = type("special", (), {n: staticmethod(f) for n, f in _SPECIAL.items()})
