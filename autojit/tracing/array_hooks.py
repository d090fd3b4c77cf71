"""What traced arrays ask of `functions`, which is built on them: one table, filled as it loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tracer import Tracer


class Hooks:
    """``functions.operators`` and ``functions.methods`` fill this in before the first trace."""

    __slots__ = (
        "astype", "call_function", "call_operator", "call_ufunc", "call_unary_operator", "copy",
        "fill", "getitem", "setitem", "sort", "view",
    )  # fmt: skip

    #: NumPy's protocols: ``(ufunc, method, inputs, kwargs)``, and ``(function, args, kwargs)``.
    call_ufunc: Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]
    call_function: Callable[[Any, Any, Any], Any]
    #: Python's operators: ``(ufunc, left, right)``, and ``(ufunc, x)``.
    call_operator: Callable[[Any, Any, Any], Any]
    call_unary_operator: Callable[[Any, Any], Any]
    #: Methods of arrays that are no function of NumPy's.
    getitem: Callable[[Tracer, Any], Any]
    setitem: Callable[[Tracer, Any, Any], None]
    astype: Callable[..., Tracer]
    copy: Callable[..., Any]
    fill: Callable[[Tracer, Any], None]
    sort: Callable[..., None]
    view: Callable[..., Any]


hooks = Hooks()
