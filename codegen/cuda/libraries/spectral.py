"""Eigenvalues, singular values and pseudo-inverses by cuSOLVER, Fourier transforms by cuFFT."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autojit.codegen.cuda.device_program.calls import Part
from autojit.codegen.cuda.device_program.failures import NO_EIGENVALUES, NO_SVD
from autojit.codegen.cuda.matrices.builder import Code
from autojit.codegen.loop_ir.matrices import Factorization, parts_of
from autojit.codegen.loop_ir.values import Operand

from .factors import turned_copy, zero_of
from .layouts import step_of
from .plans import Plan, Temp, View
from .routines import Geev, Gesvd, Syevd
from .transforms import LARGEST, Lines, Transform


def _real(dtype: str) -> str:
    return {"c64": "f32", "c128": "f64"}.get(dtype, dtype)


def _check(plan: Plan, info: Temp, values: Temp, words: str) -> None:
    """Add checks that fail if the routine did not converge, or returned NaN."""

    def write(v: View) -> None:
        code = v.code
        (found,) = code.load(v.of(info), 0)
        code.fail(code.compare("ne", found, code.constant(0, "i32")), words)
        first = code.load(v.of(values), 0)[0]
        code.fail(code.compare("ne", first, first), words)

    plan.loops(write, serial=True)


def eigh(plan: Plan) -> None:
    """Compute eigenvectors, which replace the columns of the column-major matrix."""
    s, n = plan.step, plan.step.n
    work, info = plan.temp(s.dtype, n, n), plan.temp("i32", 1)
    values = plan.temp(_real(s.dtype), n)
    plan.loops(lambda v: turned_copy(v.code, v.inputs[0], v.of(work), n, n))
    routine = Syevd(s.dtype, n, s.params["lower"])
    plan.call(routine, f"syevd of [{n}, {n}]", work.part("rw"), values.part("w"), info.part("w"))
    _check(plan, info, values, NO_EIGENVALUES)

    def after(v: View) -> None:
        v.code.copy(v.of(values), v.outputs[0], n)
        turned_copy(v.code, v.of(work), v.outputs[1], n, n)

    plan.loops(after)


def eig(plan: Plan) -> None:
    """Compute eigenvalues in complex numbers, since the results are complex even for real
    matrices."""
    s, n = plan.step, plan.step.n
    dtype = s.elements[-1]
    work, vectors = plan.temp(dtype, n, n), plan.temp(dtype, n, n)
    values, info = plan.temp(dtype, n), plan.temp("i32", 1)

    def before(v: View) -> None:
        code, (a,) = v.code, v.inputs
        with code.loop(n) as j, code.loop(n) as i:
            x = code.load(a, i, j)
            nothing = code.constant(0.0, a.buffer.dtype)
            code.store(v.of(work), (j, i), x if len(x) == 2 else (*x, nothing))

    def after(v: View) -> None:
        v.code.copy(v.of(values), v.outputs[0], n)
        turned_copy(v.code, v.of(vectors), v.outputs[1], n, n)

    plan.loops(before)
    plan.call(
        Geev(dtype, n), f"geev of [{n}, {n}]", work.part("rw"), values.part("w"),
        vectors.part("w"), info.part("w"),
    )  # fmt: skip
    _check(plan, info, values, NO_EIGENVALUES)
    plan.loops(after)


def _singular(plan: Plan, *, full: bool) -> tuple[Temp, Temp, Temp]:
    """Compute U, the values, and Vᴴ, row-major.

    cuSOLVER takes matrices with no more columns than rows.  For a wide matrix it gets the
    transpose, which needs no copy in another order; then Vᴴ takes the place of U, and U that of Vᴴ.
    """
    s, m, n = plan.step, plan.step.m, plan.step.n
    few, info = min(m, n), plan.temp("i32", 1)
    values = plan.temp(_real(s.dtype), few)
    columns = max(m, n) if full else few
    if m < n:
        work = plan.temp(s.dtype, m, n)
        u, vh = plan.temp(s.dtype, m, m), plan.temp(s.dtype, columns, n)
        plan.loops(lambda v: v.code.copy(v.inputs[0], v.of(work), m, n))
        routine, left, right = Gesvd(s.dtype, n, m, full), vh, u
    else:
        work = plan.temp(s.dtype, n, m)
        left, right = plan.temp(s.dtype, columns, m), plan.temp(s.dtype, n, n)
        u, vh = plan.temp(s.dtype, m, columns), plan.temp(s.dtype, n, n)
        plan.loops(lambda v: turned_copy(v.code, v.inputs[0], v.of(work), m, n))
        routine = Gesvd(s.dtype, m, n, full)
    plan.call(
        routine, f"gesvd of [{m}, {n}]", work.part("rw"), values.part("w"), left.part("w"),
        right.part("w"), info.part("w"),
    )  # fmt: skip
    _check(plan, info, values, NO_SVD)
    if m >= n:

        def after(v: View) -> None:
            turned_copy(v.code, v.of(left), v.of(u), columns, m)
            turned_copy(v.code, v.of(right), v.of(vh), n, n)

        plan.loops(after)
    return u, values, vh


def svd(plan: Plan) -> None:
    """Compute singular values and vectors; all vectors if ``full`` is among the parameters."""
    found = _singular(plan, full="full" in plan.step.params)

    def after(v: View) -> None:
        for temp, output in zip(found, v.outputs, strict=True):
            v.code.copy(v.of(temp), output, *temp.shape)

    plan.loops(after)


def pseudo_inverse(plan: Plan) -> None:
    """Compute ``V s⁺ Uᴴ``, a product of the vectors, of which one side is scaled."""
    s, m, n = plan.step, plan.step.m, plan.step.n
    few, dtype = min(m, n), _real(s.dtype)
    u, values, vh = _singular(plan, full=False)
    left, right = plan.temp(s.dtype, n, few), plan.temp(s.dtype, few, m)

    def scaled(v: View) -> None:
        code = v.code
        with code.loop(n) as i, code.loop(few) as k:
            code.store(v.of(left), (i, k), code.conj(code.load(v.of(vh), k, i)))
        with code.loop(few) as k, code.loop(m) as j:
            ((value,), (first,)) = code.load(v.of(values), k), code.load(v.of(values), 0)
            limit = code.compute("mul", first, code.constant(float(s.params["rtol"]), dtype))
            counts = code.compare("gt", value, limit)
            zero, one = code.constant(0.0, dtype), code.constant(1.0, dtype)
            divisor = code.compute("select", counts, value, one)
            weight = code.compute("select", counts, code.compute("div", one, divisor), zero)
            row = code.conj(code.load(v.of(u), j, k))
            code.store(v.of(right), (k, j), code.scale(row, weight))

    plan.loops(scaled)
    plan.product(left, right, 0)


# -- Fourier transforms ----------------------------------------------------------------


def _split(s: Factorization) -> int | None:
    """The number of outer axes that need separate calls, so that all other lines are equally
    spaced.

    cuFFT takes equally spaced lines in one plan.  None if there is no such number.
    """
    lines = *s.batch, s.m
    operands = s.outputs if s.params["kind"] == "half" else (*s.inputs, *s.outputs)
    for k in range(len(lines)):
        steps = [
            step_of(shape, strides)
            for o in operands
            for shape, strides in ((lines[:k], o.strides[:k]), (lines[k:], o.strides[k:-1]))
        ]
        if all(step is not None and step >= 0 for step in steps):
            return k
    return None


def calls_of_transform(s: Factorization) -> int | None:
    """The number of calls of cuFFT for a transform; None if cuFFT cannot compute it."""
    lines = *s.batch, s.m
    split = _split(s)
    if split is None or s.params["length"] > LARGEST:
        return None
    for o in (*s.inputs, *s.outputs):
        reach = [abs(d) * (n - 1) for n, d in zip((*lines, s.n), o.strides, strict=True)]
        if o.strides[-1] < 1 or sum(reach) > LARGEST or o.offset.variables():
            return None
    return prod(lines[:split])


def fourier(plan: Plan) -> None:
    """Transform the lines by one plan.

    A spectrum with a real result is copied before, since cuFFT overwrites it.
    """
    s, length, scale = plan.step, plan.step.params["length"], plan.step.params["scale"]
    (x,), (y,) = s.inputs, s.outputs
    given, made = s.elements
    kind, split, lines = s.params["kind"], _split(s), (*s.batch, s.m)
    assert split is not None
    calls, count = prod(lines[:split]), prod(lines[split:])
    points = length // 2 + 1 if kind == "real" else length
    if kind == "half":
        copied = plan.temp(given, s.m, s.n)

        def before(v: View) -> None:
            _spectrum(v.code, v, copied, length)

        plan.loops(before)
        source, reach = Lines(s.n, 1, s.n), count * s.n * 2
        part = Part(copied.buffer, 0, reach, "rw", reach)
    else:
        source, part = _lines(x, lines, split, s.n, given, "r")
    target, result = _lines(y, lines, split, points, made, "w")
    routine = Transform(given, made, length, kind in ("backward", "half"), count, source, target)
    plan.call(routine, f"{count} transforms of {length} points", part, result, count=calls)
    if scale != 1:

        def scaled(v: View) -> None:
            code, (out,) = v.code, v.outputs
            with code.loop(s.m) as i, code.loop(points) as k:
                factor = code.constant(scale, out.buffer.dtype)
                code.store(out, (i, k), code.scale(code.load(out, i, k), factor))

        plan.loops(scaled)


def _spectrum(code: Code, v: View, copied: Temp, length: int) -> None:
    """Copy half a spectrum; the first number, and for even lengths the last one, are made real."""
    rows, points = copied.shape
    with code.loop(rows) as i, code.loop(points) as k:
        real, imaginary = code.load(v.inputs[0], i, k)
        (zero, _) = zero_of(code, v.inputs[0])
        is_first = code.within(k, 0, 1)
        last = points - 1 if length % 2 == 0 else points
        is_last = code.within(k, last, points + 1)
        alone = code.compute("or", is_first, is_last)
        value = real, code.compute("select", alone, zero, imaginary)
        code.store(v.of(copied), (i, k), value)


def _lines(
    o: Operand, lines: Sequence[int], split: int, points: int, dtype: str, access: str
) -> tuple[Lines, Part]:
    *outer, stride = o.strides
    inner = lines[split:]
    step, parts = step_of(inner, outer[split:]) or 0, parts_of(dtype)
    reach = ((prod(inner) - 1) * step + (points - 1) * stride + 1) * parts
    after = (step_of(lines[:split], outer[:split]) or 0) * parts
    part = Part(o.buffer, o.offset.constant * parts, reach, access, after)
    return Lines(points, stride, step), part
