"""Arguments on the command line: types, literals, trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autojit.cli.common.arguments import fill, keyword_of, parse_argument
from autojit.cli.common.failures import Failure
from autojit.ir.core.types import Type


def test_arguments() -> None:
    assert parse_argument(" f64[2, 3] ") == Type(np.dtype(float), (2, 3))
    assert parse_argument("(f32[], 1+2j)") == (Type(np.dtype("f4")), 1 + 2j)
    assert parse_argument("-inf") == -np.inf
    assert parse_argument("[]").shape == (0,)
    assert parse_argument("[f64[2], (1, 2)]") == [Type(np.dtype(float), (2,)), (1, 2)]
    rng = np.random.default_rng(0)
    filled = fill(
        parse_argument("{'x': f32[100], 'n': (i64[5], bool[2]), 'z': c64[3]}"), rng, -1, 1
    )
    assert filled["x"].dtype == np.float32
    assert -1 <= filled["x"].min() < -0.5
    assert 0.5 < filled["x"].max() < 1
    assert [a.dtype.name for a in filled["n"]] == ["int64", "bool"]
    assert filled["z"].dtype == np.complex64


@pytest.mark.parametrize(
    "text",
    ["[[1], [1, 2]]", "__import__('os')", "x + 1", "x+1", "{f64[2]: 1}", "", "range('a')", "a, b"],
)
def test_arguments_that_are_refused(text: str) -> None:
    with pytest.raises(Failure, match="is not understood"):
        parse_argument(text)


def test_words_ranges_and_keywords() -> None:
    assert parse_argument("adam") == parse_argument("'adam'") == parse_argument('"adam"') == "adam"
    assert parse_argument("range(2, 9, 3)") == range(2, 9, 3)
    assert parse_argument("(f64[3], 'sgd', None, True)") == (
        Type(np.dtype(float), (3,)),
        "sgd",
        None,
        True,
    )
    assert parse_argument("{'f64[3]': '@x.npy'}") == {"f64[3]": "@x.npy"}
    assert keyword_of("rate=0.1") == ("rate", "0.1")
    assert keyword_of("a==b") == (None, "a==b")
    assert keyword_of("'a=b'") == (None, "'a=b'")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("float64[3]", "unknown dtype 'float64'; did you mean f64[3]?"),
        ("float[3]", "did you mean f64[3]?"),
        ("int[3, 2]", "did you mean i64[3,2]?"),
        ("{'w': float32[4]}", "did you mean f32[4]?"),
        ("f64(3)", "did you mean f64[3]?"),
        ("f64[3x4]", "did you mean f64[3,4]?"),
        ("double", "write f64[] for a number, f64[3] for an array"),
        ("f32", "write f32[] for a number"),
        ("true", "write True, or '\"true\"' for the word"),
        ("null", "write None"),
        ("data.npz", "write @data.npz"),
    ],
)
def test_what_was_meant_is_said(text: str, words: str) -> None:
    with pytest.raises(Failure) as caught:
        parse_argument(text)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"argument {text!r}")


# -- files ------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(3, dtype=np.float32))
    np.savez("all.npz", w=np.ones(2), b=np.zeros((3, 1)))
    np.savez("one.npz", w=np.ones(2))
    Path("named.csv").write_text("width,height\n1,2\n3,4\n", encoding="utf-8")
    Path("bare.csv").write_text("1,2\n3,4\n5,6\n", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("data")
def test_arrays_in_files() -> None:
    x = parse_argument("@x.npy")
    assert (x.dtype, x.tolist()) == (np.float32, [0, 1, 2])
    assert parse_argument("@all.npz:b").shape == (3, 1)
    assert parse_argument("@one.npz").tolist() == [1, 1]
    assert parse_argument("@named.csv").tolist() == [[1, 2], [3, 4]]
    assert parse_argument("@named.csv:height").tolist() == [2, 4]
    assert parse_argument("@named.csv:0").tolist() == [1, 3]
    assert parse_argument("@bare.csv").shape == (3, 2)
    assert parse_argument("@bare.csv:1").tolist() == [2, 4, 6]
    tree = parse_argument("{'w': @x.npy, 'n': (@all.npz:w, 3)}")
    assert tree["w"].shape == (3,)
    assert tree["n"][0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@gone.npy", "No such file or directory"),
        ("@x.txt", "arrays can only be read from .npy, .npz or .csv files"),
        ("@x.npy:w", "a file .npy holds one array: write @x.npy"),
        ("@all.npz", "name one of its arrays. Arrays: @all.npz:w, @all.npz:b"),
        ("@all.npz:W", "Arrays: @all.npz:w, @all.npz:b"),
        ("@named.csv:heigt", "there is no column 'heigt'. Did you mean height?"),
        ("@bare.csv:2", "there is no column '2'. Columns: 0 to 1"),
        ("@torn.csv", "torn.csv cannot be read"),
        ("@torn.npy", "torn.npy cannot be read"),
        ("@words.npy", "holds str32; arguments are arrays of numbers"),
        ("@objects.npy", "objects.npy cannot be read: Object arrays cannot be loaded"),
    ],
)
def test_files_that_cannot_be_read(data: Path, text: str, words: str) -> None:
    (data / "torn.csv").write_text("1,2\n3\n", encoding="utf-8")
    (data / "torn.npy").write_bytes((data / "x.npy").read_bytes()[:-4])
    np.save("words.npy", np.array(["a"]))
    np.save("objects.npy", np.array([None]), allow_pickle=True)
    with pytest.raises(Failure) as caught:
        parse_argument(text)
    assert words in str(caught.value)
    assert text in str(caught.value)
