"""The Cholesky decomposition and its derivative in both directions.

Each direction is an op of its own: as products and solutions with whole matrices, reverse mode
would take six times the necessary arithmetic (I. Murray, "Differentiation of the Cholesky
decomposition", 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import MaybeValue, full, require
from autojit.ir.core.program import Op, Value
from autojit.ir.core.types import Type
from autojit.ir.linalg.factorizations import (
    Matrices,
    adjoint,
    check_square,
    matmul,
    places,
    substituted,
    swapped,
    symmetrised,
    triangle,
    triangular_solve,
)
from autojit.ir.ops.arithmetic import eq, gt, select

#: Derivatives of matrices up to this order are products and solutions, which are unrolled or fused.
SMALL = 8


class Cholesky(Matrices):
    """``cholesky(a)``: the lower L with ``a = L Lᴴ``, and zeros above. Only the lower triangle of a
    is read. Raises LinAlgError if a is not positive definite.

    The derivative treats a as symmetric (Hermitian): a tangent is symmetrised, so a cotangent is
    symmetric.
    """

    arity = 1
    fallible = True

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        check_square("cholesky", types[0])
        return types

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return np.linalg.cholesky(arrays[0])

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (da,), factor = tangents, op.result
        if da is None:
            return (None,)
        if factor.shape[-1] > SMALL and factor.dtype.kind == "f":
            return (cholesky_tangent(factor, da),)
        half = _solve(factor, symmetrised(da))
        # L⁻¹ dA L⁻ᴴ is Hermitian, so it is also L⁻¹ (L⁻¹ dA)ᴴ.
        inner = _solve(factor, adjoint(half))
        return (matmul(factor, _halved(inner)),)


class _Derivative(Matrices):
    """``op(l, x)``, linear in x. Only the lower triangle of l is read."""

    arity = 2

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        factor, x = types
        check_square(self.name, factor)
        require(factor.dtype.kind == "f", f"{self.name} takes real matrices; got {factor}")
        require(factor == x, f"{self.name} takes two matrices of one type; got {factor} and {x}")
        return (x,)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        if linear[0]:
            raise TypeError(f"{self.name} is not linear in the factor")
        if cotangents[0] is None:
            return (None, None)
        other = cholesky_cotangent if self is cholesky_tangent else cholesky_tangent
        return (None, other(op.operands[0], cotangents[0]))

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        (factor, _), (df, dx) = op.operands, tangents
        total = None if dx is None else self(factor, dx)
        if df is not None:
            more = self.by_factor(op, triangle(df, lower=True, diagonal=True))
            total = more if total is None else total + more
        return (total,)

    def by_factor(self, op: Op, df: Value) -> Value:
        """Return the tangent, given a lower triangle as the tangent of the factor."""
        raise NotImplementedError


class CholeskyTangent(_Derivative):
    """``cholesky_tangent(l, da)``: the tangent of L from that of ``A = L Lᵀ``, symmetrised.

    It is L Φ(W) with W = L⁻¹ dA L⁻ᵀ, where Φ takes the lower triangle and half of the diagonal.
    """

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        factor, da = map(np.asarray, arrays)
        half = _substituted(factor, (da + _turned(da)) * 0.5)
        return np.tril(factor) @ _halved_array(_substituted(factor, _turned(half)))

    def by_factor(self, op: Op, df: Value) -> Value:
        # With P = Φ(W) = L⁻¹ dL and W = P + Pᵀ: dL Φ(W) - dL(dF W Lᵀ + L W dFᵀ).
        factor = triangle(op.operands[0], lower=True, diagonal=True)
        inner = _solve(factor, op.result)
        moved = matmul(matmul(df, inner + swapped(inner)), swapped(factor))
        made: Value = matmul(df, inner) - cholesky_tangent(factor, moved * 2.0)
        return made


class CholeskyCotangent(_Derivative):
    """``cholesky_cotangent(l, g)``: the cotangent of ``A = L Lᵀ``, symmetric, from that of L. Only
    the lower triangle of g is read too.

    It is the symmetric part of L⁻ᵀ Φ(Lᵀ G) L⁻¹; compiled block by block (Murray, section 4.2).
    """

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        factor, g = map(np.tril, map(np.asarray, arrays))
        inner = _halved_array(_turned(factor) @ g)
        half = _substituted(factor, inner, transposed=True)
        whole = _substituted(factor, _turned(half), transposed=True)
        return (whole + _turned(whole)) * 0.5

    def by_factor(self, op: Op, df: Value) -> Value:
        # With the result C: - L⁻ᵀ dFᵀ C and its transpose, and the formula at dFᵀ G.
        factor, g = op.operands
        first = _solve(factor, matmul(df, op.result, transposed=True), transposed=True)
        lower = triangle(g, lower=True, diagonal=True)
        half = _solve(factor, _halved(matmul(df, lower, transposed=True)), transposed=True)
        second = _solve(factor, swapped(half), transposed=True)
        return symmetrised(second - first * 2.0)


def _solve(factor: Value, b: Value, *, transposed: bool = False) -> Value:
    x: Value = triangular_solve(factor, b, lower=True, transpose=transposed, unit=False)
    return x


def _halved(x: Value) -> Value:
    """Return the lower triangle, with half of the diagonal."""
    rows, columns = places(x.type)
    on_diagonal = select(eq(rows, columns), x * 0.5, full(0, x.type))
    return select(gt(rows, columns), x, on_diagonal)


def _halved_array(x: Any) -> Any:
    return (np.tril(x) + np.tril(x, -1)) * 0.5


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _substituted(factor: Any, b: Any, *, transposed: bool = False) -> Any:
    t = _turned(factor) if transposed else factor
    return substituted(t, b, lower=not transposed, unit=False)


cholesky = Cholesky("cholesky")
cholesky_tangent = CholeskyTangent("cholesky_tangent")
cholesky_cotangent = CholeskyCotangent("cholesky_cotangent")
