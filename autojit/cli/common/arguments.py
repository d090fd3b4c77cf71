"""Arguments on the command line: types as the IR prints them, literals, files, and trees."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.halves import in_dtype, is_bfloat16, kind_of
from autojit.ir.core.types import DTYPE_ALIASES, DTYPE_NAMES, Type, TypeMismatch, parse_type

from .failures import Failure
from .files import SUFFIXES, read
from .machine import give_json
from .terminal import show

#: A quoted text, a type, or a file; quoted texts are left alone.
_PART = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"|(?P<type>\b[A-Za-z]\w*\[[\d,\s]*\])"
    r"|(?P<file>(?<![\w)\]])@[^\s,(){}\[\]'\"]+)"
)
_TYPE_LIKE = re.compile(r"\s*[A-Za-z]\w*\s*[\[(][^\[\]()'\"]*[\])]?\s*")
_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_WORDS_OF_TEXT = re.compile(r"[A-Za-z_][\w.-]*(?: +[\w.-]+)+")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)=(?!=)(.*)", re.DOTALL)
_HOLDER = "__held__"
_WORDS = {"inf": np.inf, "nan": np.nan, "True": True, "False": False, "None": None}
_MEANT = {
    "true": "True", "false": "False", "none": "None", "null": "None", "infinity": "inf",
    "NaN": "nan", "Inf": "inf",
}  # fmt: skip
_WAYS = (
    "Write a type (f64[100,3], f32[], i64[5]), a literal (3.0, [1.0, 2.0], {'w': f64[3]}), a "
    "word (adam), a file (@x.npy) or name=value. Quote it if the shell would split it"
)


def keyword_of(text: str) -> tuple[str | None, str]:
    """The name of a keyword argument, or None, and the text of the value.

    >>> keyword_of("rate=0.1"), keyword_of("f64[3]")
    (('rate', '0.1'), (None, 'f64[3]'))
    """
    found = _KEYWORD.fullmatch(text)
    return (found[1], found[2]) if found else (None, text)


def parse_argument(text: str) -> Any:
    """The tree that an argument describes; a :class:`Type` stands for an array of that type.

    Lists of numbers become arrays; tuples, dicts and other lists become trees; a single word
    becomes a string.

    >>> parse_argument("f64[2,3]")
    f64[2,3]
    >>> parse_argument("{'w': f32[4], 'b': -1.5}")
    {'w': f32[4], 'b': -1.5}
    >>> parse_argument("[[1, 2], [3, 4]]")
    array([[1, 2],
           [3, 4]])
    >>> parse_argument("adam"), parse_argument("range(2, 9)")
    ('adam', range(2, 9))
    """
    text = text.strip()
    try:
        if text.startswith("@"):
            return read(text)
        if text.lower().endswith(SUFFIXES):
            raise Failure(f"argument {text!r}: write @{text} to read an array from that file")
        if _WORD.fullmatch(text) and text not in _WORDS:
            return _word(text)
        if _TYPE_LIKE.fullmatch(text) and not text.startswith("range("):
            return parse_type(text)
        held: list[Any] = []
        tree = ast.parse(_PART.sub(lambda match: _hold(match, held), text), mode="eval")
        return _build(tree.body, held)
    except TypeMismatch as error:
        raise Failure(f"argument {text!r}: {error}") from None
    except (SyntaxError, ValueError, TypeError, RecursionError):
        if _WORDS_OF_TEXT.fullmatch(text):
            quoted = shlex.quote(f'"{text}"')
            raise Failure(f"argument {text!r}: write a text of several words as {quoted}") from None
        raise Failure(f"argument {text!r} is not understood. {_WAYS}") from None


def _word(text: str) -> str:
    """The word as a string; raise if something else was probably meant."""
    if text in _MEANT:
        raise Failure(f"argument {text!r}: write {_MEANT[text]}, or '\"{text}\"' for the word")
    if text in DTYPE_NAMES.values() or text in DTYPE_ALIASES:
        name = DTYPE_ALIASES.get(text, text)
        raise Failure(f"argument {text!r}: write {name}[] for a number, {name}[3] for an array")
    return text


def _hold(match: re.Match[str], held: list[Any]) -> str:
    """Python syntax that stands for a part that Python's parser does not know."""
    if match["text"]:
        return match["text"]
    held.append(parse_type(match["type"]) if match["type"] else read(match["file"]))
    return f"{_HOLDER}[{len(held) - 1}]"


def _build(node: ast.expr, held: Sequence[Any]) -> Any:
    match node:
        case ast.Subscript(ast.Name(id=name), ast.Constant(value=number)) if name == _HOLDER:
            return held[int(str(number))]
        case ast.Name(id=name) if name in _WORDS:
            return _WORDS[name]
        case ast.UnaryOp(ast.USub(), ast.Name(id="inf")):
            return -np.inf
        case ast.Call(func=ast.Name(id="range"), args=bounds, keywords=[]):
            return range(*(ast.literal_eval(bound) for bound in bounds))
        case ast.Tuple(elts=items):
            return tuple(_build(item, held) for item in items)
        case ast.List(elts=items):
            return _as_array([_build(item, held) for item in items])
        case ast.Dict(keys=keys, values=values):
            names = [ast.literal_eval(key) for key in keys if key is not None]
            return {n: _build(v, held) for n, v in zip(names, values, strict=True)}
    return ast.literal_eval(node)


def _as_array(items: list[Any]) -> Any:
    """An array of numbers (ValueError if it is ragged); other lists stay lists."""
    if all(isinstance(item, (bool, int, float, complex, np.ndarray)) for item in items):
        return np.array(items if items else np.zeros(0))
    return items


def fill(tree: Any, rng: np.random.Generator, low: float = 0.0, high: float = 1.0) -> Any:
    """The tree with a random array for each type: floats in [low, high), integers below 10."""
    if isinstance(tree, Type):
        return random_array(tree, rng, low, high)
    if isinstance(tree, (list, tuple)):
        return type(tree)(fill(item, rng, low, high) for item in tree)
    if isinstance(tree, dict):
        return {key: fill(item, rng, low, high) for key, item in tree.items()}
    return tree


def random_array(type: Type, rng: np.random.Generator, low: float, high: float) -> np.ndarray:
    """A random array of a type."""
    kind, shape = kind_of(type.dtype), type.shape
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0, 10, shape).astype(type.dtype)
    values: Any = rng.uniform(low, high, shape)
    if kind == "c":
        values = values + 1j * rng.uniform(low, high, shape)
    return in_dtype(values, type.dtype)


def show_results(
    name: str, results: Sequence[Any], types: Sequence[Type], format: str = "text"
) -> None:
    """Print the results of a program."""
    plain = [
        in_dtype(r, np.dtype(np.float32)) if is_bfloat16(t.dtype) else np.asarray(r)
        for r, t in zip(results, types, strict=True)
    ]
    found = list(zip(plain, types, strict=True))
    if format == "json":
        rows = [{"type": str(t), "value": _shaped(array, t)} for array, t in found]
        give_json({"program": name, "results": rows})
        return
    for i, (array, t) in enumerate(found):
        values = np.array2string(array, separator=", ", threshold=100)
        show(f"result {i}: {t} = {values}")


def _shaped(array: np.ndarray, type: Type) -> np.ndarray:
    """Shape an array as its type says; the memory of loop programs has no shape."""
    return array.reshape(type.shape) if array.size == type.size else array
