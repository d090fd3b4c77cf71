"""Products and linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.torch.engine.recording import record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor

from .making import axes, axis, function, tensors
from .pointwise import add, mul
from .reductions import norm

_MATMUL = {
    (2, 2): Operation("Mm", np.matmul), (1, 1): Operation("Dot", np.matmul),
    (2, 1): Operation("Mv", np.matmul), (3, 3): Operation("Bmm", np.matmul),
}  # fmt: skip
_OTHER = Operation("UnsafeView", np.matmul)


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of matrices and vectors, batched over leading axes."""
    a, b = input._data, other._data
    if not a.ndim or not b.ndim:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {input.dtype.name} != "
            f"{other.dtype.name}"
        )
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise RuntimeError(_wrong_shapes(a, b))
    made: Tensor = record(_MATMUL.get((a.ndim, b.ndim), _OTHER), (input, other))
    return made


def _wrong_shapes(a: Any, b: Any) -> str:
    def shown(x: Any) -> str:
        return "x".join(map(str, x.shape))

    if a.ndim == b.ndim == 1:
        return (
            f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to "
            f"have the same number of elements, but got {a.shape[0]} and {b.shape[0]} elements "
            "respectively"
        )
    return f"mat1 and mat2 shapes cannot be multiplied ({shown(a)} and {shown(b)})"


_EINSUM = Operation("Einsum", lambda *x: np.einsum(x[-1], *x[:-1]))
_OUTER, _KRON = function("Outer", np.outer), function("Kron", np.kron)
_TRACE = function("Trace", np.trace)


def einsum(equation: str, *operands: Any) -> Tensor:
    """A sum of products, by Einstein's notation."""
    given = operands[0] if isinstance(operands[0], (tuple, list)) else operands
    made: Tensor = record(_EINSUM, tensors(*given), (equation.replace(" ", ""),))
    return made


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all pairs of elements."""
    made: Tensor = _OUTER(tensors(input, vec2))
    return made


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker's product."""
    made: Tensor = _KRON(tensors(input, other))
    return made


def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    made: Tensor = _TRACE((input,))
    return made


def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """``beta * input + alpha * mat1 @ mat2``."""
    if beta == alpha == 1:
        if mat1._data.shape[-1] != mat2._data.shape[0]:
            raise RuntimeError(_wrong_shapes(mat1._data, mat2._data))
        made: Tensor = record(_ADDMM, (input, mat1, mat2))
        return made
    return add(mul(input, beta), matmul(mat1, mat2), alpha=alpha)


_ADDMM = Operation("Addmm", lambda c, a, b: a @ b + c)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The inner product of two vectors."""
    return matmul(input, tensor)


class SlogdetResult(NamedTuple):
    """The sign and the logarithm of a determinant's size."""

    sign: Tensor
    logabsdet: Tensor


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """Singular vectors and values."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class QRResult(NamedTuple):
    """The factors of a QR decomposition."""

    Q: Tensor
    R: Tensor


_INV, _DET = function("LinalgInvEx", np.linalg.inv), function("LinalgDet", np.linalg.det)
_SOLVE = function("LinalgSolveEx", np.linalg.solve)
_CHOLESKY = function("LinalgCholeskyEx", np.linalg.cholesky)
_SLOGDET = function("LinalgSlogdet", lambda x: tuple(np.linalg.slogdet(x)))
_EIGH = function("LinalgEigh", lambda x: tuple(np.linalg.eigh(x)))
_SVD = function("LinalgSvd", lambda x, full: tuple(np.linalg.svd(x, full_matrices=full)))
_QR = function("LinalgQr", lambda x: tuple(np.linalg.qr(x)))
_POWER = function("MatrixPower", np.linalg.matrix_power)


class linalg:
    """``torch.linalg``."""

    @staticmethod
    def inv(A: Any) -> Any:
        return _INV((A,))

    @staticmethod
    def det(A: Any) -> Any:
        return _DET((A,))

    @staticmethod
    def solve(A: Any, B: Any) -> Any:
        return _SOLVE((A, B))

    @staticmethod
    def cholesky(A: Any) -> Any:
        return _CHOLESKY((A,))

    @staticmethod
    def slogdet(A: Any) -> SlogdetResult:
        return SlogdetResult(*_SLOGDET((A,)))

    @staticmethod
    def eigh(A: Any) -> EighResult:
        return EighResult(*_EIGH((A,)))

    @staticmethod
    def svd(A: Any, full_matrices: bool = True) -> SVDResult:
        return SVDResult(*_SVD((A,), bool(full_matrices)))

    @staticmethod
    def qr(A: Any) -> QRResult:
        return QRResult(*_QR((A,)))

    @staticmethod
    def matrix_power(A: Any, n: int) -> Any:
        return _POWER((A,), int(n))

    @staticmethod
    def vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
        return norm(x, float(ord), dim, keepdim)

    @staticmethod
    def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Tensor:
        """The norm of a vector, or Frobenius' norm of a matrix."""
        named = axes(dim, A.ndim)
        is_matrix = len(named or A.shape) == 2
        if is_matrix and ord not in (None, "fro"):
            raise NotImplementedError(
                f"torch.linalg.norm of a matrix with ord={ord!r} is not covered; 'fro' is. Of the "
                "elements as a vector:\n    torch.linalg.vector_norm(A, ord)"
            )
        return norm(A, 2.0 if ord in (None, "fro") else float(ord), dim, keepdim)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (matmul, einsum, outer, kron, trace, addmm, dot)
}
FUNCTIONS.update(mm=matmul, mv=matmul, bmm=matmul, ger=outer, inverse=linalg.inv, det=linalg.det,
                 inner=lambda a, b: einsum("...i,...i->...", a, b),
                 logdet=lambda A: linalg.slogdet(A).logabsdet)  # fmt: skip
__all__ = ["FUNCTIONS", "axis", "linalg"]
