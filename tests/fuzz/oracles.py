"""The checks of a case: each oracle raises :class:`Fault`, or :class:`Skip` if it cannot decide.

- ``values``: compiled code against the interpreter, and the interpreter against plain NumPy. -
``derivatives``: the same, with differences in long double instead of plain NumPy. - Other oracles
are in ``memory.py``, ``repeated.py`` and ``round_trips.py``.
"""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import autojit
from autojit.errors import AutojitError, RetraceWarning, UnrolledLoopWarning
from autojit.ir.tools.interpreter import interpret
from autojit.validation.rounding import noisy, parts, wrong_elements
from tests.fuzz import plain
from tests.fuzz.case import Case, autojit_names, leaves
from tests.fuzz.limits import TooSlow, limited_time
from tests.thresholds import Thresholds

#: Calls that only differences can check.
DERIVATIVES = re.compile(
    r"\b(grad|value_and_grad|hessian|jacfwd|jacrev|jvp|linearize|vjp|hvp)\("
)  # fmt: skip
#: The relative difference allowed for rounding before noise is tried, in double and single.
ROUNDING = {8: 1e-11, 4: 1e-5}
#: Seconds of processor time for a run of NumPy or of the interpreter.
LONGEST = 40.0
#: The accuracy of differences for first derivatives, second ones, and so on.
DIFFERENCES = (1e-6, 1e-5, 1e-3, 1e-2)


class Fault(Exception):
    """autojit is wrong. ``kind`` says in which way, in words that shrinking does not change."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(f"{kind}: {words}")
        self.kind = kind


class Refused(Exception):
    """autojit reports that it does not support the function."""


class Skip(Exception):
    """The oracle cannot decide."""


class Run:
    """One case being checked, with the results of each method, computed at most once."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.values = case.values()
        self.compared = 0
        self._program: Any = None
        self._wanted: list[Any] | None = None

    def compiled(self) -> list[Any]:
        with faults("compiled"):
            return leaves(self.case.run(autojit_names(), self.values))

    def interpreted(self) -> list[Any]:
        if self._wanted is None:
            with faults("interpreted"), autojit.disable_jit(), limited_time(LONGEST):
                self._wanted = leaves(self.case.run(autojit_names(), self.values))
        return self._wanted

    @property
    def program(self) -> Any:
        """The trace of the whole call."""
        if self._program is None:
            with faults("traced"):
                function = self.case.function(autojit_names())
                self._program = autojit.trace(function)(*self.values.values())
        return self._program

    def inputs(self) -> list[Any]:
        arrays = [*leaves(tuple(self.values.values())), *self.program.captured]
        return [np.asarray(a, t.dtype) for a, t in zip(arrays, self.program.in_types, strict=True)]

    def noise(self) -> list[list[Any]]:
        """The interpreter's results with noise in every rounded result, a few times."""
        inputs = self.inputs()
        rng = np.random.default_rng(0)
        return [noisy(self.program, inputs, rng, sign) for sign in (1, -1, 1, -1)]


@contextmanager
def faults(way: str) -> Iterator[None]:
    """Convert an exception raised while autojit runs to a refusal or a fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for harmless in (RetraceWarning, UnrolledLoopWarning):
                warnings.simplefilter("ignore", harmless)
            # NumPy warns about the mean of an array in which nothing is traced.
            for words in ("Mean of empty slice", "invalid value encountered in scalar divide"):
                warnings.filterwarnings("ignore", words, RuntimeWarning)
            yield
    except AutojitError as error:
        raise Refused(f"{type(error).__name__}: {error}") from None
    except (Fault, Refused, Skip):
        raise
    except TooSlow as error:
        raise Skip(str(error)) from None
    except Exception as error:
        if str(error).startswith("np."):  # raised on purpose, as NumPy's own error class
            raise Refused(f"{type(error).__name__}: {error}") from None
        words = re.sub(r"[\d'\"%\n].*", "", str(error), flags=re.DOTALL)[:40].strip()
        raised = f"{type(error).__name__} ({words})"
        raise Fault(f"{way} raises {raised}", traceback.format_exc(limit=-6)) from error


def by_numpy(case: Case, values: dict[str, Any], names: Callable[[], dict[str, Any]]) -> list[Any]:
    """The results of plain NumPy, in the precision of the arguments or in long double."""
    before = _contents(values)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(), limited_time(LONGEST):
            warnings.simplefilter("ignore")
            results = leaves(case.run(names(), values))
    except Exception as error:
        raise Skip(f"NumPy raises {type(error).__name__}: {error}"[:150]) from None
    if any(np.asarray(leaf).dtype.kind not in "biufc" for leaf in results):
        raise Skip("results are no numbers")
    if _contents(values) != before:
        raise Skip("the function writes into its arguments")
    return results


def _contents(values: dict[str, Any]) -> list[bytes]:
    return [v.tobytes() for v in leaves(tuple(values.values())) if isinstance(v, np.ndarray)]


def check_values(run: Run) -> None:
    """Compiled, interpreted, and NumPy's results are equal, and so are their types."""
    if DERIVATIVES.search(run.case.source + run.case.call):
        return check_derivatives(run)
    wanted = by_numpy(run.case, _own(run.values), plain.names)
    interpreted = run.interpreted()
    compare(run, "interpreter and NumPy", interpreted, wanted, ROUNDING)
    compare(run, "compiled and interpreted", run.compiled(), interpreted, ROUNDING)


def check_derivatives(run: Run) -> None:
    """Compiled derivatives agree with the interpreter's, and these with differences."""
    from tests.fuzz import differences

    interpreted = run.interpreted()
    compare(run, "compiled and interpreted", run.compiled(), interpreted, ROUNDING)
    wide = {name: _widened(value) for name, value in run.values.items()}
    with differences.limited():
        wanted = by_numpy(run.case, wide, plain.wide_names)
    known = sum(int(np.sum(np.isfinite(w))) for w in wanted)
    if wanted and not known and sum(np.size(w) for w in wanted):
        raise Skip("no derivative by differences: at kinks, or too large")
    level = min(differences.deepest(), len(DIFFERENCES)) - 1
    close = {8: DIFFERENCES[level], 4: max(DIFFERENCES[level], 2e-3)}
    shown = [
        np.where(np.isfinite(w), w, g) if np.shape(w) == np.shape(g) else w
        for w, g in zip(wanted, interpreted, strict=True)
    ]
    try:
        compare(run, "interpreter and differences", interpreted, shown, close, types=False)
    except Fault:
        _check_long_double(run.case)
        raise


def _check_long_double(case: Case) -> None:
    """Skip the case if the function itself has other values in long double, for instance if a
    branch depends on small numbers that underflow to 0."""
    alone = case.with_(call=f"f({', '.join(case.arguments)})")
    if DERIVATIVES.search(case.source):
        return
    usual = by_numpy(alone, _own(alone.values()), plain.names)
    wide = by_numpy(alone, {n: _widened(v) for n, v in alone.values().items()}, plain.wide_names)
    for u, w in zip(usual, wide, strict=True):
        close = {8: 1e-6, 4: 1e-2}
        if not _near(np.asarray(u), np.asarray(w), close):
            raise Skip("the function has other values in long double")


def _widened(tree: Any) -> Any:
    from tests.fuzz.case import mapped

    return mapped(plain.widened, tree)


def _own(values: dict[str, Any]) -> dict[str, Any]:
    from tests.fuzz.case import mapped

    def one(x: Any) -> Any:
        return np.copy(x)[()] if isinstance(x, np.ndarray) else x

    return {name: mapped(one, value) for name, value in values.items()}


def compare(
    run: Run, kind: str, got: Sequence[Any], wanted: Sequence[Any], close: dict[int, float],
    *, types: bool = True,
) -> None:  # fmt: skip
    """Raise unless results agree up to the usual rounding, or up to the effect of noise."""
    if len(got) != len(wanted):
        raise Fault(f"{kind} have other trees", f"{len(got)} results and {len(wanted)}")
    doubtful = []
    for position, (g, w) in enumerate(zip(got, wanted, strict=True)):
        g, w = np.asarray(g), np.asarray(w)
        if g.shape != w.shape or (types and g.dtype != w.dtype):
            raise Fault(
                f"{kind} differ in type",
                f"result {position}: {g.dtype}{g.shape} and {w.dtype}{w.shape}",
            )
        run.compared += g.size
        if not _near(g, w, close):
            doubtful.append(position)
    if doubtful:
        _judge(run, kind, doubtful, got, wanted, close)


def _precision(array: Any) -> int:
    return min(8, array.dtype.itemsize // (2 if array.dtype.kind == "c" else 1))


def _near(g: Any, w: Any, close: dict[int, float]) -> bool:
    if g.dtype.kind not in "fc":
        return bool(np.all(g == w))
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(w), np.abs(w), 0)
        rtol = close[4] if _precision(g) == 4 else close[8]
        allowed = rtol * (size + 1e-3 * np.max(size, initial=0) + 1e-3)
        same = (g == w) | (np.isnan(g) & np.isnan(w))
        return bool(np.all(same | (np.abs(g - w) <= allowed)))


def _judge(
    run: Run, kind: str, positions: Sequence[int], got: Sequence[Any], wanted: Sequence[Any],
    close: dict[int, float],
) -> None:  # fmt: skip
    """Raise if elements differ by more than the effect of noise."""
    with faults("traced"):
        noise = run.noise()
        exact = interpret(run.program, run.inputs())
    for position in positions:
        g, w = np.asarray(got[position]), np.asarray(wanted[position])
        others = [n[position] for n in noise]
        eps = close[4] if _coarse(run) else close[8]
        for g_part, w_part, base, *moved in zip(
            parts(g), parts(w), parts(exact[position]), *map(parts, others), strict=True
        ):
            shifted = [m - base + w_part for m in moved] if base.dtype.kind == "f" else moved
            wrong = wrong_elements(w_part, g_part, shifted, eps)
            if np.any(wrong):
                raise Fault(f"{kind} differ", _difference(position, g, w, wrong))


def _coarse(run: Run) -> bool:
    """Whether anything is in single precision."""
    types = [*run.program.in_types, *(v.type for op in run.program.ops for v in op.results)]
    return any(t.is_inexact and np.finfo(t.dtype).bits < 64 for t in types)


def _difference(position: int, g: Any, w: Any, wrong: Any) -> str:
    first = tuple(int(k[0]) for k in np.nonzero(wrong)) if wrong.ndim else ()
    with np.printoptions(precision=6, threshold=12):
        return (
            f"result {position}, {int(np.sum(wrong))} of {wrong.size} elements, the first at "
            f"{first}: {g[first]!r} and {w[first]!r}\n{g}\n{w}"
        )


@dataclass
class Outcome:
    """The outcome of a case: ok, refused, skipped or failed, with its kind and the message."""

    status: str
    kind: str = ""
    words: str = ""
    compared: int = 0
    skips: list[str] = field(default_factory=list)


def oracles() -> dict[str, Callable[[Run], None]]:
    from tests.fuzz.memory import check_memory
    from tests.fuzz.repeated import check_threads
    from tests.fuzz.round_trips import check_round_trips

    return {
        "values": check_values, "derivatives": check_derivatives, "memory": check_memory,
        "threads": check_threads, "round_trips": check_round_trips,
    }  # fmt: skip


def check(case: Case) -> Outcome:
    """Check a case with all its oracles."""
    run, skips = Run(case), []
    table = oracles()
    try:
        for name in case.checks:
            try:
                with Thresholds(case.thresholds) if case.thresholds else nullcontext():
                    table[name](run)
            except Skip as skip:
                skips.append(f"{name}: {skip}")
    except Refused as refused:
        return Outcome("refused", str(refused).split(":")[0], str(refused), run.compared, skips)
    except Fault as fault:
        if " raises " in fault.kind and not taken_by_numpy(case, case.values()):
            return Outcome("skipped", "", "", run.compared, [*skips, "NumPy raises too"])
        return Outcome("failed", fault.kind, str(fault), run.compared, skips)
    except Exception as error:
        words = traceback.format_exc(limit=-6)
        return Outcome("failed", f"the oracle raises {type(error).__name__}", words, run.compared)
    status = "skipped" if len(skips) == len(case.checks) else "ok"
    return Outcome(status, "", "", run.compared, skips)


def taken_by_numpy(case: Case, values: dict[str, Any]) -> bool:
    """Whether NumPy accepts the function itself, and its call if that takes no derivatives."""
    inside = bool(DERIVATIVES.search(case.source))
    runs = [case.with_(call=f"f({', '.join(case.arguments)})")]
    if not DERIVATIVES.search(case.call):
        runs.append(case)
    try:
        for run in runs:
            by_numpy(run, _own(values), plain.wide_names if inside else plain.names)
    except Skip:
        return False
    return True
