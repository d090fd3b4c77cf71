"""Matrix products as loops, and factorizations as calls of functions in `c_helpers`."""

from __future__ import annotations

from math import prod

from autojit.codegen.export.text.expressions import Expression
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.values import Operand

from .c_helpers import c_type
from .c_words import expression
from .lines import Lines


def product(lines: Lines, s: MatrixProduct) -> None:
    """Write loops over the rows of the whole batch of results, and over the columns."""
    rows = prod(s.batch) * s.m
    if not rows * s.n:
        return
    start, stop = ("0", str(rows)) if s.share is None else lines.share(s.share, rows)
    part = {"c64": "f32", "c128": "f64"}.get(s.dtype, s.dtype)
    a, b = _element(lines, s, s.a, "row", "inner"), _element(lines, s, s.b, "inner", "column")
    c = f"row * {s.n} + column"
    c_offset = lines.index(s.c_offset)
    with lines.counted("row", stop, start), lines.counted("column", s.n):
        names = ["total"] if s.parts == 1 else ["re", "im"]
        lines.line(f"{c_type(part)} {', '.join(f'{name} = 0' for name in names)};")
        with lines.counted("inner", s.k):
            if s.parts == 1:
                term = expression("mul", [Expression(a), Expression(b)], part, part)
                lines.combined("total", "add", term, part)
            else:
                lines.line(f"const {c_type(part)} *const left = &{a}, *const right = &{b};")
                lines.line("re += left[0] * right[0] - left[1] * right[1];")
                lines.line("im += left[0] * right[1] + left[1] * right[0];")
        for number, name in enumerate(names):
            place = f"{s.parts} * ({c_offset} + {c}) + {number}"
            place = place if s.parts > 1 else f"{c_offset} + {c}"
            lines.line(f"{lines.buffer(s.c)}[{place}] = {name};")


def _element(lines: Lines, s: MatrixProduct, o: Operand, row: str, column: str) -> str:
    """Return an element of an operand; ``row`` counts the rows of all matrices of the batch."""
    terms = [lines.index(o.offset)]
    below = s.m * prod(s.batch)
    for extent, stride in zip(s.batch, o.strides, strict=False):
        below //= extent
        terms.append(f"row / {below} % {extent} * {stride}")
    row = f"row % {s.m}" if row == "row" else row
    terms += [f"{row} * {o.strides[-2]}", f"{column} * {o.strides[-1]}"]
    place = " + ".join(terms)
    return f"{lines.buffer(o.buffer)}[{place if s.parts == 1 else f'{s.parts} * ({place})'}]"


#: The arguments of each function: sizes, matrices (`a+` with strides), parameters, the status.
ARGUMENTS = {
    "cholesky": "n a+ l status",
    "triangular_solve": "n k t b+ lower transpose unit x",
    "lu": "n a+ packed pivots",
    "solve": "n k packed pivots b+ transpose x status",
    "permutation": "n pivots+ rows status",
    "argsort": "n keys+ places status",
    "eigh": "n a+ lower values vectors status",
    "qr": "m n a+ q r status",
    "svd": "m n a+ full u values vh status",
    "pinv": "m n a+ rtol x status",
}


#: The numbers of the kinds of Fourier transforms.
KINDS = {"forward": 0, "backward": 1, "real": 2, "half": 3}


def transform(lines: Lines, s: Factorization, index: list[str]) -> str:
    """Return the call for the rows of one element of the batch. Offsets count elements; a complex
    element is two numbers."""
    part, found = {"c64": "f32", "c128": "f64"}.get(s.dtype, s.dtype), []
    for o, dtype in zip((*s.inputs, *s.outputs), s.elements, strict=True):
        terms = [f"{i} * {stride}" for i, stride in zip(index, o.strides, strict=False)]
        place = " + ".join([lines.index(o.offset), *terms])
        place = f"2 * ({place})" if dtype[0] == "c" else place
        found += [f"{lines.buffer(o.buffer)} + {place}", *map(str, o.strides[-2:])]
    scale = lines.number(s.params["scale"], part).text
    sizes = [str(s.m), str(s.params["length"]), str(KINDS[s.params["kind"]]), scale]
    return f"fourier_{part}({', '.join([*sizes, *found, 'status'])});"
