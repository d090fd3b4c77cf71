"""Fourier transforms as sums: n products a number.

Angles are taken of ``j k mod n``, so they are exact up to one rounding for every length.
"""

from __future__ import annotations

from math import pi

from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core.affine import Affine

from .builder import Array, Code, Number


def fourier(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """The transforms of the rows of a matrix."""
    (x,), (y,) = inputs, outputs
    kind, n = s.params["kind"], s.params["length"]
    made = n // 2 + 1 if kind == "real" else n
    with code.loop(s.m) as row, code.loop(made) as k:
        dtype = y.buffer.dtype
        scale = code.constant(s.params["scale"], dtype)
        with code.sums(n // 2 + 1 if kind == "half" else n, dtype, y.parts) as (j, sums):
            sums.add(_term(code, s, code.load(x, row, j), j, k))
        code.store(y, (row, k), code.scale(sums.totals, scale))


def _term(code: Code, s: Factorization, x: Number, j: Affine, k: Affine) -> Number:
    """What number j adds to number k of the result."""
    kind, n, dtype = s.params["kind"], s.params["length"], x[0].dtype
    cosine, sine = _turn(code, j, k, n, dtype)
    if kind in ("forward", "real"):
        sine = code.compute("neg", sine)
    if kind == "real":
        return code.compute("mul", x[0], cosine), code.compute("mul", x[0], sine)
    if kind != "half":
        return code.mul(x, (cosine, sine))
    # Those between the first and the last stand for their conjugates, too.
    part = code.compute("mul", x[0], cosine)
    other = code.compute("sub", part, code.compute("mul", x[1], sine))
    double = code.compute("mul", code.constant(2.0, dtype), other)
    between = code.within(j, 1, (n + 1) // 2)
    return (code.compute("select", between, double, part),)


def _turn(code: Code, j: Affine, k: Affine, n: int, dtype: str) -> tuple[Scalar, Scalar]:
    """Cosine and sine of ``2 π j k / n``."""
    product = code.compute("mul", code.number(j), code.number(k))
    rest = code.compute("remainder", product, code.constant(n, "i64"))
    angle = code.compute("convert", rest, dtype="f64")
    angle = code.compute("mul", angle, code.constant(2 * pi / n, "f64"))
    pair = [code.compute(name, angle) for name in ("cos", "sin")]
    if dtype != "f64":
        pair = [code.compute("convert", x, dtype=dtype) for x in pair]
    return pair[0], pair[1]
