"""Descriptions of transformed functions: signatures, docstrings, transformations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

#: A function that changes a signature.
Reading = Callable[[inspect.Signature], inspect.Signature]

_EMPTY = inspect.Signature.empty


def same(signature: inspect.Signature) -> inspect.Signature:
    """Keep arguments and result."""
    return signature


def other_result(signature: inspect.Signature) -> inspect.Signature:
    """Keep the arguments, and drop the result type."""
    return signature.replace(return_annotation=_EMPTY)


def other_types(signature: inspect.Signature) -> inspect.Signature:
    """Keep the names of the arguments, and drop all types."""
    parameters = [p.replace(annotation=_EMPTY) for p in signature.parameters.values()]
    return inspect.Signature(parameters)


def gradient_by(argnums: int | Sequence[int], *, with_value: bool, has_aux: bool) -> Reading:
    """The result has the types of the arguments that ``argnums`` names.

    >>> def f(x: float, n: int) -> complex: ...
    >>> gradient_by(0, with_value=True, has_aux=False)(inspect.signature(f)).return_annotation
    'tuple[complex, float]'
    """

    def reading(signature: inspect.Signature) -> inspect.Signature:
        parameters = list(signature.parameters.values())
        numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        if has_aux or any(not -len(parameters) <= n < len(parameters) for n in numbers):
            return other_result(signature)
        types = [parameters[n].annotation for n in numbers]
        if with_value:
            types.insert(0, signature.return_annotation)
        if _EMPTY in types:
            return other_result(signature)
        words = [t if isinstance(t, str) else inspect.formatannotation(t) for t in types]
        if isinstance(argnums, int):
            found = types[0] if not with_value else f"tuple[{', '.join(words)}]"
        else:
            inner = f"tuple[{', '.join(words[with_value:])}]"
            found = f"tuple[{words[0]}, {inner}]" if with_value else inner
        return signature.replace(return_annotation=found)

    return reading


def signature_of(f: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function; None for one in C that has none."""
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        return None


class _Words:
    """An annotation that prints as it was written."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words


def signature_text(f: Callable[..., Any]) -> str:
    """The signature of a function, for a reader: annotations that are strings have no quotes."""
    found = signature_of(f)
    if found is None:
        return "(…)"
    parameters = [p.replace(annotation=_bare(p.annotation)) for p in found.parameters.values()]
    result = _bare(found.return_annotation)
    return str(inspect.Signature(parameters, return_annotation=result))


def _bare(annotation: Any) -> Any:
    return _Words(annotation) if isinstance(annotation, str) else annotation


def names_of(f: Callable[..., Any]) -> str:
    """The names of a function's parameters in brackets: ``(w, x, *rest)``."""
    found = signature_of(f)
    return "(…)" if found is None else str(other_result(other_types(found)))


def written(f: Callable[..., Any]) -> str:
    """The transformations of a function, as code: ``jit(grad(loss, argnums=1))``."""
    made = getattr(f, "written", None)
    return str(made()) if made else str(getattr(f, "__name__", type(f).__name__))


def applied(transform: Callable[..., Any], f: Callable[..., Any], settings: dict[str, Any]) -> str:
    """A transformation of a function, as code, with the settings that are not defaults."""
    usual = {name: p.default for name, p in inspect.signature(transform).parameters.items()}
    found = [f"{n}={v!r:.40}" for n, v in settings.items() if n not in usual or v != usual[n]]
    return f"{transform.__name__}({', '.join([written(f), *found])})"


def described(transform: Callable[..., Any], f: Callable[..., Any]) -> str:
    """A docstring for a transformed function: the transformation and the original function."""
    name = getattr(f, "__name__", type(f).__name__)
    says = (transform.__doc__ or "").partition("\n")[0]
    own = getattr(f, "__doc__", None)
    behind = f"\n\n{name}: {own}" if own else ""
    return f"{transform.__name__}({name}). {says}{behind}"
