"""Functions that call SciPy's compiled code, one element at a time.

One declaration states everything about such a function: its name in SciPy, how it is called, its
cost, and its derivative by each operand. The interpreter calls ``scipy.special``. Compiled code
calls the function that ``scipy.special.cython_special`` exports, or the inner loop of the ufunc for
a single element. Both compute in float64; float32 is converted there and back, as in SciPy.

A derivative without a known formula is rejected when it is requested (`unknown`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from autojit.ir.core.declaration import MaybeValue
from autojit.ir.core.errors import no_derivative
from autojit.ir.core.program import Op, Value
from autojit.ir.ops.elementwise import FLOAT, Elementwise, Rule

#: The prefix of such a function's word in the vocabulary of kernels.
_PREFIX = "special: "

#: The declarations, by their words.
EXTERNALS: dict[str, External] = {}


def external(word: str) -> External | None:
    """Return the function that a word of kernels calls; None for other words.

    >>> external("special: gammaln"), external("sin")
    (<op gammaln>, None)
    """
    return EXTERNALS.get(word) if word.startswith(_PREFIX) else None


def several() -> dict[str, list[External]]:
    """Return the declarations for functions with several results, by their names in SciPy."""
    found: dict[str, list[External]] = {}
    for each in EXTERNALS.values():
        if each.results > 1:
            found.setdefault(f"scipy.special.{each.function}", []).append(each)
    return {name: sorted(results, key=lambda r: r.result) for name, results in found.items()}


class External(Elementwise):
    """A function of scipy.special, or one result of it.

    ``function``  its name in SciPy
    ``result``    the number of this result, if the function has several
    ``results``   the number of its results
    ``whole``     the operands that are passed as integers, by position
    ``loop``      if SciPy exports only its ufunc, the dtypes of the inner loop that is called,
                  such as ``"dD->D"``; a complex number is two operands, or two results
    ``also``      other names of the ufunc
    ``cost``      the time of a call, in additions of a loop (a quarter of a nanosecond)
    """

    def __init__(
        self,
        name: str,
        *rules: Rule,
        function: str = "",
        result: int = 0,
        results: int = 1,
        whole: tuple[int, ...] = (),
        loop: str = "",
        also: Sequence[str] = (),
        cost: int = 100,
    ) -> None:
        self.function = function or name
        self.result, self.results = result, results
        self.whole, self.loop = whole, loop
        self.word = f"{_PREFIX}{name}"
        EXTERNALS[self.word] = self
        own = [name] if name == self.function and not loop else []
        answers = [f"scipy.special.{each}" for each in (*own, *also)]
        super().__init__(
            name, self.call, rules, answers=answers, kinds=FLOAT, cost=cost,
            kernel=lambda k, *scalars: k(self.word, *scalars),
        )  # fmt: skip

    def call(self, *arrays: Any) -> Any:
        """Return SciPy's result, in the dtype of the operands."""
        dtype = np.asarray(arrays[0]).dtype
        results = scipy_function(self.function)(*self._operands(arrays))
        pieces: list[Any] = []
        for made in results if isinstance(results, tuple) else (results,):
            is_complex = "D" in self.loop.partition(">")[2]
            pieces += [np.real(made), np.imag(made)] if is_complex else [made]
        return np.asarray(pieces[self.result], dtype)

    def _operands(self, arrays: Sequence[Any]) -> Iterator[Any]:
        """Yield the operands as SciPy takes them: two real ones may form a complex one."""
        given = iter(arrays)
        for i, kind in enumerate(self.loop.partition("-")[0] or "d" * len(arrays)):
            x = next(given)
            if kind == "D":
                z = np.empty(np.shape(x), np.result_type(x, np.complex64))
                z.real, z.imag = x, next(given)
                yield z
            else:
                yield np.asarray(x).astype(np.int64) if kind == "l" or i in self.whole else x

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        for position, (tangent, rule) in enumerate(zip(tangents, self.rules, strict=True)):
            if tangent is not None and rule is unknown:
                raise no_derivative(self.refusal(position), op.source)
        return super().jvp(op, tangents)

    def refusal(self, position: int) -> str:
        """Return the error message for an unknown derivative by an operand."""
        name = f"scipy.special.{self.function}"
        which = ("first", "second", "third", "fourth", "fifth")[position]
        return (
            f"autojit does not know the derivative of {name} with respect to its {which} "
            "argument. If that argument should be treated as a constant, stop its gradient:\n"
            f"    from autojit import stop_gradient\n"
            f"    {name}(..., stop_gradient(p), ...)"
        )


def unknown(t: Value, y: Value, *operands: Value) -> Value:
    """Stand for the rule of an operand with an unknown derivative (see ``External.jvp``)."""
    raise NotImplementedError


@cache
def scipy_function(name: str) -> Callable[..., Any]:
    """Return a function of scipy.special, which is imported on first use."""
    import scipy.special

    found: Callable[..., Any] | None = getattr(scipy.special, name, None)
    found = found or getattr(scipy.special._ufuncs, name, None)
    if found is None:
        raise NotImplementedError(f"SciPy {scipy.__version__} has no function {name}")
    return found
