"""States, names and texts of modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple

from autojit.torch.engine.modes import no_grad
from autojit.torch.engine.tensor import Tensor


class IncompatibleKeys(NamedTuple):
    """The names missing from a loaded state, and its unexpected names."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )


def _saved(module: Any, prefix: str = "") -> Any:
    """The path of each tensor of a state, the dict that holds it, and its name there."""
    for table in (module._parameters, module._buffers):
        for name, value in table.items():
            is_saved = table is module._parameters or name not in module._not_saved
            if value is not None and is_saved:
                yield prefix + name, table, name
    for name, child in module._modules.items():
        if child is not None:
            yield from _saved(child, f"{prefix}{name}.")


def state_dict(module: Any, prefix: str, keep_vars: bool) -> OrderedDict[str, Any]:
    """All parameters and persistent buffers, by their paths; the tensors share their memory."""
    return OrderedDict(
        (path, table[name] if keep_vars else table[name].detach())
        for path, table, name in _saved(module, prefix)
    )


def load_state_dict(module: Any, given: Mapping[str, Any], strict: bool, assign: bool) -> Any:
    """Copy tensors into those of the same paths; raise RuntimeError if names or shapes differ."""
    if not isinstance(given, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(given)}.")
    places = {path: (table, name) for path, table, name in _saved(module)}
    missing = [path for path in places if path not in given]
    unexpected = [path for path in given if path not in places]
    wrong = []
    if strict and unexpected:
        wrong.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
    if strict and missing:
        wrong.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
    for path, (table, name) in places.items():
        if path in given:
            wrong += _load(path, table, name, given[path], assign)
    if wrong:
        lines = "\n\t".join(wrong)
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{lines}"
        )
    return IncompatibleKeys(missing, unexpected)


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _load(path: str, table: dict[str, Any], name: str, new: Any, assign: bool) -> list[str]:
    old = table[name]
    if not hasattr(new, "shape"):
        return [
            f'While copying the parameter named "{path}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(new)}"
        ]
    if tuple(new.shape) != tuple(old.shape):
        return [
            f"size mismatch for {path}: copying a param with shape {new.shape} from checkpoint, "
            f"the shape in current model is {old.shape}."
        ]
    if assign:
        kind = type(old)
        table[name] = new if kind is Tensor else kind(new, requires_grad=old.requires_grad)
        return []
    with no_grad():
        old.copy_(new)
    return []


def check_name(module: Any, name: Any, kind: str, own: dict[str, Any]) -> None:
    """Raise unless a name can be the name of a parameter, a buffer or a module."""
    if "_parameters" not in module.__dict__:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(module, name) and name not in own:
        raise KeyError(f"attribute '{name}' already exists")


def type_name(x: Any) -> str:
    """The name of a value's class, for messages."""
    kind = type(x)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def text(module: Any, together: bool = False) -> str:
    """A module and its submodules as text, one per line; with ``together``, neighbours that look
    the same share a line."""
    extra = module.extra_repr()
    extra_lines = extra.split("\n") if extra else []
    texts = [(key, _indented(repr(child))) for key, child in module._modules.items()]
    children = _grouped(texts) if together else [f"({key}): {child}" for key, child in texts]
    lines = extra_lines + children
    name = module._get_name()
    if not lines:
        return f"{name}()"
    if len(extra_lines) == 1 and not children:
        return f"{name}({extra_lines[0]})"
    return f"{name}(\n  " + "\n  ".join(lines) + "\n)"


def _grouped(texts: list[tuple[str, str]]) -> list[str]:
    made = []
    for child, group in groupby(texts, key=lambda pair: pair[1]):
        keys = [key for key, _ in group]
        made.append(
            f"({keys[0]}): {child}" if len(keys) == 1
            else f"({keys[0]}-{keys[-1]}): {len(keys)} x {child}"
        )  # fmt: skip
    return made


def _indented(lines: str) -> str:
    first, *rest = lines.split("\n")
    return "\n".join([first, *(f"  {line}" for line in rest)])
