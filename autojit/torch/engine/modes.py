"""Whether operations are recorded, by thread."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any


class _Modes(threading.local):
    grad = True
    inference = False
    anomaly = False
    #: Where `torch.compile` collects the tensors that a function closes over.
    lifting: Any = None


modes = _Modes()


class _Mode:
    """A context and a decorator that sets one of the modes."""

    name = "grad"

    def __init__(self, value: bool) -> None:
        self._value = value
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(getattr(modes, self.name))
        setattr(modes, self.name, self._value)

    def __exit__(self, *error: object) -> None:
        setattr(modes, self.name, self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)._of(self._value):
                return function(*args, **kwargs)

        return wrapped

    @classmethod
    def _of(cls, value: bool) -> _Mode:
        made = object.__new__(cls)
        _Mode.__init__(made, value)
        return made


def _decorates(cls: Any, function: Any, value: bool) -> Any:
    return cls._of(value)(function)


class no_grad(_Mode):
    """A context, or a decorator, in which nothing is recorded."""

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else _decorates(cls, function, False)

    def __init__(self, function: Any = None) -> None:
        super().__init__(False)


class enable_grad(_Mode):
    """A context, or a decorator, in which operations are recorded."""

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else _decorates(cls, function, True)

    def __init__(self, function: Any = None) -> None:
        super().__init__(True)


class inference_mode(no_grad):
    """As ``no_grad``."""

    def __new__(cls, mode: Any = True) -> Any:
        return _decorates(cls, mode, False) if callable(mode) else object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        _Mode.__init__(self, not mode and modes.grad)


class set_grad_enabled(_Mode):
    """Whether operations are recorded, from now on or in a context."""

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._outer = modes.grad
        modes.grad = mode

    def __enter__(self) -> None:
        self._before.append(self._outer)
        modes.grad = self._value


class _Anomaly(_Mode):
    name = "anomaly"


class set_detect_anomaly(_Anomaly):
    """Whether a backward pass that makes a NaN is an error that names the forward operation."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(mode)
        self._outer = modes.anomaly
        modes.anomaly = mode

    def __enter__(self) -> None:
        self._before.append(self._outer)
        modes.anomaly = self._value


class detect_anomaly(_Anomaly):
    """A context in which a backward pass that makes a NaN is an error."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True)


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Whether a context of ``inference_mode`` is open."""
    return modes.inference
