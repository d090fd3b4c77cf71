"""Hooks on the gradients that pass through a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.torch.engine.modes import recording
from autojit.torch.engine.recording import record
from autojit.torch.engine.rules import Operation
from autojit.torch.engine.tensor import Tensor

_ONE = Operation("BackwardHookFunctionBackward", np.positive)
_SEVERAL = Operation("BackwardHookFunctionBackward", lambda *x: tuple(map(np.positive, x)))


def _bound(tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    """Tensors as results of one operation, whose node sees all their gradients."""
    made = record(_ONE if len(tensors) == 1 else _SEVERAL, tensors)
    return made if isinstance(made, tuple) else (made,)


def _replaced(tree: Any, new: Sequence[Any]) -> Any:
    """A tensor, or a tuple or list, with its tensors replaced by new ones."""
    given = iter(new)
    if isinstance(tree, Tensor):
        return next(given)
    return type(tree)([next(given) if isinstance(x, Tensor) else x for x in tree])


class BackwardWatch:
    """One call of a module with backward hooks."""

    def __init__(self, module: Any, hooks: Sequence[Callable[..., Any]]) -> None:
        self.module: Any = module
        self.hooks = hooks
        self._outputs: tuple[Any, ...] = ()
        self._waits = False

    def entered(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as results of a node that calls the hooks."""
        tensors = [a for a in args if isinstance(a, Tensor)]
        if not (self.hooks and recording() and any(t.requires_grad for t in tensors)):
            return args
        made = _bound(tensors)
        self._waits = True
        next(t for t in made if t.grad_fn is not None).grad_fn.register_hook(self._passed)
        return tuple(_replaced(args, made))

    def left(self, result: Any) -> Any:
        """The result as a result of a node that sees its gradients."""
        if not (self.hooks and recording()):
            return result
        many = isinstance(result, (tuple, list))
        tensors = [x for x in (result if many else (result,)) if isinstance(x, Tensor)]
        if not any(t.requires_grad for t in tensors):
            return result
        made = _bound(tensors)
        node = next(t for t in made if t.grad_fn is not None).grad_fn
        node.register_hook(lambda grads, outputs: self._reached(outputs, len(tensors)))
        return _replaced(result, made)

    def _reached(self, outputs: tuple[Any, ...], count: int) -> None:
        self._outputs = outputs
        if not self._waits:  # no argument needs a gradient
            for hook in self.hooks:
                hook(self.module, (None,) * count, outputs)

    def _passed(self, inputs: tuple[Any, ...], _: Any) -> tuple[Any, ...]:
        for hook in self.hooks:
            made = hook(self.module, inputs, self._outputs)
            if made is not None:
                inputs = made if isinstance(made, tuple) else (made,)
        return inputs
