"""Calls, operators and items where values may be traced: what rewritten code calls.

Each is Python's where nothing is traced.  Where something is, values are those that Python would
give for the numbers that it stands for, and what Python would not evaluate is not run.
"""

from .calling import NUMPY_NAMES, call
from .items import item, set_item, update_item
from .logic import (
    and_,
    check_singleton,
    check_subject,
    in_,
    is_one_of,
    is_optional,
    not_,
    or_,
)

__all__ = [
    "NUMPY_NAMES", "and_", "call", "check_singleton", "check_subject", "in_", "is_one_of",
    "is_optional", "item", "not_", "or_", "set_item", "update_item",
]  # fmt: skip
