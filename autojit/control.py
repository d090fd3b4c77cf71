"""Control flow as values: loops and branches that are compiled as such.

A Python loop in a traced function unrolls, and a Python ``if`` cannot depend on a traced
value.  These functions become native loops and branches, and have derivatives of every
kind.  Names, arguments and results are those of ``jax.lax``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from autojit.ir.ops.arithmetic import convert, ne
from autojit.ir.ops.bodies import groups
from autojit.ir.ops.scan import scan as scan_op
from autojit.ir.ops.switch import switch as switch_op
from autojit.ir.ops.while_ import while_ as while_op
from autojit.ir.program import Program, Value, current_builder
from autojit.ir.transforms.segments import scan_in_segments
from autojit.ir.types import Type

from . import trees
from .abstract import LeafType, leaf_type
from .bodies import Body, check_function, in_a_trace, merged, name_of, trace_body
from .checkpointing import Segments, check_segments, segment_size
from .errors import DtypeError, ShapeError, StructureError, with_place
from .functions.lifting import to_dtype
from .tracer import Tracer
from .tracing import current_trace, is_tracer, lift, user_source

_INDEX = LeafType(Type(np.dtype(np.int64), ()), int)


def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: Segments = None,
) -> tuple[Any, Any]:
    """Run ``carry, y = f(carry, x)`` over the rows of ``xs``, and stack the ys.

    Args:
        f: a function of a carry and one row of ``xs``; it returns the next carry, with the
            structure, shapes and dtypes of ``init``, and a result (a tree, or None).
        init: the first carry, a tree of arrays.
        xs: a tree of arrays with one row a step, or None.
        length: how many steps; needed only without ``xs``.
        reverse: whether to go from the last row to the first. Row i of ``xs`` and of the
            stacked results still belong together.
        checkpoint: what reverse mode stores of n steps, where a step has a carry of c bytes and
            r bytes of residuals. None: the residuals, n r bytes. A number k: the carries of
            every k-th step and the residuals of k steps, c n/k + r k bytes; each step is then
            computed a second time. ``"sqrt"``: k = ceil(sqrt(n)), at which that is
            (c + r) sqrt(n) bytes. ``"auto"``: None where n r is at most 256 MB, else ``"sqrt"``.
            ``peak_memory(grad(f))(x)`` states the bytes before anything is run.

    Returns:
        ``(carry, ys)``: the last carry, and the results stacked along a new first axis.

    Raises:
        StructureError, ShapeError, DtypeError: where the carry changes its type, or the rows
            do not fit.

    The body is compiled once, whatever the length. In reverse mode each step stores the fewest
    bytes from which the backward pass can do its part.

    >>> import numpy as np
    >>> from autojit import scan
    >>> scan(lambda total, x: (total + x, total + x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([1., 3., 6.]))
    """
    check_function(f, "argument 0", "scan")
    steps = _length(xs, length, "scan")
    check_segments(checkpoint)
    result: tuple[Any, Any] = in_a_trace(
        lambda i, x: _scan(f, i, x, steps, reverse, checkpoint), init, xs
    )
    return result


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
        StructureError, ShapeError, DtypeError: where the carry changes its type.

    >>> import numpy as np
    >>> from autojit import fori_loop
    >>> fori_loop(0, 4, lambda i, x: x + i, np.zeros(2))
    array([6., 6.])
    """
    check_function(body_fun, "argument 2", "fori_loop")
    if not (is_tracer(lower) or is_tracer(upper)):
        start, steps = _integer(lower, "lower"), _integer(upper, "upper") - _integer(lower, "lower")
        return in_a_trace(lambda i: _counted(body_fun, i, start, max(steps, 0)), init)

    def body(state: Any) -> Any:
        i, carry = state
        return i + 1, body_fun(i, carry)

    first = lower if is_tracer(lower) else np.int64(lower)
    return while_loop(lambda state: state[0] < upper, body, (first, init))[1]


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
        StructureError, ShapeError, DtypeError: where the carry changes its type.

    Forward mode needs no memory. Reverse mode runs the loop again with a tape that grows.
    Under ``vmap`` the loop runs as long as the condition holds for any element; the others
    keep their carries.

    >>> from autojit import grad, while_loop
    >>> def root(a):                                   # Newton's iteration
    ...     return while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> round(float(grad(root)(4.0)), 6)
    0.25
    """
    check_function(cond_fun, "argument 0", "while_loop")
    check_function(body_fun, "argument 1", "while_loop")
    return in_a_trace(lambda i: _while(cond_fun, body_fun, i), init)


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """``true_fun(*operands)`` where ``pred`` holds, else ``false_fun(*operands)``.

    Args:
        pred: a scalar bool or number.
        true_fun, false_fun: functions of the operands whose results have one structure, and
            the same shapes and dtypes.
        operands: trees of arrays.

    Raises:
        StructureError, ShapeError, DtypeError: where the results of the two differ in type.

    Only the branch taken runs, except under ``vmap`` over ``pred``.

    >>> from autojit import cond, grad
    >>> f = lambda x: cond(x > 0, lambda x: x * x, lambda x: -x, x)
    >>> grad(f)(3.0), grad(f)(-3.0)
    (np.float64(6.0), np.float64(-1.0))
    """
    check_function(true_fun, "argument 1", "cond")
    check_function(false_fun, "argument 2", "cond")

    def branch(p: Any, *rest: Any) -> Any:
        held = _scalar(p, "the predicate of cond")
        chosen = convert(ne(held, 0) if held.dtype.kind != "b" else held, dtype=_INDEX.type.dtype)
        return _switch(chosen, (false_fun, true_fun), ("false_fun", "true_fun"), rest, "cond")

    return in_a_trace(branch, pred, *operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """``branches[index](*operands)``; an index out of range takes the nearest branch.

    Args:
        index: an integer scalar.
        branches: functions of the operands whose results have one structure, and the same
            shapes and dtypes.
        operands: trees of arrays.

    Raises:
        StructureError, ShapeError, DtypeError: where the results differ in type.

    >>> import numpy as np
    >>> from autojit import switch
    >>> float(switch(1, [np.sin, np.exp], 0.0))
    1.0
    """
    branches = tuple(branches)
    if not branches:
        raise StructureError(with_place("switch needs at least one branch", user_source()))
    for k, f in enumerate(branches):
        check_function(f, f"branch {k}", "switch")

    def branch(i: Any, *rest: Any) -> Any:
        number = _scalar(i, "the index of switch")
        if number.dtype.kind not in "iub":
            raise DtypeError(
                with_place(f"the index of switch must be an integer, not {number.type}",
                           user_source())
            )  # fmt: skip
        names = [f"branch {k}" for k in range(len(branches))]
        return _switch(to_dtype(number, np.int64), branches, names, rest, "switch")

    return in_a_trace(branch, index, *operands)


def map(f: Callable[..., Any], xs: Any) -> Any:
    """``f`` of each row of ``xs``, one after the other, and the results stacked.

    ``vmap(f)(xs)`` computes the same all at once, which is faster where it fits in memory.

    >>> import numpy as np
    >>> import autojit
    >>> autojit.map(np.sum, np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    check_function(f, "argument 0", "map")
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def associative_scan(
    fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All partial results of an associative function along an axis.

    Args:
        fn: an associative function of two trees like ``elems`` that works on every element
            along the axis by itself.
        elems: a tree of arrays of one extent along the axis.
        reverse: whether to start from the end.
        axis: the axis.

    Returns:
        Arrays like ``elems``: the first element, ``fn`` of the first two, and so on.

    One pass with a call a step, which on a CPU is less work than a tree of calls.

    >>> import numpy as np
    >>> import autojit
    >>> autojit.associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    check_function(fn, "argument 0", "associative_scan")
    _, structure = trees.flatten(elems)

    def run(tree: Any) -> Any:
        rows = [np.moveaxis(_array(x), axis, 0) for x in trees.flatten(tree)[0]]
        if not rows or rows[0].shape[0] == 0:
            return tree
        first = [x[-1:] if reverse else x[:1] for x in rows]
        rest = [x[:-1] if reverse else x[1:] for x in rows]

        def step(carry: Any, x: Any) -> Any:
            row = trees.unflatten(structure, [r[None] for r in x])
            made = fn(trees.unflatten(structure, carry), row)
            leaves = trees.flatten(made)[0]
            return leaves, [leaf[0] for leaf in leaves]

        _, ys = scan(step, first, rest, reverse=reverse)
        whole = [
            np.concatenate([y, f] if reverse else [f, y]) for f, y in zip(first, ys, strict=True)
        ]
        return trees.unflatten(structure, [np.moveaxis(x, 0, axis) for x in whole])

    return in_a_trace(run, elems)


# -- building the ops ---------------------------------------------------------------


def _array(x: Any) -> Any:
    return x if isinstance(x, Tracer) else np.asarray(x)


def _tracers(values: Sequence[Value]) -> list[Tracer]:
    trace = current_trace()
    assert trace is not None
    return [Tracer(v, trace) for v in values]


def _values(leaves: Sequence[Any], types: Sequence[LeafType]) -> list[Value]:
    return [to_dtype(lift(leaf), t.type.dtype) for leaf, t in zip(leaves, types, strict=True)]


def _scalar(x: Any, what: str) -> Value:
    value = lift(x)
    if value.shape:
        raise ShapeError(
            with_place(f"{what} must be a scalar; it has shape {value.shape}.", user_source())
        )
    return value


def _integer(x: Any, what: str) -> int:
    try:
        return int(np.asarray(x).__index__())
    except TypeError:
        raise DtypeError(
            with_place(f"{what} of fori_loop must be an integer, not {x!r:.60}", user_source())
        ) from None


def _length(xs: Any, length: int | None, of: str) -> int:
    leaves = trees.flatten(xs)[0]
    extents: dict[str, int] = {}
    for leaf, path in zip(leaves, trees.paths(xs, "xs"), strict=True):
        if np.ndim(leaf) == 0:
            raise ShapeError(
                with_place(f"{of} runs over rows, and {path} is a scalar. Close over it, or "
                           "pass it in the carry.", user_source())
            )  # fmt: skip
        extents[path] = np.shape(leaf)[0]
    if length is not None:
        extents["length"] = length
    if not extents:
        raise StructureError(with_place(f"{of} needs xs or a length", user_source()))
    if len(set(extents.values())) > 1:
        listed = ", ".join(f"{name}: {n}" for name, n in extents.items())
        raise ShapeError(with_place(f"{of} over different numbers of rows ({listed})",
                                    user_source()))  # fmt: skip
    return next(iter(extents.values()))


def _carry_body(
    f: Callable[..., Any],
    before: Sequence[LeafType],
    init: Any,
    rows: Sequence[LeafType],
    call: Callable[..., Any],
    split: Callable[[Any], tuple[Any, Any]],
    what: str,
) -> tuple[Body, list[LeafType]]:
    """The traced body, and the types of its carries.

    Python numbers among the first carries become what the body makes of them, which may take
    a round for each of them.
    """
    leaves, structure = trees.flatten(init)
    types = [leaf_type(trees.check_result(x, f"The first carry of {what}")) for x in leaves]
    paths = trees.paths(init, "carry")
    for _ in range(3 * len(types) + 1):  # an int may become a float, complex, an array's dtype
        ending: list[Any] = []

        def run(g: Callable[..., Any], tracers: Sequence[Any], ending: list[Any] = ending) -> Any:
            head, carries, slices, _ = groups(tracers, len(before), len(leaves), len(rows))
            result = call(g, head, trees.unflatten(structure, carries), slices)
            ending.append(split(result))
            return ending[-1]

        body = trace_body(f, [*before, *types, *rows], run, what)
        given = trees.flatten(ending[-1][0])
        if given[1] != structure:
            raise StructureError(
                with_place(
                    f"{what} must return a carry with the structure that it takes: "
                    f"{structure}; it returns {given[1]}.",
                    user_source(),
                )
            )
        made = [LeafType(t, w) for t, w in zip(body.program.out_types, body.weak, strict=True)]
        changed = list(types)
        for i, (old, new) in enumerate(zip(types, made, strict=False)):
            if old.weak is not None and old.type.shape == new.type.shape:
                changed[i] = new
            elif old.type != new.type:
                _carry_differs(what, paths[i], old.type, new.type)
        if changed == types:
            return body, types
        types = changed
    raise AssertionError("dtypes of the carry do not settle")


def _carry_differs(what: str, path: str, old: Type, new: Type) -> NoReturn:
    if old.shape != new.shape:
        raise ShapeError(
            with_place(
                f"{what} takes {path} as {old} and returns it as {new}. A carry keeps its shape; "
                "begin with one of the final shape:\n"
                f"    init = np.zeros({new.shape})",
                user_source(),
            )
        )
    raise DtypeError(
        with_place(
            f"{what} takes {path} as {old} and returns it as {new}. A carry keeps its dtype; "
            "convert the first or the next one:\n"
            f"    init.astype(np.{new.dtype.name})        # or, in the body: "
            f"{path}.astype(np.{old.dtype.name})",
            user_source(),
        )
    )


def _scan(
    f: Callable[..., Any], init: Any, xs: Any, steps: int, reverse: bool, segments: Segments
) -> Any:
    rows, row_structure = trees.flatten(xs)
    kinds = [leaf_type(x) for x in rows]
    row_types = [LeafType(k.type.with_shape(k.type.shape[1:]), None) for k in kinds]
    name = f"the body of scan ({name_of(f)})"

    def call(g: Callable[..., Any], head: Any, carry: Any, slices: Any) -> Any:
        return g(carry, trees.unflatten(row_structure, slices))

    def pair(result: Any) -> tuple[Any, Any]:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise StructureError(
                with_place(
                    f"{name} must return (carry, y); it returned a {type(result).__name__}. "
                    "Return None for y where there is nothing to stack:\n"
                    "    return carry, None",
                    user_source(),
                )
            )
        return result

    body, types = _carry_body(f, [], init, row_types, call, pair, name)
    operands, params = _scan_op(
        body, init, types, [lift(x) for x in rows], steps, reverse, index=False
    )
    size = segment_size(segments, params)
    results: Sequence[Value]
    if size is None:
        results = current_builder().emit(scan_op, operands, params)
    else:
        results = scan_in_segments(operands, params, size)
    return trees.unflatten(body.structure, _tracers(results))


def _counted(f: Callable[..., Any], init: Any, start: int, steps: int) -> Any:
    name = f"the body of fori_loop ({name_of(f)})"

    def call(g: Callable[..., Any], head: Any, carry: Any, slices: Any) -> Any:
        index = head[0] + start if start else head[0]
        return g(index, carry)

    body, types = _carry_body(f, [_INDEX], init, [], call, lambda r: (r, None), name)
    results = current_builder().emit(
        scan_op, *_scan_op(body, init, types, [], steps, False, index=True)
    )
    return trees.unflatten(trees.flatten(init)[1], _tracers(results))


def _scan_op(
    body: Body, init: Any, types: Sequence[LeafType], rows: Sequence[Value], steps: int,
    reverse: bool, *, index: bool,
) -> tuple[list[Value], dict[str, Any]]:  # fmt: skip
    """The operands and parameters of a scan."""
    carries = _values(trees.flatten(init)[0], types)
    own = body.own if index else [Value(_INDEX.type), *body.own]
    program = Program(
        [*body.bound, *own], body.program.ops, body.program.outputs, name=body.program.name
    )
    return [*body.captured, *carries, *rows], {
        "body": program,
        "constants": len(body.captured),
        "carries": len(carries),
        "length": steps,
        "reverse": bool(reverse),
    }


def _while(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any) -> Any:
    name = f"the body of while_loop ({name_of(body_fun)})"

    def call(g: Callable[..., Any], head: Any, carry: Any, slices: Any) -> Any:
        return g(carry)

    body, types = _carry_body(body_fun, [], init, [], call, lambda r: (r, None), name)
    leaves, structure = trees.flatten(init)
    condition = trace_body(
        cond_fun,
        types,
        lambda g, tracers: _held(g(trees.unflatten(structure, tracers))),
        f"the condition of while_loop ({name_of(cond_fun)})",
    )
    (test, step), captured = merged([condition, body])
    results = current_builder().emit(
        while_op,
        [*captured, *_values(leaves, types)],
        {
            "condition": test,
            "sweeps": (step,),
            "carries": (len(leaves),),
            "backward": (False,),
            "constants": len(captured),
        },
    )
    return trees.unflatten(structure, _tracers(results))


def _held(result: Any) -> Tracer:
    value = _scalar(result, "the result of a loop's condition")
    if value.dtype.kind != "b":
        value = ne(value, 0)
    (tracer,) = _tracers([value])
    return tracer


def _switch(
    index: Value,
    functions: Sequence[Callable[..., Any]],
    names: Sequence[str],
    operands: tuple[Any, ...],
    of: str,
) -> Any:
    leaves, structure = trees.flatten(operands)
    types = [leaf_type(leaf) for leaf in leaves]

    def trace_all(dtypes: Sequence[np.dtype] | None) -> list[Body]:
        return [
            trace_body(
                f, types, lambda g, tracers: g(*trees.unflatten(structure, tracers)),
                f"{name} of {of}", dtypes,
            )
            for f, name in zip(functions, names, strict=True)
        ]  # fmt: skip

    bodies = trace_all(None)
    dtypes = _common_results(bodies, names, of)
    if any(list(b.program.out_types) != list(bodies[0].program.out_types) for b in bodies):
        bodies = trace_all(dtypes)
    programs, captured = merged(bodies)
    values = [lift(leaf, t.type.dtype) for leaf, t in zip(leaves, types, strict=True)]
    results = current_builder().emit(
        switch_op, [index, *captured, *values], {"branches": tuple(programs)}
    )
    return trees.unflatten(bodies[0].structure, _tracers(results))


def _common_results(bodies: Sequence[Body], names: Sequence[str], of: str) -> list[np.dtype]:
    """The dtypes of the results, in which Python numbers give way to arrays."""
    first = bodies[0]
    for body, name in zip(bodies, names, strict=True):
        if body.structure != first.structure:
            raise StructureError(
                with_place(
                    f"the branches of {of} must return the same structure; {names[0]} returns "
                    f"{first.structure}, {name} returns {body.structure}.",
                    user_source(),
                )
            )
    dtypes = []
    for j, columns in enumerate(zip(*(b.program.out_types for b in bodies), strict=True)):
        weak = [b.weak[j] for b in bodies]
        strong = {t.dtype for t, w in zip(columns, weak, strict=True) if w is None}
        scalars = [w(0) for w in weak if w is not None]
        dtype = np.result_type(*strong, *scalars) if strong else np.result_type(
            *(t.dtype for t in columns)
        )  # fmt: skip
        for t in columns:
            if t.shape != columns[0].shape or (len(strong) > 1):
                kind = ShapeError if t.shape != columns[0].shape else DtypeError
                raise kind(
                    with_place(
                        f"the branches of {of} must return the same types; result {j} is "
                        + ", ".join(f"{c} from {n}" for c, n in zip(columns, names, strict=True))
                        + ". Convert or broadcast one of them.",
                        user_source(),
                    )
                )
        dtypes.append(np.dtype(dtype))
    return dtypes


__all__ = [
    "associative_scan",
    "cond",
    "fori_loop",
    "map",
    "scan",
    "switch",
    "while_loop",
]
