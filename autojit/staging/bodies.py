"""Traces the functions passed to control flow into bodies of ops."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import StructureError, with_place
from autojit.ir.core.program import Program, Value
from autojit.ir.core.types import Type
from autojit.protocols.lifting import in_type
from autojit.tracing.context import Paths, current_trace, require
from autojit.tracing.hooks import hooks
from autojit.tracing.known import Inputs
from autojit.tracing.running.trace import trace_flat
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from . import pytrees
from .containers import watched
from .execute import apply
from .numba_functions import python_function
from .trace_function import LeafType, argument_type, columns_of, leaf_type
from .unrolled import without_long_stretches


class Body(NamedTuple):
    """A traced function: its program, the structure and weak types of its results, and the values
    of the surrounding trace that it closes over (the program's last inputs)."""

    program: Program
    structure: Any
    weak: list[type | None]
    captured: list[Value]

    @property
    def own(self) -> list[Value]:
        """The inputs that are not captured."""
        return list(self.program.inputs[: len(self.program.inputs) - len(self.captured)])

    @property
    def bound(self) -> list[Value]:
        """The inputs that captured values are bound to."""
        return list(self.program.inputs[len(self.own) :])


def trace_body(
    function: Callable[..., Any],
    leaves: Sequence[LeafType],
    call: Callable[[Callable[..., Any], Sequence[Any]], Any],
    what: str,
    dtypes: Sequence[np.dtype] | None = None,
    paths: Paths | None = None,
    given: Inputs | None = None,
) -> Body:
    """Trace ``call(function, leaves)``; its results are converted to ``dtypes`` if given.

    With ``paths`` the leaves are the caller's arrays, which the function may not change. With
    ``given`` the body serves only these inputs, and Python may ask for values.
    """
    structure: Any = None
    weak: list[type | None] = []

    def flat(*tracers: Tracer) -> list[Any]:
        nonlocal structure, weak
        traced = hooks.converted(python_function(function))
        traced = traced if paths is None else watched(traced)
        results, structure = pytrees.flatten(call(traced, tracers))
        results = [pytrees.check_result(r, f"The result of {what}") for r in results]
        weak = [leaf_type(r).weak for r in results]
        if dtypes is None:
            return results
        return [_converted(r, d) for r, d in zip(results, dtypes, strict=True)]

    name = name_of(function)
    name = name if name.isidentifier() else "f"
    program = trace_flat(flat, *columns_of(leaves), name, paths, given)
    require(program.devices)
    program = without_long_stretches(program, is_body=True)
    return Body(program, structure, weak, [lift(c) for c in program.captured])


def _converted(x: Any, dtype: np.dtype) -> Tracer:
    trace = current_trace()
    assert trace is not None
    return Tracer(in_type(x, dtype), trace)


def name_of(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def in_a_trace(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)`` inside the active trace, or a new one if there is none.

    Arguments are trees of arrays.  Outside of any trace the program is compiled and run.
    """
    if current_trace() is not None:
        return function(*arguments)
    leaves, structure = pytrees.flatten(arguments)
    for leaf, path in zip(leaves, pytrees.call_paths(arguments, {}), strict=True):
        pytrees.check_argument(leaf, path, "jit(f, static_argnums=...)")
    body = None

    def flat(*tracers: Tracer) -> list[Any]:
        nonlocal body
        results, body = pytrees.flatten(function(*pytrees.unflatten(structure, tracers)))
        return results

    kinds = [argument_type(leaf) for leaf in leaves]
    program = trace_flat(flat, *columns_of(kinds), "main")
    return pytrees.unflatten(body, apply(program, leaves))


#: Examples of calls of the public functions that take several arguments.
_CALLS = {
    "checkpoint": "autojit.checkpoint(f)(x)           # not: checkpoint(f(x))",
    "cond": "autojit.cond(x[0] > 0, f, g, x)    # not: cond(x[0] > 0, f(x), g(x))",
    "fori_loop": "autojit.fori_loop(0, 3, lambda i, x: 2 * x, x)",
    "map": "autojit.map(lambda row: 2 * row, x)",
    "scan": "autojit.scan(lambda carry, x: (carry + x, carry), 0.0, x)",
    "while_loop": "autojit.while_loop(lambda v: v < 3, lambda v: v + 1, 0.0)",
}


def check_function(f: Any, what: str, of: str, takes: str | None = None) -> Any:
    """The function with its control flow captured, for callers that call it directly;
    StructureError unless the argument is a function that takes arguments of these names."""
    if not callable(f):
        words = f"{what} of {of} must be a function, not {f!r:.60}"
        if of in _CALLS:
            words += f". Give it functions, which it calls itself:\n    {_CALLS[of]}"
        raise StructureError(with_place(words, user_source()))
    if takes is not None:
        _check_takes(f, takes, what, of)
    hooks.load()
    return hooks.converted(python_function(f))


def _check_takes(f: Any, takes: str, what: str, of: str) -> None:
    """StructureError unless a function can be called with arguments of these names."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return  # it is not written in Python
    try:
        signature.bind(*takes.split(", "))
    except TypeError as error:
        words = (
            f"{of} calls {name_of(f)}, its {what}, with ({takes}), but it takes different "
            f"arguments: {error}."
        )
        code = f"Define it with these:\n    def body({takes}): ..."
        raise StructureError(with_place(f"{words}\n{code}", user_source())) from None


def merged(bodies: Sequence[Body]) -> tuple[list[Program], list[Value]]:
    """The programs of bodies with equal own inputs, each taking all captured values; and these
    values.

    A body takes a value as often as it captured it, which is more than once if arrays are the same
    value.
    """
    numbered = [_numbered(body.captured) for body in bodies]
    places = dict.fromkeys(place for found in numbered for place in found)
    values = [v for v, _ in places]
    programs = []
    for body, found in zip(bodies, numbered, strict=True):
        own = dict(zip(found, body.bound, strict=True))
        bound = [own.get(place) or Value(place[0].type) for place in places]
        inputs = [*bound, *body.own]
        programs.append(
            Program(inputs, body.program.ops, body.program.outputs, name=body.program.name)
        )
    return programs, values


def _numbered(values: Sequence[Value]) -> list[tuple[Value, int]]:
    """Each value, and how often it has occurred before."""
    before: Counter[Value] = Counter()
    found = []
    for v in values:
        found.append((v, before[v]))
        before[v] += 1
    return found


def same_kind(a: Type, b: Type) -> bool:
    """Whether two leaves differ at most in dtype."""
    return a.shape == b.shape
