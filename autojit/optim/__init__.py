"""Optimisers and learning rates, as pure functions of trees of arrays.

>>> from autojit import grad, jit, optim
>>> opt = optim.adam(lr=0.1)
>>> params = {"x": np.array([3.0, -2.0])}
>>> state = opt.init(params)
>>> @jit
... def step(params, state):
...     grads = grad(lambda p: np.sum(p["x"] ** 2))(params)
...     return opt.update(params, grads, state)
>>> for _ in range(200):
...     params, state = step(params, state)
>>> bool(np.abs(params["x"]).max() < 0.01)
True

The state is a dict of arrays. Formulas, names and defaults are PyTorch's.
"""

from typing import Any

from autojit.tracing.hooks import hooks

from .adaptive import adadelta, adamax, asgd, nadam, radam, rprop
from .lbfgs import LBFGS, lbfgs
from .optimizer import Optimizer
from .plateau import Plateau, reduce_on_plateau
from .rules import adagrad, adam, adamw, rmsprop, sgd
from .schedules import (
    constant_lr,
    cosine_annealing,
    cosine_warm_restarts,
    exponential_lr,
    lambda_lr,
    linear_lr,
    multi_step_lr,
    one_cycle,
    polynomial_lr,
    step_lr,
    warmup,
)

__all__ = [
    "LBFGS",
    "Optimizer",
    "Plateau",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "constant_lr",
    "cosine_annealing",
    "cosine_warm_restarts",
    "exponential_lr",
    "lambda_lr",
    "lbfgs",
    "linear_lr",
    "multi_step_lr",
    "nadam",
    "one_cycle",
    "polynomial_lr",
    "radam",
    "reduce_on_plateau",
    "rmsprop",
    "rprop",
    "sgd",
    "step_lr",
    "warmup",
]


def __getattr__(name: str) -> Any:
    """Find PyTorch's names, such as ``optim.SGD``, in ``autojit.torch``."""
    return hooks.class_named(__name__, name)
