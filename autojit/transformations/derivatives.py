"""``vjp``, ``jvp``, ``linearize``, ``hvp`` and ``stop_gradient``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np

from autojit.arguments import check_flag
from autojit.errors import IntegerGradientError, ShapeError, StructureError
from autojit.ir.autodiff.kept_errors import with_held
from autojit.ir.autodiff.linearize import Linearized
from autojit.ir.autodiff.linearize import jvp as jvp_program
from autojit.ir.autodiff.linearize import linearize as linearize_program
from autojit.ir.autodiff.transpose import transpose as transpose_program
from autojit.ir.core.halves import kind_of
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import stop_gradient as stop_op
from autojit.session.devices import is_on_card
from autojit.session.tracebacks import folded
from autojit.session.transform_cache import cached_transform
from autojit.staging import pytrees
from autojit.staging.execute import apply, is_resident
from autojit.staging.settings import need_function
from autojit.staging.trace_function import Traced, argument_type, leaf_type, trace_function
from autojit.staging.transformed import R, Transformed
from autojit.tracing.known import Inputs
from autojit.tracing.tracer import Tracer

from .gradients import grad
from .kept_traces import kept_trace

#: An argument, and a function's auxiliary result.
X = TypeVar("X")
A = TypeVar("A")


class _Traced(NamedTuple):
    traced: Traced
    leaves: list[Any]
    structure: Any


def _trace(f: Callable[..., Any], primals: Sequence[Any], name: str) -> _Traced:
    """Trace ``f(*primals)``; every leaf of the primals must have a derivative."""
    takes_tuples = name == "jvp"
    right = "{}(f, (x,), (v,))" if takes_tuples else "{}(f, x)"
    need_function(f, name, right, "{}(f(x), x, v)" if takes_tuples else "{}(f(x), x)")
    leaves, structure = pytrees.flatten(tuple(primals))
    for leaf, path in zip(leaves, pytrees.call_paths(tuple(primals), {}), strict=True):
        pytrees.check_argument(leaf, path, f"{name}(lambda x: f(x, setting), x)")
        dtype = leaf_type(leaf).type.dtype
        if kind_of(dtype) not in "fc":
            raise IntegerGradientError(
                f"{name} of {_name(f)} at {path}, which is {dtype.name}: only floating-point "
                "arguments have derivatives. Convert it, or close over it:\n"
                f"    {name}(lambda x: f(n, x), x)"
            )
    types = tuple(map(argument_type, leaves))

    def trace(asked: list[bool]) -> Traced:
        return trace_function(
            f, types, lambda g, v: g(*pytrees.arguments(structure, v)),
            lambda: pytrees.call_paths(tuple(primals), {}), Inputs(leaves, True, asked),
        )  # fmt: skip

    traced = kept_trace(f, (types, structure), tuple(primals), (), trace)
    return _Traced(traced, leaves, structure)


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _matching(tree: Any, structure: Any, types: Sequence[Type], what: str) -> list[Any]:
    """The leaves of a tree, checked to have a structure, shapes and dtypes."""
    leaves, given = pytrees.flatten(tree)
    if given != structure:
        wanted, got = pytrees.in_words(structure), pytrees.in_words(given)
        words = f"{what} must have the structure {wanted}; got {got}."
        if pytrees.is_one_array(structure) and len(leaves) == 1:
            words += (
                " Give the array alone:\n"
                "    pull_back(v)                       # not: pull_back((v,))"
            )
        raise StructureError(words)
    for leaf, type in zip(leaves, types, strict=True):
        if np.shape(leaf) != type.shape:
            raise ShapeError(
                f"{what} must have the shape {type.shape}; got {np.shape(leaf)}. Create one of "
                "this shape:\n"
                f"    v = np.ones({type.shape})"
            )
    return [_in_dtype(leaf, type.dtype) for leaf, type in zip(leaves, types, strict=True)]


def _in_dtype(x: Any, dtype: np.dtype) -> Any:
    """A leaf in a dtype. Traced leaves, and leaves on a GPU, stay so."""
    if not isinstance(x, Tracer) and not is_on_card(x):
        return np.asarray(x, dtype)
    return x if leaf_type(x).type.dtype == dtype else np.astype(x, dtype)


@folded
def jvp(f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[R, R]:
    """The value of ``f`` and its derivative along a direction, in one forward pass.

    Args:
        f: a function of arrays or trees of them.
        primals: the arguments of ``f``, as a tuple.
        tangents: the direction: a tuple with the structure and shapes of ``primals``.

    Returns:
        ``(out, tangent_out)``: the value, and the Jacobian times the direction, which has the
        structure and shapes of the value.

    Raises:
        StructureError, ShapeError: if the tangents do not fit the primals.

    >>> import numpy as np
    >>> from autojit import jvp
    >>> jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise StructureError(
                f"jvp takes {what} as a tuple, one for each argument of the function, not "
                f"{given!r:.60}:\n    jvp(f, (x,), (v,))                 # not: jvp(f, x, v)"
            )
    traced, leaves, structure = _trace(f, primals, "jvp")
    types = [leaf_type(leaf).type for leaf in leaves]
    moving = _matching(tuple(tangents), structure, types, "The tangents of jvp")
    program = cached_transform(jvp_program, traced.program, tuple(range(len(leaves))))
    results = apply(program, [*leaves, *moving], once=True)
    n = traced.results
    out, tangent = results[:n], results[n:]
    return pytrees.unflatten(traced.structure, out), pytrees.unflatten(traced.structure, tangent)


def _zeros(result: Any, type: Type) -> Any:
    """The zero tangent of a result that does not depend on the arguments, on the same device."""
    return np.zeros_like(result) if is_on_card(result) else np.zeros(type.shape, type.dtype)[()]


class _Linear(NamedTuple):
    parts: Linearized
    residuals: list[Any]
    out: Any
    #: Whether arguments are on a GPU, so that results stay there; the residuals always do.
    resident: bool
    #: A bool that fails whenever the value does, if the value is traced and the residuals do not
    #: fail.
    held: Any


def _linearized(problem: _Traced) -> _Linear:
    traced, leaves, _ = problem
    parts = cached_transform(linearize_program, traced.program, tuple(range(len(leaves))))
    n = traced.results
    primal = cached_transform(with_held, parts.primal, parts.linear, n)
    results = apply(primal, leaves, once=True, ours=len(primal.outputs) - n)
    out = pytrees.unflatten(traced.structure, results[:n])
    held = results.pop() if len(results) > len(parts.primal.outputs) else None
    return _Linear(parts, results[n:], out, is_resident(traced.program, leaves), held)


def _failing(results: Sequence[Any], held: Any) -> list[Any]:
    """Derivatives that raise whenever the value does, even if nothing reads the value."""
    if not isinstance(held, Tracer):
        return list(results)  # the value has been computed, and has not raised
    return [np.where(held, x, np.asarray(np.nan, leaf_type(x).type.dtype)) for x in results]


@folded
def linearize(f: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """The value of ``f`` at a point, and its derivative there as a linear function.

    Args:
        f: a function of arrays or trees of them.
        primals: the point: the positional arguments of ``f``.

    Returns:
        ``(out, derivative)``. ``derivative(*tangents)`` takes a direction with the structure and
        shapes of the primals, and returns what :func:`jvp` returns as ``tangent_out``. It does
        not compute ``f`` again, so that many directions cost less than as many calls of ``jvp``.

    Raises:
        StructureError, ShapeError: from ``derivative``, if the tangents do not fit the primals.

    >>> import numpy as np
    >>> from autojit import linearize
    >>> out, derivative = linearize(lambda x: x * x, np.array([1.0, 2.0]))
    >>> derivative(np.array([1.0, 0.0]))
    array([2., 0.])
    """
    problem = _trace(f, primals, "linearize")
    parts, residuals, out, resident, held = _linearized(problem)
    types = [leaf_type(leaf).type for leaf in problem.leaves]
    out_types = problem.traced.program.out_types

    @folded
    def derivative(*tangents: Any) -> Any:
        moving = _matching(tangents, problem.structure, types, "The tangents")
        results = list(map(_zeros, pytrees.flatten(out)[0], out_types))
        on_card = resident or any(map(is_on_card, moving))
        moved = apply(parts.linear, [*residuals, *moving], resident=on_card)
        for i, result in zip(parts.active, moved, strict=True):
            results[i] = result
        return pytrees.unflatten(problem.traced.structure, _failing(results, held))

    return out, derivative


@overload
def vjp(
    f: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...


@overload
def vjp(
    f: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[[Any], tuple[Any, ...]], A]: ...


@overload
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool) -> Any: ...


@folded
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``f``, and the transpose of its derivative as a function (reverse mode).

    Args:
        f: a function of arrays or trees of them.
        primals: the positional arguments of ``f``.
        has_aux: whether ``f`` returns ``(out, auxiliary)``.

    Returns:
        ``(out, pullback)``, or ``(out, pullback, auxiliary)`` with ``has_aux``.
        ``pullback(cotangent)`` takes a cotangent with the structure and shapes of ``out``. It
        returns a tuple with one cotangent for each argument, also if there is only one.

    Raises:
        StructureError, ShapeError: from ``pullback``, if the cotangent does not fit ``out``.

    >>> import numpy as np
    >>> from autojit import vjp
    >>> out, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> pullback(1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    check_flag(has_aux, "has_aux", "vjp")
    problem = _trace(f, primals, "vjp")
    parts, residuals, out, resident, held = _linearized(problem)
    structure, types = problem.traced.structure, problem.traced.program.out_types
    if has_aux:
        if not (isinstance(out, tuple) and len(out) == 2):
            raise StructureError("With has_aux=True, the function must return (out, auxiliary)")
        structure = structure.child(0)
        types = types[: structure.num_leaves]
    backward = cached_transform(transpose_program, parts.linear, parts.residuals)

    @folded
    def pullback(cotangent: Any) -> Any:
        seeds = _matching(cotangent, structure, types, "The cotangent")
        every = problem.traced.program.out_types
        given = [
            seeds[i] if i < len(seeds) else np.zeros(every[i].shape, every[i].dtype)
            for i in parts.active
        ]
        on_card = resident or any(map(is_on_card, seeds))
        results = apply(backward, [*residuals, *given], once=True, resident=on_card)
        return pytrees.unflatten(problem.structure, _failing(results, held))

    return (out[0], pullback, out[1]) if has_aux else (out, pullback)


def hvp(f: Callable[[X], Any]) -> Transformed[[X, X], Any]:
    """The product of the Hessian of a scalar function with a vector.

    Args:
        f: a function of one argument, an array or a tree of arrays, that returns a real scalar.

    Returns:
        A function of ``x`` and ``v``, which have the same structure, shapes and dtypes, as has
        its result. It costs a few gradients, and the Hessian is never formed: the product is the
        derivative of ``grad(f)`` along ``v`` (Pearlmutter, 1994).

    Raises:
        NonScalarGradientError: if the result of ``f`` is not a real scalar.
        StructureError, ShapeError: if ``v`` does not fit ``x``.

    >>> import numpy as np
    >>> from autojit import hvp
    >>> hvp(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """

    def product(x: X, v: X, /) -> Any:
        return jvp(grad(f), (x,), (v,))[1]

    taken = inspect.Signature([
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in ("x", "v")
    ])  # fmt: skip
    return Transformed(hvp, f, {}, product, lambda _: taken)


def stop_gradient(x: X) -> X:
    """The values of a tree unchanged, as constants whose derivative is 0.

    Args:
        x: an array, a number, or a tree of these.

    Returns:
        The same tree. Leaves that are not arrays are unchanged.

    Raises:
        StructureError: for a function. Apply it to the result: ``stop_gradient(f(x))``.

    >>> import numpy as np
    >>> from autojit import grad, stop_gradient
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    from autojit.protocols.lifting import as_value, tracer

    leaves, structure = pytrees.flatten(x)
    if callable(x) and leaves == [x]:
        raise StructureError(
            "stop_gradient takes values, not a function, whose derivative would stay. Pass it "
            "the result of the function:\n"
            "    autojit.stop_gradient(f(x))        # not: autojit.stop_gradient(f)(x)"
        )
    stopped = [
        tracer(stop_op(as_value(leaf))) if isinstance(leaf, Tracer) else leaf for leaf in leaves
    ]
    return pytrees.unflatten(structure, stopped)
