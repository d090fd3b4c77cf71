"""All op declarations.  Importing this package declares every op."""

from . import (
    arithmetic,
    checkpoint,
    contract,
    custom,
    elementary,
    implicit,
    index,
    linear,
    move,
    reduce,
    scan,
    switch,
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
    "linear",
    "move",
    "reduce",
    "scan",
    "switch",
    "while_",
]
