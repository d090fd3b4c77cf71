"""Generalised Schur forms of two matrices, and conversions of forms.

The compiled code calls SciPy on the CPU for most of them, as in `unitary_forms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.control_flow.control import fori_loop
from autojit.functions.linalg.factorizations import adjoint, swapped
from autojit.protocols.registry import uncovered
from autojit.scipy.arguments import floating, refused
from autojit.scipy.registry import answers

from .solving import solve_triangular
from .unitary_forms import antihermitian, below, by_scipy, check_output, square, turned_below

#: Larger pairs of matrices in real blocks are refused, because each pair of rows is two unknowns.
LARGEST_PAIR_IN_BLOCKS = 32


@answers("scipy.linalg.qz")
def qz(
    A: Any,
    B: Any,
    output: str = "real",
    lwork: Any = None,
    sort: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """``(aa, bb, q, z)`` with ``A = q @ aa @ zᴴ`` and ``B = q @ bb @ zᴴ``; aa, bb are triangular.

    For real matrices, aa has blocks of two rows, unless ``output`` is ``"complex"``. Matrices in
    blocks have at most 32 rows. The derivative exists if the generalised eigenvalues are distinct.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)
    >>> aa, bb, q, z = jit(lambda a: linalg.qz(a, b))(a)
    >>> np.allclose(q @ aa @ z.T, a)
    True
    """
    if sort is not None:
        raise uncovered("scipy.linalg.qz", " with sort=")
    return _forms("scipy.linalg.qz", A, B, output)


@answers("scipy.linalg.ordqz")
def ordqz(
    A: Any,
    B: Any,
    sort: Any = "lhp",
    output: str = "real",
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """``(aa, bb, alpha, beta, q, z)``: the forms of :func:`qz`, with reordered eigenvalues.

    The eigenvalues ``alpha / beta`` that ``sort`` selects come first. For traced matrices,
    ``output`` must be ``"complex"`` unless A or B is complex.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)
    >>> aa, bb, alpha, beta, q, z = jit(lambda a: linalg.ordqz(a, b, "rhp", "complex"))(a)
    >>> (alpha / beta).real.round(4)
    array([ 5.3723, -0.3723])
    """
    name = "scipy.linalg.ordqz"
    if output in ("real", "r") and np.result_type(square(name, A), square(name, B)).kind != "c":
        raise refused(
            name,
            "LAPACK's scaling of alpha and beta is arbitrary for real blocks, so neither has a "
            "derivative of its own. Use the complex form:\n"
            '    ordqz(A, B, output="complex")',
        )
    aa, bb, q, z = _forms(name, A, B, output, sort=sort)
    alpha, beta = (np.diagonal(x, axis1=-2, axis2=-1) for x in (aa, bb))
    return aa, bb, alpha, beta, q, z


def _forms(name: str, A: Any, B: Any, output: str, **settings: Any) -> tuple[Any, ...]:
    a, b = square(name, A), square(name, B)
    check_output(name, output)
    dtype = np.result_type(a.dtype, b.dtype)
    in_blocks = output in ("real", "r") and dtype.kind != "c"
    if in_blocks and a.shape[-1] > LARGEST_PAIR_IN_BLOCKS:
        raise refused(
            name,
            f"the real form of matrices with {a.shape[-1]} rows is not covered. Use the complex "
            "form:\n"
            '    qz(A, B, output="complex")',
        )
    if not in_blocks:
        dtype = np.result_type(dtype, np.complex64)

    def rule(made: Sequence[Any], changes: Sequence[Any]) -> tuple[Any, ...]:
        aa, bb, q, z = made
        of_a, of_b = (adjoint(q) @ change.astype(dtype) @ z for change in changes)
        turned_pair = _pair_in_blocks if in_blocks else _turned_pair
        left, right = turned_pair(aa, bb, of_a, of_b)
        under = below(aa.shape[-1])
        zero_a, zero_b = under, under
        if in_blocks:
            zero_a = under & (aa == 0)
            zero_b = under | swapped(under & (aa != 0))
        return (
            np.where(zero_a, 0, of_a + aa @ right - left @ aa),
            np.where(zero_b, 0, of_b + bb @ right - left @ bb),
            q @ left,
            z @ right,
        )

    def factors(of: Any, *matrices: Any) -> Any:
        found = of(*matrices, output=output, **settings)
        return found if len(found) == 4 else (*found[:2], *found[4:])

    return tuple(by_scipy(name, [a, b], [np.zeros(a.shape, dtype)] * 4, rule, factors))


def _turned_pair(a: Any, b: Any, of_a: Any, of_b: Any) -> tuple[Any, Any]:
    """The P and R with ``P a - a R = of_a`` and ``P b - b R = of_b`` below the diagonal."""
    n = a.shape[-1]
    places = np.arange(n)

    def column(j: Any, state: Any) -> Any:
        left, right = state
        under, before = places > j, places < j

        def rest(x: Any, moved: Any) -> Any:
            known = np.where(before, x[..., :, j], 0)
            return np.where(under, moved[..., :, j] - np.einsum("...ik,...k->...i", left, known), 0)

        ra, rb = rest(a, of_a), rest(b, of_b)
        aj, bj = a[..., j, j][..., None], b[..., j, j][..., None]
        inside = under[:, None] & under
        matrix = np.where(inside, bj[..., None] * a - aj[..., None] * b, np.eye(n))
        r = solve_triangular(matrix, (aj * rb - bj * ra)[..., None])[..., 0]
        pa, pb = (np.where(under, np.einsum("...ik,...k->...i", x, r) + y, 0)
                  for x, y in ((a, ra), (b, rb)))  # fmt: skip
        size = np.abs(aj) ** 2 + np.abs(bj) ** 2
        p = (np.conjugate(aj) * pa + np.conjugate(bj) * pb) / size
        here = places == j
        return left + np.where(here, p[..., None], 0), right + np.where(here, r[..., None], 0)

    zeros = np.zeros_like(of_a)
    left, right = fori_loop(0, n - 1, column, (zeros, zeros))
    return antihermitian(left), antihermitian(right)


def _pair_in_blocks(a: Any, b: Any, of_a: Any, of_b: Any) -> tuple[Any, ...]:
    """P and R as in `_turned_pair` if a has blocks of two rows, in which b stays diagonal.

    All elements are solved for at once.
    """
    n = a.shape[-1]
    i, j = np.tril_indices(n, -1)
    units = np.zeros((i.size, n, n), a.dtype)
    units[np.arange(i.size), i, j] = 1
    units[np.arange(i.size), j, i] = -1
    in_block = (i == j + 1) & (a[..., i, j] != 0)

    def conditions(x: Any, y: Any, in_block: Any) -> Any:
        outside = np.where(in_block, y[..., j, i], x[..., i, j])
        return np.concatenate([outside, y[..., i, j]], axis=-1)

    x, y = a[..., None, :, :], b[..., None, :, :]
    by_left = conditions(units @ x, units @ y, in_block[..., None, :])
    by_right = conditions(-(x @ units), -(y @ units), in_block[..., None, :])
    matrix = swapped(np.concatenate([by_left, by_right], axis=-2))
    found = np.linalg.solve(matrix, conditions(of_a, of_b, in_block)[..., None])[..., 0]
    left, right = found[..., : i.size], found[..., i.size :]
    return tuple(np.einsum("...k,kij->...ij", v, units) for v in (left, right))


# -- other forms -----------------------------------------------------------------------


@answers("scipy.linalg.rsf2csf")
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex ``(t, z)`` with ``z @ t @ zᴴ = Z @ T @ Zᵀ`` of a real Schur form.

    The derivative exists if the eigenvalues are distinct; phases turn as little as possible.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> t, z = linalg.schur(np.array([[0.0, 2.0], [-2.0, 0.0]]))
    >>> np.abs(jit(linalg.rsf2csf)(t, z)[0]).round(12)
    array([[2., 0.],
           [0., 2.]])
    """
    name = "scipy.linalg.rsf2csf"
    form, vectors = square(name, T), floating(Z)
    if vectors.shape[-2:] != form.shape[-2:]:
        raise ValueError(f"Input array shapes must match: Z: {vectors.shape} vs. T: {form.shape}")
    dtype = np.result_type(form.dtype, vectors.dtype, np.complex64)

    def rule(made: Sequence[Any], changes: Sequence[Any]) -> tuple[Any, ...]:
        t, u = made
        moved = adjoint(u) @ changes[0].astype(dtype) @ u
        turned = turned_below(t, moved)
        return np.where(below(t.shape[-1]), 0, moved + t @ turned - turned @ t), u @ turned

    def factors(of: Any, matrix: Any) -> Any:
        return of(matrix, np.eye(matrix.shape[-1]))

    t, u = by_scipy(name, [form], [np.zeros(form.shape, dtype)] * 2, rule, factors)
    return t, vectors @ u


@answers("scipy.linalg.cdf2rdf")
def cdf2rdf(w: Any, v: Any) -> tuple[Any, Any]:
    """Real ``(blocks, vectors)`` of eigenvalues and eigenvectors in conjugate pairs.

    A complex eigenvalue without a partner is not refused; it gets a row as if it had one.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> jit(lambda a: linalg.cdf2rdf(*np.linalg.eig(a))[0])(np.array([[0.0, 2.0], [-2.0, 0.0]]))
    array([[ 0.,  2.],
           [-2.,  0.]])
    """
    w, v = floating(w), floating(v)
    n = w.shape[-1]
    if v.shape != (*w.shape, n):
        raise ValueError(f"{n} eigenvalues need square arrays of eigenvectors, not {v.shape}")
    imaginary = np.imag(w)
    paired = imaginary != 0
    count = np.cumsum(paired, axis=-1)
    first = np.logical_and(paired, count % 2 == 1)
    second = np.logical_and(paired, count % 2 == 0)
    # The two eigenvalues of a pair have the same number, even if others lie between them.
    number = np.where(paired, (count + 1) // 2, 0)
    same = np.logical_and(number[..., :, None] == number[..., None, :], paired[..., None])
    unit = np.eye(n, dtype=bool)
    across = np.logical_and(same, np.logical_not(unit))
    blocks = np.where(unit, np.real(w)[..., None], np.where(across, imaginary[..., None], 0.0))
    # The first column of a pair becomes half of i (v - v̄), the second one half of v + v̄.
    real, imag = np.real(v), np.imag(v)
    other = np.where(across, 1.0, 0.0)
    swapped_real, swapped_imag = (x @ swapped(other) for x in (real, imag))
    to_first = (swapped_imag - imag) / 2
    to_second = (real + swapped_real) / 2
    places = (x[..., None, :] for x in (first, second))
    at_first, at_second = places
    return blocks, np.where(at_first, to_first, np.where(at_second, to_second, real))
