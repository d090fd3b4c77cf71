"""Rules that propagate cotangents back through operations, derived once per operation and types.

The operation, a NumPy function, is traced, and ``ir/autodiff`` linearizes and transposes its
program.  A node saves the operands and results that the transposed program reads.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.cpu.abi.results import POOLED, allocator
from autojit.dispatch.static import key_of
from autojit.ir.autodiff.linearize import vjp
from autojit.ir.core.halves import in_dtype, kind_of
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import Type, canonical_dtype, is_half
from autojit.ir.ops.bodies import BodyOp
from autojit.ir.ops.contract import Dot
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.interpreter import evaluated
from autojit.session.transform_cache import cached_transform
from autojit.staging.execute import caller
from autojit.staging.trace_function import LeafType, trace_function
from autojit.tracing.values import inline, is_tracer

from .running import Source, conjugated, conjugated_call, is_complex, straight
from .widening import by_float32, has_halves


class Operation:
    """An operation on tensors.

    ``name``  the name of its nodes; "Backward0" may be left out
    ``impl``  ``impl(*arrays, *static)``: takes NumPy arrays or traced arrays
    ``eager``  computes the same values faster, from NumPy arrays only
    ``compiled``  compiled functions of the same values, by static arguments and types of arrays
    ``node``  the class of its nodes; None before the first one is made
    ``makes_anew``  whether results are never operands or views of operands
    ``takes_halves``  whether ``impl`` takes arrays of half floats; if not, it gets float32
    ``is_view``  whether results may share memory with operands; such an operation is never compiled
    ``is_strided``  whether results are views by strides only, as a diagonal is: assignment to them
                    looks up the positions of their elements
    """

    __slots__ = ("compiled", "eager", "impl", "is_strided", "is_view", "makes_anew", "name", "node",
                 "node_name", "takes_halves")  # fmt: skip

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        node_name: str = "",
        eager: Callable[..., Any] | None = None,
    ) -> None:
        self.name: str = name
        self.impl = impl
        self.eager = eager or impl
        self.makes_anew = isinstance(self.eager, np.ufunc)
        self.compiled: dict[Any, Callable[..., Any]] = {}
        self.node: Any = None
        self.is_view = self.is_strided = self.takes_halves = False
        self.node_name: str = node_name or (name if "Backward" in name else f"{name}Backward0")

    def on(self, function: Callable[..., Any], arrays: Sequence[Any], static: Any) -> Any:
        """The results of a function of this operation, ``impl`` or ``eager``."""
        if has_halves(arrays) and not (self.is_view or self.takes_halves):
            return by_float32(function, arrays, static)
        return function(*arrays, *static)


class Forward:
    """An operation on arrays of given types; it is compiled after it has run often."""

    __slots__ = ("_calls", "_key", "_often", "_operation", "_program", "compiled")

    def __init__(self, operation: Operation, key: Any, program: Program, often: int) -> None:
        self._operation = operation
        self._key = key
        self._program = program
        self._often = often
        self._calls = 0
        #: The compiled function; None before it is compiled.
        self.compiled: Callable[..., Any] | None = None

    def count(self) -> None:
        """Count another run, and compile the operation if it has run often enough."""
        self._calls += 1
        if self._calls == self._often:
            compiled = self._operation.compiled
            found = compiled.get(self._key) or applied(self._program, at_once=True)
            self.compiled = compiled[self._key] = found
            while len(compiled) > _MOST:
                compiled.pop(next(iter(compiled)))


class Rule(NamedTuple):
    """The transposed program of an operation for operands of given types."""

    run: Callable[[Sequence[Any]], list[Any]]
    pull: Operation
    #: The sources that ``run`` reads, in order, and those that ``pull`` reads.
    sources: tuple[Source, ...]
    pull_sources: tuple[Source, ...]
    #: The operands whose cotangents it returns.
    wrt: tuple[int, ...]
    out_types: tuple[Type, ...]
    #: The arrays that nodes save: those that ``run`` reads, then those that only ``pull`` reads.
    saved: tuple[Source, ...]
    #: How many of the saved arrays ``run`` reads.
    read: int
    #: Which results have gradients.
    inexact: tuple[bool, ...]
    #: Whether ``run`` reads the cotangent of the only result, then saved arrays.
    is_straight: bool
    #: Whether no operand and no result has half floats.
    is_plain: bool
    #: The positions of the links of ``wrt`` in a node.
    places: tuple[int, ...]
    #: The program that ``run`` executes, on ``sources`` and the arrays that are bound to it; None
    #: if it does not run a program.
    program: Program | None = None
    #: The operation itself if it is worth compiling.
    forward: Forward | None = None


def made_rule(
    run: Callable[[Sequence[Any]], list[Any]],
    pull: Operation,
    sources: tuple[Source, ...],
    pull_sources: tuple[Source, ...],
    wrt: tuple[int, ...],
    out_types: tuple[Type, ...],
    program: Program | None = None,
    forward: Forward | None = None,
    *,
    is_plain: bool = False,
) -> Rule:
    """A rule, with the arrays that its nodes save."""
    read = [s for s in sources if s[0] != "cotangent"]
    more = [s for s in pull_sources if s[0] != "cotangent" and s not in read]
    saved = (*read, *more)
    inexact = tuple(kind_of(t.dtype) in "fc" for t in out_types)
    is_straight = len(out_types) == 1 and sources == (("cotangent", 0), *read)
    return Rule(
        run, pull, sources, pull_sources, wrt, out_types, saved, len(read), inexact, is_straight,
        is_plain, tuple(2 * k for k in wrt), program, forward,
    )  # fmt: skip


_rules: OrderedDict[Any, Rule] = OrderedDict()
#: The most rules that are kept: about 20 KB each.
_MOST = 4096


def rule_for(
    operation: Operation, arrays: Sequence[Any], static: tuple[Any, ...], needs: tuple[bool, ...]
) -> Rule:
    """The rule for operands of these types."""
    key = key_for(operation, arrays, static, needs)
    found = known_rule(key)
    if found is None:
        found = _rules[key] = _derived(operation, arrays, static, needs)
        while len(_rules) > _MOST:
            _rules.popitem(last=False)
    return found


def key_for(
    operation: Operation, arrays: Sequence[Any], static: tuple[Any, ...], needs: Sequence[bool]
) -> tuple[Any, ...]:
    """The key of a rule: everything that it depends on."""
    key: list[Any] = [operation, exact(static) if static else static]
    for a, need in zip(arrays, needs, strict=True):
        key += a.shape, a.dtype.char, need
    return tuple(key)


def known_rule(key: tuple[Any, ...]) -> Rule | None:
    """A rule that has been derived before, or None; the call counts as a run of the operation."""
    found = _rules.get(key)
    if found is not None and found.forward is not None:
        found.forward.count()
    return found


def exact(static: tuple[Any, ...]) -> Any:
    """Static arguments as a key that distinguishes 1, 1.0 and True, and 0.0 and -0.0."""
    return key_of(static) if static else static


def plain(setting: Any) -> Any:
    """A static argument with NumPy scalars as Python numbers, because the former affect dtypes."""
    if setting.__class__ is tuple:
        return tuple(map(plain, setting))
    return setting.item() if isinstance(setting, np.generic) else setting


def types_of(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Shapes and dtypes, as a key."""
    return tuple([(a.shape, a.dtype.char) for a in arrays])


def _derived(
    operation: Operation, arrays: Sequence[Any], static: tuple[Any, ...], needs: tuple[bool, ...]
) -> Rule:
    def flat(*leaves: Any) -> Any:
        return operation.on(operation.impl, leaves, static)

    flat.__name__ = operation.name
    types = [LeafType(Type(canonical_dtype(a.dtype), tuple(a.shape)), None) for a in arrays]
    program = trace_function(flat, types, lambda f, leaves: f(*leaves)).program
    captured = program.captured  # constants that the function makes
    wrt = tuple(i for i, need in enumerate(needs) if need)
    derivative = optimize(cached_transform(vjp, program, wrt))
    pull, sources = _pulled(derivative, len(arrays), len(program.outputs))
    constants = tuple(captured[k] for kind, k in sources if kind == "captured")
    kept = sources[: len(sources) - len(constants)]
    run, call = runner(pull, constants), applied(pull, constants)
    bound = None
    if is_complex(program):
        run, call = conjugated(run, kept), conjugated_call(call, kept)
    else:
        bound = pull.bound_to(constants)
    back = Operation(operation.node_name, call)
    forward = None
    often = times_before(program)
    if often is not None and not operation.is_view:
        forward = Forward(operation, (exact(static), types_of(arrays)), program, often)
    is_plain = not any(is_half(t.dtype) for t in (*program.in_types, *program.out_types))
    return made_rule(
        run, back, kept, kept, wrt, program.out_types, bound, forward, is_plain=is_plain
    )


def _pulled(derivative: Program, inputs: int, outputs: int) -> tuple[Program, tuple[Source, ...]]:
    """The part of a derivative that computes the cotangents; it takes results as inputs, too."""
    gradients = derivative.outputs[outputs:]
    known: dict[Value, Source] = {}
    last = inputs + outputs
    for k, v in enumerate(derivative.inputs):
        known[v] = (
            ("in", k) if k < inputs
            else ("cotangent", k - inputs) if k < last
            else ("captured", k - last)
        )  # fmt: skip
    for k, v in enumerate(derivative.outputs[:outputs]):
        known.setdefault(v, ("out", k))
    constant = {op.result for op in derivative.ops if not op.operands and len(op.results) == 1}
    known = {v: s for v, s in known.items() if v not in constant}
    ops, read = _needed(derivative.ops, gradients, known)
    used = [v for v in known if v in read]
    places = {"cotangent": 0, "captured": 2}
    used.sort(key=lambda v: places.get(known[v][0], 1))
    pull = Program(used, ops, gradients, name=derivative.name)
    return pull, tuple(known[v] for v in used)


def _needed(
    ops: Sequence[Op], outputs: Sequence[Value], known: dict[Value, Any]
) -> tuple[list[Op], set[Value]]:
    """The ops that compute outputs from known values, and all values that are read."""
    read, found = set(outputs), []
    for op in reversed(ops):
        if any(v in read and v not in known for v in op.results):
            found.append(op)
            read.update(op.operands)
    return found[::-1], read


def applied(
    program: Program, constants: tuple[Any, ...] = (), *, at_once: bool = False
) -> Callable[..., Any]:
    """A program as a function of arrays, for operations on tensors."""
    run = runner(program, constants, at_once=at_once)

    def call(*arrays: Any) -> Any:
        results = run(arrays)
        return results[0] if len(results) == 1 else tuple(results)

    return call


#: A program that runs repeatedly is worth compiling if its operations have more elements than this:
#: code generation takes 0.1 s, and fused code takes half of the time, which saves 1 ns per element.
MUCH = 200_000
#: The fewest times that such a program is interpreted before it is compiled; a long one is
#: interpreted once for every two operations, because code generation takes 5 ms or more each.
OFTEN = 8


def pays(program: Program) -> bool:
    """Whether compiling a program that runs repeatedly is worthwhile: its operations are fused, and
    compiled matrix products are no slower than the library's."""
    return (len(program.ops) > 1 or program.has(Dot)) and work_of(program) > MUCH


#: The same for a program of little work: compiled code saves 1 us per operation, and its generation
#: takes 3 ms per operation.
VERY_OFTEN = 4_000
#: The fewest operations of a program of little work for which a call of compiled code is faster
#: than NumPy.
SEVERAL = 6


def times_before(program: Program) -> int | None:
    """How often a program is interpreted before it is compiled; None if it never is."""
    if pays(program):
        return max(OFTEN, len(program.ops) // 2)
    return VERY_OFTEN if len(program.ops) >= SEVERAL else None


def work_of(program: Program) -> float:
    """The elements that operations compute; a multiplication in a matrix product counts less."""
    return sum(max(op.kind.work(op), sum([v.type.size for v in op.results])) for op in program.ops)


def _evaluation(op: Op) -> Callable[..., Any]:
    """A function that computes an operation by NumPy; large results are allocated from the pool."""
    kind, type = op.kind, op.results[0].type
    if any(is_half(v.dtype) for v in (*op.operands, *op.results)):
        return lambda *x: evaluated(op, x)
    if type.nbytes >= POOLED and len(op.results) == 1:
        allocate = allocator(type.shape, type.dtype)
        if isinstance(kind, Elementwise) and isinstance(kind.numpy, np.ufunc) and not op.params:
            function = kind.numpy
            return lambda *x: function(*x, out=allocate())
        if (
            isinstance(kind, Dot)
            and type.ndim == 2
            and [v.type.ndim for v in op.operands] == [2, 2]
        ):
            (ca, cb), _ = op.params["contract"], op.params["batch"]
            left, right = ca == (0,), cb == (1,)
            return lambda a, b: np.matmul(a.T if left else a, b.T if right else b, out=allocate())
    if isinstance(kind, Elementwise) and kind.__class__.evaluate is Elementwise.evaluate:
        return kind.numpy
    if not op.params:
        return kind.evaluate
    return functools.partial(kind.evaluate, **op.params)


def runner(
    program: Program, constants: tuple[Any, ...] = (), *, at_once: bool = False
) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that runs a program on arrays: by NumPy, op by op, until it is worth compiling; on
    traced arrays it inlines the program into the trace.

    ``constants``  the arrays of the last inputs; if none are given, the captured arrays
    """
    constants = constants or tuple(program.captured)
    program = program.bound_to(())
    interpreted = straight(program, _evaluation)
    dtypes = [v.dtype for v in program.outputs]
    compiles = at_once or program.has(BodyOp)
    often = times_before(program) if pays(program) else None
    compiled = caller(program)
    calls = 0

    def run(arrays: Sequence[Any]) -> list[Any]:
        nonlocal calls
        if constants:
            arrays = (*arrays, *constants)
        for a in arrays:
            if a.__class__ is not np.ndarray and is_tracer(a):
                return list(inline(program, arrays))
        if compiles or (often is not None and calls >= often):
            return [in_dtype(r, d) for r, d in zip(compiled(arrays), dtypes, strict=True)]
        calls += 1
        return interpreted(*arrays)

    return run
