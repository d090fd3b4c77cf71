"""How far rounding may move results: the interpreter, with noise on every rounded one.

Compiled code contracts, reorders sums and has its own elementary functions. So the interpreter is
run a few times with a little noise, and an element is held to what it moves under the noise; one
that jumps (a rounded number that is floored, say) says nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from autojit.ir.core.program import Program
from autojit.ir.linalg.factorizations import Matrices
from autojit.ir.ops import Declaration
from autojit.ir.ops.contract import Dot
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.reduce import Product, Sum
from autojit.ir.tools import interpreter

EXACT = {
    "add", "sub", "mul", "neg", "abs", "sign", "floor", "ceil", "trunc", "rint", "maximum",
    "minimum", "fmax", "fmin", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite",
    "and", "or", "xor", "not", "shift_left", "shift_right", "select", "real", "imag", "conj",
    "complex", "stop_gradient",
}  # fmt: skip


def is_rounded(kind: Declaration) -> bool:
    if isinstance(kind, Elementwise):
        return kind.name in {"add", "sub", "mul"} or kind.name not in EXACT
    return isinstance(kind, (Dot, Sum, Product, Matrices))


def noisy(
    program: Program, arguments: Sequence[Any], rng: np.random.Generator, sign: int
) -> list[Any]:
    """The interpreter with every rounded result moved by a few units in the last place.

    NaNs get that sign: it is nobody's promise, and copysign and signbit see it.
    """
    env = {v: np.asarray(a, v.dtype) for v, a in zip(program.inputs, arguments, strict=True)}
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "interpret", lambda body, given: noisy(body, given, rng, sign))
        for op in program.ops:
            results = op.kind.evaluate(*[env[v] for v in op.operands], **op.params)
            results = [results] if len(op.results) == 1 else results
            for v, r in zip(op.results, results, strict=True):
                r = np.asarray(r, v.dtype)
                if v.type.is_inexact and is_rounded(op.kind):
                    step = 8 * np.finfo(v.dtype).eps
                    r = np.asarray(r * (1 + step * rng.uniform(-1, 1, r.shape)), v.dtype)
                if v.dtype.kind == "f":
                    r = np.where(np.isnan(r), np.copysign(r, v.dtype.type(sign)), r)
                env[v] = r
    return [env[v] for v in program.outputs]


def parts(array: Any) -> list[Any]:
    array = np.asarray(array)
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def wrong_elements(want: Any, got: Any, others: Sequence[Any], eps: float) -> Any:
    """A mask of the elements that are further apart than what noise does to them."""
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
            near = np.abs(got - want) <= 100 * noise + eps * (1e-3 + np.abs(want))
        wrong = settled & ~equal & ~near
    return wrong
