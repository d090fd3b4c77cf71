"""Errors for wrong arguments: they name the function and the argument that is not a tensor."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autojit.session.tracebacks import fold, is_from_user
from autojit.spelling import closest
from autojit.torch.engine.tensor import Tensor

from .kinds_of_arguments import flags, kind_of_argument


def checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose errors name the argument that is not a tensor."""

    bools = flags_of(function)
    first = first_flag(bools)

    def call(*args: Any, **kwargs: Any) -> Any:
        if (kwargs and not bools.keys().isdisjoint(kwargs)) or len(args) > first:
            check_flags(name, bools, args, kwargs)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            found = refusal(name, function, error, args, kwargs)
            fold(found or error)
            if found is None:
                raise
            raise found from None

    if hasattr(function, "__qualname__"):
        functools.update_wrapper(call, function)
        call.__dict__.pop("__wrapped__", None)
        call.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return call


def flags_of(function: Callable[..., Any]) -> dict[str, int]:
    """The arguments of a function that must be True or False, with their positions."""
    return flags(_signature(function))


def first_flag(bools: Mapping[str, int]) -> int:
    """The first position of such an argument; 1 << 30 if there is none."""
    return min((k for k in bools.values() if k >= 0), default=1 << 30)


def check_flags(
    name: str, bools: Mapping[str, int], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise if an argument that must be True or False is another object, which counts as True."""
    for flag, place in bools.items():
        value = kwargs.get(flag)
        if 0 <= place < len(args):
            value = args[place]
        if value is None or value.__class__ is bool or isinstance(value, (int, np.bool_)):
            continue
        where = f"'{flag}'" if flag in kwargs else f"'{flag}' (position {place + 1})"
        raise TypeError(f"{name}(): argument {where} must be bool, not {_kind(value)}")


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def refusal(
    name: str,
    function: Callable[..., Any],
    error: Exception,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> TypeError | None:
    """The error for an argument that is not a tensor, has the wrong kind for its name, or has an
    unknown name; None if ``error`` has another cause."""
    signature = _signature(function)
    if isinstance(error, AttributeError):
        found = _no_tensor(name, signature, error.obj, args, kwargs)
        if found is not None:
            return found
    if re.search("(?<!keyword )argument '", str(error)) and type(error) is TypeError:
        return TypeError(f"{name}(): {error}") if str(error).startswith("arg") else None
    if signature is None or is_from_user(error):
        return None
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return _no_such_name(name, signature, kwargs)
    for place, (key, value) in enumerate(given.items(), 0 if "self" in given else 1):
        parameter = signature.parameters[key]
        kind = kind_of_argument(parameter)
        if not (kind.fits(value) or (value is None and parameter.default is None)):
            if parameter.kind is parameter.VAR_POSITIONAL:
                value = next((x for x in value if not hasattr(x, "__index__")), value[0])
            where = f"'{key}'" if key in kwargs else f"'{key}' (position {place})"
            hint = _hint(name, signature, value) if kind.words == "Tensor" else ""
            must = f"argument {where} must be {kind.words}, not {_kind(value)}"
            return TypeError(f"{name}(): {must}{hint}")
    return None


def _no_such_name(
    name: str, signature: inspect.Signature, kwargs: Mapping[str, Any]
) -> TypeError | None:
    names = list(signature.parameters)
    for wrong in kwargs:
        if wrong not in names:
            close = closest(wrong, names)
            return TypeError(f"{name}() got an unexpected keyword argument {wrong!r}.{close}")
    return None


def _no_tensor(
    name: str, signature: inspect.Signature | None, wrong: Any, args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> TypeError | None:  # fmt: skip
    if isinstance(wrong, Tensor):
        return None
    names = list(signature.parameters) if signature else []
    places = [f"{names[k]!r} (position {k + 1})" if k < len(names) else f"{k + 1}"
              for k in range(len(args))]  # fmt: skip
    given = [*zip(places, args, strict=True), *((repr(n), value) for n, value in kwargs.items())]
    for place, value in given:
        if value is wrong:
            what = f"argument {place} must be Tensor, not {_kind(wrong)}"
            return TypeError(f"{name}(): {what}{_hint(name, signature, wrong)}")
        if isinstance(value, (list, tuple)) and any(item is wrong for item in value):
            k = next(i for i, item in enumerate(value) if item is wrong)
            what = f"Tensor as element {k} of argument {place}, but got {_kind(wrong)}"
            return TypeError(f"{name}(): expected {what}")
    for place, value in given:
        if isinstance(value, (str, dict)) or (isinstance(value, np.ndarray) and value.ndim):
            what = f"argument {place} must be tuple of Tensors, not {_kind(value)}"
            return TypeError(f"{name}(): {what}")
    return None


def _kind(x: Any) -> str:
    return "numpy.ndarray" if isinstance(x, np.ndarray) else type(x).__name__


def _hint(name: str, signature: inspect.Signature | None, wrong: Any) -> str:
    """The fix to suggest: a tensor of numbers, or another order of the arguments."""
    if isinstance(wrong, (bool, int, float, complex, list, tuple, np.ndarray, np.generic)):
        return ". Make a tensor of it: torch.as_tensor(x)"
    if signature is None:
        return ""
    return f". The arguments are {name}({', '.join(signature.parameters)})"
