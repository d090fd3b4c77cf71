"""Program-to-program transformations."""

from .gradient import gradient
from .linearize import Linearized, jvp, linearize, vjp
from .transpose import transpose

__all__ = ["Linearized", "gradient", "jvp", "linearize", "transpose", "vjp"]
