"""Writes products, factorizations, transforms and sorting in NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Sequence

from autojit.codegen.export.text.expressions import (
    ATOM,
    MUL,
    Expression,
    binary,
    call,
)
from autojit.ir.core.program import Op, Value
from autojit.ir.linalg.factorizations import Solve
from autojit.ir.ops.contract import free_axes

from .movement import turned
from .writer import Writer, dtype_text

_LETTERS = "ijklmnpqrstuvwxyzabcdefgho"


def dot(w: Writer, op: Op) -> Expression:
    """Write ``a @ b`` if the product is that up to transposes; otherwise name the axes."""
    (a, b), (ca, cb), (ba, bb) = op.operands, op.params["contract"], op.params["batch"]
    if ba == bb == () and a.type.ndim <= 2 and b.type.ndim <= 2 and len(ca) == 1:
        return _matrix_product(w, a, b, ca[0], cb[0])
    if not ca and a.type.ndim == b.type.ndim == 1 and not ba:
        return call("np.outer", w.text(a, 0), w.text(b, 0))
    if _is_stack(a, ca, ba) and _is_stack(b, cb, bb):
        last = a.type.ndim - 1
        left = _turned(w, a) if ca[0] != last else w.array(a)
        right = _turned(w, b) if cb[0] == last else w.array(b)
        return binary("@", left, right)
    return _by_letters(w, op)


def _matrix_product(w: Writer, a: Value, b: Value, of_a: int, of_b: int) -> Expression:
    left, right = w.array(a), w.array(b)
    if of_a != a.type.ndim - 1:
        left = turned(left.at(ATOM))
    if of_b != 0:
        right = turned(right.at(ATOM))
    return Expression(f"{left.at(MUL)} @ {right.at(MUL + 1)}", MUL)


def _is_stack(x: Value, contract: Sequence[int], batch: Sequence[int]) -> bool:
    """Whether an operand is a stack of matrices, summed over one of their axes."""
    return (
        len(contract) == 1
        and tuple(batch) == tuple(range(x.type.ndim - 2))
        and contract[0] >= x.type.ndim - 2
    )


def _turned(w: Writer, x: Value) -> Expression:
    """Return the transposed matrices."""
    if x.type.ndim == 2:
        return turned(w.text(x, ATOM))
    return call("np.swapaxes", w.text(x, 0), "-1", "-2")


def _by_letters(w: Writer, op: Op) -> Expression:
    (a, b), (ca, cb), (ba, bb) = op.operands, op.params["contract"], op.params["batch"]
    letters = iter(_LETTERS)
    of_a = [next(letters) for _ in range(a.type.ndim)]
    of_b = [""] * b.type.ndim
    for mine, theirs in zip((*ba, *ca), (*bb, *cb), strict=True):
        of_b[theirs] = of_a[mine]
    of_b = [x or next(letters) for x in of_b]
    free_a = [of_a[i] for i in free_axes(a.type.ndim, ca, ba)]
    free_b = [of_b[i] for i in free_axes(b.type.ndim, cb, bb)]
    made = "".join([*(of_a[i] for i in ba), *free_a, *free_b])
    rule = f'"{"".join(of_a)},{"".join(of_b)}->{made}"'
    return call("np.einsum", rule, w.text(a, 0), w.text(b, 0))


# -- factorizations --------------------------------------------------------------------


def cholesky(w: Writer, op: Op) -> Expression:
    return call("np.linalg.cholesky", w.text(op.operands[0], 0))


def triangular_solve(w: Writer, op: Op) -> Expression:
    t, b = op.operands
    given = [w.text(t, 0), w.text(b, 0), f"lower={op.params['lower']}"]
    if t.type.ndim > 2:
        given += [f"{n}=True" for n in ("transpose", "unit") if op.params[n]]
        return call(w.need("_solve_triangular"), *given)
    given += ["trans=1"] * op.params["transpose"] + ["unit_diagonal=True"] * op.params["unit"]
    return call(f"{w.need('linalg')}.solve_triangular", *given, "check_finite=False")


def cholesky_derivative(w: Writer, op: Op) -> Expression:
    return call(w.need(f"_{op.kind.name}"), *(w.text(v, 0) for v in op.operands))


def lu(w: Writer, op: Op) -> None:
    """Write the factors; if only one solution uses them, it is written with the matrix instead."""
    readers = [r for v in op.results for r in w.plan.readers(v)]
    if len({id(r) for r in readers}) == 1 and isinstance(readers[0].kind, Solve):
        return
    several(w, op, call(w.need("_lu"), w.text(op.operands[0], 0)).text, ("lu", "pivots"))


def solve(w: Writer, op: Op) -> Expression:
    a, packed, pivots, b = op.operands
    transpose = op.params["transpose"]
    if not w.is_written(packed):
        matrix = _turned(w, a) if transpose else w.array(a)
        return call("np.linalg.solve", matrix.text, w.text(b, 0))
    given = [w.text(packed, 0), w.text(pivots, 0), w.text(b, 0)]
    return call(w.need("_lu_solve"), *given, *(["transpose=True"] if transpose else []))


def permutation(w: Writer, op: Op) -> Expression:
    return call(w.need("_permutation"), w.text(op.operands[0], 0))


def several(w: Writer, op: Op, text: str, names: Sequence[str]) -> None:
    """Write an op with several results; unused results are named ``_``."""
    given = w.plan.targets(op)
    if len(given) != len(op.results):
        given = tuple(names)
    made = [
        w.names.fresh(name) if w.plan.uses(v) else "_"
        for v, name in zip(op.results, given, strict=True)
    ]
    w.write(op, f"{', '.join(made)} = {text}")
    for value, name in zip(op.results, made, strict=True):
        w.bind(value, Expression(name))


def eigh(w: Writer, op: Op) -> None:
    given = [] if op.params["lower"] else ['UPLO="U"']
    text = call("np.linalg.eigh", w.text(op.operands[0], 0), *given).text
    several(w, op, text, ("eigenvalues", "eigenvectors"))


def eig(w: Writer, op: Op) -> None:
    dtype = dtype_text(op.results[0].dtype)
    text = f"(x.astype({dtype}) for x in np.linalg.eig({w.text(op.operands[0], 0)}))"
    several(w, op, text, ("eigenvalues", "eigenvectors"))


def qr(w: Writer, op: Op) -> None:
    given = ['mode="complete"'] if op.params else []
    several(w, op, call("np.linalg.qr", w.text(op.operands[0], 0), *given).text, ("q", "r"))


def svd(w: Writer, op: Op) -> None:
    given = [] if op.params else ["full_matrices=False"]
    text = call("np.linalg.svd", w.text(op.operands[0], 0), *given).text
    several(w, op, text, ("u", "s", "vh"))


def pinv(w: Writer, op: Op) -> Expression:
    return call("np.linalg.pinv", w.text(op.operands[0], 0), f"rtol={op.params['rtol']!r}")


def argsort(w: Writer, op: Op) -> Expression:
    return call("np.argsort", w.text(op.operands[0], 0), 'kind="stable"')


def sort(w: Writer, op: Op) -> Expression:
    return call("np.sort", w.text(op.operands[0], 0))


_TRANSFORMS = {"forward": "fft", "backward": "ifft", "real": "rfft", "half": "irfft"}


def fourier(w: Writer, op: Op) -> Expression:
    (x,), p = op.operands, op.params
    kind, axis, length, scale = p["kind"], p["axis"], p["length"], p["scale"]
    given = [w.text(x, 0)]
    if kind == "half" or x.shape[axis] != length:
        given.append(f"n={length}")
    if axis != x.type.ndim - 1:
        given.append(f"axis={axis}")
    inverse = kind in ("backward", "half")
    if inverse and length and scale == 1 / length:
        scale = 1
    elif inverse:
        given.append('norm="forward"')
    made = call(f"np.fft.{_TRANSFORMS[kind]}", *given)
    return made if scale == 1 else binary("*", made, Expression(repr(scale)))
