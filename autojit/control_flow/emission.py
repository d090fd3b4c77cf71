"""The ops of loops and branches for the functions of :mod:`autojit.control_flow.control`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from autojit.errors import ConcreteValueError, DtypeError, ShapeError, StructureError, with_place
from autojit.ir.core.program import Program, Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import ne
from autojit.ir.ops.bodies import groups
from autojit.ir.regions.scan import scan as scan_op
from autojit.ir.regions.segments import scan_in_segments
from autojit.ir.regions.switch import switch as switch_op
from autojit.ir.regions.while_ import while_ as while_op
from autojit.protocols.lifting import in_type
from autojit.staging import pytrees
from autojit.staging.bodies import Body, merged, name_of, trace_body
from autojit.staging.trace_function import LeafType, argument_type, leaf_type
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import with_values
from autojit.tracing.protocol import bounds_of, with_bounds
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift
from autojit.transformations.checkpointing import Segments, segment_size

#: The index of a loop: a Python integer, which takes the dtype of its other operand.
INDEX = LeafType(Type(np.dtype(np.int64), ()), int)


def as_array(x: Any) -> Any:
    """A traced array unchanged, anything else as a NumPy array."""
    return x if isinstance(x, Tracer) else np.asarray(x)


def as_index(i: Any, lower: Any, upper: Any) -> Tracer:
    """A traced integer in ``lower <= i < upper`` (the bounds may be traced) that takes the dtype of
    its other operand, as a loop's index does."""
    trace = current_trace()
    assert trace is not None
    bounds = (bounds_of(lower)[0], bounds_of(upper)[1] - 1)
    return with_bounds(Tracer(lift(i), trace, int), bounds)


def _tracers(values: Sequence[Value]) -> list[Tracer]:
    trace = current_trace()
    assert trace is not None
    return [Tracer(v, trace) for v in values]


def _values(leaves: Sequence[Any], types: Sequence[LeafType]) -> list[Value]:
    return [in_type(leaf, t.type.dtype) for leaf, t in zip(leaves, types, strict=True)]


def scalar(x: Any, what: str) -> Value:
    """The value of a scalar, or ShapeError; StructureError for None."""
    if x is None:
        raise StructureError(with_place(f"{what} must be a scalar, not None.", user_source()))
    value = lift(x)
    if value.shape:
        words = f"{what} must be a scalar, but has shape {value.shape}. Reduce it to one:"
        code = "    np.all(x > 0)                      # not: x > 0"
        raise ShapeError(with_place(f"{words}\n{code}", user_source()))
    return value


def integer(x: Any, what: str) -> int:
    """A Python integer, or DtypeError."""
    x = with_values(x)
    if isinstance(x, Tracer):
        raise ConcreteValueError(
            with_place(
                f"{what} must be known when the function is traced, but it is a traced {x.type}. "
                "For a traced number of steps, use\n"
                "    fori_loop(0, n, lambda i, carry: ..., init)",
                user_source(),
            )
        )
    try:
        return int(np.asarray(x).__index__())
    except TypeError:
        raise DtypeError(
            with_place(f"{what} must be an integer, not {x!r:.60}", user_source())
        ) from None


def bound(x: Any, what: str) -> Any:
    """A bound of a loop: a traced integer scalar, unchanged, or a Python integer."""
    if not isinstance(x, Tracer):
        return integer(x, what)
    if x.shape or x.dtype.kind not in "iu":
        raise DtypeError(
            with_place(f"{what} must be an integer, not a traced {x.type}. Convert it:\n"
                       "    n.astype(int)", user_source())
        )  # fmt: skip
    return x


def length_of(xs: Any, length: int | None, of: str) -> int:
    """The number of rows that all of ``xs`` have, or the given length."""
    leaves = pytrees.flatten(xs)[0]
    extents: dict[str, int] = {}
    for leaf, path in zip(leaves, pytrees.paths(xs, "xs"), strict=True):
        if np.ndim(leaf) == 0:
            raise ShapeError(
                with_place(f"{of} runs over rows, and {path} is a scalar. " + (
                    "A list is a tree of arrays here. Make it one array:\n    xs = np.array(xs)"
                    if isinstance(xs, list) else "Close over it, or pass it in the carry."),
                    user_source())
            )  # fmt: skip
        extents[path] = np.shape(leaf)[0]
    if length is not None:
        extents["length"] = integer(length, f"length of {of}")
        if extents["length"] < 0:
            raise ShapeError(
                with_place(f"length of {of} must not be negative; it is {length}", user_source())
            )
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

    Python numbers among the initial carries take the types that the body gives them, which may take
    one round for each number.
    """
    leaves, structure = pytrees.flatten(init)
    types = [argument_type(pytrees.check_result(x, f"The first carry of {what}")) for x in leaves]
    # From the second step on, a carry without axes is a scalar.
    types = [t.seen_as(t.seen | LeafType(t.type, t.weak).seen) for t in types]
    types = [t._replace(weak=None) if t.weak is bool else t for t in types]  # as NumPy's bools
    paths = pytrees.paths(init, "carry")
    for _ in range(3 * len(types) + 1):  # an int may become a float, complex, an array's dtype
        ending: list[Any] = []

        def run(g: Callable[..., Any], tracers: Sequence[Any], ending: list[Any] = ending) -> Any:
            given, carries, slices, _ = groups(tracers, len(before), len(leaves), len(rows))
            result = call(g, given, pytrees.unflatten(structure, carries), slices)
            head, rest = split(result)
            ending.append(pytrees.flatten(head)[1])
            return head, rest

        body = trace_body(f, [*before, *types, *rows], run, what)
        if ending[-1] != structure:
            raise StructureError(
                with_place(
                    f"{what} must return a carry with the structure that it takes: "
                    f"{structure}; it returns {ending[-1]}.",
                    user_source(),
                )
            )
        made = [LeafType(t, w) for t, w in zip(body.program.out_types, body.weak, strict=True)]
        changed = list(types)
        for i, (old, new) in enumerate(zip(types, made, strict=False)):
            if old.weak is not None and old.type.shape == new.type.shape:
                changed[i] = new.seen_as(old.seen | new.seen)
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


def emit_scan(
    f: Callable[..., Any], init: Any, xs: Any, steps: int, reverse: bool, segments: Segments
) -> Any:
    """``scan`` inside a trace."""
    rows, row_structure = pytrees.flatten(xs)
    kinds = [leaf_type(x) for x in rows]
    row_types = [LeafType(k.type.with_shape(k.type.shape[1:]), None) for k in kinds]
    name = f"the body of scan ({name_of(f)})"

    def call(g: Callable[..., Any], head: Any, carry: Any, slices: Any) -> Any:
        return g(carry, pytrees.unflatten(row_structure, slices))

    def pair(result: Any) -> tuple[Any, Any]:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise StructureError(
                with_place(
                    f"{name} must return (carry, y); it returned "
                    f"{pytrees.result_in_words(result)}. Return None for y where there is "
                    "nothing to stack:\n"
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
    return pytrees.unflatten(body.structure, _tracers(results))


def emit_counted(f: Callable[..., Any], init: Any, start: int, steps: int) -> Any:
    """``fori_loop`` with known bounds, inside a trace."""
    name = f"the body of fori_loop ({name_of(f)})"

    def call(g: Callable[..., Any], head: Any, carry: Any, slices: Any) -> Any:
        own = with_bounds(head[0], (0, max(steps - 1, 0)))
        index = own + start if start else own
        return g(index, carry)

    body, types = _carry_body(f, [INDEX], init, [], call, lambda r: (r, None), name)
    results = current_builder().emit(
        scan_op, *_scan_op(body, init, types, [], steps, False, index=True)
    )
    return pytrees.unflatten(pytrees.flatten(init)[1], _tracers(results))


def _scan_op(
    body: Body, init: Any, types: Sequence[LeafType], rows: Sequence[Value], steps: int,
    reverse: bool, *, index: bool,
) -> tuple[list[Value], dict[str, Any]]:  # fmt: skip
    """The operands and parameters of a scan."""
    carries = _values(pytrees.flatten(init)[0], types)
    own = body.own if index else [Value(INDEX.type), *body.own]
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


def emit_while(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any) -> Any:
    """``while_loop`` inside a trace."""
    name = f"the body of while_loop ({name_of(body_fun)})"

    def call(g: Callable[..., Any], head: Any, carry: Any, slices: Any) -> Any:
        return g(carry)

    body, types = _carry_body(body_fun, [], init, [], call, lambda r: (r, None), name)
    leaves, structure = pytrees.flatten(init)
    condition = trace_body(
        cond_fun,
        types,
        lambda g, tracers: _held(g(pytrees.unflatten(structure, tracers))),
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
    return pytrees.unflatten(structure, _tracers(results))


def _held(result: Any) -> Tracer:
    value = scalar(result, "the result of a loop's condition")
    if value.dtype.kind != "b":
        value = ne(value, 0)
    (tracer,) = _tracers([value])
    return tracer


def emit_switch(
    index: Value,
    functions: Sequence[Callable[..., Any]],
    names: Sequence[str],
    operands: tuple[Any, ...],
    of: str,
) -> Any:
    """``switch`` inside a trace; ``names`` are the branches' names in messages."""
    leaves, structure = pytrees.flatten(operands)
    types = [argument_type(leaf) for leaf in leaves]

    def trace_all(dtypes: Sequence[np.dtype] | None) -> list[Body]:
        return [
            trace_body(
                f, types, lambda g, tracers: g(*pytrees.unflatten(structure, tracers)),
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
    return pytrees.unflatten(bodies[0].structure, _tracers(results))


def _common_results(bodies: Sequence[Body], names: Sequence[str], of: str) -> list[np.dtype]:
    """The dtypes of the results; Python numbers take the dtypes of arrays."""
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
                        + ". Convert or broadcast one of them:\n"
                        "    np.broadcast_to(y, x.shape).astype(x.dtype)",
                        user_source(),
                    )
                )
        dtypes.append(np.dtype(dtype))
    return dtypes
