"""Products and linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.torch.engine.recording import compute, record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor

from .arguments import checked
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
    """A sum of products, in Einstein notation."""
    given = operands[0] if isinstance(operands[0], (tuple, list)) else operands
    made: Tensor = record(_EINSUM, tensors(*given), (equation.replace(" ", ""),))
    return made


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all pairs of elements."""
    made: Tensor = _OUTER(tensors(input, vec2))
    return made


def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product."""
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
    """The sign of a determinant, and the logarithm of its absolute value."""

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


_EIGVALSH = function("LinalgEigh", np.linalg.eigvalsh)
_SVDVALS = function("LinalgSvd", lambda x: np.linalg.svd(x, compute_uv=False))
_PINV = function("LinalgPinv", np.linalg.pinv)
_NUCLEAR = {"nuc": "sum", 2: "amax", -2: "amin"}


def _scipy(name: str) -> Callable[..., Any]:
    def call(*x: Any, **options: Any) -> Any:
        import scipy.linalg

        return getattr(scipy.linalg, name)(*x, **options)

    return call


_MATRIX_EXP = function("LinalgMatrixExp", _scipy("expm"))
_TRIANGULAR = function(
    "LinalgSolveTriangular",
    lambda a, b, lower, unit: _scipy("solve_triangular")(a, b, lower=lower, unit_diagonal=unit),
)


class LstsqResult(NamedTuple):
    """The solution of a least-squares problem, the residuals, the rank and the singular values."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class linalg:
    """``torch.linalg``."""

    @staticmethod
    def matmul(input: Tensor, other: Tensor) -> Tensor:
        return matmul(input, other)

    @staticmethod
    def pinv(A: Any, rcond: float | None = None, hermitian: bool = False) -> Any:
        """The pseudo-inverse."""
        if rcond is not None or hermitian:
            raise NotImplementedError("pinv: rcond and hermitian are not covered")
        return _PINV((A,))

    @staticmethod
    def eigvalsh(A: Any) -> Any:
        """The eigenvalues of a symmetric matrix, in ascending order."""
        return _EIGVALSH((A,))

    @staticmethod
    def svdvals(A: Any) -> Any:
        """The singular values, the largest first."""
        return _SVDVALS((A,))

    @staticmethod
    def matrix_exp(A: Any) -> Any:
        """The exponential of a matrix."""
        return _MATRIX_EXP((A,))

    @staticmethod
    def matrix_rank(A: Any) -> Any:
        """The number of singular values that are not negligible."""
        return compute(Operation("MatrixRank", np.linalg.matrix_rank), (A,))

    @staticmethod
    def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True,
                         unitriangular: bool = False) -> Any:  # fmt: skip
        """The solution of a system whose matrix is triangular."""
        if left:
            return _TRIANGULAR((A, B), not upper, bool(unitriangular))
        made = _TRIANGULAR((A.mT, B.mT), bool(upper), bool(unitriangular))
        return made.mT

    @staticmethod
    def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: Any = None) -> LstsqResult:
        """The least-squares solution of a system of full rank, by QR; the solution of least norm if
        there are fewer equations than unknowns."""
        if rcond is not None:
            raise NotImplementedError("lstsq: rcond is not covered")
        if A.shape[-2] >= A.shape[-1]:
            q, r = linalg.qr(A)
            vector = B.ndim == A.ndim - 1
            right = q.mT @ (B.unsqueeze(-1) if vector else B)
            solution = linalg.solve(r, right)
            solution = solution.squeeze(-1) if vector else solution
        else:
            solution = linalg.pinv(A) @ B
        rest = A @ solution - B
        full = A.shape[-2] > A.shape[-1]
        residuals = (rest**2).sum(-2) if full and B.ndim == A.ndim else B.new_empty(0)
        return LstsqResult(solution, residuals, linalg.matrix_rank(A), B.new_empty(0))

    @staticmethod
    def multi_dot(tensors: Any) -> Any:
        """The product of several matrices, in the cheapest order."""
        letters = "abcdefghijklmnopqrstuvwxyz"
        if len(tensors) >= len(letters) or any(t.ndim != 2 for t in tensors):
            made = tensors[0]
            for t in tensors[1:]:
                made = matmul(made, t)
            return made
        call = Operation("Mm", lambda *x: np.linalg.multi_dot(list(x)))
        return record(_MULTI.setdefault(len(tensors), call), tensors)

    @staticmethod
    def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
        """The sums of products along an axis."""
        return (x.conj() * y).sum(dim)

    @staticmethod
    def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
        """The cross products of vectors of three elements."""
        a, b = tensors(input, other)
        return _CROSS((a, b), axis(dim, a._data.ndim))

    @staticmethod
    def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
        """The diagonals of matrices."""
        return A.diagonal(offset, dim1, dim2)

    @staticmethod
    def cond(A: Any, p: Any = None) -> Any:
        """The condition number in the 2-norm."""
        if p not in (None, 2):
            raise NotImplementedError(f"cond: p={p!r} is not covered; 2 is")
        s = linalg.svdvals(A)
        return s[..., 0] / s[..., -1]

    @staticmethod
    def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1),
                    keepdim: bool = False) -> Any:  # fmt: skip
        """The norm of a matrix: Frobenius, ``"nuc"``, 1, -1, 2, -2 or infinity."""
        if ord in ("fro", None):
            return norm(A, 2.0, dim, keepdim)
        rows, columns = axes(dim, A.ndim) or ()
        x = A.movedim((rows, columns), (-2, -1))
        if ord in _NUCLEAR:
            made = getattr(linalg.svdvals(x), _NUCLEAR[ord])(-1)
        else:
            along = -2 if abs(ord) == 1 else -1
            made = getattr(x.abs().sum(along), "amax" if ord > 0 else "amin")(-1)
        return (
            made.unsqueeze(-1).unsqueeze(-1).movedim((-2, -1), (rows, columns)) if keepdim else made
        )

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
        """The norm of a vector, or a matrix norm (by default Frobenius)."""
        named = axes(dim, A.ndim)
        if len(named or A.shape) == 2 and ord not in (None, "fro"):
            return linalg.matrix_norm(A, ord, (-2, -1) if named is None else named, keepdim)
        return norm(A, 2.0 if ord in (None, "fro") else float(ord), dim, keepdim)


_MULTI: dict[int, Operation] = {}
_CROSS = function("LinalgCross", lambda a, b, k: np.cross(a, b, axis=k))


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * batch1 @ batch2``, with batches of matrices."""
    return add(mul(input, beta), matmul(batch1, batch2), alpha=alpha)


def _addmv(input: Any, mat: Any, vec: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return add(mul(input, beta), matmul(mat, vec), alpha=alpha)


for _name, _method in list(vars(linalg).items()):
    if isinstance(_method, staticmethod):
        setattr(linalg, _name, staticmethod(checked(f"linalg_{_name}", _method.__func__)))


def _old_svd(A: Any, some: bool) -> tuple[Any, Any, Any]:
    U, S, Vh = linalg.svd(A, full_matrices=not some)
    return U, S, Vh.mT


def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Any:
    """The solution of a system, from the Cholesky factor of its matrix."""
    first = linalg.solve_triangular(L.mT if upper else L, B, upper=False)
    return linalg.solve_triangular(L if upper else L.mT, first, upper=True)


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The cross products of vectors along ``dim``, by default the first axis of length 3."""
    found = dim if dim is not None else list(input.shape).index(3)
    return linalg.cross(input, other, dim=found)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (matmul, einsum, outer, kron, trace, addmm, dot, baddbmm, cholesky_solve, cross)
}
FUNCTIONS.update(mm=matmul, mv=matmul, bmm=matmul, ger=outer, inverse=linalg.inv, det=linalg.det,
                 inner=lambda a, b: einsum("...i,...i->...", a, b),
                 slogdet=linalg.slogdet, cholesky=linalg.cholesky, qr=linalg.qr, vdot=dot,
                 pinverse=linalg.pinv, matrix_power=linalg.matrix_power,
                 matrix_exp=linalg.matrix_exp, addmv=_addmv,
                 chain_matmul=lambda *m: linalg.multi_dot(m),
                 svd=lambda A, some=True: _old_svd(A, some),
                 logdet=lambda A: linalg.slogdet(A).logabsdet)  # fmt: skip
__all__ = ["FUNCTIONS", "axis", "linalg"]
