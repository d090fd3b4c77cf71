"""Affine forms compared with the numbers that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from tests.sampling import share

VARIABLES = [Var(n) for n in (5, 3, 4)]
ROW, COLUMN, DEPTH = VARIABLES
#: All values that the variables can have.
PLACES: list[Mapping[Var, int]] = [
    dict(zip(VARIABLES, numbers, strict=True))
    for numbers in product(*(range(v.extent) for v in VARIABLES))
]

linear = st.builds(
    lambda constant, *factors: sum(
        (affine.of(v) * c for v, c in zip(VARIABLES, factors, strict=True)), Affine(constant)
    ),
    st.integers(-9, 9), *[st.integers(-5, 5)] * 3,
)  # fmt: skip


@st.composite
def forms(draw: st.DrawFn) -> Affine:
    """Forms with quotients and remainders of nonnegative numbers."""
    form = draw(linear)
    for _ in range(draw(st.integers(0, 2))):
        inner = draw(linear)
        inner = inner - inner.range({})[0]
        quotient, remainder = affine.divide(inner, draw(st.integers(1, 7)), {})
        form = form + quotient * draw(st.integers(-4, 4)) + remainder * draw(st.integers(-4, 4))
    return form


def values(form: Affine) -> list[int]:
    return [form.value(place) for place in PLACES]


@settings(deadline=None)
@given(forms(), forms(), st.integers(-4, 4))
def test_arithmetic(a: Affine, b: Affine, n: int) -> None:
    pairs = list(zip(values(a), values(b), strict=True))
    assert values(a + b) == [x + y for x, y in pairs]
    assert values(a - b) == [x - y for x, y in pairs]
    assert values(a * n) == [x * n for x, _ in pairs]
    made = a.times(b)
    assert (made is None) == bool(a.terms and b.terms)
    assert made is None or values(made) == [x * y for x, y in pairs]


@settings(deadline=None)
@given(forms())
def test_ranges_hold_every_value(form: Affine) -> None:
    low, high = form.range({})
    assert low <= min(values(form))
    assert high >= max(values(form))
    if form.is_linear:
        assert (low, high) == (min(values(form)), max(values(form)))


@settings(deadline=None)
@given(linear, st.integers(1, 9))
def test_division(form: Affine, divisor: int) -> None:
    form = form - form.range({})[0]
    quotient, remainder = affine.divide(form, divisor, {})
    pairs = list(zip(values(quotient), values(remainder), strict=True))
    assert pairs == [divmod(x, divisor) for x in values(form)]


@settings(deadline=None)
@given(forms(), forms())
def test_substitution(form: Affine, by: Affine) -> None:
    by = by - by.range({})[0]  # the dividend is not negative
    made = form.substitute(ROW, by)
    changed = [{**place, ROW: by.value(place)} for place in PLACES]
    apart = [a for a, _ in form.terms if not isinstance(a, Var)]
    if all(a.operand.value(place) >= 0 for a in apart for place in changed):
        assert values(made) == [form.value(place) for place in changed]


@settings(deadline=None)
@given(forms())
def test_simplified_forms_have_the_same_values(form: Affine) -> None:
    assert values(form.simplified({})) == values(form)
    bounds = {ROW: (2, 2), COLUMN: (0, 1)}
    inside = [p for p in PLACES if p[ROW] == 2 and p[COLUMN] < 2]
    simple = form.simplified(bounds)
    assert [simple.value(p) for p in inside] == [form.value(p) for p in inside]


@settings(deadline=None)
@given(forms())
def test_strides(form: Affine) -> None:
    found = {
        form.value({**place, COLUMN: place[COLUMN] + 1}) - form.value(place)
        for place in PLACES
        if place[COLUMN] < COLUMN.extent - 1
    }
    stride = form.stride(COLUMN)
    if stride is not None:
        assert found == {stride}
        assert COLUMN not in form.without(COLUMN).variables()
        assert values(form.without(COLUMN) + affine.of(COLUMN) * stride) == values(form)


@settings(deadline=None)
@given(forms())
def test_parts_make_the_whole(form: Affine) -> None:
    mine, others = form.parts({ROW, COLUMN})
    assert values(mine + others) == values(form)
    assert others.coefficient(ROW) == others.coefficient(COLUMN) == mine.coefficient(DEPTH) == 0


@settings(deadline=None)
@given(st.sampled_from([1, -1, 2]), st.integers(-9, 9), st.integers(-9, 9))
def test_crossings(sign: int, constant: int, bound: int) -> None:
    form = affine.of(ROW) * sign + constant
    crossing = form.crossing(ROW, bound)
    assert (crossing is None) == (sign == 2)
    if crossing is not None:
        before = {(form.value({ROW: i}) < bound) == (sign == 1) for i in range(-30, crossing)}
        after = {(form.value({ROW: i}) < bound) == (sign == 1) for i in range(crossing, 30)}
        assert before <= {True}
        assert after <= {False}
    assert (form + affine.of(COLUMN)).crossing(ROW, bound) is None


@settings(max_examples=share(100), deadline=None)
@given(forms())
def test_text_is_python(form: Affine) -> None:
    names = dict(zip(VARIABLES, "ijk", strict=True))
    for times in ("*", " * "):
        code = compile(form.text(names.__getitem__, times), "form", "eval")
        assert [eval(code, {names[v]: n for v, n in p.items()}) for p in PLACES] == values(form)


@settings(deadline=None)
@given(forms(), forms())
def test_equal_forms_have_one_hash(a: Affine, b: Affine) -> None:
    assert hash(a + b) == hash(b + a)
    assert a + b == b + a


def test_shapes() -> None:
    shape, other = (5, 3, 4), (4, 15)
    whole = affine.flatten(tuple(map(affine.of, VARIABLES)), shape)
    assert values(whole) == list(range(prod(shape)))
    row, column = affine.reshape(tuple(map(affine.of, VARIABLES)), shape, other, {})
    assert values(row * 15 + column) == values(whole)
