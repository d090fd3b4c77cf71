"""The modules of micrograd under their names: its programs run after a change of their imports.

They contain the classes of ``autojit.scalar``:

>>> from autojit.micrograd.engine import Value
>>> from autojit.micrograd.nn import MLP
>>> x = Value(3.0)
>>> (x * x).backward()
>>> x.grad
6.0
"""

from autojit.scalar import MLP, Layer, Module, Neuron, Value

__all__ = ["MLP", "Layer", "Module", "Neuron", "Value"]
