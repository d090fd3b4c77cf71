"""Routines of cuSOLVER and cuBLAS as nodes of device programs: sizes, the call, a reference.

Matrices are column-major, one after the other, with the leading dimensions of their storage.  The
parentheses in the classes' docstrings list the parts of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from autojit.ir.core.types import dtype_from_name

from . import reference
from .prototypes import (
    DATA_TYPES,
    LETTERS,
    LOWER,
    NO_TRANSPOSE,
    NO_VECTORS,
    NOT_UNIT,
    RIGHT,
    TRANSPOSE,
    UNIT,
    UPPER,
    VECTORS,
)
from .session import Session, Solving


def element_size(dtype: str) -> int:
    """The bytes of an element."""
    return int(dtype_from_name(dtype).itemsize)


@dataclass(frozen=True)
class Routine:
    """A routine that works on elements of a dtype."""

    dtype: str
    library: ClassVar[str] = "cusolver"
    captures: ClassVar[bool] = False

    def alignments(self) -> Sequence[int]:
        """No alignment beyond that of the dtype is needed."""
        return ()

    def workspace(self, session: Session, kept: Any, addresses: Sequence[int]) -> int:
        """The bytes of its workspace on the card."""
        return int(kept.nbytes)

    @property
    def kind(self) -> int:
        """The ``cudaDataType`` of the dtype."""
        return DATA_TYPES[self.dtype]

    @property
    def real(self) -> int:
        """The ``cudaDataType`` of singular values and eigenvalues."""
        return DATA_TYPES[{"c64": "f32", "c128": "f64"}.get(self.dtype, self.dtype)]

    def elements(self, scalars: np.ndarray) -> np.ndarray:
        """Scalars viewed as elements; a complex element has two scalars."""
        return scalars.view(dtype_from_name(self.dtype))

    def matrix(self, scalars: np.ndarray, rows: int, columns: int) -> np.ndarray:
        """Elements viewed as a column-major matrix without gaps between its columns."""
        return reference.matrix(self.elements(scalars), rows, columns, max(1, rows))


@dataclass(frozen=True)
class Potrf(Routine):
    """The upper factor U of ``UᴴU``, which replaces the upper triangle: (matrix, info)."""

    n: int

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, info = arrays
        reference.potrf(self.matrix(a, self.n, self.n), info, upper=True)

    def prepared(self, session: Session) -> Solving:
        given = UPPER, self.n, self.kind, None, self.n, self.kind
        return session.solving("cusolverDnXpotrf", *given)

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        a, info = addresses
        given = UPPER, self.n, self.kind, a, self.n, self.kind
        session.solve("cusolverDnXpotrf", given, kept, work, info)


@dataclass(frozen=True)
class Getrf(Routine):
    """L and U of a square matrix: (matrix, pivots from 1 as int64, info)."""

    n: int

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, pivots, info = arrays
        reference.getrf(self.matrix(a, self.n, self.n), pivots, info)

    def prepared(self, session: Session) -> Solving:
        return session.solving(
            "cusolverDnXgetrf", self.n, self.n, self.kind, None, self.n, self.kind
        )

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        a, pivots, info = addresses
        given = self.n, self.n, self.kind, a, self.n, pivots, self.kind
        session.solve("cusolverDnXgetrf", given, kept, work, info)


@dataclass(frozen=True)
class Getrs(Routine):
    """Solve with L and U: (matrix, pivots from 1, right-hand sides and solutions, info)."""

    n: int
    columns: int
    transposed: bool

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, pivots, b, info = arrays
        sides = self.matrix(b, self.n, self.columns)
        factors = self.matrix(a, self.n, self.n)
        reference.getrs(factors, pivots, sides, info, transposed=self.transposed)

    def prepared(self, session: Session) -> Solving:
        return Solving(0, 0)

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        a, pivots, b, info = addresses
        turn = TRANSPOSE if self.transposed else NO_TRANSPOSE
        session.call(
            "cusolver", "cusolverDnXgetrs", *session.solver, turn, self.n, self.columns, self.kind,
            a, self.n, pivots, self.kind, b, self.n, info,
        )  # fmt: skip


@dataclass(frozen=True)
class Geqrf(Routine):
    """R, and the Householder vectors below it: (m x n matrix, factors τ, info)."""

    m: int
    n: int

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, factors, info = arrays
        reference.geqrf(self.matrix(a, self.m, self.n), self.elements(factors), info)

    def prepared(self, session: Session) -> Solving:
        given = self.m, self.n, self.kind, None, self.m, self.kind, None, self.kind
        return session.solving("cusolverDnXgeqrf", *given)

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        a, factors, info = addresses
        given = self.m, self.n, self.kind, a, self.m, self.kind, factors, self.kind
        session.solve("cusolverDnXgeqrf", given, kept, work, info)


@dataclass(frozen=True)
class Orgqr(Routine):
    """The first columns of Q, from ``k`` Householder vectors: (m x n matrix, factors τ, info)."""

    m: int
    n: int
    k: int

    @property
    def _name(self) -> str:
        word = "ungqr" if self.dtype[0] == "c" else "orgqr"
        return f"cusolverDn{LETTERS[self.dtype]}{word}"

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, factors, info = arrays
        reference.orgqr(self.matrix(a, self.m, self.n), self.elements(factors)[: self.k], info)

    def prepared(self, session: Session) -> Solving:
        count = session.asked_int(
            "cusolver", f"{self._name}_bufferSize", session.solver[0], self.m, self.n, self.k, None,
            self.m, None,
        )  # fmt: skip
        return Solving(count * element_size(self.dtype), 0)

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        a, factors, info = addresses
        count = kept.nbytes // element_size(self.dtype)
        session.call(
            "cusolver", self._name, session.solver[0], self.m, self.n, self.k, a, self.m, factors,
            work, count, info,
        )  # fmt: skip


@dataclass(frozen=True)
class Syevd(Routine):
    """Eigenvalues, and eigenvectors, which replace the matrix: (Hermitian matrix, values, info)."""

    n: int
    lower: bool

    @property
    def _given(self) -> tuple[int, int, int]:
        return VECTORS, LOWER if self.lower else UPPER, self.n

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, values, info = arrays
        reference.syevd(self.matrix(a, self.n, self.n), values, info, lower=self.lower)

    def prepared(self, session: Session) -> Solving:
        given = *self._given, self.kind, None, self.n, self.real, None, self.kind
        return session.solving("cusolverDnXsyevd", *given)

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        a, values, info = addresses
        given = *self._given, self.kind, a, self.n, self.real, values, self.kind
        session.solve("cusolverDnXsyevd", given, kept, work, info)


@dataclass(frozen=True)
class Geev(Routine):
    """Eigenvalues and eigenvectors of a complex matrix, which is overwritten:
    (matrix, values, vectors, info).

    Vectors have length 1 and a real largest element, as in LAPACK.
    """

    n: int
    library: ClassVar[str] = "cusolverEig"

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, values, vectors, info = arrays
        matrices = self.matrix(a, self.n, self.n), self.matrix(vectors, self.n, self.n)
        reference.geev(matrices[0], self.elements(values), matrices[1], info)

    def _given(self, addresses: Sequence[int | None]) -> tuple[Any, ...]:
        (a, values, vectors), kind, n = addresses, self.kind, self.n
        return (
            NO_VECTORS,
            VECTORS,
            n,
            kind,
            a,
            n,
            kind,
            values,
            kind,
            None,
            n,
            kind,
            vectors,
            n,
            kind,
        )

    def prepared(self, session: Session) -> Solving:
        return session.solving("cusolverDnXgeev", *self._given([None] * 3), library=self.library)

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        *arrays, info = addresses
        session.solve("cusolverDnXgeev", self._given(arrays), kept, work, info, self.library)


@dataclass(frozen=True)
class Gesvd(Routine):
    """Singular values and vectors of a matrix with no more columns than rows, which is overwritten:
    (matrix, values, U, Vᴴ, info)."""

    m: int
    n: int
    full: bool

    @property
    def columns(self) -> int:
        """The number of columns of U."""
        return self.m if self.full else self.n

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, values, u, vt, info = arrays
        left, right = self.matrix(u, self.m, self.columns), self.matrix(vt, self.n, self.n)
        reference.gesvd(self.matrix(a, self.m, self.n), values, left, right, info)

    def _given(self, addresses: Sequence[int | None]) -> tuple[Any, ...]:
        a, values, u, vt = addresses
        job, kind, m, n = ord("A" if self.full else "S"), self.kind, self.m, self.n
        return (
            job, job, m, n, kind, a, m, self.real, values, kind, u, m, kind, vt, n, kind,
        )  # fmt: skip

    def prepared(self, session: Session) -> Solving:
        return session.solving("cusolverDnXgesvd", *self._given([None] * 4))

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        *arrays, info = addresses
        session.solve("cusolverDnXgesvd", self._given(arrays), kept, work, info)


@dataclass(frozen=True)
class Trsm(Routine):
    """The solution x of ``x op(a) = b``, which replaces b: (triangle, right-hand sides)."""

    n: int
    rows: int
    leading: int
    upper: bool
    transposed: bool
    unit: bool
    library: ClassVar[str] = "cublas"

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        a, b = arrays
        triangle = reference.matrix(self.elements(a), self.n, self.n, self.leading)
        settings = {"upper": self.upper, "transposed": self.transposed, "unit": self.unit}
        reference.trsm(triangle, self.matrix(b, self.rows, self.n), right=True, **settings)

    def prepared(self, session: Session) -> Solving:
        return Solving(0, 0)

    def invoke(self, session: Session, kept: Solving, addresses: Sequence[int], work: int) -> None:
        a, b = addresses
        session.call(
            "cublas", f"cublas{LETTERS[self.dtype]}trsm_v2", session.handle("cublas"), RIGHT,
            UPPER if self.upper else LOWER, TRANSPOSE if self.transposed else NO_TRANSPOSE,
            UNIT if self.unit else NOT_UNIT, self.rows, self.n, session.one(self.dtype), a,
            self.leading, b, self.rows,
        )  # fmt: skip
