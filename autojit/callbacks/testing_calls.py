"""``np.testing``: comparisons of traced arrays whose values are available."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autojit.errors import ConcreteValueError, with_place
from autojit.staging import pytrees
from autojit.tracing.created_arrays import bare, is_traced
from autojit.tracing.known import at_hand
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

#: The module that defines the functions of ``np.testing``.
MODULE = "numpy.testing._private.utils"


def on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ``np.testing`` that gets plain numbers in place of traced ones."""
    return functools.partial(_checked, function)


def _checked(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    if not is_traced((args, kwargs)):
        return function(*args, **kwargs)
    leaves, structure = pytrees.flatten((args, kwargs))
    values = [_value(function.__name__, leaf) for leaf in map(bare, leaves)]
    args, kwargs = pytrees.unflatten(structure, values)
    return function(*args, **kwargs)


def _value(name: str, x: Any) -> Any:
    if not isinstance(x, Tracer):
        return x
    found = at_hand(x)
    if found is None:
        raise ConcreteValueError(
            with_place(
                f"np.testing.{name} compares values, which are not known under jit and vmap. "
                "Compare the results outside, or assert the condition, which the compiled code "
                "then checks:\n"
                "    assert np.allclose(x, y, rtol=1e-7, atol=0.0)",
                user_source(),
            )
        )
    return found
