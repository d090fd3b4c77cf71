"""PyTorch's classes are found beside the functions of `autojit.nn` and `autojit.optim`."""

from __future__ import annotations

import pytest

import autojit
from autojit import nn, optim, torch
from autojit.graphviz import Digraph
from autojit.nn import init


def test_classes_of_pytorch() -> None:
    assert nn.Linear is torch.nn.Linear
    assert optim.SGD is torch.optim.SGD
    assert init.xavier_uniform_ is torch.nn.init.xavier_uniform_
    assert nn.functional is torch.nn.functional
    assert Digraph is autojit.drawing.Digraph


def test_names_that_neither_has() -> None:
    with pytest.raises(
        AttributeError, match=r"autojit\.nn has no attribute 'Linea'\. Similar names: Linear"
    ):
        nn.Linea  # noqa: B018
