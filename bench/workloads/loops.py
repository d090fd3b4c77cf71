"""`scan` and `while_loop` as Python loops, for libraries that trace, tape or just run these: NumPy,
autograd and PyTorch. A workload's text takes its loop as an argument, so all libraries run the same
text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.workload import Function, not_written

# For 200 steps of `recurrent.rnn_loss`, torch.compile had not finished after four minutes.
UNROLLED = not_written("torch.compile unrolls a Python loop and compiles hundreds of steps")


def scan_of(np: Any) -> Function:
    """`jax.lax.scan` for arrays of the namespace `np`; `xs` and the results are flat tuples."""

    def scan(f: Function, init: Any, xs: Any = None, length: int | None = None) -> tuple[Any, Any]:
        carry, results = init, []
        for step in range(_length(xs, length)):
            carry, result = f(carry, _row(xs, step))
            results.append(result)
        return carry, _stacked(np, results)

    return scan


def _length(xs: Any, length: int | None) -> int:
    if xs is None:
        assert length is not None
        return length
    return len(xs[0] if isinstance(xs, tuple) else xs)


def _row(xs: Any, step: int) -> Any:
    if xs is None:
        return None
    return tuple(x[step] for x in xs) if isinstance(xs, tuple) else xs[step]


def _stacked(np: Any, results: list[Any]) -> Any:
    if results[0] is None:
        return None
    if isinstance(results[0], tuple):
        return tuple(np.stack(column) for column in zip(*results, strict=True))
    return np.stack(results)


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """`jax.lax.while_loop`."""
    state = init
    while condition(state):
        state = body(state)
    return state
