"""One kernel in a process: `python -m bench.npbench.worker CHECKOUT KERNEL PRESET THREADS PARTS`.

It prints a line of JSON for each new result, so that a timeout loses only the later ones.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.npbench.kernels import Kernel, kernels
from bench.worker import restrict

#: Relative tolerances for directional derivatives, by dtype; they are larger for float32.
DIGITS = {"f": 2e-2, "F": 2e-2, "d": 2e-4, "D": 2e-4}
#: The tolerances for results are those of NPBench.
RELATIVE, ABSOLUTE = 1e-5, 1e-8

#: The steps of differences, longest first; the number of moved elements of each argument, and the
#: number of directions.
STEPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
ELEMENTS, DIRECTIONS = 3, 2

Call = Callable[[], Any]


def say(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


def reason(error: BaseException) -> str:
    """The first sentences of an error, in one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:400]


def seconds(call: Call, longest: float = 1.0) -> float:
    """The least time of several calls; a call that takes longer than a second is measured once."""
    call()
    least, deadline = float("inf"), time.perf_counter() + longest
    while time.perf_counter() < deadline or least == float("inf"):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def first(call: Call) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def largest_error(found: list[Any], wanted: list[Any], rtol: float) -> float:
    """The largest deviation of any result in units of the tolerance."""
    if len(found) != len(wanted):
        return float("inf")
    errors = [0.0]
    for a, b in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        if a.shape != b.shape:
            return float("inf")
        both = np.isnan(a) & np.isnan(b) if a.dtype.kind in "fc" else np.zeros(a.shape, bool)
        scale = ABSOLUTE + rtol * np.maximum(np.abs(b), np.sqrt(np.mean(np.abs(b[~both]) ** 2))
                                             if b[~both].size else 0)  # fmt: skip
        difference = np.where(both | (a == b), 0, np.abs(a - b.astype(a.dtype))) / scale
        errors.append(float(np.max(difference, initial=0)))
    return max(errors)


def tolerance(results: list[Any]) -> float:
    return max(1e-3 if np.asarray(r).dtype.char in "fF" else RELATIVE for r in results)


# -- derivatives -------------------------------------------------------------------------


def total(results: list[Any]) -> Any:
    """The sum of all results except integers; for complex results, of their real parts."""
    result = 0.0
    for r in results:
        if np.dtype(r.dtype if hasattr(r, "dtype") else type(r)).kind in "fc":
            result = result + np.sum(np.real(r))
    return result


def is_inexact(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


def directional(function: Any, arguments: list[Any], by: list[int], rng: Any) -> Any:
    """A direction with a few elements of each argument, and the change of the total along it.

    The change is a central difference by NumPy. Of several steps, the one is used at which it
    changes least: the function is not linear over a longer step, and rounding dominates in a
    shorter one.
    """
    direction = {k: _few(np.asarray(arguments[k]), rng) for k in by}
    found = []
    for h in STEPS:
        ends = []
        for step in (h, -h):
            moved = list(arguments)
            for k, d in direction.items():
                y = (np.asarray(arguments[k]) + step * d).astype(d.dtype)
                moved[k] = y if y.shape else y.dtype.type(y)
            ends.append([np.asarray(r) for r in function(*moved) if is_inexact(r)])
        # element by element, so that unchanged elements add no error
        change = sum(float(np.nansum(np.real(a).astype(np.float64) - np.real(b)))
                     for a, b in zip(*ends, strict=True))  # fmt: skip
        found.append(change / (2 * h))
    changes = [abs(a - b) for a, b in itertools.pairwise(found)]
    return direction, found[1 + int(np.argmin(changes))]


def _few(x: np.ndarray, rng: Any) -> np.ndarray:
    """A direction along a few random elements, with the magnitude of the array."""
    d = np.zeros(x.shape, x.dtype)
    scale = max(1e-3, float(np.sqrt(np.mean(np.abs(x) ** 2)))) if x.size else 1.0
    for _ in range(min(ELEMENTS, x.size)):
        place = tuple(int(rng.integers(n)) for n in x.shape)
        d[place] = scale * rng.standard_normal()
        if x.dtype.kind == "c":
            d[place] += 1j * scale * rng.standard_normal()
    return d


def slope_error(gradients: Any, direction: dict[int, Any], wanted: float) -> float:
    """How far the directional derivative is off, against the sizes of its terms."""
    parts = [np.real(np.asarray(g) * d) for g, d in zip(gradients, direction.values(), strict=True)]
    found = sum(float(np.sum(p, dtype=np.float64)) for p in parts)
    size = np.sqrt(sum(float(np.sum(p.astype(np.float64) ** 2)) for p in parts))
    return abs(found - wanted) / max(abs(wanted), size, 1e-12)


# -- the parts of a run ------------------------------------------------------------------


def measure_forward(plain: Any, arguments: list[Any], static: tuple[int, ...]) -> None:
    from autojit import jit

    wanted = plain(*arguments)
    say(numpy_s=seconds(lambda: plain(*arguments)))
    try:
        compiled = jit(plain, static_argnums=static)
        found, built = first(lambda: compiled(*arguments))
        error = largest_error(found, wanted, tolerance(wanted))
        say(forward="right" if error <= 1 else f"wrong by {error:.1e} tolerances", first_s=built)
        say(jit_s=seconds(lambda: compiled(*arguments)))
    except Exception as failure:
        say(forward=reason(failure))


def measure_gradient(plain: Any, arguments: list[Any], static: tuple[int, ...]) -> None:
    from autojit import grad, jit

    by = [k for k, a in enumerate(arguments) if is_inexact(a)]
    if not by or not any(map(is_inexact, plain(*arguments))):
        say(gradient="integers only")
        return
    try:
        derived = jit(grad(lambda *a: total(plain(*a)), argnums=tuple(by)), static_argnums=static)
        gradients, built = first(lambda: derived(*arguments))
        say(gradient_first_s=built)
        rng = np.random.default_rng(0)
        errors = []
        for _ in range(DIRECTIONS):
            direction, wanted = directional(plain, arguments, by, rng)
            errors.append(slope_error(gradients, direction, wanted))
        kind = max((np.asarray(r).dtype.char for r in plain(*arguments) if is_inexact(r)),
                   key=lambda c: DIGITS.get(c, 0))  # fmt: skip
        right = max(errors) <= DIGITS[kind]
        say(gradient="right" if right else f"off by {max(errors):.1e}", gradient_error=max(errors))
        say(gradient_s=seconds(lambda: derived(*arguments)))
    except Exception as failure:
        say(gradient=reason(failure))


def measure_numba(kernel: Kernel, plain: Any, arguments: list[Any]) -> None:
    wanted = plain(*arguments)
    failures, least = [], float("inf")
    for version in kernel.versions_for_numba():
        try:
            function = kernel.function(version)
            found, built = first(lambda function=function: function(*arguments))
            error = largest_error(found, wanted, tolerance(wanted))
            if error > 1:
                failures.append(f"{version}: wrong by {error:.1e} tolerances")
                continue
            taken = seconds(lambda function=function: function(*arguments))
            if taken < least:
                least = taken
                say(numba_s=taken, numba_version=version, numba_first_s=built)
        except Exception as failure:
            failures.append(f"{version}: {reason(failure)}")
    if least == float("inf"):
        say(numba="; ".join(failures)[:400] or "no version")


def main(argv: list[str]) -> None:
    checkout, name, preset, threads, parts = argv
    restrict(int(threads))
    warnings.simplefilter("ignore")
    (kernel,) = kernels(Path(checkout), [name])
    arguments = kernel.data(preset)
    plain = kernel.function("numpy")
    # sizes and counts determine shapes, so they must be static, not traced
    static = tuple(k for k, a in enumerate(arguments) if isinstance(a, (int, np.integer)))
    if "f" in parts:
        measure_forward(plain, arguments, static)
    if "g" in parts:
        measure_gradient(plain, arguments, static)
    if "n" in parts:
        measure_numba(kernel, plain, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
