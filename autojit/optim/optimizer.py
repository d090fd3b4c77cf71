"""Optimisers, and their construction from a rule for a single array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from autojit.errors import StructureError, with_place
from autojit.protocols.lifting import dtype_of
from autojit.staging.bodies import check_function
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

from .trees import cast, leaves_of, like, same_leaves

#: A learning rate, or a function from the number of previous updates to one.
Rate = float | Callable[[Any], Any]
Slots = dict[str, Any]


class Update(Protocol):
    """``update(params, grads, state, lr=None)`` returns ``(params, state)``."""

    def __call__(
        self, params: Any, grads: Any, state: Any, lr: Any = None
    ) -> tuple[Any, dict[str, Any]]: ...


class Optimizer(NamedTuple):
    """Two functions: one creates the state, the other makes a step.

    ``init(params)`` creates a state: a dict of arrays, and of trees like the parameters.
    ``update(params, grads, state)`` returns the new parameters and the new state; ``lr=`` overrides
    the learning rate of the optimiser. Neither function changes its arguments, and both work under
    ``jit``.
    """

    init: Callable[[Any], dict[str, Any]]
    update: Update

    def __getattr__(self, name: str) -> NoReturn:
        words = f"an optimiser has no attribute {name!r}: it holds no state."
        if name in ("step", "zero_grad", "apply_updates", "apply_gradients", "minimize"):
            words += (
                " Pass its state to `update`, which returns the new one:\n"
                "    state = opt.init(params)\n"
                "    params, state = opt.update(params, grad(f)(params), state)"
            )
        raise AttributeError(words)

    def __repr__(self) -> str:
        return "<Optimizer: init(params) -> state; update(params, grads, state) -> params, state>"


class Rule(Protocol):
    """The step of one array: ``rule(parameter, gradient, slots, step, lr)``.

    ``step`` counts from 1.
    """

    def __call__(self, p: Any, g: Any, slots: Slots, step: Any, lr: Any) -> tuple[Any, Slots]: ...


class Number(NamedTuple):
    """A slot that is a single number for each parameter, whatever its shape."""

    value: float


def by_leaf(lr: Rate, slots: Mapping[str, float | Number], rule: Rule) -> Optimizer:
    """An optimiser that treats every array separately.

    Args:
        lr: the learning rate, or a schedule.
        slots: the names of the state's entries for each parameter, and their initial values; a
            ``Number`` has no axes.
        rule: the step of one array.

    >>> opt = by_leaf(0.5, {}, lambda p, g, slots, step, lr: (p - lr * g, slots))
    >>> opt.update([np.ones(1)], [np.ones(1)], opt.init([np.ones(1)]))
    ([array([0.5])], {'step': np.int64(1)})
    """
    if not (callable(lr) or is_tracer(lr)):
        need(lr >= 0, f"lr={lr} is negative")

    def init(params: Any) -> dict[str, Any]:
        leaves = leaves_of(params)
        filled = {
            name: like(params, [_filled(p, value) for p in leaves]) for name, value in slots.items()
        }
        return {"step": np.int64(0), **filled}

    own = lr

    def update(params: Any, grads: Any, state: Any, lr: Any = None) -> tuple[Any, dict[str, Any]]:
        parameters, gradients = leaves_of(params), same_leaves(grads, params, "grads")
        _check_state(state, slots)
        kept = {
            name: same_leaves(state[name], params, f"state[{name!r}]", isinstance(slot, Number))
            for name, slot in slots.items()
        }
        lr = own if lr is None else lr
        rate = rate_at(lr, state["step"])
        step = state["step"] + 1
        made = []
        for k, (p, g) in enumerate(zip(parameters, gradients, strict=True)):
            dtype = dtype_of(p)
            values = {name: leaves[k] for name, leaves in kept.items()}
            made.append(rule(p, cast(g, dtype), values, step, cast(rate, dtype)))
        new = {name: like(params, [values[name] for _, values in made]) for name in slots}
        return like(params, [p for p, _ in made]), {"step": step, **new}

    return Optimizer(init, update)


def _filled(p: Any, value: float | Number) -> Any:
    if isinstance(value, Number):
        return np.full((), value.value, dtype_of(p))
    return np.full(np.shape(p), value, dtype_of(p))


def _check_state(state: Any, slots: Mapping[str, Any]) -> None:
    if not isinstance(state, Mapping):
        found = f"it is {state!r:.60}"
    elif missing := [name for name in ("step", *slots) if name not in state]:
        found = f"it has no {missing[0]!r}"
    else:
        return
    words = f"state of update must come from this optimiser's init(params); {found}"
    raise StructureError(with_place(words, user_source()))


def rate_at(lr: Rate, step: Any) -> Any:
    """The learning rate at a step, from a number or a schedule.

    >>> rate_at(0.5, 3), rate_at(lambda step: 1.0 / step, 4)
    (0.5, 0.25)
    """
    if not callable(lr):
        return lr
    # During a trace, the control flow of the user's function is captured.
    schedule = lr if current_trace() is None else check_function(lr, "lr", "an optimiser")
    return schedule(step)


def need(fits: bool, message: str) -> None:
    """Raise ValueError, with the user's line, for an unknown setting."""
    if not fits:
        raise ValueError(with_place(message, user_source()))
