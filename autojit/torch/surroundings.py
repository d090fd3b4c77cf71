"""The values that a function depends on besides its arguments, as compared between calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MethodType, ModuleType
from typing import Any

from .engine.tensor import Tensor

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, tuple, dict)
#: Longer lists and dicts are not compared.
_MOST = 64


def constant(x: Any) -> Any:
    """A value as a part of the key of compiled functions: 1, 1.0 and True differ."""
    try:
        hash(x)
    except TypeError:
        raise TypeError(
            f"torch.compile: an argument of type {type(x).__name__} is neither a tensor nor a "
            "constant. Pass a tensor:\n    compiled(torch.as_tensor(x))"
        ) from None
    return type(x), x


class Surroundings:
    """The tensors, plain numbers, modes and hooks that a function or module may read: from its
    variables, the attributes of its object, and the lists and dicts in these."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.tensors: dict[int, tuple[int, Tensor]] = {}
        self._seen: set[int] = set()
        #: Numbers, modes and hooks; tensors are represented by their numbers and names.
        self.state: tuple[Any, ...] = tuple(self._read(function))

    def _read(self, x: Any) -> Iterator[Any]:
        if id(x) in self._seen:
            return
        self._seen.add(id(x))
        if isinstance(x, MethodType):
            yield from self._attributes(x.__self__)
            yield from self._read(x.__func__)
        elif hasattr(x, "forward") and callable(getattr(x, "modules", None)):
            for module in x.modules():
                yield from self._attributes(module)
            for tensor in (*x.parameters(), *x.buffers()):
                yield self._met(tensor)
        elif (code := getattr(x, "__code__", None)) is not None:
            for name in code.co_names:
                yield from self._value(name, x.__globals__.get(name))
            for name, cell in zip(code.co_freevars, x.__closure__ or (), strict=True):
                yield from self._value(name, _content(cell))

    def _met(self, tensor: Tensor) -> int:
        """The number of a tensor in the order in which tensors are found."""
        number, _ = self.tensors.setdefault(id(tensor), (len(self.tensors), tensor))
        return number

    def _value(self, name: str, x: Any) -> Iterator[Any]:
        if isinstance(x, _PLAIN):
            yield name, type(x), x
        elif isinstance(x, Tensor):
            yield name, self._met(x)
        elif type(x) in _CONTAINERS:
            yield from self._items(name, x)
        elif isinstance(x, (type, ModuleType)):
            return
        elif hasattr(x, "forward") or (hasattr(x, "__code__") and hasattr(x, "__globals__")):
            yield from self._read(x)
        else:
            yield from self._attributes(x)

    def _items(self, name: str, x: Any) -> Iterator[Any]:
        if id(x) in self._seen or len(x) > _MOST:
            return
        self._seen.add(id(x))
        yield name, len(x)
        for key, item in x.items() if type(x) is dict else enumerate(x):
            yield from self._value(f"{name}[{key!r}]", item)

    def _attributes(self, x: Any) -> Iterator[Any]:
        """The attributes of an object; for a module, also its training mode and its hooks."""
        for name, value in getattr(x, "__dict__", {}).items():
            if isinstance(value, _PLAIN):
                yield name, type(value), value
            elif isinstance(value, Tensor):
                yield name, self._met(value)
            elif type(value) in _CONTAINERS and name[0] != "_":
                yield from self._items(name, value)
            elif name in ("_before", "_after", "_backward_hooks") and isinstance(value, dict):
                yield name, tuple(map(id, value.values()))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return None
