"""The op or formula for a ufunc, and its dtypes, which NumPy chooses (``resolve_dtypes``)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import (
    DtypeError,
    MissingDtypeError,
    TypeMismatch,
    with_place,
)
from autojit.ir.core.declaration import ANSWERS, Declaration, full
from autojit.ir.core.halves import BFLOAT16, is_bfloat16, kind_of
from autojit.ir.core.program import Value
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.special.external import External, several
from autojit.ir.special.holomorphic import COMPLEX
from autojit.tracing.context import WEAK_TYPES
from autojit.tracing.source import user_source

from .composites import COMPOSITES, OF_COMPLEX
from .lifting import common_shape_of, operand_type, to_dtype
from .registry import uncovered


@lru_cache(maxsize=1)
def _special_ufuncs(imported: bool) -> dict[Any, Any]:
    """The ufuncs of scipy.special that are covered, once the user has imported it."""
    if not imported:
        return {}
    import scipy.special

    found: dict[Any, Any] = {}
    for table in (ANSWERS, COMPOSITES, several()):
        for key, answer in table.items():
            if isinstance(key, str):
                ufunc = getattr(scipy.special, key.rpartition(".")[2], None)
                ufunc = getattr(ufunc, "__wrapped__", ufunc)  # if SCIPY_ARRAY_API is set
                if ufunc is not None:  # which an older SciPy may lack
                    found[ufunc] = answer
    return found


def find_answer(ufunc: Any) -> Any:
    """The op or formula that answers for a ufunc."""
    answer = COMPOSITES.get(ufunc) or ANSWERS.get(ufunc)
    if answer is None:
        answer = _special_ufuncs("scipy.special" in sys.modules).get(ufunc)
    return answer


def name_of(ufunc: Any) -> str:
    """The name of a ufunc as the user writes it."""
    name: str = ufunc.__name__
    package = "np" if getattr(np, name, None) is not None else "scipy.special"
    return f"{package}.{name}"


class Plan(NamedTuple):
    """The plan for operands of some kinds and shapes."""

    #: The op or formula.
    answer: Any
    #: The types that the operands are converted to.
    operands: tuple[Type, ...]
    #: The dtype that NumPy's loop returns.
    dtype: np.dtype
    #: The type of the result, if the answer is an op that returns that dtype.
    result: Type | None


@lru_cache(maxsize=4096)
def plan(ufunc: Any, dtype: np.dtype | None, *inputs: tuple[Any, tuple[int, ...]]) -> Plan:
    answer, loop = _answer_for(ufunc, tuple([kind for kind, _ in inputs]), dtype)
    shape = common_shape_of([shape for _, shape in inputs])
    operands = tuple([operand_type(d, shape) for d in loop[: len(inputs)]])
    result = None
    if isinstance(answer, Elementwise):
        with suppress(TypeMismatch):  # applying the plan raises it
            (result,) = answer.infer(*operands)
    fits = result is not None and result.dtype == loop[len(inputs)]
    return Plan(answer, operands, loop[len(inputs)], result if fits else None)


@lru_cache(maxsize=4096)
def _answer_for(
    ufunc: Any, kinds: tuple[Any, ...], dtype: np.dtype | None
) -> tuple[Callable[..., Value], tuple[np.dtype, ...]]:
    """The op or formula for operands of these kinds, and the dtypes of NumPy's loop."""
    answer = find_answer(ufunc)
    if answer is None:
        raise uncovered(name_of(ufunc))
    loop = resolve(ufunc, kinds, dtype)
    if any(d.kind == "c" for d in loop) and ufunc.__name__ in COMPLEX:
        return COMPLEX[ufunc.__name__], loop
    if isinstance(answer, External):
        loop = real_loop(ufunc, loop)
    if loop[0].kind == "c":
        answer = _complex_answer(ufunc, answer)
    elif loop[0].kind == "b":
        answer = _bool_answer(ufunc, answer)
    if len(kinds) == 2 and loop[0] != loop[1] and {loop[0].kind, loop[1].kind} == {"i", "u"}:
        answer = _across_signs(answer)
    return answer, loop


def real_loop(ufunc: Any, loop: tuple[np.dtype, ...]) -> tuple[np.dtype, ...]:
    """A loop of SciPy's in which whole orders are floats too; raises an error for complex ones."""
    if any(d.kind == "c" for d in loop):
        raise _without_complex(ufunc)
    return (loop[-1],) * len(loop) if loop[-1].kind == "f" else loop


def _across_signs(compare: Any) -> Any:
    """Compare signed with unsigned integers by value, without a common dtype, as NumPy does."""

    def answer(a: Value, b: Value) -> Value:
        signed, unsigned = (a, b) if a.dtype.kind == "i" else (b, a)
        negative = arithmetic.lt(signed, 0)
        same = [to_dtype(x, unsigned.dtype) for x in (a, b)]
        # For negative numbers, the answer is the one for -1 and 0.
        extremes = [full(-1 if x is signed else 0, signed.type) for x in (a, b)]
        return arithmetic.select(negative, compare(*extremes), compare(*same))

    return answer


def _bool_answer(ufunc: Any, answer: Any) -> Any:
    """NumPy's loops on bool: + and maximum are or, * and minimum are and."""
    swaps = {
        np.add: arithmetic.bitwise_or,
        np.maximum: arithmetic.bitwise_or,
        np.fmax: arithmetic.bitwise_or,
        np.multiply: arithmetic.bitwise_and,
        np.minimum: arithmetic.bitwise_and,
        np.fmin: arithmetic.bitwise_and,
    }
    return swaps.get(ufunc, answer)


def _complex_answer(ufunc: Any, answer: Any) -> Any:
    if ufunc == np.absolute:
        return arithmetic.magnitude
    if ufunc in OF_COMPLEX:
        return OF_COMPLEX[ufunc]
    if isinstance(answer, Declaration) and "c" not in getattr(answer, "kinds", "c"):
        raise _without_complex(ufunc)
    return answer


def _without_complex(ufunc: Any) -> Exception:
    words = (
        f"{name_of(ufunc)} of complex operands is not covered by autojit. "
        "Apply it to x.real and x.imag."
    )
    return MissingDtypeError(with_place(words, user_source()))


def resolve(ufunc: Any, kinds: tuple[Any, ...], dtype: np.dtype | None) -> tuple[np.dtype, ...]:
    """The dtypes of NumPy's loop, results last.

    The kind of an operand is its dtype, or Python's type of a number, which adapts to the others.
    bfloat16, which NumPy does not have, is promoted like float16, and together with float16 to
    float32.
    """
    present = [kind for kind in (*kinds, dtype) if isinstance(kind, np.dtype)]
    if any(map(is_bfloat16, present)):
        return _resolved_as_half(ufunc, kinds, dtype, present)
    dtypes = tuple([WEAK_TYPES.get(kind, kind) for kind in kinds])
    asked = dtypes if all(kind in WEAK_TYPES for kind in kinds) else kinds
    signature = None if dtype is None else (None,) * len(kinds) + (dtype,) * ufunc.nout
    kwargs = {} if signature is None else {"signature": signature}
    try:
        loop: tuple[np.dtype, ...] = ufunc.resolve_dtypes(asked + (None,) * ufunc.nout, **kwargs)
    except TypeError as error:
        words = f"{name_of(ufunc)} does not take operands of dtype {_listed(dtypes)}: {error}"
        if dtype is None and _of_integers(ufunc) and any(kind_of(d) in "fc" for d in dtypes):
            given = ", ".join("x.astype(int)" if kind_of(d) in "fc" else "n" for d in dtypes)
            words += f". Convert to integers first:\n    {name_of(ufunc)}({given})"
            if ufunc.__name__ == "bitwise_xor":
                words += (
                    "\n"
                    "or write a power like this:\n"
                    "    x**2                               # not: x ^ 2"
                )
        raise DtypeError(with_place(words, user_source())) from None
    return tuple(np.dtype(d) for d in loop)


_HALF = np.dtype(np.float16)


def _resolved_as_half(
    ufunc: Any, kinds: tuple[Any, ...], dtype: np.dtype | None, present: list[np.dtype]
) -> tuple[np.dtype, ...]:
    """The dtypes if some are bfloat16, which is treated like float16."""
    like = np.dtype(np.float32) if _HALF in present else _HALF
    loop = resolve(
        ufunc,
        tuple([like if _is_bfloat16(kind) else kind for kind in kinds]),
        like if _is_bfloat16(dtype) else dtype,
    )
    return tuple([BFLOAT16 if d == _HALF else d for d in loop])


def _is_bfloat16(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and is_bfloat16(kind)


def _of_integers(ufunc: Any) -> bool:
    """Whether a ufunc works on the bits of integers, and not on floats."""
    return not any("d" in loop for loop in ufunc.types) and any("l" in loop for loop in ufunc.types)


def _listed(dtypes: tuple[np.dtype, ...]) -> str:
    return ", ".join(d.name for d in dtypes)
