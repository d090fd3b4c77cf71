"""Eigenvalues and eigenvectors, as in ``scipy.linalg``.

For traced arrays, ``overwrite_…``, ``check_finite``, ``driver`` and ``lwork`` are ignored: nothing
is overwritten, and NaN and infinities are passed on. Signs and phases of vectors are those of
NumPy's routines, which may differ from those of SciPy's drivers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.functions.linalg import factorizations as linalg
from autojit.functions.linalg import spectral
from autojit.functions.linalg.factorizations import adjoint
from autojit.ir.linalg import factorizations as ops
from autojit.protocols.lifting import tracer
from autojit.protocols.registry import uncovered
from autojit.scipy.registry import answers


@answers("scipy.linalg.eigh")
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix, or of a pair with b positive definite.

    The Cholesky factor of b reduces a pair to one matrix, as in LAPACK's ``sygst``.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda b: linalg.eigh(np.eye(2), b, eigvals_only=True)[0])(np.diag([2.0, 1.0]))
    array([[-0.25,  0.  ],
           [ 0.  ,  0.  ]])
    """
    if subset_by_value is not None:
        raise uncovered("scipy.linalg.eigh", " with subset_by_value=")
    values, vectors = _pencil("scipy.linalg.eigh", a, b, lower, type)
    if subset_by_index is not None:
        low, high = (int(k) for k in subset_by_index)
        if not 0 <= low <= high < values.shape[-1]:
            raise ValueError(
                "Requested eigenvalue indices are not valid. "
                f"Valid range is [0, {values.shape[-1] - 1}] and start <= end; got "
                f"{list(subset_by_index)}"
            )
        values, vectors = values[..., low : high + 1], vectors[..., low : high + 1]
    return values if eigvals_only else (values, vectors)


@answers("scipy.linalg.eigvalsh")
def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """The eigenvalues of :func:`eigh`.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.eigvalsh(a)[1])(np.diag([1.0, 2.0]))
    array([[0., 0.],
           [0., 1.]])
    """
    return eigh(a, b, lower=lower, type=type, eigvals_only=True, subset_by_index=subset_by_index,
                subset_by_value=subset_by_value)  # fmt: skip


def _pencil(name: str, a: Any, b: Any, lower: bool, type: int) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of ``a v = w b v``, ``a b v = w v`` or ``b a v = w v``."""
    if b is None:
        values, vectors = spectral.eigh(a, "L" if lower else "U")
        return values, vectors
    if type not in (1, 2, 3):
        raise ValueError(f'"type" keyword only accepts 1, 2, and 3; got {type!r}')
    x, y = linalg.matrices(name, a, b)
    whole: Any = tracer(spectral.hermitian_matrix(name, tracer(x), lower=lower))
    right = tracer(spectral.hermitian_matrix(name, tracer(y), lower=lower))
    factor: Any = linalg.cholesky_factor(right.value, lower=True)
    if type == 1:
        half = _solved(name, factor, whole)
        values, vectors = spectral.eigh(_solved(name, factor, adjoint(half)))
    else:
        values, vectors = spectral.eigh(adjoint(factor) @ whole @ factor)
    if type == 3:
        return values, factor @ vectors
    return values, _solved(name, factor, vectors, adjoint=True)


def _solved(name: str, factor: Any, b: Any, *, adjoint: bool = False) -> Any:
    """The x with ``L x = b`` or ``Lᴴ x = b``."""
    t = np.conjugate(factor) if adjoint and factor.dtype.kind == "c" else factor
    x = ops.triangular_solve(t.value, b.value, lower=True, transpose=adjoint, unit=False)
    return tracer(x)


@answers("scipy.linalg.eig")
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Eigenvalues and eigenvectors of any square matrix; if it is traced, they are complex.

    The vectors have length 1, and their largest elements are real. For a pair of matrices, b must
    be regular, and left vectors are not covered.

    >>> from autojit import jit
    >>> from autojit.scipy import linalg
    >>> jit(lambda a: linalg.eig(a, right=False))(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    array([0.+1.j, 0.-1.j])
    """
    if homogeneous_eigvals or (left and b is not None):
        what = "homogeneous_eigvals=" if homogeneous_eigvals else "left= and b="
        raise uncovered("scipy.linalg.eig", f" with {what}")
    x = a if b is None else linalg.solve(b, a)
    values, vectors = spectral.general_eig("scipy.linalg.eig", x)
    found = [values]
    if left:
        found.append(_normalised(adjoint(linalg.inv(vectors))))
    if right:
        found.append(vectors)
    return tuple(found) if len(found) > 1 else values


def _normalised(v: Any) -> Any:
    """Scale columns to length 1, with a real largest element."""
    v = v / spectral.norm(v, axis=-2, keepdims=True)
    place = np.argmax(np.abs(v), axis=-2)[..., None, :]
    largest = np.take_along_axis(v, place, axis=-2)
    return v * np.conjugate(largest) / np.abs(largest)


@answers("scipy.linalg.eigvals")
def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """The eigenvalues of :func:`eig`.

    >>> from autojit import grad
    >>> from autojit.scipy import linalg
    >>> grad(lambda a: linalg.eigvals(a).real.sum())(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)
