"""Functions that only autograd's own modules have, written with NumPy."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.signal

import autojit
from autojit.tracing.tracer import Tracer


class Module(types.ModuleType):
    """A module of NumPy's or SciPy's with functions of autograd's beside its own."""

    def __init__(self, name: str, module: types.ModuleType, **functions: Any) -> None:
        super().__init__(name)
        self.__dict__.update(functions)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        # Asked for anew each time: while a function is traced, some names stand for others.
        return getattr(self.__dict__["_module"], name)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(self.__dict__["_module"])})


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Matrices with the last axis of ``D`` on their diagonals."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("only offset=0, axis1=-1, axis2=-2")
    return D[..., None] * np.eye(D.shape[-1])


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``np.where``, by keywords too; of Python's numbers and lists it makes such."""
    if x is None and y is None:
        return np.where(condition)
    result = np.where(condition, x, y)
    return result if any(map(_has_array, (condition, x, y))) else result.tolist()


def _has_array(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_has_array, x))
    return isinstance(x, (np.ndarray, np.generic, Tracer))


def convolve(
    A: Any,
    B: Any,
    axes: Sequence[Sequence[int]] | None = None,
    dot_axes: Sequence[Sequence[int]] = ((), ()),
    mode: str = "full",
) -> Any:
    """A convolution along pairs of axes, a sum over others, and an outer product over the rest.

    The axes of the result: those of ``A`` that are in neither, those of ``B``, then those of the
    convolution.
    """
    if axes is None:
        return scipy.signal.convolve(A, B, mode)
    along = [_axes(x, given) for x, given in zip((A, B), axes, strict=True)]
    summed = [_axes(x, given) for x, given in zip((A, B), dot_axes, strict=True)]
    free = [
        [k for k in range(np.ndim(x)) if k not in (*a, *d)]
        for x, a, d in zip((A, B), along, summed, strict=True)
    ]
    A, B = (
        np.transpose(x, (*f, *d, *a))
        for x, f, d, a in zip((A, B), free, summed, along, strict=True)
    )
    n = len(along[0])
    last = tuple(range(-n, 0))
    sizes, lengths = (np.shape(x)[np.ndim(x) - n :] for x in (B, A))
    if mode != "valid":
        beyond = [(0, 0)] * (np.ndim(A) - n) + [(size - 1, size - 1) for size in sizes]
        A = np.pad(A, beyond)
    if n:
        A = np.lib.stride_tricks.sliding_window_view(A, sizes, axis=last)
        B = np.flip(B, last)
    lists = (free[0], free[1], summed[0], along[0], along[0])
    first, second, dots, outs, inner = (
        [10 * number + k for k in range(len(names))] for number, names in enumerate(lists)
    )
    result = np.einsum(A, [*first, *dots, *outs, *inner], B, [*second, *dots, *inner],
                       [*first, *second, *outs])  # fmt: skip
    if mode != "same":
        return result
    middle = [slice((b - 1) // 2, (b - 1) // 2 + a) for a, b in zip(lengths, sizes, strict=True)]
    return result[(..., *middle)]


def _axes(x: Any, given: Sequence[int]) -> list[int]:
    return [axis % np.ndim(x) for axis in given]


def transposed(x: Any) -> Any:
    """``np.linalg.T`` of theirs: the last two axes change places."""
    return np.swapaxes(x, -1, -2)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """``np.linalg.eigh`` of theirs: a function of the triangle that is read, and of nothing else.

    NumPy's has the same values. autojit's derivative of it treats the matrix as symmetric.
    """
    below = np.tril(a, -1) if UPLO == "L" else np.conj(np.swapaxes(np.triu(a, 1), -1, -2))
    diagonal = np.real(a) * np.eye(np.shape(a)[-1])
    return np.linalg.eigh(below + diagonal + np.conj(np.swapaxes(below, -1, -2)))


class Int64(np.int64):
    """``np.int64`` of theirs, which takes the numbers alone: the indices have no derivative."""

    def __new__(cls, x: Any = 0) -> Any:
        found = autojit.stop_gradient(x)
        return found.astype(np.int64) if isinstance(found, Tracer) else np.int64(found)


def is_instance(x: Any, kinds: Any) -> bool:
    """``isinstance``, for which what is traced is an array."""
    return isinstance(x, kinds) or (isinstance(x, Tracer) and issubclass(np.ndarray, kinds))


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]], a: Any, x0: Any, distance: Any, tol: float
) -> Any:
    """The x with ``x = f(a)(x)``."""
    return autojit.fixed_point(f(a), x0, tol=tol)


class Deprecated:
    """Ways to define rules that autograd calls deprecated, as methods of a primitive."""

    vjps: dict[int, Any]

    def defgrad(self, make: Any, argnum: int = 0) -> None:
        self.vjps[argnum] = make

    def defvjp(self, rule: Any, argnum: int = 0) -> None:
        self.vjps[argnum] = lambda ans, *args, **kwargs: (
            lambda g: rule(g, ans, None, None, *args, **kwargs)
        )

    def defvjp_is_zero(self, argnums: Sequence[int] = (0,)) -> None:
        self.vjps.update(dict.fromkeys(argnums))
