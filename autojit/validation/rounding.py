"""Estimation of rounding errors: the interpreter, with noise on every rounded value.

Compiled code contracts, reorders sums and has its own elementary functions.  To first order the
error of a result is the sum, over all rounded values v in the program, of

    adjoint of v * rounding error of v,      |rounding error of v| <= k * eps * |v|

(running error analysis: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
SIAM 2002, section 3.3).  Adjoints are not used to compute it: while loops with any number of steps
and operations without derivatives have none, and they are infinite where only the derivative is.
Instead, the sum is sampled: the program is run a few times, with each rounded value moved by
k * eps * |v| times a random number (Monte Carlo arithmetic: D. S. Parker, UCLA CSD-970002, 1997).

A sum is moved in proportion to the sum of the magnitudes of its terms. The operands of linear
algebra are moved too, so that bad condition shows.  The error of an element may be a multiple of
its largest move. An element that jumps (say, the floor of a rounded number) is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.declaration import Declaration
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Op, Program
from autojit.ir.linalg.factorizations import Matrices
from autojit.ir.linalg.order import Argsort
from autojit.ir.ops.contract import Dot
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.reduce import Product, Sum
from autojit.ir.tools.interpreter import Watch, interpret, watching

#: Units in the last place by which a rounded value is moved.
UNITS = 8
#: The allowed error of an element, as a multiple of the largest move by noise.
SAFETY = 100

EXACT = {
    "add", "sub", "mul", "neg", "abs", "sign", "floor", "ceil", "trunc", "rint", "maximum",
    "minimum", "fmax", "fmin", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite",
    "and", "or", "xor", "not", "shift_left", "shift_right", "select", "real", "imag", "conj",
    "complex", "stop_gradient",
}  # fmt: skip


def is_rounded(kind: Declaration) -> bool:
    """Whether an operation's result is not exact."""
    if isinstance(kind, Elementwise):
        return kind.name in {"add", "sub", "mul"} or kind.name not in EXACT
    return isinstance(kind, (Dot, Sum, Product, Matrices)) and not isinstance(kind, Argsort)


class _Noise(Watch):
    """Moves rounded values.  NaNs get a given sign, which is unspecified but read by copysign."""

    def __init__(self, rng: np.random.Generator, sign: int) -> None:
        self.rng = rng
        self.sign = sign

    def computed(self, op: Op, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        if not any(v.type.is_inexact for v in op.results):
            return results
        if is_rounded(op.kind):
            results = self._moved_by(op, operands, results)
        pairs = zip(op.results, results, strict=True)
        return [self._signed(np.asarray(r, v.dtype)) for v, r in pairs]

    def _moved_by(self, op: Op, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        if isinstance(op.kind, Matrices):
            moved = [self._moved(np.asarray(a)) for a in operands]
            try:
                made = op.kind.evaluate(*moved, **op.params)
            except Exception:  # singular under noise
                return results
            results = (made,) if len(op.results) == 1 else made
        sizes: list[Any] = [np.abs(r) for r in results]
        if isinstance(op.kind, (Dot, Sum)):
            sizes = [op.kind.evaluate(*map(np.abs, operands), **op.params)]
        return [self._moved(np.asarray(r), s) for r, s in zip(results, sizes, strict=True)]

    def _moved(self, array: Any, size: Any = None) -> Any:
        if array.dtype.kind not in "fc":
            return array
        step = UNITS * np.finfo(array.dtype).eps * self.rng.uniform(-1, 1, array.shape)
        size = np.abs(array) if size is None else size
        moved = array + np.where(np.isfinite(size), size, 0) * step
        return np.asarray(moved, array.dtype)

    def _signed(self, array: Any) -> Any:
        if array.dtype.kind != "f":
            return array
        return np.where(np.isnan(array), np.copysign(array, array.dtype.type(self.sign)), array)


def noisy(
    program: Program, arguments: Sequence[Any], rng: np.random.Generator, sign: int
) -> list[Any]:
    """The interpreter's results with every rounded value moved by a few units in the last place."""
    given = [in_dtype(a, v.dtype) for v, a in zip(program.inputs, arguments, strict=True)]
    with np.errstate(all="ignore"), watching(_Noise(rng, sign)):
        return interpret(program, given)


def parts(array: Any) -> list[Any]:
    """The real and imaginary part, or the array itself."""
    array = np.asarray(array)
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def wrong_elements(want: Any, got: Any, others: Sequence[Any], eps: float) -> Any:
    """A mask of the elements whose difference exceeds the effect of noise."""
    if want.dtype.kind not in "f":
        settled = np.all([o == want for o in others], axis=0)
        wrong = settled & (got != want)
    else:
        with np.errstate(all="ignore"):
            same = [(o == want) | (np.isnan(o) & np.isnan(want)) for o in others]
            moved = [np.where(s, 0, np.abs(o - want)) for s, o in zip(same, others, strict=True)]
            noise = np.max(moved, axis=0)
            settled = np.isfinite(noise) & (noise < 1e-3 * (1 + np.abs(want)))
            equal = (got == want) | (np.isnan(got) & np.isnan(want))
            near = np.abs(got - want) <= SAFETY * noise + eps * (1e-3 + np.abs(want))
        wrong = settled & ~equal & ~near
    return wrong
