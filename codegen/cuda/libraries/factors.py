"""LU, Cholesky, QR, and solving, by cuSOLVER and cuBLAS."""

from __future__ import annotations

from autojit.codegen.cuda.device_program.calls import Part
from autojit.codegen.cuda.device_program.failures import NOT_POSITIVE, SINGULAR
from autojit.codegen.cuda.matrices.builder import Array, Code, Number
from autojit.codegen.cuda.matrices.cholesky import halved
from autojit.codegen.loop_ir.matrices import parts_of

from .plans import Plan, Temp, View
from .routines import Geqrf, Getrf, Getrs, Orgqr, Potrf, Trsm


def zero_of(code: Code, array: Array) -> Number:
    """A zero with the parts of an array's elements."""
    return tuple(code.constant(0.0, array.buffer.dtype) for _ in range(array.parts))


def turned_copy(code: Code, source: Array, target: Array, m: int, n: int) -> None:
    """Copy the transpose of an m x n matrix."""
    code.copy(source.transposed, target, n, m)


def cholesky(plan: Plan) -> None:
    """Compute the Cholesky factor.

    The upper triangle of the column-major matrix is our lower one, so cuSOLVER's U is our L.
    """
    s, n = plan.step, plan.step.n
    info = plan.temp("i32", 1)

    def lower_triangle(v: View) -> None:
        code, (a,), (factor,) = v.code, v.inputs, v.outputs
        with code.loop(n) as i, code.loop(n) as j:
            nil = zero_of(code, factor)
            code.store(
                factor, (i, j), code.select(code.within(i - j, 0, n), code.load(a, i, j), nil)
            )

    def check(v: View) -> None:
        code, (factor,) = v.code, v.outputs
        (found,) = code.load(v.of(info), 0)
        code.fail(code.compare("ne", found, code.constant(0, "i32")), NOT_POSITIVE)
        least = code.begin(factor.buffer.dtype, "minimum", float("inf"))
        with code.loop(n, "reduce") as i:
            code.accumulate(least, code.load(factor, i, i)[0])
        size = code.finish(least)
        positive = code.compare("gt", size, code.constant(0.0, size.dtype))
        code.fail(code.compute("not", positive), NOT_POSITIVE)

    plan.loops(lower_triangle)
    factor = plan.result(0, (n, n), "rw")
    plan.call(Potrf(s.dtype, n), f"potrf of [{n}, {n}]", factor, info.part("w"))
    plan.loops(check, serial=True)


def lu(plan: Plan) -> None:
    """Compute LU after a transposed copy, since LAPACK exchanges rows of column-major matrices."""
    s, n = plan.step, plan.step.n
    work, info = plan.temp(s.dtype, n, n), plan.temp("i32", 1)

    def before(v: View) -> None:
        turned_copy(v.code, v.inputs[0], v.of(work), n, n)

    def after(v: View) -> None:
        code, (packed, pivots) = v.code, v.outputs
        turned_copy(code, v.of(work), packed, n, n)
        with code.loop(n) as i:
            (pivot,) = code.load(pivots, i)
            code.store(pivots, (i,), (code.compute("sub", pivot, code.constant(1, "i64")),))

    plan.loops(before)
    pivots = plan.result(1, (n,), "w")
    plan.call(Getrf(s.dtype, n), f"getrf of [{n}, {n}]", work.part("rw"), pivots, info.part("w"))
    plan.loops(after)


def solve(plan: Plan) -> None:
    """Solve with the factors of LU; a zero on the diagonal of U fails."""
    s, n, k = plan.step, plan.step.n, plan.step.k
    factors, sides = plan.temp(s.dtype, n, n), plan.temp(s.dtype, k, n)
    rows, info = plan.temp("i64", n), plan.temp("i32", 1)

    def check(v: View) -> None:
        code, packed = v.code, v.inputs[0]
        zeros = code.begin("i64", "maximum", 0)
        with code.loop(n, "reduce") as i:
            diagonal = code.load(packed, i, i)
            nil = code.constant(0.0, diagonal[0].dtype)
            tests = [code.compare("eq", part, nil) for part in diagonal]
            is_zero = tests[0] if len(tests) == 1 else code.compute("and", *tests)
            code.accumulate(zeros, code.compute("convert", is_zero, dtype="i64"))
        found = code.compare("gt", code.finish(zeros), code.constant(0, "i64"))
        code.fail(found, SINGULAR)

    def before(v: View) -> None:
        code, (packed, pivots, b) = v.code, v.inputs
        turned_copy(code, packed, v.of(factors), n, n)
        turned_copy(code, b, v.of(sides), n, k)
        with code.loop(n) as i:
            (pivot,) = code.load(pivots, i)
            code.store(v.of(rows), (i,), (code.compute("add", pivot, code.constant(1, "i64")),))

    def after(v: View) -> None:
        turned_copy(v.code, v.of(sides), v.outputs[0], k, n)

    plan.loops(check, serial=True)
    plan.loops(before)
    plan.call(
        Getrs(s.dtype, n, k, s.params["transpose"]), f"getrs of [{n}, {n}], [{n}, {k}]",
        factors.part("r"), rows.part("r"), sides.part("rw"), info.part("w"),
    )  # fmt: skip
    plan.loops(after)


def triangular_solve(plan: Plan) -> None:
    """Solve ``t x = b`` as ``xᵀ tᵀ = bᵀ``: the column-major matrices are these transposes."""
    s, n, k = plan.step, plan.step.n, plan.step.k
    lower, unit, transpose = s.params["lower"], s.params["unit"], s.params["transpose"]
    *outer, row, column = s.inputs[0].strides
    parts = parts_of(s.dtype)
    together = outer in ([row * n], []) or plan.count == 1
    if column == 1 and row >= n and together:
        place = s.inputs[0].offset.constant * parts
        reach, step = ((n - 1) * row + n) * parts, n * row * parts
        triangle = Part(s.inputs[0].buffer, place, reach, "r", step)
        leading = row
    else:
        copied = plan.temp(s.dtype, n, n)
        plan.loops(lambda v: v.code.copy(v.inputs[0], v.of(copied), n, n))
        triangle, leading = copied.part("r"), n
    plan.loops(lambda v: v.code.copy(v.inputs[1], v.outputs[0], n, k))
    routine = Trsm(s.dtype, n, k, leading, lower, transpose, unit)
    plan.call(routine, f"trsm of [{n}, {n}], [{n}, {k}]", triangle, plan.result(0, (n, k), "rw"))


def qr(plan: Plan) -> None:
    """Compute QR after a transposed copy; Q is made from the Householder vectors below R."""
    s, m, n = plan.step, plan.step.m, plan.step.n
    columns = m if "complete" in s.params else n
    work, made = plan.temp(s.dtype, n, m), plan.temp(s.dtype, columns, m)
    factors, info = plan.temp(s.dtype, n), plan.temp("i32", 1)

    def before(v: View) -> None:
        turned_copy(v.code, v.inputs[0], v.of(work), m, n)

    def upper(v: View) -> None:
        code, (_, r) = v.code, v.outputs
        with code.loop(columns) as i, code.loop(n) as j:
            nil = zero_of(code, r)
            value = code.select(code.within(j - i, 0, n), code.load(v.of(work), j, i), nil)
            code.store(r, (i, j), value)
        code.copy(v.of(work), v.of(made), n, m)
        if columns > n:
            with code.loop(columns - n) as j, code.loop(m) as i:
                code.store(v.of(made), (j + n, i), zero_of(code, r))

    plan.loops(before)
    plan.call(
        Geqrf(s.dtype, m, n), f"geqrf of [{m}, {n}]", work.part("rw"), factors.part("w"),
        info.part("w"),
    )  # fmt: skip
    plan.loops(upper)
    plan.call(
        Orgqr(s.dtype, m, columns, n), f"orgqr of [{m}, {columns}]", made.part("rw"),
        factors.part("r"), info.part("w"),
    )  # fmt: skip
    plan.loops(lambda v: turned_copy(v.code, v.of(made), v.outputs[0], columns, m))


# -- derivatives of the Cholesky factor ------------------------------------------------


def _turn(plan: Plan, source: Temp, target: Temp, n: int) -> None:
    plan.loops(lambda v: turned_copy(v.code, v.of(source), v.of(target), n, n))


def _halve(plan: Plan, source: Temp, target: Temp, n: int) -> None:
    def write(v: View) -> None:
        code = v.code
        with code.loop(n) as i, code.loop(n) as j:
            code.store(v.of(target), (i, j), halved(code, v.of(source), i, j, n))

    plan.loops(write)


def _lower(code: Code, source: Array, target: Array, n: int) -> None:
    with code.loop(n) as i, code.loop(n) as j:
        value = code.select(
            code.within(i - j, 0, n), code.load(source, i, j), zero_of(code, target)
        )
        code.store(target, (i, j), value)


def _both(code: Code, x: Array, target: Array, n: int) -> None:
    """Write the symmetric part."""
    with code.loop(n) as i, code.loop(n) as j:
        total = code.add(code.load(x, i, j), code.load(x, j, i))
        code.store(target, (i, j), code.scale(total, code.constant(0.5, x.buffer.dtype)))


def _substituted(plan: Plan, factor: Temp, x: Temp, n: int, *, transpose: bool) -> None:
    routine = Trsm(plan.step.dtype, n, n, n, True, transpose, False)
    plan.call(routine, f"trsm of [{n}, {n}], [{n}, {n}]", factor.part("r"), x.part("rw"))


def cholesky_tangent(plan: Plan) -> None:
    """``L Φ(L⁻¹ dA L⁻ᵀ)``."""
    n = plan.step.n
    factor, x, y = (plan.temp(plan.step.dtype, n, n) for _ in range(3))

    def before(v: View) -> None:
        _lower(v.code, v.inputs[0], v.of(factor), n)
        _both(v.code, v.inputs[1], v.of(x), n)

    plan.loops(before)
    _substituted(plan, factor, x, n, transpose=False)
    _turn(plan, x, y, n)
    _substituted(plan, factor, y, n, transpose=False)
    _halve(plan, y, x, n)
    plan.product(factor, x, 0)


def cholesky_cotangent(plan: Plan) -> None:
    """The symmetric part of ``L⁻ᵀ Φ(Lᵀ G) L⁻¹``."""
    n = plan.step.n
    factor, g, x = (plan.temp(plan.step.dtype, n, n) for _ in range(3))

    def before(v: View) -> None:
        _lower(v.code, v.inputs[0], v.of(factor), n)
        _lower(v.code, v.inputs[1], v.of(g), n)

    plan.loops(before)
    plan.product(factor, g, x, turned=True)
    _halve(plan, x, g, n)
    _substituted(plan, factor, g, n, transpose=True)
    _turn(plan, g, x, n)
    _substituted(plan, factor, x, n, transpose=True)
    plan.loops(lambda v: _both(v.code, v.of(x), v.outputs[0], n))
