"""Arguments on the command line: types as the IR prints them, literals, and trees of these."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.core.types import DTYPE_NAMES, Type, TypeMismatch, parse_type

from .failures import Failure
from .terminal import show

_TYPE = re.compile(rf"\b(?:{'|'.join(DTYPE_NAMES.values())})\[[\d,\s]*\]")
_TYPE_LIKE = re.compile(r"\s*[A-Za-z]\w*\s*\[[^\[\]]*\]\s*")
_HOLDER = "__type__"
_WORDS = {"inf": np.inf, "nan": np.nan, "True": True, "False": False, "None": None}


def parse_argument(text: str) -> Any:
    """The tree that an argument describes; a :class:`Type` stands for an array of that type.

    Lists of numbers are arrays; tuples, dicts and other lists are trees.

    >>> parse_argument("f64[2,3]")
    f64[2,3]
    >>> parse_argument("{'w': f32[4], 'b': -1.5}")
    {'w': f32[4], 'b': -1.5}
    >>> parse_argument("[[1, 2], [3, 4]]")
    array([[1, 2],
           [3, 4]])
    """
    try:
        if _TYPE_LIKE.fullmatch(text):
            return parse_type(text)
        types: list[Type] = []

        def hold(match: re.Match[str]) -> str:
            types.append(parse_type(match.group()))
            return f"{_HOLDER}[{len(types) - 1}]"

        tree = ast.parse(_TYPE.sub(hold, text).strip(), mode="eval")
        return _build(tree.body, types)
    except TypeMismatch as error:
        raise Failure(f"argument {text!r}: {error}") from None
    except (SyntaxError, ValueError, TypeError):
        if text.startswith("--"):
            raise Failure(f"there is no option {text}. Options are listed by --help") from None
        raise Failure(
            f"argument {text!r} is neither a type (f64[100,3], f32[], i64[5]) nor a literal "
            "(3.0, [1.0, 2.0], {'w': f64[3]}). Quote it if the shell takes it apart."
        ) from None


def _build(node: ast.expr, types: Sequence[Type]) -> Any:
    match node:
        case ast.Subscript(ast.Name(id=name), ast.Constant(value=number)) if name == _HOLDER:
            return types[int(str(number))]
        case ast.Name(id=name) if name in _WORDS:
            return _WORDS[name]
        case ast.UnaryOp(ast.USub(), ast.Name(id="inf")):
            return -np.inf
        case ast.Tuple(elts=items):
            return tuple(_build(item, types) for item in items)
        case ast.List(elts=items):
            return _as_array([_build(item, types) for item in items])
        case ast.Dict(keys=keys, values=values):
            names = [ast.literal_eval(key) for key in keys if key is not None]
            return {n: _build(v, types) for n, v in zip(names, values, strict=True)}
    return ast.literal_eval(node)


def _as_array(items: list[Any]) -> Any:
    """Numbers make an array (a ragged one is a ValueError); anything else stays a list."""
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
    kind, shape = type.dtype.kind, type.shape
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0, 10, shape).astype(type.dtype)
    values: Any = rng.uniform(low, high, shape)
    if kind == "c":
        values = values + 1j * rng.uniform(low, high, shape)
    return np.asarray(values).astype(type.dtype)


def show_results(results: Sequence[Any], types: Sequence[Type]) -> None:
    for i, (result, t) in enumerate(zip(results, types, strict=True)):
        values = np.array2string(np.asarray(result), separator=", ", threshold=100)
        show(f"result {i}: {t} = {values}")
