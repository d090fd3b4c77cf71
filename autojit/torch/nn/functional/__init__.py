"""``torch.nn.functional``: the functions of ``autojit.nn``, for tensors.

>>> from autojit import torch
>>> import autojit.torch.nn.functional as F
>>> F.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

from __future__ import annotations

from typing import Any

from autojit.spelling import MissingName
from autojit.torch.functions.arguments import checked as _checked

from . import activations as _activations
from . import layers as _layers
from . import losses as _losses
from . import margins as _margins
from . import resampling as _resampling
from .attention import scaled_dot_product_attention

_FUNCTIONS = {
    name: _checked(name, function)
    for name, function in {
        **_activations.FUNCTIONS,
        **_layers.FUNCTIONS,
        **_losses.FUNCTIONS,
        **_margins.FUNCTIONS,
        **_resampling.FUNCTIONS,
        "scaled_dot_product_attention": scaled_dot_product_attention,
    }.items()
}
globals().update(_FUNCTIONS)


def __getattr__(name: str) -> Any:
    raise MissingName("torch.nn.functional", name, _FUNCTIONS)


def __dir__() -> list[str]:
    return sorted(_FUNCTIONS)
