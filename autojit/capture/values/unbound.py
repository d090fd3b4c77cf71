"""Reads of names that may be unbound: the compiled code raises the error that Python would."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.capture.rewriting.plain import UNBOUND, PlainRuntime
from autojit.capture.state.maybe import Maybe
from autojit.capture.state.sharing import containers
from autojit.capture.state.state import tree_of
from autojit.errors import InPlaceError, with_place
from autojit.functions.checks import ensured
from autojit.ir.core.program import Value
from autojit.ir.ops.move import broadcast
from autojit.protocols.kinds import note_kinds
from autojit.protocols.lifting import as_tracer, tracer, view
from autojit.tracing.aliasing import Mapped
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift


def checked(found: Maybe, name: str) -> Any:
    """The value of a name; the compiled code raises an error if it is unbound."""
    if isinstance(found.held, bool):
        if found.held:
            return found.value
        raise _error(name)
    if any(containers(found.value)):  # which may change, so it must stay the same object
        hooks.fail_where(np.logical_not(found.held), _error(name))
        return found.value
    tree = tree_of(hooks.as_state(found.value))
    return tree.filled([_checked(leaf, found.held, name) for leaf in tree.arrays])


def _checked(leaf: Any, held: Tracer, name: str) -> Tracer:
    x = as_tracer(leaf)
    holds = lift(held)
    if x.shape:
        holds = broadcast(holds, shape=x.shape, dims=())
    result = ensured(x, tracer(holds), _error(name))
    if not x.shape:
        result.weak, result.boxed = x.weak, not x.is_scalar
        note_kinds(result, [x])
        return result

    def refuse(base: Value, part: Value) -> Value:
        raise InPlaceError(
            with_place(
                f"`{name}` is changed in place, and whether it is bound is known only when the "
                "compiled code runs. Bind it before the `if` or the loop:\n"
                f"    {name} = np.zeros({x.shape})",
                user_source(),
            )
        )

    return view(result, Mapped(lambda value: value, refuse))


def _error(name: str) -> Exception:
    """Python's error for an unbound name."""
    try:
        PlainRuntime(()).bound(UNBOUND, name)
    except NameError as error:
        return error.with_traceback(None)
    raise AssertionError(name)
