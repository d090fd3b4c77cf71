"""Comparison of derivatives with central differences, along one random direction.

For a cotangent w and a tangent v, the number Re <w, J v> is computed by forward mode, by reverse
mode, and from differences of the function itself.  The derivative of order n + 1 is checked as the
first derivative of the program that computes order n.  After HIPS autograd's ``test_util``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autojit.errors import DtypeError, IntegerGradientError, StructureError
from autojit.ir.autodiff.linearize import jvp, vjp
from autojit.ir.core.halves import in_dtype, is_bfloat16
from autojit.ir.core.program import Program
from autojit.staging import pytrees
from autojit.staging.execute import apply
from autojit.staging.trace_function import leaf_type, trace_function
from autojit.tracing.known import Inputs

#: The largest relative tolerance; that of the shortest floats would accept anything.
LOOSEST = 0.125

MODES = {"fwd": "forward", "rev": "reverse"}

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Comparison:
    """One derivative along one direction, by autojit and by central differences."""

    name: str
    exact: float
    numeric: float
    tolerance: float
    step: float
    where: str = ""
    #: The map that is differentiated.
    base: Map | None = None
    #: The differences to the left and to the right if they indicate a kink.
    sides: tuple[float, float] | None = None

    @property
    def at_kink(self) -> bool:
        """Whether the point is on a kink and the derivative lies between those of its sides."""
        if self.sides is None:
            return False
        low, high = sorted(self.sides)
        return low - self.tolerance <= self.exact <= high + self.tolerance

    @property
    def error(self) -> float:
        return abs(self.exact - self.numeric)

    @property
    def agrees(self) -> bool:
        return bool(self.error <= self.tolerance)  # False for NaN

    def report(self) -> str:
        """The error report: the derivative, where it is wrong, and by how much."""
        return (
            f"{self.name}: wrong with respect to {self.where}\n"
            f"  by autojit              {self.exact!r}\n"
            f"  by central differences  {self.numeric!r}\n"
            f"  difference {self.error:.2g}, tolerance {self.tolerance:.2g}, step {self.step:.2g}. "
            + (
                "At a kink (abs, max, where), a difference is expected: choose another point."
                if np.isfinite(self.numeric)
                else "The function is not finite at or near this point: choose another point, or "
                "find the cause with autojit.explain_nan(f, *args)."
            )
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
        settings = Settings.of(found, rtol, atol, step)
        for mode in modes:
            tangents = found.random_tangents(rng)
            cotangents = found.random_cotangents(rng)
            derived = found.derived(mode, tangents, cotangents)
            yield Probe(found, derived, mode, tangents, cotangents, settings).compare()
            if derived.order < order:
                pending.append(derived)


@dataclass(frozen=True)
class Settings:
    rtol: float
    atol: float
    step: float

    @staticmethod
    def of(found: Map, rtol: float | None, atol: float | None, step: float | None) -> Settings:
        kinds = [found.point[i].dtype for i in found.wrt]
        kinds += [t.dtype for t in found.program.out_types if t.is_inexact]
        epsilon = float(max(np.finfo(dtype).eps for dtype in kinds))
        usual = min(64 * epsilon**0.5, LOOSEST)
        if found.wide is not None:  # only the derivative itself is rounded to single precision
            usual, epsilon = min(usual, 4096 * epsilon), float(np.finfo(np.float64).eps)
        return Settings(
            usual if rtol is None else rtol,
            usual if atol is None else atol,
            epsilon ** (1 / 3) if step is None else step,
        )


@dataclass
class Map:
    """A function of flat arrays, the program that is differentiated, and a point.

    ``only`` are the inputs to differentiate with respect to; None for all floating-point ones.
    ``wide`` is the same function in double precision, for the differences.
    """

    evaluate: Callable[[Arrays], Arrays]
    program: Program
    point: Arrays
    names: Sequence[str]
    path: tuple[str, ...] = ()
    only: tuple[int, ...] | None = None
    wide: Callable[[Arrays], Arrays] | None = None
    #: Runs the programs of derivatives.
    run: Callable[[Program, Arrays], Sequence[Any]] = apply

    @property
    def order(self) -> int:
        return len(self.path)

    @property
    def wrt(self) -> list[int]:
        found = [i for i, a in enumerate(self.point) if a.dtype.kind in "fc"]
        return found if self.only is None else [i for i in self.only if i in found]

    def random_tangents(self, rng: np.random.Generator) -> Arrays:
        """A direction for each floating-point input, scaled by its largest element."""
        return [_random_like(self.point[i], rng) * _scale(self.point[i]) for i in self.wrt]

    def random_cotangents(self, rng: np.random.Generator) -> Arrays:
        """Weights of the outputs; 0 for outputs without a derivative."""
        return [
            _random_like(np.empty(t.shape, t.dtype), rng)
            if t.is_inexact
            else np.zeros(t.shape, t.dtype)
            for t in self.program.out_types
        ]

    def derived(self, mode: str, tangents: Arrays, cotangents: Arrays) -> Map:
        """The function of order + 1: (inputs, direction) -> derivatives."""
        if mode == "fwd":
            program = jvp(self.program, self.wrt)
            extra, what = tangents, [f"the tangent of {self.names[i]}" for i in self.wrt]
        else:
            program = vjp(self.program, self.wrt)
            extra = cotangents
            what = [f"the cotangent of result {i}" for i in range(len(cotangents))]
        program = program.with_body(program.ops, program.outputs[len(self.program.outputs) :])
        return Map(
            lambda arrays: [np.asarray(r) for r in self.run(program, arrays)],
            program,
            [*self.point, *extra],
            [*self.names, *what],
            (mode, *self.path),
            run=self.run,
        )


def _first_map(f: Callable[..., Any], args: Sequence[Any]) -> Map:
    """The function itself, called on plain NumPy arrays, and its traced program."""
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

    if any(is_bfloat16(t.type.dtype) for t in types):
        raise DtypeError(
            "check_grads: bfloat16 has only 8 significant bits, too few for finite differences. "
            "Check the function in float32:\n"
            "    check_grads(f, (x.astype(np.float32),))"
        )
    point = [in_dtype(leaf, t.type.dtype) for leaf, t in zip(leaves, types, strict=True)]
    found = Map(evaluate, traced.program, point, names)
    if not found.wrt:
        raise IntegerGradientError(
            "check_grads needs at least one floating-point argument, but got "
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


def paired(a: Arrays, b: Arrays) -> float:
    """The real part of the sum of the products of two lists of arrays."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        if x.dtype.kind in "fc":
            wide = np.result_type(x.dtype, np.float64)
            total += float(np.real(np.sum(x.astype(wide) * y.astype(wide))))
    return total


class Probe:
    """The derivative of one map in one mode, along directions near the given one."""

    def __init__(
        self,
        base: Map,
        derived: Map,
        mode: str,
        tangents: Arrays,
        cotangents: Arrays,
        settings: Settings,
        pulled: Arrays | None = None,
    ) -> None:
        self.base = base
        self.derived = derived
        self.mode = mode
        self.tangents = tangents
        self.cotangents = cotangents
        self.settings = settings
        self.pulled = pulled
        if mode == "rev" and pulled is None:
            self.pulled = derived.evaluate(derived.point)

    def compare(self) -> Comparison:
        """Compare along the whole direction; if that is wrong, along the worst single element."""
        with np.errstate(all="ignore"):
            whole = self.along(self.tangents, "")
            if whole.agrees:
                return whole
            sides = self.sides(whole)
            if sides is not None:
                return replace(whole, sides=sides)
            found = self.along(*self.worst_element())
        return whole if found.agrees else found

    def sides(self, whole: Comparison) -> tuple[float, float] | None:
        """Differences to the left and to the right of a kink; None if there is none.

        They converge as the step shrinks if the function is smooth, but not at a kink.
        """
        step = self.settings.step / 10
        values = [paired(self.cotangents, self.moved(self.tangents, k * step)) for k in (-1, 0, 1)]
        left, right = (values[1] - values[0]) / step, (values[2] - values[1]) / step
        apart = abs(right - left)
        return (left, right) if apart > max(1e-2 * abs(right + left), whole.tolerance) else None

    def along(self, tangents: Arrays, where: str) -> Comparison:
        step = self.settings.step
        exact = self.exact(tangents)
        high, low = self.moved(tangents, step), self.moved(tangents, -step)
        weights = [np.abs(w) for w in self.cotangents]
        size = paired(weights, [np.abs(y) for y in high])
        rounding = 8 * float(np.finfo(float).eps) * size / step
        numeric = (paired(self.cotangents, high) - paired(self.cotangents, low)) / (2 * step)
        larger = max(abs(exact), abs(numeric))
        tolerance = self.settings.rtol * larger + self.settings.atol + rounding
        name = f"derivative of order {self.derived.order} ({self.mode_name()})"
        together = where or "its arguments together"
        return Comparison(name, exact, numeric, tolerance, step, together, self.base)

    def exact(self, tangents: Arrays) -> float:
        if self.pulled is not None:
            return paired(self.pulled, tangents)
        moved = self.derived.evaluate([*self.base.point, *tangents])
        return paired(self.cotangents, moved)

    def moved(self, tangents: Arrays, step: float) -> Arrays:
        point = list(self.base.point)
        wide = self.base.wide
        for i, tangent in zip(self.base.wrt, tangents, strict=True):
            dtype = point[i].dtype if wide is None else np.result_type(point[i], np.float64)
            point[i] = point[i].astype(dtype) + dtype.type(step) * tangent.astype(dtype)
        return self.base.evaluate(point) if wide is None else wide(point)

    def mode_name(self) -> str:
        return " over ".join(MODES[m] for m in self.derived.path)

    def worst_element(self) -> tuple[Arrays, str]:
        """The element with the greatest error: first the input, then its element by bisection."""
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
