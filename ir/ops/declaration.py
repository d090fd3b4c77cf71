"""What an op is: the base class of all declarations, and their registry.

A declaration says everything about an op in one place.  Families (the modules
beside this one) fill in what their members share, so that most members are a
line or two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..program import Op, Value, current_builder
from ..types import Type, TypeMismatch

#: Every declared op by name.
REGISTRY: dict[str, Declaration] = {}

#: The NumPy and SciPy ufuncs that an op answers for.
ANSWERS: dict[Any, Declaration] = {}

#: Tangents or cotangents; ``None`` is a zero that is never computed.
MaybeValue = Value | None


class Declaration:
    """An op.  Calling it emits it into the current builder.

    Fields and methods, which are all that the transformations, passes and
    backends ask for:

    ``infer``      types of the results from the types of the operands
    ``evaluate``   the result by NumPy (the interpreter)
    ``jvp``        tangents of the results from tangents of the operands
    ``transpose``  cotangents of the linear operands from those of the results
    ``kernel``     how backends compute one element (elementwise family), or
                   None where the op moves, reduces or multiplies arrays
    """

    #: Ops whose result can be computed at compile time from constant operands.
    foldable = True

    def __init__(self, name: str, answers: Sequence[Any] = ()) -> None:
        if name in REGISTRY:
            raise ValueError(f"op {name} is declared twice")
        self.name = name
        REGISTRY[name] = self
        for function in answers:
            ANSWERS[function] = self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Callable[[str], Declaration], tuple[str]]:
        return declaration, (self.name,)

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Emit into the current builder; Python scalars become constants."""
        values = _with_constants(operands)
        results = current_builder().emit(self, values, params)
        return results[0] if len(results) == 1 else results

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        """Types of the results; raises TypeMismatch where the operands do not fit."""
        raise NotImplementedError

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        """The result (a tuple where there are several) by NumPy."""
        raise NotImplementedError

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        """Tangents of the results.  The default is an op without derivative."""
        return (None,) * len(op.results)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        """Cotangents of the operands that are marked linear (None for the others)."""
        raise TypeError(f"op {self.name} is not linear and has no transpose")


def declaration(name: str) -> Declaration:
    """The declared op of that name."""
    try:
        return REGISTRY[name]
    except KeyError:
        raise TypeMismatch(f"there is no op named {name!r}") from None


def _with_constants(operands: Sequence[Any]) -> list[Value]:
    model = next((v for v in operands if isinstance(v, Value)), None)
    return [v if isinstance(v, Value) else full_like(v, model) for v in operands]


def full_like(scalar: Any, model: Value | None) -> Value:
    """A constant of the type of another value."""
    if model is None:
        raise TypeError("an op needs at least one traced operand")
    return full(scalar, model.type)


def full(scalar: Any, type: Type) -> Value:
    """A constant of one type, all elements equal."""
    value = type.dtype.type(scalar).item()
    constant = REGISTRY["constant"]
    return current_builder().emit(
        constant, (), {"value": value, "dtype": type.dtype, "shape": type.shape}
    )[0]


def require(condition: bool, message: str) -> None:
    """Raise TypeMismatch unless the condition holds."""
    if not condition:
        raise TypeMismatch(message)


def as_dtype(array: Any, dtype: np.dtype) -> np.ndarray:
    """The array, converted only where the dtype differs."""
    return np.asarray(array).astype(dtype, copy=False)
