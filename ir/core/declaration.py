"""The base class of all op declarations.

A declaration says everything about an op in one place.  Families (the modules beside this one) fill
in the fields that their members share, so most members take a line or two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from .batching import Batched
from .errors import no_derivative
from .halves import number_of
from .program import Op, Program, Value, current_builder, derivative_of, param_key
from .registry import REGISTRY
from .types import Type, TypeMismatch

#: The NumPy and SciPy ufuncs that map to an op.
ANSWERS: dict[Any, Declaration] = {}

#: A bool and whether it is meant or its negation.
Literal = tuple[Value, bool]

#: Tangents or cotangents; ``None`` is a zero that is never computed.
MaybeValue = Value | None

#: An element of a constant: a Python number of its dtype's kind.
Scalar = bool | int | float | complex


def _place_of(name: str) -> str:
    """The modules that have an op under one of their names."""
    op, modules = REGISTRY[name], list(sys.modules.items())
    having = [m for m, module in modules if any(v is op for v in vars(module).values())]
    return ", ".join(sorted(having)) or "a module that is still being imported"


class Declaration:
    """An op.  Calling it emits it into the current builder.

    Fields and methods, which are all that the transformations, passes and
    backends ask for:

    ``infer``      types of the results from the types of the operands
    ``evaluate``   the result by NumPy (the interpreter)
    ``jvp``        tangents of the results from tangents of the operands
    ``differentiate``  emits the op with its derivative; ops with bodies override it
    ``transpose``  cotangents of the linear operands from those of the results
    ``reaches``    which results depend on some of the operands
    ``expand``     the program that code is made of in place of the op, if there is one
    ``key``        what tells its parameters from others
    ``uniform``    the element of the result where every operand is a constant
    ``kernel``     how backends compute one element (elementwise family), or
                   None where the op moves, reduces or multiplies arrays
    ``arity``      the number of operands, None if it varies
    ``parameters`` the names of the parameters, all of them required
    ``flags``      the names of parameters that are True or left out
    ``commutative``  whether operands may change places, bit for bit (but for complex products)
    ``may_fail``   whether an op raises, or never ends, for some values of its operands
    ``raises``     the errors of an op that a handler around it would catch in Python
    ``may_raise``  whether an error may be this op's
    ``fails_by``   what decides whether an op raises what its derivative has to raise too
    ``in_range``   integers with their bounds, within which an op does not fail
    ``fallible``   whether there are such errors: asked for each op that is recorded
    ``rules_by_type``  whether ``jvp`` and ``transpose`` read no more than the types of values,
                   which of these are the same, and the parameters
    ``moves``      whether elements of results are elements of operands, zeros or parameters, or
                   computed by programs and functions that the op calls
    """

    arity: int | None = None
    parameters: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    commutative = False
    fallible = False
    rules_by_type = False
    moves = False

    def __init__(self, name: str, answers: Sequence[Any] = ()) -> None:
        if name in REGISTRY:
            raise ValueError(f"op {name} is declared twice; the first one is in {_place_of(name)}")
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
        """Types of the results; raises TypeMismatch if the operands do not fit."""
        raise NotImplementedError

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        """The result (a tuple if there are several), computed by NumPy."""
        raise NotImplementedError

    def check_signature(self, operands: int, params: Mapping[str, Any]) -> None:
        """Raise TypeMismatch unless that is the number of operands and these are the parameters."""
        require(
            self.arity in (None, operands),
            f"{self.name} takes {self.arity} operands, got {operands}",
        )
        wanted, got = sorted(self.parameters), sorted(params.keys() - set(self.flags))
        require(
            wanted == got,
            f"{self.name} takes parameters {{{', '.join(wanted)}}}, got {{{', '.join(got)}}}",
        )
        for flag in self.flags:
            value = params.get(flag, True)
            require(value is True, f"{flag} of {self.name} must be True or left out, got {value!r}")

    def uniform(self, op: Op, scalars: Sequence[Any]) -> Scalar | None:
        """The value of every element of the result where every element of operand k is
        ``scalars[k]``; None if the elements differ or would be rounded differently."""
        return None

    def work(self, op: Op) -> float:
        """The number of operations on elements that the op takes; infinity if unknown.

        An op that moves elements becomes part of its readers and takes no time.
        """
        return inf

    def key(self, params: dict[str, Any]) -> Hashable:
        """Equal for parameters that are the same, as :func:`param_key` is."""
        return tuple([(name, param_key(params[name])) for name in sorted(params)])

    def expand(self, op: Op) -> Program | None:
        """The program that replaces the op in code generation; derivatives and batching see the op
        itself."""
        return None

    def reaches(self, op: Op, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
        """Which results depend on the marked operands; with ``inexact``, which may have a
        derivative by them."""
        found = any(marked)
        return [found and (not inexact or v.type.is_inexact) for v in op.results]

    def may_fail(self, op: Op) -> bool:
        """Whether the op raises at run time, or never ends, for some values of its operands.

        Such an op is computed only where the program computes it, and for the same elements: not in
        a branch that is not taken, not in a step that a loop does not make, and not for only some
        of its rows. If nothing reads its results, it is removed together with its error. If several
        errors are possible, it is not defined which one is raised.
        """
        return any(program.may_fail for program in op.programs)

    def raises(self, op: Op) -> frozenset[type[Exception]]:
        """The errors of a fallible op: those of the programs among its parameters."""
        inner = (each for program in op.programs for each in program.ops if each.kind.fallible)
        return frozenset(error for each in inner for error in each.kind.raises(each))

    def succeeds(self, op: Op) -> tuple[Value, Exception] | None:
        """A bool that is computed before the op and holds where the op raises no error, and the
        error that it raises elsewhere; None if only the op itself can tell."""
        return None

    def may_raise(self, op: Op, error: Exception) -> bool:
        """Whether an error that compiled code has raised may be this op's."""
        return type(error) in self.raises(op)

    def fails_by(self, op: Op) -> Hashable | None:
        """A key of the condition under which the op raises an error that its derivative must raise
        too: ops with equal keys fail together. None if there is no such error."""
        return (self, op.operands) if self.may_fail(op) else None

    def in_range(self, op: Op) -> Sequence[tuple[Value, int]]:
        """Integers with their bounds: the op does not fail if each is at least 0 and less than its
        bound."""
        return ()

    def failing_too(self, op: Op, value: Value) -> Value | None:
        """A value that fails whenever the op does, computed from its operands; None if only the op
        itself can tell."""
        return None

    def harmless(self, op: Op, operands: Sequence[Value], wanted: Value) -> Sequence[Value] | None:
        """The operands if a condition (one bool) holds, and otherwise operands with which the op
        cannot fail; None if there are none, or the op does not know any."""
        return None

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        """Tangents of the results.  The default is an op without derivative."""
        return (None,) * len(op.results)

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        """Emit the op; its results, and their tangents from those of the operands.

        With ``split``, ops that depend on a tangent must not compute results, because these ops
        will be transposed.
        """
        builder = current_builder()
        results = builder.emit(self, operands, params)
        op = Op(self, tuple(operands), params, results, builder.source)
        with builder.at(derivative_of(builder.source, op)):
            return results, self.jvp(op, tangents)

    #: Parameters that may change by a constant amount in each step of a loop: see ``at_step``.
    sliding: tuple[str, ...] = ()

    def slide(self, params: Sequence[dict[str, Any]]) -> Any:
        """The steps of the sliding parameters along equal ops, or None if the steps are uneven.

        They may be floats, because the loop and its variable do not exist yet.
        """
        return None

    def at_step(self, operands: Sequence[Value], op: Op, slide: Any, step: Value) -> Value:
        """The op with the values of its sliding parameters at a step (an int64 scalar); ``op`` has
        those of step 0."""
        raise TypeError(f"op {self.name} has no sliding parameters")

    def at_all_steps(
        self, operands: Sequence[Batched], op: Op, slide: Any, steps: int
    ) -> Value | None:
        """The results of ``at_step`` along a new leading axis, which batched operands have too;
        None if batching ``at_step`` is the best way."""
        return None

    def mask(self, op: Op, operand: int) -> Literal | None:
        """The condition under which an operand reaches the result, if there is one."""
        return None

    def leaves_out(self, op: Op, operand: int) -> bool:
        """Whether there may be elements of an operand that the op does not read."""
        return False

    def has_poles(self, op: Op) -> bool:
        """Whether a division may make the result infinite although the operands are finite."""
        return False

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        """Cotangents of the operands that are marked linear (None for the others)."""
        raise no_derivative(f"op {self.name} is not linear and has no transpose", op.source)

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        """The op applied to each element of a batch at once.

        At least one operand has a leading axis of that size. The results have one too, unless they
        are marked as independent of the batch.
        """
        raise TypeError(f"op {self.name} has no batching rule")


class SingleResult(Declaration):
    """A declaration of ops that have exactly one result."""

    def __call__(self, *operands: Any, **params: Any) -> Value:
        (result,) = current_builder().emit(self, _with_constants(operands), params)
        return result


def declaration(name: str) -> Declaration:
    """The declared op of that name."""
    try:
        found: Declaration = REGISTRY[name]
    except KeyError:
        raise TypeMismatch(f"there is no op named {name!r}") from None
    return found


def _with_constants(operands: Sequence[Any]) -> Sequence[Value]:
    for v in operands:
        if not isinstance(v, Value):
            break
    else:
        return operands
    model = next((v for v in operands if isinstance(v, Value)), None)
    return [v if isinstance(v, Value) else full_like(v, model) for v in operands]


def full_like(scalar: Any, model: Value | None) -> Value:
    """A constant of the type of another value."""
    if model is None:
        raise TypeError("an op needs at least one traced operand")
    return full(scalar, model.type)


#: Python numbers that a constant of each dtype holds unchanged.
_EXACT = {float: np.dtype(np.float64), bool: np.dtype(np.bool_)}


def full(scalar: Any, type: Type) -> Value:
    """A constant of one type, all elements equal."""
    known = _EXACT.get(scalar.__class__) is type.dtype
    value = scalar if known else number_of(scalar, type.dtype)
    constant = REGISTRY["constant"]
    params = {"value": value, "dtype": type.dtype, "shape": type.shape}
    return current_builder().add(constant, (), params, (type,))[0]


def require(condition: bool, message: str) -> None:
    """Raise TypeMismatch unless the condition holds."""
    if not condition:
        raise TypeMismatch(message)
