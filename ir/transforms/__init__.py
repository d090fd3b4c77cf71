"""Program-to-program transformations."""

from .linearize import Linearized, jvp, linearize, vjp
from .transpose import transpose

__all__ = ["Linearized", "jvp", "linearize", "transpose", "vjp"]
