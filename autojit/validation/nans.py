"""``explain_nan`` and ``debug_nans``: find the first operation that produces a NaN or infinity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from autojit.dispatch.compiled import CompiledFunction
from autojit.errors import AutojitError, NanError, StructureError
from autojit.ir.autodiff.linearize import vjp
from autojit.ir.core.program import DerivedSource, Program
from autojit.ir.core.types import Type
from autojit.staging.execute import settings
from autojit.tracing.hooks import hooks

from .nan_report import NanReport, better, frame_order, none_found, report_of
from .origins import Frame, first_bad, is_bad, origin_of


def explain_nan(f: Callable[..., Any], *args: Any, **kwargs: Any) -> NanReport:
    """Find the operation of ``f``, or of its gradient, that produces the first NaN or infinity.

    Args:
        f: a function of arrays or trees of arrays, or the result of ``jit``, ``grad``, ``vmap`` or
            another transformation.
        args, kwargs: the arguments of the call.

    Returns:
        A :class:`NanReport`, which prints itself and is falsy if there is none. For a function
        without derivatives, the value is examined first, then the gradient of the sum of its
        results with respect to all floating-point arguments. For other functions (``grad(f)``),
        their results are examined.

    The function is traced, and its program is interpreted op by op, which takes several times as
    long as a call. Numbers that do not affect a result are ignored: in ``np.where(x > 0, np.log(x),
    0)`` at 0, the logarithm is not reported.

    >>> import numpy as np
    >>> from autojit import explain_nan
    >>> report = explain_nan(lambda x: np.sum(np.sqrt(x)), np.array([4.0, 0.0]))
    >>> report.derivative_of, report.element, float(report.value)
    ('sqrt', (1,), 0.0)
    >>> bool(explain_nan(np.sin, 1.0))
    False
    """
    if not callable(f):
        raise StructureError(
            f"explain_nan takes a function and the arguments of a call, not {f!r:.60}:\n"
            "    autojit.explain_nan(f, x)            # not: autojit.explain_nan(f(x))"
        )
    compiled = f if isinstance(f, CompiledFunction) else CompiledFunction(f, (), (), None)
    found, arrays = compiled.traced(args, kwargs)
    program, paths = found.traced.program, found.signature.paths
    return explained(program, arrays, paths)


def explained(program: Program, arrays: Sequence[Any], paths: Sequence[str]) -> NanReport:
    """The report of a program for the arrays of its inputs, the first of which have these paths."""
    if any(_derived(program)):
        results = [f"result {i}" for i in range(len(program.outputs))]
        names = results if len(results) > 1 else ["the result"]
        return reported(program, arrays, paths, names) or none_found("in the result")
    values = [f"value {i}" for i in range(len(program.outputs))]
    values = values if len(values) > 1 else ["the value"]
    report = reported(program, arrays, paths, values)
    if report is not None:
        return report
    return _of_gradient(program, arrays, paths, values)


def _of_gradient(
    program: Program, arrays: Sequence[Any], paths: Sequence[str], values: Sequence[str]
) -> NanReport:
    """The report of the gradient of the sum of the results with respect to the inputs."""
    given = len(program.inputs) - len(program.captured)
    wrt = [i for i in range(given) if program.inputs[i].type.is_inexact]
    if not wrt or not any(t.is_inexact for t in program.out_types):
        return none_found(
            "in the value", "There is no gradient: no argument or no result is floating point."
        )
    try:
        derived = vjp(program, wrt)
    except AutojitError as error:
        first = str(error).splitlines()[0]
        return none_found("in the value", f"The gradient was not examined: {first}")
    ones = [np.ones(t.shape, t.dtype) for t in program.out_types]
    inputs = [*arrays[:given], *ones, *arrays[given:]]
    seeds = ["the cotangent of the result"] * len(ones)
    names = [*values, *(f"the gradient by {paths[i]}" for i in wrt)]
    report = reported(derived, inputs, [*paths[:given], *seeds], names)
    return report or none_found("in the value or in the gradient")


def reported(
    program: Program, arrays: Sequence[Any], paths: Sequence[str], names: Sequence[str]
) -> NanReport | None:
    """The report of a program's results under the given names; None if all are finite."""
    frame = Frame(program, arrays)
    found: tuple[NanReport, Any] | None = None
    for value, name in zip(program.outputs, names, strict=True):
        element = first_bad(frame.values[value])
        if element is not None:
            origin = origin_of(frame, value, element)
            report = report_of(origin, name, paths)
            found = better(found, (report, frame_order(frame, origin.place)))
    return None if found is None else found[0]


def _derived(program: Program) -> Iterator[bool]:
    """For each operation in turn, whether it is part of a derivative."""
    for op in program.ops:
        yield isinstance(op.source, DerivedSource)
        for inner in op.programs:
            yield from _derived(inner)


# -- debug_nans -----------------------------------------------------------------------------


class debug_nans:
    """Raise if a call produces a NaN or an infinity that its arguments do not contain.

    Args:
        active: whether to check from now on, on all threads; as a context, until the block ends.

    The results of each call of a compiled or transformed function are checked. If they contain such
    a number, the interpreter replays the call on the traced program, and
    :class:`autojit.errors.NanError` names the line, the operation and its operands (see
    :func:`explain_nan`). Infinities that the function writes itself (``np.inf``) are ignored. Calls
    take longer while the check is on, and no longer while it is off.

    Raises:
        NanError: raised by the call, with the report as its ``report``.

    >>> import numpy as np
    >>> import autojit
    >>> with autojit.debug_nans():  # doctest: +ELLIPSIS
    ...     autojit.jit(np.log)(-1.0)
    Traceback (most recent call last):
    autojit.errors.NanError: the result: log makes the first NaN.
    ...
    """

    def __init__(self, active: bool = True) -> None:
        self._change = 1 if active else -max(settings.checks_results, 0)
        settings.add("checks_results", self._change)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        settings.add("checks_results", -self._change)


def check_results(
    program: Program, arrays: Sequence[Any], results: Sequence[Any], paths: Sequence[str]
) -> None:
    """Raise NanError if results of a program contain bad numbers that its inputs do not."""
    if not any(np.any(is_bad(_on_host(r))) for r in results):
        return
    names = [f"result {i}" for i in range(len(results))]
    names = names if len(names) > 1 else ["the result"]
    report = reported(program, [_on_host(a) for a in arrays], paths, names)
    if report is None:
        _only_compiled(program, results)
    if report.argument is None:
        raise NanError(report)


def _on_host(array: Any) -> Any:
    return array.copy_to_host() if hasattr(array, "copy_to_host") else array


def _only_compiled(program: Program, results: Sequence[Any]) -> NoReturn:
    """Raise for bad results that the interpreter does not reproduce."""
    where = next(i for i, r in enumerate(results) if np.any(is_bad(_on_host(r))))
    types: tuple[Type, ...] = program.out_types
    raise NanError(
        none_found(
            "in what the interpreter computes",
            f"Compiled code produced one, in result {where} of {program.name} ({types[where]}), "
            "but the interpreter does not. Sums in another order may overflow, or the code is "
            "wrong. To find out, run it again with\n"
            "    AUTOJIT_VERIFY=points",
        )
    )


hooks.check_results = check_results
