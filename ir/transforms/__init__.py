"""Program-to-program transformations."""

from .batch import batch
from .gradient import gradient
from .linearize import Linearized, jvp, linearize, vjp
from .transpose import transpose

__all__ = ["Linearized", "batch", "gradient", "jvp", "linearize", "transpose", "vjp"]
