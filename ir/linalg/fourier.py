"""Discrete Fourier transforms along one axis; those along several axes are a sequence of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.batching import Batched
from autojit.ir.core.declaration import MaybeValue, full, require
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type, is_half
from autojit.ir.linalg.factorizations import Matrices, complex_of, real_dtype
from autojit.ir.ops.arithmetic import conj, convert, eq, select
from autojit.ir.ops.linear import iota


def _forward(x: Any, n: int, axis: int) -> Any:
    return np.fft.fft(x, n, axis)


def _backward(x: Any, n: int, axis: int) -> Any:
    return np.fft.ifft(x, n, axis, norm="forward")


def _real(x: Any, n: int, axis: int) -> Any:
    return np.fft.rfft(x, n, axis)


def _half(x: Any, n: int, axis: int) -> Any:
    return np.fft.irfft(x, n, axis, norm="forward")


#: NumPy's transforms without a scale factor, by kind.
_FUNCTIONS: dict[str, Callable[[Any, int, int], Any]] = {
    "forward": _forward, "backward": _backward, "real": _real, "half": _half,
}  # fmt: skip


class Fourier(Matrices):
    """``fourier(x, axis=a, kind=k, length=n, scale=s)``: s times the transform of n points.

    ``forward`` and ``backward`` take n complex numbers, with the exponents -2πijk/n and 2πijk/n.
    ``real`` is the first n//2 + 1 numbers of the forward transform of n real numbers. ``half`` is
    the n real numbers of the backward transform of a spectrum of which n//2 + 1 are given; the
    imaginary parts of the first, and of the last if n is even, are not read.

    It is linear. The transforms of complex numbers are symmetric matrices, so they are their own
    transposes. The transpose of ``real`` is ``half`` of the conjugate, with all numbers halved
    except those that occur once in the spectrum. The transpose of ``half`` is the conjugate of
    ``real``, with all numbers doubled except those.
    """

    arity = 1
    core = 1
    parameters = ("axis", "kind", "length", "scale")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        (x,) = types
        axis, kind, n = params["axis"], params["kind"], params["length"]
        require(
            kind in _FUNCTIONS,
            f"kind of fourier must be one of {', '.join(_FUNCTIONS)}; got {kind}",
        )
        require(0 <= axis < x.ndim, f"there is no axis {axis} in {x}")
        require(n >= 1, f"the length of a transform must be positive; got {n}")
        wanted = "f" if kind == "real" else "c"
        extent = n // 2 + 1 if kind == "half" else n
        require(
            x.dtype.kind == wanted and not is_half(x.dtype) and x.shape[axis] == extent,
            f"fourier of kind {kind} and length {n} takes {extent} "
            f"{'real' if wanted == 'f' else 'complex'} numbers along axis {axis}; got {x}",
        )
        made = n // 2 + 1 if kind == "real" else n
        dtype = x.dtype
        if kind in ("real", "half"):
            dtype = complex_of(dtype) if kind == "real" else real_dtype(dtype)
        return (Type(dtype, (*x.shape[:axis], made, *x.shape[axis + 1 :])),)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        made = _FUNCTIONS[params["kind"]](np.asarray(arrays[0]), params["length"], params["axis"])
        return made if params["scale"] == 1 else made * made.dtype.type(params["scale"])

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (dx,) = tangents
        return (None if dx is None else self(dx, **op.params),)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        (ct,) = cotangents
        if ct is None:
            return (None,)
        kind, length, axis = (op.params[name] for name in ("kind", "length", "axis"))
        if kind == "real":
            return (self(conj(_weighted(ct, axis, length, 0.5)), **{**op.params, "kind": "half"}),)
        if kind == "half":
            made = conj(self(ct, **{**op.params, "kind": "real"}))
            return (_weighted(made, axis, length, 2.0),)
        return (self(ct, **op.params),)

    def batch(self, op: Op, operands: Sequence[Batched], size: int) -> Value:
        made: Value = self(operands[0].value, **{**op.params, "axis": op.params["axis"] + 1})
        return made


def _weighted(x: Value, axis: int, length: int, weight: float) -> Value:
    """Multiply half a spectrum by a weight, except numbers that the whole spectrum has once."""
    place = iota(dtype=np.dtype(np.int64), shape=x.shape, axis=axis)
    once = eq(place, 0)
    if length % 2 == 0:
        once = select(eq(place, length // 2), full(True, once.type), once)
    real = Type(real_dtype(x.dtype), x.shape)
    factor = select(once, full(1, real), full(weight, real))
    return x * convert(factor, dtype=x.dtype)


fourier = Fourier("fourier")
