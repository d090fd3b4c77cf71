"""Loops and branches as functions, which are compiled as loops and branches.

A Python loop in a traced function unrolls, and a Python ``if`` cannot depend on a traced
value.  These functions become native loops and branches, and have derivatives of every
kind.  Names, arguments and results are those of ``jax.lax``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.arguments import check_flag
from autojit.errors import DtypeError, StructureError, with_place
from autojit.ir.ops.arithmetic import convert, ne
from autojit.protocols.lifting import to_dtype
from autojit.session.tracebacks import folded
from autojit.staging import pytrees
from autojit.staging.bodies import check_function, in_a_trace
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer
from autojit.transformations.checkpointing import Segments, check_segments

from .emission import (
    INDEX,
    as_array,
    as_index,
    bound,
    emit_counted,
    emit_scan,
    emit_switch,
    emit_while,
    length_of,
    scalar,
)


@folded
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    *,
    checkpoint: Segments = None,
) -> tuple[Any, Any]:
    """Run ``carry, y = f(carry, x)`` over the rows of ``xs``, and stack the ys.

    Args:
        f: a function of a carry and one row of ``xs``; it returns the next carry, with the
            structure, shapes and dtypes of ``init``, and a result (a tree, or None).
        init: the first carry, a tree of arrays.
        xs: a tree of arrays with one row a step, or None.
        length: the number of steps; needed only without ``xs``.
        reverse: whether to go from the last row to the first. Row i of the stacked results still
            belongs to row i of ``xs``.
        checkpoint: the values that reverse mode stores for n steps, if a step has a carry of c
            bytes and r bytes of residuals. None: the residuals, n r bytes, or fewer (as for a
            number) if that is faster. A number k: the carries of every k-th step and the residuals
            of k steps, c n/k + r k bytes; each step is then computed twice. ``"sqrt"``: k =
            ceil(sqrt(n)), which stores (c + r) sqrt(n) bytes. ``"auto"``: None if n r is at most
            256 MB, else ``"sqrt"``. ``peak_memory(grad(f))(x)`` states the bytes before anything is
            run.

    Returns:
        ``(carry, ys)``: the last carry, and the results stacked along a new first axis.

    Raises:
        StructureError, ShapeError, DtypeError: if the carry changes its type, or the rows do not
            fit.

    The body is compiled once, whatever the length. In reverse mode each step stores the fewest
    bytes that the backward pass needs.

    >>> import numpy as np
    >>> from autojit import scan
    >>> scan(lambda total, x: (total + x, total + x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([1., 3., 6.]))
    """
    check_function(f, "argument 0", "scan", "carry, x")
    check_flag(reverse, "reverse", "scan")
    steps = length_of(xs, length, "scan")
    check_segments(checkpoint)
    result: tuple[Any, Any] = in_a_trace(
        lambda i, x: emit_scan(f, i, x, steps, reverse, checkpoint), init, xs
    )
    return result


@folded
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init: Any) -> Any:
    """``carry = body_fun(i, carry)`` for i from ``lower`` up to, not including, ``upper``.

    Args:
        lower, upper: integers, or traced integer scalars.
        body_fun: a function of the index and the carry; it returns the next carry, with the
            structure, shapes and dtypes of ``init``.
        init: the first carry, a tree of arrays.

    Returns:
        The last carry.

    Raises:
        StructureError, ShapeError, DtypeError: if the carry changes its type.

    >>> import numpy as np
    >>> from autojit import fori_loop
    >>> fori_loop(0, 4, lambda i, x: x + i, np.zeros(2))
    array([6., 6.])
    """
    body_fun = check_function(body_fun, "argument 2", "fori_loop", "i, carry")
    lower, upper = bound(lower, "lower of fori_loop"), bound(upper, "upper of fori_loop")
    if not (is_tracer(lower) or is_tracer(upper)):
        steps = max(upper - lower, 0)
        return in_a_trace(lambda i: emit_counted(body_fun, i, lower, steps), init)

    def body(state: Any) -> Any:
        i, carry = state
        return i + 1, body_fun(as_index(i, lower, upper), carry)

    # A NumPy integer: it is below a bound, so adding one cannot overflow.
    first = np.positive(lower) if is_tracer(lower) else np.int64(lower)
    return while_loop(lambda state: state[0] < upper, body, (first, init))[1]


@folded
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any) -> Any:
    """``carry = body_fun(carry)`` as long as ``cond_fun(carry)`` holds.

    Args:
        cond_fun: a function of the carry that returns a scalar bool.
        body_fun: a function of the carry that returns the next one, with the structure,
            shapes and dtypes of ``init``.
        init: the first carry, a tree of arrays.

    Returns:
        The carry for which the condition does not hold.

    Raises:
        StructureError, ShapeError, DtypeError: if the carry changes its type.

    Forward mode needs no memory. Reverse mode runs the loop again with a tape that grows.
    Under ``vmap`` the loop runs as long as the condition holds for any element; the others
    keep their carries.

    >>> from autojit import grad, while_loop
    >>> def root(a):                                   # Newton's iteration
    ...     return while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> round(float(grad(root)(4.0)), 6)
    0.25
    """
    check_function(cond_fun, "argument 0", "while_loop", "carry")
    check_function(body_fun, "argument 1", "while_loop", "carry")
    return in_a_trace(lambda i: emit_while(cond_fun, body_fun, i), init)


@folded
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """``true_fun(*operands)`` if ``pred`` holds, else ``false_fun(*operands)``.

    Args:
        pred: a scalar bool or number.
        true_fun, false_fun: functions of the operands whose results have one structure, and
            the same shapes and dtypes.
        operands: trees of arrays.

    Raises:
        StructureError, ShapeError, DtypeError: if the results of the two differ in type.

    Only the branch taken runs, except under ``vmap`` over ``pred``.

    >>> from autojit import cond, grad
    >>> f = lambda x: cond(x > 0, lambda x: x * x, lambda x: -x, x)
    >>> grad(f)(3.0), grad(f)(-3.0)
    (np.float64(6.0), np.float64(-1.0))
    """
    check_function(true_fun, "argument 1", "cond")
    check_function(false_fun, "argument 2", "cond")

    def branch(p: Any, *rest: Any) -> Any:
        held = scalar(p, "the predicate of cond")
        chosen = convert(ne(held, 0) if held.dtype.kind != "b" else held, dtype=INDEX.type.dtype)
        return emit_switch(chosen, (false_fun, true_fun), ("false_fun", "true_fun"), rest, "cond")

    return in_a_trace(branch, pred, *operands)


@folded
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """``branches[index](*operands)``; an index out of range takes the nearest branch.

    Args:
        index: an integer scalar.
        branches: functions of the operands whose results have one structure, and the same
            shapes and dtypes.
        operands: trees of arrays.

    Raises:
        StructureError, ShapeError, DtypeError: if the results differ in type.

    >>> import numpy as np
    >>> from autojit import switch
    >>> float(switch(1, [np.sin, np.exp], 0.0))
    1.0
    """
    if not isinstance(branches, (list, tuple)):
        raise StructureError(
            with_place("switch takes a list of branches: switch(index, [f, g], x)", user_source())
        )
    branches = tuple(branches)
    if not branches:
        raise StructureError(with_place("switch needs at least one branch", user_source()))
    for k, f in enumerate(branches):
        check_function(f, f"branch {k}", "switch")

    def branch(i: Any, *rest: Any) -> Any:
        number = scalar(i, "the index of switch")
        if number.dtype.kind not in "iub":
            raise DtypeError(
                with_place(f"the index of switch must be an integer, not {number.type}",
                           user_source())
            )  # fmt: skip
        names = [f"branch {k}" for k in range(len(branches))]
        return emit_switch(to_dtype(number, np.int64), branches, names, rest, "switch")

    return in_a_trace(branch, index, *operands)


@folded
def map(f: Callable[..., Any], xs: Any) -> Any:
    """Apply ``f`` to each row of ``xs`` in turn, and stack the results.

    Args:
        f: a function of one row.
        xs: an array, or a tree of arrays with the same number of rows.

    Returns:
        The results of ``f``, stacked along a new first axis.

    Raises:
        ShapeError: if the arrays have different numbers of rows.

    ``vmap(f)(xs)`` computes all rows at once, which is faster but needs more memory.

    >>> import numpy as np
    >>> import autojit
    >>> autojit.map(np.sum, np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    f = check_function(f, "argument 0", "map", "x")
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


@folded
def associative_scan(
    fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All partial results of an associative function along an axis.

    Args:
        fn: an associative function of two trees like ``elems``, elementwise along the axis.
        elems: a tree of arrays of one extent along the axis.
        reverse: whether to start from the end.
        axis: the axis.

    Returns:
        Arrays like ``elems``: the first element, ``fn`` of the first two, and so on.

    It makes one pass with one call per step, which on a CPU is less work than a tree of calls.

    >>> import numpy as np
    >>> import autojit
    >>> autojit.associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    fn = check_function(fn, "argument 0", "associative_scan")
    check_flag(reverse, "reverse", "associative_scan")
    _, structure = pytrees.flatten(elems)

    def run(tree: Any) -> Any:
        rows = [np.moveaxis(as_array(x), axis, 0) for x in pytrees.flatten(tree)[0]]
        if not rows or rows[0].shape[0] == 0:
            return tree
        first = [x[-1:] if reverse else x[:1] for x in rows]
        rest = [x[:-1] if reverse else x[1:] for x in rows]

        def step(carry: Any, x: Any) -> Any:
            row = pytrees.unflatten(structure, [r[None] for r in x])
            made = fn(pytrees.unflatten(structure, carry), row)
            leaves = pytrees.flatten(made)[0]
            return leaves, [leaf[0] for leaf in leaves]

        _, ys = scan(step, first, rest, reverse=reverse)
        whole = [
            np.concatenate([y, f] if reverse else [f, y]) for f, y in zip(first, ys, strict=True)
        ]
        return pytrees.unflatten(structure, [np.moveaxis(x, 0, axis) for x in whole])

    return in_a_trace(run, elems)


__all__ = [
    "associative_scan",
    "cond",
    "fori_loop",
    "map",
    "scan",
    "switch",
    "while_loop",
]
