"""Find the minimax polynomials and write `coefficients.py`: a developer's tool, never imported.

    python -m bench.vector_math.remez            # all of them, into coefficients.py
    python -m bench.vector_math.remez exp log    # only print these (any width)

For each target, the polynomial P of a given degree minimises max |weight (f - P)| over an interval.
Remez' exchange algorithm (Muller, "Elementary Functions", chapter 3) finds it with 60 digits; then
it is rounded to the format. The weight turns an error of P into a relative error of the function
that uses P, so the printed error can be compared with 2**-53 or 2**-24.
"""

from __future__ import annotations

import functools
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mpmath import mp, mpf  # type: ignore[import-untyped]

from .remez_targets import TARGETS, Target

PACKAGE = Path(__file__).parents[2] / "codegen" / "vector_math"

Real = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    coefficients: list[mpf]
    error: mpf


def _horner(coefficients: list[mpf], x: mpf) -> mpf:
    """The polynomial with these coefficients, lowest power first."""
    return functools.reduce(lambda total, c: total * x + c, reversed(coefficients))


def minimax(target: Target, degree: int) -> Fit:
    """Remez' algorithm: level the error on degree + 2 points, move them to its extrema, repeat."""
    low, high = mpf(target.low), mpf(target.high)
    middle, radius = (low + high) / 2, (high - low) / 2
    points = [
        middle - radius * mp.cos(mp.pi * (k + mpf(1) / 2) / (degree + 2)) for k in range(degree + 2)
    ]
    cells = 24 * (degree + 2)
    grid = [middle - radius * mp.cos(mp.pi * k / cells) for k in range(cells + 1)]
    wanted = [target.function(x) for x in grid]
    weights = [target.weight(x) for x in grid]

    for _ in range(40):
        coefficients, level = _level_error(target, points, degree)

        def error_at(x: mpf, c: list[mpf] = coefficients) -> mpf:
            return target.weight(x) * (target.function(x) - _horner(c, x))

        errors = [
            w * (f - _horner(coefficients, x))
            for x, f, w in zip(grid, wanted, weights, strict=True)
        ]
        points, peaks = _alternating_extrema(grid, errors, degree + 2, error_at)
        if max(peaks) <= abs(level) * mpf("1.001"):
            break
    return Fit(coefficients, max(peaks))


def _level_error(target: Target, points: list[mpf], degree: int) -> tuple[list[mpf], mpf]:
    """The polynomial whose weighted error is +e, -e, +e, ... on the points; and e."""
    matrix = mp.matrix(degree + 2)
    right = mp.matrix(degree + 2, 1)
    for row, x in enumerate(points):
        weight = target.weight(x)
        for power in range(degree + 1):
            matrix[row, power] = weight * x**power
        matrix[row, degree + 1] = (-1) ** row
        right[row] = weight * target.function(x)
    solution = mp.lu_solve(matrix, right)
    return [solution[k] for k in range(degree + 1)], solution[degree + 1]


def _alternating_extrema(
    grid: list[mpf], errors: list[mpf], count: int, error_at: Real
) -> tuple[list[mpf], list[mpf]]:
    """The point of largest error from each run of one sign, for `count` neighbouring runs."""
    runs: list[int] = []
    for index, error in enumerate(errors):
        if error == 0:
            continue
        if runs and (errors[runs[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = index
        else:
            runs.append(index)
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    if len(runs) < count:
        raise ArithmeticError(f"only {len(runs)} of {count} alternations: lower the degree")
    points = [_refine(grid, index, error_at) for index in runs]
    return points, [abs(error_at(x)) for x in points]


def _refine(grid: list[mpf], index: int, error_at: Real) -> mpf:
    """The top of the parabola through a grid point and its neighbours."""
    if index in (0, len(grid) - 1):
        return grid[index]
    a, b, c = grid[index - 1 : index + 2]
    fa, fb, fc = error_at(a), error_at(b), error_at(c)
    numerator = (b - a) ** 2 * (fb - fc) - (b - c) ** 2 * (fb - fa)
    denominator = (b - a) * (fb - fc) - (b - c) * (fb - fa)
    top = b - numerator / (2 * denominator) if denominator else b
    return top if a < top < c and abs(error_at(top)) > abs(fb) else b


def rounded(coefficient: mpf, bits: int) -> float:
    if bits == 64:
        return float(coefficient)
    return float(struct.unpack("f", struct.pack("f", float(coefficient)))[0])


def report(name: str, bits: int, target: Target, degree: int) -> list[float]:
    fit = minimax(target, degree)
    coefficients = [rounded(c, bits) for c in fit.coefficients]
    print(f"{name:16} f{bits} degree {degree:2}  error 2**{float(mp.log(fit.error, 2)):.1f}")
    return coefficients


def render(table: dict[tuple[str, int], list[float]]) -> str:
    lines = [
        '"""Minimax polynomials, lowest power first, by name and width '
        '(by bench/vector_math/remez.py)."""',
        "",
        "COEFFICIENTS: dict[tuple[str, int], tuple[float, ...]] = {",
    ]
    for (name, bits), coefficients in table.items():
        lines.append(f'    ("{name}", {bits}): (')
        lines += [f"        {coefficient!r}," for coefficient in coefficients]
        lines.append("    ),")
    return "\n".join([*lines, "}", ""])


def main(names: list[str]) -> None:
    mp.dps = 60
    table = {
        (name.removesuffix("_float"), bits): report(name, bits, target, degree)
        for name, target in TARGETS.items()
        if not names or name in names
        for bits, degree in target.degrees.items()
    }
    if names:
        print(render(table))
    else:
        (PACKAGE / "coefficients.py").write_text(render(table))


if __name__ == "__main__":
    main(sys.argv[1:])
