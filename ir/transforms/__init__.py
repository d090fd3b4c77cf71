"""Program-to-program transformations."""

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.linearize import Linearized, jvp, linearize, vjp
from autojit.ir.autodiff.transpose import transpose

from .gradient import gradient
from .jacobian import jacobian

__all__ = ["Linearized", "batch", "gradient", "jacobian", "jvp", "linearize", "transpose", "vjp"]
