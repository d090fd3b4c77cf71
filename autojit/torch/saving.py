"""``torch.save`` and ``torch.load``: trees of tensors and plain values as ``.npz`` files.

A file holds one array for each tensor, and the tree as JSON; it contains no code.  The file of a
state dict can also be read by ``numpy.load``, because its arrays have the names of its keys.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import numpy as np

from autojit.session.files import whole_file

from .engine.recording import wrap
from .engine.tensor import Tensor

#: The name of the tree in a file.
_TREE = "autojit.tree"


def save(obj: Any, f: Any) -> None:
    """Save a tree of dicts, lists, tuples, tensors, arrays, numbers and strings.

    Args:
        obj: the tree, such as ``model.state_dict()``. A module is refused: save its state.
        f: a path, whose file is replaced once everything is written; or a binary file.

    >>> import tempfile, pathlib
    >>> from autojit import torch
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> torch.save({"w": torch.ones(2), "epoch": 3}, path)
    >>> torch.load(path)
    {'w': tensor([1., 1.]), 'epoch': 3}
    """
    arrays: dict[str, Any] = {}
    tree = _described(obj, "", arrays)
    arrays[_TREE] = np.array(json.dumps(tree))
    if hasattr(f, "write"):
        np.savez(f, **arrays)
        return
    with whole_file(f) as file:
        np.savez(file, **arrays)


def load(f: Any, map_location: Any = None, weights_only: bool = True) -> Any:
    """Load a saved tree; its tensors are new.

    Args:
        f: a path or a binary file.
        map_location: the CPU, where tensors are.
        weights_only: no effect, because files contain no code.
    """
    with np.load(f, allow_pickle=False) as file:
        if _TREE not in file:
            return OrderedDict((name, wrap(file[name])) for name in file.files)
        return _made(json.loads(str(file[_TREE])), file)


def _described(x: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    """A tree as JSON; tensors are added to ``arrays`` under their paths."""
    if isinstance(x, (Tensor, np.ndarray)):
        return _placed(x, path or "tensor", arrays)
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, dict):
        kind = "ordered" if isinstance(x, OrderedDict) else "dict"
        items = [
            [_key(k), _described(v, f"{path}.{k}" if path else str(k), arrays)]
            for k, v in x.items()
        ]
        return {"kind": kind, "items": items}
    if isinstance(x, (list, tuple)):
        kind = "list" if isinstance(x, list) else "tuple"
        return {"kind": kind, "items": [
            _described(v, f"{path}.{k}" if path else str(k), arrays) for k, v in enumerate(x)
        ]}  # fmt: skip
    raise TypeError(
        f"torch.save: {path or 'the object'} is a {type(x).__name__}; files hold tensors, arrays, "
        "numbers, texts, lists, tuples and dicts of them. For a module or an optimiser:\n"
        "    torch.save(model.state_dict(), path)"
    )


def _placed(x: Any, path: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    name, k = path, 0
    while name in arrays or name == _TREE:
        k += 1
        name = f"{path}#{k}"
    if isinstance(x, Tensor):
        arrays[name] = np.asarray(x.detach()._data)
        return {"kind": "tensor", "name": name, "requires_grad": x.is_leaf and x.requires_grad}
    arrays[name] = x
    return {"kind": "array", "name": name}


def _key(k: Any) -> Any:
    if not isinstance(k, (str, int)):
        raise TypeError(f"torch.save: the key {k!r} is a {type(k).__name__}; use texts or numbers")
    return k


def _made(x: Any, file: Any) -> Any:
    if not isinstance(x, dict):
        return x
    kind = x["kind"]
    if kind in ("tensor", "array"):
        array = file[x["name"]]
        if kind == "array":
            return array
        tensor = wrap(array)
        return tensor.requires_grad_() if x["requires_grad"] else tensor
    if kind in ("dict", "ordered"):
        made: dict[Any, Any] = OrderedDict() if kind == "ordered" else {}
        made.update((k, _made(v, file)) for k, v in x["items"])
        return made
    items = [_made(v, file) for v in x["items"]]
    return items if kind == "list" else tuple(items)
