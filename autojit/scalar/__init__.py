"""Numbers that record the operations on them (``Value``), and networks of these numbers.

>>> from autojit.scalar import Value
>>> a, b = Value(2.0), Value(3.0)
>>> c = a * b + a
>>> c.backward()
>>> c, a.grad, b.grad
(Value(data=8.0, grad=1.0), 4.0, 2.0)
"""

from .networks import MLP, Layer, Module, Neuron
from .value import Value

__all__ = ["MLP", "Layer", "Module", "Neuron", "Value"]
