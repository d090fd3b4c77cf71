"""Functions of square matrices: exponential, logarithm, roots and related functions.

Traced arrays may be stacks of matrices in the last two axes, unless a docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.scipy.arguments import floating, known, refused
from autojit.scipy.registry import answers, original
from autojit.tracing.created_arrays import is_traced, plain, with_values
from autojit.transformations.batching import vmap
from autojit.transformations.derivatives import jvp, stop_gradient
from autojit.transformations.jacobians import jacfwd

from .equations import MOST_STEPS, implied, sign_of, solve_sylvester, stable_sylvester
from .unitary_forms import by_scipy

#: The coefficients of the Padé approximant of order 13 of exp, and the norm up to which it is
#: exact to rounding (Higham, SIAM J. Matrix Anal. Appl. 26 (2005), 1179-1193).
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_THETA = 4.25
#: The first coefficient of the approximant's backward error.
_BACKWARD = 1 / 113250775606021113483283660800000000.0


def _square(name: str, a: Any) -> Any:
    a = floating(a)
    a = a[None, None] if a.ndim == 0 else a
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: expected square matrices, got shape {a.shape}")
    return a


def _norm1(a: Any) -> Any:
    return np.max(np.sum(np.abs(a), axis=-2), axis=-1)


@answers("scipy.linalg.expm")
def expm(A: Any) -> Any:
    """The exponential of matrices, by scaling and squaring.

    Al-Mohy and Higham, SIAM J. Matrix Anal. Appl. 31 (2009), 970-989, with the approximant of order
    13.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import expm
    >>> np.round(grad(lambda a: expm(a)[0, 1])(np.zeros((2, 2))), 12)
    array([[0., 1.],
           [0., 0.]])
    """
    a = _square("expm", A)
    if a.dtype.kind == "c":
        n = a.shape[-1]
        made = expm(_doubled(a.real, a.imag))
        return (made[..., :n, :n] + 1j * made[..., n:, :n]).astype(a.dtype)
    two = a @ a
    four, six = two @ two, two @ (two @ two)
    s = _squarings(*(stop_gradient(x) for x in (a, four, six)))
    scale = np.exp2(-s)[..., None, None].astype(a.dtype)
    return _squared(_approximant(a * scale, two * scale**2, four * scale**4, six * scale**6), s)


def _doubled(real: Any, imag: Any) -> Any:
    """A complex matrix as a real matrix of twice the size."""
    above = np.concatenate([real, -imag], axis=-1)
    return np.concatenate([above, np.concatenate([imag, real], axis=-1)], axis=-2)


def _squarings(a: Any, four: Any, six: Any) -> Any:
    """How often matrices are halved, from norms of powers and the backward error."""
    eight, ten = _norm1(four @ four), _norm1(four @ six)
    d4, d6 = _norm1(four) ** (1 / 4), _norm1(six) ** (1 / 6)
    d8, d10 = eight ** (1 / 8), ten ** (1 / 10)
    eta = np.minimum(np.maximum(d4, d6), np.minimum(np.maximum(d6, d8), np.maximum(d8, d10)))
    s = _least_power(eta / _THETA)
    size = np.abs(a) * np.exp2(-s)[..., None, None]
    power = np.sum(0 * size, axis=-2, keepdims=True) + 1.0
    for _ in range(27):
        power = power @ size
    largest = np.max(power, axis=(-2, -1))
    norm = np.max(np.sum(size, axis=-2), axis=-1)
    error = _BACKWARD * largest / np.where(norm > 0, norm, 1.0)
    return s + _least_power((error / (np.finfo(float).eps / 2)) ** (1 / 26))


def _least_power(x: Any) -> Any:
    """The least integer k >= 0 with ``x <= 2**k``; at most 1100, and 0 for NaN."""
    k = np.ceil(np.log2(np.where(x > 1, x, 1.0)))
    return np.minimum(k, 1100.0)


def _approximant(a: Any, two: Any, four: Any, six: Any) -> Any:
    b, unit = _PADE, np.eye(a.shape[-1], dtype=a.dtype)
    odd = six @ (b[13] * six + b[11] * four + b[9] * two)
    odd = a @ (odd + b[7] * six + b[5] * four + b[3] * two + b[1] * unit)
    even = six @ (b[12] * six + b[10] * four + b[8] * two)
    even = even + b[6] * six + b[4] * four + b[2] * two + b[0] * unit
    return np.linalg.solve(even - odd, even + odd)


def _squared(x: Any, s: Any) -> Any:
    """Each matrix squared s times."""

    def step(state: Any) -> Any:
        k, x = state
        return k + 1, np.where((k < s)[..., None, None], x @ x, x)

    return while_loop(lambda state: state[0] < np.max(s), step, (0.0, x))[1]


@answers("scipy.linalg.expm_frechet")
def expm_frechet(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """``(expm(A), its derivative along E)``, or only the derivative if ``compute_expm`` is False.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import expm_frechet
    >>> jit(lambda e: expm_frechet(np.zeros((2, 2)), e)[1])(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    a, e = _square("expm_frechet", A), _square("expm_frechet", E)
    value, tangent = jvp(expm, (a,), (e.astype(a.dtype),))
    return (value, tangent) if compute_expm else tangent


@answers("scipy.linalg.cosm")
def cosm(A: Any) -> Any:
    """The cosine of matrices, from the exponential of i A.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import cosm
    >>> jit(cosm)(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return _trigonometric(A)[0]


@answers("scipy.linalg.sinm")
def sinm(A: Any) -> Any:
    """The sine of matrices, from the exponential of i A.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import sinm
    >>> grad(lambda a: sinm(a)[0, 0])(np.zeros((1, 1)))
    array([[1.]])
    """
    return _trigonometric(A)[1]


def _trigonometric(A: Any) -> tuple[Any, Any]:
    a = _square("sinm", A)
    if a.dtype.kind == "c":
        plus, minus = expm(1j * a), expm(-1j * a)
        return (plus + minus) / 2, (plus - minus) / 2j
    n, made = a.shape[-1], expm(_doubled(0 * a, a))
    return made[..., :n, :n], made[..., n:, :n]


@answers("scipy.linalg.tanm")
def tanm(A: Any) -> Any:
    """The tangent of matrices.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import tanm
    >>> jit(tanm)(np.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    cosine, sine = _trigonometric(A)
    return np.linalg.solve(cosine, sine)


@answers("scipy.linalg.coshm")
def coshm(A: Any) -> Any:
    """The hyperbolic cosine of matrices.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import coshm
    >>> jit(coshm)(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    a = _square("coshm", A)
    return (expm(a) + expm(-a)) / 2


@answers("scipy.linalg.sinhm")
def sinhm(A: Any) -> Any:
    """The hyperbolic sine of matrices.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import sinhm
    >>> jit(sinhm)(np.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    a = _square("sinhm", A)
    return (expm(a) - expm(-a)) / 2


@answers("scipy.linalg.tanhm")
def tanhm(A: Any) -> Any:
    """The hyperbolic tangent of matrices.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import tanhm
    >>> jit(tanhm)(np.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    a = _square("tanhm", A)
    plus, minus = expm(a), expm(-a)
    return np.linalg.solve(plus + minus, plus - minus)


def _each(f: Callable[[Any], Any], a: Any) -> Any:
    for _ in range(a.ndim - 2):
        f = vmap(f)
    return f(a)


def _real(name: str, a: Any) -> Any:
    a = _square(name, a)
    if a.dtype.kind == "c":
        raise refused(f"scipy.linalg.{name}", "complex matrices are not covered.")
    return a


def _without_estimate(name: str, disp: Any) -> None:
    """Refuse ``disp=False``, which requests an estimate of the error."""
    if disp is not None and disp is not True and isinstance(disp, (bool, int, np.bool_)):
        raise refused(f"scipy.linalg.{name}", "disp=False is not covered; leave it out.")


@answers("scipy.linalg.sqrtm")
def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Any:
    """The principal square root of matrices.

    That of a real matrix is found by the iteration of Denman and Beavers in product form (Higham,
    "Functions of Matrices", 2008, 6.29), that of a complex one by SciPy. The derivative solves a
    Sylvester equation; a singular matrix has none.

    If an eigenvalue of a real matrix is negative, SciPy's root is complex. So is this one where the
    values are at hand, without ``jit`` and ``vmap``. Under these it is NaN, or the iteration meets
    a singular matrix and raises LinAlgError: pass ``A + 0j``.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import sqrtm
    >>> np.round(grad(lambda a: sqrtm(a)[0, 0])(np.diag([4.0, 1.0])), 12) + 0.0
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    _without_estimate("sqrtm", disp)
    a = _square("sqrtm", A)
    values = plain(with_values(a, lost=True))
    if a.dtype.kind != "c" and not is_traced(values):
        a = a.astype(np.result_type(a.dtype, original("scipy.linalg.sqrtm")(values).dtype))
    return _each(_complex_root if a.dtype.kind == "c" else _root, a)


def _complex_root(a: Any) -> Any:
    def rule(made: Any, changes: Any) -> Any:
        return (solve_sylvester(made[0], made[0], changes[0]),)

    return by_scipy("scipy.linalg.sqrtm", [a], [np.zeros(a.shape, a.dtype)], rule)[0]


def _root(a: Any) -> Any:
    unit = np.eye(a.shape[0], dtype=a.dtype)

    def step(state: Any) -> Any:
        m, x, n, _ = state
        inverse = np.linalg.inv(m)
        off = np.sqrt(np.sum((m - unit) ** 2))
        scale = np.where(off > 1e-2, (np.sum(inverse**2) / np.sum(m**2)) ** 0.25, 1.0)
        new = (unit + (scale**2 * m + inverse / scale**2) / 2) / 2
        return new, scale * x @ (unit + inverse / scale**2) / 2, n + 1, off

    first = (a, a, np.int64(0), 1.0 + 0 * a[0, 0])
    unfinished = lambda s: np.logical_and(s[2] < MOST_STEPS, s[3] > 1e-9)  # noqa: E731
    _, found, _, off = stop_gradient(while_loop(unfinished, step, first))
    found = np.where(off < 1e-2, found, np.nan)  # no root: no convergence
    found = found - stable_sylvester(found, found, found @ found - a)  # a Newton step
    return implied(
        lambda x: x @ x - a,
        found,
        lambda y: stable_sylvester(found, found, y),
        lambda y: stable_sylvester(found.T, found.T, y),
    )


@answers("scipy.linalg.logm")
def logm(A: Any, disp: Any = None) -> Any:
    """The principal logarithm of real matrices.

    It is found by inverse scaling and squaring: square roots are taken until the matrix is close to
    the identity, where a Padé approximant is evaluated as partial fractions (Higham, "Functions of
    Matrices", 2008, 11.5). If an eigenvalue is negative, SciPy's logarithm is complex; for a traced
    matrix it is NaN.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import logm
    >>> np.round(grad(lambda a: logm(a)[0, 0])(np.diag([4.0, 1.0])), 12) + 0.0
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    _without_estimate("logm", disp)
    return _each(_logarithm, _real("logm", A))


def _logarithm(a: Any) -> Any:
    unit = np.eye(a.shape[0], dtype=a.dtype)

    def far(state: Any) -> Any:
        x, k = state
        return np.logical_and(_norm1(x - unit) > 0.25, k < MOST_STEPS)

    x, k = while_loop(far, lambda s: (_root(s[0]), s[1] + 1), (a, np.int64(0)))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    off = x - unit
    terms = [w / 2 * np.linalg.solve(unit + (n + 1) / 2 * off, off)
             for n, w in zip(nodes, weights, strict=True)]  # fmt: skip
    return np.exp2(k.astype(a.dtype)) * sum(terms[1:], terms[0])


@answers("scipy.linalg.fractional_matrix_power")
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """A power of real matrices, by products for a known integer t, else ``expm(t * logm(A))``.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import fractional_matrix_power
    >>> round(float(grad(lambda t: fractional_matrix_power([[4.0]], t)[0, 0])(0.5)), 9)
    2.772588722
    """
    a = _real("fractional_matrix_power", A)
    if isinstance(t, (int, np.integer)) or (isinstance(t, float) and t.is_integer()):
        return np.linalg.matrix_power(a, int(known(t, "t", "fractional_matrix_power")))
    return expm(t * logm(a))


@answers("scipy.linalg.signm")
def signm(A: Any, disp: Any = None) -> Any:
    """The sign of real matrices, by Newton's iteration.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import signm
    >>> jit(signm)(np.diag([2.0, -3.0])).round(9) + 0.0
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    _without_estimate("signm", disp)
    return _each(sign_of, _real("signm", A))


@answers("scipy.linalg.funm")
def funm(A: Any, func: Any, disp: bool = True) -> Any:
    """Refuse the call: whether SciPy's result is real depends on values."""
    raise refused("scipy.linalg.funm", "whether the result is real depends on values. Use expm, "
                  "logm or sqrtm, or, if the eigenvalues are distinct:\n"
                  "    w, v = np.linalg.eig(A); (v * func(w)) @ np.linalg.inv(v)")  # fmt: skip


@answers("scipy.linalg.expm_cond")
def expm_cond(A: Any, check_finite: bool = True) -> Any:
    """The relative condition number of the exponential, in Frobenius norms.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import expm_cond
    >>> jit(expm_cond)(np.array([[2.0]])).round(9)
    np.float64(2.0)
    """
    a = floating(A)
    slope = np.reshape(jacfwd(expm)(a), (a.size, a.size))
    size = np.linalg.norm(slope, 2) * np.linalg.norm(a)
    return size / np.linalg.norm(expm(a))
