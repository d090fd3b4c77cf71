"""What is no tensor where one belongs: the function and the argument are named."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autojit.session.tracebacks import fold
from autojit.torch.engine.tensor import Tensor


def checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that says which of its arguments is no tensor, once it has found out."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except AttributeError as error:
            found = refusal(name, function, error, args, kwargs) or error
            fold(found)
            raise found from None
        except Exception as error:
            fold(error)
            raise

    if hasattr(function, "__qualname__"):
        functools.update_wrapper(call, function)
        call.__dict__.pop("__wrapped__", None)
        call.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return call


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def refusal(
    name: str,
    function: Callable[..., Any],
    error: AttributeError,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> TypeError | None:
    """The error for an argument that lacks what only tensors have; None where it is another's."""
    wrong = error.obj
    if isinstance(wrong, Tensor):
        return None
    signature = _signature(function)
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
    return None


def _kind(x: Any) -> str:
    return "numpy.ndarray" if isinstance(x, np.ndarray) else type(x).__name__


def _hint(name: str, signature: inspect.Signature | None, wrong: Any) -> str:
    """The fix: a tensor of numbers, or the order of the arguments."""
    if isinstance(wrong, (bool, int, float, complex, list, tuple, np.ndarray, np.generic)):
        return ". Make a tensor of it: torch.as_tensor(x)"
    if signature is None:
        return ""
    return f". The arguments are {name}({', '.join(signature.parameters)})"
