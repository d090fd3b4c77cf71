"""Filters that make exceptions of warnings: compiled code gives no warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from autojit.capture.values.table import When, answers
from autojit.errors import HandledFailureError, with_place
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source

_NO_EFFECT = (
    "A filter that makes errors of warnings has no effect inside a traced function: compiled code "
    "gives none, and infinities and NaN are results. Check the result instead, where the "
    "transformed function is called:\n"
    "    y = jit(f)(x)\n"
    "    if not np.all(np.isfinite(y)): raise FloatingPointError"
)


def _checked(original: Any, place: int) -> Callable[..., Any]:
    """A function that sets a filter; ``place`` is that of its argument `category`."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        action = kwargs.get("action", args[0] if args else None)
        category = kwargs.get("category", args[place] if len(args) > place else Warning)
        if current_trace() is not None and action == "error" and _includes(category):
            raise HandledFailureError(with_place(_NO_EFFECT, user_source()))
        return original(*args, **kwargs)

    return answer


def _includes(category: Any) -> bool:
    """Whether a filter applies to NumPy's warnings about numbers."""
    return isinstance(category, type) and issubclass(RuntimeWarning, category)


answers(warnings.simplefilter, when=When.ALWAYS)(_checked(warnings.simplefilter, 1))
answers(warnings.filterwarnings, when=When.ALWAYS)(_checked(warnings.filterwarnings, 2))
