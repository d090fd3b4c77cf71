from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autojit.ir.core.types import (
    DTYPE_NAMES,
    Type,
    TypeMismatch,
    dtype_from_name,
    dtype_name,
    parse_type,
    type_of,
)

SHAPES = st.lists(st.integers(0, 20), max_size=4).map(tuple)


@given(st.sampled_from(list(DTYPE_NAMES)), SHAPES)
def test_text_of_a_type_reads_back(dtype: np.dtype, shape: tuple[int, ...]) -> None:
    assert parse_type(str(Type(dtype, shape))) == Type(dtype, shape)


@pytest.mark.parametrize("dtype", DTYPE_NAMES)
def test_dtype_names_read_back(dtype: np.dtype) -> None:
    assert dtype_from_name(dtype_name(dtype)) == dtype


def test_spaces_do_not_matter() -> None:
    assert parse_type(" f32[ 2, 3 ] ") == Type(np.dtype("f4"), (2, 3))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f64", "written like f64"),
        ("f64[2", "written like f64"),
        ("f64[a]", "must be integers"),
        ("f64[2,]", "must be integers"),
        ("f64[-1]", "negative extent"),
        ("f65[2]", "unknown dtype 'f65'; known: bool, i8"),
        ("float[2]", r"unknown dtype 'float'; did you mean f64\[2\]\?"),
        ("float64[3, 4]", r"did you mean f64\[3,4\]\?"),
        ("double[]", r"did you mean f64\[\]\?"),
        ("int[3]", r"did you mean i64\[3\]\?"),
        ("complex64[3]", r"did you mean c64\[3\]\?"),
        ("f64(3,4)", r"did you mean f64\[3,4\]\?"),
        ("f64[3x4]", r"did you mean f64\[3,4\]\?"),
        ("f64[2,]", r"did you mean f64\[2\]\?"),
    ],
)
def test_malformed_types(text: str, words: str) -> None:
    with pytest.raises(TypeMismatch, match=words):
        parse_type(text)


@pytest.mark.parametrize("dtype", ["U3", "O", "M8[s]"])
def test_unsupported_dtype_is_named(dtype: str) -> None:
    with pytest.raises(TypeMismatch, match=np.dtype(dtype).name.split("[")[0]):
        dtype_name(np.dtype(dtype))


def test_properties() -> None:
    type_ = Type(np.dtype("f4"), (2, 3))
    assert (type_.ndim, type_.size, type_.nbytes) == (2, 6, 24)
    assert type_.is_inexact
    assert not type_.with_dtype(int).is_inexact
    assert type_.with_shape((4,)).shape == (4,)


def test_types_are_values() -> None:
    assert len({parse_type("f64[3]"), parse_type("f64[3]"), parse_type("f64[3,1]")}) == 2


def test_type_of_arrays_and_scalars() -> None:
    assert str(type_of(np.zeros((2, 0), "f4"))) == "f32[2,0]"
    assert str(type_of(1.5)) == "f64[]"
    assert str(type_of(True)) == "bool[]"


def test_type_of_foreign_byte_order_is_native() -> None:
    assert type_of(np.zeros(3, ">f8")) == parse_type("f64[3]")


def test_type_of_strings_is_refused() -> None:
    with pytest.raises(TypeMismatch, match="not supported"):
        type_of("text")
