"""Functions of whole matrices that modules contain: sorting, Fourier transforms, factorizations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.special

import autojit

Case = tuple[Callable[..., Any], list[Any]]
_RNG = np.random.default_rng(0)


def _normal(*shape: int, real: bool = True) -> Any:
    drawn = _RNG.normal(size=shape)
    return drawn if real else drawn + 1j * _RNG.normal(size=shape)


def _transforms(n: int) -> dict[str, Case]:
    half = n // 2 + 1
    return {
        f"fft of {n}": (np.fft.fft, [_normal(3, n, real=False)]),
        f"ifft of {n}": (partial(np.fft.ifft, axis=0), [_normal(n, 2, real=False)]),
        f"rfft of {n}": (np.fft.rfft, [_normal(n)]),
        f"irfft of {n}": (lambda x: np.fft.irfft(x, n), [_normal(2, half, real=False)]),
    }


def _orders(n: int) -> dict[str, Case]:
    """With equal numbers, of which the first must come first."""
    return {
        f"order of {n}": (np.argsort, [np.round(2 * _normal(2, n))]),
        f"order of {n} integers": (partial(np.argsort, axis=0), [_RNG.integers(-3, 4, (n, 2))]),
    }


#: Supported by C and Numba.
CASES: dict[str, Case] = {
    name: case for n in (1, 2, 5, 12, 49) for name, case in {**_transforms(n), **_orders(n)}.items()
}
CASES |= {
    "fft along two axes": (np.fft.fft2, [_normal(2, 6, 5, real=False)]),
    "fft in single": (np.fft.fft, [_normal(9, real=False).astype(np.complex64)]),
    "NaN and infinities": (np.sort, [np.array([3, np.nan, -np.inf, np.inf, np.nan, -0.0, 0.0])]),
    "a median": (np.median, [_normal(7)]),
    "bytes": (np.argsort, [np.array([3, 200, 0, 3], np.uint8)]),
}
#: Supported only by C.
OF_C: dict[str, Case] = {
    "gammaln": (scipy.special.gammaln, [np.array([0.5, 3.25, -1.5, 0.0, -2.0, np.inf])]),
}
_MATRIX = _normal(2, 4, 3)
_SQUARE = _MATRIX @ np.swapaxes(_MATRIX, 1, 2)


def _exponential(a: Any) -> Any:
    values, vectors = np.linalg.eigh(a)
    return (vectors * np.exp(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _together(a: Any, full: bool) -> Any:
    """The product of the factors, the singular values, and the products of u and vh with
    themselves."""
    u, values, vh = np.linalg.svd(a, full_matrices=full)
    size = values.shape[-1]
    again = (u[..., :size] * values[..., None, :]) @ vh[..., :size, :]
    return again, values, np.swapaxes(u, -1, -2) @ u, vh @ np.swapaxes(vh, -1, -2)


#: Results that do not depend on the signs of vectors, which Jacobi's rotations choose differently.
WITHOUT_SIGNS: dict[str, Case] = {
    "exponential": (_exponential, [_SQUARE]),
    "its gradient": (autojit.grad(lambda a: np.sum(_exponential(a)[0] ** 2)), [_SQUARE / 9]),
    "svd": (partial(_together, full=True), [_MATRIX]),
    "wide svd": (partial(_together, full=True), [np.swapaxes(_MATRIX, 1, 2)]),
    "short svd": (partial(_together, full=False), [_MATRIX]),
    "svd of zeros": (partial(_together, full=True), [np.zeros((3, 2))]),
    "svd of rank 2": (partial(_together, full=True), [_MATRIX[0] @ _MATRIX[1].T[:3] + 0.0]),
    "nuclear norm": (autojit.grad(lambda a: np.linalg.norm(a, "nuc")), [_MATRIX[0]]),
    "svd in single": (partial(_together, full=True), [_MATRIX[0].astype(np.float32)]),
    "qr": (np.linalg.qr, [_MATRIX]),
    "wide qr": (np.linalg.qr, [np.swapaxes(_MATRIX, 1, 2)]),
    "gradient of qr": (autojit.grad(lambda a: np.sum(np.linalg.qr(a)[0] ** 3)), [_MATRIX[0]]),
    "pinv": (np.linalg.pinv, [np.swapaxes(_MATRIX, 1, 2)]),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], [_MATRIX[0], _normal(4)]),
}
#: The functions of LAPACK that Numba supports.
OF_LAPACK: dict[str, Case] = {
    "eigh": (np.linalg.eigh, [_SQUARE]),
    "svd": (np.linalg.svd, [_MATRIX]),
    "short svd": (partial(np.linalg.svd, full_matrices=False), [np.swapaxes(_MATRIX, 1, 2)]),
    "qr": (np.linalg.qr, [_MATRIX]),
    "pinv": (np.linalg.pinv, [np.swapaxes(_MATRIX, 1, 2)]),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], [_MATRIX[0], _normal(4)]),
}
