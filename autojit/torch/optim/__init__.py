"""``torch.optim``: PyTorch's optimisers, built on the pure optimisers of ``autojit.optim``."""

from . import lr_scheduler
from .adaptive import ASGD, Adadelta, Adamax, NAdam, RAdam, Rprop
from .kinds import SGD, Adagrad, Adam, AdamW, RMSprop
from .lbfgs import LBFGS
from .optimizer import Optimizer

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
