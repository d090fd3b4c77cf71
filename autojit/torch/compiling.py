"""``torch.compile``: functions of tensors as one operation, whose program is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from autojit.ir.core.program import Program
from autojit.ir.core.types import Type
from autojit.staging.trace_function import LeafType, trace_function
from autojit.tracing.tracer import Tracer

from .engine.modes import modes, no_grad
from .engine.recording import record, wrap
from .engine.rules import Operation, applied
from .engine.tensor import Tensor
from .functions.factories import default_generator
from .precision import casting
from .surroundings import Surroundings, flat, is_tensor


class _Made(NamedTuple):
    """A compiled program: which of the tensors it reads, and what it gives."""

    operation: Operation
    inputs: tuple[int, ...]
    results: Sequence[Any]
    structure: Any


class _Compiled:
    """One function, by the types of what it is called with and of what it closes over."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.surroundings = Surroundings(function)
        self._made: dict[Any, _Made] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure = flat((args, kwargs))
        given = [x for x in leaves if is_tensor(x)]
        static = tuple(None if is_tensor(x) else x for x in leaves)
        tried: list[Tensor] = []
        while True:
            outer, state = self.surroundings.read()
            everything = [*given, *outer]
            key = (
                structure,
                static,
                state,
                casting.dtype,
                tuple((x._data.shape, x._data.dtype.char) for x in everything),
            )
            found = self._made.get(key)
            if found is not None:
                break
            tried = self._trace(key, leaves, structure, everything, tried)
        made = record(found.operation, [everything[k] for k in found.inputs])
        outputs = iter(made if isinstance(made, tuple) else (made,))
        whole = [next(outputs) if r is _TENSOR else r for r in found.results]
        return optree.tree_unflatten(found.structure, whole)

    def _trace(
        self,
        key: Any,
        leaves: Sequence[Any],
        structure: Any,
        everything: list[Tensor],
        tried: list[Tensor],
    ) -> list[Tensor]:
        """Trace; tensors from outside that were met become inputs, and it is traced once more.

        A tensor that does not require a gradient may have been made inside. Those that are met
        again in the next trace (``tried`` has the last one's) are from outside.
        """
        trace = _Trace(self.function, leaves, structure, everything)
        known = set(map(id, everything))
        met = [t for t in trace.met if id(t) not in known and not isinstance(t._data, Tracer)]
        again = set(map(id, tried))
        lifted = [t for t in met if t._needs or id(t) in again]
        self.surroundings.lifted += lifted
        others = [t for t in met if not t._needs and id(t) not in again]
        if lifted or (others and not tried):
            return others
        self._made[key] = trace.made()
        return []


class _Trace:
    """A function traced once, with all tensors that are known as its inputs."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: Sequence[Any],
        structure: Any,
        everything: Sequence[Tensor],
    ) -> None:
        self.function, self.leaves, self.structure = function, leaves, structure
        self.count = sum(map(is_tensor, leaves))
        self.outer = everything[self.count :]
        self.results: list[Any] = []
        self.result_structure: Any = None

        def run(*arrays: Any) -> list[Any]:
            return self._run(arrays)

        run.__name__ = getattr(function, "__name__", type(function).__name__)
        types = [
            LeafType(Type(np.dtype(x._data.dtype), tuple(x._data.shape)), None) for x in everything
        ]
        state, modes.lifting = default_generator.get_state(), []
        try:
            self.program = trace_function(run, types, lambda f, arrays: f(*arrays)).program
            self.met = list({id(t): t for t in modes.lifting}.values())
        finally:
            modes.lifting = None
        if default_generator.get_state() != state:
            raise RuntimeError(
                f"torch.compile: {run.__name__} draws random numbers, which would be the same in "
                "each call. Draw them outside, and pass them:\n"
                "    compiled(x, torch.rand_like(x))"
            )

    def _run(self, arrays: Sequence[Any]) -> list[Any]:
        wrapped = iter([wrap(a) for a in arrays[: self.count]])
        inside = [next(wrapped) if is_tensor(x) else x for x in self.leaves]
        args, kwargs = optree.tree_unflatten(self.structure, inside)
        before = [p._data for p in self.outer]
        given = arrays[self.count :]
        for p, a in zip(self.outer, given, strict=True):
            p._data = a
        try:
            with no_grad():
                out, self.result_structure = flat(self.function(*args, **kwargs))
            if any(p._data is not a for p, a in zip(self.outer, given, strict=True)):
                raise RuntimeError("torch.compile: the function changes its parameters.")
        finally:
            for p, data in zip(self.outer, before, strict=True):
                p._data = data
        self.results = [_TENSOR if is_tensor(x) else x for x in out]
        return [x._data for x in out if is_tensor(x)]

    def made(self) -> _Made:
        """The operation: its inputs are what the program reads, so that nothing else gets a
        gradient."""
        program = self.program
        captured = program.captured
        count = len(program.inputs) - len(captured)
        read = {v for op in program.ops for v in op.operands} | set(program.outputs)
        used = tuple(k for k in range(count) if program.inputs[k] in read)
        inputs = [program.inputs[k] for k in used] + list(program.inputs[count:])
        bare = Program(inputs, program.ops, program.outputs, name=program.name)
        operation = Operation("CompiledFunctionBackward", applied(bare, captured, at_once=True))
        return _Made(operation, used, self.results, self.result_structure)


_TENSOR = object()


def compile(model: Any = None, **_: Any) -> Any:
    """A function or module that runs as one compiled program, forward and backward.

    Tensors and modules that it closes over are inputs of the program: a tensor that is changed, a
    parameter that is replaced, and a module that stops training all count in the next call. What
    the function does to lists, attributes and other objects is done once, when it is traced.

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
