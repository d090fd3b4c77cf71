"""L-BFGS: search directions from recent gradients, for functions without noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autojit.arguments import checked
from autojit.errors import ConcreteValueError, with_place
from autojit.protocols.lifting import dtype_of
from autojit.staging import pytrees
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

from .line_search import Point, strong_wolfe
from .optimizer import need
from .trees import leaves_of, like, same_leaves

State = dict[str, Any]
#: parameters -> ``(value, gradients)``.
Objective = Callable[[Any], tuple[Any, Any]]


class LBFGS(NamedTuple):
    """Two functions: ``init(params)`` creates a state, and ``step(objective, params, state)``.

    ``step`` returns ``(params, state, value)``, with the value at the given parameters.
    """

    init: Callable[[Any], State]
    step: Callable[[Objective, Any, State], tuple[Any, State, float]]


class Settings(NamedTuple):
    """The arguments of :func:`lbfgs`."""

    lr: float
    max_iter: int
    max_eval: int
    tolerance_grad: float
    tolerance_change: float
    history_size: int
    line_search: bool


@checked
def lbfgs(
    lr: float = 1.0, max_iter: int = 20, max_eval: int | None = None,
    tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
    line_search_fn: str | None = None,
) -> LBFGS:  # fmt: skip
    """Limited-memory quasi-Newton steps, with the formulas of PyTorch's ``LBFGS``.

    Args:
        lr: the length of a step, or of the first trial of a line search.
        max_iter: the most steps of one call of ``step``.
        max_eval: the most evaluations of the objective per call; None for 1.25 times ``max_iter``.
        tolerance_grad: a call ends if no gradient is larger in magnitude.
        tolerance_change: a call ends if neither the parameters nor the value change by more.
        history_size: the number of pairs of steps and changes of the gradient that are kept.
        line_search_fn: ``"strong_wolfe"``, or None for steps of fixed length.

    Its control flow depends on values, so it runs outside ``jit``; compile the objective:
    ``jit(value_and_grad(loss))``. All parameters must have one dtype. SciPy's L-BFGS-B accepts the
    same objective.

    Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.

    >>> from autojit import jit, optim, value_and_grad
    >>> def rosenbrock(x):
    ...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> objective = jit(value_and_grad(rosenbrock))
    >>> opt = optim.lbfgs(max_iter=60, line_search_fn="strong_wolfe")
    >>> x = np.zeros(2)
    >>> x, state, value = opt.step(objective, x, opt.init(x))
    >>> x.round(4)
    array([1., 1.])
    """
    need(lr >= 0, f"lr={lr} is negative")
    need(history_size >= 1, f"history_size={history_size} is less than 1")
    need(
        line_search_fn in (None, "strong_wolfe"),
        f"line_search_fn={line_search_fn!r} is not 'strong_wolfe' or None",
    )
    most = max_iter * 5 // 4 if max_eval is None else max_eval
    settings = Settings(
        lr, max_iter, most, tolerance_grad, tolerance_change, history_size,
        line_search_fn is not None,
    )  # fmt: skip
    return LBFGS(_init, lambda objective, params, state: _step(settings, objective, params, state))


def _init(params: Any) -> State:
    x = _vector(leaves_of(params))
    nothing = np.zeros((0, x.size), x.dtype)
    return {
        "n_iter": np.int64(0), "func_evals": np.int64(0), "direction": np.zeros_like(x),
        "step_size": np.float64(0.0), "gradient": np.zeros_like(x), "scale": np.float64(1.0),
        "steps": nothing, "changes": nothing,
    }  # fmt: skip


def _step(
    settings: Settings, objective: Objective, params: Any, state: State
) -> tuple[Any, State, float]:
    x = _vector(leaves_of(params))
    evaluations = 0

    def at(where: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        tree = _tree(params, where)
        value, grads = objective(tree)
        return float(value), _vector(same_leaves(grads, params, "the objective's gradients"))

    state = dict(state)
    value, gradient = at(x)
    first = value
    flat = _largest(gradient) <= settings.tolerance_grad
    for k in range(settings.max_iter):
        if flat:
            break
        state["n_iter"] = state["n_iter"] + 1
        _turn(state, gradient, settings.history_size)
        direction, slope = state["direction"], float(gradient @ state["direction"])
        size = settings.lr
        if state["n_iter"] == 1:
            size *= min(1.0, 1.0 / float(np.sum(np.abs(gradient))))
        state["step_size"] = np.float64(size)
        if slope > -settings.tolerance_change:
            break
        before = value
        left = settings.max_eval - evaluations
        size, value, gradient = _advance(
            settings, at, x, direction, Point(0.0, value, gradient, slope), size, left, k
        )
        x = x + (size * direction).astype(x.dtype)
        state["step_size"] = np.float64(size)
        flat = _largest(gradient) <= settings.tolerance_grad
        small = (
            _largest(size * direction) <= settings.tolerance_change
            or abs(value - before) < settings.tolerance_change
        )
        if evaluations >= settings.max_eval or small:
            break
    state["func_evals"] = state["func_evals"] + evaluations
    return _tree(params, x), state, first


def _advance(
    settings: Settings, at: Callable[[np.ndarray], tuple[float, np.ndarray]], x: np.ndarray,
    direction: np.ndarray, start: Point, size: float, left: int, k: int,
) -> tuple[float, float, np.ndarray]:  # fmt: skip
    """Make step k: return its length, and the value and gradient after it.

    ``left`` is the number of evaluations that remain.
    """
    if not settings.line_search:
        if k == settings.max_iter - 1:  # the value and gradient are no longer needed
            return size, start.value, start.gradient
        return size, *at(x + (size * direction).astype(x.dtype))

    def along(t: float) -> Point:
        value, gradient = at(x + (t * direction).astype(x.dtype))
        return Point(t, value, gradient, float(gradient @ direction))

    shortest = settings.tolerance_change / _largest(direction)
    point, _ = strong_wolfe(along, start, size, shortest, left)
    return point.step, point.value, point.gradient


def _turn(state: State, gradient: np.ndarray, history_size: int) -> None:
    """Set the next direction, from the gradient and the stored pairs.

    Nocedal and Wright, "Numerical optimization", 2006, algorithm 7.4.
    """
    if state["n_iter"] > 1:
        change = gradient - state["gradient"]
        step = (state["direction"] * state["step_size"]).astype(gradient.dtype)
        curvature = float(change @ step)
        if curvature > 1e-10:
            state["steps"] = np.concatenate([state["steps"], step[None]])[-history_size:]
            state["changes"] = np.concatenate([state["changes"], change[None]])[-history_size:]
            state["scale"] = np.float64(curvature / float(change @ change))
    pairs = list(zip(state["steps"], state["changes"], strict=True))
    q, shares = -gradient, []
    for step, change in reversed(pairs):
        shares.append((step @ q) / (step @ change))
        q = q - shares[-1] * change
    q = q * float(state["scale"])
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        q = q + step * (share - (change @ q) / (step @ change))
    state["direction"], state["gradient"] = q, gradient


def _largest(x: np.ndarray) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _vector(leaves: list[Any]) -> np.ndarray:
    """All numbers in one vector."""
    if any(is_tracer(x) for x in leaves):
        raise ConcreteValueError(
            with_place(
                "The control flow of lbfgs depends on values, so it must run outside compiled "
                "functions. Compile the objective:\n"
                "    opt.step(jit(value_and_grad(loss)), params, state)",
                user_source(),
            )
        )
    need(
        len({dtype_of(x) for x in leaves}) == 1,
        "lbfgs needs parameters of one dtype: x.astype(float)",
    )
    return np.concatenate([np.ravel(x) for x in leaves])


def _tree(params: Any, x: np.ndarray) -> Any:
    """The numbers of a vector in the structure and shapes of the parameters."""
    leaves, _ = pytrees.flatten(params)
    stops = np.cumsum([np.size(leaf) for leaf in leaves])[:-1]
    parts = np.split(x, stops)
    return like(params, [p.reshape(np.shape(q)) for p, q in zip(parts, leaves, strict=True)])
