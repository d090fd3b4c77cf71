"""What a function depends on besides its arguments, as far as it is compared between calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MethodType, ModuleType
from typing import Any

from .engine.tensor import Tensor

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
#: Longer lists and dicts are not compared.
_MOST = 64


def constant(x: Any) -> Any:
    """Something by which compiled functions are told apart: 1, 1.0 and True are three."""
    try:
        hash(x)
    except TypeError:
        raise TypeError(
            f"torch.compile: an argument of type {type(x).__name__} is neither a tensor nor a "
            "constant. Pass a tensor:\n    compiled(torch.as_tensor(x))"
        ) from None
    return type(x), x


def surroundings(function: Callable[..., Any]) -> tuple[Any, ...]:
    """The plain numbers, tensors, modes and hooks that a function or module may read: in its
    variables, in the attributes of its object, and one list, dict or object further."""
    return tuple(_read(function, set()))


def _read(x: Any, seen: set[int]) -> Iterator[Any]:
    if id(x) in seen:
        return
    seen.add(id(x))
    if isinstance(x, MethodType):
        yield from _attributes(x.__self__)
        yield from _read(x.__func__, seen)
    elif hasattr(x, "forward") and callable(getattr(x, "modules", None)):
        for module in x.modules():
            yield from _attributes(module)
    elif (code := getattr(x, "__code__", None)) is not None:
        for name in code.co_names:
            yield from _value(name, x.__globals__.get(name), seen)
        for name, cell in zip(code.co_freevars, x.__closure__ or (), strict=True):
            yield from _value(name, _content(cell), seen)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not set yet
        return None


def _value(name: str, x: Any, seen: set[int]) -> Iterator[Any]:
    if isinstance(x, _PLAIN):
        yield name, type(x), x
    elif isinstance(x, Tensor):
        yield name, id(x)
    elif type(x) in (list, tuple) and len(x) <= _MOST:
        for item in x:
            yield from _value(name, item, seen)
    elif type(x) is dict and len(x) <= _MOST:
        for key, item in x.items():
            yield from _value(f"{name}[{key!r}]", item, seen)
    elif hasattr(x, "forward") or (hasattr(x, "__code__") and hasattr(x, "__globals__")):
        yield from _read(x, seen)
    elif not isinstance(x, (type, ModuleType)):
        yield from _attributes(x)


def _attributes(x: Any) -> Iterator[Any]:
    """The attributes of an object; of a module also whether it trains, and its hooks."""
    for name, value in getattr(x, "__dict__", {}).items():
        if isinstance(value, _PLAIN):
            yield name, type(value), value
        elif isinstance(value, Tensor):
            yield name, id(value)
        elif name in ("_before", "_after", "_backward_hooks") and isinstance(value, dict):
            yield name, tuple(map(id, value.values()))
