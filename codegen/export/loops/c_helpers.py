"""C functions that generated code calls: operations that C lacks, tapes, factorizations.

A file contains those that it needs. `T` stands for a type and `_N` for the dtype's name; `LEAST`,
`GREATEST` and `BITS` stand for the limits and the width of an integer type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from autojit.codegen.loop_ir.errors import (
    NEGATIVE_POWER,
    NOT_POSITIVE,
    OUT_OF_BOUNDS,
    OUT_OF_MEMORY,
    SINGULAR,
)

from .c_matrix_helpers import MATRICES, SORTING
from .c_orthogonal_helpers import ORTHOGONAL
from .language import refuse_halves

#: The bits of the status, by their names in C.
STATUS = {
    "OUT_OF_BOUNDS": OUT_OF_BOUNDS, "NEGATIVE_POWER": NEGATIVE_POWER,
    "OUT_OF_MEMORY": OUT_OF_MEMORY, "SINGULAR": SINGULAR, "NOT_POSITIVE": NOT_POSITIVE,
}  # fmt: skip

_PLAIN = """
static int64_t bounded(int64_t index, int64_t extent, int64_t *status) {
  if (0 <= index && index < extent) return index;
  *status |= OUT_OF_BOUNDS;
  return 0;
}

/* The tapes of one loop, with room for so many steps. */
typedef struct {
  int64_t room;
  void *memory[];
} Tapes;

/* Room for a number of steps, whose sizes in bytes are given; false if there is no memory. */
static bool grown(Tapes **place, int64_t steps, int count, const int64_t *sizes) {
  if (!*place) *place = calloc(1, sizeof(Tapes) + count * sizeof(void *));
  if (!*place) return false;
  for (int k = 0; k < count; k++) {
    void *made = realloc((*place)->memory[k], 2 * steps * sizes[k] + 1);
    if (!made) return false;
    (*place)->memory[k] = made;
  }
  (*place)->room = 2 * steps;
  return true;
}

static void released(Tapes *tapes, int count) {
  for (int k = 0; tapes && k < count; k++) free(tapes->memory[k]);
  free(tapes);
}

static void permutation_i64(
    int64_t n, const int64_t *pivots, int64_t stride, int64_t *rows, int64_t *status) {
  for (int64_t i = 0; i < n; i++) rows[i] = i;
  for (int64_t i = 0; i < n; i++) {
    int64_t p = bounded(pivots[i * stride], n, status), kept = rows[i];
    rows[i] = rows[p];
    rows[p] = kept;
  }
}
"""

_FLOATS = """
static T maximum_N(T x, T y) { return x >= y || x != x ? x : y; }

static T minimum_N(T x, T y) { return x <= y || x != x ? x : y; }

static T fmax_N(T x, T y) { return x >= y || y != y ? x : y; }

static T fmin_N(T x, T y) { return x <= y || y != y ? x : y; }

static T sign_N(T x) { return x > 0 ? 1 : x < 0 ? -1 : x != x ? x : 0; }

static T remainder_N(T x, T y) {
  T rest = fmod(x, y);
  if (rest == 0) return copysign((T)0, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

static T floor_divide_N(T x, T y) {
  if (y == 0) return x / y;
  T rest = fmod(x, y), quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return copysign((T)0, x / y);
  T whole = floor(quotient); /* the quotient is whole up to rounding */
  return quotient - whole > (T)0.5 ? whole + 1 : whole;
}

static T sigmoid_N(T x) { T e = exp(-fabs(x)); return (x >= 0 ? 1 : e) / (1 + e); }

static T softplus_N(T x) {
  T tail = log1p(exp(-fabs(x)));
  return x > 0 ? x + tail : tail;
}

static T logaddexp_N(T x, T y) {
  T difference = x - y;
  if (x == y) return x + (T)0.6931471805599453; /* equal infinities too */
  if (difference > 0) return x + log1p(exp(-difference));
  return difference <= 0 ? y + log1p(exp(difference)) : difference;
}

static T ndtr_N(T x) { return (T)0.5 * erfc(x * (T)-0.7071067811865476); }
"""

_INTEGERS = """
static T add_N(T x, T y) { return (T)((uint64_t)x + (uint64_t)y); }

static T sub_N(T x, T y) { return (T)((uint64_t)x - (uint64_t)y); }

static T mul_N(T x, T y) { return (T)((uint64_t)x * (uint64_t)y); }

static T neg_N(T x) { return (T)(0 - (uint64_t)x); }

static T abs_N(T x) { return LEAST && x < 0 ? neg_N(x) : x; }

static T sign_N(T x) { return x > 0 ? 1 : LEAST && x < 0 ? -1 : 0; }

static T maximum_N(T x, T y) { return x > y ? x : y; }

static T minimum_N(T x, T y) { return x < y ? x : y; }

static T fmax_N(T x, T y) { return x > y ? x : y; }

static T fmin_N(T x, T y) { return x < y ? x : y; }

static T floor_N(T x) { return x; }

static T ceil_N(T x) { return x; }

static T trunc_N(T x) { return x; }

static T fmod_N(T x, T y) { return y == 0 || (LEAST && y == (T)-1) ? 0 : x % y; }

static T remainder_N(T x, T y) {
  T rest = fmod_N(x, y);
  return LEAST && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static T floor_divide_N(T x, T y) {
  if (y == 0) return 0;
  if (LEAST && y == (T)-1) return neg_N(x);
  return x / y - (LEAST && x % y != 0 && (x < 0) != (y < 0));
}

static T shift_left_N(T x, T y) {
  return (uint64_t)y < BITS ? (T)((uint64_t)x << y) : 0;
}

static T shift_right_N(T x, T y) {
  return (uint64_t)y < BITS ? (T)(x >> y) : LEAST && x < 0 ? (T)-1 : 0;
}

static bool before_N(T x, T y) { return x < y; }

static T pow_N(T x, T p, int64_t *status) {
  T result = 1;
  if (LEAST && p < 0) *status |= NEGATIVE_POWER;
  for (; p > 0; p /= 2, x = mul_N(x, x))
    if (p % 2) result = mul_N(result, x);
  return result;
}

static T saturated_N(double x) {
  if (x != x) return 0;
  return x <= (double)LEAST ? LEAST : x >= (double)GREATEST ? GREATEST : (T)x;
}
"""


def c_type(dtype: str) -> str:
    """Return the C type of a scalar.

    >>> c_type("f32"), c_type("u8"), c_type("bool")
    ('float', 'uint8_t', 'bool')
    """
    refuse_halves(dtype, "in C")
    kinds = {"bool": "bool", "f32": "float", "f64": "double"}
    return kinds.get(dtype) or f"{'u' if dtype[0] == 'u' else ''}int{dtype[1:]}_t"


def _parts(text: str) -> dict[str, str]:
    """Return the functions of a text by name, with the comments above them."""
    found, comment = {}, ""
    for part in re.split(r"\n\n(?=static |/\*|typedef )", text.strip()):
        match = re.search(r"^(?:static [^(]*?(\w+)\(|typedef [^}]*\} (\w+);)", part, re.MULTILINE)
        if match is None:
            comment = part + "\n"
            continue
        found[match[1] or match[2]] = comment + part
        comment = ""
    return found


_OF_FLOATS, _OF_INTEGERS, _OF_NONE = map(
    _parts, (_FLOATS + MATRICES + ORTHOGONAL + SORTING, _INTEGERS + SORTING, _PLAIN)
)
#: The operations on floats and on integers that are functions here.
WORDS_OF_FLOATS = frozenset(name.removesuffix("_N") for name in _OF_FLOATS)
WORDS_OF_INTEGERS = frozenset(name.removesuffix("_N") for name in _OF_INTEGERS)


def helper(name: str) -> str | None:
    """Return the text of a function such as ``sign_f64``; None if there is none."""
    if name in _OF_NONE:
        return _OF_NONE[name]
    word, _, dtype = name.rpartition("_")
    if f"{word}_N" in _OF_FLOATS and dtype in ("f32", "f64"):
        return _instance(_OF_FLOATS[f"{word}_N"], dtype)
    if f"{word}_N" in _OF_INTEGERS and re.fullmatch(r"[iu](8|16|32|64)", dtype):
        return _instance(_OF_INTEGERS[f"{word}_N"], dtype)
    return None


def _instance(text: str, dtype: str) -> str:
    text = re.sub(r"_N\b", f"_{dtype}", re.sub(r"\bT\b", c_type(dtype), text))
    if dtype[0] == "f":
        return text
    signed, bits = dtype[0] == "i", dtype[1:]
    if not signed:  # remove conditions on a sign, which a compiler would warn about
        text = re.sub(r"\(?LEAST && [xy] (<|==) [^ )]+\)? \? [^:]+ : ", "", text)
        text = re.sub(r"if \(LEAST && [^\n]*\n", "\n", text)
        text = re.sub(r" \|\| \(LEAST && y == \([^)]*\)-1\)", "", text)
        text = re.sub(r" - \(LEAST && .*\);", ";", text)
        text = re.sub(r"LEAST && [^?]*\? [^:]* : ", "", text)
    names = {"LEAST": f"INT{bits}_MIN" if signed else "0",
             "GREATEST": f"{'' if signed else 'U'}INT{bits}_MAX", "BITS": bits}  # fmt: skip
    return re.sub(r"\b(LEAST|GREATEST|BITS)\b", lambda m: names[m[1]], text).replace(
        f"{names['LEAST']} && ", "" if signed else "0 && "
    )


def helpers_of(text: str) -> list[str]:
    """Return the functions that a text calls, each after the functions that it calls itself."""
    found: dict[str, str] = {}

    def add(part: str) -> None:
        for name in dict.fromkeys(re.findall(r"\b[A-Za-z]\w*\b", part)):
            own = helper(name)
            if own is not None and name not in found and own != part:
                found[name] = ""
                add(own)
                found[name] = found.pop(name) or own

    add(text)
    return list(found.values())


def status_of(texts: Iterable[str]) -> list[str]:
    """Return definitions of the status bits that texts name."""
    every = " ".join(texts)
    return [f"#define {n} {bit}" for n, bit in STATUS.items() if re.search(rf"\b{n}\b", every)]
