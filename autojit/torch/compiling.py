"""``torch.compile``: functions of tensors as one operation, whose program is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from autojit.ir.core.types import Type
from autojit.staging.pytrees import NAMESPACE
from autojit.staging.trace_function import LeafType, trace_function
from autojit.tracing.tracer import Tracer

from .engine.modes import modes, no_grad
from .engine.recording import record, wrap
from .engine.rules import Operation, applied
from .engine.tensor import Tensor
from .functions.factories import default_generator


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _flat(tree: Any) -> tuple[list[Any], Any]:
    leaves, structure = optree.tree_flatten(tree, is_leaf=_is_tensor, namespace=NAMESPACE)
    return leaves, structure


class _Compiled:
    """One function, by the types of what it is called with."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.lifted: list[Tensor] = []
        self._made: dict[Any, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure = _flat((args, kwargs))
        given = [x for x in leaves if _is_tensor(x)]
        static = tuple(None if _is_tensor(x) else x for x in leaves)
        training = getattr(self.function, "training", None)
        while True:
            everything = [*given, *self._parameters()]
            key = (
                structure,
                static,
                training,
                tuple((x._data.shape, x._data.dtype.char) for x in everything),
            )
            found = self._made.get(key)
            if found is not None:
                break
            self._trace(key, leaves, structure, everything)
        operation, results, outer = found
        made = record(operation, everything)
        outputs = iter(made if isinstance(made, tuple) else (made,))
        whole = [next(outputs) if r is _TENSOR else r for r in results]
        return optree.tree_unflatten(outer, whole)

    def _parameters(self) -> list[Tensor]:
        own = getattr(self.function, "parameters", None)
        named = list(own()) if callable(own) else []
        buffers = getattr(self.function, "buffers", None)
        named += list(buffers()) if callable(buffers) else []
        return [*named, *(x for x in self.lifted if not any(x is p for p in named))]

    def _trace(
        self, key: Any, leaves: Sequence[Any], structure: Any, everything: list[Tensor]
    ) -> None:
        """Trace once; tensors that it closes over and that need gradients become inputs."""
        outer: Any = None
        results: list[Any] = []
        count = sum(map(_is_tensor, leaves))
        parameters = everything[count:]

        def flat(*arrays: Any) -> list[Any]:
            nonlocal outer, results
            wrapped = iter([wrap(a) for a in arrays[:count]])
            inside = [next(wrapped) if _is_tensor(x) else x for x in leaves]
            args, kwargs = optree.tree_unflatten(structure, inside)
            before = [p._data for p in parameters]
            for p, a in zip(parameters, arrays[count:], strict=True):
                p._data = a
            try:
                with no_grad():
                    out, outer = _flat(self.function(*args, **kwargs))
                if any(p._data is not a for p, a in zip(parameters, arrays[count:], strict=True)):
                    raise RuntimeError("torch.compile: the function changes its parameters.")
            finally:
                for p, data in zip(parameters, before, strict=True):
                    p._data = data
            results = [_TENSOR if _is_tensor(x) else x for x in out]
            return [x._data for x in out if _is_tensor(x)]

        flat.__name__ = getattr(self.function, "__name__", type(self.function).__name__)
        types = [
            LeafType(Type(np.dtype(x._data.dtype), tuple(x._data.shape)), None) for x in everything
        ]
        state, modes.lifting = default_generator.get_state(), []
        try:
            program = trace_function(flat, types, lambda f, arrays: f(*arrays)).program
            known = set(map(id, parameters))
            found = [
                t for t in _distinct(modes.lifting)
                if id(t) not in known and not isinstance(t._data, Tracer)
            ]  # fmt: skip
        finally:
            modes.lifting = None
        if default_generator.get_state() != state:
            raise RuntimeError(
                f"torch.compile: {flat.__name__} draws random numbers, which would be the same in "
                "each call. Draw them outside, and pass them:\n"
                "    compiled(x, torch.rand_like(x))"
            )
        if found:
            self.lifted += found
            return
        captured = program.captured
        run = applied(program, at_once=True)
        operation = Operation("CompiledFunctionBackward", lambda *x: run(*x, *captured))
        self._made[key] = operation, results, outer


_TENSOR = object()


def _distinct(found: Sequence[Tensor]) -> list[Tensor]:
    return list({id(t): t for t in found}.values())


def compile(model: Any = None, **_: Any) -> Any:
    """A function or module that runs as one compiled program, forward and backward.

    Tensors that it closes over are inputs where they require gradients, and constants elsewhere.

    >>> from autojit import torch
    >>> f = torch.compile(lambda x: torch.relu(x + 1) + 2)
    >>> f(torch.tensor([-2.0, 0.5]))
    tensor([2.0000, 3.5000])
    """
    if model is None:
        return compile
    compiled = _Compiled(model)
    if hasattr(model, "parameters") and hasattr(model, "forward"):
        return _Module(model, compiled)
    return functools.wraps(model)(lambda *args, **kwargs: compiled(*args, **kwargs))


class _Module:
    """A compiled module: calls are compiled, all else is the module's."""

    def __init__(self, module: Any, compiled: _Compiled) -> None:
        self.__dict__.update(_orig_mod=module, _compiled=compiled)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._orig_mod, name, value)
