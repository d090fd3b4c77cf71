"""Modules that contain modules, or parameters, in order."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from . import state
from .module import Module
from .parameter import Parameter


class _Ordered(Module):
    """The base class of the containers by number."""

    _table = "_modules"

    def _items(self) -> dict[str, Any]:
        found: dict[str, Any] = self.__dict__[self._table]
        return found

    def _key(self, k: int) -> str:
        n, k = len(self), operator.index(k)
        if not -n <= k < n:
            raise IndexError(f"index {k} is out of range")
        return list(self._items())[k % n]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items().values())

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return type(self)(*self._sliced(k))
        return self._items()[self._key(k)]

    def _sliced(self, k: slice) -> tuple[Any, ...]:
        return (list(self._items().values())[k],)

    def __setitem__(self, k: int, value: Any) -> None:
        setattr(self, self._key(k), value)

    def __delitem__(self, k: int) -> None:
        kept = list(self._items().values())
        del kept[k]
        self._items().clear()
        self._items().update({str(n): x for n, x in enumerate(kept)})

    def append(self, module: Any) -> Any:
        """Add a module or parameter at the end."""
        setattr(self, str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        """Add modules or parameters at the end."""
        for m in modules:
            self.append(m)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Insert a module or parameter before the one with number ``index``."""
        kept = list(self._items().values())
        kept.insert(index, module)
        self._items().clear()
        return self.extend(kept)

    def __iadd__(self, modules: Iterable[Any]) -> Any:
        return self.extend(modules)


class Sequential(_Ordered):
    """Modules applied in sequence, by number, or by name from an OrderedDict.

    >>> from autojit import torch
    >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for k, module in enumerate(args):
                self.add_module(str(k), module)

    def _sliced(self, k: slice) -> tuple[Any, ...]:
        return (OrderedDict(list(self._modules.items())[k]),)

    def forward(self, input: Any) -> Any:
        """Call each module with the result of the one before, and return the last result."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_Ordered):
    """Modules by number."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __repr__(self) -> str:
        return state.text(self, together=True)


class ParameterList(_Ordered):
    """Parameters by number."""

    _table = "_parameters"

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def append(self, module: Any) -> Any:
        return super().append(module if isinstance(module, Parameter) else Parameter(module))

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({k}): Parameter containing: [{p.dtype!r} of size {'x'.join(map(str, p.shape))}]"
            for k, p in self._items().items()
        )


class _Named(Module):
    """The base class of the containers by name."""

    _table = "_modules"

    def _items(self) -> dict[str, Any]:
        found: dict[str, Any] = self.__dict__[self._table]
        return found

    def __getitem__(self, key: str) -> Any:
        return self._items()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if value is not None and key not in self._items():
            self._check(key)
        self._items()[key] = value

    def _check(self, key: str) -> None:
        if "." in key or not key:
            raise KeyError(f'module name can\'t contain ".", got: {key!r}')

    def __delitem__(self, key: str) -> None:
        del self._items()[key]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[str]:
        return iter(self._items())

    def __contains__(self, key: object) -> bool:
        return key in self._items()

    def keys(self) -> Any:
        """The names."""
        return self._items().keys()

    def values(self) -> Any:
        """The modules, or parameters."""
        return self._items().values()

    def items(self) -> Any:
        """The names and the modules, or parameters."""
        return self._items().items()

    def update(self, new: Any) -> None:
        """Add modules or parameters by name."""
        for key, value in new.items() if hasattr(new, "items") else new:
            self[key] = value

    def pop(self, key: str) -> Any:
        """Remove a module or parameter, and return it."""
        return self._items().pop(key)


class ModuleDict(_Named):
    """Modules by name."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})


class ParameterDict(_Named):
    """Parameters by name."""

    _table = "_parameters"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value if isinstance(value, Parameter) else Parameter(value))
