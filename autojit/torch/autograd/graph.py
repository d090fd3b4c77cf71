"""``torch.autograd.graph``: the nodes of recorded graphs."""

from autojit.torch.engine.nodes import Handle, Node

__all__ = ["Handle", "Node"]
