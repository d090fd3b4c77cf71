"""User-defined derivatives: ``custom_jvp`` and ``custom_vjp``, as in JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from autojit.errors import StructureError, with_place
from autojit.ir.autodiff.partition import depends
from autojit.ir.core.program import Program, current_builder
from autojit.ir.ops.bodies import spread
from autojit.ir.regions.custom import custom_jvp as jvp_op
from autojit.ir.regions.custom import custom_vjp as vjp_op
from autojit.staging import pytrees
from autojit.staging.bodies import Body, check_function, merged, name_of, trace_body
from autojit.staging.pickling import global_name
from autojit.staging.trace_function import LeafType, leaf_type
from autojit.staging.transformed import Binding, P, R
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer, lift

from .rules import (
    Arguments,
    arguments_of,
    cotangents_of,
    matched,
    or_zeros,
    positional,
    rules_for,
    tracers_of,
    wanted_of,
)

Rule = Callable[..., Any]


class _WithRules(Binding[P, R]):
    """A function that is traced as one call, with rules for its derivatives.

    Of a method the object is argument 0; ``nondiff_argnums=(0,)`` makes it a setting.
    """

    kind: str = ""
    op: Any = None
    #: What the op calls the function and its rules.
    programs: tuple[str, ...] = ()
    missing: str = ""

    function: Callable[P, R]
    nondiff_argnums: tuple[int, ...]

    if not TYPE_CHECKING:  # type checkers read the signatures of __init__ below

        def __new__(cls, f=None, nondiff_argnums=()):
            if f is None:
                return functools.partial(cls, nondiff_argnums=nondiff_argnums)
            return super().__new__(cls)

    def __init__(self, f: Any = None, nondiff_argnums: int | Sequence[int] = ()) -> None:
        check_function(f, "argument 0", self.kind)
        functools.update_wrapper(self, f)
        self.function = f
        numbers = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else nondiff_argnums
        self.nondiff_argnums = tuple(numbers)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name if its module has it under one, else with the function and its rules."""
        return global_name(self) or super().__reduce_ex__(protocol)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.function, self.nondiff_argnums

    def __repr__(self) -> str:
        return f"<{self.kind} {name_of(self.function)}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        name = name_of(self.function)
        if not self._defined():
            raise StructureError(
                with_place(
                    f"{name} is a {self.kind} without a rule. Define it before the first call:\n"
                    f"    {name}.{self.missing}",
                    user_source(),
                )
            )
        function: Callable[..., R] = self.function
        given = positional(function, args, kwargs)
        if current_trace() is None:
            return function(*given)
        arguments = arguments_of(given, self.nondiff_argnums, name, self.kind)
        paths = arguments.paths
        body = trace_body(self.function, arguments.types, arguments.call, name, paths=lambda: paths)
        rules = rules_for(self, arguments, body, lambda: self._rules(arguments, body))
        return self._emit(arguments, body, rules)

    def _emit(self, arguments: Arguments, body: Body, rules: list[Body] | None) -> Any:
        """Emit the op; without its rules where they were not traced."""
        programs, captured = merged([body, *(rules or [])])
        named = [Program(p.inputs, p.ops, p.outputs, name=body.program.name) for p in programs]
        params = dict.fromkeys(self.programs) | dict(zip(self.programs, named, strict=False))
        pairs = zip(arguments.leaves, arguments.types, strict=True)
        values = [lift(leaf, t.type.dtype) for leaf, t in pairs]
        results = current_builder().emit(
            self.op, [*captured, *values], {**params, "constants": len(captured)}
        )
        return tracers_of(body, results)

    def _defined(self) -> bool:
        raise NotImplementedError

    def _rules(self, arguments: Arguments, body: Body) -> list[Body]:
        raise NotImplementedError


class custom_jvp(_WithRules[P, R]):
    """A function with a derivative rule of yours, from which all its derivatives are made.

    Args:
        f: a function of arrays, or trees of them. Omitted in
            ``@custom_jvp(nondiff_argnums=...)``.
        nondiff_argnums: positions of arguments that are settings: any objects. The rule gets them
            first, and nothing is differentiated by them.

    ``f.defjvp(rule)`` sets ``rule(*settings, primals, tangents) -> (out, tangent_out)``. The
    returned tangents must be linear in the given ones. The tangent of an integer or bool is None,
    and None in the result stands for a zero tangent. The rule must not close over values that
    depend on the arguments differentiated by.

    Raises:
        StructureError, ShapeError, DtypeError: if there is no rule, or its result does not fit the
            function.
        DerivativeError: if a value that the function closes over is differentiated by, or if a rule
            that calls such functions is differentiated more than 4 times.

    Outside of a transformation ``f`` is called as it is.

    >>> import numpy as np
    >>> from autojit import custom_jvp, grad
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + np.exp(x)))
    >>> grad(log1pexp)(100.0)
    np.float64(1.0)
    """

    kind: str = "custom_jvp"
    op: Any = jvp_op
    programs: tuple[str, ...] = ("body", "rule")
    missing: str = "defjvp(rule)     # rule(primals, tangents) -> (out, tangent_out)"
    rule: Rule | None = None

    if TYPE_CHECKING:
        # The type of a class's call is that class: of the second, an instance that decorates.
        @overload
        def __init__(
            self, f: Callable[P, R], nondiff_argnums: int | Sequence[int] = ()
        ) -> None: ...

        @overload
        def __init__(
            self: custom_jvp[..., Any], f: None = None, nondiff_argnums: int | Sequence[int] = ()
        ) -> None: ...

        def __init__(self, f: Any = None, nondiff_argnums: int | Sequence[int] = ()) -> None: ...

    def defjvp(self, rule: Rule) -> Rule:
        """Set the rule; returns it, so that this is a decorator."""
        check_function(rule, "argument 0", "defjvp")
        self.rule = rule
        return rule

    def defjvps(self, *rules: Rule | None) -> None:
        """Set a rule for each argument: ``rule(tangent, out, *primals) -> tangent_out``.

        None says that the argument has no influence on the tangent.

        >>> import numpy as np
        >>> from autojit import custom_jvp, grad
        >>> f = custom_jvp(lambda x, y: np.sin(x) * y)
        >>> f.defjvps(lambda t, out, x, y: np.cos(x) * t * y, lambda t, out, x, y: np.sin(x) * t)
        >>> grad(f)(0.0, 3.0)
        np.float64(3.0)
        """
        if self.nondiff_argnums:
            raise StructureError("defjvps cannot be used with nondiff_argnums: use defjvp")

        function: Callable[..., Any] = self

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            out = function(*primals)
            if len(rules) != len(primals):
                raise StructureError(
                    with_place(
                        f"{name_of(self.function)} takes {len(primals)} arguments, but defjvps "
                        f"was given {len(rules)} rules. Pass None for an argument without a rule.",
                        user_source(),
                    )
                )
            pairs = zip(rules, tangents, strict=True)
            return out, _summed([r(t, out, *primals) for r, t in pairs if r is not None])

        self.rule = rule

    def _defined(self) -> bool:
        return self.rule is not None

    def _rules(self, arguments: Arguments, body: Body) -> list[Body]:
        return [self._traced_rule(arguments, body)]

    def _traced_rule(self, arguments: Arguments, body: Body) -> Body:
        assert self.rule is not None
        name = name_of(self.function)
        what = f"the rule of {name} ({name_of(self.rule)})"
        types, n = body.program.out_types, len(arguments.types)

        def call(rule: Rule, tracers: Sequence[Any]) -> list[Any]:
            primals = pytrees.unflatten(arguments.structure, tracers[:n])
            moving = spread(tracers[n:], arguments.inexact)
            tangents = pytrees.unflatten(arguments.structure, moving)
            result = rule(*_settings(arguments), primals, tangents)
            if not (isinstance(result, tuple) and len(result) == 2):
                raise StructureError(
                    with_place(
                        f"{what} must return (out, tangent_out); it returned "
                        f"{pytrees.result_in_words(result)}.",
                        user_source(),
                    )
                )
            out = matched(result[0], wanted_of(body, types, f"The result of {what}"), zeros=False)
            tangent = wanted_of(body, types, f"The tangent that {what} returns")
            return [*out, *or_zeros(matched(result[1], tangent, zeros=True), types)]

        rule = trace_body(self.rule, [*arguments.types, *arguments.moving], call, what)
        marks = [i >= n for i in range(n + len(arguments.moving))]
        found = depends(rule.program, [*marks, *[False] * len(rule.captured)])
        if any(found[: len(types)]):
            raise StructureError(
                with_place(
                    f"The result of {what} depends on the tangents. It must be the value of "
                    f"{name}, computed from the primals:\n"
                    f"    return {name if name.isidentifier() else 'f'}(*primals), tangent_out",
                    user_source(),
                )
            )
        return rule


class custom_vjp(_WithRules[P, R]):
    """A function with a rule for its cotangents: user-defined reverse mode.

    Args:
        f: a function of arrays, or trees of them. Omitted in
            ``@custom_vjp(nondiff_argnums=...)``.
        nondiff_argnums: positions of arguments that are settings: any objects; nothing is
            differentiated by them.

    ``f.defvjp(fwd, bwd)`` sets ``fwd(*args) -> (out, residuals)``, which takes all arguments in
    order, and ``bwd(*settings, residuals, cotangent) -> cotangents``, a tuple with one for each
    argument that is not a setting. None stands for a zero cotangent, also for a part of a tree. The
    cotangent of an integer or bool, argument or result, is always None. Residuals are a tree of
    arrays and any other objects.

    Raises:
        StructureError, ShapeError, DtypeError: if a rule is missing, or its result does not fit the
            function.
        DerivativeError: in forward mode; if a value that the function closes over is differentiated
            by; if rules that call such functions are differentiated more than 4 times.

    Outside of a transformation ``f`` is called as it is. Under ``vmap`` the cotangent of an
    argument that is not mapped over is the sum of those of the batch.

    >>> import numpy as np
    >>> from autojit import custom_vjp, grad
    >>> @custom_vjp
    ... def clipped(x, bound):                     # the identity, with a bounded gradient
    ...     return x
    >>> def fwd(x, bound):
    ...     return x, bound
    >>> def bwd(bound, ct):
    ...     return np.clip(ct, -bound, bound), None
    >>> clipped.defvjp(fwd, bwd)
    >>> grad(lambda x: 10 * clipped(x, 1.0))(3.0)
    np.float64(1.0)
    """

    kind: str = "custom_vjp"
    op: Any = vjp_op
    programs: tuple[str, ...] = ("body", "forward", "backward")
    missing: str = (
        "defvjp(fwd, bwd)     # fwd(*args) -> (out, residuals); bwd(residuals, ct) -> (ct,)"
    )
    forward: Rule | None = None
    backward: Rule | None = None

    if TYPE_CHECKING:
        # The type of a class's call is that class: of the second, an instance that decorates.
        @overload
        def __init__(
            self, f: Callable[P, R], nondiff_argnums: int | Sequence[int] = ()
        ) -> None: ...

        @overload
        def __init__(
            self: custom_vjp[..., Any], f: None = None, nondiff_argnums: int | Sequence[int] = ()
        ) -> None: ...

        def __init__(self, f: Any = None, nondiff_argnums: int | Sequence[int] = ()) -> None: ...

    def defvjp(self, fwd: Rule, bwd: Rule) -> None:
        """Set the rules."""
        check_function(fwd, "argument 0", "defvjp")
        check_function(bwd, "argument 1", "defvjp")
        self.forward, self.backward = fwd, bwd

    def _defined(self) -> bool:
        return self.forward is not None

    def _rules(self, arguments: Arguments, body: Body) -> list[Body]:
        residuals: list[Any] = []
        forward = self._traced_forward(arguments, body, residuals)
        return [forward, self._traced_backward(arguments, body, residuals)]

    def _traced_forward(self, arguments: Arguments, body: Body, residuals: list[Any]) -> Body:
        """The forward rule; ``residuals`` gets a function that puts traced ones in place."""
        assert self.forward is not None
        what = f"the forward rule of {name_of(self.function)} ({name_of(self.forward)})"
        types = body.program.out_types

        def call(rule: Rule, tracers: Sequence[Any]) -> list[Any]:
            result = arguments.call(rule, tracers)
            if not (isinstance(result, tuple) and len(result) == 2):
                raise StructureError(
                    with_place(
                        f"{what} must return (out, residuals); it returned "
                        f"{pytrees.result_in_words(result)}.",
                        user_source(),
                    )
                )
            out = matched(result[0], wanted_of(body, types, f"The result of {what}"), zeros=False)
            leaves, structure = pytrees.flatten(result[1])
            residuals[:] = [[leaf_type(x) if is_tracer(x) else x for x in leaves], structure]
            return [*out, *(x for x in leaves if is_tracer(x))]

        return trace_body(self.forward, arguments.types, call, what)

    def _traced_backward(self, arguments: Arguments, body: Body, residuals: list[Any]) -> Body:
        assert self.backward is not None
        what = f"the backward rule of {name_of(self.function)} ({name_of(self.backward)})"
        outs = body.program.out_types
        stored, structure = residuals
        kinds = [x for x in stored if isinstance(x, LeafType)]
        given = [LeafType(t, None) for t in outs if t.is_inexact]

        def call(rule: Rule, tracers: Sequence[Any]) -> list[Any]:
            mine = iter(tracers[: len(kinds)])
            kept = pytrees.unflatten(
                structure, [next(mine) if isinstance(x, LeafType) else x for x in stored]
            )
            moving = spread(tracers[len(kinds) :], [t.is_inexact for t in outs])
            cotangent = pytrees.unflatten(body.structure, moving)
            result = rule(*_settings(arguments), kept, cotangent)
            types = [t.type for t in arguments.types]
            return or_zeros(cotangents_of(result, arguments, types, what), types)

        return trace_body(self.backward, [*kinds, *given], call, what)


def _settings(arguments: Arguments) -> list[Any]:
    return [arguments.settings[i] for i in sorted(arguments.settings)]


def _summed(tangents: Sequence[Any]) -> Any:
    """The sum of trees of tangents; None is zero."""
    there = [t for t in tangents if t is not None]
    if not there:
        return None
    leaves = [pytrees.flatten(t)[0] for t in there]
    structure = pytrees.flatten(there[0])[1]
    totals = [functools.reduce(lambda a, b: a + b, column) for column in zip(*leaves, strict=True)]
    return pytrees.unflatten(structure, totals)
