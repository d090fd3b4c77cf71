"""``micrograd.nn``: networks of such numbers."""

from autojit.scalar import MLP, Layer, Module, Neuron

__all__ = ["MLP", "Layer", "Module", "Neuron"]
