"""``torch.amp``: matrix products in half precision, and loss scaling, so that gradients do not
underflow in it.

Half-precision numbers have 16 bits. Operations on them compute in float32 and round each result
once, as PyTorch's operations do on a CPU.

>>> from autojit import torch
>>> model = torch.nn.Linear(2, 1)
>>> with torch.amp.autocast("cpu", dtype=torch.float16):
...     y = model(torch.ones(1, 2))
>>> y.dtype, y.float().dtype
(torch.float16, torch.float32)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .engine import dtypes
from .engine.recording import counter_of
from .engine.tensor import Tensor
from .engine.widening import cast, plain
from .precision import casting


class autocast:
    """A context, or a decorator, in which linear maps, convolutions and matrix products read and
    return half precision; all other operations compute in float32.

    Args:
        device_type: ``"cpu"``; eager tensors are in CPU memory.
        dtype: ``torch.bfloat16``, the default, or ``torch.float16``.
        enabled: if False, the context has no effect.
    """

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:  # fmt: skip
        if device_type != "cpu":
            raise RuntimeError(
                f"autocast: device_type={device_type!r} is not supported by eager tensors; use "
                "'cpu'"
            )
        self._dtype = dtypes.bfloat16 if dtype is None else dtype
        if self._dtype not in dtypes.HALVES:
            raise ValueError(f"autocast: dtype={dtype!r} is not torch.bfloat16 or torch.float16")
        self._enabled = enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        self._before.append(casting.dtype)
        casting.dtype = self._dtype if self._enabled else None
        return self

    def __exit__(self, *error: object) -> None:
        casting.dtype = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether an autocast context is active."""
    return casting.dtype is not None


class GradScaler:
    """A factor that multiplies losses; gradients are divided by it before a step.

    Args:
        device: ``"cpu"``.
        init_scale: the first factor.
        growth_factor: multiplies the factor after ``growth_interval`` finite steps.
        backoff_factor: multiplies the factor after a step with infinities, which is skipped.
        growth_interval: see ``growth_factor``.
        enabled: if False, losses and gradients are not scaled.
    """

    def __init__(self, device: Any = "cpu", init_scale: float = 2.0**16,
                 growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:  # fmt: skip
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale, self._growth, self._backoff = float(init_scale), growth_factor, backoff_factor
        self._interval, self._enabled, self._tracker = growth_interval, enabled, 0
        #: For each optimiser with unscaled gradients, whether these have infinities.
        self._found: dict[int, bool] = {}
        self._stepped: set[int] = set()

    def is_enabled(self) -> bool:
        """Whether losses and gradients are scaled."""
        return self._enabled

    def get_scale(self) -> float:
        """The factor."""
        return self._scale if self._enabled else 1.0

    def scale(self, outputs: Any) -> Any:
        """Tensors times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, (tuple, list)):
            return type(outputs)(self.scale(x) for x in outputs)
        return outputs * self._scale

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the factor, for example to clip
        them."""
        if not self._enabled:
            return
        if id(optimizer) in self._found:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        bad, inverse = False, 1.0 / self._scale
        for group in optimizer.param_groups:
            for p in group["params"]:
                if isinstance(p.grad, Tensor):
                    numbers = plain(p.grad._data)
                    bad = bad or not np.isfinite(numbers).all()
                    with np.errstate(all="ignore"):
                        scaled = numbers * numbers.dtype.type(inverse)
                    p.grad._data[...] = cast(scaled, p.grad._data.dtype)
                    counter_of(p.grad)[0] += 1
        self._found[id(optimizer)] = bad

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Make a step of the optimiser, unless gradients have infinities or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | None = None) -> None:
        """Reduce the factor after infinities; increase it after many finite steps."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._found.values()):
            self._scale, self._tracker = self._scale * self._backoff, 0
        else:
            self._tracker += 1
            if self._tracker == self._interval:
                self._scale, self._tracker = self._scale * self._growth, 0
        self._found, self._stepped = {}, set()

    def state_dict(self) -> dict[str, Any]:
        """The factor and the settings."""
        return {} if not self._enabled else {
            "scale": self._scale, "growth_factor": self._growth, "backoff_factor": self._backoff,
            "growth_interval": self._interval, "_growth_tracker": self._tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state that ``state_dict`` returned."""
        self._scale, self._growth = state_dict["scale"], state_dict["growth_factor"]
        self._backoff, self._interval = (
            state_dict["backoff_factor"], state_dict["growth_interval"],
        )  # fmt: skip
        self._tracker = state_dict["_growth_tracker"]
