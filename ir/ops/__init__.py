"""Ops without bodies, one declaration each.  Importing this package declares them."""

from . import (
    arithmetic,
    callback,
    checks,
    contract,
    elementary,
    index,
    linear,
    move,
    reduce,
    shear,
    update,
)

__all__ = [
    "arithmetic",
    "callback",
    "checks",
    "contract",
    "elementary",
    "index",
    "linear",
    "move",
    "reduce",
    "shear",
    "update",
]
