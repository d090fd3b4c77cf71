"""Errors for using one of our functions as if it were its result: the call was forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from autojit.errors import StructureError

from .tracebacks import folded

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "mod": "%",
    "floordiv": "//", "pow": "**",
}  # fmt: skip
_OTHERS = {"neg": "-", "pos": "+", "abs": "abs", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class Uncalled:
    """A function that is used neither as an operand nor as something to unpack or index.

    It stays comparable by ``==``, is true, and is no sequence to Python and NumPy: it has no
    length.
    """

    def called(self) -> tuple[str, str]:
        """The code that made it, and its arguments in brackets."""
        raise NotImplementedError

    def forgotten_call(self, did: str) -> str:
        """The message about a function that is used as if it were its result.

        >>> from autojit import grad
        >>> def loss(x): return x * x
        >>> print(grad(loss).forgotten_call("is an operand of `-`"))
        grad(loss) is a function, not its result, and is an operand of `-`. Call it:
            grad(loss)(x)                      # not: grad(loss)
        """
        name, arguments = self.called()
        code = f"    {name}{arguments}".ljust(38)
        return f"{name} is a function, not its result, and {did}. Call it:\n{code} # not: {name}"

    @folded
    def __getitem__(self, _: Any) -> NoReturn:
        raise StructureError(self.forgotten_call("is unpacked or indexed"))

    @folded
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        if ufunc in (np.equal, np.not_equal):  # on arrays of functions
            return getattr(ufunc, method)(*map(_as_object, inputs), **settings)
        raise StructureError(self.forgotten_call(f"is an operand of np.{ufunc.__name__}"))


def _as_object(x: Any) -> Any:
    if not isinstance(x, Uncalled):
        return x
    array = np.empty((), object)
    array[()] = x
    return array


def _refusing(sign: str) -> Callable[..., Any]:
    @folded
    def refuse(self: Any, *others: Any) -> NoReturn:
        raise StructureError(self.forgotten_call(f"is an operand of `{sign}`"))

    return refuse


for _name, _sign in (*_BINARY.items(), *_OTHERS.items()):
    setattr(Uncalled, f"__{_name}__", _refusing(_sign))
for _name, _sign in _BINARY.items():
    setattr(Uncalled, f"__r{_name}__", _refusing(_sign))
