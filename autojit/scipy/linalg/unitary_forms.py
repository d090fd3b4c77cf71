"""Schur and Hessenberg forms, and symmetric matrices as ``L D Lᵀ``.

The compiled code calls SciPy on the CPU, so the order of eigenvalues, the signs and the blocks are
SciPy's own. The derivatives come from the equations of the factors, for the blocks as they are. For
unitary factors, ``dQ = Q Ω``, where Ω is antihermitian and follows, column by column, from the
elements that must stay zero. Phases of complex factors turn as little as possible.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.control_flow.control import fori_loop
from autojit.functions.linalg import spectral
from autojit.functions.linalg.factorizations import adjoint, swapped
from autojit.functions.linalg.factorizations import square as square_matrix
from autojit.protocols.lifting import tracer
from autojit.scipy.arguments import refused
from autojit.scipy.registry import answers, original
from autojit.transformations.custom import custom_jvp
from autojit.transformations.derivatives import stop_gradient

from .solving import solve_triangular

#: Larger matrices in real blocks are refused, because each pair of rows is an unknown.
LARGEST_IN_BLOCKS = 64

Rule = Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]


def square(name: str, a: Any) -> Any:
    return tracer(square_matrix(name, a))


def by_scipy(
    name: str,
    arrays: Sequence[Any],
    like: Sequence[Any],
    rule: Rule,
    call: Any = None,
    **settings: Any,
) -> list[Any]:
    """The results of a function of SciPy for matrices, one array for each in ``like``.

    ``rule`` returns the tangents of the results that are not integers, given these results and the
    tangents of the matrices. ``call`` adapts SciPy's function, if that takes other arguments or
    returns more: it is given the function and the matrices.
    """

    def rows(*stacks: Any) -> list[Any]:
        flat = [np.reshape(x, (-1, *x.shape[-2:])) for x in stacks]
        of = original(name)
        of = functools.partial(of, **settings) if call is None else functools.partial(call, of)
        found = [of(*each) for each in zip(*flat, strict=True)]
        found = [each if isinstance(each, tuple) else (each,) for each in found]
        head = stacks[0].shape[:-2]
        return [
            np.reshape(np.array(x, k.dtype), head + np.shape(x[0]))
            for x, k in zip(zip(*found, strict=True), like, strict=True)
        ]

    still = [stop_gradient(x) for x in arrays]
    results = pure_callback(rows, list(like), *still, vmap_method="broadcast_all")
    inexact = [i for i, x in enumerate(like) if x.dtype.kind in "fc"]

    @custom_jvp
    def factors(given: Any, made: Any) -> Any:
        return made

    @factors.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        made = factors(*primals)
        return made, rule(made, tangents[0])

    made = factors(tuple(arrays), tuple(results[i] for i in inexact))
    for i, x in zip(inexact, made, strict=True):
        results[i] = x
    return list(results)


def below(n: int, k: int = 0) -> Any:
    return np.tri(n, n, k - 1, dtype=bool)


# -- Schur -----------------------------------------------------------------------------


@answers("scipy.linalg.schur")
def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any:
    """``(t, z)`` with ``a = z @ t @ zᴴ`` and a triangular t.

    For real matrices, t has blocks of two rows, unless ``output`` is ``"complex"``; matrices in
    blocks have at most 64 rows. The derivative is finite if the eigenvalues are distinct and no
    real block of two rows is a multiple of a rotation.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.schur(a)[0][0, 0])(np.array([[2.0, 1.0], [0.0, 3.0]]))
    array([[ 1.,  0.],
           [-1.,  0.]])
    """
    name = "scipy.linalg.schur"
    a = square(name, a)
    check_output(name, output)
    in_blocks = output in ("real", "r") and a.dtype.kind != "c"
    n, dtype = a.shape[-1], a.dtype if in_blocks else np.result_type(a.dtype, np.complex64)
    if in_blocks and n > LARGEST_IN_BLOCKS:
        raise refused(
            name,
            f"the real form of matrices with {n} rows is not covered. Use the complex form:\n"
            '    schur(a, output="complex")',
        )

    def rule(made: Sequence[Any], changes: Sequence[Any]) -> tuple[Any, ...]:
        t, z = made
        moved = adjoint(z) @ changes[0].astype(dtype) @ z
        turned = (_turned_in_blocks if in_blocks else turned_below)(t, moved)
        change = moved + t @ turned - turned @ t
        zero = below(n) & (t == 0) if in_blocks else below(n)
        return np.where(zero, 0, change), z @ turned

    like = [np.zeros(a.shape, dtype)] * 2
    if sort is not None:
        like.append(np.zeros(a.shape[:-2], np.int64))
    return tuple(by_scipy(name, [a], like, rule, output=output, sort=sort))


def check_output(name: str, output: Any) -> None:
    if output not in ("real", "r", "complex", "c"):
        raise ValueError(f"argument must be 'real', or 'complex'; output of {name} is {output!r}")


def antihermitian(lower: Any) -> Any:
    return lower - adjoint(lower)


def turned_below(t: Any, moved: Any) -> Any:
    """The Ω with ``Ω t - t Ω = moved`` below the diagonal, for a triangular t.

    It is found from the first column on; each column depends only on those to its left.
    """
    n = t.shape[-1]
    places = np.arange(n)

    def column(j: Any, lower: Any) -> Any:
        under = places > j
        before = np.where(places < j, t[..., :, j], 0)
        right = moved[..., :, j] - np.einsum("...ik,...k->...i", lower, before)
        shifted = t[..., j, j][..., None, None] * np.eye(n) - t
        inside = under[:, None] & under
        matrix = np.where(inside, shifted, np.eye(n))
        found = solve_triangular(matrix, np.where(under, right, 0)[..., None])
        return lower + np.where(places == j, found, 0)

    return antihermitian(fori_loop(0, n - 1, column, np.zeros_like(moved)))


def _turned_in_blocks(t: Any, moved: Any) -> Any:
    """The Ω of `turned_below` if t has blocks of two rows, whose diagonals stay equal.

    All elements are solved for at once.
    """
    n = t.shape[-1]
    i, j = np.tril_indices(n, -1)
    units = np.zeros((i.size, n, n), t.dtype)
    units[np.arange(i.size), i, j] = 1
    units[np.arange(i.size), j, i] = -1
    stacked = t[..., None, :, :]
    effects = units @ stacked - stacked @ units
    in_block = (i == j + 1) & (t[..., i, j] != 0)

    def conditions(x: Any, in_block: Any) -> Any:
        return np.where(in_block, x[..., j, j] - x[..., i, i], x[..., i, j])

    matrix = swapped(conditions(effects, in_block[..., None, :]))
    found = np.linalg.solve(matrix, conditions(moved, in_block)[..., None])[..., 0]
    return np.einsum("...k,kij->...ij", found, units)


# -- Hessenberg ------------------------------------------------------------------------


@answers("scipy.linalg.hessenberg")
def hessenberg(
    a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The h of ``a = q @ h @ qᵀ`` with zeros below the first subdiagonal; with ``calc_q``, (h, q).

    A traced a must be real. The derivative exists if no element of the subdiagonal is 0.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> a = np.arange(9.0).reshape(3, 3) % 5
    >>> h, q = jit(lambda a: linalg.hessenberg(a, calc_q=True))(a)
    >>> np.allclose(q @ h @ q.T, a)
    True
    """
    name = "scipy.linalg.hessenberg"
    a = square(name, a)
    if a.dtype.kind == "c":
        raise refused(
            name, "complex matrices are not covered; use schur(a), whose form is triangular."
        )
    n = a.shape[-1]

    def rule(made: Sequence[Any], changes: Sequence[Any]) -> tuple[Any, ...]:
        h, q = made
        moved = swapped(q) @ changes[0] @ q
        turned = _turned_to_hessenberg(h, moved)
        return np.where(below(n, -1), 0, moved + h @ turned - turned @ h), q @ turned

    like = [np.zeros(a.shape, a.dtype)] * 2
    h, q = by_scipy(name, [a], like, rule, calc_q=True)
    return (h, q) if calc_q else h


def _turned_to_hessenberg(h: Any, moved: Any) -> Any:
    """The Ω with ``Ω h - h Ω = moved`` below the subdiagonal, and with zeros in its first column.

    Each column gives the next one.
    """
    places = np.arange(h.shape[-1])

    def column(j: Any, lower: Any) -> Any:
        before = np.where(places <= j, h[..., :, j], 0)
        known = np.einsum("...ik,...k->...i", lower, before)
        across = np.einsum("...ik,...k->...i", h, lower[..., :, j])
        step = (moved[..., :, j] - known + across) / h[..., j + 1, j][..., None]
        found = np.where(places > j + 1, step, 0)
        return lower + np.where(places == j + 1, found[..., None], 0)

    return antihermitian(fori_loop(0, h.shape[-1] - 2, column, np.zeros_like(moved)))


# -- symmetric and indefinite ----------------------------------------------------------


@answers("scipy.linalg.ldl")
def ldl(
    A: Any,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:
    """``(lu, d, order)`` with ``A = lu @ d @ luᴴ``, or ``luᵀ`` unless ``hermitian``.

    d has blocks of one or two rows, and lu is triangular with its rows in this order. The other
    triangle of A is not read, and its derivative is 0. The derivative is that for this order and
    these blocks.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.ldl(a)[1][1, 1])(np.array([[4.0, 2.0], [2.0, 3.0]]))
    array([[ 0.25,  0.  ],
           [-1.  ,  1.  ]])
    """
    name = "scipy.linalg.ldl"
    a = square(name, A)
    whole = tracer(spectral.hermitian_matrix(name, a, lower=lower))
    if not hermitian and a.dtype.kind == "c":
        half = np.where(np.tri(a.shape[-1], dtype=bool), a, 0) if lower else np.triu(a)
        whole = half + swapped(half) - half * np.eye(a.shape[-1])
    turn = adjoint if hermitian else swapped

    def rule(made: Sequence[Any], changes: Sequence[Any]) -> tuple[Any, ...]:
        factor, blocks = made
        n = blocks.shape[-1]
        inverse = np.linalg.inv(factor)
        moved = inverse @ changes[0] @ turn(inverse)
        pairs = blocks != 0
        in_block = np.eye(n, dtype=bool) | pairs
        side = below(n) if lower else swapped(below(n))
        turned = np.where(side & ~in_block, moved, 0) @ np.linalg.inv(blocks)
        return factor @ turned, np.where(in_block, moved, 0)

    like = [np.zeros(a.shape, a.dtype)] * 2 + [np.zeros(a.shape[:-1], np.int64)]
    settings = {"lower": lower, "hermitian": hermitian}
    return tuple(by_scipy(name, [whole], like, rule, **settings))
