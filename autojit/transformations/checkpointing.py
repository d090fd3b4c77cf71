"""``checkpoint``: reverse mode recomputes values instead of storing them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any, Literal, NamedTuple, overload

from autojit.errors import DerivativeError, ShapeError, StructureError, with_place
from autojit.ir.autodiff.linearize import linearize
from autojit.ir.core.program import current_builder
from autojit.ir.core.types import Type
from autojit.ir.regions.checkpoint import POLICIES
from autojit.ir.regions.checkpoint import checkpoint as checkpoint_op
from autojit.ir.transforms.memory import peak_bytes, stacked_bytes
from autojit.session.tracebacks import folded
from autojit.staging import pytrees
from autojit.staging.bodies import check_function, merged, name_of, trace_body
from autojit.staging.inspection import trace
from autojit.staging.settings import TWICE, need_function
from autojit.staging.signatures import same
from autojit.staging.trace_function import argument_type, leaf_type, trace_function
from autojit.staging.transformed import P, R, Transformed
from autojit.tracing.context import current_trace
from autojit.tracing.known import Inputs
from autojit.tracing.source import user_source
from autojit.tracing.values import lift

from .rules import tracers_of

#: JAX's names of the policies.
_NAMES = {
    "nothing_saveable": "nothing",
    "everything_saveable": "everything",
    "dots_saveable": "dots",
    "checkpoint_dots": "dots",
    "dots_with_no_batch_dims_saveable": "dots_with_no_batch_dims",
    "checkpoint_dots_with_no_batch_dims": "dots_with_no_batch_dims",
}

#: How a scan is cut into segments.
Segments = int | Literal["auto", "sqrt"] | None

#: The most bytes that ``scan(..., checkpoint="auto")`` stacks without segments.
BUDGET = 256 * 2**20


@overload
def checkpoint(f: Callable[P, R], *, policy: str | None = None) -> Transformed[P, R]: ...


@overload
def checkpoint(
    f: None = None, *, policy: str | None = None
) -> Callable[[Callable[P, R]], Transformed[P, R]]: ...


@folded
def checkpoint(f: Callable[..., Any] | None = None, *, policy: str | None = None) -> Any:
    """Make reverse mode store less of a function and recompute more.

    Args:
        f: a function of arrays, or trees of them. Omitted in ``@checkpoint(policy=...)``.
        policy: the values stored between the function and its derivative. ``"nothing"`` (the
            default): only the arguments; everything else is recomputed. ``"everything"``: all that
            the derivative reads, as without a checkpoint. ``"dots"``: the results of products.
            ``"dots_with_no_batch_dims"``: the results of products without batch axes. Within a
            policy, the fewest bytes are stored. JAX's names for these (``"dots_saveable"``, ...)
            mean the same.

    Returns:
        A function with the same value and derivatives.

    Raises:
        StructureError: if there is no such policy.

    Values that the function closes over are arguments too. The policy does not apply inside loops
    of the function: they run again. ``saved_residuals`` lists what is stored.

    >>> import numpy as np
    >>> from autojit import checkpoint, grad, trace
    >>> f = checkpoint(lambda x: np.sum(np.exp(np.sin(x))))
    >>> print(trace(f)(np.ones(3)))
    program main(%0: f64[3]) {
      %1: f64[] = checkpoint %0 {body=program f(%0: f64[3]) {
        %1: f64[3] = sin %0
        %2: f64[3] = exp %1
        %3: f64[] = sum %2 {axes=(0,)}
        return %3
      }, keep=False, policy='nothing'}
      return %1
    }
    """
    if f is None:
        return functools.partial(checkpoint, policy=policy)
    check_function(f, "argument 0", "checkpoint")
    chosen = _policy(policy)
    function = f

    def repeated(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            return function(*args, **kwargs)
        leaves, structure = pytrees.flatten((args, kwargs))
        for leaf, path in zip(leaves, pytrees.call_paths(args, kwargs), strict=True):
            pytrees.check_argument(leaf, path, "checkpoint(lambda x: f(x, setting))(x)")
        types = [argument_type(leaf) for leaf in leaves]

        def call(g: Callable[..., Any], tracers: Sequence[Any]) -> Any:
            positional, by_name = pytrees.arguments(structure, tracers)
            return g(*positional, **by_name)

        paths = functools.partial(pytrees.call_paths, args, kwargs)
        # The op is run, differentiated and batched only at these inputs.
        given = Inputs(leaves, False)
        body = trace_body(function, types, call, name_of(function), paths=paths, given=given)
        (program,), captured = merged([body])
        values = [lift(leaf, t.type.dtype) for leaf, t in zip(leaves, types, strict=True)]
        params = {"body": program, "keep": False, "policy": chosen}
        results = current_builder().emit(checkpoint_op, [*captured, *values], params)
        return tracers_of(body, results)

    return Transformed(checkpoint, function, {"policy": policy}, repeated, same)


def _policy(policy: Any) -> str:
    name = "nothing" if policy is None else policy
    name = _NAMES.get(name, name) if isinstance(name, str) else name
    if not isinstance(name, str) or name not in POLICIES:
        raise StructureError(
            with_place(
                f"a policy of checkpoint must be one of {', '.join(map(repr, POLICIES))}; got "
                f"{policy!r:.60}.",
                user_source(),
            )
        )
    return name


# -- segments of a scan -------------------------------------------------------------


def check_segments(choice: Any) -> None:
    """Raise StructureError or ShapeError unless scan takes this for ``checkpoint``."""
    if choice is None or choice in ("auto", "sqrt"):
        return
    if not isinstance(choice, int) or isinstance(choice, bool):
        raise StructureError(
            with_place(
                "checkpoint of scan must be None, 'auto', 'sqrt' or a number of steps; got "
                f"{choice!r:.60}.",
                user_source(),
            )
        )
    if choice < 1:
        raise ShapeError(with_place(f"a segment of {choice} steps", user_source()))


def segment_size(choice: Segments, params: dict[str, Any]) -> int | None:
    """How many steps a segment of a scan has; None for no segments."""
    length = params["length"]
    if choice is None or length < 2:
        return None
    if choice == "auto" and length * _stacked(params) <= BUDGET:
        return None
    size = choice if isinstance(choice, int) else isqrt(length - 1) + 1
    return size if size < length else None


def _stacked(params: dict[str, Any]) -> int:
    """The bytes of residuals of a step; values without a derivative store nothing."""
    for constants in (True, False):
        try:
            return stacked_bytes(params, constants=constants)
        except DerivativeError:
            continue
    return 0


# -- what is stored -----------------------------------------------------------------


class Residual(NamedTuple):
    """An array that reverse mode stores between a function and its derivative."""

    type: Type
    origin: str

    @property
    def nbytes(self) -> int:
        return self.type.nbytes


@folded
def saved_residuals(f: Callable[..., Any], *args: Any) -> list[Residual]:
    """List the values that the reverse mode of ``f`` stores in the forward pass.

    Args:
        f: a function of arrays or trees of them, differentiated by all arguments.
        args: its arguments.

    Returns:
        A list with the type and the source line of each value. Arguments and constants are not
        listed, as they take no memory of their own.

    Nothing is computed. Compiled code may store less, because it fuses operations.

    >>> import numpy as np
    >>> from autojit import checkpoint, saved_residuals
    >>> f = lambda x: np.sum(np.sin(np.exp(x)))
    >>> [str(r.type) for r in saved_residuals(f, np.ones(3))]
    ['f64[3]', 'f64[3]']
    >>> saved_residuals(checkpoint(f), np.ones(3))
    []
    """
    need_function(f, "saved_residuals")
    leaves, structure = pytrees.flatten(args)
    for leaf, path in zip(leaves, pytrees.call_paths(args, {}), strict=True):
        pytrees.check_argument(leaf, path, "saved_residuals(lambda x: f(x, setting), x)")
    types = [leaf_type(leaf) for leaf in leaves]
    program = trace_function(f, types, lambda g, v: g(*pytrees.arguments(structure, v))).program
    wrt = [i for i, t in enumerate(t.type for t in types) if t.is_inexact]
    parts = linearize(program, wrt)
    made_by = {v: op for op in parts.primal.ops for v in op.results if op.operands}
    residuals = parts.primal.outputs[len(program.outputs) :]
    return [
        Residual(v.type, f"{made_by[v].kind.name} at {made_by[v].source}")
        for v in dict.fromkeys(residuals)
        if v in made_by
    ]


def peak_memory(f: Callable[..., Any]) -> Callable[..., int]:
    """A function of the same arguments that returns the peak memory of ``f`` in bytes.

    The arguments are not counted, nor is the tape of a ``while_loop``, whose length is unknown
    before it runs. Compiled code takes less if operations are fused. Nothing is computed.

    >>> import numpy as np
    >>> from autojit import grad, peak_memory, scan
    >>> def f(x, k=None):
    ...     return np.sum(scan(lambda c, _: (np.sin(c), None), x, None, 10_000, checkpoint=k)[0])
    >>> x = np.ones(100)
    >>> peak_memory(grad(f))(x) // 800, peak_memory(grad(lambda x: f(x, 100)))(x) // 800
    (10003, 205)
    """
    need_function(f, "peak_memory", TWICE, "{}(f(x))")
    traced = trace(f)

    @functools.wraps(f)
    @folded
    def peak(*args: Any, **kwargs: Any) -> int:
        from autojit.ir.passes.pipeline import optimize

        return peak_bytes(optimize(traced(*args, **kwargs)))

    return peak
