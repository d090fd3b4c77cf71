"""The code to write instead of an uncovered function: the user's own call, by ``pure_callback``."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from autojit.errors import AutojitError
from autojit.ir.core.halves import kind_of
from autojit.ir.core.types import Type, TypeMismatch, canonical_dtype
from autojit.ir.core.values import apart
from autojit.tracing.context import outside_of_traces
from autojit.tracing.created_arrays import bare, plain
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_frame
from autojit.tracing.tracer import Tracer

#: The most elements of an array on which a function is tried out, to know the type of its result.
MOST_TRIED = 100_000


def offer(
    error: AutojitError, function: Callable[..., Any], args: Any, kwargs: Any
) -> AutojitError:
    """The error with the code to write instead, if that code is known to run."""
    types = _types_of_result(function, args, kwargs)
    if types is not None:
        _add(error, _call(types))
    return error


def way_out(by_c: bool) -> str:
    """The code to write where a library's code, or a function in C, wants numbers. Its result is
    assumed to be like the first argument. Empty for the user's own code."""
    if not by_c and user_frame() is user_frame(libraries=False):
        return ""
    words = _call(None) or (
        "Or let Python call the function on NumPy arrays:\n"
        '    autojit.pure_callback(f, "f64[3]", x)'
    )
    return f"\n{words}"


def _add(error: AutojitError, words: str | None) -> None:
    message = error.args[0]
    if words is None or "pure_callback" in message:
        return
    text, place = apart(message)
    error.args = (f"{text}\n{words}{place}",)


def _call(types: str | None) -> str | None:
    """The user's call, written with ``pure_callback``."""
    call = _users_call(user_frame(libraries=False))
    if call is None:
        return None
    result = types or next((ast.unparse(a) for a in call.args if isinstance(a, ast.Name)), None)
    if result is None:
        return None
    function = ast.unparse(call.func)
    named = [f"{k.arg}={ast.unparse(k.value)}" if k.arg else f"**{ast.unparse(k.value)}"
             for k in call.keywords]  # fmt: skip
    given = ", ".join([function, result, *map(ast.unparse, call.args), *named])
    return (
        "Or let Python call it on NumPy arrays (autojit.custom_jvp gives it a derivative):\n"
        f"    autojit.pure_callback({given})"
    )


def _users_call(frame: FrameType | None) -> ast.Call | None:
    """The call that a frame is executing: the one that ends where the frame's instruction does."""
    if frame is None:
        return None
    code = frame.f_code
    _, last, _, end = list(code.co_positions())[frame.f_lasti // 2]
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return next((c for c in calls if (c.end_lineno, c.end_col_offset) == (last, end)), None)


# -- the type of the result ---------------------------------------------------------------


def _types_of_result(function: Callable[..., Any], args: Any, kwargs: Any) -> str | None:
    """The type of the result as it is written in code; None if it is not known or is no array."""
    try:
        given, named = _example(bare(plain(args))), _example(bare(plain(kwargs)))
        with outside_of_traces(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _written(function(*given, **named))
    except Exception:  # an error for these numbers is not one of the user's call
        return None


def their_refusal(function: Callable[..., Any], args: Any, kwargs: Any) -> Exception | None:
    """The error of a library's function, if it does not take these arguments either; None if it
    takes them, or if that is not known."""
    error = error_for_numbers(function, args, kwargs)
    if not isinstance(error, TypeError | ValueError) or isinstance(error, np.linalg.LinAlgError):
        return None
    return (TypeError if isinstance(error, TypeError) else ValueError)(str(error))


def error_for_numbers(function: Callable[..., Any], args: Any, kwargs: Any) -> Exception | None:
    """The error that a function raises for numbers and arrays of the types of traced ones; None if
    it raises none, or if that is not known."""
    try:
        given, named = _example(bare(plain(args))), _example(bare(plain(kwargs)))
    except Exception:
        return None
    if any(map(callable, (*given, *named.values()))):
        return None  # these functions are the user's, and are called only once
    try:
        with outside_of_traces(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function(*given, **named)
    except Exception as error:
        return error.with_traceback(None)
    return None


def _example(x: Any) -> Any:
    if type(x) in (tuple, list):
        return type(x)(_example(item) for item in x)
    if type(x) is dict:
        return {key: _example(item) for key, item in x.items()}
    if not isinstance(x, Tracer):
        return x
    if x.size > MOST_TRIED:
        raise ValueError("this takes too long")
    if kind_of(x.dtype) in "fc":
        made = np.linspace(0.1, 0.9, x.size).reshape(x.shape).astype(x.dtype)
    else:
        made = np.ones(x.shape, x.dtype)
    if x.weak is not None:
        return x.weak(made)
    return made[()] if x.is_scalar else made


def _written(result: Any) -> str:
    if isinstance(result, tuple):
        return f"({', '.join(_written(r) for r in result)},)"
    if not isinstance(result, (np.ndarray, np.generic, bool, int, float, complex)):
        raise TypeMismatch("no array")
    array = np.asarray(result)
    return f'"{Type(canonical_dtype(array.dtype), array.shape)}"'


hooks.callback_instead = way_out
