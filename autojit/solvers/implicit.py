"""Solutions of equations, with the derivatives that follow from the equations.

``custom_root`` and ``custom_linear_solve`` are like those of ``jax.lax``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.arguments import check_arrays
from autojit.control_flow.control import while_loop
from autojit.errors import DtypeError, ShapeError, StructureError, with_place
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.program import Program, current_builder
from autojit.ir.regions.implicit import linear_solve as solve_op
from autojit.ir.regions.implicit import root as root_op
from autojit.protocols.lifting import tracer
from autojit.session.tracebacks import folded
from autojit.staging import pytrees
from autojit.staging.bodies import Body, check_function, merged, name_of, trace_body
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer, lift
from autojit.transformations.derivatives import linearize
from autojit.transformations.rules import Wanted, matched


class _Unknown:
    """The unknown of an equation: a tree of floating-point arrays."""

    def __init__(self, tree: Any, name: str, of: str) -> None:
        self.leaves, self.structure = pytrees.flatten(tree)
        self.paths = pytrees.paths(tree, name)
        self.of = of
        for leaf, path in zip(self.leaves, self.paths, strict=True):
            pytrees.check_argument(leaf, path, f"{of}, with settings in closures")
        # A Python number counts as an array: it keeps its dtype.
        self.types = [LeafType(leaf_type(leaf).type, None) for leaf in self.leaves]
        for (type, *_), path in zip(self.types, self.paths, strict=True):
            if not type.is_inexact:
                raise DtypeError(
                    with_place(
                        f"{path} of {of} is {type.dtype.name}, but an unknown must be floating "
                        "point. Write 1.0 for 1, or x.astype(float).",
                        user_source(),
                    )
                )

    def tree(self, leaves: Sequence[Any]) -> Any:
        return pytrees.unflatten(self.structure, leaves)

    def matched(self, tree: Any, what: str) -> list[Any]:
        """The leaves of a function's result, checked to have the unknown's structure and types."""
        wanted = Wanted(self.structure, [t.type for t in self.types], self.paths, what)
        return matched(tree, wanted, zeros=False)

    def values(self) -> list[Any]:
        return [lift(leaf, t.type.dtype) for leaf, t in zip(self.leaves, self.types, strict=True)]

    def body(
        self, f: Callable[..., Any], call: Callable[..., Any], name: str, *, repeat: int = 1
    ) -> Body:
        """Trace ``call(f, trees like the unknown…)``, which returns leaves."""
        n = len(self.leaves)

        def run(g: Callable[..., Any], leaves: Sequence[Any]) -> Any:
            return call(g, *(self.tree(leaves[i * n : (i + 1) * n]) for i in range(repeat)))

        return trace_body(f, self.types * repeat, run, f"{name} of {self.of}")


class _Auxiliary:
    """The auxiliary result of a solver."""

    def __init__(self, has_aux: bool) -> None:
        self.has_aux = has_aux
        self.structure: Any = None

    def split(self, result: Any, unknown: _Unknown, what: str) -> list[Any]:
        """The leaves of the solution, then those of the auxiliary result."""
        if not self.has_aux:
            return unknown.matched(result, f"The result of {what}")
        if not (isinstance(result, tuple) and len(result) == 2):
            raise StructureError(
                with_place(
                    f"With has_aux=True, {what} must return (solution, auxiliary); it returned "
                    f"{pytrees.result_in_words(result)}.",
                    user_source(),
                )
            )
        leaves, self.structure = pytrees.flatten(result[1])
        solution = unknown.matched(result[0], f"The result of {what}")
        return [*solution, *(pytrees.check_result(x, f"What {what} returns") for x in leaves)]

    def joined(self, results: Sequence[Any], unknown: _Unknown) -> Any:
        n = len(unknown.leaves)
        solution = unknown.tree([tracer(v) for v in results[:n]])
        if not self.has_aux:
            return solution
        return solution, pytrees.unflatten(self.structure, [tracer(v) for v in results[n:]])


@folded
def custom_root(
    f: Callable[..., Any],
    initial_guess: Any,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> Any:
    """The root of a function, with derivatives by everything that the function closes over.

    Args:
        f: a function from a tree of arrays to a tree like it; the root is where the result is 0.
        initial_guess: where the search begins; it has no influence on derivatives.
        solve: ``solve(f, initial_guess)`` finds the root. It may contain anything that can be
            traced, including loops; it is not differentiated.
        tangent_solve: ``tangent_solve(g, y)`` solves ``g(x) = y``, where the linear function g is f
            linearised at the root. Reverse mode transposes it, so it must consist of linear
            operations, or of ``custom_linear_solve``. For scalars: ``lambda g, y: y / g(1.0)``.
        has_aux: whether ``solve`` returns ``(root, auxiliary)``; the auxiliary result has no
            derivative.

    Returns:
        The root, or ``(root, auxiliary)``.

    Raises:
        StructureError, ShapeError, DtypeError: if a function's result is not like the guess.
        DerivativeError: in reverse mode, if ``tangent_solve`` is not linear.

    f(x, c) = 0 implies df/dx dx = -df/dc dc (the implicit function theorem).

    >>> from autojit import custom_root, grad
    >>> def root(a):                       # of x ** 2 = a; here, solve is a formula
    ...     f = lambda x: x * x - a
    ...     return custom_root(f, 1.0, lambda f, x: a ** 0.5, lambda g, y: y / g(1.0))
    >>> grad(root)(4.0)
    np.float64(0.25)
    """
    for number, function in enumerate((f, None, solve, tangent_solve)):
        if number != 1:
            check_function(function, f"argument {number}", "custom_root")
    if current_trace() is None:
        return solve(f, initial_guess)
    unknown = _Unknown(initial_guess, "initial_guess", "custom_root")
    auxiliary = _Auxiliary(has_aux)

    def tangent(g: Callable[..., Any], x: Any, y: Any) -> Any:
        derivative = linearize(f, x)[1]
        made = g(lambda v: derivative(v), y)
        return unknown.matched(made, "The result of tangent_solve of custom_root")

    bodies = [
        unknown.body(f, lambda g, x: unknown.matched(g(x), "The result of f of custom_root"), "f"),
        unknown.body(
            solve, lambda g, x: auxiliary.split(g(f, x), unknown, "solve of custom_root"), "solve"
        ),
        unknown.body(tangent_solve, tangent, "tangent_solve", repeat=2),
    ]
    (equation, solver, linear), captured = merged(bodies)
    results = current_builder().emit(
        root_op,
        [*captured, *unknown.values()],
        {"constants": len(captured), "f": equation, "solve": solver, "tangent_solve": linear},
    )
    return auxiliary.joined(results, unknown)


@folded
def custom_linear_solve(
    matvec: Callable[..., Any],
    b: Any,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution of ``matvec(x) = b``, with derivatives by b and by what ``matvec`` closes over.

    Args:
        matvec: a linear function from trees of arrays like b to trees like b.
        b: the right side.
        solve: ``solve(matvec, b)`` finds the solution. It may contain anything that can be traced,
            including loops; it is not differentiated.
        transpose_solve: ``transpose_solve(vecmat, b)`` does the same for the transposed function.
            Reverse mode needs it.
        symmetric: whether matvec is its own transpose; then ``solve`` is used for both.
        has_aux: whether the solvers return ``(solution, auxiliary)``; the auxiliary result has no
            derivative.

    Returns:
        The solution, or ``(solution, auxiliary)``.

    Raises:
        StructureError, ShapeError, DtypeError: if a function's result is not like b.
        DerivativeError: if ``matvec`` is not linear, or if reverse mode has no solver. A constant
            that ``matvec`` adds to its result is not noticed.

    >>> import numpy as np
    >>> from autojit import custom_linear_solve, grad
    >>> def solution(d, b):                # of a diagonal system
    ...     divide = lambda matvec, b: b / d
    ...     return np.sum(custom_linear_solve(lambda x: d * x, b, divide, symmetric=True))
    >>> grad(solution)(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([-3., -1.])
    """
    check_function(matvec, "argument 0", "custom_linear_solve")
    check_function(solve, "argument 2", "custom_linear_solve")
    if transpose_solve is not None:
        check_function(transpose_solve, "transpose_solve", "custom_linear_solve")
    check_arrays(b, "b", "custom_linear_solve")
    if current_trace() is None:
        return solve(matvec, b)
    unknown = _Unknown(b, "b", "custom_linear_solve")
    auxiliary = _Auxiliary(has_aux)
    what = "The result of matvec of custom_linear_solve"
    forward = unknown.body(matvec, lambda g, x: unknown.matched(g(x), what), "matvec")

    def solver(g: Callable[..., Any], a: Callable[..., Any], aux: _Auxiliary, name: str) -> Body:
        of = f"{name} of custom_linear_solve"
        return unknown.body(g, lambda g, y: aux.split(g(a, y), unknown, of), name)

    bodies = [forward, solver(solve, matvec, auxiliary, "solve")]
    if transpose_solve is not None or symmetric:
        vecmat = _transposed(forward, unknown)
        if transpose_solve is not None:
            bodies.append(solver(transpose_solve, vecmat, _Auxiliary(has_aux), "transpose_solve"))
        else:
            bodies.append(bodies[1])
    programs, captured = merged(bodies)
    n = len(unknown.leaves)
    back = programs[2] if len(programs) > 2 else None
    if back is not None:
        back = Program(back.inputs, back.ops, back.outputs[:n], name=back.name)
    results = current_builder().emit(
        solve_op,
        [*captured, *unknown.values()],
        {
            "constants": len(captured),
            "matvec": programs[0],
            "solve": programs[1],
            "transpose_solve": back,
        },
    )
    return auxiliary.joined(results, unknown)


def _transposed(body: Body, unknown: _Unknown) -> Callable[..., Any]:
    """The transpose of a linear function; raises DerivativeError if it is not linear."""
    program = body.program
    ordered = Program([*body.bound, *body.own], program.ops, program.outputs, name=program.name)
    backward = transpose(ordered, len(body.captured))

    def vecmat(y: Any) -> Any:
        leaves = unknown.matched(y, "The argument of the transposed matvec")
        constants = [lift(c) for c in program.captured]
        made = current_builder().inline(backward, [*constants, *(lift(x) for x in leaves)])
        return unknown.tree([tracer(v) for v in made])

    return vecmat


@folded
def fixed_point(
    f: Callable[..., Any],
    init: Any,
    *,
    tol: float | None = None,
    max_steps: int = 10_000,
) -> Any:
    """The x with ``x = f(x)``, by iteration, with derivatives by everything that ``f`` closes over.

    Args:
        f: a contraction from a tree of floating-point arrays to a tree like it.
        init: where the iteration begins; it has no influence on derivatives.
        tol: the iteration ends when no element changes by more than ``tol * (1 + m)``, where m is
            the largest modulus of an element. The default is the machine epsilon to the power 3/4,
            2e-12 for float64.
        max_steps: the most steps; if the iteration has not ended by then, the result is NaN.

    Returns:
        The fixed point, a tree like ``init``.

    Raises:
        StructureError, ShapeError, DtypeError: if the result of ``f`` is not like ``init``.

    Derivatives come from the equation, not from the steps (the implicit function theorem). They
    take an iteration of the same kind. In reverse mode, it is ``w = ct + J^T w``, where J is the
    derivative of f at the fixed point, until no element changes by more than ``tol`` times the
    largest. Memory does not grow with the number of steps. For a contraction by c, the error is
    about the last change divided by 1 - c.

    >>> import numpy as np
    >>> from autojit import fixed_point, grad
    >>> f = lambda a: fixed_point(lambda x: np.cos(a * x), 0.5)
    >>> round(float(f(1.0)), 9), round(float(grad(f)(1.0)), 9)
    (0.739085133, -0.297474342)
    """
    f = check_function(f, "argument 0", "fixed_point")
    unknown = _Unknown(init, "init", "fixed_point")
    if not isinstance(max_steps, int) or max_steps < 1:
        raise ShapeError(
            with_place(
                f"max_steps of fixed_point must be a positive integer, not {max_steps!r}",
                user_source(),
            )
        )
    epsilon = max((float(np.finfo(t.type.dtype).eps) for t in unknown.types), default=1.0)
    tol = epsilon**0.75 if tol is None else tol

    start = unknown.tree([_array(x, t) for x, t in zip(unknown.leaves, unknown.types, strict=True)])

    def step(x: Any) -> Any:
        return unknown.tree(unknown.matched(f(x), f"The result of {name_of(f)} of fixed_point"))

    def residual(x: Any) -> Any:
        return _mapped(lambda a, b: a - b, x, step(x))

    def search(_: Any, x: Any) -> Any:
        return _iterated(step, x, 1.0, tol, max_steps)

    def series(a: Callable[..., Any], b: Any) -> Any:
        """Solve a x = b by the iteration x = b + (1 - a) x (Neumann's series)."""
        more = lambda x: _mapped(lambda b, x, y: b + (x - y), b, x, a(x))  # noqa: E731
        return _iterated(more, b, 0.0, tol, max_steps)

    def tangent_solve(g: Callable[..., Any], y: Any) -> Any:
        return custom_linear_solve(g, y, series, series)

    return custom_root(residual, start, search, tangent_solve)


def _array(x: Any, kind: LeafType) -> Any:
    return x if is_tracer(x) else np.asarray(x, kind.type.dtype)


def _mapped(f: Callable[..., Any], *alike: Any) -> Any:
    """Apply a function to the leaves of trees of the same structure."""
    leaves = [pytrees.flatten(tree)[0] for tree in alike]
    structure = pytrees.flatten(alike[0])[1]
    return pytrees.unflatten(structure, [f(*row) for row in zip(*leaves, strict=True)])


def _largest(tree: Any) -> Any:
    moduli = [np.max(np.abs(leaf), initial=0.0) for leaf in pytrees.flatten(tree)[0]]
    return functools.reduce(np.maximum, moduli, np.float64(0.0))


def _iterated(
    step: Callable[..., Any], start: Any, floor: float, tol: float, max_steps: int
) -> Any:
    """Repeat ``x = step(x)`` until no element changes by more than ``tol`` times the size of x.

    The result is NaN if that does not happen within ``max_steps``.
    """

    def body(state: Any) -> Any:
        n, x, _, _ = state
        new = step(x)
        change = _largest(_mapped(lambda a, b: a - b, new, x))
        bound = tol * (floor + _largest(new))
        return n + 1, new, change > bound, change <= bound  # both are False for NaN

    _, x, _, found = while_loop(
        lambda state: np.logical_and(state[0] < max_steps, state[2]), body, (0, start, True, False)
    )
    return _mapped(lambda leaf: np.where(found, leaf, np.nan), x)
