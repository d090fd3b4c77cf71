"""One kernel: `python -m bench.npbench.worker CHECKOUT KERNEL PRESET THREADS PART RESULTS`.

It prints a line of JSON for each new result, so that a timeout loses only the later ones. The first
part that is done leaves NumPy's results in the file RESULTS, since NumPy takes minutes for some.
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
from bench.npbench.others import dace_call, jax_function, load_jax, matching
from bench.worker import restrict

#: Relative tolerances for directional derivatives, by dtype; they are larger for float32.
DIGITS = {"f": 2e-2, "F": 2e-2, "d": 2e-4, "D": 2e-4}
#: The tolerances for results are those of NPBench.
RELATIVE, ABSOLUTE = 1e-5, 1e-8

#: The steps of differences, longest first; the number of moved elements of each argument, and the
#: number of directions.
STEPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
ELEMENTS, DIRECTIONS = 3, 2
#: The outcome of a gradient until it is compared with differences.
NOT_COMPARED = "not compared with differences in time"

Call = Callable[[], Any]


def say(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


def reason(error: BaseException) -> str:
    """The first sentences of an error, in one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:400]


def seconds(call: Call, longest: float = 1.0) -> float:
    """The least time of several calls, without the first; a call that takes longer than a second is
    measured once."""
    _, least = first(call)
    if least > longest:
        return least
    least, deadline = float("inf"), time.perf_counter() + longest
    while time.perf_counter() < deadline or least == float("inf"):
        least = min(least, first(call)[1])
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


def least_error(found: list[Any], wanted: list[Any]) -> float:
    """The largest deviation of a version that may return arrays that it has changed too."""
    if len(found) > len(wanted):
        near = matching(found, wanted, lambda a, b: largest_error([a], [b], tolerance(wanted)))
        found = [found[k] for k in near]
    return largest_error(found, wanted, tolerance(wanted))


def tolerance(results: list[Any]) -> float:
    return max(1e-3 if np.asarray(r).dtype.char in "fF" else RELATIVE for r in results)


def sensitivity(plain: Any, arguments: list[Any], wanted: list[Any]) -> float:
    """How far NumPy's results move, in units of the tolerance, if each number among the arguments
    moves to the next one: far in iterations that are chaotic."""
    moved = [np.nextafter(a, np.inf) if _is_real(a) else a for a in arguments]
    return largest_error(plain(*moved), wanted, tolerance(wanted))


#: Results that move by this many times the rounding error of their inputs have no differences.
CHAOS = 1e5


def is_chaotic(plain: Any, arguments: list[Any]) -> bool:
    """Whether rounding errors of the inputs grow too much for central differences."""
    wanted = plain(*arguments)
    moved = sensitivity(plain, arguments, wanted) * tolerance(wanted)
    return moved > CHAOS * np.finfo(np.float64).eps


def _is_real(x: Any) -> bool:
    return np.asarray(x).dtype.kind == "f"


# -- derivatives -------------------------------------------------------------------------


def total(results: list[Any], xp: Any = np) -> Any:
    """The sum of all results except integers; for complex results, of their real parts."""
    result = 0.0
    for r in results:
        if np.dtype(r.dtype if hasattr(r, "dtype") else type(r)).kind in "fc":
            result = result + xp.sum(xp.real(r))
    return result


def is_inexact(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


def directional(function: Any, arguments: list[Any], by: list[int], rng: Any) -> Any:
    """A direction with a few elements of each argument, the change of the total along it, and how
    uncertain that is.

    The change is a central difference by NumPy. Of several steps, the one is used at which it
    changes least: the function is not linear over a longer step, and rounding dominates in a
    shorter one. The uncertainty is that least change, or the rounding of the changed results.
    """
    direction = {k: _few(np.asarray(arguments[k]), rng) for k in by}
    found: list[float] = []
    rounding: list[float] = []
    for h in STEPS:
        try:
            ends = [_moved(function, arguments, direction, step) for step in (h, -h)]
        except np.linalg.LinAlgError:  # the step leaves the matrices that have a factor
            continue
        # element by element, so that unchanged elements add no error
        change = sum(float(np.nansum(np.real(a).astype(np.float64) - np.real(b)))
                     for a, b in zip(*ends, strict=True))  # fmt: skip
        found.append(change / (2 * h))
        rounding.append(sum(map(_rounding, *ends)) / (2 * h))
    changes = [abs(a - b) for a, b in itertools.pairwise(found)]
    best = 1 + int(np.argmin(changes))
    return direction, found[best], max(min(changes), rounding[best])


def _moved(
    function: Any, arguments: list[Any], direction: dict[int, Any], step: float
) -> list[np.ndarray]:
    """The inexact results at arguments that are moved along a direction."""
    moved = list(arguments)
    for k, d in direction.items():
        y = np.array(arguments[k])
        for place, change in d.items():
            y[place] += step * change
        moved[k] = y if y.shape else y.dtype.type(y)
    return [np.asarray(r) for r in function(*moved) if is_inexact(r)]


def _rounding(a: np.ndarray, b: np.ndarray) -> float:
    """The rounding error of a sum of those elements of two results that differ."""
    differ = a[(a != b) & np.isfinite(a)]
    return float(np.finfo(a.dtype).eps * np.sqrt(np.sum(np.abs(differ).astype(np.float64) ** 2)))


#: The changes of a few elements of an array, by their places.
Changes = dict[tuple[int, ...], Any]


def _few(x: np.ndarray, rng: Any) -> Changes:
    """A direction along a few random elements, with the magnitude of the array; symmetric if the
    array is, as factorisations take it to be."""
    d: Changes = {}
    scale = max(1e-3, float(np.linalg.norm(x.ravel())) / np.sqrt(x.size)) if x.size else 1.0
    for _ in range(min(ELEMENTS, x.size)):
        place = tuple(int(rng.integers(n)) for n in x.shape)
        d[place] = scale * rng.standard_normal()
        if x.dtype.kind == "c":
            d[place] += 1j * scale * rng.standard_normal()
    if x.ndim == 2 and x.shape[0] == x.shape[1] and np.array_equal(x, x.T):
        places = [place for i, j in d for place in ((i, j), (j, i))]
        return {(i, j): d.get((i, j), 0) + d.get((j, i), 0) for i, j in places}
    return d


def slope_error(
    gradients: Any, direction: dict[int, Changes], wanted: float, uncertain: float
) -> float:
    """How far the directional derivative is off, against the sizes of its terms; where it is zero,
    as that of a sum of probabilities, the difference is rounding alone."""
    parts = [
        float(np.real(np.asarray(g)[place] * change))
        for g, d in zip(gradients, direction.values(), strict=True)
        for place, change in d.items()
    ]
    found, size = sum(parts), np.sqrt(sum(p**2 for p in parts))
    off = max(0.0, abs(found - wanted) - 8 * uncertain)
    return off / max(abs(wanted), size, 1e-12)


# -- the parts of a run ------------------------------------------------------------------


def results_of_numpy(plain: Any, arguments: list[Any], file: Path) -> list[Any]:
    """NumPy's results, from the file if it is there."""
    if file.exists():
        with np.load(file) as found:
            return [found[f"arr_{k}"] for k in range(len(found.files))]
    results = list(plain(*arguments))
    aside = file.with_name(f"unfinished_{file.name}")
    np.savez(aside, *results)
    aside.replace(file)
    return results


def measure_forward(
    plain: Any, wanted: list[Any], arguments: list[Any], static: tuple[int, ...]
) -> None:
    from autojit import jit

    say(numpy_s=seconds(lambda: plain(*arguments)))
    try:
        compiled = jit(plain, static_argnums=static)
        found, built = first(lambda: compiled(*arguments))
        error = largest_error(found, wanted, tolerance(wanted))
        is_right = error <= 1 or error <= sensitivity(plain, arguments, wanted)
        say(forward="right" if is_right else f"wrong by {error:.1e} tolerances", first_s=built)
        say(jit_s=seconds(lambda: compiled(*arguments)))
    except Exception as failure:
        say(forward=reason(failure))


def measure_gradient(
    plain: Any,
    wanted_results: list[Any],
    arguments: list[Any],
    static: tuple[int, ...],
    in_preset_s: bool,
) -> None:
    """The gradient, and its differences from NumPy's: those of the compiled function at larger
    sizes, where NumPy takes minutes for them.  `measure_forward` compares that one with NumPy's."""
    from autojit import grad, jit

    by = [k for k, a in enumerate(arguments) if is_inexact(a)]
    if not by or not any(map(is_inexact, wanted_results)):
        say(gradient="integers only")
        return
    try:
        derived = jit(grad(lambda *a: total(plain(*a)), argnums=tuple(by)), static_argnums=static)
        gradients, built = first(lambda: derived(*arguments))
        say(gradient_first_s=built, gradient=NOT_COMPARED)
        say(gradient_s=seconds(lambda: derived(*arguments)))
        moving = plain if in_preset_s else jit(plain, static_argnums=static)
        rng = np.random.default_rng(0)
        errors = []
        for _ in range(DIRECTIONS):
            direction, wanted, uncertain = directional(moving, arguments, by, rng)
            errors.append(slope_error(gradients, direction, wanted, uncertain))
        kind = max((np.asarray(r).dtype.char for r in wanted_results if is_inexact(r)),
                   key=lambda c: DIGITS.get(c, 0))  # fmt: skip
        right = max(errors) <= DIGITS[kind]
        result = "right" if right else f"off by {max(errors):.1e}"
        if not right and is_chaotic(plain, arguments):
            result += ", but differences mean nothing: its results are chaotic"
        say(gradient=result, gradient_error=max(errors))
    except Exception as failure:
        say(gradient=reason(failure))


def measure_numba(kernel: Kernel, wanted: list[Any], arguments: list[Any], at: list[int]) -> None:
    failures, least = [], float("inf")
    for version in kernel.versions_for_numba():
        try:
            function = kernel.function(version, at)
            found, built = first(lambda function=function: function(*arguments))
            error = least_error(found, wanted)
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


def measure_jax(
    kernel: Kernel, wanted: list[Any], arguments: list[Any], static: tuple[int, ...]
) -> None:
    """JAX's version under its `jit`, and the gradient of the sum of those of its results that
    NumPy's version has."""
    try:
        jax = load_jax()
        moving = [k for k in range(len(arguments)) if k not in static]
        arrays = [jax.numpy.asarray(arguments[k]) for k in moving]
        plain = jax_function(kernel, arguments, static)
        compiled = jax.jit(plain)
        found, built = first(lambda: jax.block_until_ready(compiled(*arrays)))
        same = matching(found, wanted, lambda a, b: largest_error([a], [b], tolerance(wanted)))
        if len(same) < min(len(found), len(wanted)):
            say(jax="wrong")
            return
        say(jax="right", jax_first_s=built)
        say(jax_s=seconds(lambda: jax.block_until_ready(compiled(*arrays))))
    except Exception as failure:
        say(jax=reason(failure))
        return
    by = tuple(k for k, a in enumerate(arrays) if is_inexact(a))
    if not by or not any(map(is_inexact, wanted)):
        return
    try:
        sums = lambda *a: total([plain(*a)[k] for k in same], jax.numpy)  # noqa: E731
        derived = jax.jit(jax.grad(sums, argnums=by))
        _, built = first(lambda: jax.block_until_ready(derived(*arrays)))
        say(jax_gradient="done", jax_gradient_first_s=built)
        say(jax_gradient_s=seconds(lambda: jax.block_until_ready(derived(*arrays))))
    except Exception as failure:
        say(jax_gradient=reason(failure))


def measure_dace(
    kernel: Kernel, preset: str, wanted: list[Any], arguments: list[Any], at: list[int]
) -> None:
    try:
        start = time.perf_counter()
        call = dace_call(kernel, preset, arguments, at)
        found = call()
        built = time.perf_counter() - start
        error = least_error(found, wanted)
        say(dace="right" if error <= 1 else f"wrong by {error:.1e} tolerances", dace_first_s=built)
        say(dace_s=seconds(call))
    except Exception as failure:
        say(dace=reason(failure))


def main(argv: list[str]) -> None:
    checkout, name, preset, threads, part, file = argv
    restrict(int(threads))
    warnings.simplefilter("ignore")
    (kernel,) = kernels(Path(checkout), [name])
    arguments = kernel.data(preset)
    written = kernel.written(arguments)
    plain = kernel.function("numpy", written)
    # sizes and counts determine shapes, so they must be static, not traced
    static = tuple(k for k, a in enumerate(arguments) if isinstance(a, (int, np.integer)))
    wanted = results_of_numpy(plain, arguments, Path(file))
    if part == "f":
        measure_forward(plain, wanted, arguments, static)
    elif part == "g":
        measure_gradient(plain, wanted, arguments, static, preset == "S")
    elif part == "n":
        measure_numba(kernel, wanted, arguments, written)
    elif part == "j":
        measure_jax(kernel, wanted, arguments, static)
    else:
        measure_dace(kernel, preset, wanted, arguments, written)


if __name__ == "__main__":
    main(sys.argv[1:])
