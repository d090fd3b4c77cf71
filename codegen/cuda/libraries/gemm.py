"""Matrix products by cuBLASLt."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from . import reference
from .prototypes import (
    ADDS_BIAS,
    BATCH_COUNT,
    BATCH_OFFSET,
    BIAS_POINTER,
    COMPUTE_TYPES,
    EPILOGUE,
    MAX_WORKSPACE,
    MIN_ALIGNMENT,
    NO_TRANSPOSE,
    TF32,
    TRANSA,
    TRANSB,
    TRANSPOSE,
    HeuristicResult,
)
from .routines import Routine
from .session import Session

#: The largest workspace of an algorithm: NVIDIA's recommendation for Hopper
#: (``cublasSetWorkspace``); algorithms for other cards need less.
MOST_WORKSPACE = 32 << 20
#: The alignment in bytes above which differences do not matter.
MOST_ALIGNED = 256


@dataclass(frozen=True)
class Stored:
    """A column-major matrix: its rows and columns in memory, and the number of elements from one
    column (``leading``), and from one matrix (``step``), to the next.

    If ``turned``, its transpose is used.
    """

    rows: int
    columns: int
    leading: int
    step: int
    turned: bool = False


@dataclass(frozen=True)
class Gemm(Routine):
    """``d = op(a) op(b)`` for a batch, with an optional bias for each row: (a, b, d[, bias])."""

    a: Stored
    b: Stored
    d: Stored
    batch: int
    has_bias: bool = False
    library: ClassVar[str] = "cublasLt"
    captures: ClassVar[bool] = True

    def compute(self, arrays: Sequence[np.ndarray]) -> None:
        bias = self.elements(arrays[3]) if self.has_bias else None
        for number in range(self.batch):
            a, b, d = (
                reference.matrix(self.elements(x)[number * s.step :], s.rows, s.columns, s.leading)
                for x, s in zip(arrays[:3], (self.a, self.b, self.d), strict=True)
            )
            reference.gemm(a.T if self.a.turned else a, b.T if self.b.turned else b, d, bias)

    def prepared(self, session: Session) -> Prepared:
        return Prepared(session, self)

    def workspace(self, session: Session, kept: Prepared, addresses: Sequence[int]) -> int:
        return int(kept.chosen(session, addresses).workspace)

    def invoke(self, session: Session, kept: Prepared, addresses: Sequence[int], work: int) -> None:
        a, b, d = addresses[:3]
        kept.set_bias(session, addresses)
        chosen = kept.chosen(session, addresses)
        one, zero = session.one(self.dtype), session.zero(self.dtype)
        of_a, of_b, of_d = kept.layouts
        session.call(
            "cublasLt", "cublasLtMatmul", session.handle("cublasLt"), kept.product, one, a, of_a, b,
            of_b, zero, d, of_d, d, of_d, ctypes.addressof(chosen.algorithm), work or None,
            chosen.workspace, session.stream,
        )  # fmt: skip


@dataclass
class Prepared:
    """Descriptors of a product, and the algorithms found so far, by the alignments of operands.

    They are kept as long as the session, which ends with the process.
    """

    product: int
    layouts: list[int]
    algorithms: dict[tuple[int, ...], HeuristicResult] = field(default_factory=dict)

    def __init__(self, session: Session, gemm: Gemm) -> None:
        self.algorithms = {}
        types = {**COMPUTE_TYPES, **(TF32 if asks_for_tf32() else {})}
        compute, scale = types[gemm.dtype], session.scale(gemm.dtype)
        self.product = session.asked("cublasLt", "cublasLtMatmulDescCreate", compute, scale)
        for attribute, matrix in ((TRANSA, gemm.a), (TRANSB, gemm.b)):
            turn = TRANSPOSE if matrix.turned else NO_TRANSPOSE
            name = "cublasLtMatmulDescSetAttribute"
            session.set("cublasLt", name, self.product, attribute, ctypes.c_int32(turn))
        if gemm.has_bias:
            name = "cublasLtMatmulDescSetAttribute"
            session.set("cublasLt", name, self.product, EPILOGUE, ctypes.c_uint32(ADDS_BIAS))
        self.layouts = []
        for matrix in (gemm.a, gemm.b, gemm.d):
            shape = matrix.rows, matrix.columns, matrix.leading
            made = session.asked("cublasLt", "cublasLtMatrixLayoutCreate", gemm.kind, *shape)
            for attribute, value in (
                (BATCH_COUNT, ctypes.c_int32(gemm.batch)),
                (BATCH_OFFSET, ctypes.c_int64(matrix.step)),
            ):
                session.set("cublasLt", "cublasLtMatrixLayoutSetAttribute", made, attribute, value)
            self.layouts.append(made)

    def chosen(self, session: Session, addresses: Sequence[int]) -> HeuristicResult:
        """The algorithm that cuBLASLt estimates to be the fastest for these alignments."""
        key = tuple(map(alignment, addresses))
        found = self.algorithms.get(key)
        if found is None:
            self.set_bias(session, addresses)  # its alignment matters, too
            found = self.algorithms[key] = self._asked(session, (*key[:3], key[2]))
        return found

    def set_bias(self, session: Session, addresses: Sequence[int]) -> None:
        """Set the address of the bias, if there is one."""
        for address in addresses[3:]:
            name = "cublasLtMatmulDescSetAttribute"
            session.set("cublasLt", name, self.product, BIAS_POINTER, ctypes.c_void_p(address))

    def _asked(self, session: Session, aligned: Sequence[int]) -> HeuristicResult:
        name = "cublasLtMatmulPreferenceSetAttribute"
        preference = session.asked("cublasLt", "cublasLtMatmulPreferenceCreate")
        try:
            limit = ctypes.c_uint64(MOST_WORKSPACE)
            session.set("cublasLt", name, preference, MAX_WORKSPACE, limit)
            for attribute, multiple in zip(MIN_ALIGNMENT, aligned, strict=True):
                session.set("cublasLt", name, preference, attribute, ctypes.c_uint32(multiple))
            found, count = HeuristicResult(), ctypes.c_int()
            of_a, of_b, of_d = self.layouts
            session.call(
                "cublasLt", "cublasLtMatmulAlgoGetHeuristic", session.handle("cublasLt"),
                self.product, of_a, of_b, of_d, of_d, preference, 1, ctypes.addressof(found),
                ctypes.addressof(count),
            )  # fmt: skip
        finally:
            session.call("cublasLt", "cublasLtMatmulPreferenceDestroy", preference)
        if not count.value or found.state:
            raise session.failed("cublasLt", "cublasLtMatmulAlgoGetHeuristic", found.state or 15)
        return found


def asks_for_tf32() -> bool:
    """Whether ``AUTOJIT_TF32=1`` is in the environment when a product is first computed."""
    return os.environ.get("AUTOJIT_TF32") == "1"


def alignment(address: int) -> int:
    """The largest power of two that divides an address, at most ``MOST_ALIGNED``.

    >>> alignment(0x7f0000000040), alignment(0x7f0000000008)
    (64, 8)
    """
    return min(MOST_ALIGNED, address & -address) if address else MOST_ALIGNED
