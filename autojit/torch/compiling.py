"""``torch.compile``: makes a function of tensors one operation, with a compiled program."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import optree

from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Program
from autojit.ir.core.types import Type
from autojit.staging.pytrees import NAMESPACE
from autojit.staging.trace_function import LeafType, trace_function

from .engine.halves import Halves
from .engine.modes import modes, recording, settle, traced
from .engine.recording import Kind, needs_of, record, record_by, wrap
from .engine.rules import Operation, applied
from .engine.tensor import Tensor
from .functions.factories import default_generator
from .precision import casting
from .surroundings import Surroundings, constant


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _flat(tree: Any) -> tuple[list[Any], Any]:
    leaves, structure = optree.tree_flatten(tree, is_leaf=_is_tensor, namespace=NAMESPACE)
    return leaves, structure


class _Made(NamedTuple):
    """A compiled program, the indices and types of the tensors that it reads, and its results."""

    operation: Operation
    program: Program
    #: The pairs of forward and backward programs; the key says which inputs need gradients.
    halves: dict[tuple[bool, ...], Halves]
    inputs: tuple[int, ...]
    types: tuple[Any, ...]
    results: Sequence[Any]
    structure: Any

    def fits(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the tensors that it reads have the types they had in the trace."""
        return all(
            k < len(tensors) and _type(tensors[k]) == t
            for k, t in zip(self.inputs, self.types, strict=True)
        )

    def results_for(self, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
        """The tensors that it computes, recorded if a gradient is needed."""
        needs = needs_of(tensors) if recording() else ()
        if True not in needs:
            made = record(self.operation, tensors)
            return made if isinstance(made, tuple) else (made,)
        found = self.halves.get(needs)
        if found is None:
            wrt = [k for k, need in enumerate(needs) if need]
            found = self.halves[needs] = Halves(self.operation, self.program, wrt)
        return record_by(found.rule, found.forward, tensors, found.results)


def _type(x: Tensor) -> Any:
    return x._data.shape, x._data.dtype.char, x._needs


class _Compiled:
    """A compiled function: its programs, keyed by its arguments and the values it closes over."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        #: The tensors that the traces found and `Surroundings` does not see, by the key of the
        #: other dependencies.
        self.lifted: dict[Any, list[Tensor]] = {}
        self._made: dict[Any, list[_Made]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if modes.lifting is not None:  # it is part of a function being traced
            return self.function(*args, **kwargs)
        leaves, structure = _flat((args, kwargs))
        given = [x for x in leaves if _is_tensor(x)]
        static = tuple(None if _is_tensor(x) else constant(x) for x in leaves)
        around = Surroundings(self.function)
        known = [*given, *(tensor for _, tensor in around.tensors.values())]
        state = around.state, modes.grad
        types = tuple(map(_type, given))
        key = (structure, static, state, casting.dtype, types)
        while True:
            lifted = [t for t in self.lifted.get(state, ()) if id(t) not in around.tensors]
            everything = [*known, *lifted]
            found = next((m for m in self._made.get(key, ()) if m.fits(everything)), None)
            if found is not None:
                break
            if sum(map(len, self._made.values())) >= MOST:
                return self._uncompiled(args, kwargs)
            self._trace(key, state, leaves, structure, everything)
        outputs = iter(found.results_for([everything[k] for k in found.inputs]))
        whole = [next(outputs) if r is _TENSOR else r for r in found.results]
        return optree.tree_unflatten(found.structure, whole)

    def _uncompiled(self, args: Any, kwargs: Any) -> Any:
        warnings.warn(
            f"torch.compile: {self._name()} has been compiled {MOST} times for different types "
            "of arguments, numbers or attributes, so it runs without compilation from now on. "
            "Pass values that change in each call as tensors.",
            RuntimeWarning,
            stacklevel=4,
        )
        return self.function(*args, **kwargs)

    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _trace(
        self,
        key: Any,
        state: Any,
        leaves: Sequence[Any],
        structure: Any,
        everything: list[Tensor],
    ) -> None:
        """Trace the function once; the tensors that it closes over become inputs."""
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
                with traced():
                    out, outer = _flat(self.function(*args, **kwargs))
                if any(p._data is not a for p, a in zip(parameters, arrays[count:], strict=True)):
                    raise RuntimeError("torch.compile: the function changes its parameters.")
            finally:
                for p, data in zip(parameters, before, strict=True):
                    p._data = data
            results = [_TENSOR if _is_tensor(x) else x for x in out]
            return [x._data for x in out if _is_tensor(x)]

        flat.__name__ = self._name()
        types = [
            LeafType(Type(np.dtype(x._data.dtype), tuple(x._data.shape)), None) for x in everything
        ]
        drawn = _generators()
        with _collecting() as (met, born):
            program = trace_function(flat, types, lambda f, arrays: f(*arrays)).program
            known = {*map(id, parameters), *map(id, born)}
            found = [t for t in _distinct(met) if id(t) not in known]
        if _generators() != drawn:
            raise RuntimeError(
                f"torch.compile: {flat.__name__} draws random numbers, which would be the same in "
                "each call. Draw them outside, and pass them:\n"
                "    compiled(x, torch.rand_like(x))"
            )
        if found:
            self.lifted[state] = [*self.lifted.get(state, ()), *found]
            return
        program, used = _reading(program)
        operation = Operation("CompiledFunctionBackward", applied(program, at_once=True))
        read = tuple(_type(everything[k]) for k in used)
        self._made.setdefault(key, []).append(
            _Made(operation, program, {}, used, read, results, outer)
        )


def _reading(program: Program) -> tuple[Program, tuple[int, ...]]:
    """The program without its unread inputs, and the indices of the others; an unread input gets no
    gradient."""
    count = len(program.inputs) - len(program.captured)
    read = {v for op in program.ops for v in op.operands} | set(program.outputs)
    used = tuple(k for k in range(count) if program.inputs[k] in read)
    inputs = [*(program.inputs[k] for k in used), *program.inputs[count:]]
    return Program(inputs, program.ops, program.outputs, name=program.name,
                   captured=program.captured), used  # fmt: skip


@contextmanager
def _collecting() -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """A context that collects the tensors that this thread reads, and those that it makes."""
    modes.lifting, modes.born = [], []
    settle()
    with _lock:
        Kind.tracing += 1
    try:
        yield modes.lifting, modes.born
    finally:
        modes.lifting = modes.born = None
        settle()
        with _lock:
            Kind.tracing -= 1


def _generators() -> Any:
    """The states of all global random generators."""
    legacy: Any = np.random.get_state(legacy=True)
    return default_generator.get_state(), random.getstate(), legacy[2:], legacy[1].tobytes()


_TENSOR = object()
_lock = Lock()
#: The most programs that are kept for one function.
MOST = 64


def _distinct(found: Sequence[Tensor]) -> list[Tensor]:
    return list({id(t): t for t in found}.values())


def compile(model: Any = None, **_: Any) -> Any:
    """A function or module that runs as one compiled program, forward and backward.

    Tensors that it closes over are inputs. Other values are constants: it is compiled again if a
    number, string or hook changes in a variable or global of the function or in an attribute of its
    module or object, also inside lists and dicts. Changes in attributes of deeper objects, and of
    numbers in an array, are not noticed. After 64 programs, further calls are not compiled, and a
    warning is issued.

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
    """A compiled module: calls are compiled, and everything else is delegated to the module."""

    def __init__(self, module: Any, compiled: _Compiled) -> None:
        self.__dict__.update(_orig_mod=module, _compiled=compiled)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._orig_mod, name, value)
