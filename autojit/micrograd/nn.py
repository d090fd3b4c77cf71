"""``micrograd.nn``: networks of these numbers."""

from autojit.scalar import MLP, Layer, Module, Neuron

__all__ = ["MLP", "Layer", "Module", "Neuron"]
