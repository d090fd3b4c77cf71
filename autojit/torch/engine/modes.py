"""The modes of each thread: whether operations are recorded, and how."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from autojit.tracing.context import current_trace


class _Modes(threading.local):
    grad = True
    inference = False
    anomaly = False
    #: Whether anomaly detection looks for NaN; a pass that fails names its line in any case.
    check_nan = True
    #: The trace in which recording is switched off: its results are constants to derivatives.
    off: Any = None
    #: Whether `torch.compile` is tracing a function; nothing is recorded then.
    tracing = False
    #: Lists in which `torch.compile` collects the tensors that a function reads and makes.
    lifting: Any = None
    born: Any = None
    #: Whether all modes are as in a new thread: the only mode that each operation has to test.
    usual = True


modes = _Modes()


def settle() -> None:
    """Update ``usual``; call it after each change of a mode."""
    m = modes
    m.usual = m.grad and m.off is m.lifting is None and not (m.anomaly or m.tracing)


def _switch(name: str, value: bool) -> None:
    setattr(modes, name, value)
    if name == "grad":
        modes.off = None if value else current_trace()
    settle()


class _Mode:
    """A context and a decorator that sets one of the modes."""

    name = "grad"

    def __init__(self, value: bool) -> None:
        self._value = value
        self._before: list[tuple[bool, Any]] = []

    def __enter__(self) -> None:
        self._before.append((getattr(modes, self.name), modes.off))
        _switch(self.name, self._value)

    def __exit__(self, *error: object) -> None:
        before, off = self._before.pop()
        setattr(modes, self.name, before)
        if self.name == "grad":
            modes.off = off
        settle()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return _generating(function, lambda: type(self)._of(self._value))

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


def _generating(function: Callable[..., Any], context: Callable[[], Any]) -> Callable[..., Any]:
    """A generator function whose steps run in a context, but not the code between its steps."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        steps = function(*args, **kwargs)
        advance: Callable[[], Any] = functools.partial(steps.send, None)
        while True:
            with context():
                try:
                    made = advance()
                except StopIteration as end:
                    return end.value
            try:
                given = yield made
            except GeneratorExit:
                with context():
                    steps.close()
                raise
            except BaseException as error:
                advance = functools.partial(steps.throw, error)
            else:
                advance = functools.partial(steps.send, given)

    return wrapped


class traced:
    """A context for the traces of `torch.compile`: nothing is recorded, whatever the modes are."""

    def __enter__(self) -> None:
        self._before = modes.grad, modes.off, modes.tracing
        modes.grad, modes.off, modes.tracing = True, None, True
        settle()

    def __exit__(self, *error: object) -> None:
        modes.grad, modes.off, modes.tracing = self._before
        settle()


def recording() -> bool:
    """Whether operations on tensors that need gradients are recorded."""
    return modes.grad and not modes.tracing


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
    """The same as ``no_grad``."""

    def __new__(cls, mode: Any = True) -> Any:
        return _decorates(cls, mode, False) if callable(mode) else object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        _Mode.__init__(self, not mode and modes.grad)
        self._inference = mode
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        super().__enter__()
        self._outer.append(modes.inference)
        modes.inference = self._inference

    def __exit__(self, *error: object) -> None:
        modes.inference = self._outer.pop()
        super().__exit__(*error)

    @classmethod
    def _of(cls, value: bool) -> _Mode:
        made = object.__new__(cls)
        cls.__init__(made, not value)
        return made


class set_grad_enabled(_Mode):
    """Set whether operations are recorded, from now on or in a context."""

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._outer = modes.grad, modes.off
        _switch("grad", mode)

    def __enter__(self) -> None:
        self._before.append(self._outer)
        _switch("grad", self._value)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        modes.grad, modes.off = self._outer  # a decorator's setting is for the function alone
        settle()
        return super().__call__(function)

    @classmethod
    def _of(cls, value: bool) -> _Mode:
        return _Mode._of(value)


class _Anomaly(_Mode):
    name = "anomaly"

    def __init__(self, value: bool, check_nan: bool) -> None:
        super().__init__(value)
        self._check_nan = check_nan
        self._checked: list[bool] = []

    def __enter__(self) -> None:
        self._checked.append(modes.check_nan)
        modes.check_nan = self._check_nan
        super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        modes.check_nan = self._checked.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        value, check_nan = self._value, self._check_nan

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            made = object.__new__(_Anomaly)
            _Anomaly.__init__(made, value, check_nan)
            with made:
                return function(*args, **kwargs)

        return wrapped


class set_detect_anomaly(_Anomaly):
    """Set whether a backward pass that makes a NaN raises an error naming the forward operation."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(mode, check_nan)
        self._outer = modes.anomaly, modes.check_nan
        modes.check_nan = check_nan
        _switch("anomaly", mode)

    def __enter__(self) -> None:
        modes.anomaly, modes.check_nan = self._outer
        super().__enter__()


class detect_anomaly(_Anomaly):
    """A context in which a backward pass that makes a NaN raises an error."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Whether an ``inference_mode`` context is active."""
    return modes.inference
