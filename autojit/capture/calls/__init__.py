"""Calls, operators and subscripts on values that may be traced; rewritten code calls them.

Without traced values each does what Python does. With traced values the results are those that
Python would give for the actual numbers, and code that Python would not evaluate is not run.
"""

from autojit.capture.lists.arrays import refused
from autojit.capture.lists.lazy import perhaps
from autojit.capture.lists.stretches import stretched, unpacked

from .caches import CACHED, is_uncached
from .calling import NUMPY_NAMES, call, formatted
from .items import delete_item, item, set_item, update_item
from .logic import (
    and_,
    check_subject,
    in_,
    is_equal,
    is_one_of,
    is_optional,
    is_unequal,
    not_,
    or_,
)
from .type_queries import attribute, class_of, dispatches, is_singleton

__all__ = [
    "CACHED",
    "NUMPY_NAMES",
    "and_",
    "attribute",
    "call",
    "check_subject",
    "class_of",
    "delete_item",
    "dispatches",
    "formatted",
    "in_",
    "is_equal",
    "is_one_of",
    "is_optional",
    "is_singleton",
    "is_uncached",
    "is_unequal",
    "item",
    "not_",
    "or_",
    "perhaps",
    "refused",
    "set_item",
    "stretched",
    "unpacked",
    "update_item",
]  # fmt: skip
