"""Assertions for tests: right derivatives, no retraces, and properties of compiled code.

Derivatives are compared with central differences along a random direction (see
``validation.comparisons``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from autojit.session.tracebacks import folded

from .dispatch.compiled import CompiledFunction
from .dispatch.jit_function import jit
from .dispatch.retraces import forbidden
from .errors import StructureError
from .explanations.demands import check_fused, check_no_temporaries, check_vectorized
from .explanations.explaining import explain
from .explanations.explanation import Explanation
from .staging.pytrees import in_place_of_types
from .validation.comparisons import compare_grads as compare_grads
from .validation.gradients import raise_wrong


@folded
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Raise unless the derivatives of ``f`` at ``args`` agree with central differences.

    Args:
        f: a function of arrays, or trees of them, with results of any shape.
        args: a tuple of arguments, or one array; their floating-point leaves are varied.
        order: the highest order of derivatives; each combination of the modes is checked.
        modes: ``"fwd"``, ``"rev"`` or both.
        rtol, atol: tolerances of the projected derivative; by default 64 times the square
            root of the machine epsilon of the least precise dtype (1e-6 for float64), and no
            more than 0.125.
        step: the step of the differences; by default the cube root of that epsilon, times
            the largest element of an argument if that is above 1.
        seed: of the random directions.

    Raises:
        DerivativeCheckError: an AssertionError that names the first wrong derivative (lowest
            order first), the element of the argument for which it is wrong, and the operation at
            fault with its line.
        IntegerGradientError: if no leaf of the arguments is floating point.

    At a kink, central differences do not approximate a derivative: choose another point.

    >>> from autojit.testing import check_grads
    >>> check_grads(lambda x: np.sin(x) * x, (np.array([0.3, 1.2]),))
    """
    for comparison in compare_grads(
        f, args, order, modes, rtol=rtol, atol=atol, step=step, seed=seed
    ):
        if not comparison.agrees:
            raise_wrong(comparison)


def assert_no_retrace(*functions: Any) -> AbstractContextManager[None]:
    """A block in which no function made by ``jit`` is traced, whether for the first time or again.

    Args:
        functions: the functions that may not be traced; by default, all. Functions without ``jit``
            are traced at every call and do not count.

    Raises:
        AssertionError: from the call that traces, naming the function and the argument that
            differed; at the end of the block, if the call was in another thread or the error was
            caught.

    >>> from autojit import jit
    >>> from autojit.testing import assert_no_retrace
    >>> f = jit(np.sin)
    >>> f(np.zeros(3))
    array([0., 0., 0.])
    >>> with assert_no_retrace():
    ...     f(np.zeros(3))
    array([0., 0., 0.])
    >>> with assert_no_retrace(f):  # doctest: +ELLIPSIS
    ...     f(np.zeros(4))
    Traceback (most recent call last):
    AssertionError: sin is traced inside assert_no_retrace(): argument 0 was f64[3], is f64[4]
    ...
    """
    for function in functions:
        if not isinstance(function, CompiledFunction):
            raise StructureError(
                f"assert_no_retrace takes functions made by jit, not {function!r:.60}. Without "
                "arguments, it applies to all functions:\n"
                "    with assert_no_retrace():"
            )
    return forbidden(functions)


def assert_fused(
    f: Callable[..., Any], *args: Any, at_most: int = 1, inside: int | None = None
) -> None:
    """Raise AssertionError unless ``f`` compiles to ``at_most`` loop nests and library calls.

    ``inside`` is the most loop nests and library calls that each of them may contain in sequential
    loops. Types may replace arrays.

    >>> from autojit.testing import assert_fused
    >>> assert_fused(lambda x: np.sum(np.exp(x) * x), np.ones(1000))
    >>> step = lambda h, _: (np.tanh(h * 0.5), None)
    >>> assert_fused(lambda x: autojit.scan(step, x, length=100)[0], np.ones(1000), inside=1)
    """
    check_fused(_explained(f, args), at_most, inside)


def assert_vectorized(f: Callable[..., Any], *args: Any) -> None:
    """Raise AssertionError if an inner loop of the code of ``f`` works on one number at a time."""
    check_vectorized(_explained(f, args))


def assert_no_temporaries(f: Callable[..., Any], *args: Any) -> None:
    """Raise AssertionError if a call of ``f`` needs arrays besides arguments and results."""
    check_no_temporaries(_explained(f, args))


def _explained(f: Callable[..., Any], args: Sequence[Any]) -> Explanation:
    compiled: Any = f if isinstance(f, CompiledFunction) else jit(f)
    return explain(compiled, in_place_of_types(tuple(args))[0], {}, run=False)
