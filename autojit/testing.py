"""For tests: derivatives against central differences, and blocks without retraces.

Each derivative is compared along one random direction: with a cotangent w and a tangent v,
the number Re <w, J v> comes from forward mode, from reverse mode and from differences of the
function itself.  The derivative of order n + 1 is checked as the first derivative of the
program that computes order n.  After HIPS autograd's ``test_util``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from autojit.ir.autodiff.linearize import jvp, vjp

from .dispatch.compiled import CompiledFunction
from .dispatch.jit_function import jit
from .dispatch.retraces import forbidden
from .errors import IntegerGradientError, StructureError
from .explanations.demands import check_fused, check_no_temporaries, check_vectorized
from .explanations.explaining import explain
from .explanations.explanation import Explanation
from .ir.core.program import Program
from .staging import pytrees
from .staging.execute import apply
from .staging.trace_function import leaf_type, trace_function
from .tracing.known import Inputs

MODES = {"fwd": "forward", "rev": "reverse"}

Arrays = list[np.ndarray]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Raise unless the derivatives of ``f`` at ``args`` agree with central differences.

    Args:
        f: a function of arrays, or trees of them, with results of any shape.
        args: a tuple of arguments, or one array; their floating-point leaves are varied.
        order: how many derivatives are checked, in every combination of the modes.
        modes: ``"fwd"``, ``"rev"`` or both.
        rtol, atol: tolerances of the projected derivative; by default 64 times the square
            root of the machine epsilon of the least precise dtype (1e-6 for float64).
        step: the step of the differences; by default the cube root of that epsilon, times
            the largest element of an argument where that is above 1.
        seed: of the random directions.

    Raises:
        AssertionError: naming the first derivative that is wrong, lowest order first, and
            the element of the argument that it is wrong for.
        IntegerGradientError: if no leaf of the arguments is floating point.

    A point on a kink has no central difference: choose another point.

    >>> from autojit.testing import check_grads
    >>> check_grads(lambda x: np.sin(x) * x, (np.array([0.3, 1.2]),))
    """
    for comparison in compare_grads(
        f, args, order, modes, rtol=rtol, atol=atol, step=step, seed=seed
    ):
        if not comparison.agrees:
            raise AssertionError(comparison.report())


def assert_no_retrace(*functions: Any) -> AbstractContextManager[None]:
    """A block in which no function made by ``jit`` is traced, whether for the first time or again.

    Args:
        functions: those that may not be traced; without any, none may. Functions without ``jit``
            are traced at every call, and do not count.

    Raises:
        AssertionError: from the call that traces, naming the function and the argument that
            differed; from the end of the block if that was in another thread, or caught.

    >>> from autojit import jit
    >>> from autojit.testing import assert_no_retrace
    >>> f = jit(np.sin)
    >>> f(np.zeros(3))
    array([0., 0., 0.])
    >>> with assert_no_retrace():
    ...     f(np.zeros(3))
    array([0., 0., 0.])
    >>> with assert_no_retrace(f):
    ...     f(np.zeros(4))
    Traceback (most recent call last):
    AssertionError: sin is traced inside of assert_no_retrace(): argument 0 was f64[3], is f64[4]
    """
    for function in functions:
        if not isinstance(function, CompiledFunction):
            raise StructureError(
                f"assert_no_retrace takes functions made by jit, not {function!r:.60}. Without any "
                "it is about all of them:\n    with assert_no_retrace():"
            )
    return forbidden(functions)


def assert_fused(f: Callable[..., Any], *args: Any, at_most: int = 1) -> None:
    """Raise AssertionError unless ``f`` compiles to ``at_most`` loop nests and library calls.

    >>> from autojit.testing import assert_fused
    >>> assert_fused(lambda x: np.sum(np.exp(x) * x), np.ones(1000))
    """
    check_fused(_explained(f, args), at_most)


def assert_vectorized(f: Callable[..., Any], *args: Any) -> None:
    """Raise AssertionError if an inner loop of the code of ``f`` works on one number at a time."""
    check_vectorized(_explained(f, args))


def assert_no_temporaries(f: Callable[..., Any], *args: Any) -> None:
    """Raise AssertionError if a call of ``f`` needs arrays besides arguments and results."""
    check_no_temporaries(_explained(f, args))


def _explained(f: Callable[..., Any], args: Sequence[Any]) -> Explanation:
    compiled: Any = f if isinstance(f, CompiledFunction) else jit(f)
    return explain(compiled, args, {}, run=False)


@dataclass(frozen=True)
class Comparison:
    """One derivative along one direction, by autojit and by central differences."""

    name: str
    exact: float
    numeric: float
    tolerance: float
    step: float
    where: str = ""

    @property
    def error(self) -> float:
        return abs(self.exact - self.numeric)

    @property
    def agrees(self) -> bool:
        return bool(self.error <= self.tolerance)  # False for NaN

    def report(self) -> str:
        """What is wrong, where, and by how much."""
        return (
            f"{self.name}: wrong with respect to {self.where}\n"
            f"  by autojit              {self.exact!r}\n"
            f"  by central differences  {self.numeric!r}\n"
            f"  difference {self.error:.2g}, tolerance {self.tolerance:.2g}, step {self.step:.2g}. "
            "At a kink (abs, max, where) the two differ rightly: choose another point."
        )


def compare_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    seed: int = 0,
) -> Iterator[Comparison]:
    """Every comparison that :func:`check_grads` makes, lower orders first."""
    if unknown := [m for m in modes if m not in MODES]:
        raise StructureError(f'modes are "fwd" and "rev"; got {unknown[0]!r}')
    rng = np.random.default_rng(seed)
    pending = deque([_first_map(f, args if isinstance(args, (tuple, list)) else (args,))])
    while pending:
        found = pending.popleft()
        settings = _Settings.of(found, rtol, atol, step)
        for mode in modes:
            tangents = found.random_tangents(rng)
            cotangents = found.random_cotangents(rng)
            derived = found.derived(mode, tangents, cotangents)
            yield _Probe(found, derived, mode, tangents, cotangents, settings).compare()
            if derived.order < order:
                pending.append(derived)


@dataclass(frozen=True)
class _Settings:
    rtol: float
    atol: float
    step: float

    @staticmethod
    def of(found: _Map, rtol: float | None, atol: float | None, step: float | None) -> _Settings:
        kinds = [found.point[i].dtype for i in found.wrt]
        kinds += [t.dtype for t in found.program.out_types if t.is_inexact]
        epsilon = float(max(np.finfo(dtype).eps for dtype in kinds))
        usual = 64 * epsilon**0.5
        return _Settings(
            usual if rtol is None else rtol,
            usual if atol is None else atol,
            epsilon ** (1 / 3) if step is None else step,
        )


@dataclass
class _Map:
    """A function of flat arrays, the program that is differentiated, and a point."""

    evaluate: Callable[[Arrays], Arrays]
    program: Program
    point: Arrays
    names: list[str]
    path: tuple[str, ...] = ()

    @property
    def order(self) -> int:
        return len(self.path)

    @property
    def wrt(self) -> list[int]:
        return [i for i, a in enumerate(self.point) if a.dtype.kind in "fc"]

    def random_tangents(self, rng: np.random.Generator) -> Arrays:
        """A direction for each floating-point input, in proportion to its largest element."""
        return [_random_like(self.point[i], rng) * _scale(self.point[i]) for i in self.wrt]

    def random_cotangents(self, rng: np.random.Generator) -> Arrays:
        """Weights of the outputs; 0 for those without a derivative."""
        return [
            _random_like(np.empty(t.shape, t.dtype), rng)
            if t.is_inexact
            else np.zeros(t.shape, t.dtype)
            for t in self.program.out_types
        ]

    def derived(self, mode: str, tangents: Arrays, cotangents: Arrays) -> _Map:
        """The function of order + 1: (inputs, direction) -> derivatives."""
        if mode == "fwd":
            program = jvp(self.program, self.wrt)
            extra, what = tangents, [f"the tangent of {self.names[i]}" for i in self.wrt]
        else:
            program = vjp(self.program, self.wrt)
            extra = cotangents
            what = [f"the cotangent of result {i}" for i in range(len(cotangents))]
        program = program.with_body(program.ops, program.outputs[len(self.program.outputs) :])
        return _Map(
            lambda arrays: [np.asarray(r) for r in apply(program, arrays)],
            program,
            [*self.point, *extra],
            [*self.names, *what],
            (mode, *self.path),
        )


def _first_map(f: Callable[..., Any], args: Sequence[Any]) -> _Map:
    """The function itself, called as plain NumPy, and its traced program."""
    leaves, structure = pytrees.flatten(tuple(args))
    names = pytrees.call_paths(tuple(args), {})
    for leaf, name in zip(leaves, names, strict=True):
        pytrees.check_argument(leaf, name, "check_grads(lambda x: f(x, setting), (x,))")
    types = [leaf_type(leaf) for leaf in leaves]
    traced = trace_function(
        f, types, lambda g, values: g(*pytrees.arguments(structure, values)),
        given=Inputs(leaves, True),
    )  # fmt: skip

    def evaluate(arrays: Arrays) -> Arrays:
        given = [
            kind.weak(array) if kind.weak else array[()]
            for array, kind in zip(arrays, types, strict=True)
        ]
        results, _ = pytrees.flatten(f(*pytrees.unflatten(structure, given)))
        return [np.asarray(r) for r in results]

    point = [np.asarray(leaf, t.type.dtype) for leaf, t in zip(leaves, types, strict=True)]
    found = _Map(evaluate, traced.program, point, names)
    if not found.wrt:
        raise IntegerGradientError(
            "check_grads varies floating-point arguments, and there is none among "
            f"{', '.join(str(t.type) for t in types) or 'no arguments'}. Write 3.0 for 3, or "
            "x.astype(float)."
        )
    return found


def _random_like(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    values: Any = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(array.shape)
    return np.asarray(values).astype(array.dtype)


def _scale(array: np.ndarray) -> Any:
    largest = np.max(np.abs(array), initial=1.0)
    return array.dtype.type(largest if np.isfinite(largest) else 1.0)


def _pair(a: Arrays, b: Arrays) -> float:
    """The real part of the sum of products."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        if x.dtype.kind in "fc":
            wide = np.result_type(x.dtype, np.float64)
            total += float(np.real(np.sum(x.astype(wide) * y.astype(wide))))
    return total


class _Probe:
    """The derivative of one map in one mode, along directions near the given one."""

    def __init__(
        self,
        base: _Map,
        derived: _Map,
        mode: str,
        tangents: Arrays,
        cotangents: Arrays,
        settings: _Settings,
    ) -> None:
        self.base = base
        self.derived = derived
        self.mode = mode
        self.tangents = tangents
        self.cotangents = cotangents
        self.settings = settings
        self.pulled = derived.evaluate(derived.point) if mode == "rev" else None

    def compare(self) -> Comparison:
        """Along the whole direction; where that is wrong, along the worst single element."""
        with np.errstate(all="ignore"):
            whole = self.along(self.tangents, "")
            if whole.agrees:
                return whole
            found = self.along(*self.worst_element())
        return whole if found.agrees else found

    def along(self, tangents: Arrays, where: str) -> Comparison:
        step = self.settings.step
        exact = self.exact(tangents)
        high, low = self.moved(tangents, step), self.moved(tangents, -step)
        weights = [np.abs(w) for w in self.cotangents]
        size = _pair(weights, [np.abs(y) for y in high])
        rounding = 8 * np.finfo(float).eps * size / step
        numeric = (_pair(self.cotangents, high) - _pair(self.cotangents, low)) / (2 * step)
        larger = max(abs(exact), abs(numeric))
        tolerance = self.settings.rtol * larger + self.settings.atol + rounding
        name = f"derivative of order {self.derived.order} ({self.mode_name()})"
        return Comparison(name, exact, numeric, tolerance, step, where or "its arguments together")

    def exact(self, tangents: Arrays) -> float:
        if self.pulled is not None:
            return _pair(self.pulled, tangents)
        moved = self.derived.evaluate([*self.base.point, *tangents])
        return _pair(self.cotangents, moved)

    def moved(self, tangents: Arrays, step: float) -> Arrays:
        point = list(self.base.point)
        for i, tangent in zip(self.base.wrt, tangents, strict=True):
            point[i] = point[i] + point[i].dtype.type(step) * tangent
        return self.base.evaluate(point)

    def mode_name(self) -> str:
        return " over ".join(MODES[m] for m in self.derived.path)

    def worst_element(self) -> tuple[Arrays, str]:
        """The input, then by halving the element, along which the error is greatest."""
        leaves = [np.arange(t.size) for t in self.tangents]
        errors = [self.error(leaf, kept) for leaf, kept in enumerate(leaves)]
        leaf = int(np.argmax(errors))
        kept = leaves[leaf]
        while len(kept) > 1:
            halves = np.array_split(kept, 2)
            kept = max(halves, key=lambda half: self.error(leaf, half))
        name = self.base.names[self.base.wrt[leaf]]
        shape = self.tangents[leaf].shape
        if shape and len(kept):
            index = np.unravel_index(int(kept[0]), shape)
            name += f"[{', '.join(str(int(i)) for i in index)}]"
        return self.only(leaf, kept), name

    def error(self, leaf: int, kept: np.ndarray) -> float:
        found = self.along(self.only(leaf, kept), "")
        return found.error if np.isfinite(found.error) else np.inf

    def only(self, leaf: int, kept: np.ndarray) -> Arrays:
        """The tangents with all but some elements of one input set to 0."""
        tangents = [np.zeros_like(t) for t in self.tangents]
        tangents[leaf].reshape(-1)[kept] = self.tangents[leaf].reshape(-1)[kept]
        return tangents
