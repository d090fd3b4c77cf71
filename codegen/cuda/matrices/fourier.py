"""Fourier transforms in passes, in which each thread transforms a few numbers.

    table of exp(-2πi k/n)          once for all lines
    for each line:
      for j in 0..n/8:              8 numbers, n/8 apart, are transformed in registers
      for j in 0..n/64:             and so on, until all n numbers are transformed

If a line fits in shared memory, all passes are one launch, which reads and writes each line once;
otherwise each pass is a launch.  A length with a prime factor above 13 becomes a convolution whose
length is a larger power of two (Bluestein, "A linear filtering approach to the computation of the
discrete Fourier transform", 1970), or, if it is short, plain sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.matrices import Factorization
from autojit.codegen.loop_ir.values import Scalar
from autojit.ir.core.affine import Affine

from .builder import Array, Code, Number
from .butterflies import one_pass, radices_of, root, turns

#: The largest length that is computed by sums if it has a large prime factor.  A convolution of 256
#: or more points, forth and back, is not less work, and takes ten launches.
LONGEST_SUM = 64


def with_near_lines(s: Factorization) -> Factorization:
    """The same transforms, with the axis of the closest lines as the rows of each matrix."""
    (x,), (y,) = s.inputs, s.outputs
    extents = *s.batch, s.m
    steps = [abs(d) for d in x.strides[:-1]]
    near = min(range(len(extents)), key=lambda k: (extents[k] == 1, steps[k]))
    order = [*(k for k in range(len(extents)) if k != near), near]

    def moved(strides: tuple[int, ...]) -> tuple[int, ...]:
        return *(strides[k] for k in order), strides[-1]

    *batch, rows = (extents[k] for k in order)
    inputs, outputs = replace(x, strides=moved(x.strides)), replace(y, strides=moved(y.strides))
    return replace(s, batch=tuple(batch), m=rows, inputs=(inputs,), outputs=(outputs,))


def passes_of(s: Factorization, shared: int) -> tuple[int, int]:
    """The number of launches of a transform, and how often each number is read and written."""
    n = s.params["length"]
    radices = radices_of(n)
    if radices is None and n <= LONGEST_SUM:
        return 2, 1
    m, times = (n, 1) if radices is not None else (_padded(n), 2)
    each = len(radices or radices_of(m) or ())
    rooms = min(2, each - 1) + times - 1
    scalar = 4 if s.elements[-1] in ("f32", "c64") else 8
    near = with_near_lines(s)
    (x,) = near.inputs
    across = near.m > 1 and abs(x.strides[-2]) < abs(x.strides[-1])
    if 0 < rooms * m * 2 * scalar <= shared and not across:
        return 2 + (each + 1 if times == 2 else 0), 1
    launches = times * each + (each > 1) + (each + 1 if times == 2 else 0)
    return launches, times * each * (m // n)


def _padded(n: int) -> int:
    """The length of the convolution for a transform of length n."""
    return 1 << (2 * n - 2).bit_length()


class _Line(NamedTuple):
    """Functions that read and write numbers of a line, by the line's number."""

    load: Callable[[Affine, Affine], Number]
    store: Callable[[Affine, Affine, Number], None]


def fourier(code: Code, s: Factorization, inputs: list[Array], outputs: list[Array]) -> None:
    """Transform the rows of a matrix."""
    n = s.params["length"]
    made = _Transforms(code, s, inputs[0], outputs[0])
    radices = radices_of(n)
    if radices is not None:
        made.passes(radices)
    elif n <= LONGEST_SUM:
        made.sums()
    else:
        made.convolution()


class _Transforms:
    """Writes the transforms of one statement."""

    def __init__(self, code: Code, s: Factorization, x: Array, y: Array) -> None:
        self.code, self.rows = code, s.m
        self.kind, self.n = s.params["kind"], s.params["length"]
        self.x, self.y, self.scale = x, y, s.params["scale"]
        self.dtype = y.buffer.dtype
        self.sign = -1 if self.kind in ("forward", "real") else 1
        #: Whether neighbours in memory belong to different lines.
        self.across = s.m > 1 and abs(x.strides[-2]) < abs(x.strides[-1])

    # -- numbers of the input and of the result ---------------------------------------------

    def given(self, row: Affine, k: Affine, inside: Scalar | None = None) -> Number:
        """Load number k of a line as a complex number; 0 if ``inside`` is false."""
        code, n = self.code, self.n
        if self.kind != "half":
            x = _loaded(code, inside, self.x, row, k)
            return x if len(x) == 2 else (x[0], code.constant(0.0, self.dtype))
        first = code.within(k, 0, n // 2 + 1)
        second = code.compute("not", first)
        ways = [w if inside is None else code.compute("and", w, inside) for w in (first, second)]
        near = code.load_where(ways[0], self.x, row, k)
        far = code.load_where(ways[1], self.x, row, k * -1 + n)
        real, imaginary = code.select(first, near, code.conj(far))
        alone = code.within(k, 0, 1)
        if n % 2 == 0:
            alone = code.compute("or", alone, code.within(k, n // 2, n // 2 + 1))
        return real, code.compute("select", alone, code.constant(0.0, self.dtype), imaginary)

    def keep(self, row: Affine, k: Affine, value: Number, factor: float = 1.0) -> None:
        """Store number k of a line of the result, if the result has such a number."""
        code, kept = self.code, self.n // 2 + 1 if self.kind == "real" else self.n
        factor *= self.scale
        if factor != 1:
            value = code.scale(value, code.constant(factor, self.dtype))
        value = value[: self.y.parts]
        if _range(k)[1] < kept:
            code.store(self.y, (row, k), value)
            return
        with code.when(code.within(k, 0, kept)):
            code.store(self.y, (row, k), value)

    def room(self, n: int) -> Array:
        """Memory for n numbers of each line, laid out like the lines themselves."""
        if self.across:
            return self.code.workspace(self.dtype, 2, n, self.rows).transposed
        return self.code.workspace(self.dtype, 2, self.rows, n)

    # -- passes -----------------------------------------------------------------------------

    def chain(
        self, n: int, radices: tuple[int, ...], table: Array | None, sign: int, line: _Line,
        rows: int, rooms: list[Array],
    ) -> list[Callable[[Affine, Affine], None]]:  # fmt: skip
        """The passes of a transform, each a function that does work item j of a line."""
        made: list[Callable[[Affine, Affine], None]] = []
        done = 1
        source, target = line.load, line.store
        for number, radix in enumerate(radices):
            is_last = number == len(radices) - 1
            room = rooms[number % 2] if not is_last else None
            put = target if room is None else _putting(self.code, room)
            made.append(_pass(self.code, n, radix, done, table, sign, source, put))
            if room is not None:
                source = _taking(self.code, room)
            done *= radix
        return made

    def run(
        self, rows: int, counts: list[int], works: list[Callable[[Affine, Affine], None]],
        *, fused: bool, across: bool,
    ) -> None:  # fmt: skip
        """Write passes over all lines: one pass after another, or all passes for each line if
        ``fused``."""
        code = self.code
        if fused:
            with code.loop(rows) as row:
                for count, work in zip(counts, works, strict=True):
                    with code.loop(count) as j:
                        work(row, j)
            return
        for count, work in zip(counts, works, strict=True):
            if across:
                with code.loop(count) as j, code.loop(rows) as row:
                    work(row, j)
            else:
                with code.loop(rows) as row, code.loop(count) as j:
                    work(row, j)

    def is_fused(self, n: int, rooms: int) -> bool:
        """Whether the passes of a line exchange numbers in shared memory."""
        fits = rooms * n * 2 * itemsize(self.dtype) <= self.code.shared
        return rooms > 0 and not self.across and fits

    def passes(self, radices: tuple[int, ...]) -> None:
        """Transform a length that has only small prime factors."""
        code, n = self.code, self.n
        table = None
        if len(radices) > 1:
            with code.once():
                table = turns(code, n, self.dtype)
        rooms = [self.room(n) for _ in radices[1:3]]
        line = _Line(self.given, self.keep)
        works = self.chain(n, radices or (1,), table, self.sign, line, self.rows, rooms)
        counts = [n // radix for radix in radices or (1,)]
        fused = self.is_fused(n, len(rooms))
        self.run(self.rows, counts, works, fused=fused, across=self.across)

    def sums(self) -> None:
        """Transform a short length with a large prime factor, by n products for each number."""
        code, n = self.code, self.n
        with code.once():
            table = turns(code, n, self.dtype)
        made = n // 2 + 1 if self.kind == "real" else n
        with code.loop(self.rows) as row, code.loop(made) as k:
            with code.sums(n, self.dtype, 2) as (j, sums):
                turn = code.load_row(table, _remainder(code, j, k, n), n)
                turn = turn if self.sign < 0 else code.conj(turn)
                sums.add(code.mul(self.given(row, j), turn))
            self.keep(row, k, sums.totals)

    def convolution(self) -> None:
        """Transform a length with a large prime factor by a convolution.

        ``Σ x_j w^(jk) = c_k Σ (x_j c_j) conj(c_(k-j))`` with ``c_k = exp(±πi k²/n)``, since
        ``2jk = j² + k² - (k-j)²``. The convolution is a product of two spectra.
        """
        code, n, m = self.code, self.n, _padded(self.n)
        radices = radices_of(m)
        assert radices is not None
        counts = [m // radix for radix in radices]
        with code.once():
            table = turns(code, m, self.dtype)
            chirp = self._chirp()
            spectrum = code.workspace(self.dtype, 2, 1, m)
            spare = [code.workspace(self.dtype, 2, 1, m) for _ in radices[1:3]]
            line = _Line(self._weights(chirp, m), _putting(code, spectrum))
            works = self.chain(m, radices, table, -1, line, 1, spare)
            self.run(1, counts, works, fused=False, across=False)
        middle, rooms = self.room(m), [self.room(m) for _ in radices[1:3]]

        def padded(row: Affine, k: Affine) -> Number:
            low, high = _range(k)
            if low >= n:
                return (code.constant(0.0, self.dtype),) * 2
            inside = None if high < n else code.within(k, 0, n)
            return code.mul(self.given(row, k, inside), _loaded(code, inside, chirp, k))

        def multiplied(row: Affine, k: Affine, value: Number) -> None:
            weight = code.load(spectrum, 0, k)
            code.store(middle, (row, k), code.mul(value, weight))

        def kept(row: Affine, k: Affine, value: Number) -> None:
            inside = None if _range(k)[1] < n else code.within(k, 0, n)
            weight = _loaded(code, inside, chirp, k)
            self.keep(row, k, code.mul(value, weight), 1 / m)

        works = self.chain(m, radices, table, -1, _Line(padded, multiplied), self.rows, rooms)
        back = _Line(_taking(code, middle), kept)
        works += self.chain(m, radices, table, 1, back, self.rows, rooms)
        fused = self.is_fused(m, len(rooms) + 1)
        self.run(self.rows, counts * 2, works, fused=fused, across=self.across)

    def _chirp(self) -> Array:
        """The array of ``exp(sign πi k²/n)``."""
        code, n = self.code, self.n
        chirp = code.workspace(self.dtype, 2, n)
        with code.loop(n) as k:
            turn = root(code, _remainder(code, k, k, 2 * n), 2 * n, self.dtype)
            code.store(chirp, (k,), turn if self.sign < 0 else code.conj(turn))
        return chirp

    def _weights(self, chirp: Array, m: int) -> Callable[[Affine, Affine], Number]:
        """A function that loads the conjugate chirp, placed at both ends of m numbers."""
        code, n = self.code, self.n

        def load(row: Affine, k: Affine) -> Number:
            first, last = code.within(k, 0, n), code.within(k, m - n + 1, m)
            near = code.load_where(first, chirp, k)
            far = code.load_where(last, chirp, k * -1 + m)
            return code.conj(code.add(near, far))

        return load


def _remainder(code: Code, j: Affine, k: Affine, n: int) -> Scalar:
    """``jk mod n``"""
    product = code.compute("mul", code.number(j), code.number(k))
    return code.compute("remainder", product, code.constant(n, "i64"))


def _range(k: Affine) -> tuple[int, int]:
    return k.range({v: (0, v.extent - 1) for v in k.variables()})


def _loaded(code: Code, inside: Scalar | None, array: Array, *index: Affine) -> Number:
    return code.load(array, *index) if inside is None else code.load_where(inside, array, *index)


def _taking(code: Code, room: Array) -> Callable[[Affine, Affine], Number]:
    return lambda row, k: code.load(room, row, k)


def _putting(code: Code, room: Array) -> Callable[[Affine, Affine, Number], None]:
    return lambda row, k, value: code.store(room, (row, k), value)


def _pass(
    code: Code, n: int, radix: int, done: int, table: Array | None, sign: int,
    load: Callable[[Affine, Affine], Number],
    store: Callable[[Affine, Affine, Number], None],
) -> Callable[[Affine, Affine], None]:  # fmt: skip
    def work(row: Affine, j: Affine) -> None:
        one_pass(
            code, n, radix, done, table, sign, j, lambda k: load(row, k),
            lambda k, value: store(row, k, value),
        )  # fmt: skip

    return work
