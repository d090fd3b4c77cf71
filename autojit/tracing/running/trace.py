"""Tracing a function into a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit.errors import TracingError
from autojit.ir.core.program import Program, Value
from autojit.ir.core.types import Type
from autojit.ir.ops.update import Updating
from autojit.session.progress import stage
from autojit.session.transform_cache import cached_transform
from autojit.tracing import recording
from autojit.tracing.context import CapturedView, Paths, Trace, new_trace
from autojit.tracing.created_arrays import bare
from autojit.tracing.hooks import hooks
from autojit.tracing.known import Inputs, Known
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

from .arguments import Argument, Input
from .caught import RaisedAgain
from .depth import Deeper
from .leaks import check_nothing_left
from .raised import with_values


@contextmanager
def _numpys_errors_taken_off() -> Iterator[None]:
    """Raise our own error where NumPy replaced it by one of its own (in ``a[0] = x``, for
    example)."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error.__cause__, TracingError):
            raise error.__cause__ from None
        raise


def trace_flat(
    function: Callable[..., Sequence[Any]],
    types: Sequence[Type],
    weak: Sequence[type | None],
    kinds: Sequence[frozenset[type]],
    name: str,
    paths: Paths | None = None,
    given: Inputs | None = None,
) -> Program:
    """Trace ``function(*tracers) -> flat results`` into a program.

    ``weak`` has the Python types of inputs that are Python numbers, and ``kinds`` the types that
    the user may see, if these do not follow: ``np.ndarray`` for an array without axes, or several.
    With ``paths`` the inputs are the caller's arrays, which the function may not change; otherwise
    they are its own. With ``given`` the trace serves only these inputs, and knows its values. The
    program captures arrays and tracers of outer traces; their inputs come last.
    """
    hooks.load()
    with new_trace() as trace, stage("tracing", name, lambda: len(trace.builder.ops)):
        trace.paths = paths
        known, classes = sys.getrefcount(trace), hooks.seen_classes()
        inputs = [Value(t) for t in types]
        if given is not None:
            trace.builder.known = _known(trace, inputs, given)
        try:
            with RaisedAgain(name), _numpys_errors_taken_off(), Deeper():
                outputs = _outputs(function, inputs, weak, kinds, trace)
            if trace.elsewhere:
                raise trace.elsewhere[0]
        except BaseException as error:
            if trace.builder.known is not None:
                with_values(error)
            trace.undo()
            raise
        trace.let_go()
        hooks.forget_classes(classes)
        if sys.getrefcount(trace) > known:
            check_nothing_left(trace, known, name)
        captured = [c.tracer if isinstance(c, CapturedView) else c for c in trace.captured]
        program = trace.builder.finish(
            [*inputs, *trace.captured_inputs], outputs, name=name, captured=captured
        )
        program.devices = tuple(trace.devices.values())
        if len(trace.builder.irregular) == 1:  # several may repeat each other
            program.irregular = trace.builder.irregular[0]
    return _with_parts_resolved(program)


def _known(trace: Trace, inputs: Sequence[Value], given: Inputs) -> Known:
    leaves = [bare(leaf) for leaf in given.leaves]
    sources = [CapturedView(leaf) if isinstance(leaf, Tracer) else leaf for leaf in leaves]
    return Known(trace, inputs, sources, given)


def _outputs(
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[Value],
    weak: Sequence[type | None],
    kinds: Sequence[frozenset[type]],
    trace: Trace,
) -> list[Value]:
    """The values of the results.  When it returns, nothing of ours holds a tracer any more."""
    pairs = zip(inputs, weak, strict=True)
    tracers: list[Tracer]
    if trace.paths is None:
        tracers = [Input(v, trace, w) for v, w in pairs]
    else:
        tracers = [Argument(v, trace, w, number) for number, (v, w) in enumerate(pairs)]
    for x, found in zip(tracers, kinds, strict=True):
        x.boxed = np.ndarray in found
        trace.note_types(x.own, found)
    outputs = [lift(result) for result in function(*tracers)]
    if outputs:
        hooks.check_unread(outputs)
    if trace.checks:
        checked = hooks.with_checks([Tracer(v, trace) for v in outputs], trace.checks)
        outputs = [lift(result) for result in checked]
    return outputs


def _with_parts_resolved(program: Program) -> Program:
    if not program.has(Updating):
        return program
    from autojit.ir.passes import resolve_parts

    return cached_transform(resolve_parts, program)


recording.beginnings.add(trace_flat.__code__)
