"""All op declarations.  Importing this package declares every op."""

from . import (
    arithmetic,
    checkpoint,
    contract,
    custom,
    elementary,
    implicit,
    index,
    linalg,
    linear,
    move,
    reduce,
    scan,
    switch,
    update,
    while_,
)
from .declaration import ANSWERS, REGISTRY, Declaration, declaration, full

__all__ = [
    "ANSWERS",
    "REGISTRY",
    "Declaration",
    "arithmetic",
    "checkpoint",
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
    "reduce",
    "scan",
    "switch",
    "update",
    "while_",
]
