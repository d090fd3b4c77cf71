"""``jit(f, check="first")``: the derivatives of a compiled function, checked at its first call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.dispatch.compiled import CompiledFunction
from autojit.errors import (
    AutojitError,
    DerivativeCheckError,
    DerivativeError,
    IntegerGradientError,
    UncheckedGradientWarning,
    warn_at,
)
from autojit.ir.autodiff.linearize import jvp, vjp
from autojit.ir.core.program import Program
from autojit.ir.tools.interpreter import interpret
from autojit.staging.execute import apply
from autojit.staging.transformed import Transformed
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.transformations.gradients import grad, value_and_grad
from autojit.transformations.jacobians import jacfwd, jacrev

from .comparisons import MODES, Arrays, Comparison, Map, Probe, Settings
from .rules import directions, wide_runner, wrong_rule

#: Transformations that take derivatives by ``argnums``; the function itself is checked instead.
_DERIVATIVES = (grad, value_and_grad, jacfwd, jacrev)


class _Checked(NamedTuple):
    """The function whose derivative is checked."""

    program: Program
    arrays: list[Any]
    paths: Sequence[str]
    wrt: tuple[int, ...]
    #: The gradient that the compiled call returned, if it returned one.
    gradient: Arrays | None


def check_first(
    compiled: CompiledFunction[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    results: Sequence[Any],
) -> None:
    """Raise DerivativeCheckError unless the derivatives of a compiled function are right.

    They are checked at the arguments of a call that had the given results.
    """
    given = _checked(compiled, args, kwargs, results)
    name = getattr(compiled, "__name__", "the function")
    if not given.wrt or not any(t.is_inexact for t in given.program.out_types):
        raise IntegerGradientError(
            f'check="first" compares derivatives, but {name} has none, because no argument or no '
            "result is floating point. Leave it out:\n"
            "    jit(f)"
        )
    doubtful = [c for c in _comparisons(given) if not c.agrees]
    if doubtful and all(c.at_kink or not np.isfinite(c.numeric) for c in doubtful):
        why = (
            "are at a kink (of abs, max, where)" if doubtful[0].at_kink else "give no finite value"
        )
        warn_at(
            user_source(),
            UncheckedGradientWarning,
            f'{name} was not checked by check="first": the arguments of the first call {why}.',
        )
    elif doubtful:
        found = next(c for c in doubtful if not c.at_kink)
        verdict = diagnosed(given.program, given.arrays, found)
        if verdict is not None:
            raise DerivativeCheckError(f"{found.report()}\n{verdict}")


def _checked(
    compiled: CompiledFunction[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    results: Sequence[Any],
) -> _Checked:
    function, argnums, aux, gradient = compiled.function, None, False, None
    while isinstance(function, Transformed) and function.made_of[0] in _DERIVATIVES:
        transform, function, settings = function.made_of
        argnums = settings["argnums"]
        aux = bool(settings.get("has_aux"))
        plain = transform in (grad, value_and_grad) and not settings.get("holomorphic")
        gradient = transform if plain and gradient is None else _checked
    if argnums is None:
        found, arrays = compiled.traced(args, kwargs)
        program, paths = found.traced.program, found.signature.paths
        return _Checked(program, arrays, paths, _floating(program, len(paths)), None)
    static = compiled.static
    inner: CompiledFunction[..., Any] = CompiledFunction(function, static.given, (), None)
    inner.static.names = set(static.names)
    found, arrays = inner.traced(args, kwargs)
    program, paths = found.traced.program, found.signature.paths
    wrt = _places(paths, argnums, len(args), program)
    if aux:
        program = program.with_body(program.ops, program.outputs[:1])
    made = None
    if gradient in (grad, value_and_grad):
        leaves = [np.asarray(r) for r in results]
        made = leaves[: len(wrt)] if gradient is grad else leaves[-len(wrt) :]
    return _Checked(program, arrays, paths, wrt, made)


def _floating(program: Program, given: int) -> tuple[int, ...]:
    return tuple(i for i in range(given) if program.inputs[i].type.is_inexact)


def _places(
    paths: Sequence[str], argnums: Any, positional: int, program: Program
) -> tuple[int, ...]:
    """The inputs that ``argnums`` selects, in its order."""
    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    found = []
    for number in numbers:
        root = f"argument {number % positional}"
        found += [
            i for i, p in enumerate(paths) if p == root or p.startswith((f"{root}[", f"{root}."))
        ]
    return tuple(i for i in found if program.inputs[i].type.is_inexact)


def _comparisons(given: _Checked) -> list[Comparison]:
    """Compare both modes along one direction; a mode that the function lacks is skipped."""
    program = given.program

    def evaluate(arrays: Arrays) -> Arrays:
        return [np.asarray(r) for r in apply(program, arrays)]

    point = given.arrays[: len(given.arrays) - len(program.captured)]
    wide = wide_runner(program)
    base = Map(evaluate, program, point, given.paths, only=given.wrt, wide=wide)
    settings = Settings.of(base, None, None, None)
    tangents, cotangents = directions(base, np.random.default_rng(0))
    made = []
    for mode in MODES:
        pulled = given.gradient if mode == "rev" else None
        try:
            derived = base.derived(mode, tangents, cotangents)
            probe = Probe(base, derived, mode, tangents, cotangents, settings, pulled)
            made.append(probe.compare())
        except DerivativeError:
            continue
    return made


def diagnosed(program: Program, arrays: Sequence[Any], found: Comparison) -> str | None:
    """The cause of a wrong derivative, such as an operation's rule; None if it is rounding."""
    modes = [
        m for m, word in MODES.items() if word in found.name.partition("(")[2].split(" over ")[0]
    ]
    fault = wrong_rule(program, arrays, np.random.default_rng(1), modes or list(MODES))
    if fault is not None:
        return fault.report()
    wrt = found.base.wrt if found.base is not None else []
    make = jvp if "fwd" in modes else vjp
    derived = make(program, wrt)
    extra = [np.ones(t.shape, t.dtype) for t in _extra(program, wrt, modes)]
    split = len(arrays) - len(program.captured)
    inputs = [*arrays[:split], *extra, *arrays[split:]]
    wanted = interpret(derived, inputs)
    count = len(inputs) - len(program.captured)
    got = apply(derived, inputs[:count])
    if not _near(wanted, got, found):
        return (
            "The compiled code is wrong: the interpreter computes a different derivative from "
            "the same program. To find the pass, run it again with\n"
            "    AUTOJIT_VERIFY=points"
        )
    if found.base is not None and found.base.wide is not None:
        return None  # single precision: rules and code are right
    return (
        "Each operation's derivative is right, and the compiled code agrees with the "
        "interpreter. The function may be too steep here for finite differences, or its trace "
        "may differ from the function"
    )


def _extra(program: Program, wrt: Sequence[int], modes: Sequence[str]) -> list[Any]:
    return [program.inputs[i].type for i in wrt] if "fwd" in modes else list(program.out_types)


def _near(wanted: Sequence[Any], got: Sequence[Any], found: Comparison) -> bool:
    return all(
        np.allclose(w, g, rtol=1e-3, atol=found.tolerance, equal_nan=True)
        for w, g in zip(wanted, got, strict=True)
    )


def raise_wrong(found: Comparison) -> None:
    """Raise for a failed comparison of ``check_grads``, and name the operation at fault."""
    verdict = None
    if not np.isfinite(found.numeric):
        verdict = (
            "The function is not finite at this point; autojit.explain_nan(f, ...) finds the cause."
        )
    elif found.base is not None:
        base = found.base
        inputs = [*base.point, *base.program.captured]
        try:
            verdict = diagnosed(base.program, inputs, found)
        except AutojitError as error:
            verdict = f"The operation at fault was not found: {error}"
    raise DerivativeCheckError(found.report() + (f"\n{verdict}" if verdict else ""))


hooks.check_gradients = check_first
