"""All op declarations.  Importing this package declares every op."""

from autojit.ir.core.declaration import ANSWERS, Declaration, declaration, full
from autojit.ir.core.registry import REGISTRY
from autojit.ir.linalg import cholesky, factorizations, order, spectral
from autojit.ir.regions import checkpoint, custom, implicit, scan, switch, while_

from . import arithmetic, checks, contract, elementary, index, linear, move, reduce, shear, update

__all__ = [
    "ANSWERS",
    "REGISTRY",
    "Declaration",
    "arithmetic",
    "checkpoint",
    "checks",
    "cholesky",
    "contract",
    "custom",
    "declaration",
    "elementary",
    "full",
    "implicit",
    "index",
    "linalg",
    "linear",
    "move",
    "order",
    "reduce",
    "scan",
    "shear",
    "spectral",
    "switch",
    "update",
    "while_",
]
