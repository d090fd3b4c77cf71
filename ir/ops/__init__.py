"""All op declarations.  Importing this package declares every op."""

from autojit.ir.core.declaration import ANSWERS, REGISTRY, Declaration, declaration, full
from autojit.ir.regions import checkpoint, custom, implicit, scan, switch, while_

from . import (
    arithmetic,
    checks,
    contract,
    elementary,
    index,
    linear,
    move,
    order,
    reduce,
    shear,
    update,
)
from .linalg import cholesky, factorizations, spectral

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
