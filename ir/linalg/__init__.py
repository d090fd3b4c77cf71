"""Linear algebra and sorting: factorizations, the order of elements, and their derivatives.

Importing this package declares the ops.
"""

from . import cholesky, factorizations, fourier, order, spectral

__all__ = ["cholesky", "factorizations", "fourier", "order", "spectral"]
