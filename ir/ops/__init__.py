"""All op declarations.  Importing this package declares every op."""

from . import arithmetic, contract, elementary, index, linalg, linear, move, reduce, spectral
from .declaration import ANSWERS, REGISTRY, Declaration, declaration, full

__all__ = [
    "ANSWERS",
    "REGISTRY",
    "Declaration",
    "arithmetic",
    "contract",
    "declaration",
    "elementary",
    "full",
    "index",
    "linalg",
    "linear",
    "move",
    "reduce",
    "spectral",
]
