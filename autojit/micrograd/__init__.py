"""The modules of micrograd by their names, so that its programs run by changing their imports.

They hold what ``autojit.scalar`` has:

>>> from autojit.micrograd.engine import Value
>>> from autojit.micrograd.nn import MLP
>>> x = Value(3.0)
>>> (x * x).backward()
>>> x.grad
6.0
"""

from autojit.scalar import MLP, Layer, Module, Neuron, Value

__all__ = ["MLP", "Layer", "Module", "Neuron", "Value"]
