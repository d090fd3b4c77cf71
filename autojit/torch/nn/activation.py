"""Activations and dropout as modules."""

from __future__ import annotations

from typing import Any

from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions import factories

from . import init
from .functional import _FUNCTIONS as F
from .module import Module
from .parameter import Parameter


class Setting:
    """A setting of a module: its name, its default, and whether the module's text shows it."""

    def __init__(self, name: str, default: Any, shown: str = "named") -> None:
        self.name: str = name
        self.default: Any = default
        self.shown: str = shown

    def text(self, value: Any) -> str | None:
        """The setting as the module's text shows it; None if it does not."""
        if self.shown == "hidden" or (self.shown == "unusual" and value == self.default):
            return None
        return f"{value}" if self.shown == "bare" else f"{self.name}={value}"


_IN_PLACE = Setting("inplace", False, "unusual")


def _module(name: str, function: str, *settings: Setting) -> type[Module]:
    """A class of modules without parameters that call one function with their settings."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        if len(args) > len(settings):
            raise TypeError(f"{name}.__init__() takes {len(settings)} settings, not {len(args)}")
        given = {s.name: a for s, a in zip(settings, args, strict=False)} | kwargs
        for s in settings:
            object.__setattr__(self, s.name, given.pop(s.name, s.default))
        if given:
            raise TypeError(
                f"{name}.__init__() got an unexpected keyword argument '{next(iter(given))}'"
            )
        if function.startswith("dropout") and not 0 <= self.p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self: Any, input: Tensor) -> Any:
        named = {s.name: getattr(self, s.name) for s in settings}
        if named.get("inplace") is False:
            del named["inplace"]
        if function.startswith("dropout"):
            named["training"] = self.training
        return F[function](input, **named)

    def extra_repr(self: Any) -> str:
        words = (s.text(getattr(self, s.name)) for s in settings)
        return ", ".join(w for w in words if w is not None)

    body = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr,
            "__module__": __name__,
            "__doc__": f"``functional.{function}`` as a module."}  # fmt: skip
    return type(name, (Module,), body)


ReLU: type[Module] = _module("ReLU", "relu", _IN_PLACE)
ReLU6: type[Module] = _module("ReLU6", "relu6", _IN_PLACE)
Sigmoid: type[Module] = _module("Sigmoid", "sigmoid")
Tanh: type[Module] = _module("Tanh", "tanh")
LogSigmoid: type[Module] = _module("LogSigmoid", "logsigmoid")
Softsign: type[Module] = _module("Softsign", "softsign")
SELU: type[Module] = _module("SELU", "selu", _IN_PLACE)
SiLU: type[Module] = _module("SiLU", "silu", _IN_PLACE)
Mish: type[Module] = _module("Mish", "mish")
Hardsigmoid: type[Module] = _module("Hardsigmoid", "hardsigmoid", _IN_PLACE)
Hardswish: type[Module] = _module("Hardswish", "hardswish", _IN_PLACE)
LeakyReLU: type[Module] = _module(
    "LeakyReLU", "leaky_relu", Setting("negative_slope", 0.01), _IN_PLACE
)
ELU: type[Module] = _module("ELU", "elu", Setting("alpha", 1.0), _IN_PLACE)
Hardtanh: type[Module] = _module(
    "Hardtanh", "hardtanh", Setting("min_val", -1.0), Setting("max_val", 1.0), _IN_PLACE
)
Threshold: type[Module] = _module(
    "Threshold", "threshold", Setting("threshold", 0.0), Setting("value", 0.0), _IN_PLACE
)
Softplus: type[Module] = _module(
    "Softplus", "softplus", Setting("beta", 1.0), Setting("threshold", 20.0)
)
CELU: type[Module] = _module("CELU", "celu", Setting("alpha", 1.0))
Hardshrink: type[Module] = _module("Hardshrink", "hardshrink", Setting("lambd", 0.5, "bare"))
Softshrink: type[Module] = _module("Softshrink", "softshrink", Setting("lambd", 0.5, "bare"))
Tanhshrink: type[Module] = _module("Tanhshrink", "tanhshrink")
Softmax: type[Module] = _module("Softmax", "softmax", Setting("dim", None))
LogSoftmax: type[Module] = _module("LogSoftmax", "log_softmax", Setting("dim", None))
Softmin: type[Module] = _module("Softmin", "softmin", Setting("dim", None))
GLU: type[Module] = _module("GLU", "glu", Setting("dim", -1))
_P = Setting("p", 0.5)
_SHOWN = Setting("inplace", False)
Dropout: type[Module] = _module("Dropout", "dropout", _P, _SHOWN)
Dropout1d: type[Module] = _module("Dropout1d", "dropout1d", _P, _SHOWN)
Dropout2d: type[Module] = _module("Dropout2d", "dropout2d", _P, _SHOWN)


class GELU(Module):
    """``functional.gelu`` as a module."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Any:
        return F["gelu"](input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class PReLU(Module):
    """``leaky_relu`` with learnt slopes."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.num_parameters: int = num_parameters
        self.init: float = init
        self.weight: Parameter = Parameter(factories.empty(num_parameters, dtype=dtype))
        _constant(self.weight, init)

    def forward(self, input: Tensor) -> Any:
        return F["prelu"](input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


def _constant(p: Parameter, value: float) -> None:
    init.constant_(p, value)
