"""Comparison of a program's results up to rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.program import Program
from autojit.ir.core.types import is_half

from .rounding import noisy, parts, wrong_elements
from .widening import is_narrow

#: Tolerances within which results are accepted at once, in double, single and half precision.
CLOSE, CLOSE_SINGLE, CLOSE_HALF = 1e-11, 1e-5, 1e-2


class Difference(NamedTuple):
    """A wrong element of a result."""

    result: int
    element: tuple[int, ...]
    wanted: Any
    got: Any
    many: int

    def __str__(self) -> str:
        at = f"[{', '.join(map(str, self.element))}]" if self.element else ""
        more = f" ({self.many} elements differ)" if self.many > 1 else ""
        return f"result {self.result}{at} is {self.got!r} and should be {self.wanted!r}{more}"


def difference(
    program: Program, arrays: Sequence[Any], wanted: Sequence[Any], got: Sequence[Any]
) -> Difference | None:
    """The first element that is wrong by more than rounding; noise is computed only in doubt."""
    close = _close(program)
    pairs = list(zip(wanted, got, strict=True))
    doubtful = [i for i, (w, g) in enumerate(pairs) if not _near(w, g, close)]
    if not doubtful:
        return None
    rng = np.random.default_rng(0)
    noise = [noisy(program, arrays, rng, sign) for sign in (1, -1, 1, -1)]
    for i in doubtful:
        others = [parts(n[i]) for n in noise]
        for w, g, *moved in zip(parts(wanted[i]), parts(got[i]), *others, strict=True):
            wrong = np.asarray(wrong_elements(w, g, moved, close) | _unlike(w, g, moved))
            if np.any(wrong):
                at = tuple(int(k) for k in np.argwhere(wrong)[0])
                whole, made = np.asarray(wanted[i]), np.asarray(got[i])
                return Difference(i, at, whole[at].item(), made[at].item(), int(np.sum(wrong)))
    return None


def _unlike(want: Any, got: Any, others: Sequence[Any]) -> Any:
    """Mark elements that should be NaN or infinite, with noise or without, but are not."""
    if want.dtype.kind != "f":
        return np.zeros(want.shape, bool)

    def same(array: Any) -> Any:
        return (array == want) | (np.isnan(array) & np.isnan(want))

    return ~np.isfinite(want) & np.all([same(o) for o in others], axis=0) & ~same(got)


def _close(program: Program) -> float:
    """The tolerance for accepting results at once, by the shortest floats of a program."""
    values = [*program.inputs, *(v for op in program.ops for v in op.results)]
    if any(is_half(v.dtype) for v in values):
        return CLOSE_HALF
    return CLOSE_SINGLE if any(is_narrow(v.dtype) for v in values) else CLOSE


def _near(want: Any, got: Any, close: float) -> bool:
    want, got = np.asarray(want), np.asarray(got)
    if want.dtype.kind not in "fc":
        return bool(np.array_equal(want, got))
    with np.errstate(all="ignore"):
        same = (want == got) | (np.isnan(want) & np.isnan(got))
        allowed = close * (1e-3 + np.abs(want))  # the tolerance without noise
        return bool(np.all(same | (np.isfinite(want) & (np.abs(got - want) <= allowed))))
