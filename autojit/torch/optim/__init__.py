"""``torch.optim``: PyTorch's optimisers over the pure ones of ``autojit.optim``."""

from . import lr_scheduler
from .kinds import SGD, Adagrad, Adam, AdamW, RMSprop
from .lbfgs import LBFGS
from .optimizer import Optimizer

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
