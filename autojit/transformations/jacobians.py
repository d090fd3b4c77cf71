"""``jacfwd``, ``jacrev`` and ``hessian``: dense derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from autojit.errors import IntegerGradientError
from autojit.ir.core.halves import kind_of
from autojit.ir.transforms.jacobian import jacobian
from autojit.session.tracebacks import folded
from autojit.session.transform_cache import cached_transform
from autojit.staging import pytrees
from autojit.staging.execute import apply
from autojit.staging.settings import TWICE, argument_numbers, need_function
from autojit.staging.trace_function import Traced, argument_type, leaf_type, trace_function
from autojit.staging.transformed import P, Transformed
from autojit.tracing.known import Inputs

from .gradients import Argnums, positions
from .kept_traces import kept_trace

Function = Callable[..., Any]


# NumPy's ufuncs are overloaded, and a ParamSpec would keep only their first signature.
@overload
def jacfwd(f: np.ufunc, argnums: Argnums = 0) -> Transformed[..., Any]: ...


@overload
def jacfwd(f: Callable[P, Any], argnums: Argnums = 0) -> Transformed[P, Any]: ...


@overload
def jacfwd(
    f: None = None, argnums: Argnums = 0
) -> Callable[[Callable[P, Any]], Transformed[P, Any]]: ...


@folded
def jacfwd(f: Function | None = None, argnums: Argnums = 0) -> Any:
    """The Jacobian in forward mode, for functions with fewer inputs than outputs.

    Args:
        f: a function of arrays or trees of them. Leave it out in ``@jacfwd(argnums=1)``.
        argnums: the positional argument to differentiate by, or a tuple of several.

    Returns:
        A function of the same arguments. For an output of shape ``m`` and an argument of shape
        ``n`` the Jacobian is an array of shape ``m + n``. Trees nest: the result has the
        structure of the output, with the structure of the argument in place of each leaf.

    Raises:
        IntegerGradientError: if an argument to differentiate by is not floating point.

    The derivatives along all unit vectors are computed at once, as a batch.

    >>> import numpy as np
    >>> from autojit import jacfwd
    >>> jacfwd(lambda x: x ** 2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if f is None:
        return functools.partial(jacfwd, argnums=argnums)
    return Transformed(jacfwd, f, {"argnums": argnums}, _dense(f, argnums, forward=True))


@overload
def jacrev(f: np.ufunc, argnums: Argnums = 0) -> Transformed[..., Any]: ...


@overload
def jacrev(f: Callable[P, Any], argnums: Argnums = 0) -> Transformed[P, Any]: ...


@overload
def jacrev(
    f: None = None, argnums: Argnums = 0
) -> Callable[[Callable[P, Any]], Transformed[P, Any]]: ...


@folded
def jacrev(f: Function | None = None, argnums: Argnums = 0) -> Any:
    """The Jacobian in reverse mode, for functions with fewer outputs than inputs.

    Arguments, result and errors are those of :func:`jacfwd`. For a function with one output it
    does the work of :func:`grad`.

    >>> import numpy as np
    >>> from autojit import jacrev
    >>> jacrev(np.sum)(np.array([1.0, 2.0]))
    array([1., 1.])
    """
    if f is None:
        return functools.partial(jacrev, argnums=argnums)
    return Transformed(jacrev, f, {"argnums": argnums}, _dense(f, argnums, forward=False))


@overload
def hessian(f: np.ufunc, argnums: Argnums = 0) -> Transformed[..., Any]: ...


@overload
def hessian(f: Callable[P, Any], argnums: Argnums = 0) -> Transformed[P, Any]: ...


@overload
def hessian(
    f: None = None, argnums: Argnums = 0
) -> Callable[[Callable[P, Any]], Transformed[P, Any]]: ...


@folded
def hessian(f: Function | None = None, argnums: Argnums = 0) -> Any:
    """The matrix of second derivatives, in forward over reverse mode.

    Args:
        f: a function of arrays or trees of them. Leave it out in ``@hessian(argnums=1)``.
        argnums: the positional argument to differentiate by, or a tuple of several.

    Returns:
        A function of the same arguments. For a scalar function of an array of shape ``n`` it
        returns an array of shape ``n + n``. A tree as the argument gives a tree of trees, and a
        tuple of ``argnums`` a tuple of tuples.

    Raises:
        IntegerGradientError: if an argument to differentiate by is not floating point.

    For the product of the Hessian with a vector, :func:`hvp` needs no matrix.

    >>> import numpy as np
    >>> from autojit import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    if f is None:
        return functools.partial(hessian, argnums=argnums)
    return jacfwd(jacrev(f, argnums), argnums)


def _dense(f: Function, argnums: Argnums, *, forward: bool) -> Function:
    name = "jacfwd" if forward else "jacrev"
    need_function(f, name, TWICE)
    argument_numbers(f, argnums, "argnums", name + "(f, argnums={})")

    def derived(*args: Any, **kwargs: Any) -> Any:
        numbers, single = positions(f, argnums, len(args))
        chosen = tuple(args[n] for n in numbers)
        leaves, structure = pytrees.flatten(chosen)
        _check(f, leaves, numbers)

        def call(g: Function, values: Sequence[Any]) -> Any:
            replaced = list(args)
            for n, tree in zip(numbers, pytrees.arguments(structure, values), strict=True):
                replaced[n] = tree
            return g(*replaced, **kwargs)

        types = tuple(map(argument_type, leaves))

        def trace(asked: list[bool]) -> Traced:
            return trace_function(
                f, types, call,
                lambda: [p for n in numbers for p in pytrees.paths(args[n], f"argument {n}")],
                Inputs(leaves, True, asked),
            )  # fmt: skip

        given = [x for n, x in enumerate(args) if n not in numbers], kwargs
        key = types, structure, tuple(numbers)
        traced = kept_trace(f, key, chosen, given, trace)
        wrt = tuple(range(len(leaves)))
        program = cached_transform(jacobian, traced.program, wrt, forward=forward)
        results = apply(program, leaves, once=True)
        n = len(leaves)
        rows = [
            pytrees.unflatten(structure, results[k * n : (k + 1) * n])
            for k in range(traced.results)
        ]
        return pytrees.unflatten(traced.structure, [row[0] for row in rows] if single else rows)

    return derived


def _check(f: Function, leaves: Sequence[Any], numbers: Sequence[int]) -> None:
    for leaf in leaves:
        pytrees.check_argument(leaf, f"an argument of {f}", "jacfwd(lambda x: f(x, setting))(x)")
        dtype = leaf_type(leaf).type.dtype
        if kind_of(dtype) != "f":
            raise IntegerGradientError(
                f"a Jacobian with respect to argument {numbers[0]}, which is {dtype.name}: only "
                "real floating-point arguments are covered. Convert it:\n    x.astype(float)"
            )
