"""``grad`` and ``value_and_grad``."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, overload

from autojit.arguments import check_flag
from autojit.errors import (
    IntegerGradientError,
    MissingDtypeError,
    NonScalarGradientError,
    SettingError,
    StructureError,
)
from autojit.ir.core.halves import kind_of
from autojit.ir.core.types import Type
from autojit.ir.transforms.gradient import gradient
from autojit.session.tracebacks import folded
from autojit.session.transform_cache import cached_transform
from autojit.staging import pytrees
from autojit.staging.execute import apply
from autojit.staging.settings import TWICE, argument_numbers, need_function, parameters
from autojit.staging.signatures import gradient_by
from autojit.staging.trace_function import (
    Traced,
    argument_type,
    check_dtypes,
    leaf_type,
    trace_function,
)
from autojit.staging.transformed import P, R, Transformed
from autojit.tracing.known import Inputs

from .kept_traces import kept_trace

Argnums = int | Sequence[int]

_OF_COMPLEX = (
    "If it is a holomorphic function of complex arguments, pass holomorphic=True; otherwise take "
    "its real part:\n"
    "    grad(f, holomorphic=True)(z)\n"
    "    grad(lambda z: f(z).real)(z)"
)
_OF_STEPS = (
    "Counts, comparisons and positions (argmax) jump and have no derivative. Differentiate the "
    "value instead:\n"
    "    grad(lambda x: np.max(x))(x)       # not: grad(lambda x: np.argmax(x))(x)"
)


@overload
def grad(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Transformed[P, Any]: ...


@overload
def grad(
    f: None = None,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[[Callable[P, Any]], Transformed[P, Any]]: ...


@folded
def grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """The gradient of a scalar function.

    Args:
        f: a function of arrays (or trees of arrays) that returns a real scalar; with ``has_aux``, a
            pair of the scalar and anything else. Omitted in ``@grad(argnums=1)``.
        argnums: the positional argument, or a tuple of them, to differentiate by.
        has_aux: whether ``f`` returns ``(value, auxiliary)``; then the result is
            ``(gradient, auxiliary)``.
        holomorphic: whether ``f`` is a holomorphic function of complex arguments.

    Returns:
        A function of the same arguments. Its result has the structure, shapes and dtypes
        of the argument, or is a tuple of these for a tuple of ``argnums``. For a real
        function of a complex argument z = x + iy it is df/dx - i df/dy, as in JAX.

    Raises:
        NonScalarGradientError: if the result of ``f`` is not a real scalar.
        IntegerGradientError: if an argument to differentiate by is not floating point.

    >>> import numpy as np
    >>> from autojit import grad
    >>> grad(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if f is None:
        return functools.partial(grad, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic)
    check_flag(has_aux, "has_aux", "grad")
    check_flag(holomorphic, "holomorphic", "grad")
    derived = _derive(f, argnums, has_aux, holomorphic, keep_value=False)
    settings = {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic}
    reading = gradient_by(argnums, with_value=False, has_aux=has_aux)
    return Transformed(grad, f, settings, derived, reading)


@overload
def value_and_grad(
    f: Callable[P, R],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
) -> Transformed[P, tuple[R, Any]]: ...


@overload
def value_and_grad(
    f: None = None,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
) -> Callable[[Callable[P, R]], Transformed[P, tuple[R, Any]]]: ...


@folded
def value_and_grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
) -> Any:
    """The value of a scalar function together with its gradient.

    Arguments and errors are those of :func:`grad`. The result is ``(value, gradient)``, or
    ``((value, auxiliary), gradient)`` with ``has_aux``. SciPy's optimisers take such functions:
    ``scipy.optimize.minimize(jit(value_and_grad(f)), x0, jac=True)``.

    >>> import numpy as np
    >>> from autojit import value_and_grad
    >>> value_and_grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    if f is None:
        return functools.partial(value_and_grad, argnums=argnums, has_aux=has_aux)
    check_flag(has_aux, "has_aux", "value_and_grad")
    derived = _derive(f, argnums, has_aux, False, keep_value=True)
    settings = {"argnums": argnums, "has_aux": has_aux}
    reading = gradient_by(argnums, with_value=True, has_aux=has_aux)
    return Transformed(value_and_grad, f, settings, derived, reading)


def _derive(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool, keep_value: bool
) -> Callable[..., Any]:
    need_function(f, "value_and_grad" if keep_value else "grad", TWICE)

    argument_numbers(f, argnums, "argnums", "grad(f, argnums={})")

    def derived(*args: Any, **kwargs: Any) -> Any:
        problem = _Problem(f, args, kwargs, argnums, holomorphic)
        value, aux, gradients = problem.solve(has_aux, keep_value)
        if keep_value:
            return ((value, aux) if has_aux else value), gradients
        return (gradients, aux) if has_aux else gradients

    return derived


def positions(f: Callable[..., Any], argnums: Argnums, given: int) -> tuple[list[int], bool]:
    """The positions in ``argnums``, for a number of given arguments, and whether it is a single
    one.
    """
    single = not isinstance(argnums, (tuple, list))
    numbers: Any = [argnums] if single else argnums
    for number in numbers:
        if not -given <= number < given:
            raise SettingError(
                f"argnums={number}, but {_name(f)} was called with {given} positional "
                f"argument{'' if given == 1 else 's'}. "
                + (
                    f"They are counted from 0: choose from 0 to {given - 1}.\n"
                    f"    grad(f, argnums={given - 1})"
                    if given
                    else "Pass the arguments to differentiate by position:\n"
                    "    grad(f)(x)                         # not: grad(f)(x=x)"
                )
            )
    return [number % given for number in numbers], single


class _Problem:
    """One call of a gradient function: the leaves differentiated by, and the other arguments."""

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Argnums,
        holomorphic: bool,
    ) -> None:
        self.f = f
        self.args = args
        self.kwargs = kwargs
        self.holomorphic = holomorphic
        self.numbers, self.single = positions(f, argnums, len(args))
        self._check_given()
        self.leaves: list[Any] = []
        self.structures: list[Any] = []
        for number in self.numbers:
            leaves, structure = pytrees.flatten(args[number])
            for position, leaf in enumerate(leaves):
                if not self._is_fine(leaf):
                    paths = pytrees.paths(args[number], f"argument {number}")
                    self._refuse(leaf, paths[position])
            self.leaves.extend(leaves)
            self.structures.append(structure)

    @staticmethod
    def _is_fine(leaf: Any) -> bool:
        if not pytrees.is_array(leaf):
            return False
        try:
            return leaf_type(leaf).type.is_inexact
        except MissingDtypeError:
            return False

    def _refuse(self, leaf: Any, path: str) -> NoReturn:
        found = re.match(r"argument (\d+)", path)
        fine = [i for i, x in enumerate(self.args) if found and i != int(found[1])]
        fine = [i for i in fine if self._is_fine(self.args[i])]
        by = f"grad(f, argnums={fine[0]})" if fine else "grad(lambda x: f(x, setting))(x)"
        pytrees.check_argument(leaf, path, by)
        check_dtypes([leaf], [path])
        raise IntegerGradientError(
            f"grad of {_name(self.f)} with respect to {path}, which is "
            f"{leaf_type(leaf).type.dtype.name}: only "
            f"floating-point arguments have gradients. {self._others(leaf, path)}"
        )

    def _others(self, leaf: Any, path: str) -> str:
        """The fix for an argument, or a part of one, that is not a float."""
        found = re.match(r"argument (\d+)(.*)", path)
        assert found is not None
        number, inside = int(found[1]), found[2]
        known = parameters(self.f)
        names = known.positional if known else []
        names = [*names, *(f"x{i}" for i in range(len(names), len(self.args)))]
        name = names[number]
        if inside:
            part = name + inside
            return f"Convert it, or keep it apart from these:\n    {part} = float({part})"
        plain = type(leaf) in (bool, int)
        given = list(names[: len(self.args)])
        given[number] = repr(float(leaf)) if plain else f"{name}.astype(float)"
        by = f"grad(f, argnums={number})" if number else "grad(f)"
        said = f"    {by}({', '.join(given)})".ljust(39)
        wrong = f"# not: {leaf!r}" if plain else "# or literals such as 3.0, not 3"
        fine = [i for i, x in enumerate(self.args) if i != number and self._is_fine(x)]
        words = f"Convert it:\n{said}{wrong}"
        return f"{words}\nor choose another:\n    grad(f, argnums={fine[0]})" if fine else words

    def _call(self, f: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        arguments = list(self.args)
        start = 0
        for number, structure in zip(self.numbers, self.structures, strict=True):
            stop = start + structure.num_leaves
            arguments[number] = pytrees.arguments(structure, leaves[start:stop])
            start = stop
        return f(*arguments, **self.kwargs)

    def _paths(self) -> list[str]:
        """How the user writes each leaf."""
        named = [(number, self.args[number]) for number in self.numbers]
        return [p for number, x in named for p in pytrees.paths(x, f"argument {number}")]

    def solve(self, has_aux: bool, keep_value: bool) -> tuple[Any, Any, Any]:
        """(value, auxiliary, gradients)."""
        types = [argument_type(leaf) for leaf in self.leaves]

        def call(f: Callable[..., Any], leaves: Sequence[Any]) -> Any:
            result = self._call(f, leaves)
            if has_aux and not (isinstance(result, tuple) and len(result) == 2):
                raise StructureError(
                    f"With has_aux=True, {_name(f)} must return a tuple (value, auxiliary); it "
                    f"returned {pytrees.result_in_words(result)}. Return both, or leave has_aux "
                    "out:\n"
                    "    return loss, extra                 # not: return loss"
                )
            return result

        def trace(asked: list[bool]) -> Traced:
            given = Inputs(self.leaves, True, asked)
            return trace_function(self.f, types, call, self._paths, given)

        moving = [self.args[number] for number in self.numbers]
        given = [x for number, x in enumerate(self.args) if number not in self.numbers], self.kwargs
        key = tuple(types), tuple(self.structures), tuple(self.numbers), has_aux
        traced = kept_trace(self.f, key, moving, given, trace)
        self._check_scalar(traced.structure, traced.program.out_types, has_aux)
        wrt, kept = tuple(range(len(types))), keep_value or has_aux
        program = cached_transform(gradient, traced.program, wrt, keep_outputs=kept)
        results = apply(program, self.leaves, once=True)
        split = len(results) - len(self.leaves)
        value, aux = None, None
        if has_aux:
            value, aux = pytrees.unflatten(traced.structure, results[:split])
        elif keep_value:
            value = pytrees.unflatten(traced.structure, results[:1])
        return value, aux, self._gradient_trees(results[split:])

    def _gradient_trees(self, gradients: Sequence[Any]) -> Any:
        result = []
        start = 0
        for structure in self.structures:
            stop = start + structure.num_leaves
            result.append(pytrees.unflatten(structure, gradients[start:stop]))
            start = stop
        return result[0] if self.single else tuple(result)

    def _check_given(self) -> None:
        """Raise where there is nothing to differentiate by."""
        if self.numbers and all(self.args[n] is None for n in self.numbers):
            raise StructureError(
                f"argument {self.numbers[0]} is None, but grad differentiates with respect to "
                "it. Pass numbers, or choose another argument with argnums:\n"
                "    grad(f)(np.array([1.0, 2.0]))"
            )

    def _check_scalar(self, structure: Any, types: Sequence[Type], has_aux: bool) -> None:
        name = _name(self.f)
        first = structure.child(0) if has_aux else structure
        if not first.num_leaves:
            raise NonScalarGradientError(
                f"grad needs a scalar, but {name} returns nothing. Is its `return` missing?\n"
                "    return loss                        # its last line"
            )
        if not pytrees.is_one_array(first):
            if first.num_leaves == 1:
                kind = getattr(first.type, "__name__", "container")
                raise NonScalarGradientError(
                    f"grad needs a scalar, but {name} returns it in a {kind}. Return it alone:\n"
                    "    return loss                        # not: return [loss]"
                )
            raise NonScalarGradientError(
                f"grad needs a scalar, but {name} returns {first.num_leaves} arrays. If it "
                "returns a tuple of the value and something else:\n"
                "    grad(f, has_aux=True)"
            )
        result = types[0]
        if result.shape:
            raise NonScalarGradientError(
                f"grad needs a scalar, but {name} returns an array of type {result}. Sum it, or "
                "compute the Jacobian:\n"
                "    grad(lambda x: f(x).sum())(x)\n"
                "    jacrev(f)(x)"
            )
        allowed = "fc" if self.holomorphic else "f"
        if kind_of(result.dtype) not in allowed:
            raise NonScalarGradientError(
                f"grad needs a real floating-point scalar, but {name} returns {result}. "
                + (_OF_COMPLEX if result.dtype.kind == "c" else _OF_STEPS)
            )


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)
