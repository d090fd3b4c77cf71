"""``torch.autograd``."""

from autojit.torch.engine.gradients import backward, grad
from autojit.torch.engine.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)

from . import forward_ad, functional, graph
from .checking import GradcheckError, gradcheck, gradgradcheck
from .function import Function

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
