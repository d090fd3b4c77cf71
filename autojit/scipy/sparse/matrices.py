"""Sparse matrices with traced entries at known places.

SciPy does the operations that only move entries (slices, stacks, triangles). It gets a matrix with
the number of each entry, and the result shows where each entry went.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.ir.ops.index import scatter_add
from autojit.protocols.lifting import as_value, tracer
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import original
from autojit.tracing.created_arrays import MadeOfTraced, is_traced
from autojit.tracing.source import user_source

#: Functions with f(0) = 0 that SciPy's sparse matrices have as methods.
_KEEPING_ZERO = frozenset((
    "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p",
    "sqrt", "sign", "rint", "floor", "ceil", "trunc", "deg2rad", "rad2deg", "conjugate", "conj",
))  # fmt: skip


class Sparse(MadeOfTraced):
    """A sparse matrix with ``data[k]`` at ``(row[k], col[k])``; places are unique, row by row.

    It has the operators and methods of SciPy's matrices. If ``matrix`` is true, ``*`` is the matrix
    product, as for ``csr_matrix``; else, it is elementwise, as for ``csr_array``.

    >>> from autojit import grad
    >>> from scipy.sparse import diags_array
    >>> grad(lambda k: (k * diags_array([1.0, 2.0]) @ np.ones(2)).sum())(1.0)
    np.float64(3.0)
    """

    ndim = 2
    __array_priority__ = 2000.0
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, data: Any, row: np.ndarray, col: np.ndarray, shape: tuple[int, int], matrix: bool,
        format: str = "csr",
    ) -> None:  # fmt: skip
        places, inverse = np.unique(row.astype(np.int64) * shape[1] + col, return_inverse=True)
        if len(places) < len(row):
            data = added_up(data, inverse, len(places))
        elif not np.array_equal(inverse, np.arange(len(row))):
            data = data[np.argsort(inverse)]
        self.data = data
        self.row, self.col = np.divmod(places, shape[1])
        self.shape, self.matrix, self.format = shape, matrix, format

    @property
    def nnz(self) -> int:
        return len(self.row)

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def __getattr__(self, name: str) -> Any:
        if name in _KEEPING_ZERO:
            return functools.partial(self._each, getattr(np, name))
        raise AttributeError(
            f"a sparse matrix of traced values has no attribute {name!r} in autojit; "
            "A.toarray() is the full array"
        )

    def __repr__(self) -> str:
        kind = "matrix" if self.matrix else "array"
        return f"<sparse {kind} of traced values, {self.shape}, {self.nnz} stored>"

    def like(self, data: Any, row: Any, col: Any, shape: Any) -> Sparse:
        return Sparse(data, row, col, shape, self.matrix, self.format)

    def _each(self, function: Callable[[Any], Any]) -> Sparse:
        return self.like(function(self.data), self.row, self.col, self.shape)

    # -- forms ------------------------------------------------------------

    def asformat(self, format: Any, copy: bool = False) -> Sparse:
        return Sparse(self.data, self.row, self.col, self.shape, self.matrix, format or self.format)

    def tocsr(self, copy: bool = False) -> Sparse:
        return self.asformat("csr")

    def tocsc(self, copy: bool = False) -> Sparse:
        return self.asformat("csc")

    def tocoo(self, copy: bool = False) -> Sparse:
        return self.asformat("coo")

    todia = todok = tolil = tobsr = copy = tocoo

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Sparse:
        return self._each(lambda data: data.astype(dtype))

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """The full, traced array."""
        size = self.shape[0] * self.shape[1]
        return np.reshape(added_up(self.data, self._number(), size), self.shape)

    def todense(self, order: Any = None, out: Any = None) -> Any:
        if self.matrix:
            raise refused("todense", "np.matrix is not covered. Write A.toarray().")
        return self.toarray()

    def transpose(self, axes: Any = None, copy: bool = False) -> Sparse:
        return self.like(self.data, self.col, self.row, self.shape[::-1])

    T = property(transpose)

    def diagonal(self, k: int = 0) -> Any:
        rows, columns = self.shape
        first = max(0, -k)
        there = self.col - self.row == k
        count = max(0, min(rows - first, columns - max(0, k)))
        return added_up(self.data[there], self.row[there] - first, count)

    def __getitem__(self, at: Any) -> Any:
        at = known(at, "an index", "a sparse matrix")
        return moved(lambda x: x[at], self)

    def __setitem__(self, at: Any, value: Any) -> None:
        raise refused(
            "an assignment into a sparse matrix",
            "add a matrix that has the entry:\n"
            "    A = A + scipy.sparse.coo_array(([v], ([i], [j])), shape=A.shape)",
        )

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if axis is None:
            return np.sum(self.data)
        if self.matrix:
            raise refused("sum(axis=…)", "np.matrix is not covered. Write A @ np.ones(A.shape[1]).")
        along = axis % 2
        return added_up(self.data, (self.col, self.row)[along], self.shape[1 - along])

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis) / count

    def trace(self, offset: int = 0) -> Any:
        return np.sum(self.diagonal(offset))

    # -- comparisons ------------------------------------------------------

    def _compared(self, other: Any) -> Any:
        raise refused(
            "a comparison of a sparse matrix", "compare the full array:\n    A.toarray() == B"
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous. "
                         "Use a.any() or a.all().")  # fmt: skip

    # -- arithmetic -------------------------------------------------------

    def __neg__(self) -> Sparse:
        return self._each(np.negative)

    def __abs__(self) -> Sparse:
        return self._each(np.abs)

    def power(self, n: Any, dtype: Any = None) -> Sparse:
        return self._each(lambda data: data**n)

    def __pow__(self, n: Any) -> Any:
        return matrix_power(self, n) if self.matrix else self.power(n)

    def __add__(self, other: Any) -> Any:
        if not is_sparse(other):
            if np.ndim(other) == 0 and not is_traced(other) and other == 0:
                return self.copy()
            _only_arrays(other, "a sum")
            return self.toarray() + other
        other = as_sparse(other)
        _check_equal(self.shape, other.shape)
        data = np.concatenate([self.data, other.data])
        row, col = np.r_[self.row, other.row], np.r_[self.col, other.col]
        return self.like(data, row, col, self.shape)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def multiply(self, other: Any) -> Any:
        """The elementwise product, which is sparse."""
        if is_sparse(other):
            other = as_sparse(other)
            if other.shape == self.shape:
                ours, theirs = self._number(), other._number()
                _, i, j = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
                made = self.data[i] * other.data[j]
                return self.like(made, self.row[i], self.col[i], self.shape)
            other = other.toarray()
        factor = np.broadcast_to(other, np.broadcast_shapes(np.shape(other), self.shape))
        if factor.shape != self.shape:
            return self.toarray() * factor
        return self._each(lambda data: data * factor[self.row, self.col])

    def _number(self) -> np.ndarray:
        return self.row * self.shape[1] + self.col

    def __mul__(self, other: Any) -> Any:
        return self._product(other) if self.matrix else self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        if self.matrix and np.ndim(other) > 0:
            return self.__rmatmul__(other)
        return self.multiply(other)

    def __truediv__(self, other: Any) -> Any:
        if is_sparse(other):
            raise refused("a quotient of sparse matrices", "write A.toarray() / B.toarray().")
        return self.multiply(1.0 / floating(other))

    # -- products ---------------------------------------------------------

    def _product(self, other: Any) -> Any:
        return self.multiply(other) if np.ndim(other) == 0 else self @ other

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _sparse_product(self, as_sparse(other))
        return times(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _sparse_product(as_sparse(other), self)
        return np.transpose(times(self.transpose(), np.transpose(floating(other))))

    def dot(self, other: Any) -> Any:
        return self._product(other)


# -- conversions -----------------------------------------------------------------------


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse matrix, SciPy's or a `Sparse`."""
    return isinstance(x, Sparse) or (hasattr(x, "tocoo") and hasattr(x, "asformat"))


def as_sparse(a: Any, matrix: bool = False) -> Sparse:
    """A `Sparse` from SciPy's matrix, or from a full array, all of whose entries are stored."""
    if isinstance(a, Sparse):
        return a
    if not is_sparse(a):
        full = np.atleast_2d(floating(a))
        row, col = (i.ravel() for i in np.indices(full.shape))
        return Sparse(np.reshape(full, (-1,)), row, col, full.shape, matrix, "coo")
    entries = _entries(a)
    if entries.ndim != 2:
        raise refused("a sparse array", "it needs two axes. Reshape it to one row:\n"
                      "    a.reshape(1, -1)")  # fmt: skip
    return Sparse(entries.data, entries.row, entries.col, a.shape, _is_matrix(a), a.format)


def _entries(a: Any) -> Any:
    """The matrix in SciPy's COO format; its entries may be traced because of ``A.data = …``."""
    data = getattr(a, "data", None)
    if not is_traced(data):
        return a.tocoo()
    if a.format not in ("csr", "csc"):
        raise refused("an assignment to A.data", "make a matrix of the values:\n"
                      "    scipy.sparse.coo_array((data, (A.row, A.col)), A.shape)")  # fmt: skip
    numbered = original(f"scipy.sparse.{a.format}_array")(
        (np.arange(len(a.indices)), a.indices, a.indptr), shape=a.shape
    ).tocoo()
    numbered.data = floating(data)[numbered.data]
    return numbered


def _is_matrix(a: Any) -> bool:
    return type(a).__name__.endswith("_matrix")


def moved(move: Callable[..., Any], *matrices: Any) -> Any:
    """The result of a function of SciPy that only moves entries, for matrices with traced entries.

    >>> from autojit import jit
    >>> jit(lambda x: moved(lambda a: a[1:], as_sparse(x)).toarray())(np.eye(2))
    array([[0., 1.]])
    """
    import scipy.sparse

    ours = [as_sparse(a) for a in matrices]
    kind = scipy.sparse.coo_matrix if ours[0].matrix else scipy.sparse.coo_array
    numbered, count = [], 0
    for a in ours:
        numbers = np.arange(count + 1, count + a.nnz + 1)
        numbered.append(kind((numbers, (a.row, a.col)), a.shape).tocsr())
        count += a.nnz
    made = move(*numbered)
    data = np.concatenate([a.data for a in ours])
    if not is_sparse(made):  # one number, or a full array
        places = np.asarray(made)
        return np.where(places > 0, data[np.maximum(places, 1) - 1], np.zeros((), data.dtype))
    entries = made.tocoo()
    if entries.ndim == 1:
        return added_up(data[entries.data - 1], entries.coords[0], made.shape[0])
    return ours[0].like(data[entries.data - 1], entries.row, entries.col, made.shape)


# -- products --------------------------------------------------------------------------


def added_up(values: Any, places: np.ndarray, count: int) -> Any:
    """The sums of the values at the same place, along the first axis."""
    shape = (count, *np.shape(values)[1:])
    return tracer(scatter_add(as_value(values), as_value(places), axes=(0,), shape=shape))


def times(a: Any, x: Any) -> Any:
    """``A @ x`` for a full vector or matrix x."""
    a, x = as_sparse(a), floating(x)
    if x.ndim not in (1, 2) or x.shape[0] != a.shape[1]:
        raise ShapeError(
            with_place(f"a sparse matrix of shape {a.shape} @ an array of shape {x.shape}: "
                       f"the array needs {a.shape[1]} rows, and one or two axes.", user_source())
        )  # fmt: skip
    weights = np.reshape(a.data, (-1,) + (1,) * (x.ndim - 1))
    return added_up(weights * x[a.col], a.row, a.shape[0])


def _sparse_product(a: Sparse, b: Sparse) -> Sparse:
    """``A @ B``: the sum over all pairs of entries ``a[i, k]`` and ``b[k, j]``."""
    if a.shape[1] != b.shape[0]:
        raise ShapeError(with_place(f"shapes {a.shape} @ {b.shape} do not fit.", user_source()))
    starts = np.searchsorted(b.row, np.arange(b.shape[0] + 1))
    counts = np.diff(starts)[a.col]
    i = np.repeat(np.arange(a.nnz), counts)
    j = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[a.col[i]]
    return a.like(a.data[i] * b.data[j], a.row[i], b.col[j], (a.shape[0], b.shape[1]))


def matrix_power(a: Any, n: Any) -> Any:
    """``A @ A @ … @ A``, by repeated squaring."""
    a, n = as_sparse(a), int(known(n, "the power", "a sparse matrix"))
    if n < 0:
        raise refused("a negative power of a sparse matrix", "call scipy.sparse.linalg.spsolve.")
    if n == 0:
        places = np.arange(a.shape[0])
        return a.like(np.ones(len(places), a.dtype), places, places, a.shape)
    half = matrix_power(a, n // 2) if n > 1 else a
    square = half @ half if n > 1 else a
    return square @ a if n % 2 and n > 1 else square


def _check_equal(ours: Any, theirs: Any) -> None:
    if ours != theirs:
        message = f"sparse matrices of shapes {ours} and {theirs} cannot be added."
        raise ShapeError(with_place(message, user_source()))


def _only_arrays(x: Any, what: str) -> None:
    """Refuse a number that would be added to all entries, as SciPy does."""
    if np.ndim(x) == 0:
        raise refused(
            f"{what} of a sparse matrix and a number",
            "it would fill the matrix. Write A.toarray() + x, or on the diagonal\n"
            "    A + x * scipy.sparse.eye_array(n)",
        )
