"""Program-to-program transformations."""

from .batch import batch
from .gradient import gradient
from .jacobian import jacobian
from .linearize import Linearized, jvp, linearize, vjp
from .transpose import transpose

__all__ = ["Linearized", "batch", "gradient", "jacobian", "jvp", "linearize", "transpose", "vjp"]
