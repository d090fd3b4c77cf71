"""Calls, operators and items where values may be traced: what rewritten code calls.

Each is Python's where nothing is traced.  Where something is, values are those that Python would
give for the numbers that it stands for, and what Python would not evaluate is not run.
"""

from .calling import NUMPY_NAMES, call
from .items import delete_item, item, set_item, update_item
from .lazy import Count, Generated, Pending, perhaps
from .logic import (
    and_,
    check_singleton,
    check_subject,
    in_,
    is_equal,
    is_one_of,
    is_optional,
    is_unequal,
    not_,
    or_,
)
from .stretches import refused, stretched, unpacked

__all__ = [
    "NUMPY_NAMES", "Count", "Generated", "Pending", "and_", "call", "check_singleton", "check_subject", "delete_item",
    "in_", "is_equal", "is_one_of", "is_optional", "is_unequal", "item", "not_", "or_", "perhaps",
    "refused", "set_item", "stretched", "unpacked", "update_item",
]  # fmt: skip
